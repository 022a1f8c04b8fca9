//! Whose turn it is: a proposal is answered while it is open, by the other side, and once (F0-07, F0-08).
//!
//! A proposal is one thing, whatever task and conversation it is found under. Who answers it takes it, and nobody else can take it
//! meanwhile; it is closed when the answer went out, and given back when the answer did not.

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
    /// Who sends requests.
    Caller,
    /// The agent behind the route.
    Agent,
}

/// ACCEPT, REJECT or COUNTER_PROPOSE, and there is not one open proposal of the other side that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutOfTurn {
    /// None is open, or somebody is answering it already.
    NotOpen,
    /// More than one is open, and the message does not say which it answers.
    Several,
    /// The same message answered one before.
    Repeated,
    /// It names one, and there is none of that name here.
    Unknown,
    /// It names one, and different ones are open under that name.
    SameName,
    /// It names one, and is said to a group: each member's are its own.
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
    /// How many messages say it that arrived, or may yet: who says it again says it too.
    said: usize,
    /// Which message took it last, where the binding names none.
    answer: Option<Digest>,
}

/// What was proposed, shared by every id that it is found under.
#[derive(Debug)]
pub(crate) struct Proposal {
    by: Side,
    /// The task that it was made in, if it was made in one.
    task: Option<Box<str>>,
    /// The id of its message, where answers name it by that, and which message it is.
    message: Option<(Box<str>, Digest)>,
    stands: Mutex<Stands>,
}

impl Proposal {
    pub(crate) fn new(by: Side, task: Option<&str>) -> Arc<Self> {
        Self::made(by, task, None)
    }

    /// One that answers name by the id of its message.
    pub(crate) fn named(by: Side, id: &str, message: Digest) -> Arc<Self> {
        Self::made(by, None, Some((Box::from(id), message)))
    }

    fn made(by: Side, task: Option<&str>, message: Option<(Box<str>, Digest)>) -> Arc<Self> {
        let stands = Mutex::new(Stands { is: Is::Open, said: 1, answer: None });
        Arc::new(Self { by, task: task.map(Box::from), message, stands })
    }

    /// Whether the other side of `by` may answer it now.
    pub(crate) fn awaits(&self, by: Side) -> bool {
        self.by != by && self.is_open()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.locked().is == Is::Open
    }

    /// Whether it was answered, or never reached the other side.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.locked().is, Is::Closed | Is::Withdrawn)
    }

    /// Whether it never reached the other side.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.locked().is == Is::Withdrawn
    }

    /// Whether it may be answered in this task: one that was made in another may not.
    pub(crate) fn belongs_to(&self, task: Option<&str>) -> bool {
        match (task, self.task.as_deref()) {
            (Some(asked), Some(own)) => asked == own,
            _ => true,
        }
    }

    /// Only one of all who answer gets it. Handed back is which message had it before.
    fn take(&self, answer: Option<Digest>) -> Result<Option<Digest>, OutOfTurn> {
        let mut stands = self.locked();
        if stands.is != Is::Open {
            return Err(OutOfTurn::NotOpen);
        }
        let before = stands.answer;
        *stands = Stands { is: Is::Taken, answer, ..*stands };
        Ok(before)
    }

    /// As if it had not been taken, of who took it just now.
    fn leave(&self, before: Option<Digest>) {
        let mut stands = self.locked();
        *stands = Stands { is: Is::Open, answer: before, ..*stands };
    }

    /// It is said once more, in the same words. Not so if it was never said before: then this is another one.
    fn say_again(&self) -> bool {
        let mut stands = self.locked();
        let again = stands.is != Is::Withdrawn;
        stands.said += usize::from(again);
        again
    }

    /// One message that says it is known not to have arrived; if that was the last, it was never made.
    fn unsay(&self) {
        let mut stands = self.locked();
        stands.said = stands.said.saturating_sub(1);
        if stands.said == 0 && stands.is == Is::Open {
            stands.is = Is::Withdrawn;
        }
    }

    /// Moves it on, if it stands at one of these.
    fn change(&self, from: &[Is], to: Is) {
        let mut stands = self.locked();
        if from.contains(&stands.is) {
            stands.is = to;
        }
    }

    /// A thread that panicked while it held the lock left a whole state: each change is one assignment.
    fn locked(&self) -> MutexGuard<'_, Stands> {
        self.stands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a message answers, which is still to be taken: one proposal, but for a REJECT of a name under which several are open.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    pub(crate) proposals: Vec<Arc<Proposal>>,
    /// Which message it is, where nothing else tells one that is sent twice.
    pub(crate) message: Option<Digest>,
}

impl Answers {
    /// Takes all of it or nothing.
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
    found.into_iter().find(|proposal| proposal.awaits(by)).map(Some).ok_or(OutOfTurn::NotOpen)
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
    answers: Vec<Arc<Proposal>>,
    makes: Option<Arc<Proposal>>,
    delivered: AtomicBool,
    given_back: AtomicBool,
}

impl Step {
    /// Takes what is answered, and only then proposes; none if nothing is answered or proposed.
    ///
    /// # Errors
    /// [`OutOfTurn`]: somebody else was faster.
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

    /// What the message proposes.
    pub(crate) fn makes(&self) -> Option<&Arc<Proposal>> {
        self.makes.as_ref()
    }

    /// The message is on its way: what it answers is answered.
    pub(crate) fn delivered(&self) {
        self.delivered.store(true, Ordering::Release);
        self.answers.iter().for_each(|proposal| proposal.change(&[Is::Taken], Is::Closed));
    }

    /// The message is known not to have arrived: what it answers is open again, and what it proposes was never said unless
    /// another message says it too. Said again, it changes nothing: somebody else may have answered meanwhile.
    pub(crate) fn undelivered(&self) {
        self.delivered.store(true, Ordering::Release);
        if self.given_back.swap(true, Ordering::AcqRel) {
            return;
        }
        // this step alone can have taken them, until one of the two opened them
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
