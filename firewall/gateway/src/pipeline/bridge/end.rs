//! Ends of connections: the application error code (RFC 9000 §20.2) and the reason, which the caller reads.

use semgate_inspect::{Code, Refusal};

use crate::pipeline::exchange::Stopped;
use crate::pipeline::gateway_refusals::invalid;
use crate::server::carrier::CarrierFault;

/// First code of a refusal; the status that HTTP would have is added.
const REFUSED: u32 = 256;

/// Reason for the end of a connection.
pub(super) enum BridgeEnd {
    /// The caller has ended or left.
    Left,
    /// The agent has ended.
    Over,
    /// The gateway drains.
    Drained,
    /// Neither side said anything for the longest time.
    Silent,
    /// A refusal after which the connection cannot go on.
    Refused(Box<Stopped>),
}

impl BridgeEnd {
    pub(super) fn refused(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal.into()))
    }

    /// The code for the caller.
    pub(super) fn code(&self) -> u32 {
        match self {
            Self::Left | Self::Over | Self::Drained | Self::Silent => 0,
            Self::Refused(stopped) => REFUSED.saturating_add(u32::from(stopped.refusal.status())),
        }
    }

    /// The reason for the caller.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Left => "",
            Self::Over => "agent_ended",
            Self::Drained => "drained",
            Self::Silent => "silent",
            Self::Refused(stopped) => stopped.refusal.code().as_str(),
        }
    }
}

/// End after a fault in the caller's frames.
pub(super) fn of_caller(fault: CarrierFault) -> BridgeEnd {
    let refused =
        |code, reason: &str, hint: &str| BridgeEnd::refused(Refusal::new(code, reason).with_hint(hint));
    match fault {
        CarrierFault::Ended => BridgeEnd::Left,
        CarrierFault::TooLarge => {
            refused(Code::TooLarge, "a message is larger than the limit", "send less in one message")
        }
        CarrierFault::TooSlow => {
            refused(Code::TooSlow, "a message did not arrive in time", "send a message at once")
        }
        CarrierFault::Length => {
            refused(Code::Malformed, "the length of a message is malformed", "send it as a shortest varint")
        }
    }
}

/// End by a fault of the agent.
fn by_agent(reason: &str) -> BridgeEnd {
    let stopped = Stopped::from(invalid(reason));
    BridgeEnd::Refused(Box::new(Stopped { direction: semgate_inspect::Direction::Reply, ..stopped }))
}

/// End of an agent that sends nothing but refused answers.
pub(super) fn too_many_refused() -> BridgeEnd {
    by_agent("too many answers of the upstream agent were refused after one message")
}

/// End after a fault in the agent's frames.
pub(super) fn of_agent(fault: CarrierFault) -> BridgeEnd {
    let refused = by_agent;
    match fault {
        CarrierFault::Ended => BridgeEnd::Over,
        CarrierFault::TooLarge => refused("the answer of the upstream agent is larger than the limit"),
        CarrierFault::TooSlow => refused("an answer of the upstream agent did not arrive in time"),
        CarrierFault::Length => refused("an answer of the upstream agent is malformed"),
    }
}
