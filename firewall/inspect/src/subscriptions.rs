//! Who is told of what: a SUBSCRIBE that may pass opens a subscription, and what its publisher then says must be within it
//! (F0-12). Permission to subscribe is asked once; every INFORM and PUBLISH is a message of its own and is asked about again.

use crate::{Code, Refusal, Sent, decide::Decided, meter::Metered};
use semgate_contexts::{ContextUrn, Performative};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Every open subscription of all agents, counted. Each lasts as long as the stream or socket that it was opened on, at most
/// its time, and gives its place back when it is dropped.
#[derive(Debug)]
pub struct Subscriptions {
    counts: Arc<Mutex<Counts>>,
    each: usize,
    all: usize,
    lasts_ms: u64,
}

#[derive(Debug, Default)]
struct Counts {
    of: HashMap<Arc<str>, usize>,
    all: usize,
}

/// One open subscription: which topics, and until when.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    /// The context, and the names of it that are subscribed to.
    urn: ContextUrn,
    topics: Arc<[String]>,
    until_ms: u64,
    _place: Arc<Place>,
}

#[derive(Debug)]
struct Place {
    counts: Arc<Mutex<Counts>>,
    owner: Arc<str>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.all = counts.all.saturating_sub(1);
        if let Some(open) = counts.of.get_mut(&self.owner) {
            *open = open.saturating_sub(1);
            if *open == 0 {
                counts.of.remove(&self.owner);
            }
        }
    }
}

impl Subscriptions {
    /// None open; at most `each` of one agent and `all` together, each for at most `lasts_ms` milliseconds.
    pub fn new(each: usize, all: usize, lasts_ms: u64) -> Self {
        Self { counts: Arc::default(), each, all, lasts_ms }
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).all
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn place(&self, owner: &Arc<str>) -> Result<Arc<Place>, Refusal> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let own = counts.of.get(owner).copied().unwrap_or_default();
        if own >= self.each || counts.all >= self.all {
            return Err(Refusal::new(
                Code::RateLimited,
                "this agent has more open subscriptions than it may",
            )
            .with_hint("end the stream or socket of another subscription first"));
        }
        counts.all = counts.all.saturating_add(1);
        counts.of.insert(Arc::clone(owner), own.saturating_add(1));
        Ok(Arc::new(Place { counts: Arc::clone(&self.counts), owner: Arc::clone(owner) }))
    }

    /// The subscription that a message opens, if it is a SUBSCRIBE of native L8. Its topics are the concepts and tasks of its
    /// context that it names.
    ///
    /// # Errors
    /// `rate_limited` past the number that an agent may hold, or that all may.
    pub(crate) fn open(&self, metered: &Metered<'_, '_>) -> Result<Option<Subscription>, Refusal> {
        let decided = metered.decided();
        let (case, message) = (decided.case(), decided.resolved().message());
        if message.binding != semgate_message::Binding::L8 || message.performative != Performative::Subscribe
        {
            return Ok(None);
        }
        let place = self.place(case.sender_key()).map_err(|refusal| refusal.with_facts(metered.facts()))?;
        let urn = decided.resolved().about().urn.clone();
        let topics = decided.said().filter(|(said, _)| *said.context.urn() == urn);
        let topics = topics.map(|(said, _)| said.term.name().to_owned()).collect();
        let until_ms = case.now.monotonic_ms.saturating_add(self.lasts_ms);
        Ok(Some(Subscription { urn, topics, until_ms, _place: place }))
    }
}

impl Subscription {
    /// Whether its time is not over.
    pub(crate) fn lasts(&self, monotonic_ms: u64) -> bool {
        monotonic_ms < self.until_ms
    }

    /// Whether what is said of `urn` under these names is within its topics.
    pub(crate) fn covers<'n>(&self, urn: &str, mut names: impl Iterator<Item = &'n str>) -> bool {
        urn == self.urn.as_str() && names.all(|name| self.topics.iter().any(|topic| topic == name))
    }
}

/// Whose turn it is in the stream that answers a request of native L8.
///
/// # Errors
/// `out_of_turn`: an INFORM or PUBLISH outside of the subscription or after its end, something else than an answer to a
/// SUBSCRIBE, or a PUBLISH that nobody subscribed to.
pub(crate) fn turn(sent: &Sent, begun: bool, over: bool, decided: &Decided<'_, '_>) -> Result<(), Refusal> {
    use Performative::{Agree, Inform, Publish, Refuse};
    let case = decided.case();
    let says = decided.resolved().message().performative;
    if over {
        return Err(out_of_turn("the request was refused, and the agent goes on"));
    }
    let Some(subscription) = &sent.subscription else { return asked_for(sent, decided) };
    match says {
        Agree | Refuse if begun => Err(out_of_turn("the subscription was answered before")),
        Agree | Refuse => Ok(()),
        Inform | Publish if !subscription.lasts(case.now.monotonic_ms) => {
            Err(out_of_turn("the subscription is over"))
        }
        Inform | Publish => on_topic(subscription, decided),
        _ => {
            Err(out_of_turn("a subscription is answered with AGREE or REFUSE, and then by INFORM or PUBLISH"))
        }
    }
}

fn on_topic(subscription: &Subscription, decided: &Decided<'_, '_>) -> Result<(), Refusal> {
    let within = decided.said().all(|(said, _)| {
        let name = std::iter::once(said.term.name());
        subscription.covers(said.context.urn().as_str(), name)
    });
    if within { Ok(()) } else { Err(out_of_turn("it is about something that was not subscribed to")) }
}

/// Whether a whole reply of native L8 is one that somebody asked for, as an event has to be: an agent publishes to who subscribed, tells a
/// subscriber what it subscribed to (F0-12), and subscribes by a request of its own.
///
/// # Errors
/// `out_of_turn`.
pub(crate) fn asked_for(sent: &Sent, decided: &Decided<'_, '_>) -> Result<(), Refusal> {
    let message = decided.resolved().message();
    if message.binding != semgate_message::Binding::L8 {
        return Ok(());
    }
    match (message.performative, &sent.subscription) {
        (Performative::Publish, None) => Err(out_of_turn("it publishes, and nobody subscribed")),
        (Performative::Inform | Performative::Publish, Some(subscription)) => on_topic(subscription, decided),
        (Performative::Subscribe, _) => Err(out_of_turn("a subscription is asked for in an answer")),
        _ => Ok(()),
    }
}

pub(crate) fn out_of_turn(reason: &str) -> Refusal {
    Refusal::new(Code::OutOfTurn, reason)
        .with_hint("say it in answer to what was asked, or within an open subscription")
}

#[cfg(test)]
mod tests;
