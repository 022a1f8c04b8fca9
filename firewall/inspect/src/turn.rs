//! Whose turn it is: a proposal is answered while it is open, by the other side, and once (F0-07, F0-08).
//!
//! A proposal is one thing, whatever task and conversation it is found under. Who answers it takes it, and nobody else can take it
//! meanwhile; it is closed when the answer went out, and given back when the answer did not.

mod pairs;

pub(crate) use pairs::{Pairs, side};

use semgate_contexts::Performative;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

/// One end of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Who sends requests.
    Caller,
    /// The agent behind the route.
    Agent,
}

/// ACCEPT, REJECT or COUNTER_PROPOSE, and no proposal of the other side is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfTurn;

const OPEN: u8 = 0;
const TAKEN: u8 = 1;
const CLOSED: u8 = 2;
const WITHDRAWN: u8 = 3;

/// What was proposed, shared by every id that it is found under.
#[derive(Debug)]
pub(crate) struct Proposal {
    by: Side,
    /// The task that it was made in, if it was made in one.
    task: Option<Box<str>>,
    state: AtomicU8,
}

impl Proposal {
    pub(crate) fn new(by: Side, task: Option<&str>) -> Arc<Self> {
        Arc::new(Self { by, task: task.map(Box::from), state: AtomicU8::new(OPEN) })
    }

    /// Whether the other side of `by` may answer it now.
    pub(crate) fn awaits(&self, by: Side) -> bool {
        self.by != by && self.is_open()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) == OPEN
    }

    /// Whether it was answered, or never reached the other side.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state.load(Ordering::Acquire), CLOSED | WITHDRAWN)
    }

    /// Whether it never reached the other side.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.state.load(Ordering::Acquire) == WITHDRAWN
    }

    /// Whether it may be answered in this task: one that was made in another may not.
    pub(crate) fn belongs_to(&self, task: Option<&str>) -> bool {
        match (task, self.task.as_deref()) {
            (Some(asked), Some(own)) => asked == own,
            _ => true,
        }
    }

    /// Only one of all who answer gets it.
    fn take(&self) -> Result<(), OutOfTurn> {
        self.change(OPEN, TAKEN).map(drop).map_err(|_| OutOfTurn)
    }

    fn change(&self, from: u8, to: u8) -> Result<u8, u8> {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }
}

/// The proposal that a message answers, if it answers one: the first of `found` that waits for `by`.
///
/// # Errors
/// [`OutOfTurn`]: only the other side's open proposal can be accepted, rejected or countered.
pub(crate) fn turn(
    found: impl IntoIterator<Item = Arc<Proposal>>,
    says: Performative,
    by: Side,
) -> Result<Option<Arc<Proposal>>, OutOfTurn> {
    if !answers(says) {
        return Ok(None);
    }
    found.into_iter().find(|proposal| proposal.awaits(by)).map(Some).ok_or(OutOfTurn)
}

/// Whether it answers a proposal.
pub(crate) const fn answers(says: Performative) -> bool {
    matches!(says, Performative::CounterPropose | Performative::Accept | Performative::Reject)
}

/// Whether it is a proposal.
pub(crate) const fn proposes(says: Performative) -> bool {
    matches!(says, Performative::Propose | Performative::CounterPropose)
}

/// What one message that may pass does to the turns. Dropped before it was delivered, it undoes that.
#[derive(Debug, Default)]
pub(crate) struct Step {
    answers: Option<Arc<Proposal>>,
    makes: Option<Arc<Proposal>>,
    delivered: AtomicBool,
    given_back: AtomicBool,
}

impl Step {
    /// Takes what is answered; none if nothing is answered or proposed.
    ///
    /// # Errors
    /// [`OutOfTurn`]: somebody else was faster.
    pub(crate) fn begin(
        answers: Option<Arc<Proposal>>,
        makes: Option<Arc<Proposal>>,
    ) -> Result<Option<Arc<Self>>, OutOfTurn> {
        if answers.is_none() && makes.is_none() {
            return Ok(None);
        }
        if let Some(proposal) = &answers {
            proposal.take()?;
        }
        let (delivered, given_back) = Default::default();
        Ok(Some(Arc::new(Self { answers, makes, delivered, given_back })))
    }

    /// What the message proposes.
    pub(crate) fn makes(&self) -> Option<&Arc<Proposal>> {
        self.makes.as_ref()
    }

    /// The message is on its way: what it answers is answered.
    pub(crate) fn delivered(&self) {
        self.delivered.store(true, Ordering::Release);
        if let Some(proposal) = &self.answers {
            let _ = proposal.change(TAKEN, CLOSED);
        }
    }

    /// The message is known not to have arrived: what it answers is open again, and what it proposes was never said. Said again, it
    /// changes nothing: somebody else may have answered meanwhile.
    pub(crate) fn undelivered(&self) {
        self.delivered.store(true, Ordering::Release);
        if self.given_back.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(proposal) = &self.answers {
            // this step alone can have taken it, until one of the two opened it
            let _ = proposal.change(TAKEN, OPEN).or_else(|_| proposal.change(CLOSED, OPEN));
        }
        if let Some(proposal) = &self.makes {
            let _ = proposal.change(OPEN, WITHDRAWN);
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if !self.delivered.load(Ordering::Acquire) {
            self.undelivered();
        }
    }
}

#[cfg(test)]
mod tests;
