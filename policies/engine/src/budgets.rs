//! `limits.json`: what messages cost, and how much of it an agent may spend. Optional; without it nothing is counted but what
//! annotations count.

mod known;
mod read;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use semgate_contexts::Performative;

use crate::{Rate, RateKey};

pub(crate) use known::unknown_to_contexts;
pub(crate) use read::{Read, read};

/// A message, as far as costs and budgets look at it.
#[derive(Debug, Clone, Copy)]
pub struct Spoken<'a> {
    /// The line of the context that defines it.
    pub line: &'a str,
    /// The concept or task.
    pub concept: &'a str,
    /// The performative.
    pub performative: Performative,
}

/// A selection of messages: every member that is present must agree. Without any it selects all.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Selector {
    pub line: Option<Box<str>>,
    /// Only with a line.
    pub concept: Option<Box<str>>,
    pub performative: Option<Performative>,
}

impl Selector {
    fn takes(&self, spoken: &Spoken<'_>) -> bool {
        self.line.as_deref().is_none_or(|line| line == spoken.line)
            && self.concept.as_deref().is_none_or(|concept| concept == spoken.concept)
            && self.performative.is_none_or(|performative| performative == spoken.performative)
    }

    /// How much it says: the concept more than the line, either more than the performative. No two that take one message are equal
    /// unless they are the same.
    fn weight(&self) -> u8 {
        u8::from(self.concept.is_some()) << 2
            | u8::from(self.line.is_some()) << 1
            | u8::from(self.performative.is_some())
    }

    /// The messages that both take, where there are some.
    fn and(&self, other: &Self) -> Self {
        Self {
            line: self.line.clone().or_else(|| other.line.clone()),
            concept: self.concept.clone().or_else(|| other.concept.clone()),
            performative: self.performative.or(other.performative),
        }
    }

    /// Returns true if all that `other` takes is taken by this.
    fn covers(&self, other: &Self) -> bool {
        (self.line.is_none() || self.line == other.line)
            && (self.concept.is_none() || self.concept == other.concept)
            && (self.performative.is_none() || self.performative == other.performative)
    }

    /// Returns true if some message is taken by both.
    fn meets(&self, other: &Self) -> bool {
        fn agree<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
            one.is_none() || other.is_none() || one == other
        }
        agree(self.line.as_ref(), other.line.as_ref())
            && agree(self.concept.as_ref(), other.concept.as_ref())
            && agree(self.performative.as_ref(), other.performative.as_ref())
    }
}

/// How much an agent may spend on some messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// Its name, which callers read in `RateLimit`.
    pub name: Arc<str>,
    /// How many cost units, and how fast they come back.
    pub rate: Rate,
    /// The parties with a bucket of their own; the sender always.
    pub key: RateKey,
    /// The messages that count; empty: all.
    of: Vec<Selector>,
}

impl Budget {
    /// Returns true if it pays for this.
    #[must_use]
    pub fn pays(&self, spoken: &Spoken<'_>) -> bool {
        self.of.is_empty() || self.of.iter().any(|selector| selector.takes(spoken))
    }
}

/// All of `limits.json`.
#[derive(Debug, Clone, Default)]
pub struct Budgets {
    /// The heaviest selector first, so that the first that takes a message is the one that says most.
    costs: Vec<(Selector, u32)>,
    /// Budgets of each agent, by position in `entities.json`; agents alike share one list.
    of_agent: Vec<Arc<[Arc<Budget>]>>,
    /// Those of senders without an entry.
    of_others: Arc<[Arc<Budget>]>,
}

impl Budgets {
    /// The budgets that the agent at this position has; `None` stands for every sender without an entry.
    pub(crate) fn of(&self, position: Option<u32>) -> &Arc<[Arc<Budget>]> {
        let own = position.and_then(|position| self.of_agent.get(position as usize));
        own.unwrap_or(&self.of_others)
    }

    /// True without the file.
    pub(crate) fn is_empty(&self) -> bool {
        self.of_agent.is_empty() && self.of_others.is_empty()
    }

    /// The cost of saying this: 1 unless something else is written, 0 for free messages.
    #[must_use]
    pub fn cost(&self, spoken: &Spoken<'_>) -> u32 {
        let resolved = self.costs.iter().find(|(selector, _)| selector.takes(spoken));
        resolved.map_or(1, |(_, cost)| *cost)
    }
}
