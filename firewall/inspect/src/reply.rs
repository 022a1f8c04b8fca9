//! Replies are judged like requests (`docs/design/firewall.md` §7): the replier is the route's receiver, the context the request's and no other.

use crate::{
    Code, Delivered, Direction, Facts, Inspector, Now, Peer, Refusal, ReplyPermit, Sent, arrived::Answered,
    belongs::deleted, case::Case, code::Class, resolve::still_stands, rounds, stream::enabled,
};
use bytes::Bytes;
use semgate_message::{Binding, Form as Written, a2a::Operation};

/// Judges status and emptiness, before a byte of the body is read.
///
/// # Errors
/// `upstream_invalid` for every status that is neither a success nor an error of the binding.
pub(crate) fn admissible(sent: &Sent, status: u16, body: &Bytes) -> Result<Form, Refusal> {
    if sent.is_unanswered() && (200..300).contains(&status) {
        return Ok(Form::Acknowledgement);
    }
    let deletes = sent.operation() == Some(Operation::DeleteTaskPushNotificationConfig);
    match (sent.route.binding, status, body.is_empty()) {
        (Binding::L8, 202 | 204, true) => Ok(Form::Acknowledgement),
        (Binding::A2a, 200 | 204, true) if deletes => Ok(Form::Acknowledgement),
        (Binding::L8, 200..300, false) | (_, 200, false) => Ok(Form::Message),
        // in HTTP+JSON something may be created, or accepted
        (Binding::A2a, 201 | 202, false) if matches!(sent.call.form, Written::Rest(_)) => Ok(Form::Message),
        (Binding::A2a | Binding::Mcp, 400..600, false) => Ok(Form::Error),
        (Binding::L8, 200..300, true) | (_, 200, true) => {
            Err(invalid("the agent behind answered nothing", format!("status {status}, empty body")))
        }
        _ => Err(no_pass(status)),
    }
}

/// What kind of reply it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Success without a body, or with one that answers nothing: no byte passes, so only replier and context are judged.
    Acknowledgement,
    /// Bytes to be judged.
    Message,
    /// Bytes that may only say which of the protocol's errors it is.
    Error,
}

/// A status that is neither a success nor, by what its body says, an error of the protocol.
pub(crate) fn no_pass(status: u16) -> Refusal {
    invalid("the agent behind answered with a status that does not pass", format!("status {status}"))
}

fn invalid(reason: &str, detail: String) -> Refusal {
    Refusal::new(Code::UpstreamInvalid, reason)
        .with_hint("the message was delivered: do not send it again before you know what became of it")
        .with_detail(detail)
        .with_delivered(Delivered::Yes)
}

/// Nothing is said, and yet it is a reply: the context must count as for any other, and both ends.
pub(crate) fn acknowledged(
    case: &Case<'_>,
    sent: &Sent,
    facts: Facts,
    status: u16,
) -> Result<ReplyPermit, Refusal> {
    // it is gone, whether or not its owner may hear so
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

/// Turns the refusal of a reply into what the caller reads: the inner code as cause, and that the request was delivered.
pub fn refused(inner: Refusal) -> Refusal {
    let cause = inner.code();
    // the agent's own error, or a fault of its answer as a whole, is told as it is
    if cause.class() == Class::Delivery {
        return inner;
    }
    let (code, reason) = match cause.class() {
        Class::Form if cause != Code::ContextMissing => {
            (Code::UpstreamInvalid, "the agent behind answered what is no reply")
        }
        _ => (Code::ReplyRefused, "the agent behind answered what it may not say"),
    };
    // which version an agent settles on is for its operator to know, and holds no word of the message
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
    /// A permit for other bytes of the same reply, which the gateway wrote in its place (a named transformation, `docs/design/firewall.md` §1): they are
    /// parsed, conformed and decided as a new reply, and nothing is counted a second time.
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
