//! Turns: a proposal is answered by the other side, while it is open, and once (F0-07, F0-08).
//!
//! A proposal may be found under several tasks and conversations. An answer takes it, and no other can take
//! it meanwhile. Delivery of the answer closes it; failed delivery reopens it.

mod pairs;

pub(crate) use pairs::{Answer, Between, Pairs, same, side};

use semgate_contexts::{Digest, Performative};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// One end of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The sender of requests.
    Caller,
    /// The upstream agent.
    Agent,
}

/// Reason why an ACCEPT, REJECT or COUNTER_PROPOSE does not answer exactly one open proposal of the other
/// side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutOfTurn {
    /// No proposal is open, or another answer has taken it.
    NotOpen,
    /// Several are open, and the message does not name one.
    Several,
    /// The same message has answered a proposal before.
    Repeated,
    /// The message names an unknown proposal.
    Unknown,
    /// The message names one, and different ones are open under that name.
    SameName,
    /// The message names one, and addresses a group: each member has its own.
    ToGroup,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Open,
    Taken,
    Closed,
    Withdrawn,
}

#[derive(Clone, Copy, Debug)]
struct Stands {
    is: Is,
    /// Messages that state the proposal and arrived, or still may.
    statements: usize,
    /// Message that took it last, if the binding names none.
    answer: Option<Digest>,
}

/// A proposal, shared by all ids that lead to it.
#[derive(Debug)]
pub(crate) struct Proposal {
    by: Side,
    /// Task that it was made in, if any.
    task: Option<Box<str>>,
    /// Id and digest of its message, if answers name it by that.
    message: Option<(Box<str>, Digest)>,
    stands: Mutex<Stands>,
}

impl Proposal {
    pub(crate) fn new(by: Side, task: Option<&str>) -> Arc<Self> {
        Self::made(by, task, None)
    }

    /// A proposal that answers name by its message id.
    pub(crate) fn named(by: Side, id: &str, message: Digest) -> Arc<Self> {
        Self::made(by, None, Some((Box::from(id), message)))
    }

    fn made(by: Side, task: Option<&str>, message: Option<(Box<str>, Digest)>) -> Arc<Self> {
        let stands = Mutex::new(Stands { is: Is::Open, statements: 1, answer: None });
        Arc::new(Self { by, task: task.map(Box::from), message, stands })
    }

    /// Returns true if the other side of `by` may answer it now.
    pub(crate) fn awaits(&self, by: Side) -> bool {
        self.by != by && self.is_open()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.locked().is == Is::Open
    }

    /// Returns true if it was answered, or never reached the other side.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.locked().is, Is::Closed | Is::Withdrawn)
    }

    /// Returns true if it never reached the other side.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.locked().is == Is::Withdrawn
    }

    /// Returns true if it may be answered in this task. A proposal from another task may not.
    pub(crate) fn belongs_to(&self, task: Option<&str>) -> bool {
        match (task, self.task.as_deref()) {
            (Some(asked), Some(own)) => asked == own,
            _ => true,
        }
    }

    /// Takes the proposal for one answer and no other. Returns the message that took it before.
    fn take(&self, answer: Option<Digest>) -> Result<Option<Digest>, OutOfTurn> {
        let mut stands = self.locked();
        if stands.is != Is::Open {
            return Err(OutOfTurn::NotOpen);
        }
        let before = stands.answer;
        *stands = Stands { is: Is::Taken, answer, ..*stands };
        Ok(before)
    }

    /// Undoes a take that just happened.
    fn leave(&self, before: Option<Digest>) {
        let mut stands = self.locked();
        *stands = Stands { is: Is::Open, answer: before, ..*stands };
    }

    /// Counts a repetition in the same words. Returns false for a withdrawn proposal: the message then makes
    /// a new one.
    fn say_again(&self) -> bool {
        let mut stands = self.locked();
        let again = stands.is != Is::Withdrawn;
        stands.statements += usize::from(again);
        again
    }

    /// Uncounts one message that is known not to have arrived. Without another one, the proposal is
    /// withdrawn.
    fn unsay(&self) {
        let mut stands = self.locked();
        stands.statements = stands.statements.saturating_sub(1);
        if stands.statements == 0 && stands.is == Is::Open {
            stands.is = Is::Withdrawn;
        }
    }

    /// Changes the state if it is one of `from`.
    fn change(&self, from: &[Is], to: Is) {
        let mut stands = self.locked();
        if from.contains(&stands.is) {
            stands.is = to;
        }
    }

    /// Takes the lock, also after a panic: each change is one assignment, so the state is whole.
    fn locked(&self) -> MutexGuard<'_, Stands> {
        self.stands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Proposals that a message answers, not taken yet. There is one, except for a REJECT of a name with several
