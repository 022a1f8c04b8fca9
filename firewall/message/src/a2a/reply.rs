//! Answers to `SendMessage`: a message, or a task with its status message, artifacts and history.

use super::{
    AgentError,
    common::{self, Role, Row},
};
use crate::{
    Asked, Base, Binding, Message, MessageFault, Pointer, Reading, RpcId,
    member::{Read, array, at, empty_object, id, object, prefer_duplicate, required, string, unknown},
};
use semgate_contexts::{
    Performative::{self, Accept, Agree, CounterPropose, Inform, Propose, Query, Refuse, Reject},
    PerformativeSet,
    json::Json,
};

/// What a message may carry that answers: every performative that answers or negotiates, and QUERY (F0-05). Without a choice
/// in the metadata it is INFORM.
pub const REPLY_PERFORMATIVES: PerformativeSet = PerformativeSet::EMPTY
    .with(Agree)
    .with(Refuse)
    .with(Inform)
    .with(Propose)
    .with(Accept)
    .with(Reject)
    .with(CounterPropose)
    .with(Query);

const ANSWER: Row = Row { default: Inform, allowed: REPLY_PERFORMATIVES };

/// What an agent answered.
#[derive(Clone, Debug)]
pub enum Answer<'j> {
    /// Something to be judged.
    Said(Box<Message<'j>>),
    /// An error.
    Error(AgentError),
}

/// Reads one event of a stream: the payload of one event of SSE, or one message of gRPC.
///
/// # Errors
/// As for [`reply`].
pub fn event<'j>(json: &'j Json<'j>, asked: &Asked, reading: &Reading<'_>) -> Read<Answer<'j>> {
    reply(json, asked, reading)
}

/// Reads one JSON-RPC response to the request with `id`.
///
/// # Errors
/// An error object (an agent's error text never passes), another id, or the first member that is missing, unknown, of the
/// wrong form or there twice.
pub fn reply<'j>(json: &'j Json<'j>, asked: &Asked, reading: &Reading<'_>) -> Read<Answer<'j>> {
    let id = asked.rpc_id.clone().unwrap_or(RpcId::Integer(0));
    envelope(json, &id, reading)
        .map(|message| Answer::Said(Box::new(message)))
        .map_err(|fault| prefer_duplicate(fault, json, common::KNOWN))
}

fn envelope<'j>(json: &'j Json<'j>, expected: &RpcId, reading: &Reading<'_>) -> Read<Message<'j>> {
    let (mut version, mut id, mut result) = (None, None, None);
    for (key, value) in object(json, "")?.iter() {
        match key {
            "jsonrpc" => version = Some(value),
            "id" => id = Some(value),
            "result" => result = Some(value),
            "error" => {
                return Err(MessageFault::malformed("/error", "is an error, whose text does not pass"));
            }
            _ => return unknown("", key),
        }
    }
    common::version(version)?;
    if RpcId::read(required(id, "", "id")?).as_ref() != Some(expected) {
        return Err(MessageFault::malformed("/id", "is not the id of the request"));
    }
    let mut message = Message::new(Binding::A2a, Inform);
    message.rpc_id = Some(expected.clone());
    result_of(required(result, "", "result")?, reading, &mut message)?;
    Ok(message)
}

fn result_of<'j>(json: &'j Json<'j>, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<()> {
    let members = object(json, "/result")?;
    let mut members = members.iter();
    let (Some((key, value)), None) = (members.next(), members.next()) else {
        return Err(MessageFault::malformed("/result", "is not exactly one of `message` and `task`"));
    };
    match key {
        "message" => {
            let said = common::message(
                value,
                "/result/message",
                "/result/message/metadata",
                by_agent,
                reading,
                out,
            )?;
            out.message_id = said.id;
            out.performative = said.performative;
            Ok(())
        }
        "task" => task(value, reading, out),
        _ => unknown("/result", key),
    }
}

fn by_agent(role: Role) -> Option<Row> {
    (role == Role::Agent).then_some(ANSWER)
}

fn task<'j>(json: &'j Json<'j>, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<()> {
    const PATH: &str = "/result/task";
    let (mut task_id, mut state, mut artifacts, mut history) = (None, None, None, None);
    for (key, value) in object(json, PATH)?.iter() {
        match key {
            "id" => task_id = Some(id(value, PATH, key)?),
            "contextId" => drop(id(value, PATH, key)?),
            "status" => state = Some(value),
            "artifacts" => artifacts = Some(array(value, PATH, key)?),
            "history" => history = Some(array(value, PATH, key)?),
            "metadata" => empty_object(value, PATH, key)?,
            _ => return unknown(PATH, key),
        }
    }
    out.message_id = required(task_id, PATH, "id")?;
    let said_nothing = status(required(state, PATH, "status")?, reading, out)?;
    let (artifacts, history) = (artifacts.unwrap_or_default(), history.unwrap_or_default());
    out.acknowledges = said_nothing == Silence::Yes && artifacts.is_empty() && history.is_empty();
    for (n, item) in artifacts.iter().enumerate() {
        artifact(item, &format!("{PATH}/artifacts/{n}"), reading, out)?;
    }
    for (n, item) in history.iter().enumerate() {
        let path = format!("{PATH}/history/{n}");
        // what the caller said before is repeated by the agent, which is judged for it like for its own words
        let rows = |role| Some(if role == Role::User { super::request::ROW } else { ANSWER });
        common::message(item, &path, "/result/task/history/metadata", rows, reading, out)?;
    }
    Ok(())
}

