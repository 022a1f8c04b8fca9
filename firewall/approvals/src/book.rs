//! Every hold, and the rules by which holds change.
//!
//! A command returns the events that it would cause. Nothing changes before [`Book::apply`].

mod ask;
mod decide;
mod due;
mod links;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use semgate_policies::{Approvers, Reuse};

use crate::hold::People;
use crate::{
    ActionDigest, Decision, Delegation, End, Event, Hold, HoldId, HoldState, HumanCard, HumanId,
    HumanRegistry, HumanStatus, Subject, Verdict,
};

pub use ask::{Asked, Question};
pub use decide::{Answer, Pass, Reply};
use links::Links;
pub use links::{Link, token_hash};

/// Open holds of all senders: no team answers more in a day.
const MAX_OPEN: usize = 16_384;
/// Open holds of one sender: an agent that asks faster than people answer waits (F1-26).
pub(crate) const MAX_OPEN_OF_ONE: usize = 64;
/// Bytes of a request's canonical form: forty pages, which nobody reads, and 4 MiB for all open ones of a sender.
const MAX_CANONICAL: usize = 64 * 1024;
/// Bytes of all canonical forms in memory. The ended ones make room from half of it on. 128 MiB: 2,000 of the longest.
const MAX_BYTES: usize = 128 * 1024 * 1024;
/// Ended holds that stay readable. Older ones are in the audit log.
const MAX_ENDED: usize = 4_096;
/// Seconds for which a denial or an expiry answers the same request again, so that a retry does not ask people anew.
const STANDS: u64 = 300;

/// Settings of a book.
#[derive(Clone, Debug)]
pub struct BookSettings {
    /// People who decide where a demand names nobody.
    pub approvers: Approvers,
    /// Seconds to use an approval.
    pub use_seconds: u64,
}

/// Every hold.
#[derive(Debug)]
pub struct Book {
    settings: BookSettings,
    holds: HashMap<HoldId, Arc<Hold>>,
    /// The newest hold of each action.
    by_digest: HashMap<ActionDigest, HoldId>,
    open_of: HashMap<Arc<str>, usize>,
    open: usize,
    /// Times at which something happens by itself.
    due: BTreeSet<(u64, HoldId)>,
    /// Ended holds in the order of their end.
    ended: BTreeMap<u64, HoldId>,
    /// Bytes of the canonical forms in memory.
    bytes: usize,
    ends: u64,
    last_approved: HashMap<Arc<str>, (Arc<str>, u64)>,
    statuses: BTreeMap<HumanId, HumanStatus>,
    links: Links,
}

impl Book {
    /// An empty book.
    pub fn new(settings: BookSettings) -> Self {
        Self {
            settings,
            holds: HashMap::new(),
            by_digest: HashMap::new(),
            open_of: HashMap::new(),
            open: 0,
            due: BTreeSet::new(),
            ended: BTreeMap::new(),
            bytes: 0,
            ends: 0,
            last_approved: HashMap::new(),
            statuses: BTreeMap::new(),
            links: Links::default(),
        }
    }

    /// The hold of this name.
    pub fn get(&self, id: &HoldId) -> Option<&Arc<Hold>> {
        self.holds.get(id)
    }

    /// The newest hold of an action.
    pub fn by_digest(&self, digest: ActionDigest) -> Option<&Arc<Hold>> {
        self.holds.get(self.by_digest.get(&digest)?)
    }

    /// The link that this token opens. A token of a hold that is no longer open, or that its person decided, opens none.
    pub fn link(&self, token: &str) -> Option<&Link> {
        self.links.get(token)
    }

    /// Every hold in memory, in no order.
    pub fn holds(&self) -> impl Iterator<Item = &Arc<Hold>> {
        self.holds.values()
    }

    /// Number of open holds.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Canonical form and time of the last approved action of the same sender, receiver and concepts; for comparison.
    pub fn last_approved(&self, hold: &Hold) -> Option<(&Arc<str>, u64)> {
        self.last_approved.get(kind_of(hold)?.as_str()).map(|(canonical, at)| (canonical, *at))
    }

    /// Availability of a person: the last one set, or that of the card.
    pub fn status(&self, card: &HumanCard) -> HumanStatus {
        self.statuses.get(&card.id).copied().unwrap_or(card.status)
    }

