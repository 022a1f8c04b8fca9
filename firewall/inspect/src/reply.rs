//! Judgement of replies. They are judged like requests: the replier is the route's receiver, and the context
//! is the request's.

use crate::{
    Code, Delivered, Direction, Facts, Peer, Refusal, ReplyPermit, Sent,
    arrived::Answered,
    code::Class,
    effects::taken,
    inspection::Inspection,
    list,
    meter::meter,
    ownership::deleted,
    parse::{self, read},
    permit::Counted,
    redact, removal,
    resolve::{authentic, still_stands},
    stages::judged,
    stream::enabled,
    subscriptions, term_negotiation, tools,
};
use bytes::Bytes;
use semgate_protocol::{AgentFailure, Message, Reply, ReplyKind, StreamRules, mcp};

/// Checks the status and emptiness of a reply, before its body is read.
///
/// # Errors
/// `upstream_invalid` for every status that is neither a success nor an error of the binding.
pub(crate) fn admissible(sent: &Sent, status: u16, body: &Bytes) -> Result<ReplyKind, Refusal> {
    if sent.is_unanswered() && (200..300).contains(&status) {
        return Ok(ReplyKind::Acknowledgement);
    }
    match sent.call.protocol().reply_kind(status, body.is_empty(), sent.operation()) {
        Some(ReplyKind::Missing) => {
            Err(invalid("the upstream agent sent no answer", format!("status {status}, empty body")))
        }
        Some(kind) => Ok(kind),
        None => Err(no_pass(status)),
    }
}

/// The refusal of a status that is neither a success nor a protocol error according to its body.
pub(crate) fn no_pass(status: u16) -> Refusal {
    invalid("the upstream agent answered with a status that does not pass", format!("status {status}"))
}

fn invalid(reason: &str, detail: String) -> Refusal {
    Refusal::new(Code::UpstreamInvalid, reason)
        .with_hint("the message was delivered: check its effect before you send it again")
        .with_detail(detail)
        .with_delivered(Delivered::Yes)
}

/// Judges an acknowledgement: context and both ends must be valid as for any reply.
pub(crate) fn acknowledged(
    case: &Inspection<'_>,
    sent: &Sent,
    facts: Facts,
    status: u16,
) -> Result<ReplyPermit, Refusal> {
    // the configuration is deleted, even if its owner may not see the answer
    deleted(case, sent);
    match still_stands(case, sent).and_then(|()| enabled(case, sent)) {
        Ok(()) => {
            term_negotiation::teach(&case.state.negotiated_terms, sent, case.now.unix);
            let context = Some(sent.about.urn.to_string());
            Ok(ReplyPermit::acknowledge(Facts { direction: Direction::Reply, context, ..facts }, status))
        }
        Err(refusal) => Err(refusal.with_facts(facts)),
    }
}

/// Turns the refusal of a reply into its form for the caller: the inner code becomes the cause, and the
/// request counts as delivered.
pub fn refused(inner: Refusal) -> Refusal {
    let cause = inner.code();
    // the agent's own error, or a fault of the whole answer, is reported as it is
    if cause.class() == Class::Delivery {
        return inner;
    }
    let (code, reason) = match cause.class() {
        Class::Form if cause != Code::ContextMissing => {
            (Code::UpstreamInvalid, "the answer of the upstream agent is not a valid reply")
        }
        _ => (Code::ReplyRefused, "the answer of the upstream agent is refused"),
    };
    // the version that an agent selects is not a secret from its caller, and holds no text of the message
    let reason = if cause == Code::VersionUnsupported { inner.reason() } else { reason };
    let mut refusal = Refusal::new(code, reason)
        .with_hint("the message was delivered: check its effect before you send it again")
        .with_detail(format!("{inner}; {}", inner.detail()))
        .with_cause(cause)
        .with_delivered(Delivered::Yes)
        .with_facts(inner.facts().clone());
    if let Some(wait) = inner.retry_after() {
        refusal = refusal.with_retry_after(wait);
    }
    if let Some(remedy) = inner.remedy() {
        refusal = refusal.with_remedy(remedy);
    }
    refusal
}

