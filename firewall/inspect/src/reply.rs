//! Judgement of replies. They are judged like requests: the replier is the route's receiver, and the context
//! is the request's.

use crate::{
    Code, Delivered, Direction, Facts, Inspector, Now, Peer, Refusal, ReplyPermit, Sent, arrived::Answered,
    belongs::deleted, case::Case, code::Class, resolve::still_stands, rounds, stream::enabled,
};
use bytes::Bytes;
use semgate_protocol::ReplyKind;

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
            Err(invalid("the agent behind answered nothing", format!("status {status}, empty body")))
        }
        Some(kind) => Ok(kind),
        None => Err(no_pass(status)),
    }
}

/// The refusal of a status that is neither a success nor a protocol error according to its body.
pub(crate) fn no_pass(status: u16) -> Refusal {
    invalid("the agent behind answered with a status that does not pass", format!("status {status}"))
}

fn invalid(reason: &str, detail: String) -> Refusal {
    Refusal::new(Code::UpstreamInvalid, reason)
        .with_hint("the message was delivered: do not send it again before you know what became of it")
        .with_detail(detail)
        .with_delivered(Delivered::Yes)
}

/// Judges an acknowledgement: context and both ends must be valid as for any reply.
pub(crate) fn acknowledged(
    case: &Case<'_>,
    sent: &Sent,
    facts: Facts,
    status: u16,
) -> Result<ReplyPermit, Refusal> {
    // the configuration is deleted, even if its owner may not see the answer
    deleted(case, sent);
    match still_stands(case, sent).and_then(|()| enabled(case, sent)) {
        Ok(()) => {
            rounds::teach(case.learnt, sent, case.now.unix);
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
            (Code::UpstreamInvalid, "the agent behind answered what is no reply")
        }
        _ => (Code::ReplyRefused, "the agent behind answered what it may not say"),
    };
    // the version that an agent selects is not a secret from its caller, and holds no text of the message
    let reason = if cause == Code::VersionUnsupported { inner.reason() } else { reason };
    let mut refusal = Refusal::new(code, reason)
        .with_hint("the message was delivered: do not send it again before you know what became of it")
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

impl Inspector {
    /// A permit for other bytes of the same reply, rewritten by the gateway. They are parsed, conformed and
    /// decided as a new reply, and nothing is counted twice.
    ///
    /// # Errors
    /// As [`Inspector::inspect_reply`], except for the limits.
    pub fn reply_anew(
        &self,
        before: ReplyPermit,
        sent: &Sent,
        replier: &Peer,
        reply: impl Into<Answered>,
        now: Now,
    ) -> Result<ReplyPermit, Refusal> {
        let status = before.status();
        let (_, _, counted) = before.into_counted();
        self.replied(sent, replier, (status, Some(counted)), &reply.into(), now)
    }
}
