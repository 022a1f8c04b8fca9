//! Parameters of the operations that carry no message: closed here, then judged as an instance of the operation's concept.

use super::{
    Operation, State, Version,
    frame::{Frame, Judged, note},
    push::{self, tenant},
    task,
};
use crate::{
    FaultKind, Message, MessageFault, Page,
    member::{Read, at, id, object, string, unknown},
};
use semgate_contexts::json::Json;

/// The type of a member of the parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    /// The tenant of the route.
    Tenant,
    /// The task that is asked about.
    Task,
    /// A conversation.
    Conversation,
    /// A push configuration of the task.
    Config,
    /// An integer of 32 bits. Its bounds are checked by the agent.
    Count,
    /// The token that the previous page gave.
    Token,
    /// The name of a state.
    State,
    /// A timestamp.
    Time,
    /// True or false.
    Flag,
    /// Metadata.
    Metadata,
}

use Member::{Config, Conversation, Count, Flag, Metadata, Task, Tenant, Time, Token};

/// A row: name, type, and presence.
pub(super) type Row = (&'static str, Member, Need);

/// The presence of a member.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Must,
    May,
}

use Need::{May, Must};

/// The members of an operation's parameters. Those with a message or a whole push configuration have readers of their own.
pub(super) const fn rows(operation: Operation, version: Version) -> &'static [Row] {
    match (version, operation) {
        (Version::V10, Operation::GetTask) => {
            &[("tenant", Tenant, May), ("id", Task, Must), ("historyLength", Count, May)]
        }
        (Version::V10, Operation::ListTasks) => &[
            ("tenant", Tenant, May),
            ("contextId", Conversation, May),
            ("status", Member::State, May),
            ("pageSize", Count, May),
            ("pageToken", Token, May),
            ("historyLength", Count, May),
            ("statusTimestampAfter", Time, May),
            ("includeArtifacts", Flag, May),
        ],
        (Version::V10, Operation::CancelTask) => {
            &[("tenant", Tenant, May), ("id", Task, Must), ("metadata", Metadata, May)]
        }
        (Version::V10, Operation::SubscribeToTask) => &[("tenant", Tenant, May), ("id", Task, Must)],
        (
            Version::V10,
            Operation::GetTaskPushNotificationConfig | Operation::DeleteTaskPushNotificationConfig,
        ) => &[("tenant", Tenant, May), ("taskId", Task, Must), ("id", Config, Must)],
        (Version::V10, Operation::ListTaskPushNotificationConfigs) => &[
            ("tenant", Tenant, May),
            ("taskId", Task, Must),
            ("pageSize", Count, May),
            ("pageToken", Token, May),
        ],
        (Version::V10, Operation::GetExtendedAgentCard | Operation::GetAgentCard) => {
            &[("tenant", Tenant, May)]
        }
        (Version::V03, Operation::GetTask) => {
            &[("id", Task, Must), ("historyLength", Count, May), ("metadata", Metadata, May)]
        }
        (
            Version::V03,
            Operation::CancelTask | Operation::SubscribeToTask | Operation::ListTaskPushNotificationConfigs,
        ) => &[("id", Task, Must), ("metadata", Metadata, May)],
        (Version::V03, Operation::GetTaskPushNotificationConfig) => {
            &[("id", Task, Must), ("pushNotificationConfigId", Config, May), ("metadata", Metadata, May)]
        }
        (Version::V03, Operation::DeleteTaskPushNotificationConfig) => {
            &[("id", Task, Must), ("pushNotificationConfigId", Config, Must), ("metadata", Metadata, May)]
        }
        _ => &[],
    }
}

/// Reads the parameters of an operation without a message. Allows absent parameters where no member is required.
pub(super) fn read<'j>(
    operation: Operation,
    params: Option<&'j Json<'j>>,
    path: &str,
    frame: &Frame<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let object = match params {
        Some(params) => object(params, path)?,
        None => super::frame::empty(),
    };
    if operation == Operation::CreateTaskPushNotificationConfig {
        let params = params.ok_or_else(|| MessageFault::malformed(path, "is missing"))?;
        let config = push::of_task(params, path, frame, out)?;
        if config.task.is_none() {
            return Err(MessageFault::malformed(at(path, "taskId"), "is missing"));
        }
        config.note(out);
        out.message_id = config.task.unwrap_or_default();
    } else {
        closed(operation, object, path, frame, out)?;
    }
    if frame.reading.tenant.is_some() && object.get("tenant").is_none() {
        tenant("", path, frame)?;
    }
    let says = operation.performative();
    out.performative = says;
    frame.say(operation.as_str(), object, says, path, out)
}

