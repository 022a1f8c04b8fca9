//! `SendMessage` requests.

use super::{
    Operation,
    common::{self, Role, Row},
};
use crate::{
    Binding, Call, FaultKind, Message, MessageFault, Reading, RpcId,
    member::{Read, array, at, empty_object, object, prefer_duplicate, required, string, unknown},
};
use semgate_contexts::{Performative, PerformativeSet, json::Json};

/// What `SendMessage` may carry: everything but SUBSCRIBE, which the protocol has methods of its own for. Without a choice
/// in the metadata it is REQUEST.
pub const REQUEST_PERFORMATIVES: PerformativeSet = PerformativeSet::EMPTY
    .with(Performative::Request)
    .with(Performative::Agree)
    .with(Performative::Refuse)
    .with(Performative::Inform)
    .with(Performative::Propose)
    .with(Performative::Accept)
    .with(Performative::Reject)
    .with(Performative::CounterPropose)
    .with(Performative::Query)
    .with(Performative::Publish);

pub(super) const ROW: Row = Row { default: Performative::Request, allowed: REQUEST_PERFORMATIVES };

/// The most media types that a caller may list as acceptable; a client lists a handful.
const MAX_OUTPUT_MODES: usize = 16;

/// The longest history that a caller may ask for.
const MAX_HISTORY: i64 = 1_000;

/// The id of a request, if it is valid: from here on refusals are JSON-RPC errors with that id.
pub fn rpc_id(json: &Json<'_>) -> Option<RpcId> {
    RpcId::read(json.as_object()?.get("id")?)
}

/// Reads one `SendMessage` request.
///
/// # Errors
/// A batch, a notification, another method ([`FaultKind::MethodUnsupported`]), or the first member that is missing, unknown,
/// of the wrong form or there twice.
pub fn request<'j>(json: &'j Json<'j>, call: &Call, reading: &Reading<'_>) -> Read<Message<'j>> {
    let _ = call;
    envelope(json, reading).map_err(|fault| prefer_duplicate(fault, json, common::KNOWN))
}

fn envelope<'j>(json: &'j Json<'j>, reading: &Reading<'_>) -> Read<Message<'j>> {
    if let Json::Array(_) = json {
        return Err(MessageFault::malformed("", "is a batch, which A2A does not have"));
    }
    let (mut version, mut id, mut method, mut params) = (None, None, None, None);
    for (key, value) in object(json, "")?.iter() {
        match key {
            "jsonrpc" => version = Some(value),
            "id" => id = Some(value),
            "method" => method = Some(string(value, "", key)?),
            "params" => params = Some(value),
            _ => return unknown("", key),
        }
    }
    common::version(version)?;
    let id = RpcId::read(required(id, "", "id")?)
        .ok_or_else(|| MessageFault::malformed("/id", "is neither an identifier nor an integer"))?;
    if required(method, "", "method")? != Operation::SendMessage.as_str() {
        return Err(MessageFault {
            kind: FaultKind::MethodUnsupported,
            path: "/method".to_owned(),
            what: "is not `SendMessage`",
        });
    }
    let mut message = Message::new(Binding::A2a, ROW.default);
    message.rpc_id = Some(id);
    message.operation = Some(Operation::SendMessage);
    send(required(params, "", "params")?, reading, &mut message)?;
    Ok(message)
}

fn send<'j>(params: &'j Json<'j>, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<()> {
    const PATH: &str = "/params";
    let (mut message, mut tenant) = (None, None);
    for (key, value) in object(params, PATH)?.iter() {
        match key {
            "message" => message = Some(value),
            "configuration" => configuration(value)?,
            "metadata" => empty_object(value, PATH, key)?,
            "tenant" => tenant = Some(string(value, PATH, key)?),
            _ => return unknown(PATH, key),
        }
    }
    // proto3 writes an absent string as an empty one
    if tenant.filter(|tenant| !tenant.is_empty()) != reading.tenant {
        return Err(MessageFault::malformed("/params/tenant", "is not the tenant of the route"));
    }
    let message = required(message, PATH, "message")?;
    let said = common::message(
        message,
        "/params/message",
        "/params/message/metadata",
        |role| (role == Role::User).then_some(ROW),
        reading,
        out,
    )?;
    out.message_id = said.id;
    out.performative = said.performative;
    Ok(())
}

fn configuration(json: &Json<'_>) -> Read<()> {
    const PATH: &str = "/params/configuration";
    for (key, value) in object(json, PATH)?.iter() {
        match key {
            "acceptedOutputModes" => {
                let modes = array(value, PATH, key)?;
                if modes.len() > MAX_OUTPUT_MODES {
                    return Err(MessageFault::malformed(at(PATH, key), "lists more than 16 media types"));
                }
                for mode in modes {
                    common::media_type(mode, PATH, key)?;
                }
            }
            "historyLength" => {
                let length = value.as_number().and_then(|n| n.as_i64_exact());
                if !length.is_some_and(|n| (0..=MAX_HISTORY).contains(&n)) {
                    return Err(MessageFault::malformed(at(PATH, key), "is no integer from 0 to 1000"));
                }
            }
            "returnImmediately" => {
                if value.as_bool().is_none() {
                    return Err(MessageFault::malformed(at(PATH, key), "is neither true nor false"));
                }
            }
            "taskPushNotificationConfig" => {
                // a URL that the agent behind would call: nothing would judge what it sends there
                return Err(MessageFault::malformed(
                    at(PATH, key),
                    "asks for push notifications, which do not pass",
                ));
            }
            _ => return unknown(PATH, key),
        }
    }
    Ok(())
}
