//! The first message of a handshake, without I/O.

use super::HandshakeFault;
use super::handshake_fault::PLAIN_ANSWER;
use rustls::server::{Accepted, Acceptor};

/// The first byte of every TLS connection: a record of the handshake (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;

/// Collects the hello of a client.
#[derive(Default)]
pub struct Hello {
    acceptor: Acceptor,
    begun: bool,
}

/// A refused hello.
#[derive(Debug)]
pub struct HelloFault {
    /// The reason.
    pub fault: HandshakeFault,
    /// Bytes to send before the connection is closed: an alert; for a peer without TLS an answer of HTTP.
    pub answer: Vec<u8>,
}

impl Hello {
    /// Takes the bytes of one read; none is the end of the connection. Returns the hello once it is complete.
    ///
    /// # Errors
    /// [`HelloFault`] for an end, for anything but TLS, and for a hello that rustls refuses.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<Option<Accepted>, HelloFault> {
        let fault = |fault, answer: &[u8]| Err(HelloFault { fault, answer: answer.to_vec() });
        match bytes.first() {
            None if self.begun => return fault(HandshakeFault::closed(), b""),
            None => return fault(HandshakeFault::silent(), b""),
            Some(first) if !self.begun && *first != HANDSHAKE => {
                return fault(HandshakeFault::not_tls(), PLAIN_ANSWER);
            }
            Some(_) => self.begun = true,
        }
        while !bytes.is_empty() {
            if let Err(why) = self.acceptor.read_tls(&mut bytes) {
                return fault(HandshakeFault::of(&why), b"");
            }
        }
        self.acceptor.accept().or_else(|(why, mut alert)| {
            let mut answer = Vec::new();
            // a vector takes every byte
            let _ = alert.write_all(&mut answer);
            fault(HandshakeFault::from(&why), &answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(parts: &[&[u8]]) -> (&'static str, Vec<u8>) {
        let mut hello = Hello::default();
        let taken = parts.iter().map(|part| hello.take(part)).find_map(Result::err).unwrap();
        (taken.fault.reason(), taken.answer)
    }

    #[test]
    fn a_peer_without_tls_gets_an_answer_and_one_without_a_word_none() {
        assert_eq!(refused(&[b"GET / HTTP/1.1\r\n"]), ("not_tls", PLAIN_ANSWER.to_vec()));
        assert_eq!(refused(&[b"SSH-2.0-x"]), ("not_tls", PLAIN_ANSWER.to_vec()));
        assert_eq!(refused(&[b""]), ("silent", Vec::new()));
        assert_eq!(refused(&[b"\x16\x03\x01", b""]), ("closed", Vec::new()));
        let (reason, alert) = refused(&[b"\x16\x03\x01\x00\x04\x02\x00\x00\x00"]);
        assert_eq!((reason, alert.first()), ("tls", Some(&21)), "an alert answers what is no hello");
    }
}
