//! Answers: the forms that an operation's answer can have, and their content.

use super::{
    AgentError, Operation,
    frame::{Frame, Judged, rpc_version},
    list,
    message::{self, Role},
    names::KNOWN,
    part, push,
    state::Chunk,
    task,
};
use crate::claim::Row;
use crate::{
    Asked, Binding, Form, Message, MessageFault, OwnThread, Reading, Reply, RpcId,
    member::{Read, array, at, id, identifier, object, prefer_duplicate, required, string, unknown},
};
use semgate_contexts::{
    Performative::{Accept, Agree, CounterPropose, Inform, Propose, Query, Refuse, Reject},
    PerformativeSet,
    json::{Json, Object},
};

/// Performatives that an answering message may carry: every one that answers or negotiates, and QUERY (F0-05). The default
/// without a choice in the metadata is INFORM.
pub const REPLY_PERFORMATIVES: PerformativeSet = PerformativeSet::EMPTY
    .with(Agree)
    .with(Refuse)
    .with(Inform)
    .with(Propose)
    .with(Accept)
    .with(Reject)
    .with(CounterPropose)
    .with(Query);

pub(super) const ANSWER: Row = Row { default: Inform, allowed: REPLY_PERFORMATIVES };

/// The concept of a push configuration in an answer.
const CONFIG: &str = "TaskPushNotificationConfig";

/// The concept of a card in an answer.
const CARD: &str = "AgentCard";

/// Reads the answer to a request, as it was asked. In the HTTP+JSON and gRPC forms, `json` is the result itself, or the error
/// object of HTTP+JSON. [`AgentError::of_http`] and [`AgentError::of_grpc`] read the statuses of HTTP and gRPC.
///
/// # Errors
/// Another id, an answer of another operation, or the first member that is missing, unknown, of the wrong form or there twice.
pub fn reply<'j>(json: &'j Json<'j>, asked: &Asked, reading: &Reading<'_>) -> Read<Reply<'j>> {
    let read = if asked.operation.streams() { stream_result } else { result };
    outer(json, asked, reading, read).map_err(|fault| prefer_duplicate(fault, json, KNOWN))
}

/// Reads one event of a stream: the data of one event of SSE, or one message of gRPC, as an answer to the request.
///
/// # Errors
/// As for [`reply`]; and an event that appends data to data.
pub fn event<'j>(json: &'j Json<'j>, asked: &Asked, reading: &Reading<'_>) -> Read<Reply<'j>> {
    outer(json, asked, reading, stream_result).map_err(|fault| prefer_duplicate(fault, json, KNOWN))
}

type Inner = for<'j> fn(&'j Json<'j>, &Asked, &Frame<'_>, Message<'j>, &str) -> Read<Reply<'j>>;

fn outer<'j>(json: &'j Json<'j>, asked: &Asked, reading: &Reading<'_>, inner: Inner) -> Read<Reply<'j>> {
    let rpc = matches!(asked.form, Form::JsonRpc | Form::Native);
    let frame = Frame { version: asked.version, reading, rpc };
    let mut message = Message::new(Binding::A2a, Inform);
    message.operation = Some(asked.operation);
    message.rpc_id.clone_from(&asked.rpc_id);
    if !rpc {
        if let Some(error) = AgentError::of_body(json) {
            return Ok(Reply::Error(error));
        }
        return inner(json, asked, &frame, message, "");
    }
    let (mut version, mut id, mut result, mut error) = (None, None, None, None);
    for (key, value) in object(json, "")?.iter() {
        match key {
            "jsonrpc" => version = Some(value),
            "id" => id = Some(value),
            "result" => result = Some(value),
            "error" => error = Some(value),
            _ => return unknown("", key),
        }
    }
    rpc_version(version)?;
    let id = required(id, "", "id")?;
    // JSON-RPC answers `null` where it could not read the id
    if !(error.is_some() && id.is_null()) && (asked.rpc_id.is_none() || RpcId::read(id) != asked.rpc_id) {
        return Err(MessageFault::malformed("/id", "is not the id of the request"));
    }
    match (result, error) {
        (None, Some(error)) => AgentError::of_rpc(error).map(Reply::Error),
        (Some(result), None) => inner(result, asked, &frame, message, "/result"),
        // the Python SDK of 0.3 leaves out a result that is `null`
        (None, None) if asked.operation == Operation::DeleteTaskPushNotificationConfig => {
            message.acknowledges = true;
            Ok(Reply::Message(Box::new(message)))
        }
        _ => Err(MessageFault::malformed("", "is not exactly one of `result` and `error`")),
    }
}

