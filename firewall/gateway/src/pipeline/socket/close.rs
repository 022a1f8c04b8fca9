//! Ends of sockets: the close code (RFC 6455 §7.4, IANA "WebSocket Close Code Number"), and the refusal for a framing fault.

use semgate_inspect::code::Class;
use semgate_inspect::{Code, Delivered, Refusal};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, error::ProtocolError};

use super::pieces::{is_no_room, is_too_much};
use crate::pipeline::gateway_refusals::{invalid, no_room};

/// Close code for a bad gateway, registered after RFC 6455.
const BAD_GATEWAY: u16 = 1014;

/// Reason for the end of a socket.
#[derive(Debug)]
pub(super) enum End {
    /// The caller has ended or left.
    Left,
    /// The agent has ended.
    Over,
    /// The gateway drains.
    Drained,
    /// A refusal, with its close code.
    Refused(Box<Refusal>, CloseCode),
}

impl End {
    /// A refusal, with the close code of its class.
    pub(super) fn refused(refusal: Refusal) -> Self {
        let code = match (refusal.code(), refusal.code().class()) {
            (Code::TooLarge, _) => CloseCode::Size,
            (Code::AuditUnavailable, _) => CloseCode::Error,
            // a message that can never pass must not be retried
            (_, Class::Rate) if refusal.never_passes() => CloseCode::Policy,
            (Code::StatusStale, _) | (_, Class::Rate) => CloseCode::Again,
            (Code::ReplyRefused, _) => CloseCode::Policy,
            (_, Class::Delivery) => CloseCode::from(BAD_GATEWAY),
            _ => CloseCode::Policy,
        };
        Self::Refused(Box::new(refusal), code)
    }

    /// Close frame for the caller.
    pub(super) fn frame(&self) -> CloseFrame {
        match self {
            Self::Left | Self::Over => CloseFrame { code: CloseCode::Normal, reason: "".into() },
            Self::Drained => CloseFrame { code: CloseCode::Away, reason: "".into() },
            Self::Refused(refusal, code) => {
                CloseFrame { code: *code, reason: refusal.code().as_str().into() }
            }
        }
    }
}

/// Refusal of a binary message, since only text carries JSON.
pub(super) fn binary() -> End {
    let refusal =
        Refusal::new(Code::Malformed, "a message of the socket is binary").with_hint("send json as text");
    End::Refused(Box::new(refusal), CloseCode::Unsupported)
}

/// End after a fault in the caller's frames.
pub(super) fn of_caller(fault: &Error) -> End {
    let refused = |code, reason: &str, close| {
        let hint = match code {
            Code::TooLarge => "send less in one message",
            _ => "follow RFC 6455, without extensions",
        };
        End::Refused(Box::new(Refusal::new(code, reason).with_hint(hint)), close)
    };
    match fault {
        Error::Capacity(_) => {
            refused(Code::TooLarge, "a message of the socket is larger than the limit", CloseCode::Size)
        }
        Error::Io(fault) if is_too_much(fault) => {
            refused(Code::TooLarge, "a message of the socket is in too many pieces", CloseCode::Size)
        }
        Error::Io(fault) if is_no_room(fault) => End::refused(no_room(Delivered::No)),
        Error::Utf8(_) => {
            refused(Code::Malformed, "a message of the socket is not utf-8", CloseCode::Invalid)
        }
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::Left,
        Error::Protocol(_) => {
            refused(Code::Malformed, "a frame of the socket is malformed", CloseCode::Protocol)
        }
        _ => End::Left,
    }
}

/// End after a fault in the agent's frames.
pub(super) fn of_agent(fault: &Error) -> End {
    End::refused(match fault {
        Error::Capacity(_) => invalid("the answer of the upstream agent is larger than the limit"),
        Error::Io(fault) if is_too_much(fault) => {
            invalid("a message of the upstream agent is in too many pieces")
        }
        Error::Io(fault) if is_no_room(fault) => no_room(Delivered::Unknown),
        Error::Utf8(_) | Error::Protocol(_) => {
            invalid("the socket of the upstream agent was cut off or is malformed")
        }
        Error::ConnectionClosed => return End::Over,
        _ => invalid("the upstream agent's socket was cut"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_what_can_never_pass_is_not_told_to_try_again() {
        let often = Refusal::new(Code::RateLimited, "reason");
        assert_eq!(End::refused(often.clone()).frame().code, CloseCode::Again);
        assert_eq!(End::refused(often.that_never_passes()).frame().code, CloseCode::Policy);
    }
}
