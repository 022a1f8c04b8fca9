//! What is proposed between two agents where the binding has no conversations: native L8 (F0-08).
//!
//! An envelope has no member for what it answers. So a proposal is open between the two agents under the line of contexts that it was made
//! under, whichever route either of them takes, until the other one answers it; each answer answers one. Which one, the id of its
//! message may say; where it does not, there must be no choice.

mod written;

use super::{Is, OutOfTurn, Proposal, Side};
use semgate_contexts::{Digest, Performative};
use semgate_message::Message;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Where room is made an eighth goes at once, so that it is not made for every one that comes.
const PART: usize = 8;

/// Which side an agent is of: two agents speak on routes of either, so it is settled by their ids. Of one that speaks to itself,
/// which sends a request and which a reply.
pub(crate) fn side(speaker: &str, other: &str, speaks_as: Side) -> Side {
    match speaker.cmp(other) {
        std::cmp::Ordering::Less => Side::Caller,
        std::cmp::Ordering::Equal => speaks_as,
        std::cmp::Ordering::Greater => Side::Agent,
    }
}

/// Between whom something is proposed: who proposes, to whom, and under which line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between<'p> {
    pub(crate) by: &'p str,
    pub(crate) to: &'p str,
    pub(crate) line: &'p str,
}

/// What the id of an answer's message begins with if it names the proposal: the id of the proposal's message follows.
const NAMES: &str = "re-";

/// A message that answers a proposal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'m> {
    names: Option<&'m str>,
    says: Performative,
    message: Digest,
    by: Side,
}

/// By what a message is known again: the same words under the same id, however they are spaced, and the same numbers to their last digit.
pub(crate) fn same(message: &Message<'_>) -> Digest {
    let mut text = format!("{}\n{}\n", message.message_id, message.performative);
    message.claims.iter().for_each(|claim| text += &format!("{}\n", claim.urn));
    for said in &message.instances {
        // neither a name nor JSON text holds a line end
        let key = said.pointer.key.unwrap_or_default();
        text += &format!("{key}\n{}\n", said.name);
        written::object(said.object, &mut text);
        text.push('\n');
    }
    Digest::of(text.as_bytes())
}

impl<'m> Answer<'m> {
    /// What `by` answers with this message.
    pub(crate) fn of(message: &Message<'m>, by: Side) -> Self {
        let (names, says) = (message.message_id.strip_prefix(NAMES), message.performative);
        Self { names, says, message: same(message), by }
    }

    /// Whether its id says which proposal it is for.
    pub(crate) fn names_one(&self) -> bool {
        self.names.is_some()
    }

    fn is_for(&self, proposal: &Proposal) -> bool {
        self.names.is_some_and(|id| proposal.message.as_ref().is_some_and(|(own, _)| **own == *id))
    }

    /// Which message it is.
    pub(crate) fn message(&self) -> Digest {
        self.message
    }
}

struct Made {
    to: Box<str>,
    line: Box<str>,
    proposal: Arc<Proposal>,
}

impl Made {
    fn is_between(&self, to: &str, line: &str) -> bool {
        *self.to == *to && *self.line == *line
    }
}

#[derive(Default)]
struct Open {
    by: HashMap<Arc<str>, VecDeque<Made>>,
    held: usize,
}

impl Open {
    /// Makes room among those of one agent: the oldest of what is over goes first, then the oldest of those to the agent that most were
    /// made to, so that no agent makes another one forget what it proposed to others.
    fn forget_some(&mut self, by: &str) {
        let Some(made) = self.by.get_mut(by) else { return };
        let before = made.len();
        let mut goes = made.iter().filter(|made| made.proposal.is_over()).count().div_ceil(PART);
        made.retain(|made| {
            let stays = goes == 0 || !made.proposal.is_over();
            goes -= usize::from(!stays);
            stays
        });
        if made.len() == before {
            forget_oldest(made);
        }
        self.held = self.held.saturating_sub(before.saturating_sub(made.len()));
        if made.is_empty() {
            self.by.remove(by);
        }
    }
}

/// Forgets an eighth of what was proposed to the agent that most was proposed to.
fn forget_oldest(all: &mut VecDeque<Made>) {
    let mut to: HashMap<&str, usize> = HashMap::new();
    for made in all.iter() {
        *to.entry(&made.to).or_default() += 1;
    }
    let fullest = to.into_iter().max_by_key(|(_, held)| *held).map(|(to, held)| (Box::<str>::from(to), held));
    let Some((fullest, held)) = fullest else { return };
    let mut goes = held.div_ceil(PART);
    all.retain(|made| {
        let stays = made.to != fullest || goes == 0;
        goes -= usize::from(!stays);
        stays
    });
}

/// A proposal, whether it is open, and whether the message that is looked at answered it before.
type Found<'p> = (&'p Arc<Proposal>, bool, bool);

