//! Ways for a message to pass: what would have to come out otherwise, looked for until it follows that one permit applies and nothing
//! stops it, whatever else the message is. What a way changes is not known any more wherever else it is asked, so that a way says also
//! what must stay.

use std::cell::Cell;

use super::formula::{Formula, Need, Parts, Supposed};
use super::truth::Truth;
use crate::PolicyLimits;
use crate::parse::Written;

/// How many ways are looked for, for each that is told by itself: those of two forbids with four ways each are two lines.
const LOOKED_FOR: usize = 16;

/// How far ways are looked for and told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    told: usize,
    looks: usize,
}

impl Bounds {
    /// As the limits have it.
    pub const fn of(limits: &PolicyLimits) -> Self {
        Self { told: limits.max_ways, looks: limits.max_way_looks }
    }

    /// The most ways that are told one by one.
    pub const fn told(self) -> usize {
        self.told
    }

    const fn ways(self) -> usize {
        self.told.saturating_mul(LOOKED_FOR)
    }
}

/// A policy against the message.
pub(super) struct Held<'w> {
    pub written: &'w Written,
    /// What its scope and its clauses ask; none where that is nothing.
    pub asks: Option<Formula>,
    /// Whether at most one part of its scope does not fit.
    pub near: bool,
    /// What it comes to for the message as it is.
    pub now: Truth,
}

/// Why something is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Aim {
    /// So that a forbid that applies does not.
    Avoids,
    /// The same of a permit that asks a human.
    AsksNobody,
    /// So that a permit applies that does.
    Keeps,
    /// So that one does that does not.
    Applies,
    /// So that what does not stop it goes on not to.
    StaysAway,
}

/// What is needed for one or more policies.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub aim: Aim,
    /// Which, by their places among those that are held against the message.
    pub policies: Vec<usize>,
    pub needs: Vec<Need>,
}

/// All that is needed for the message to pass.
#[derive(Debug, Clone, Default)]
pub(super) struct Way {
    pub steps: Vec<Step>,
    /// What stops the message all the same, and would have to be another, by its place too.
    pub another: Vec<usize>,
    /// A permit that asks a human, and would have to ask nobody.
    pub asking: Option<usize>,
    /// Whether a permit would have to be written.
    pub unwritten: bool,
    supposed: Supposed,
}

/// What was found.
pub(super) struct Found {
    pub ways: Vec<Way>,
    /// Whether there may be more.
    pub more: bool,
}

/// What may permit the message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Permits {
    /// Those that ask nobody.
    Plain,
    /// Those that ask a human, since no other is near.
    Asking,
    /// None that there is.
    Unwritten,
}

/// How far a search goes: each further only where none before found anything.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Reach {
    /// Whether what does not stop the message now, and would, is passed by in a way that makes something else another.
    beyond: bool,
    /// How many policies may be told to have to be others.
    others: usize,
}

/// Looks for ways.
struct Search<'a, 's, 'w> {
    parts: &'a Parts<'s>,
    held: &'a [Held<'w>],
    bounds: Bounds,
    permits: Permits,
    /// How far it goes.
    reach: Reach,
    ways: Vec<Way>,
    looks: Cell<usize>,
    more: bool,
}

impl Way {
    /// All that it needs, in order.
    pub fn needs(&self) -> &[Need] {
        &self.supposed.needs
    }

    fn excuses(&self, at: usize) -> bool {
        self.another.contains(&at) || self.asking == Some(at)
    }
}

impl<'w> Held<'w> {
    fn stops_now(&self) -> bool {
        self.written.stops() && self.now == Truth::True
    }
}

/// The ways in which a message passes: all where there are few.
pub(super) fn ways<'w>(parts: &Parts<'_>, held: &[Held<'w>], bounds: Bounds) -> Found {
    let plain = held.iter().any(|one| one.near && one.written.permits() && !one.written.asks());
    let asking = held.iter().any(|one| one.near && one.written.asks() && !one.stops_now());
    let first = match (plain, asking) {
        (true, _) => Permits::Plain,
        (false, true) => Permits::Asking,
        (false, false) => Permits::Unwritten,
    };
    let stops = held.iter().filter(|one| one.written.stops()).count();
    let near = Reach { beyond: false, others: 0 };
    let reaches = || [near].into_iter().chain((0..=stops).map(|others| Reach { beyond: true, others }));
    let mut search = Search {
        parts,
        held,
        bounds,
        permits: first,
        reach: near,
        ways: Vec::new(),
        looks: Cell::new(0),
        more: false,
    };
    for permits in [first, Permits::Unwritten] {
        for reach in reaches() {
            (search.permits, search.reach) = (permits, reach);
            search.look(Way::default());
            if !search.ways.is_empty() || search.is_spent() {
                return Found { more: search.more || search.is_spent(), ways: least(search.ways, parts) };
            }
        }
    }
    Found { ways: Vec::new(), more: search.more }
}

/// Without those that need all that another one does, and more.
fn least(ways: Vec<Way>, parts: &Parts<'_>) -> Vec<Way> {
    let within = |one: &Way, other: &Way| parts.follow_from(one.needs(), &other.supposed);
    let less = |one: &Way, other: &Way| {
        within(one, other) && (!within(other, one) || one.needs().len() < other.needs().len())
    };
    let kept: Vec<bool> = ways.iter().map(|way| !ways.iter().any(|other| less(other, way))).collect();
    ways.into_iter().zip(kept).filter_map(|(way, kept)| kept.then_some(way)).collect()
}

