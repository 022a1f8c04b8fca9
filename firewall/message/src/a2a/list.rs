//! Lists of tasks: each is judged for itself, and the list is written anew without those that are withheld.

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
    page_size: i64,
    rpc_id: Option<RpcId>,
}

/// Reads the list.
pub(super) fn read<'j>(
    json: &'j Json<'j>,
    path: &str,
    frame: &Frame<'_>,
    like: &Message<'j>,
) -> Read<TaskList<'j>> {
    let (mut items, mut next, mut page_size) = (&[][..], None, None);
    for (key, value) in object(json, path)?.iter() {
        match key {
            "tasks" => items = array(value, path, key)?,
            "nextPageToken" => next = page_token(value, path, key)?,
            "pageSize" => {
                count(value, path, key)?;
                page_size = value.as_number().and_then(|n| n.as_i64_exact());
            }
            "totalSize" => count(value, path, key)?,
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
    let page_size = page_size.unwrap_or_default();
    Ok(TaskList { tasks, json: items, next, page_size, rpc_id: like.rpc_id.clone() })
}

impl TaskList<'_> {
    /// The list with those tasks only whose places (from 0, ascending) `kept` holds, in the form that was asked in: JSON-RPC if
    /// there is an id, else the result alone. `total` is what the caller may know to be there; without it, it is what the page
    /// holds. What the agent counted is never told: it counts what is others'.
    ///
    /// Values are written as they were read, numbers digit for digit.
    pub fn keeping(&self, kept: &[usize], total: Option<usize>) -> Vec<u8> {
        let mut out = String::new();
        if let Some(id) = &self.rpc_id {
            out += &format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":", id.to_json());
        }
        out += "{\"tasks\":[";
        let mut written = 0_usize;
        for item in kept.iter().filter_map(|n| self.json.get(*n)) {
            if written > 0 {
                out.push(',');
            }
            text::write(item, &mut out);
            written += 1;
        }
        out += "],\"nextPageToken\":";
        text::string(self.next.unwrap_or_default(), &mut out);
        let total = total.unwrap_or(written);
        out += &format!(",\"pageSize\":{},\"totalSize\":{total}}}", self.page_size);
        if self.rpc_id.is_some() {
            out.push('}');
        }
        out.into_bytes()
    }
}
