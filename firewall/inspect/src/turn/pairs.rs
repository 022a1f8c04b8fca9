//! Proposals between two agents in a binding without conversations: native L8 (F0-08).
//!
//! An envelope cannot name the message it answers. A proposal is therefore open between two agents under its
//! context line, on any route, until the other agent answers it.
//!
//! Each answer answers one proposal. The id of its message may name it; otherwise only one may be open.

mod written;

use super::{Is, OutOfTurn, Proposal, Side};
use semgate_contexts::{Digest, Performative};
use semgate_protocol::Message;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Making room frees one eighth at once, so that it happens rarely.
const PART: usize = 8;

/// The side of an agent, by the order of the two ids, since both agents may send requests. If an agent talks
/// to itself, requests and replies give the sides.
pub(crate) fn side(speaker: &str, other: &str, speaks_as: Side) -> Side {
    match speaker.cmp(other) {
        std::cmp::Ordering::Less => Side::Caller,
        std::cmp::Ordering::Equal => speaks_as,
        std::cmp::Ordering::Greater => Side::Agent,
    }
}

/// The parties and the line of a proposal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between<'p> {
    pub(crate) by: &'p str,
    pub(crate) to: &'p str,
    pub(crate) line: &'p str,
}

/// Prefix of an answer's message id that names a proposal. The id of the proposal's message follows.
const NAMES: &str = "re-";

/// A message that answers a proposal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'m> {
    names: Option<&'m str>,
    says: Performative,
    message: Digest,
    by: Side,
}

/// The digest that identifies a repeated message: the same id and values, whatever the spacing. Numbers must
/// agree to their last digit.
pub(crate) fn same(message: &Message<'_>) -> Digest {
    let mut text = format!("{}\n{}\n", message.message_id, message.performative);
    message.claims.iter().for_each(|claim| text += &format!("{}\n", claim.urn));
    for instance in &message.instances {
        // neither names nor JSON text hold a line end
        let key = instance.pointer.key.unwrap_or_default();
        text += &format!("{key}\n{}\n", instance.name);
        written::object(instance.object, &mut text);
        text.push('\n');
    }
    Digest::of(text.as_bytes())
}

impl<'m> Answer<'m> {
    /// The answer of `by` in this message.
    pub(crate) fn of(message: &Message<'m>, by: Side) -> Self {
        let (names, says) = (message.message_id.strip_prefix(NAMES), message.performative);
        Self { names, says, message: same(message), by }
    }

    /// Returns true if the message id names a proposal.
    pub(crate) fn names_one(&self) -> bool {
        self.names.is_some()
    }

    fn is_for(&self, proposal: &Proposal) -> bool {
        self.names.is_some_and(|id| proposal.message.as_ref().is_some_and(|(own, _)| **own == *id))
    }

    /// Digest of the message.
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
    /// Makes room among one agent's proposals. The oldest closed ones go first, then the oldest to the agent
    /// that received most. No agent can therefore displace its peer's proposals to others.
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

/// Forgets an eighth of the proposals to the agent that received most.
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

/// A proposal, a flag for open ones, and a flag for those that the same message answered before.
type Candidate<'p> = (&'p Arc<Proposal>, bool, bool);

/// Proposals of one answer.
type All = Vec<Arc<Proposal>>;

/// The open ones among them.
fn open<'p>(
    candidates: impl Iterator<Item = &'p Candidate<'p>>,
    why_none: OutOfTurn,
) -> Result<All, OutOfTurn> {
    let open: All =
        candidates.filter(|(_, open, _)| *open).map(|(proposal, ..)| Arc::clone(proposal)).collect();
    if open.is_empty() { Err(why_none) } else { Ok(open) }
}

/// The only open proposal.
fn only(open: All, why_several: OutOfTurn) -> Result<All, OutOfTurn> {
    if open.len() > 1 { Err(why_several) } else { Ok(open) }
}

/// Open proposals of all pairs, shared by all cores.
///
/// Bounded per proposing agent and in total. The agent that holds most forgets first, among its proposals to
/// the agent that received most. A restart forgets them, and they have to be made again.
pub(crate) struct Pairs {
    each: usize,
    all: usize,
    open: Mutex<Open>,
}

impl Pairs {
    pub(crate) fn new(each: usize, all: usize) -> Self {
        Self { each: each.max(1), all: all.max(1), open: Mutex::default() }
    }

    /// The proposals that an answer is for.
    ///
    /// - A repeated message: the proposal that it answered before.
    /// - A message that names a proposal: that one.
    /// - A reply: `own`, the proposal of its request.
    /// - Otherwise: the only open one.
    ///
    /// A REJECT of a name with several open proposals is for all of them.
    ///
    /// # Errors
    /// [`OutOfTurn`], also if the named proposal is closed or unknown: no other takes its place.
    pub(crate) fn answered(
        &self,
        between: Between<'_>,
        answer: &Answer<'_>,
        own: Option<&Arc<Proposal>>,
    ) -> Result<All, OutOfTurn> {
        let all = self.locked();
        let made = all.by.get(between.by).into_iter().flatten();
        let here = made.filter(|made| made.is_between(between.to, between.line));
        // each state is read once, so a concurrent take cannot hide an open one
        let here = here.filter(|made| made.proposal.by != answer.by).map(|made| {
            let stands = *made.proposal.locked();
            (&made.proposal, stands.is == Is::Open, stands.answer == Some(answer.message))
        });
        let here: Vec<Candidate<'_>> = here.collect();
        if here.iter().any(|(_, _, same)| *same) {
            return open(here.iter().filter(|(_, _, same)| *same), OutOfTurn::Repeated);
        }
        let of_own = |own: &Arc<Proposal>| {
            own.awaits(answer.by).then(|| vec![Arc::clone(own)]).ok_or(OutOfTurn::NotOpen)
        };
        if answer.names_one() {
            let mut named = here.iter().filter(|(proposal, ..)| answer.is_for(proposal)).peekable();
            if named.peek().is_none() {
                // the request's proposal may be forgotten here, and is still known
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

    /// Records a proposal. Returns the earlier one if the same message made it before, answered or not.
    ///
    /// Two open proposals under one id cannot be accepted: an answer to one may not know of the other.
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

    /// Takes the lock, also after a panic: each change is one call, so entries are whole.
    fn locked(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
