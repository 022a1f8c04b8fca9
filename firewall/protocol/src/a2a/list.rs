//! Lists of tasks: each task is judged by itself, and the list is rewritten without withheld tasks.

use super::{frame::Frame, params::count, reply::page_token, task};
use crate::{
    Message, MessageFault, RpcId,
    member::{Read, array, at, object, unknown},
    text,
};
use semgate_contexts::json::Json;

/// The answer to `ListTasks`.
#[derive(Clone, Debug)]
pub struct TaskList<'j> {
    /// Each task as a message of its own, in the order of the list. Its `message_id` is the task's id, and the first of its
    /// threads.
    pub tasks: Vec<Message<'j>>,
    json: &'j [Json<'j>],
    next: Option<&'j str>,
    total: Option<usize>,
    rpc_id: Option<RpcId>,
}

/// Reads the list.
pub(super) fn read<'j>(
    json: &'j Json<'j>,
    path: &str,
    frame: &Frame<'_>,
    like: &Message<'j>,
) -> Read<TaskList<'j>> {
    let (mut items, mut next, mut total) = (&[][..], None, None);
    for (key, value) in object(json, path)?.iter() {
        match key {
            "tasks" => items = array(value, path, key)?,
            "nextPageToken" => next = page_token(value, path, key)?,
            "pageSize" => count(value, path, key)?,
            "totalSize" => {
                count(value, path, key)?;
                let counted = value.as_number().and_then(|number| number.as_i64_exact());
                total = counted.and_then(|counted| usize::try_from(counted).ok());
            }
            _ => return unknown(path, key),
        }
    }
    let mut tasks = Vec::with_capacity(items.len());
    for (n, item) in items.iter().enumerate() {
        let mut message = like.clone();
        task::task(item, &format!("{path}/tasks/{n}"), frame, &mut message)?;
        if tasks.iter().any(|other: &Message<'_>| other.message_id == message.message_id) {
            let path = at(&format!("{path}/tasks/{n}"), "id");
            return Err(MessageFault::malformed(path, "is the id of another task of the list"));
        }
        tasks.push(message);
    }
    Ok(TaskList { tasks, json: items, next, total, rpc_id: like.rpc_id.clone() })
}

/// Members beside the tasks of a rewritten list.
#[derive(Clone, Copy, Debug)]
pub struct Paging<'t> {
    /// The token of the next page; none after the last.
    pub next: Option<&'t str>,
    /// The page size, as requested or as the protocol has it.
    pub page_size: i64,
    /// The number of tasks in all pages together.
    pub total: usize,
}

impl<'j> TaskList<'j> {
    /// The agent's token for the next page. It is the agent's text, and may name another caller's tasks.
    pub fn next(&self) -> Option<&'j str> {
        self.next
    }

    /// The agent's number of tasks. It counts all callers' tasks unless the agent keeps callers apart.
    pub fn total(&self) -> Option<usize> {
        self.total
    }

    /// The list reduced to the tasks at the indices in `kept` (from 0, ascending). Its form is the request's: JSON-RPC if
    /// there is an id, else the result alone. Paging members come from `told`, and no count is the agent's.
    ///
    /// Values are written as they were read, numbers digit for digit.
    pub fn keeping(&self, kept: &[usize], told: Paging<'_>) -> Vec<u8> {
        let mut out = String::new();
        if let Some(id) = &self.rpc_id {
            out += &format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":", id.to_json());
        }
        out += "{\"tasks\":[";
        for (written, item) in kept.iter().filter_map(|n| self.json.get(*n)).enumerate() {
            if written > 0 {
                out.push(',');
            }
            text::write(item, &mut out);
        }
        out += "],\"nextPageToken\":";
        text::string(told.next.unwrap_or_default(), &mut out);
        out += &format!(",\"pageSize\":{},\"totalSize\":{}}}", told.page_size, told.total);
        if self.rpc_id.is_some() {
            out.push('}');
        }
        out.into_bytes()
    }
}
