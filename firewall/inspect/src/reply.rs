//! Replies are judged like requests (DESIGN §2.7): the replier is the route's receiver, the context the request's and no other.

use crate::{Code, Delivered, Direction, Facts, Refusal, ReplyPermit, Sent, code::Class};
use bytes::Bytes;
use semgate_message::Binding;

/// Judges status and emptiness, before a byte of the body is read.
///
/// # Errors
/// `upstream_invalid` for every status that is no success of the binding.
pub(crate) fn admissible(sent: &Sent, status: u16, body: &Bytes) -> Result<Form, Refusal> {
    let fits = match sent.route.binding {
        Binding::L8 => (200..300).contains(&status),
        Binding::A2a | Binding::Mcp => status == 200,
    };
    if !fits {
        return Err(invalid(
            "the agent behind answered with a status that does not pass",
            format!("status {status}"),
        ));
    }
    match (sent.route.binding, status, body.is_empty()) {
        (Binding::L8, 202 | 204, true) => Ok(Form::Acknowledgement),
        (_, _, true) => {
            Err(invalid("the agent behind answered nothing", format!("status {status}, empty body")))
        }
        _ => Ok(Form::Message),
    }
}

/// What kind of reply it is.
pub(crate) enum Form {
    /// 202 or 204 without a body: no byte passes, so only replier and context are judged.
    Acknowledgement,
    /// Bytes to be judged.
    Message,
}

fn invalid(reason: &str, detail: String) -> Refusal {
    Refusal::new(Code::UpstreamInvalid, reason)
        .with_hint("the message was delivered: do not send it again before you know what became of it")
        .with_detail(detail)
        .with_delivered(Delivered::Yes)
}

/// A reply that acknowledges without saying anything.
pub(crate) fn acknowledgement(sent: &Sent, facts: Facts, status: u16) -> ReplyPermit {
    let facts = Facts { direction: Direction::Reply, context: Some(sent.urn.to_string()), ..facts };
    ReplyPermit::acknowledge(facts, status)
}

/// Turns the refusal of a reply into what the caller reads: the inner code as cause, and that the request was delivered.
pub(crate) fn refused(inner: Refusal) -> Refusal {
    let cause = inner.code();
    let (code, reason) = match cause.class() {
        Class::Form if cause != Code::ContextMissing => {
            (Code::UpstreamInvalid, "the agent behind answered what is no reply")
        }
        _ => (Code::ReplyRefused, "the agent behind answered what it may not say"),
    };
    let mut refusal = Refusal::new(code, reason)
        .with_hint("the message was delivered: do not send it again before you know what became of it")
        .with_detail(format!("{inner}; {}", inner.detail()))
        .with_cause(cause)
        .with_delivered(Delivered::Yes)
        .with_facts(inner.facts().clone());
    if let Some(wait) = inner.retry_after() {
        refusal = refusal.with_retry_after(wait);
    }
    refusal
}