/// A received reply.
pub(crate) struct Received<'r> {
    pub status: u16,
    pub body: &'r Answered,
    /// Present if the reply was counted before, in other bytes.
    pub counted: Option<Counted>,
}

/// Judges the bytes of a reply: without removed members and, if policies redact, without those.
///
/// # Errors
/// As [`Inspector::inspect_reply`](crate::Inspector::inspect_reply).
pub(crate) fn judge(
    case: &Inspection<'_>,
    sent: &Sent,
    kind: ReplyKind,
    received: Received<'_>,
) -> Result<ReplyPermit, Refusal> {
    let Received { status, body, .. } = received;
    if case.protocol().traits().stream == StreamRules::Server {
        // an error status must carry an error; nothing is learnt from any other body
        let refused = || Err(no_pass(status).with_facts(case.facts()));
        if kind == ReplyKind::Error && !mcp::is_failure(read(case, &body.judged)?.json()) {
            return refused();
        }
        let (permit, _) = tools::judge(case, sent, status, body)?;
        return if kind == ReplyKind::Error { refused() } else { Ok(permit) };
    }
    if let Some(redacted) = redact::reply(case, sent, &body.judged)? {
        let case = &Inspection { before: &redacted.before, ..*case };
        let received = Received { body: &redacted.answered(), ..received };
        return Ok(judge_message(case, sent, kind, received)?.redacted(redacted.members));
    }
    judge_message(case, sent, kind, received)
}

fn judge_message(
    case: &Inspection<'_>,
    sent: &Sent,
    kind: ReplyKind,
    received: Received<'_>,
) -> Result<ReplyPermit, Refusal> {
    let Received { status, body, .. } = received;
    let strict = read(case, &body.judged)?;
    if let Some(removed) = removal::of_agent(case, &strict) {
        let case = &Inspection { removed: &removed.pointers, ..*case };
        let received = Received { body: &removed.message, ..received };
        return judge(case, sent, kind, received).map(ReplyPermit::rewritten);
    }
    if kind == ReplyKind::Error
        && let Some(error) = case.protocol().status_error(status, strict.json())
    {
        return Err(Refusal::of_agent(error.known).with_facts(case.facts()));
    }
    match parse::reply(case, &strict)? {
        Reply::Message(message) if kind != ReplyKind::Error => {
            let decided = judged(case, *message)?;
            subscriptions::asked_for(sent, &decided)
                .map_err(|refusal| refusal.with_facts(decided.facts()))?;
            let metered = meter(decided, received.counted)?;
            let step = taken(case, sent, &metered)?;
            Ok(ReplyPermit::of(&metered, status, body, step))
        }
        Reply::Failure(failure, message) => Err(failed(case, failure, &message)),
        Reply::Tasks(list) if kind != ReplyKind::Error => list::judge(case, sent, status, body, &list),
        _ => Err(no_pass(status).with_facts(case.facts())),
    }
}

/// The refusal for a failure of the agent, or for one that is not the agent's own.
fn failed(case: &Inspection<'_>, failure: AgentFailure, message: &Message<'_>) -> Refusal {
    let refusal = authentic(case, message).err().unwrap_or_else(|| Refusal::of_failure(failure));
    refusal.with_facts(Facts { performative: Some(message.performative), ..case.facts() })
}

/// Checks that the upstream connection belongs to the route's receiver, the agent that the caller addressed.
pub(crate) fn same_agent(sent: &Sent, replier: &Peer, facts: Facts) -> Result<Facts, Refusal> {
    if replier.id() == sent.route.receiver {
        return Ok(facts);
    }
    Err(Refusal::new(Code::SenderMismatch, "the agent that answered is not the receiver of the route")
        .with_detail(format!("the upstream is `{}`", replier.id()))
        .with_facts(facts))
}