impl<'w> Search<'_, '_, 'w> {
    fn is_spent(&self) -> bool {
        self.looks.get() >= self.bounds.looks
    }

    /// What a policy comes to.
    fn truth(&self, one: &Held<'w>, supposed: &Supposed) -> Truth {
        self.looks.set(self.looks.get() + 1);
        one.asks.as_ref().map_or(Truth::True, |asks| self.parts.truth(asks, supposed))
    }

    fn look(&mut self, way: Way) {
        if self.is_spent() || self.ways.len() >= self.bounds.ways() {
            self.more = true;
            return;
        }
        // what stops it now comes first, then what could
        for first in [true, false] {
            let stops = |one: &Held<'_>| one.written.stops() && one.stops_now() == first;
            for (at, one) in self.held.iter().enumerate().filter(|(_, one)| stops(one)) {
                if !way.excuses(at) && self.truth(one, &way.supposed) != Truth::False {
                    return self.pass_by((at, one), &way);
                }
            }
        }
        if way.unwritten {
            return self.ways.push(self.attributed(way));
        }
        let asks = self.permits == Permits::Asking;
        let permits = || {
            let held = self.held.iter().enumerate().filter(|(_, one)| one.near && one.written.permits());
            held.filter(|(_, one)| one.written.asks() == asks && !one.stops_now())
        };
        if self.permits == Permits::Unwritten {
            return self.look(Way { unwritten: true, ..way });
        }
        if permits().any(|(_, one)| self.truth(one, &way.supposed) == Truth::True) {
            return self.ways.push(self.attributed(way));
        }
        let before = self.ways.len();
        let permits: Vec<(usize, &Held<'w>)> = permits().collect();
        // one that applies is kept, and only where none can be, another one made to apply
        for kept in [true, false] {
            for (at, one) in permits.iter().filter(|(_, one)| (one.now == Truth::True) == kept) {
                let aim = if kept { Aim::Keeps } else { Aim::Applies };
                let asking = asks.then_some(*at);
                let ways = self.so(one.asks.as_ref(), true, &way);
                self.each(ways, (aim, *at), &Way { asking, ..way.clone() });
            }
            if self.ways.len() > before {
                return;
            }
        }
    }

    /// The ways in which it comes out so.
    fn so(&self, asked: Option<&Formula>, wanted: bool, way: &Way) -> Vec<Vec<Need>> {
        let most = self.bounds.ways();
        asked.map_or_else(Vec::new, |asked| self.parts.ways(asked, wanted, &way.supposed, most))
    }

    /// What stops the message is passed by, or kept away.
    fn pass_by(&mut self, (at, one): (usize, &Held<'w>), way: &Way) {
        let before = self.ways.len();
        let ways = self.so(one.asks.as_ref(), false, way);
        let aim = match (&one.now, one.written.asks()) {
            (Truth::False, _) => Aim::StaysAway,
            (_, true) => Aim::AsksNobody,
            (_, false) => Aim::Avoids,
        };
        // what does not apply stays as it is where it can, and what is not known is as it has to be
        let stays = |way: &Vec<Need>| way.iter().all(|need| self.parts.may_be_so(*need));
        let (stay, change): (Vec<_>, Vec<_>) = ways.into_iter().partition(stays);
        let beyond = self.reach.beyond || one.stops_now();
        for ways in [stay, if beyond { change } else { Vec::new() }] {
            self.each(ways, (aim, at), way);
            if self.ways.len() > before {
                return;
            }
        }
        // what was passed by before, and begins to stop the message again, is told as another from the beginning, without what was for it
        let again = way.steps.iter().any(|step| step.policies.contains(&at));
        if !again && way.another.len() < self.reach.others {
            let another = way.another.iter().copied().chain([at]).collect();
            self.look(Way { another, ..way.clone() });
        }
    }

    fn each(&mut self, ways: Vec<Vec<Need>>, (aim, at): (Aim, usize), way: &Way) {
        for needs in ways {
            let Some(supposed) = self.parts.supposing(&way.supposed, &needs) else { continue };
            // what needs nothing more and is not so all the same never will be
            if supposed.needs == way.supposed.needs {
                continue;
            }
            let mut next = Way { supposed, ..way.clone() };
            let same = |step: &&mut Step| step.policies.contains(&at);
            match next.steps.iter_mut().find(same) {
                Some(step) => step.needs.extend(needs),
                None => next.steps.push(Step { aim, policies: vec![at], needs }),
            }
            self.look(next);
        }
    }

    /// With what each step does for those that stop the message now and have no step of their own.
    fn attributed(&self, mut way: Way) -> Way {
        for (at, one) in self.held.iter().enumerate().filter(|(_, one)| one.stops_now()) {
            let has = |step: &Step| step.policies.contains(&at);
            if way.excuses(at) || way.steps.iter().any(has) {
                continue;
            }
            let does = |step: &Step| {
                let alone = self.parts.supposing(&Supposed::default(), &step.needs);
                alone.is_some_and(|alone| self.truth(one, &alone) == Truth::False)
            };
            let aim = if one.written.asks() { Aim::AsksNobody } else { Aim::Avoids };
            if let Some(step) = way.steps.iter_mut().find(|step| step.aim == aim && does(step)) {
                step.policies.push(at);
            }
        }
        way.steps.iter_mut().for_each(|step| step.policies.sort_unstable());
        way
    }
}