fn closed<'j>(
    operation: Operation,
    object: &'j semgate_contexts::json::Object<'j>,
    path: &str,
    frame: &Frame<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let rows = rows(operation, frame.version);
    let (mut task, mut config, mut page) = (None, None, Page::default());
    let mut seen: Vec<&str> = Vec::with_capacity(rows.len());
    for (key, value) in object.iter() {
        let row = rows.iter().find(|(name, ..)| *name == key || (!frame.old() && is_proto_name(key, name)));
        let Some((name, member, need)) = row else { return unknown(path, key) };
        if seen.contains(name) {
            return Err(twice(path, name));
        }
        seen.push(name);
        // proto3 writes an absent string as an empty one
        if *need == May && !frame.old() && *member != Tenant && value.as_str() == Some("") {
            continue;
        }
        match member {
            Tenant => tenant(string(value, path, key)?, path, frame)?,
            Task => task = Some(id(value, path, key)?),
            Config => config = Some(id(value, path, key)?),
            Conversation => note(&mut out.threads.contexts, id(value, path, key)?),
            Token => page.token = Some(id(value, path, key)?),
            Metadata => frame.metadata(value, path, Judged::WithItsObject, out)?,
            other => plain(*other, value, path, key, frame)?,
        }
        if *name == "pageSize" {
            page.size = value.as_number().and_then(|n| n.as_i64_exact());
        }
        page.unfit = page.unfit.or_else(|| out_of_bounds(name, value).map(|what| (*name, what)));
    }
    if let Some((name, ..)) = rows.iter().find(|(name, _, need)| *need == Must && !seen.contains(name)) {
        return Err(MessageFault::malformed(at(path, name), "is missing"));
    }
    push::Config { task, id: config }.note(out);
    out.threads.page = (operation == Operation::ListTasks).then_some(page);
    out.message_id = task.unwrap_or_default();
    Ok(())
}

/// The fault of a `ListTasks` parameter that breaks a bound of A2A 1.0 beyond its type (`ListTasksRequest`, and the faulty
/// one in §6.5).
fn out_of_bounds(name: &str, value: &Json<'_>) -> Option<&'static str> {
    let number = || value.as_number().and_then(|n| n.as_i64_exact()).unwrap_or_default();
    match name {
        "pageSize" => (!(1..=100).contains(&number())).then_some("is not between 1 and 100"),
        "historyLength" => (number() < 0).then_some("is below 0"),
        "statusTimestampAfter" => {
            (!value.as_str().is_some_and(task::is_moment)).then_some("is not a valid date and time")
        }
        _ => None,
    }
}

/// Returns true if `key` is the member's name in `a2a.proto`. Clients send either name, and readers of proto3 JSON take both.
/// Without a message in the parameters, a reader that ignores this name sees less than was judged.
pub(super) fn is_proto_name(key: &str, name: &str) -> bool {
    let mut key = key.bytes();
    let same = name.bytes().all(|b| {
        let lower = b.to_ascii_lowercase();
        (!b.is_ascii_uppercase() || key.next() == Some(b'_')) && key.next() == Some(lower)
    });
    same && key.next().is_none()
}

/// The fault of a member that is there by both of its names.
pub(super) fn twice(path: &str, name: &str) -> MessageFault {
    MessageFault { kind: FaultKind::DuplicateKey, path: at(path, name), what: "is present under two names" }
}

/// Reads a member that refers to no task, conversation or configuration.
fn plain(member: Member, value: &Json<'_>, path: &str, key: &str, frame: &Frame<'_>) -> Read<()> {
    match member {
        Count => count(value, path, key),
        Flag => flag(value, path, key),
        Time => task::timestamp(string(value, path, key)?, path, key, frame),
        Member::State => {
            let name = string(value, path, key)?;
            // proto3's name for none
            if name == "TASK_STATE_UNSPECIFIED" || State::parse(name, frame.version).is_some() {
                return Ok(());
            }
            Err(MessageFault::malformed(at(path, key), "is not a state of a task"))
        }
        _ => id(value, path, key).map(drop),
    }
}

/// An integer of 32 bits.
pub(super) fn count(value: &Json<'_>, path: &str, key: &str) -> Read<()> {
    let fits = value.as_number().and_then(|n| n.as_i64_exact()).is_some_and(|n| i32::try_from(n).is_ok());
    if fits { Ok(()) } else { Err(MessageFault::malformed(at(path, key), "is not a 32-bit integer")) }
}

/// True or false.
pub(super) fn flag(value: &Json<'_>, path: &str, key: &str) -> Read<()> {
    match value.as_bool() {
        Some(_) => Ok(()),
        None => Err(MessageFault::malformed(at(path, key), "is neither true nor false")),
    }
}