    /// People who may decide a hold now, by id.
    pub fn approvers<'r>(&self, hold: &Hold, registry: &'r HumanRegistry) -> Vec<&'r HumanCard> {
        registry.cards().filter(|card| self.why_not(hold, card, registry).is_none()).collect()
    }

    /// The reason why a person may not decide a hold, whatever its state.
    pub fn why_not(
        &self,
        hold: &Hold,
        card: &HumanCard,
        registry: &HumanRegistry,
    ) -> Option<crate::ApprovalFault> {
        let people = self.people(registry);
        if hold.demands.iter().any(|demand| hold.voter(demand, &card.id, &people).is_some()) {
            return None;
        }
        let own = card.stands_behind(hold.sender())
            && hold.demands.iter().any(|demand| hold.admits_itself(demand, card, people.default));
        Some(if own { crate::ApprovalFault::Own } else { crate::ApprovalFault::NotYours })
    }

    /// These people, under the settings.
    fn people<'r>(&'r self, registry: &'r HumanRegistry) -> People<'r> {
        People { registry, default: &self.settings.approvers }
    }

    /// The shortest list of events that gives the same book.
    pub fn snapshot(&self) -> Vec<Event> {
        let mut holds: Vec<&Arc<Hold>> = self.holds.values().collect();
        holds.sort_by(|one, other| (one.opened_at, &one.id).cmp(&(other.opened_at, &other.id)));
        let opened = holds.into_iter().map(|hold| Event::Opened(Box::new(Hold::clone(hold))));
        let statuses = self.statuses.iter();
        let statuses =
            statuses.map(|(human, status)| Event::Status { human: human.clone(), status: *status });
        opened.chain(statuses).chain(self.links.events()).collect()
    }

    /// Applies an event. An event about an unknown hold changes nothing.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Opened(hold) => self.insert(Arc::new(Hold::clone(hold))),
            Event::Status { human, status } => {
                self.statuses.insert(human.clone(), *status);
            }
            Event::Sent { id, .. } => self.change(id, |hold| {
                if hold.state == HoldState::Pending {
                    hold.state = HoldState::Sent;
                }
            }),
            Event::Linked { id, human, verdict, hash } => {
                let is_open = self.holds.get(id).is_some_and(|hold| hold.state.is_open());
                if is_open {
                    let link = Link { id: id.clone(), human: human.clone(), verdict: *verdict };
                    self.links.add(hash, link);
                }
            }
            Event::Seen { id, .. } => self.change(id, |hold| {
                if hold.state.is_open() {
                    hold.state = HoldState::Seen;
                }
            }),
            Event::Decided { id, decision, settled, use_by } => {
                self.change(id, |hold| decided(hold, decision, *settled, *use_by));
                self.links.burn(id, &decision.human_id);
                self.remember(id);
            }
            Event::Delegated { id, from, to } => self.change(id, |hold| {
                hold.delegations.push(Delegation { from: from.clone(), to: to.clone() });
            }),
            Event::Escalated { id, after } => self.change(id, |hold| hold.escalated = *after),
            Event::Ended { id, end, why } => self.change(id, |hold| {
                hold.state = match end {
                    End::Expired => HoldState::Expired,
                    End::Cancelled => HoldState::Cancelled,
                    End::Failed => HoldState::Failed,
                    // an approval that served at least once was used
                    End::Lapsed if hold.uses > 0 => HoldState::Used,
                    End::Lapsed => HoldState::Lapsed,
                };
                hold.ended = Some(why.clone());
            }),
            Event::Used { id, .. } => self.change(id, |hold| {
                hold.uses = hold.uses.saturating_add(1);
                if hold.reuse() == Reuse::Never {
                    hold.state = HoldState::Used;
                }
            }),
        }
    }

    fn insert(&mut self, hold: Arc<Hold>) {
        let id = hold.id.clone();
        self.by_digest.insert(hold.digest, id.clone());
        self.count(&hold);
        let is_over = due_at(&hold).is_none();
        self.bytes = self.bytes.saturating_add(hold.canonical.len());
        self.holds.insert(id.clone(), hold);
        if is_over {
            self.end(id.clone());
        }
        self.remember(&id);
    }

    /// Notes the end of a hold, and forgets the oldest ended ones.
    fn end(&mut self, id: HoldId) {
        self.ends = self.ends.saturating_add(1);
        self.ended.insert(self.ends, id);
        while self.ended.len() > MAX_ENDED || (self.bytes > MAX_BYTES / 2 && !self.ended.is_empty()) {
            if let Some((_, oldest)) = self.ended.pop_first() {
                self.forget(&oldest);
            }
        }
    }

    /// Changes a hold, and moves it in every index.
    fn change(&mut self, id: &HoldId, change: impl FnOnce(&mut Hold)) {
        let Some(mut shared) = self.holds.remove(id) else { return };
        if shared.state.is_open() {
            self.open = self.open.saturating_sub(1);
            if let Some(count) = self.open_of.get_mut(shared.sender()) {
                *count = count.saturating_sub(1);
            }
        }
        if let Some(at) = due_at(&shared) {
            self.due.remove(&(at, id.clone()));
        }
        let was_final = due_at(&shared).is_none();
        change(Arc::make_mut(&mut shared));
        self.count(&shared);
        if !shared.state.is_open() {
            self.links.end(id);
        }
        let ends = !was_final && due_at(&shared).is_none();
        self.holds.insert(id.clone(), shared);
        if ends {
            self.end(id.clone());
        }
    }

    fn count(&mut self, hold: &Arc<Hold>) {
        if hold.state.is_open() {
            self.open = self.open.saturating_add(1);
            let count = self.open_of.entry(Arc::clone(hold.sender())).or_default();
            *count = count.saturating_add(1);
        } else if self.open_of.get(hold.sender()) == Some(&0) {
            self.open_of.remove(hold.sender());
        }
        if let Some(at) = due_at(hold) {
            self.due.insert((at, hold.id.clone()));
        }
    }

    fn forget(&mut self, id: &HoldId) {
        let hold = self.holds.remove(id);
        self.bytes = self.bytes.saturating_sub(hold.as_ref().map_or(0, |hold| hold.canonical.len()));
        if let Some(hold) = hold
            && self.by_digest.get(&hold.digest) == Some(id)
        {
            self.by_digest.remove(&hold.digest);
        }
    }

    /// Remembers an approved action for later comparison.
    fn remember(&mut self, id: &HoldId) {
        let approved = |hold: &&Arc<Hold>| matches!(hold.state, HoldState::Approved | HoldState::Used);
        let Some(hold) = self.holds.get(id).filter(approved) else { return };
        let at = hold.decisions.last().map_or(0, |decision| decision.decided_at);
        if let Some(kind) = kind_of(hold)
            && (self.last_approved.len() < MAX_ENDED || self.last_approved.contains_key(kind.as_str()))
        {
            self.last_approved.insert(kind.into(), (Arc::clone(&hold.canonical), at));
        }
    }
}

/// The next second at which something happens to a hold by itself; none for one that is over.
fn due_at(hold: &Hold) -> Option<u64> {
    match hold.state {
        state if state.is_open() => {
            let ends = hold.expires_at.saturating_add(1);
            Some(hold.escalates_at().map_or(ends, |at| at.min(ends)))
        }
        HoldState::Approved if matches!(hold.subject, Subject::Action(_)) => {
            hold.use_by.map(|at| at.saturating_add(1))
        }
        _ => None,
    }
}

fn decided(hold: &mut Hold, decision: &Decision, settled: bool, use_by: Option<u64>) {
    hold.decisions.push(decision.clone());
    if decision.decision == Verdict::Denied {
        hold.state = HoldState::Denied;
    } else if settled {
        (hold.state, hold.use_by) = (HoldState::Approved, use_by);
    } else {
        hold.state = HoldState::Seen;
    }
}

/// Sender, receiver and concepts of a held message.
fn kind_of(hold: &Hold) -> Option<String> {
    let Subject::Action(action) = &hold.subject else { return None };
    let concepts: Vec<&str> = action.instances.iter().map(|one| one.concept.as_str()).collect();
    Some(format!("{}\n{}\n{}", action.sender, action.receiver, concepts.join("\n")))
}