/// The result of an operation that is answered in one piece.
fn result<'j>(
    json: &'j Json<'j>,
    asked: &Asked,
    frame: &Frame<'_>,
    mut out: Message<'j>,
    path: &str,
) -> Read<Reply<'j>> {
    match asked.operation {
        Operation::SendMessage | Operation::SendStreamingMessage | Operation::SubscribeToTask => {
            one_of(json, path, frame, Events::No, &mut out)?;
        }
        Operation::GetTask | Operation::CancelTask => task::task(json, path, frame, &mut out)?,
        Operation::ListTasks => {
            return list::read(json, path, frame, &out).map(|list| Reply::Tasks(Box::new(list)));
        }
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            config(json, path, frame, &mut out)?;
        }
        Operation::ListTaskPushNotificationConfigs => configs(json, path, frame, &mut out)?,
        Operation::DeleteTaskPushNotificationConfig => match json {
            Json::Null if frame.rpc => out.acknowledges = true,
            other if object(other, path)?.is_empty() => out.acknowledges = true,
            _ => return Err(MessageFault::malformed(path, "is not empty")),
        },
        Operation::GetExtendedAgentCard | Operation::GetAgentCard => {
            frame.say(CARD, object(json, path)?, Inform, path, &mut out)?;
        }
    }
    Ok(Reply::Message(Box::new(out)))
}

fn stream_result<'j>(
    json: &'j Json<'j>,
    _: &Asked,
    frame: &Frame<'_>,
    mut out: Message<'j>,
    path: &str,
) -> Read<Reply<'j>> {
    one_of(json, path, frame, Events::Yes, &mut out)?;
    Ok(Reply::Message(Box::new(out)))
}

/// The presence of task updates beside messages and tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Events {
    Yes,
    No,
}

/// Reads a message, a task, or an update of one. The one member tells them apart in 1.0, and `kind` in 0.3.
fn one_of<'j>(
    json: &'j Json<'j>,
    path: &str,
    frame: &Frame<'_>,
    events: Events,
    out: &mut Message<'j>,
) -> Read<()> {
    let members = object(json, path)?;
    let (kind, value, path) = if frame.old() {
        let kind = string(required(members.get("kind"), path, "kind")?, path, "kind")?;
        (kind, json, path.to_owned())
    } else {
        let several = || MessageFault::malformed(path, "has not exactly one member");
        let (key, value) = only(members).ok_or_else(several)?;
        (key, value, at(path, key))
    };
    match (kind, frame.old(), events) {
        ("message", ..) => {
            let by_agent = |role| (role == Role::Agent).then_some(ANSWER);
            let head = message::message(value, &path, "/result/message/metadata", by_agent, frame, out)?;
            out.message_id = head.id;
            out.performative = head.performative;
            out.threads.own = head.own;
            Ok(())
        }
        ("task", ..) => task::task(value, &path, frame, out),
        ("statusUpdate", false, Events::Yes) | ("status-update", true, Events::Yes) => {
            status_update(value, &path, frame, out)
        }
        ("artifactUpdate", false, Events::Yes) | ("artifact-update", true, Events::Yes) => {
            artifact_update(value, &path, frame, out)
        }
        _ if frame.old() => Err(MessageFault::malformed(at(&path, "kind"), "is not a kind that fits here")),
        _ => Err(MessageFault::malformed(path, "is not a member that fits here")),
    }
}

/// The one member of an object that has one.
fn only<'j>(members: &'j Object<'j>) -> Option<(&'j str, &'j Json<'j>)> {
    let mut members = members.iter();
    members.next().filter(|_| members.next().is_none())
}

/// Returns true for the form of a 1.0 `StreamResponse` (`a2a.proto`): an object with one member, which names the kind of
/// event. No 0.3 event has that form, since it carries a `kind`.
pub fn is_stream_response(json: &Json<'_>) -> bool {
    let one = json.as_object().and_then(only);
    one.is_some_and(|(key, _)| ["message", "task", "statusUpdate", "artifactUpdate"].contains(&key))
}

/// The members of an update that name its task.
struct About<'j> {
    task: &'j str,
    context: Option<&'j str>,
}

