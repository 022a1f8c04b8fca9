//! Refusals for which the gateway has reasons of its own, not the inspector's.

use std::time::Duration;

use semgate_inspect::{Code, Delivered, Direction, Facts, Left, Limited, Permit, Quota, Refusal};

use crate::account::Rate;
use crate::framing::FramingFault;
use crate::upstream::ConnectFault;

/// What to do where it is not known whether a message arrived.
pub(crate) const ONCE: &str = "do not send it again before you know what became of it";

/// How a hint begins where it is known that nothing arrived.
const NOTHING: &str = "nothing was delivered";

pub(crate) fn timeout(delivered: Delivered) -> Refusal {
    Refusal::new(Code::UpstreamTimeout, "the agent behind did not answer in time")
        .with_hint(ONCE)
        .with_delivered(delivered)
}

pub(crate) fn invalid(reason: &str) -> Refusal {
    Refusal::new(Code::UpstreamInvalid, reason)
        .with_hint(format!("the message was delivered: {ONCE}"))
        .with_delivered(Delivered::Yes)
}

pub(crate) fn unreachable_agent() -> Refusal {
    Refusal::new(Code::UpstreamUnavailable, "the agent behind cannot be reached")
        .with_hint(format!("{NOTHING}: send it again later"))
}

/// The caller has as many requests in flight as it may.
pub(crate) fn too_many() -> Refusal {
    Refusal::new(Code::RateLimited, "this agent has more requests in flight than it may")
        .with_hint("wait for answers, or end streams or sockets, before the next request")
        .with_retry_after(Duration::from_secs(1))
}

/// The agent has spent the units of its arrivals, and `wait` is left until the next could pass.
pub(crate) fn too_often(rate: &Rate, wait: Duration) -> Refusal {
    let wait = wait.max(Duration::from_millis(1));
    let most = u64::from(rate.burst);
    let quota = Quota {
        name: "messages".into(),
        most,
        window: most.div_ceil(u64::from(rate.per_second.max(1))),
        left: Some(Left { units: 0, more_in: Some(wait.as_secs() + u64::from(wait.subsec_nanos() > 0)) }),
    };
    let text = format!("{}/second burst {}", rate.per_second, rate.burst);
    Refusal::new(Code::RateLimited, "this agent sends more messages than it may")
        .with_hint("send less often, or shorter messages; retry after the time given")
        .with_retry_after(wait)
        .with_quotas(vec![quota])
        .with_facts(Facts {
            limited: vec![Limited::plain("arrivals", text, (1, 0), Some(wait))],
            ..Facts::default()
        })
}

/// The messages of the agent, or of all agents, hold as many bytes as they may.
pub(crate) fn no_room(delivered: Delivered) -> Refusal {
    let refusal =
        Refusal::new(Code::RateLimited, "the messages of this agent hold as much memory as they may");
    match delivered {
        Delivered::No => refusal
            .with_hint("wait for answers before the next request; retry after the time given")
            .with_retry_after(Duration::from_secs(1)),
        Delivered::Yes | Delivered::Unknown => {
            refusal.with_hint(format!("the message was delivered: {ONCE}")).with_delivered(delivered)
        }
    }
}

/// No connection could be opened; the operator reads why.
pub(crate) fn unreachable(fault: &ConnectFault) -> Refusal {
    let refusal = match fault {
        ConnectFault::Full => {
            Refusal::new(Code::UpstreamUnavailable, "the agent behind takes no more messages at once")
                .with_hint(format!("{NOTHING}: send it again later"))
        }
        _ => unreachable_agent(),
    };
    refusal.with_detail(fault.to_string())
}

/// The certificate that the agent behind showed when the connection opened was taken back, has expired, or its roots are gone: nothing
/// more is said to it, and nothing more that it says passes.
pub(crate) fn agent_counts_no_more(delivered: Delivered) -> Refusal {
    let hint = match delivered {
        Delivered::No => {
            format!("{NOTHING}: send it again once the agent behind has a certificate that counts")
        }
        Delivered::Yes | Delivered::Unknown => ONCE.to_owned(),
    };
    Refusal::new(Code::UpstreamUnavailable, "the certificate of the agent behind does not count any more")
        .with_hint(hint)
        .with_delivered(delivered)
}

/// The refusal of a GET that the gateway answers from what it asks in its own name, as of a card or metadata: nothing of the caller's was
/// sent, so that it can be asked for again, whatever became of the gateway's question.
pub(crate) fn of_read(refusal: Refusal) -> Refusal {
    let of_a_message = refusal.hint().ends_with(ONCE) || refusal.hint().starts_with(NOTHING);
    let refusal = if of_a_message { refusal.with_hint("get it again later") } else { refusal };
    refusal.with_delivered(Delivered::No)
}

/// A permit that will not be used leaves its id and facts to the refusal.
pub(crate) fn unspent(permit: Permit, refusal: Refusal) -> Refusal {
    let sent = permit.give_back();
    refusal.with_rpc_id(sent.rpc_id().cloned()).with_facts(sent.facts().clone())
}

pub(crate) fn no_audit(delivered: Delivered) -> Refusal {
    Refusal::new(Code::AuditUnavailable, "the audit takes no records, so nothing may pass")
        .with_hint("send it again later; the operator knows")
        .with_delivered(delivered)
}

/// What is known of a reply before it is read: the request's, turned round.
pub(crate) fn reply_facts(request: &Facts) -> Facts {
    Facts {
        direction: Direction::Reply,
        sender: request.receiver.clone(),
        receiver: request.sender.clone(),
        protocol: request.protocol,
        context: request.context.clone(),
        digest: request.digest,
        generation: request.generation,
        policy_digest: request.policy_digest,
        ..Facts::default()
    }
}

/// The refusal for a framing fault; without one the caller left or the body was cut, and the answer reaches nobody.
pub(crate) fn framing_or_cut(fault: Option<FramingFault>) -> Refusal {
    match fault {
        Some(fault) => framing(fault),
        None => {
            Refusal::new(Code::Malformed, "the body ended early").with_hint("send as many bytes as stated")
        }
    }
}

/// The refusal for a framing fault.
pub(crate) fn framing(fault: FramingFault) -> Refusal {
    let code = match fault {
        FramingFault::HeadTooLarge => Code::TooLarge,
        FramingFault::HeadTooSlow => Code::TooSlow,
        FramingFault::TransferEncoding => Code::EncodingUnsupported,
        _ => Code::Malformed,
    };
    Refusal::new(code, fault.reason())
        .with_hint("see docs/spec/gateway-http.md for the one form that is accepted")
}
