//! Locks: the semantic sessions that a handshake leaves behind (F0-21, F0-22).

use semgate_contexts::{ContextUrn, Digest};
use std::fmt;

/// What a message claims with its lock.
#[derive(Clone, Copy, Debug)]
pub struct LockQuestion<'q> {
    /// The lock's id, as the message has it.
    pub lock: &'q str,
    /// The verified sender.
    pub sender: &'q str,
    /// The route's receiver.
    pub receiver: &'q str,
    /// The context that the message names.
    pub urn: &'q ContextUrn,
    /// The digest that its authority published.
    pub digest: &'q Digest,
    /// Seconds since the Unix epoch.
    pub now: u64,
}

/// Proof that a lock holds between these two peers for this context now.
#[derive(Clone, Copy, Debug)]
pub struct Held(());

/// A lock does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockFault {
    /// There is no such lock here.
    Unknown,
}

impl fmt::Display for LockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("there is no such lock"),
        }
    }
}

impl std::error::Error for LockFault {}

/// Every lock that is held. No handshake exists yet, so none can be made: the table is empty and every claim fails.
#[derive(Debug, Default)]
pub struct LockTable {}

impl LockTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Judges a claim. A lock that is unknown is refused, never ignored: its sender believes that something was agreed.
    ///
    /// # Errors
    /// [`LockFault`].
    pub fn held(&self, _question: &LockQuestion<'_>) -> Result<Held, LockFault> {
        Err(LockFault::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use semgate_contexts::Prefix;

    #[test]
    fn a_lock_that_nobody_made_is_refused() {
        let urn = ContextUrn::parse("urn:contexts:payment:v1.1", &Prefix::default()).unwrap();
        let question = LockQuestion {
            lock: "lock-1",
            sender: "spiffe://semgate.test/agent/a",
            receiver: "spiffe://semgate.test/agent/b",
            urn: &urn,
            digest: &Digest::of(b"x"),
            now: 1_000,
        };
        assert_eq!(LockTable::new().held(&question).unwrap_err(), LockFault::Unknown);
    }
}
