//! The circumstances of a question, beyond the parties and the content.

use crate::Credentials;
use crate::catalogue::UNUSUAL;

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
    /// Scores of the text of the instance, as far as somebody looked at it.
    pub text: TextScores,
}

/// Scores of the text of one instance. Higher is more suspicious; none is a probability.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextScores {
    /// The scores that were made; any other is unknown, and a policy that reads it cannot be evaluated.
    pub made: TextWants,
    /// Characters that a reader does not see.
    pub hidden: u64,
    /// Classes of wordings that the text holds, 0 to 8.
    pub markers: u64,
    /// Likeness to an instruction for a model, 0 to 100.
    pub injection: u64,
    /// Unlikeness to the usual texts of its field, 0 to 1000; none without a baseline of the field.
    pub unusual: Option<u64>,
}

/// The scores of text that policies read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextWants {
    /// `context.scores.hidden`
    pub hidden: bool,
    /// `context.scores.markers`
    pub markers: bool,
    /// `context.scores.injection`
    pub injection: bool,
    /// `context.scores.unusual`
    pub unusual: bool,
}

impl TextScores {
    /// No text was looked at.
    pub const NONE: Self = Self { made: TextWants::NONE, hidden: 0, markers: 0, injection: 0, unusual: None };

    /// Each score that was made, by its name in `context.scores`; the inner `None` is a text without a baseline.
    pub fn made(&self) -> impl Iterator<Item = (&'static str, Option<u64>)> {
        let all = [
            ("hidden", self.made.hidden, Some(self.hidden)),
            ("markers", self.made.markers, Some(self.markers)),
            ("injection", self.made.injection, Some(self.injection)),
            (UNUSUAL, self.made.unusual, self.unusual),
        ];
        all.into_iter().filter(|(_, made, _)| *made).map(|(name, _, score)| (name, score))
    }

    /// The value of a score that was made; the inner `None` is a text without a baseline.
    pub(crate) fn get(&self, name: &str) -> Option<Option<u64>> {
        self.made().find(|(known, _)| *known == name).map(|(_, score)| score)
    }

    /// The same with zeros for the scores that nobody made, for questions that read none of them.
    pub(crate) fn filled(self) -> Self {
        Self { made: TextWants::ALL, ..self }
    }
}

impl TextWants {
    /// None.
    pub const NONE: Self = Self { hidden: false, markers: false, injection: false, unusual: false };
    /// All.
    pub const ALL: Self = Self { hidden: true, markers: true, injection: true, unusual: true };

    /// Returns true if some score is read.
    #[must_use]
    pub const fn any(self) -> bool {
        self.hidden || self.markers || self.injection || self.unusual
    }

    /// The scores of either.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            hidden: self.hidden || other.hidden,
            markers: self.markers || other.markers,
            injection: self.injection || other.injection,
            unusual: self.unusual || other.unusual,
        }
    }

    /// Returns true if each score of `other` is one of these.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self.and(other) == self
    }
}

impl Circumstances<'static> {
    /// Nothing is shown, measured or locked at this time (seconds since the Unix epoch).
    #[must_use]
    pub const fn at(now: u64) -> Self {
        const NONE: &Credentials = &Credentials::NONE;
        let scores =
            Scores { message_bytes: 0, concepts: 0, ambiguous: 0, beside: 0, text: TextScores::NONE };
        Self { sender_holds: NONE, receiver_holds: NONE, protocol_version: "", session: None, now, scores }
    }
}

impl Circumstances<'_> {
    /// The session, if it is not over.
    pub(crate) fn locked(&self) -> Option<Session> {
        self.session.filter(|session| self.now < session.expires_at)
    }
}