/// What one answer is for.
type All = Vec<Arc<Proposal>>;

/// Those of them that are open.
fn open<'p>(found: impl Iterator<Item = &'p Found<'p>>, why_none: OutOfTurn) -> Result<All, OutOfTurn> {
    let open: All = found.filter(|(_, open, _)| *open).map(|(proposal, ..)| Arc::clone(proposal)).collect();
    if open.is_empty() { Err(why_none) } else { Ok(open) }
}

/// The only one.
fn only(open: All, why_several: OutOfTurn) -> Result<All, OutOfTurn> {
    if open.len() > 1 { Err(why_several) } else { Ok(open) }
}

/// The open proposals of all pairs, for all cores. Bounded for each agent that proposes and in all, where the one that holds most
/// forgets first, of those to the agent that most were made to. They are not kept over a restart: a proposal is then made again.
pub(crate) struct Pairs {
    each: usize,
    all: usize,
    open: Mutex<Open>,
}

impl Pairs {
    pub(crate) fn new(each: usize, all: usize) -> Self {
        Self { each: each.max(1), all: all.max(1), open: Mutex::default() }
    }

    /// The proposal that an answer is for. Of a message that was said before, the one that it answered then; of one that names a proposal
    /// that one and no other; then `own`, what the request of a reply proposed; else the only one that is open. A REJECT of a name under
    /// which different ones are open is for all of them.
    ///
    /// # Errors
    /// [`OutOfTurn`], also where that one is not open or not known: no other takes its place.
    pub(crate) fn answered(
        &self,
        between: Between<'_>,
        answer: &Answer<'_>,
        own: Option<&Arc<Proposal>>,
    ) -> Result<All, OutOfTurn> {
        let all = self.locked();
        let made = all.by.get(between.by).into_iter().flatten();
        let here = made.filter(|made| made.is_between(between.to, between.line));
        // each is looked at once, so that what is taken meanwhile is not missed among the open ones
        let here = here.filter(|made| made.proposal.by != answer.by).map(|made| {
            let stands = *made.proposal.locked();
            (&made.proposal, stands.is == Is::Open, stands.answer == Some(answer.message))
        });
        let here: Vec<Found<'_>> = here.collect();
        if here.iter().any(|(_, _, same)| *same) {
            return open(here.iter().filter(|(_, _, same)| *same), OutOfTurn::Repeated);
        }
        let of_own = |own: &Arc<Proposal>| {
            own.awaits(answer.by).then(|| vec![Arc::clone(own)]).ok_or(OutOfTurn::NotOpen)
        };
        if answer.names_one() {
            let mut named = here.iter().filter(|(proposal, ..)| answer.is_for(proposal)).peekable();
            if named.peek().is_none() {
                // what the request proposed may be forgotten here, and is known all the same
                return own.filter(|own| answer.is_for(own)).map_or(Err(OutOfTurn::Unknown), of_own);
            }
            let open = open(named, OutOfTurn::NotOpen)?;
            return if answer.says == Performative::Reject {
                Ok(open)
            } else {
                only(open, OutOfTurn::SameName)
            };
        }
        match own {
            Some(own) => of_own(own),
            None => only(open(here.iter(), OutOfTurn::NotOpen)?, OutOfTurn::Several),
        }
    }

    /// This is proposed: what is handed back, which of a message that came before is what that proposed, answered or not. Two that are open
    /// under one id are answered by nobody, since who answers the one may not know of the other.
    pub(crate) fn propose(
        &self,
        Between { by, to, line }: Between<'_>,
        proposal: Arc<Proposal>,
    ) -> Arc<Proposal> {
        let mut open = self.locked();
        let same = |made: &&Made| {
            let is_same = proposal.message.is_some() && made.proposal.message == proposal.message;
            made.is_between(to, line) && made.proposal.by == proposal.by && is_same
        };
        let mut before = open.by.get(by).into_iter().flatten().filter(same);
        if let Some(before) = before.find(|made| made.proposal.say_again()) {
            return Arc::clone(&before.proposal);
        }
        if open.by.get(by).is_some_and(|made| made.len() >= self.each) {
            open.forget_some(by);
        }
        while open.held >= self.all {
            let fullest = open.by.iter().max_by_key(|(_, made)| made.len()).map(|(by, _)| Arc::clone(by));
            let Some(fullest) = fullest else { break };
            open.forget_some(&fullest);
        }
        let made = Made { to: to.into(), line: line.into(), proposal: Arc::clone(&proposal) };
        match open.by.get_mut(by) {
            Some(all) => all.push_back(made),
            None => drop(open.by.insert(Arc::from(by), VecDeque::from([made]))),
        }
        open.held += 1;
        proposal
    }

    /// A thread that panicked while it held the lock left whole entries: each change is one call.
    fn locked(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
