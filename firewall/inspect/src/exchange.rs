//! Concurrent requests on one socket, and the request that each agent message answers (F0-11, F0-12).
//!
//! A native envelope does not name the message it answers, so the context decides. A message belongs to the
//! oldest open request of its context that it can answer, or to an open subscription that covers it. Any
//! other message is `out_of_turn`: an agent never speaks first.

use crate::{
    Answered, Code, Inspector, Now, Peer, Permit, Refusal, ReplyPermit, Sent, StreamState,
    inspection::Inspection,
    parse::{self, read, reading},
    reply::refused,
    subscriptions::out_of_turn,
};
use bytes::Bytes;
use semgate_contexts::Performative;
use semgate_protocol::{Message, native};

/// The open requests of one socket, oldest first. Bounded by [`crate::InspectLimits::unanswered`].
#[derive(Debug, Default)]
pub struct Exchanges {
    open: Vec<Exchange>,
    most: usize,
}

#[derive(Debug)]
struct Exchange {
    sent: Sent,
    stream: StreamState,
    agreed: bool,
}

impl Exchanges {
    /// Checks that one more request may be sent.
    ///
    /// # Errors
    /// `rate_limited`: too many requests are unanswered.
    pub fn room(&self, permit: &Permit) -> Result<(), Refusal> {
        if !asks(permit.facts().performative) || self.open.len() < self.most {
            return Ok(());
        }
        Err(Refusal::new(Code::RateLimited, "too many requests of this socket are unanswered")
            .with_hint("wait for answers, or open another socket")
            .with_facts(permit.facts().clone()))
    }

    /// Records a sent request. A request that only informs gets no answer on a socket and opens nothing.
    pub fn sent(&mut self, sent: Sent) {
        if asks(sent.facts().performative) {
            // a single answer is awaited like a whole reply: it may come after the lock of its request ended
            let subscribes = sent.subscription.is_some();
            let stream = if subscribes { StreamState::of(&sent) } else { StreamState::default() };
            self.open.push(Exchange { sent, stream, agreed: false });
        }
    }

    /// Returns true if nothing is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns true if an answer is awaited, not counting subscriptions.
    pub fn awaits(&self) -> bool {
        self.open.iter().any(|one| one.sent.subscription.is_none())
    }

    /// Checks that every open request may still be answered, and forgets expired subscriptions. Call it as
    /// often as [`StreamState::still_counts`].
    ///
    /// # Errors
    /// The refusal of [`StreamState::still_counts`] for the first request that may not.
    pub fn still_count(&mut self, inspector: &Inspector, replier: &Peer, now: Now) -> Result<(), Refusal> {
        let lasts = |one: &Exchange| one.sent.subscription.as_ref().is_none_or(|s| s.lasts(now.monotonic_ms));
        self.open.retain(lasts);
        self.open.iter().try_for_each(|one| one.stream.still_counts(inspector, &one.sent, replier, now))
    }

    /// Index of the open request that an agent message belongs to.
    fn of(&self, message: &Message<'_>) -> Option<usize> {
        let urn = message.claims.first().map(|claim| claim.urn)?;
        let names = || message.instances.iter().map(|instance| instance.name);
        let of_context = |one: &Exchange| one.sent.about.urn.as_str() == urn;
        let asked = |one: &Exchange| of_context(one) && one.sent.subscription.is_none();
        let subscribed = |one: &Exchange| {
            one.sent.subscription.as_ref().is_some_and(|subscription| subscription.covers(urn, names()))
        };
        let first = |which: &dyn Fn(&Exchange) -> bool| self.open.iter().position(which);
        match message.performative {
            Performative::Inform | Performative::Publish => first(&subscribed).or_else(|| first(&asked)),
            Performative::Agree | Performative::Refuse => first(&|one| of_context(one) && !one.agreed)
                .or_else(|| first(&|one| asked(one) && message.performative == Performative::Refuse)),
            _ => first(&asked),
        }
    }

    /// Closes an answered request; a subscription stays open until it is refused.
    fn answered(&mut self, at: usize, says: Option<Performative>) {
        let ends = match (self.open.get_mut(at), says) {
            (None, _) => return,
            (Some(_), Some(Performative::Refuse)) => true,
            (Some(one), Some(Performative::Agree)) => {
                one.agreed = true;
                false
            }
            (Some(one), _) => one.sent.subscription.is_none(),
        };
        if ends {
            self.open.remove(at);
        }
    }
}

/// Returns true if a performative expects an answer.
fn asks(says: Option<Performative>) -> bool {
    says.is_some_and(Performative::is_asking)
}

impl Inspector {
    /// The empty state of a new socket.
    pub fn exchanges(&self) -> Exchanges {
        Exchanges { open: Vec::new(), most: self.state.limits.unanswered }
    }

    /// Judges one agent message on a socket. It must belong to an open request, and is judged like an event
    /// of that request's stream.
    ///
    /// # Errors
    /// As [`Inspector::inspect_event`]. `reply_refused` with the cause `out_of_turn` for a message that
    /// belongs to nothing.
    pub fn inspect_said(
        &self,
        exchanges: &mut Exchanges,
        replier: &Peer,
        body: Bytes,
        now: Now,
    ) -> Result<ReplyPermit, Refusal> {
        let unasked = || refused(out_of_turn("the upstream agent sends an answer, but no request is open"));
        let first = exchanges.open.first().ok_or_else(unasked)?;
        let at = {
            let generation = self.generation();
            let case = Inspection::reply(self.setting(&generation, now), &first.sent, replier, body.len());
            let strict = read(&case, &body).map_err(refused)?;
            let message = native::read(strict.json(), &reading(&case));
            let message = message.map_err(|fault| refused(parse::refused(&case, &fault)))?;
            // a message without a context, or of a context with nothing open, is refused by the general path
            let elsewhere =
                |one: &Exchange| message.claims.iter().all(|c| c.urn != one.sent.about.urn.as_str());
            match exchanges.of(&message) {
                Some(at) => at,
                None if exchanges.open.iter().all(elsewhere) => 0,
                None => return Err(unasked().with_facts(case.facts())),
            }
        };
        let Some(one) = exchanges.open.get_mut(at) else { return Err(unasked()) };
        let permit = self.inspect_event(&one.sent, &mut one.stream, replier, Answered::from(body), now)?;
        exchanges.answered(at, permit.facts().performative);
        Ok(permit)
    }
}
