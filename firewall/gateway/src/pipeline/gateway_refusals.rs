//! Refusals with the gateway's own reasons, in addition to the inspector's.

use std::time::Duration;

use semgate_inspect::{Code, Delivered, Direction, Facts, Left, Limited, Permit, Quota, Refusal};

use crate::server::account::Rate;
use crate::server::framing::FramingFault;
use crate::upstream::ConnectFault;

/// Hint for an unknown delivery.
pub(crate) const ONCE: &str = "check its effect before you send it again";

/// Start of a hint for a message that was certainly not delivered.
const NOTHING: &str = "nothing was delivered";

pub(crate) fn timeout(delivered: Delivered) -> Refusal {
    Refusal::new(Code::UpstreamTimeout, "the upstream agent did not answer in time")
        .with_hint(ONCE)
        .with_delivered(delivered)
}

pub(crate) fn invalid(reason: &str) -> Refusal {
    Refusal::new(Code::UpstreamInvalid, reason)
        .with_hint(format!("the message was delivered: {ONCE}"))
        .with_delivered(Delivered::Yes)
}

pub(crate) fn unreachable_agent() -> Refusal {
    Refusal::new(Code::UpstreamUnavailable, "the gateway cannot reach the upstream agent")
        .with_hint(format!("{NOTHING}: send it again later"))
}

/// The caller has reached its limit of requests in flight.
pub(crate) fn too_many() -> Refusal {
    Refusal::new(Code::RateLimited, "this agent has more requests in flight than its limit allows")
        .with_hint("wait for answers, or end streams or sockets, before the next request")
        .with_retry_after(Duration::from_secs(1))
}

/// The agent has used up its units; the next request could pass after `wait`.
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
    Refusal::new(Code::RateLimited, "this agent sends more messages than its limit allows")
        .with_hint("send less often, or shorter messages; retry after the time given")
        .with_retry_after(wait)
        .with_quotas(vec![quota])
        .with_facts(Facts {
            limited: vec![Limited::plain("arrivals", text, 1, 0, Some(wait))],
            ..Facts::default()
        })
}

/// The messages of the agent, or of all agents, have reached their limit of bytes.
pub(crate) fn no_room(delivered: Delivered) -> Refusal {
    let refusal = Refusal::new(Code::RateLimited, "the messages of this agent use up its memory limit");
    match delivered {
        Delivered::No => refusal
            .with_hint("wait for answers before the next request; retry after the time given")
            .with_retry_after(Duration::from_secs(1)),
        Delivered::Yes | Delivered::Unknown => {
            refusal.with_hint(format!("the message was delivered: {ONCE}")).with_delivered(delivered)
        }
    }
}

/// No connection could be opened; the log has the reason.
pub(crate) fn unreachable(fault: &ConnectFault) -> Refusal {
    let refusal = match fault {
        ConnectFault::Full => {
            Refusal::new(Code::UpstreamUnavailable, "the upstream agent accepts no more messages at once")
                .with_hint(format!("{NOTHING}: send it again later"))
        }
        _ => unreachable_agent(),
    };
    refusal.with_detail(fault.to_string())
}

/// The agent's certificate was revoked, has expired or lost its roots since the connection opened. Nothing more is sent to
/// it, and nothing from it passes.
pub(crate) fn agent_counts_no_more(delivered: Delivered) -> Refusal {
    let hint = match delivered {
        Delivered::No => {
            format!("{NOTHING}: send it again when the upstream agent has a valid certificate")
        }
        Delivered::Yes | Delivered::Unknown => ONCE.to_owned(),
    };
    Refusal::new(Code::UpstreamUnavailable, "the certificate of the upstream agent is no longer valid")
        .with_hint(hint)
        .with_delivered(delivered)
}

/// Refusal of a GET that the gateway answers with its own request, as for a card or metadata. Nothing of the caller's was
/// sent, so it may ask again.
pub(crate) fn of_read(refusal: Refusal) -> Refusal {
    let of_a_message = refusal.hint().ends_with(ONCE) || refusal.hint().starts_with(NOTHING);
    let refusal = if of_a_message { refusal.with_hint("get it again later") } else { refusal };
    refusal.with_delivered(Delivered::No)
}

/// Moves the id and facts of an unused permit to the refusal.
pub(crate) fn unspent(permit: Permit, refusal: Refusal) -> Refusal {
    let sent = permit.give_back();
    refusal.with_rpc_id(sent.rpc_id().cloned()).with_facts(sent.facts().clone())
}

pub(crate) fn no_audit(delivered: Delivered) -> Refusal {
    Refusal::new(Code::AuditUnavailable, "the audit log accepts no records, so nothing passes")
        .with_hint("send it again later; the operator knows")
        .with_delivered(delivered)
}

/// Facts of an unread reply: the request's, reversed.
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
        echo: request.echo.clone(),
        ..Facts::default()
    }
}

/// Refusal for a framing fault. Without a fault the caller left or the body broke off, and the answer reaches nobody.
pub(crate) fn framing_or_cut(fault: Option<FramingFault>) -> Refusal {
    match fault {
        Some(fault) => framing(fault),
        None => Refusal::new(Code::Malformed, "the body ended early")
            .with_hint("send as many bytes as the length states"),
    }
}

/// Refusal for a framing fault.
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