impl<'j> About<'j> {
    fn of(members: &'j Object<'j>, path: &str, frame: &Frame<'_>) -> Read<Self> {
        let task = id(required(members.get("taskId"), path, "taskId")?, path, "taskId")?;
        let context = match members.get("contextId") {
            Some(json) if frame.old() || json.as_str() != Some("") => Some(id(json, path, "contextId")?),
            _ => None,
        };
        Ok(Self { task, context })
    }

    fn note(&self, out: &mut Message<'j>) {
        out.message_id = self.task;
        out.threads.own = OwnThread { task: Some(self.task), context: self.context };
        out.threads.tasks.push(self.task);
        out.threads.contexts.extend(self.context);
    }
}

fn status_update<'j>(json: &'j Json<'j>, path: &str, frame: &Frame<'_>, out: &mut Message<'j>) -> Read<()> {
    let members = object(json, path)?;
    About::of(members, path, frame)?.note(out);
    let mut state = None;
    for (key, value) in members.iter() {
        match key {
            "taskId" | "contextId" => {}
            "kind" if frame.old() => {}
            "status" => state = Some(value),
            "final" if frame.old() => super::params::flag(value, path, key)?,
            "metadata" => frame.metadata(value, path, Judged::ByItself(Inform), out)?,
            _ => return unknown(path, key),
        }
    }
    let location = "/result/statusUpdate/status/message/metadata";
    task::status(required(state, path, "status")?, &at(path, "status"), location, frame, out)?;
    out.acknowledges = out.instances.is_empty() && out.gap.is_none() && out.uninspectable.is_none();
    Ok(())
}

fn artifact_update<'j>(json: &'j Json<'j>, path: &str, frame: &Frame<'_>, out: &mut Message<'j>) -> Read<()> {
    let members = object(json, path)?;
    let about = About::of(members, path, frame)?;
    about.note(out);
    let (mut artifact, mut append, mut last) = (None, false, false);
    for (key, value) in members.iter() {
        match key {
            "taskId" | "contextId" => {}
            "kind" if frame.old() => {}
            "artifact" => artifact = Some(value),
            "append" | "lastChunk" => {
                super::params::flag(value, path, key)?;
                let slot = if key == "append" { &mut append } else { &mut last };
                *slot = value.as_bool().unwrap_or_default();
            }
            "metadata" => frame.metadata(value, path, Judged::ByItself(Inform), out)?,
            _ => return unknown(path, key),
        }
    }
    let artifact = required(artifact, path, "artifact")?;
    let path = at(path, "artifact");
    if let Some(n) = part::has_data(artifact).filter(|_| append) {
        // the appended data would change the meaning of the data judged before
        let path = format!("{path}/parts/{n}/data");
        return Err(MessageFault::malformed(
            path,
            "appends data to earlier data: a concept is never split over events",
        ));
    }
    let artifact = task::artifact(artifact, &path, "/result/artifactUpdate/artifact/metadata", frame, out)?;
    out.chunk = Some(Chunk { task: about.task, artifact, append, last });
    Ok(())
}

fn config<'j>(json: &'j Json<'j>, path: &str, frame: &Frame<'_>, out: &mut Message<'j>) -> Read<()> {
    let config = push::of_task(json, path, frame, out)?;
    config.note(out);
    out.message_id = config.task.unwrap_or_default();
    frame.say(CONFIG, object(json, path)?, Inform, path, out)
}

/// The push configurations of a task: an array in 0.3, a page in 1.0.
fn configs<'j>(json: &'j Json<'j>, path: &str, frame: &Frame<'_>, out: &mut Message<'j>) -> Read<()> {
    let (mut items, mut location) = (&[][..], path.to_owned());
    if frame.old() {
        items = json.as_array().ok_or_else(|| MessageFault::malformed(path, "is not an array"))?;
    } else {
        for (key, value) in object(json, path)?.iter() {
            match key {
                "configs" => {
                    items = array(value, path, key)?;
                    location = at(path, key);
                }
                "nextPageToken" => page_token(value, path, key).map(drop)?,
                _ => return unknown(path, key),
            }
        }
    }
    for (n, item) in items.iter().enumerate() {
        config(item, &format!("{location}/{n}"), frame, out)?;
    }
    out.acknowledges = items.is_empty();
    Ok(())
}

/// The token of the next page: an identifier, or empty for none.
pub(super) fn page_token<'j>(json: &'j Json<'j>, path: &str, member: &str) -> Read<Option<&'j str>> {
    match string(json, path, member)? {
        "" => Ok(None),
        text => identifier(text)
            .map(Some)
            .ok_or_else(|| MessageFault::malformed(at(path, member), "is not an identifier")),
    }
}
