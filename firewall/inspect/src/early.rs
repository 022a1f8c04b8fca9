//! Early checks of signed messages. What a message costs is charged to the agent that it names only once it counts: anybody
//! may repeat an old one.

use crate::{Arrived, Inspector, Now, Peer, Refusal, Route, inspection::Inspection, once, resolve};
use bytes::Bytes;
use semgate_protocol::{Call, Message, Once};
use std::sync::Arc;

/// Part of the ids under which a message that opened a connection is remembered.
const OPENS: &str = "opens a connection";

/// A signed message before its content is read. The signature was verified with a key of the peer.
#[derive(Clone, Copy, Debug)]
pub struct SignedHead<'m> {
    /// The route that it came over.
    pub route: &'m Arc<Route>,
    /// Its sender.
    pub peer: &'m Peer,
    /// Its binding.
    pub call: &'m Call,
    /// Its names, ids and stamp.
    pub message: &'m Message<'m>,
}

impl Inspector {
    /// Checks that a message is for the route's receiver, in its time, and not taken yet. Takes and charges nothing.
    ///
    /// # Errors
    /// `sender_mismatch`, `receiver_mismatch`, `replayed`.
    pub fn counts(&self, head: &SignedHead<'_>, now: Now) -> Result<(), Refusal> {
        self.with_head(head, now, |_, _| Ok(()))
    }

    /// Checks a message as [`Inspector::counts`] does, and takes it.
    ///
    /// # Errors
    /// As [`Inspector::counts`]; `rate_limited` if no more can be remembered.
    pub fn take_signed(&self, head: &SignedHead<'_>, now: Now) -> Result<(), Refusal> {
        self.with_head(head, now, once::taken)
    }

    /// Checks a message as [`Inspector::counts`] does, and takes it as the first of a connection. It is the first of no
    /// other, even if a later stage refuses it.
    ///
    /// # Errors
    /// As [`Inspector::take_signed`].
    pub fn opens(&self, head: &SignedHead<'_>, now: Now) -> Result<(), Refusal> {
        self.with_head(head, now, |case, own| {
            let ids = own.ids.iter().copied().chain([OPENS]).collect();
            once::taken(case, &Once { at: own.at, ids })
        })
    }

    fn with_head(
        &self,
        head: &SignedHead<'_>,
        now: Now,
        then: impl FnOnce(&Inspection<'_>, &Once<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let SignedHead { route, peer, call, message } = *head;
        let (generation, settled) = (self.generation(), self.settled(route, peer));
        let arrived = Arrived::whole(call.clone(), Bytes::new());
        let case = Inspection::request(self.setting(&generation, now), route, peer, &arrived, &settled);
        resolve::authentic(&case, message)?;
        once::fresh(&case, message)?;
        let Some(own) = &message.once else { return Ok(()) };
        once::untaken(&case, own)?;
        then(&case, own)
    }
}
