//! Inputs of an inspection, known before a byte is read: sender, receiver, route and generation.

use crate::{
    Arrived, Direction, Facts, Generation, Route, Sent, dialogues::Live, negotiated_terms::OfPair,
    owners::About, shadow::Before, state::State,
};
use semgate_approvals::Approved;
use semgate_policies::{CERTIFICATE_SPACE, Circumstances, Credentials, Scores};
use semgate_protocol::{Call, Echo, Protocol};
use std::sync::Arc;

/// One end of a connection, identified before the message was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    id: Arc<str>,
    credentials: Credentials,
}

impl Peer {
    /// The peer of a verified certificate, with the credentials that the certificate carries.
    pub fn certified(peer: &semgate_certs::Peer) -> Self {
        let until = peer.not_after().saturating_add(1);
        let marks = peer.marks().iter().map(|mark| (format!("{CERTIFICATE_SPACE}{mark}"), until));
        Self { id: Arc::from(peer.id().as_str()), credentials: Credentials::new(marks) }
    }

    /// The peer named in the configuration: the one sender of a loopback or Unix listener, or the agent of a
    /// loopback route. Never an id from a message or header.
    pub fn configured(id: &str) -> Self {
        Self { id: Arc::from(id), credentials: Credentials::NONE }
    }

    /// The agent whose key verified the message, in bindings without TLS identity. The caller looked the key up in
    /// `entities.json` and checked the signature.
    pub fn signed(id: &str) -> Self {
        Self::configured(id)
    }

    /// The same peer with these credentials. The caller must have verified them.
    #[must_use]
    pub fn showing(self, credentials: Credentials) -> Self {
        Self { credentials, ..self }
    }

    /// Credentials of the peer, besides its identity.
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

/// Two clock readings, taken by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Seconds since the Unix epoch, for validity.
    pub unix: u64,
    /// Milliseconds of a monotonic clock with any origin, for limits.
    pub monotonic_ms: u64,
}

/// Header claims about the message. Each holds every value in order; more than one value is refused. Headers
/// that settle the protocol are in the [`Call`].
#[derive(Clone, Copy, Debug, Default)]
pub struct HeaderClaims<'h> {
    /// `L9-Context`.
    pub l9_context: &'h [&'h str],
}

/// The position of a message: first judgement, renewal, or event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A new request, or a reply.
    First,
    /// A request that passed before and is judged again under a newer generation.
    Again,
    /// One event of a stream.
    Event,
    /// An event that passed before and is judged again under a newer generation.
    EventAgain,
}

/// Purpose of one inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// The inspection decides.
    Decides,
    /// A trial: its outcome is judged again before anything passes. It asks no shadow policy set and keeps no
    /// questions for the record.
    Beforehand,
}

/// One inspection.
#[derive(Clone, Copy, Debug)]
pub struct Inspection<'c> {
    pub(crate) generation: &'c Generation,
    pub(crate) state: &'c State,
    pub(crate) route: &'c Arc<Route>,
    pub(crate) sender: &'c Peer,
    pub(crate) receiver: &'c str,
    /// Credentials of the receiver; none in a request, before the receiver is contacted.
    pub(crate) receiver_holds: &'c Credentials,
    /// Number of inspected bytes.
    pub(crate) bytes: usize,
    pub(crate) direction: Direction,
    pub(crate) call: &'c Call,
    /// Current terms of the two agents.
    pub(crate) settled: &'c Arc<OfPair>,
    pub(crate) turn: Turn,
    pub(crate) look: Look,
    /// Original messages of a reply that policies redacted.
    pub(crate) before: &'c [Before],
    /// JSON Pointers to members removed before inspection.
    pub(crate) removed: &'c [String],
    /// The request that a reply answers.
    pub(crate) answers: Option<&'c Sent>,
    /// The session and task of the message, if they are open and its sender's or its receiver's.
    pub(crate) live: Option<&'c Live>,
    /// Texts of the request that the answer repeats.
    pub(crate) echo: Option<&'c Arc<Echo>>,
    /// Required context of a reply.
    pub(crate) about: Option<&'c About>,
    /// Approval of the message by people.
    pub(crate) approved: Option<&'c Approved>,
    pub(crate) now: Now,
}

/// The state that messages are judged by at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'c> {
    pub(crate) generation: &'c Generation,
    pub(crate) state: &'c State,
    pub(crate) now: Now,
}

impl<'c> Inspection<'c> {
    /// The first judgement of a request to the route's receiver.
    pub(crate) fn request(
        setting: Setting<'c>,
        route: &'c Arc<Route>,
        peer: &'c Peer,
        arrived: &'c Arrived,
        settled: &'c Arc<OfPair>,
    ) -> Self {
        Self {
            generation: setting.generation,
            state: setting.state,
            settled,
            route,
            sender: peer,
            receiver: &route.receiver,
            receiver_holds: &const { Credentials::NONE },
            bytes: arrived.judged.len(),
            direction: Direction::Request,
            call: &arrived.call,
            turn: Turn::First,
            look: Look::Decides,
            before: &[],
            removed: &[],
            answers: None,
            live: None,
            echo: None,
            about: None,
            approved: None,
            now: setting.now,
        }
    }

    /// The first judgement of a reply to this request.
    pub(crate) fn reply(setting: Setting<'c>, sent: &'c Sent, replier: &'c Peer, bytes: usize) -> Self {
        Self {
            generation: setting.generation,
            state: setting.state,
            settled: &sent.settled,
            route: &sent.route,
            sender: replier,
            receiver: sent.caller.id(),
            receiver_holds: sent.caller.credentials(),
            bytes,
            direction: Direction::Reply,
            call: &sent.call,
            turn: Turn::First,
            look: Look::Decides,
            before: &[],
            removed: &[],
            answers: Some(sent),
            live: Some(&sent.live),
            echo: sent.facts.echo.as_ref(),
            about: Some(&sent.about),
            approved: None,
            now: setting.now,
        }
    }

    /// The judgement of the same bytes as the reply to another request.
    pub(crate) fn answering(&self, sent: &'c Sent) -> Self {
        let setting = Setting { generation: self.generation, state: self.state, now: self.now };
        Self { turn: self.turn, ..Self::reply(setting, sent, self.sender, self.bytes) }
    }

    /// The protocol of the exchange, in the transport of its request.
    pub(crate) fn protocol(&self) -> &'static dyn Protocol {
        self.call.protocol()
    }

    pub(crate) fn sender_key(&self) -> &Arc<str> {
        self.sender.key()
    }

    /// Facts besides the message that policies may use, before any counting.
    pub(crate) fn circumstances(&self) -> Circumstances<'_> {
        Circumstances {
            sender_holds: self.sender.credentials(),
            receiver_holds: self.receiver_holds,
            protocol_version: self.protocol().version(self.call),
            scores: Scores { message_bytes: self.bytes as u64, ..Scores::default() },
            ..Circumstances::at(self.now.unix)
        }
    }

    /// Facts known before a byte is read.
    pub(crate) fn facts(&self) -> Facts {
        Facts {
            direction: self.direction,
            sender: self.sender.id().to_owned(),
            receiver: self.receiver.to_owned(),
            protocol: self.route.binding.as_str(),
            generation: self.generation.number(),
            policy_digest: self.generation.policy_digest(),
            approval: self.approved.map(Approved::digest),
            removed: self.removed.to_vec(),
            echo: self.echo.cloned(),
            ..Facts::default()
        }
    }
}
