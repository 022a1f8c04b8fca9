//! Concurrent requests on one socket, and the request that each agent message answers (F0-11, F0-12).
//!
//! A message on a socket does not name the message it answers, so the context decides. A message belongs to the
//! oldest open request of its context that it can answer, or to an open subscription that covers it. Any
//! other message is `out_of_turn`: an agent never speaks first.
//!
//! Some protocols let an answer leave out its context (`Traits::names_context_in_replies`). It then has the one
//! context of all open requests. Some let an agent ignore a request (`Traits::answers_freely`).

use crate::{
    Answered, Code, Inspector, Now, Peer, Permit, Refusal, ReplyPermit, Sent, StreamState,
    generation::Generation,
    inspection::{Inspection, Turn},
    parse::{self, read},
    reply::refused,
    subscriptions::out_of_turn,
};
use semgate_contexts::Performative;
use semgate_protocol::{Binding, Message, Reply, Vocabulary};

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
        if is_free(permit.call().binding) || !asks(permit.facts().performative) || self.open.len() < self.most
        {
            return Ok(());
        }
        Err(Refusal::new(Code::RateLimited, "too many requests of this socket are unanswered")
            .with_hint("wait for answers, or open another socket")
            .with_facts(permit.facts().clone()))
    }

    /// Records a sent request. A request that only informs gets no answer on a socket and opens nothing, except
    /// where an agent answers freely. There the oldest request makes room for the newest.
    pub fn sent(&mut self, sent: Sent) {
        let free = is_free(sent.call.binding);
        if free && self.open.len() >= self.most {
            let oldest = self.open.iter().position(|one| one.sent.subscription.is_none());
            self.open.remove(oldest.unwrap_or_default());
        }
        if free || asks(sent.facts().performative) {
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

    /// The one context of the open requests that a message without a context can answer. Requests in protocol terms
    /// alone count only for answers in such terms, unless there are no others.
    ///
    /// # Errors
    /// `context_missing`: the open requests have several contexts.
    fn sole_context(&self, message: &Message<'_>, generation: &Generation) -> Result<Option<&str>, Refusal> {
        let protocol = generation.protocol_urn(message.binding);
        let plain = message.instances.iter().all(|instance| instance.of == Vocabulary::Protocol);
        let urns = || self.open.iter().map(|one| &one.sent.about.urn);
        let near = urns().any(|urn| (Some(urn) == protocol) == plain);
        let mut fitting = urns().filter(|urn| !near || (Some(*urn) == protocol) == plain);
        let first = fitting.next();
        if fitting.all(|urn| Some(urn) == first) {
            return Ok(first.map(|urn| urn.as_str()));
        }
        Err(Refusal::new(
            Code::ContextMissing,
            "the answer names no context, and requests of several are open",
        )
        .with_hint("name the context in the answer"))
    }

    /// Index of the open request of this context that an agent message belongs to.
    fn of(&self, message: &Message<'_>, urn: &str) -> Option<usize> {
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

/// Returns true if agents of this protocol answer freely.
fn is_free(binding: Binding) -> bool {
    binding.protocol().traits().answers_freely
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
        answer: impl Into<Answered>,
        now: Now,
    ) -> Result<ReplyPermit, Refusal> {
        let answer = answer.into();
        let unasked = || refused(out_of_turn("the upstream agent sends an answer, but no request is open"));
        let first = exchanges.open.first().ok_or_else(unasked)?;
        let at = {
            let generation = self.generation();
            let setting = self.setting(&generation, now);
            let case = Inspection::reply(setting, &first.sent, replier, answer.judged.len());
            let case = Inspection { turn: Turn::Event, ..case };
            let strict = read(&case, &answer.judged).map_err(refused)?;
            let Reply::Message(message) = parse::reply(&case, &strict).map_err(refused)? else {
                return Err(unasked().with_facts(case.facts()));
            };
            let named = message.claims.first().map(|claim| claim.urn);
            let urn = match named {
                None if !case.protocol().traits().names_context_in_replies => {
                    let sole = exchanges.sole_context(&message, &generation);
                    sole.map_err(|refusal| refused(refusal.with_facts(case.facts())))?
                }
                named => named,
            };
            // a message without a context, or of a context with nothing open, is refused by the general path
            let elsewhere = |one: &Exchange| urn.is_none_or(|urn| urn != one.sent.about.urn.as_str());
            match urn.and_then(|urn| exchanges.of(&message, urn)) {
                Some(at) => at,
                None if exchanges.open.iter().all(elsewhere) => 0,
                None => return Err(unasked().with_facts(case.facts())),
            }
        };
        let Some(one) = exchanges.open.get_mut(at) else { return Err(unasked()) };
        let permit = self.inspect_event(&one.sent, &mut one.stream, replier, answer, now)?;
        exchanges.answered(at, permit.facts().performative);
        Ok(permit)
    }
}
