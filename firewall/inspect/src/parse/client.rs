//! Checks of an MCP client against the state of its sessions.

use crate::{
    Code, Refusal,
    inspection::{Inspection, Turn},
    mcp_session::{At, NotOpen},
    ownership::in_session,
};
use semgate_contexts::json::Json;
use semgate_protocol::{Message, RpcId, Vocabulary, mcp};

/// The operation of the server's open request with this id, which a client answers.
pub(super) fn asked_by_server(case: &Inspection<'_>, id: &RpcId) -> Result<mcp::Operation, Refusal> {
    // an unknown session is reported before anything open in it
    in_session(case).map_err(|refusal| refusal.with_facts(case.facts()))?;
    let open = case.state.mcp_sessions.asks(asked_at(case), id, case.turn == Turn::Again);
    open.map_err(|NotOpen| answers_nothing(case))
}

/// Completes a version refusal with the requested and the supported versions (2026-07-28 "Protocol Version
/// Negotiation"). Other refusals stay unchanged.
pub(super) fn versions(case: &Inspection<'_>, named: Option<&str>, refusal: Refusal) -> Refusal {
    if refusal.code() != Code::VersionUnsupported || !case.protocol().traits().calls_tools {
        return refusal;
    }
    let spoken = case.state.tools.spoken(&case.route.receiver);
    let carried: Vec<_> = spoken.iter().map(|version| format!("`{}`", version.as_str())).collect();
    let data = mcp::ErrorData::unsupported(spoken, named);
    let named = match &data {
        mcp::ErrorData::Supported { requested: Some(named), .. } => format!("the version `{named}` of MCP"),
        _ => "an unnamed version of MCP".to_owned(),
    };
    let reason = format!("{named} is not supported here, but {} are", carried.join(", "));
    Refusal::new(Code::VersionUnsupported, reason)
        .with_hint(case.protocol().traits().version_hint)
        .with_facts(case.facts())
        .with_server_data(Some(data))
}

/// The MCP version in an answer to `initialize`, if it is a date. The caller gets no other text of the
/// server.
pub(super) fn settled<'j>(answer: &'j Json<'_>) -> Option<&'j str> {
    let version = answer.as_object()?.get("result")?.as_object()?.get("protocolVersion")?.as_str()?;
    let form = version.bytes().map(|b| if b.is_ascii_digit() { b'0' } else { b });
    form.eq(*b"0000-00-00").then_some(version)
}

/// Checks that a client cancels a request of its own that waits for its answer.
///
/// Outside of sessions a server keeps everybody's requests together, and ids are small numbers.
///
/// # Errors
/// `not_found`: no request of this id is under way, or another agent has one too.
pub(super) fn cancels(
    case: &Inspection<'_>,
    head: &mcp::Head,
    message: &Message<'_>,
    json: &Json<'_>,
) -> Result<(), Refusal> {
    let name = mcp::Operation::Cancelled.concept();
    let cancels = message.instances.iter().any(|one| one.of == Vocabulary::Protocol && one.name == name);
    if !cancels
        || head.session.is_some()
        || case.route.options.keeps_callers_apart
        || case.turn == Turn::Again
    {
        return Ok(());
    }
    let id = json.as_object().and_then(|message| message.get("params")?.as_object()?.get("requestId"));
    let (receiver, agent) = (case.route.receiver.as_str(), case.sender.id());
    // the protocol schema refuses a message without an id
    if id.and_then(RpcId::read).is_none_or(|id| case.state.mcp_sessions.is_under_way(receiver, agent, &id)) {
        return Ok(());
    }
    Err(Refusal::new(Code::NotFound, "this agent has no open request of its own with this id")
        .with_hint("cancel an open request of your own, under an id that no other agent uses"))
}

/// Checks that a resumed stream continues after an event that this session received.
///
/// Servers keep the events of all sessions together, and some number them, so foreign ids can be guessed.
///
/// # Errors
/// `not_found`: the event is unknown, forgotten or another agent's.
pub(super) fn goes_on(case: &Inspection<'_>, verb: &mcp::Verb) -> Result<(), Refusal> {
    let mcp::Verb::Open { last_event: Some(event) } = verb else { return Ok(()) };
    in_session(case)?;
    if case.route.options.keeps_callers_apart || case.state.mcp_sessions.was_told(asked_at(case), event) {
        return Ok(());
    }
    Err(Refusal::new(Code::NotFound, "the session has sent no event with this id")
        .with_hint("open the stream without `Last-Event-ID`, or initialize a new session"))
}

/// The place where the server made the request that a client answers.
pub(crate) fn asked_at<'c>(case: &Inspection<'c>) -> At<'c> {
    let session = case.call.mcp.as_deref().and_then(|head| head.session.as_deref());
    (case.route.scope(), case.sender.id(), session)
}

/// The refusal of a client's answer to a request that the server did not make, withdrew, or got an answer to.
pub(crate) fn answers_nothing(case: &Inspection<'_>) -> Refusal {
    Refusal::new(Code::Malformed, "the message answers no open request")
        .with_hint("answer each request of the server once, in its session, while it is open")
        .with_facts(case.facts())
}
