//! One event of a stream: exactly one JSON-RPC message of the server.

use super::{
    Asked, KNOWN, Listens, Operation, Revision, Speaker, answer,
    content::META,
    form,
    request::{envelope, spoken},
};
use crate::{
    FaultKind, Message, MessageFault, Reading, Reply, RpcId,
    member::{Read, prefer_duplicate},
};
use semgate_contexts::json::Json;

/// Reads the one message of an event. `asked` is the request that the stream answers. For the stream of a session it has no
/// id, since that carries no answers of its own.
///
/// # Errors
/// As [`answer`](fn@super::answer) for the answer that ends the stream, and as [`request`](fn@super::request) for
/// notifications and requests of the server. Also progress of another request, a change for another subscription, and an
/// answer to another request.
pub fn event<'j>(
    json: &'j Json<'j>,
    version: Revision,
    asked: Option<&'j Asked>,
    reading: &Reading<'_>,
) -> Read<Reply<'j>> {
    let has_method = json.as_object().is_some_and(|members| members.get("method").is_some());
    let asked = asked.filter(|asked| asked.rpc_id.is_some());
    if !has_method && let (Json::Object(_), Some(asked)) = (json, asked) {
        return answer(json, asked, Speaker::Server, reading);
    }
    let read = read(json, version, asked, reading);
    read.map(|message| Reply::Message(Box::new(message)))
        .map_err(|fault| prefer_duplicate(fault, json, KNOWN))
}

fn read<'j>(
    json: &'j Json<'j>,
    version: Revision,
    asked: Option<&'j Asked>,
    reading: &Reading<'_>,
) -> Read<Message<'j>> {
    let (message, operation) = spoken(envelope(json)?, Speaker::Server, version, reading)?;
    let params = json.as_object().and_then(|members| members.get("params")).and_then(Json::as_object);
    let member = |name: &str| params.and_then(|params| params.get(name));
    if operation == Operation::Progress {
        let named = member("progressToken").and_then(RpcId::read);
        // on the stream of a session, progress belongs to any request that is open there
        if let Some(asked) = asked
            && (named.is_none() || named != asked.progress)
        {
            let (path, what) = ("/params/progressToken".to_owned(), "is not the token of the request");
            return Err(MessageFault { kind: FaultKind::Stray, path, what });
        }
    }
    let subscription = member(META)
        .and_then(Json::as_object)
        .and_then(|meta| meta.get("io.modelcontextprotocol/subscriptionId"))
        .map(|id| form::token(id, "/params/_meta", "subscriptionId"))
        .transpose()?;
    if subscription.as_ref().is_some_and(|named| !asked.is_some_and(|asked| asked.is_named(named))) {
        return Err(MessageFault::malformed("/params/_meta", "names another subscription than the request"));
    }
    if !version.has_sessions() {
        subscribed(operation, asked, subscription.as_ref())?;
    }
    Ok(message)
}

/// 2026-07-28: changes come only on the stream of their subscriber, each with the id of the subscription.
fn subscribed(operation: Operation, asked: Option<&Asked>, subscription: Option<&RpcId>) -> Read<()> {
    let listening = asked.filter(|asked| asked.operation == Operation::Listen);
    let wanted =
        |pick: fn(&Listens) -> bool| listening.is_some_and(|asked| asked.listens.as_ref().is_none_or(pick));
    let fits = match operation {
        Operation::ToolListChanged => wanted(|listens| listens.tools),
        Operation::PromptListChanged => wanted(|listens| listens.prompts),
        Operation::ResourceListChanged => wanted(|listens| listens.resources),
        Operation::ResourceUpdated => wanted(|listens| listens.updates),
        Operation::SubscriptionsAcknowledged => listening.is_some(),
        _ if listening.is_some() => {
            return Err(MessageFault::malformed("/method", "belongs to another request than a subscription"));
        }
        _ => return Ok(()),
    };
    if !fits {
        return Err(MessageFault::malformed("/method", "is sent only to a listening client"));
    }
    if subscription.is_none() {
        return Err(MessageFault::malformed("/params/_meta", "does not name the subscription"));
    }
    Ok(())
}
