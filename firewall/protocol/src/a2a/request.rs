//! Requests: the operation asked for, and its parameters.

use super::{
    Operation,
    frame::{Frame, rpc_version},
    message::{self, Role},
    names::KNOWN,
    params::{self, count, flag},
    part, push,
};
use crate::claim::Row;
use crate::{
    Binding, Call, FaultKind, Form, Message, MessageFault, Reading, RpcId,
    member::{Read, at, object, prefer_duplicate, required, string, unknown},
};
use semgate_contexts::{Performative, PerformativeSet, json::Json};

/// Performatives that an asking message may carry: all but SUBSCRIBE, for which the protocol has methods of its own. The
/// default without a choice in the metadata is REQUEST.
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

/// The concept of a push configuration that is asked for.
const CREATE: &str = Operation::CreateTaskPushNotificationConfig.as_str();

/// The id of a request, if it is valid: from here on refusals are JSON-RPC errors with that id.
pub fn rpc_id(json: &Json<'_>) -> Option<RpcId> {
    RpcId::read(json.as_object()?.get("id")?)
}

/// Reads one request. In the JSON-RPC form `json` is the body; in the others it is the parameters ([`super::rest::params`],
/// [`super::grpc::request`]).
///
/// A request that carries a message has that message's instances. Every other operation is one instance of the concept of its
/// name in the protocol's context, with all parameters. A push configuration in a message is a further instance.
///
/// # Errors
/// A batch, a notification, or a method that the version does not have ([`FaultKind::MethodUnsupported`]). Else the first
/// member that is missing, unknown, of the wrong form or there twice.
pub fn request<'j>(json: &'j Json<'j>, call: &Call, reading: &Reading<'_>) -> Read<Message<'j>> {
    let read = match call.form {
        Form::Native | Form::JsonRpc | Form::A2h(..) | Form::Ldp(_) => envelope(json, call, reading),
        Form::Rest(operation) | Form::Grpc(operation) => {
            let frame = Frame { version: call.version, reading, rpc: false };
            if call.version == super::Version::V03 {
                return Err(unsupported("is a transport that 0.3 does not support here"));
            }
            asked(operation, Some(json), "", &frame)
        }
    };
    read.map_err(|fault| prefer_duplicate(fault, json, KNOWN))
}

fn unsupported(what: &'static str) -> MessageFault {
    MessageFault { kind: FaultKind::MethodUnsupported, path: "/method".to_owned(), what }
}

fn envelope<'j>(json: &'j Json<'j>, call: &Call, reading: &Reading<'_>) -> Read<Message<'j>> {
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
    rpc_version(version)?;
    let wrong = || MessageFault::malformed("/id", "is neither an identifier nor an integer");
    let id = id.map(|id| RpcId::read(id).ok_or_else(wrong)).transpose()?;
    let operation = Operation::of_method(required(method, "", "method")?, call.version)
        .ok_or_else(|| unsupported("is not a method of this A2A version"))?;
    let frame = Frame { version: call.version, reading, rpc: true };
    let mut message = asked(operation, params, "/params", &frame)?;
    // A notification is refused last: the protocol has a number of its own for every other fault.
    message.rpc_id = Some(required(id, "", "id")?);
    Ok(message)
}

fn asked<'j>(
    operation: Operation,
    params: Option<&'j Json<'j>>,
    path: &str,
    frame: &Frame<'_>,
) -> Read<Message<'j>> {
    let mut message = Message::new(Binding::A2a, operation.performative());
    message.operation = Some(operation);
    if operation.sends() {
        let params = params.ok_or_else(|| MessageFault::malformed(path, "is missing"))?;
        send(params, path, frame, &mut message)?;
    } else {
        params::read(operation, params, path, frame, &mut message)?;
    }
    Ok(message)
}

fn send<'j>(params: &'j Json<'j>, path: &str, frame: &Frame<'_>, out: &mut Message<'j>) -> Read<()> {
    let (mut message, mut tenant, mut settings, mut metadata) = (None, None, None, None);
    for (key, value) in object(params, path)?.iter() {
        match key {
            "message" => message = Some(value),
            "configuration" => settings = Some(value),
            "metadata" => metadata = Some(value),
            "tenant" if !frame.old() => tenant = Some(string(value, path, key)?),
            _ => return unknown(path, key),
        }
    }
    push::tenant(tenant.unwrap_or_default(), path, frame)?;
    let message = required(message, path, "message")?;
    has_parts(message, &at(path, "message"))?;
    let head = message::message(
        message,
        &at(path, "message"),
        "/params/message/metadata",
        |role| (role == Role::User).then_some(ROW),
        frame,
        out,
    )?;
    out.message_id = head.id;
    out.performative = head.performative;
    out.threads.own = head.own;
    if let Some(metadata) = metadata {
        frame.metadata(metadata, path, super::frame::Judged::ByItself(head.performative), out)?;
    }
    settings.map_or(Ok(()), |settings| configuration(settings, &at(path, "configuration"), frame, out))
}

/// Refuses a message without parts: both versions demand one.
fn has_parts(message: &Json<'_>, path: &str) -> Read<()> {
    match message.as_object().and_then(|message| message.get("parts")) {
        Some(Json::Array(parts)) if parts.is_empty() => {
            Err(MessageFault::malformed(at(path, "parts"), "is empty"))
        }
        _ => Ok(()),
    }
}

fn configuration<'j>(json: &'j Json<'j>, path: &str, frame: &Frame<'_>, out: &mut Message<'j>) -> Read<()> {
    for (key, value) in object(json, path)?.iter() {
        match (key, frame.old()) {
            ("acceptedOutputModes", _) => part::output_modes(value, path, key)?,
            ("historyLength", _) => count(value, path, key)?,
            ("returnImmediately", false) | ("blocking", true) => flag(value, path, key)?,
            ("taskPushNotificationConfig", false) | ("pushNotificationConfig", true) => {
                let path = at(path, key);
                let config =
                    if frame.old() { push::nested(value, &path)? } else { push::flat(value, &path, frame)? };
                config.note(out);
                // judged by itself: permission to send the message does not settle where events may go
                frame.say(CREATE, object(value, &path)?, Performative::Subscribe, &path, out)?;
            }
            _ => return unknown(path, key),
        }
    }
    Ok(())
}
