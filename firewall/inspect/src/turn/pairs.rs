//! What is proposed between two agents where the binding has no conversations: native L8 (F0-08).
//!
//! An envelope names nothing that it answers. So a proposal is open between the two agents under the line of contexts that it was made
//! under, whichever route either of them takes, until the other one answers it; each answer answers one.

use super::{Proposal, Side};
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

struct Made {
    to: Box<str>,
    line: Box<str>,
    proposal: Arc<Proposal>,
}

#[derive(Default)]
struct Open {
    by: HashMap<Arc<str>, VecDeque<Made>>,
    held: usize,
}

impl Open {
    /// Makes room among those of one agent: what is over goes first, then the oldest of those to the agent that most were made to, so that
    /// no agent makes another one forget what it proposed to others.
    fn forget_some(&mut self, by: &str) {
        let Some(made) = self.by.get_mut(by) else { return };
        let before = made.len();
        made.retain(|made| !made.proposal.is_over());
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

    /// What `by` proposed last to `to` under this line and is still open.
    pub(crate) fn last(&self, by: &str, to: &str, line: &str) -> Option<Arc<Proposal>> {
        let open = self.locked();
        let here = |made: &&Made| *made.to == *to && *made.line == *line && made.proposal.is_open();
        open.by.get(by)?.iter().rev().find(here).map(|made| Arc::clone(&made.proposal))
    }

    /// `by` proposes this to `to` under this line.
    pub(crate) fn propose(&self, by: &Arc<str>, to: &str, line: &str, proposal: &Arc<Proposal>) {
        let mut open = self.locked();
        if open.by.get(by).is_some_and(|made| made.len() >= self.each) {
            open.forget_some(by);
        }
        while open.held >= self.all {
            let fullest = open.by.iter().max_by_key(|(_, made)| made.len()).map(|(by, _)| Arc::clone(by));
            let Some(fullest) = fullest else { break };
            open.forget_some(&fullest);
        }
        let made = Made { to: to.into(), line: line.into(), proposal: Arc::clone(proposal) };
        open.by.entry(Arc::clone(by)).or_default().push_back(made);
        open.held += 1;
    }

    /// A thread that panicked while it held the lock left whole entries: each change is one call.
    fn locked(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::Step;

    fn made() -> Arc<Proposal> {
        Proposal::new(Side::Caller, None)
    }

    fn answer(proposal: &Arc<Proposal>) {
        Step::begin(Some(Arc::clone(proposal)), None).unwrap().unwrap().delivered();
    }

    #[test]
    fn each_proposal_is_found_between_its_two_under_its_line_until_it_is_answered() {
        let pairs = Pairs::new(8, 64);
        let (first, second, a) = (made(), made(), Arc::from("a"));
        pairs.propose(&a, "b", "supplyChain", &first);
        pairs.propose(&a, "b", "supplyChain", &second);
        for (by, to, line) in [("a", "c", "supplyChain"), ("b", "a", "supplyChain"), ("a", "b", "payment")] {
            assert!(pairs.last(by, to, line).is_none(), "{by} {to} {line}");
        }
        let find = || pairs.last("a", "b", "supplyChain");
        assert!(Arc::ptr_eq(&find().unwrap(), &second));
        answer(&second);
        assert!(Arc::ptr_eq(&find().unwrap(), &first), "two were made, and two can be answered");
        answer(&first);
        assert!(find().is_none());
    }

    #[test]
    fn who_proposes_too_much_forgets_its_own_answered_ones_first() {
        let pairs = Pairs::new(4, 8);
        let (a, b) = (Arc::from("a"), Arc::from("b"));
        let kept = made();
        pairs.propose(&b, "x", "l", &kept);
        let open = made();
        pairs.propose(&a, "x", "l", &open);
        for _ in 0..3 {
            let over = made();
            pairs.propose(&a, "x", "l", &over);
            answer(&over);
        }
        pairs.propose(&a, "x", "m", &made());
        assert!(Arc::ptr_eq(&pairs.last("a", "x", "l").unwrap(), &open), "the answered ones made room");
        for _ in 0..100 {
            pairs.propose(&a, "x", "m", &made());
        }
        assert!(pairs.last("a", "x", "l").is_none(), "the oldest of one's own is forgotten");
        for n in 0..100 {
            pairs.propose(&Arc::from(format!("s-{}", n % 2)), "x", "m", &made());
        }
        assert!(pairs.locked().held <= 8);
        assert!(pairs.last("b", "x", "l").is_some(), "and nobody else's, while one holds more");
    }

    #[test]
    fn attack_one_agent_makes_another_forget_what_it_proposed_to_a_third() {
        // the bound of each agent, and the bound of all
        for pairs in [Pairs::new(256, 65_536), Pairs::new(65_536, 256)] {
            let agent = Arc::from("agent");
            let kept = made();
            pairs.propose(&agent, "x", "l", &kept);
            let mut last = made();
            for _ in 0..1_000 {
                last = made();
                pairs.propose(&agent, "z", "l", &last);
            }
            assert!(Arc::ptr_eq(&pairs.last("agent", "x", "l").unwrap(), &kept), "x was told of one");
            assert!(Arc::ptr_eq(&pairs.last("agent", "z", "l").unwrap(), &last));
            let open = pairs.locked();
            assert_eq!(open.held, open.by["agent"].len());
            assert!(open.held <= 256, "{}", open.held);
        }
    }
}
