//! Checks of tool lists and calls against the signed context and the policies.

use super::drift::{Age, Form, ListedTool, NotAsSigned, Server, is_signed};
use super::failed::failed;
use super::lists::Page;
use super::param_headers::agrees;
use super::pin::{Pinned, digest_of, task_of};
use super::visible::{Held, held, listed_under, pinned_in};
use crate::{
    Code, Delivered, Direction, Refusal, ReplyPermit, Sent,
    answer_right::{self, Answer},
    arrived::Answered,
    generation::Named,
    input::{self, Needs},
    inspection::{Inspection, Turn},
    mcp_session::NotFree,
    meter::meter,
    parse::{self, read},
    permit::Written,
    redact, removal,
    stages::judged,
};
use bytes::Bytes;
use semgate_contexts::{
    Context, ContextUrn, Digest, Term,
    json::{Json, Object},
};
use semgate_protocol::{
    Reply, RpcId,
    mcp::{self, Asked, Kind, Operation, Revision},
    removal::MAX_POINTERS,
};
use serde_json::Value;
use std::collections::HashMap;

/// The task of a called tool, if it may be called.
///
/// # Errors
/// `tool_drift` for a tool whose server describes another form than the signed one. `header_mismatch` for
/// headers that differ from the arguments.
pub(crate) fn callable<'c>(
    case: &Inspection<'_>,
    named: &'c Named,
    tool: &str,
    arguments: &Object<'_>,
) -> Result<Option<(&'c Context, &'c Term)>, Refusal> {
    let context = named.context();
    let pinned = task_of(context, tool);
    agrees(case, pinned.as_ref(), arguments)?;
    let Some(pinned) = pinned else { return Ok(None) };
    // a default context of the route is believed until a list differs; a context from the caller is not
    let apart = || {
        let (route, defaults) = (case.route, &case.route.options.default_contexts);
        let by_default = defaults.contains(named.urn());
        let among = |urn: &ContextUrn| {
            if by_default { defaults.contains(urn) } else { route.understands(urn).is_ok() }
        };
        case.generation.pinned().differ(tool, named.urn(), among)
    };
    let stands = case.state.tools.stands(Server::of(case.route), tool, pinned.forms(), age(case), apart);
    let stands = match (stands, case.direction) {
        // the tool had its signed form when called, and its answer is held to the signed results
        (Err(why), Direction::Reply) if why != NotAsSigned::Drifted => Ok(()),
        // the list was young enough when the call first passed
        (Err(NotAsSigned::Old), Direction::Request) if case.turn == Turn::Again => Ok(()),
        (stands, _) => stands,
    };
    stands.map_err(|why| why.refusal(pinned.term.name()))?;
    Ok(Some((context, pinned.term)))
}

fn age(case: &Inspection<'_>) -> Age {
    Age { now: case.now.monotonic_ms, most: case.state.limits.tool_list_ms }
}

/// Checks that the call of an unnamed tool carries no argument headers, since no signature defines any.
///
/// # Errors
/// `header_mismatch`.
pub(crate) fn repeats_nothing(case: &Inspection<'_>, params: &Object<'_>) -> Result<(), Refusal> {
    agrees(case, None, params)
}

/// A tool of a page: its pin in one of the contexts, and its form.
type Described<'c> = (Option<(&'c Context, Pinned<'c>)>, Form);

/// The tools of a page by name. A tool that the page has twice has no form.
fn by_name<'c>(contexts: &[&'c Context], tools: &[Value]) -> HashMap<String, Described<'c>> {
    let mut named: HashMap<String, Described<'c>> = HashMap::new();
    for tool in tools {
        let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
        let form = || digest_of(tool).map(|digest| digest.to_string().into_boxed_str());
        let known = named.entry(name.to_owned());
        known.and_modify(|(_, form)| *form = None).or_insert_with(|| (pinned_in(contexts, name), form()));
    }
    named
}