#[derive(PartialEq, Eq)]
enum Silence {
    Yes,
    No,
}

fn status<'j>(json: &'j Json<'j>, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<Silence> {
    const PATH: &str = "/result/task/status";
    let (mut state, mut message) = (None, None);
    for (key, value) in object(json, PATH)?.iter() {
        match key {
            "state" => state = Some(string(value, PATH, key)?),
            "message" => message = Some(value),
            "timestamp" => timestamp(string(value, PATH, key)?, PATH)?,
            _ => return unknown(PATH, key),
        }
    }
    let row = row_of(required(state, PATH, "state")?)
        .ok_or_else(|| MessageFault::malformed(at(PATH, "state"), "is no state of a task"))?;
    out.performative = row.default;
    let Some(message) = message else { return Ok(Silence::Yes) };
    let path = "/result/task/status/message";
    let rows = |role| (role == Role::Agent).then_some(row);
    let said = common::message(message, path, "/result/task/status/message/metadata", rows, reading, out)?;
    out.performative = said.performative;
    Ok(Silence::No)
}

/// MECHANISMS §3: what a state says, and what the metadata of its message may choose instead.
fn row_of(state: &str) -> Option<Row> {
    let set = |all: &[Performative]| all.iter().fold(PerformativeSet::EMPTY, |set, one| set.with(*one));
    let row = |default, others: &[Performative]| Some(Row { default, allowed: set(others).with(default) });
    match state {
        "TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING" => row(Agree, &[Inform]),
        "TASK_STATE_REJECTED" => row(Refuse, &[Reject, Inform]),
        "TASK_STATE_INPUT_REQUIRED" => row(Query, &[Propose, CounterPropose, Inform]),
        "TASK_STATE_AUTH_REQUIRED" => row(Query, &[]),
        "TASK_STATE_COMPLETED" => row(Inform, &[Agree, Accept, Reject, Refuse]),
        "TASK_STATE_FAILED" | "TASK_STATE_CANCELED" => row(Inform, &[Refuse]),
        _ => None,
    }
}

fn artifact<'j>(json: &'j Json<'j>, path: &str, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<()> {
    let (mut artifact_id, mut parts, mut metadata) = (None, None, None);
    for (key, value) in object(json, path)?.iter() {
        match key {
            "artifactId" => artifact_id = Some(id(value, path, key)?),
            "name" | "description" => {
                if !string(value, path, key)?.is_empty() && !reading.admit.text {
                    out.note_uninspectable(Pointer { base: Base::Built(at(path, key).into()), key: None });
                }
            }
            "parts" => parts = Some(array(value, path, key)?),
            "metadata" => metadata = Some(value),
            "extensions" => common::extensions(value, path, reading)?,
            _ => return unknown(path, key),
        }
    }
    required(artifact_id, path, "artifactId")?;
    let row = Row { default: Inform, allowed: PerformativeSet::EMPTY.with(Inform) };
    let performative = common::claim(metadata, path, "/result/task/artifacts/metadata", row, reading, out)?;
    common::parts_of(required(parts, path, "parts")?, path, performative, reading, out)
}

/// RFC 3339 in UTC as protobuf writes it, `2026-11-21T01:02:03.004Z`: a fixed shape, so that no text travels in it.
fn timestamp(text: &str, path: &str) -> Read<()> {
    let fault = || MessageFault::malformed(at(path, "timestamp"), "is no timestamp in UTC");
    let digits = |part: &str, n: usize| part.len() == n && part.bytes().all(|b| b.is_ascii_digit());
    let (date, time) = text.strip_suffix('Z').and_then(|rest| rest.split_once('T')).ok_or_else(fault)?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let widths = |text: &str, by: char, first: usize| {
        let mut parts = text.split(by);
        let fits = parts.next().is_some_and(|p| digits(p, first))
            && parts.next().is_some_and(|p| digits(p, 2))
            && parts.next().is_some_and(|p| digits(p, 2));
        fits && parts.next().is_none()
    };
    let fraction_fits = (1..=9).contains(&fraction.len()) && digits(fraction, fraction.len());
    if widths(date, '-', 4) && widths(clock, ':', 2) && fraction_fits { Ok(()) } else { Err(fault()) }
}
