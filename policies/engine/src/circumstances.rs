//! The circumstances of a question, beyond the parties and the content.

use crate::Credentials;

/// The circumstances of a message while it is judged. All of them are verified or measured; none is a claim of the message.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// Credentials that the sender shows.
    pub sender_holds: &'a Credentials,
    /// The credentials that the receiver shows; none in a request, since nobody has spoken to its receiver yet.
    pub receiver_holds: &'a Credentials,
    /// The version of the protocol as the protocol writes it (`1.0`, `2025-11-25`); empty where it has none.
    pub protocol_version: &'a str,
    /// The verified semantic session that the message is in.
    pub session: Option<Session>,
    /// Seconds since the Unix epoch.
    pub now: u64,
    /// Measurements of the message.
    pub scores: Scores,
}

/// A semantic session whose lock was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// The second at which it is over.
    pub expires_at: u64,
}

/// Measurements of the message, or of the event of a stream, that holds the instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scores {
    /// Bytes of what is judged.
    pub message_bytes: u64,
    /// Concept instances in it, this one included.
    pub concepts: u64,
    /// How many of them are questions about an ambiguous parameter.
    pub ambiguous: u64,
    /// Characters of free text that stand beside them, where no schema marks any: they count with those of each instance.
    pub beside: u64,
}

impl Circumstances<'static> {
    /// Nothing is shown, measured or locked at this time (seconds since the Unix epoch).
    #[must_use]
    pub const fn at(now: u64) -> Self {
        const NONE: &Credentials = &Credentials::NONE;
        let scores = Scores { message_bytes: 0, concepts: 0, ambiguous: 0, beside: 0 };
        Self { sender_holds: NONE, receiver_holds: NONE, protocol_version: "", session: None, now, scores }
    }
}

impl Circumstances<'_> {
    /// The session, if it is not over.
    pub(crate) fn locked(&self) -> Option<Session> {
        self.session.filter(|session| self.now < session.expires_at)
    }
}