/// The list without withheld tools, if there are any, and the tasks whose tools drifted.
///
/// A pinned tool that one page holds twice has drifted in any case, since a client may take either.
fn without(
    case: &Inspection<'_>,
    contexts: &[&Context],
    asked: &Asked,
    reply: &Json<'_>,
) -> (Option<Value>, Vec<String>) {
    let mut value = reply.to_value();
    // a malformed cursor is refused later and does not end the list
    let next = value.pointer("/result/nextCursor").map(|next| next.as_str().unwrap_or_default().to_owned());
    let Some(Value::Array(tools)) = value.pointer_mut("/result/tools") else { return (None, Vec::new()) };
    let named = by_name(contexts, tools);
    // also tools of other contexts: a caller may use them there
    let pinned = named.iter().filter(|(name, _)| case.generation.pinned().has(name));
    let listed = pinned.map(|(tool, (signed, form))| ListedTool {
        tool,
        form: form.clone(),
        signed: signed.as_ref().map(|(_, pinned)| pinned.forms()),
    });
    let listed: Vec<_> = listed.collect();
    let Some(first) = contexts.first() else { return (None, Vec::new()) };
    let page = Page {
        server: Server::of(case.route),
        context: first.digest(),
        caller: case.receiver,
        version: asked.version,
        cursor: asked.cursor.as_deref(),
        next: next.as_deref(),
        asked_after: case.answers.map_or(0, |sent| sent.tool_changes),
        age: age(case),
    };
    case.state.tools.listed(&page, &listed);
    let (before, mut drifted) = (tools.len(), Vec::new());
    tools.retain(|tool| {
        let Some(name) = tool.get("name").and_then(Value::as_str) else { return false };
        let known = named.get(name);
        let pinned = known.and_then(|(pinned, _)| pinned.as_ref());
        let signed =
            |((_, form), (_, pinned)): (&(_, Form), &(_, Pinned<'_>))| is_signed(pinned.forms(), form);
        let holds = known.zip(pinned).is_some_and(signed);
        match held(case, contexts, name, pinned, holds) {
            Held::Shown => true,
            Held::Withheld => false,
            Held::Drifted(task) => {
                if !drifted.contains(&task) {
                    drifted.push(task);
                }
                false
            }
        }
    });
    let same = tools.len() == before;
    ((!same).then_some(value), drifted)
}

/// Effect of a server's message on the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// None: it precedes the answer.
    Nothing,
    /// Acknowledgement of a subscription, before any other message of it.
    Waiting,
    /// The single answer.
    Answer,
}

/// Judges one answer or event of a server.
///
/// On a session stream, an answer is judged by the earlier request in that session that it answers, and the
/// stream goes on.
///
/// # Errors
/// As [`Inspector::inspect_reply`].
pub(crate) fn judge(
    case: &Inspection<'_>,
    sent: &Sent,
    status: u16,
    answered: &Answered,
) -> Result<(ReplyPermit, Ends), Refusal> {
    let asked = asked(case, sent)?;
    if asked.rpc_id.is_some() {
        return one(case, sent, asked, status, answered);
    }
    let strict = read(case, &answered.judged)?;
    let Some(id) = mcp::response_id(strict.json()) else {
        return one(case, sent, asked, status, answered);
    };
    let nothing = || {
        Refusal::new(Code::Malformed, "the stream answers a request that this session did not send")
            .with_facts(case.facts())
    };
    let before =
        case.state.mcp_sessions.asked(sent, &id).map_err(|why| why.refusal().with_facts(case.facts()))?;
    let asked = before.mcp.as_ref().ok_or_else(nothing)?;
    let case = case.answering(&before);
    let judged = one(&case, &before, asked, status, answered);
    let (permit, _) = judged.map_err(|refusal| failed_before(&before, id, refusal))?;
    // a session stream has no end of its own
    Ok((permit, Ends::Nothing))
}

/// Result of rewriting a response.
#[derive(Default)]
struct Prepared {
    /// Rewritten response, if anything was removed.
    body: Option<Bytes>,
    /// Tasks whose tools drifted.
    drifted: Vec<String>,
    /// JSON Pointers to the removed parts of a failed result.
    removed: Vec<String>,
}

/// Rewrites a list without its withheld tools, or a failed result without its inadmissible parts.
fn prepared(
    case: &Inspection<'_>,
    sent: &Sent,
    asked: &Asked,
    response: &Json<'_>,
) -> Result<Prepared, Refusal> {
    let mut prepared = Prepared::default();
    let other = match asked.operation {
        Operation::ListTools => {
            let named = case.generation.named(sent.about.urn.as_str()).ok_or_else(|| lost(case))?;
            let contexts = listed_under(case, sent, named);
            let (other, gone) = without(case, &contexts, asked, response);
            prepared.drifted = gone;
            other
        }
        Operation::CallTool => failed(case, asked, response).map(|failed| {
            prepared.removed = failed.removed;
            failed.response
        }),
        _ => None,
    };
    if let Some(other) = other {
        prepared.body = Some(Bytes::from(serde_json::to_vec(&other).map_err(|_| lost(case))?));
    }
    Ok(prepared)
}

/// Judges one message as the answer or notification that it is. A tool list is first rewritten without its
/// withheld tools, and judged in that form.
fn one(
    case: &Inspection<'_>,
    sent: &Sent,
    asked: &Asked,
    status: u16,
    answered: &Answered,
) -> Result<(ReplyPermit, Ends), Refusal> {
    let arrived = read(case, &answered.judged)?;
    let removal = removal::of_server(case, asked, &arrived);
    let pointers = removal.as_ref().map_or(&[][..], |removal| &removal.pointers);
    let case = &Inspection { removed: pointers, ..*case };
    let mut rewritten = removal.as_ref().map(|removal| removal.message.clone());
    let prepared = match &rewritten {
        Some(bytes) => prepared(case, sent, asked, read(case, bytes)?.json())?,
        None => prepared(case, sent, asked, arrived.json())?,
    };
    rewritten = prepared.body.or(rewritten);
    let body = rewritten.as_ref().unwrap_or(&answered.judged);
    let redacted = redact::reply(case, sent, body)?;
    if let Some(redacted) = &redacted {
        rewritten = Some(redacted.bytes.clone());
    }
    let case = &Inspection { before: redacted.as_ref().map_or(&[][..], |one| &one.before), ..*case };
    let strict = match &rewritten {
        Some(bytes) => read(case, bytes)?,
        None => arrived,
    };
    let message =
        parse::reply(case, &strict).map_err(|refusal| refused_answer(case, sent, asked, refusal))?;
    let Reply::Message(message) = message else { return Err(unasked(case)) };
    let (Some((kind, operation)), id) = (message.rpc, message.rpc_id.clone()) else {
        return Err(unasked(case));
    };
    // even if nobody may receive it, earlier lists become invalid
    if operation == Operation::ToolListChanged {
        case.state.tools.changed(&case.route.receiver);
    }
    let needs = Needs { state: message.state_token, input: message.input.clone() };
    let metered = meter(judged(case, *message)?, None)?;
    let mut facts = metered.facts();
    facts.drifted = prepared.drifted;
    facts.removed.extend(prepared.removed);
    facts.removed.truncate(MAX_POINTERS);
    facts.redacted = redacted.as_ref().map(|redacted| redacted.members.clone()).unwrap_or_default();
    if needs.any() {
        input::remember(case, sent, asked, &needs).map_err(|refusal| refusal.with_facts(facts.clone()))?;
    }
    let spoken = Spoken { kind, operation, id };
    let settled = settle(case, sent, spoken, &answered.judged, strict.json());
    let (answers, ends) = settled.map_err(|refusal| refusal.with_facts(facts.clone()))?;
    let written = if rewritten.is_some() { Written::ByGateway } else { Written::ByAgent };
    let body = rewritten.as_ref().unwrap_or(&answered.judged).clone();
    Ok((ReplyPermit::listed(facts, status, body, written).answering(answers), ends))
}

/// A permitted message of a server.
struct Spoken {
    kind: Kind,
    operation: Operation,
    id: Option<RpcId>,
}

/// Records the effect of a permitted message on the open requests. An answer takes the right to its request.
fn settle(
    case: &Inspection<'_>,
    sent: &Sent,
    spoken: Spoken,
    body: &Bytes,
    json: &Json<'_>,
) -> Result<(Option<Answer>, Ends), Refusal> {
    let Spoken { kind, operation, id } = spoken;
    match (kind, id) {
        (Kind::Response, Some(id)) => {
            let answer = sent.right.begin(Digest::of(body))?;
            case.state.mcp_sessions.answered(sent, &id);
            if operation == Operation::Discover {
                case.state.tools.speaks(&case.route.receiver, carried(json));
            }
            Ok((answer, Ends::Answer))
        }
        (Kind::Request, Some(id)) => {
            let asks = case.state.mcp_sessions.server_asks(sent, id, operation, Digest::of(body));
            asks.map_err(NotFree::refusal)?;
            Ok((None, Ends::Nothing))
        }
        _ => {
            withdraw(case, sent, operation, json);
            let waits = operation == Operation::SubscriptionsAcknowledged;
            Ok((None, if waits { Ends::Waiting } else { Ends::Nothing }))
        }
    }
}

/// The refusal of an answer. An error takes the answer right too, when it is delivered.
fn refused_answer(case: &Inspection<'_>, sent: &Sent, asked: &Asked, refusal: Refusal) -> Refusal {
    match (refusal.code(), &asked.rpc_id) {
        (Code::AgentError, Some(_)) if !sent.right.is_open() => {
            answer_right::withheld(answer_right::ANSWERED).with_facts(case.facts())
        }
        (Code::AgentError, Some(id)) => {
            case.state.mcp_sessions.answered(sent, id);
            refusal
        }
        _ => refusal,
    }
}

/// The refusal of an answer to an earlier request, on its session's stream. The error carries the id of that
/// request.
fn failed_before(before: &Sent, id: RpcId, refusal: Refusal) -> Refusal {
    match refusal.code() {
        Code::AgentError if before.right.take() => refusal.with_rpc_id(Some(id)),
        Code::AgentError => {
            answer_right::withheld(answer_right::ANSWERED).with_facts(refusal.facts().clone())
        }
        _ => refusal,
    }
}

/// The supported versions among those that a server names.
fn carried(answer: &Json<'_>) -> Vec<Revision> {
    let result = answer.as_object().and_then(|answer| answer.get("result")?.as_object());
    let named = result.and_then(|result| result.get("supportedVersions")?.as_array()).unwrap_or_default();
    let names = |version: &Revision| named.iter().any(|name| name.as_str() == Some(version.as_str()));
    Revision::ALL.into_iter().filter(names).collect()
}

/// Forgets a request of the server that this notification cancels.
fn withdraw(case: &Inspection<'_>, sent: &Sent, operation: Operation, message: &Json<'_>) {
    if operation != Operation::Cancelled {
        return;
    }
    let id = message
        .as_object()
        .and_then(|message| message.get("params")?.as_object()?.get("requestId"))
        .and_then(RpcId::read);
    if let Some(id) = id {
        case.state.mcp_sessions.withdrawn(sent, &id);
    }
}

fn asked<'s>(case: &Inspection<'_>, sent: &'s Sent) -> Result<&'s Asked, Refusal> {
    sent.mcp.as_ref().ok_or_else(|| unasked(case))
}

fn unasked(case: &Inspection<'_>) -> Refusal {
    Refusal::new(Code::Malformed, "the reply answers no open request").with_facts(case.facts())
}

fn lost(case: &Inspection<'_>) -> Refusal {
    Refusal::new(Code::ContextUnknown, "the context of the request is no longer available")
        .with_hint("send it again later")
        .with_delivered(Delivered::Yes)
        .with_facts(case.facts())
}
