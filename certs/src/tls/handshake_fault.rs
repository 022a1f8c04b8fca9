//! Faults of a TLS handshake, for the log, the metrics and the operator of either side.

use crate::{ChainFault, PeerFault};
use rustls::{CertificateError, Error, InvalidMessage, OtherError};
use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

/// The reason that a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeFault {
    reason: &'static str,
    text: String,
}

impl HandshakeFault {
    /// The fault in the error of a stream.
    pub fn of(error: &io::Error) -> HandshakeFault {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            Some(error) => HandshakeFault::from(error),
            None => HandshakeFault::new("closed", format!("the peer ended the connection: {}", error.kind())),
        }
    }

    /// The peer ended the connection before it sent anything, as probes of a port do.
    pub fn silent() -> HandshakeFault {
        HandshakeFault::new("silent", "the peer ended the connection without a word".to_owned())
    }

    /// The peer ended the connection within the handshake.
    pub fn closed() -> HandshakeFault {
        HandshakeFault::new("closed", "the peer ended the connection".to_owned())
    }

    /// The peer speaks another protocol.
    pub fn not_tls() -> HandshakeFault {
        HandshakeFault::new("not_tls", "the peer does not speak tls".to_owned())
    }

    /// The peer did not finish in time.
    pub fn timeout() -> HandshakeFault {
        HandshakeFault::new("timeout", "the peer did not finish the handshake in time".to_owned())
    }

    /// A fault outside the handshake itself, by the name `tls`.
    pub fn other(why: impl fmt::Display) -> HandshakeFault {
        HandshakeFault::new("tls", why.to_string())
    }

    /// Stable name for metrics: that of [`PeerFault::as_str`] for a fault of the peer's certificate, `other_name`, `not_tls`,
    /// `incompatible`, `alert`, `closed`, `silent` or `timeout`; else `tls`.
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// True if an operator should read about it, which leaves out a silent peer.
    pub fn is_notable(&self) -> bool {
        self.reason != "silent"
    }

    fn new(reason: &'static str, text: String) -> HandshakeFault {
        HandshakeFault { reason, text }
    }
}

impl From<&Error> for HandshakeFault {
    fn from(error: &Error) -> HandshakeFault {
        match error {
            Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            ) => HandshakeFault::new("other_name", "the certificate does not name the address".to_owned()),
            Error::InvalidCertificate(why) => match peer_fault(why) {
                Some(fault) => fault.into(),
                None => HandshakeFault::new("tls", error.to_string()),
            },
            Error::NoCertificatesPresented => PeerFault::NoCertificate.into(),
            Error::InvalidMessage(
                InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
            ) => HandshakeFault::not_tls(),
            Error::PeerIncompatible(why) => {
                HandshakeFault::new("incompatible", format!("the peer offers no tls 1.3 that fits: {why:?}"))
            }
            Error::AlertReceived(alert) => {
                HandshakeFault::new("alert", format!("the peer refused with the alert {alert:?}"))
            }
            other => HandshakeFault::new("tls", other.to_string()),
        }
    }
}

impl From<PeerFault> for HandshakeFault {
    fn from(fault: PeerFault) -> HandshakeFault {
        HandshakeFault::new(fault.as_str(), fault.to_string())
    }
}

impl fmt::Display for HandshakeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for HandshakeFault {}

/// The fault that the verifiers wrote as an error of rustls.
fn peer_fault(why: &CertificateError) -> Option<PeerFault> {
    let chain = match why {
        CertificateError::Other(OtherError(why)) => return why.downcast_ref::<PeerFault>().copied(),
        CertificateError::Expired => ChainFault::Expired,
        CertificateError::NotValidYet => ChainFault::NotYetValid,
        CertificateError::UnknownIssuer => ChainFault::UnknownIssuer,
        CertificateError::BadSignature => ChainFault::BadSignature,
        CertificateError::InvalidPurpose => ChainFault::WrongUsage,
        CertificateError::BadEncoding => ChainFault::Malformed,
        CertificateError::Revoked => ChainFault::Revoked,
        _ => return None,
    };
    Some(chain.into())
}

/// Answer to a peer that does not speak TLS, for people who read it in their client.
pub(super) const PLAIN_ANSWER: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 38\r\nconnection: close\r\n\r\nthis port speaks TLS: use `https://`\r\n";

/// Log lines about failed handshakes in one second, over all listeners of the process. Anybody who reaches a port can cause
/// them.
const LINES: u64 = 10;

/// The current second, and its lines.
struct Window {
    second: u64,
    written: u64,
    suppressed: u64,
}

static WINDOW: Mutex<Window> = Mutex::new(Window { second: 0, written: 0, suppressed: 0 });

/// Grants a log line about a failed handshake at `now`, in seconds. Returns the number of lines suppressed since the last one;
/// `None` if this line is suppressed too.
pub fn handshake_line(now: u64) -> Option<u64> {
    grant(&mut WINDOW.lock().unwrap_or_else(PoisonError::into_inner), now)
}

fn grant(window: &mut Window, now: u64) -> Option<u64> {
    if window.second != now {
        (window.second, window.written) = (now, 0);
    }
    if window.written >= LINES {
        window.suppressed = window.suppressed.saturating_add(1);
        return None;
    }
    window.written += 1;
    Some(std::mem::take(&mut window.suppressed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_without_tls_states_its_length() {
        let text = std::str::from_utf8(PLAIN_ANSWER).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{text}");
    }

    #[test]
    fn attack_failed_handshakes_cannot_fill_the_log() {
        let mut window = Window { second: 0, written: 0, suppressed: 0 };
        let granted = (0..1000).filter(|_| grant(&mut window, 7).is_some()).count();
        assert_eq!(granted, 10);
        assert_eq!(grant(&mut window, 8), Some(990), "the next second states the number of missing lines");
        assert_eq!(grant(&mut window, 8), Some(0));
    }
}