/// open ones.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    pub(crate) proposals: Vec<Arc<Proposal>>,
    /// Digest of the message, if nothing else identifies a repetition.
    pub(crate) message: Option<Digest>,
}

impl Answers {
    /// Takes all proposals or none.
    fn take(self) -> Result<Vec<Arc<Proposal>>, OutOfTurn> {
        let mut taken = Vec::new();
        for proposal in &self.proposals {
            match proposal.take(self.message) {
                Ok(before) => taken.push((proposal, before)),
                Err(why) => {
                    taken.into_iter().for_each(|(proposal, before)| proposal.leave(before));
                    return Err(why);
                }
            }
        }
        Ok(self.proposals)
    }
}

impl From<Arc<Proposal>> for Answers {
    fn from(proposal: Arc<Proposal>) -> Self {
        Self { proposals: vec![proposal], message: None }
    }
}

/// The proposal that a message answers, if any: the first of `found` that waits for `by`.
///
/// # Errors
/// [`OutOfTurn`]: only the other side's open proposal can be accepted, rejected or countered.
pub(crate) fn turn(
    candidates: impl IntoIterator<Item = Arc<Proposal>>,
    says: Performative,
    by: Side,
) -> Result<Option<Arc<Proposal>>, OutOfTurn> {
    if !answers(says) {
        return Ok(None);
    }
    candidates.into_iter().find(|proposal| proposal.awaits(by)).map(Some).ok_or(OutOfTurn::NotOpen)
}

/// Returns true for a performative that answers a proposal.
pub(crate) const fn answers(says: Performative) -> bool {
    matches!(says, Performative::CounterPropose | Performative::Accept | Performative::Reject)
}

/// Returns true for a performative that makes a proposal.
pub(crate) const fn proposes(says: Performative) -> bool {
    matches!(says, Performative::Propose | Performative::CounterPropose)
}

/// Effect of one permitted message on the turns. Dropping it before delivery undoes the effect.
#[derive(Debug, Default)]
pub(crate) struct Step {
    answers: Vec<Arc<Proposal>>,
    makes: Option<Arc<Proposal>>,
    delivered: AtomicBool,
    given_back: AtomicBool,
}

impl Step {
    /// Takes the answered proposals, then makes the new one. `None` if there is neither.
    ///
    /// # Errors
    /// [`OutOfTurn`]: another answer was first.
    pub(crate) fn begin(
        answers: Option<Answers>,
        makes: impl FnOnce() -> Option<Arc<Proposal>>,
    ) -> Result<Option<Arc<Self>>, OutOfTurn> {
        let answers = answers.map(Answers::take).transpose()?.unwrap_or_default();
        let makes = makes();
        if answers.is_empty() && makes.is_none() {
            return Ok(None);
        }
        let (delivered, given_back) = Default::default();
        Ok(Some(Arc::new(Self { answers, makes, delivered, given_back })))
    }

    /// The proposal that the message makes.
    pub(crate) fn makes(&self) -> Option<&Arc<Proposal>> {
        self.makes.as_ref()
    }

    /// Closes the answered proposals once the message is on its way.
    pub(crate) fn delivered(&self) {
        self.delivered.store(true, Ordering::Release);
        self.answers.iter().for_each(|proposal| proposal.change(&[Is::Taken], Is::Closed));
    }

    /// Undoes the effect of a message that is known not to have arrived.
    ///
    /// Its answered proposals are open again, and its new proposal is withdrawn unless another message states
    /// it too. A second call changes nothing, since another answer may have come meanwhile.
    pub(crate) fn undelivered(&self) {
        self.delivered.store(true, Ordering::Release);
        if self.given_back.swap(true, Ordering::AcqRel) {
            return;
        }
        // only this step can have taken them, until one of the two calls opened them
        self.answers.iter().for_each(|proposal| proposal.change(&[Is::Taken, Is::Closed], Is::Open));
        if let Some(proposal) = &self.makes {
            proposal.unsay();
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
