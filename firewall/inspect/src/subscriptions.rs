//! Subscriptions (F0-12). A permitted SUBSCRIBE opens one, and later messages of its publisher must be within
//! it.
//!
//! Permission to subscribe is decided once. Every INFORM and PUBLISH is a message of its own and is decided
//! again.

use crate::{Code, Refusal, Sent, decide::Decided, meter::Metered};
use semgate_contexts::{ContextUrn, Performative};
use semgate_protocol::StreamRules;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Open subscriptions of all agents, with their number.
///
/// Each lasts as long as its stream or socket, and no longer than its time. Dropping it frees its slot.
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

/// One open subscription: its topics and its end.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    /// Context of the topics.
    urn: ContextUrn,
    topics: Arc<[String]>,
    until_ms: u64,
    _slot: Arc<Slot>,
}

#[derive(Debug)]
struct Slot {
    counts: Arc<Mutex<Counts>>,
    owner: Arc<str>,
}

impl Drop for Slot {
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
    /// An empty set: at most `each` per agent and `all` in total, each for at most `lasts_ms` milliseconds.
    pub fn new(each: usize, all: usize, lasts_ms: u64) -> Self {
        Self { counts: Arc::default(), each, all, lasts_ms }
    }

    /// Number of open subscriptions.
    pub fn len(&self) -> usize {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).all
    }

    /// Returns true if none is open.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn slot(&self, owner: &Arc<str>) -> Result<Arc<Slot>, Refusal> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let own = counts.of.get(owner).copied().unwrap_or_default();
        if own >= self.each || counts.all >= self.all {
            return Err(Refusal::new(
                Code::RateLimited,
                "this agent has more open subscriptions than its limit allows",
            )
            .with_hint("end the stream or socket of another subscription first"));
        }
        counts.all = counts.all.saturating_add(1);
        counts.of.insert(Arc::clone(owner), own.saturating_add(1));
        Ok(Arc::new(Slot { counts: Arc::clone(&self.counts), owner: Arc::clone(owner) }))
    }

    /// The subscription that a SUBSCRIBE of native L8 opens. Its topics are the named concepts and tasks of
    /// its context.
    ///
    /// # Errors
    /// `rate_limited` if the agent, or all agents together, hold too many.
    pub(crate) fn open(&self, metered: &Metered<'_, '_>) -> Result<Option<Subscription>, Refusal> {
        let decided = metered.decided();
        let (case, message) = (decided.case(), decided.resolved().message());
        let opens = case.protocol().traits().stream == StreamRules::Messages;
        if !opens || message.performative != Performative::Subscribe {
            return Ok(None);
        }
        let slot = self.slot(case.sender_key()).map_err(|refusal| refusal.with_facts(metered.facts()))?;
        let urn = decided.resolved().about().urn.clone();
        let topics = decided.instances().filter(|(definition, _)| *definition.context.urn() == urn);
        let topics = topics.map(|(definition, _)| definition.term.name().to_owned()).collect();
        let until_ms = case.now.monotonic_ms.saturating_add(self.lasts_ms);
        Ok(Some(Subscription { urn, topics, until_ms, _slot: slot }))
    }
}

impl Subscription {
    /// Returns true if the subscription has not expired.
    pub(crate) fn lasts(&self, monotonic_ms: u64) -> bool {
        monotonic_ms < self.until_ms
    }

    /// Returns true if these names under `urn` are within its topics.
    pub(crate) fn covers<'n>(&self, urn: &str, mut names: impl Iterator<Item = &'n str>) -> bool {
        urn == self.urn.as_str() && names.all(|name| self.topics.iter().any(|topic| topic == name))
    }
}

/// Checks that an event may follow in a stream of native L8.
///
/// # Errors
/// `out_of_turn`: an INFORM or PUBLISH outside the subscription or after its end, a wrong answer to a
/// SUBSCRIBE, or a PUBLISH without a subscriber.
pub(crate) fn turn(sent: &Sent, begun: bool, over: bool, decided: &Decided<'_, '_>) -> Result<(), Refusal> {
    use Performative::{Agree, Inform, Publish, Refuse};
    let case = decided.case();
    let says = decided.resolved().message().performative;
    if over {
        return Err(out_of_turn("the agent continues after it refused the request"));
    }
    let Some(subscription) = &sent.subscription else { return asked_for(sent, decided) };
    match says {
        Agree | Refuse if begun => Err(out_of_turn("the subscription is already answered")),
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
    let within = decided.instances().all(|(definition, _)| {
        let name = std::iter::once(definition.term.name());
        subscription.covers(definition.context.urn().as_str(), name)
    });
    if within { Ok(()) } else { Err(out_of_turn("the message is outside the subscription")) }
}

/// Checks that somebody asked for a whole reply of native L8, as for an event (F0-12).
///
/// An agent publishes to subscribers only, and informs them within their subscription. It subscribes by a
/// request of its own.
///
/// # Errors
/// `out_of_turn`.
pub(crate) fn asked_for(sent: &Sent, decided: &Decided<'_, '_>) -> Result<(), Refusal> {
    let message = decided.resolved().message();
    if decided.case().protocol().traits().stream != StreamRules::Messages {
        return Ok(());
    }
    match (message.performative, &sent.subscription) {
        (Performative::Publish, None) => Err(out_of_turn("the agent publishes without a subscription")),
        (Performative::Inform | Performative::Publish, Some(subscription)) => on_topic(subscription, decided),
        (Performative::Subscribe, _) => Err(out_of_turn("an answer cannot ask for a subscription")),
        _ => Ok(()),
    }
}

pub(crate) fn out_of_turn(reason: &str) -> Refusal {
    Refusal::new(Code::OutOfTurn, reason)
        .with_hint("send it as the answer to a request, or within an open subscription")
}

#[cfg(test)]
mod tests;
