//! What an inspection is about, before a byte is read: who speaks to whom, on which route, under which generation.

use crate::{
    Direction, Facts, Generation, InspectLimits, Owners, Route, Sent,
    dialogue::Dialogues,
    learnt::{Learnt, OfPair},
    owners::About,
    shadow::Before,
    tools::ToolWatch,
};
use semgate_message::Call;
use semgate_negotiation::Sessions;
use semgate_policies::{CERTIFICATE_SPACE, Circumstances, Credentials, Keep, Scores};
use std::sync::Arc;

/// One end of a connection whose identity was settled before the message was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    id: Arc<str>,
    credentials: Credentials,
}

impl Peer {
    /// The peer that showed a verified certificate, with what its certificate says it holds.
    pub fn certified(peer: &semgate_certs::Peer) -> Self {
        let until = peer.not_after().saturating_add(1);
        let marks = peer.marks().iter().map(|mark| (format!("{CERTIFICATE_SPACE}{mark}"), until));
        Self { id: Arc::from(peer.id().as_str()), credentials: Credentials::new(marks) }
    }

    /// The one sender that a plain listener on loopback or a Unix socket is configured with, or the agent that a route on
    /// loopback is configured with. Never an id that a message or header brought along.
    pub fn configured(id: &str) -> Self {
        Self { id: Arc::from(id), credentials: Credentials::NONE }
    }

    /// The same peer, which shows these credentials. They must have been verified.
    #[must_use]
    pub fn showing(self, credentials: Credentials) -> Self {
        Self { credentials, ..self }
    }

    /// What it shows besides its identity.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The SPIFFE id.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn key(&self) -> &Arc<str> {
        &self.id
    }
}

/// Two clocks, read by whoever calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Seconds since the Unix epoch, for validity.
    pub unix: u64,
    /// Milliseconds of a clock that never steps back, from any beginning, for limits.
    pub monotonic_ms: u64,
}

/// Headers that say something about the message. Every value of each, in order: more than one is refused. What a header settles
/// about the protocol is in the [`Call`].
#[derive(Clone, Copy, Debug, Default)]
pub struct HeaderClaims<'h> {
    /// `L9-Context`.
    pub l9_context: &'h [&'h str],
}

/// Whether it is the first time that a message is judged, or one of several pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A request that just arrived, or a reply.
    First,
    /// A request that was let pass before and is judged again under another generation.
    Again,
    /// One event of a stream.
    Event,
    /// An event that was let pass before and is judged again under another generation.
    EventAgain,
}

/// What a look at a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It decides.
    Decides,
    /// What comes of it is judged again before anything passes, so that nothing is asked or kept twice: no shadow set is asked, and no
    /// record keeps its questions.
    Beforehand,
}

/// One inspection.
#[derive(Clone, Copy, Debug)]
pub struct Case<'c> {
    pub(crate) generation: &'c Generation,
    pub(crate) limits: &'c InspectLimits,
    /// What records keep of the questions; nothing of them unless the operator asks for it.
    pub(crate) keep: Option<&'c Keep>,
    pub(crate) sessions: &'c Sessions,
    pub(crate) route: &'c Arc<Route>,
    pub(crate) sender: &'c Peer,
    pub(crate) receiver: &'c str,
    /// What the receiver shows; in a request nothing, since it was not spoken to yet.
    pub(crate) receiver_holds: &'c Credentials,
    /// How many bytes are judged.
    pub(crate) bytes: usize,
    pub(crate) direction: Direction,
    pub(crate) call: &'c Call,
    pub(crate) owners: &'c Owners,
    pub(crate) tools: &'c ToolWatch,
    pub(crate) dialogues: &'c Dialogues,
    /// What the two settled, as it is now, and where more is remembered.
    pub(crate) settled: &'c Arc<OfPair>,
    pub(crate) learnt: &'c Learnt,
    pub(crate) turn: Turn,
    pub(crate) look: Look,
    /// Of a reply that policies took something out of: its messages as they were.
    pub(crate) before: &'c [Before],
    /// Pointers of members that were taken out of the message before it is judged.
    pub(crate) removed: &'c [String],
    /// The request that a reply answers.
    pub(crate) answers: Option<&'c Sent>,
    /// What a reply must be about.
    pub(crate) about: Option<&'c About>,
    pub(crate) now: Now,
}

impl Case<'_> {
    pub(crate) fn sender_key(&self) -> &Arc<str> {
        self.sender.key()
    }

    /// What policies may ask about beside the message, before anything of it is counted.
    pub(crate) fn circumstances(&self) -> Circumstances<'_> {
        Circumstances {
            sender_holds: self.sender.credentials(),
            receiver_holds: self.receiver_holds,
            protocol_version: self.call.protocol_version(),
            scores: Scores { message_bytes: self.bytes as u64, ..Scores::default() },
            ..Circumstances::at(self.now.unix)
        }
    }

    /// What is known before a byte is read.
    pub(crate) fn facts(&self) -> Facts {
        Facts {
            direction: self.direction,
            sender: self.sender.id().to_owned(),
            receiver: self.receiver.to_owned(),
            protocol: self.route.binding.as_str(),
            generation: self.generation.number(),
            policy_digest: self.generation.policy_digest(),
            removed: self.removed.to_vec(),
            ..Facts::default()
        }
    }
}
