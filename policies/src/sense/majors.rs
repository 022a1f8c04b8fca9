//! Forbids that name majors of a concept one by one, beside a permit that names none: what no forbid names passes by it. So a forbid is
//! accepted, holds for what it names, and does nothing about the version that came last, or comes next.
//!
//! Nothing of it is a fault, since it may be meant (an old major that is to end): it is told once for each concept. Only what the world
//! shows to be permitted is told, and what passes the bounds of judging is not.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cedar_policy::ResourceConstraint;
use cedar_policy::pst::Var;
use semgate_contexts::{Line, PerformativeSet};

use super::facts::{End, Where};
use super::possible::Looking;
use super::shadow::{Who, key};
use super::values::Values;
use super::{World, around, named, scope};
use crate::PolicyFault;
use crate::catalogue::TypeInfo;
use crate::check::Texts;
use crate::learnt;
use crate::names::namespace;
use crate::parse::Written;
use crate::reads::Attributes;

/// Lines of which one forbid is looked at for each.
const MAX_LINES: usize = 16;

/// A policy, and whom and which actions its scope names.
#[derive(Clone)]
struct Scoped<'w> {
    written: &'w Written,
    who: Who,
    can_be: Option<Arc<BTreeSet<u32>>>,
    actions: PerformativeSet,
}

/// A concept of a line, or the whole of it, with the type of each major.
#[derive(Default)]
struct Concept {
    types: BTreeMap<u32, usize>,
    /// Whether each major is a type of its own.
    split: bool,
    /// Whether it is a whole line, so that the types stand for all of their majors, and nothing is said of their members.
    whole: bool,
}

/// A policy that is about some majors of a concept.
struct OfMajors<'w> {
    scoped: Scoped<'w>,
    majors: BTreeSet<u32>,
}

/// The policies about one concept by its name.
#[derive(Default)]
struct Lot<'w> {
    /// Forbids of some majors.
    some: Vec<OfMajors<'w>>,
    /// Forbids of every major, those to come too.
    every: Vec<Scoped<'w>>,
    /// Permits of some majors.
    permits: Vec<OfMajors<'w>>,
}

/// Line and name of a concept, which a whole line has none of.
type Name = (String, String);

/// A major that is looked at.
struct Major<'c> {
    /// Its type; a place behind the last one where it has none yet, so that nothing is known of its members.
    of_type: usize,
    version: (u32, u32),
    line: &'c str,
    /// What its type takes, where it is there.
    takes: Option<PerformativeSet>,
}

/// What is looked at.
struct Look<'t, 'w, 'a> {
    texts: &'t Texts<'w>,
    world: &'t World<'a>,
    /// Permits and forbids whose resource is open.
    permits: Vec<Scoped<'w>>,
    forbids: Vec<Scoped<'w>>,
    /// Pairs that are left to be looked at.
    pairs: Cell<usize>,
}

impl Texts<'_> {
    /// Concepts of which forbids name majors and a permit that names none lets another one pass, now or once it is published.
    pub fn past_by_version(&self, world: &World<'_>) -> Vec<PolicyFault> {
        let open =
            |written: &&Written| matches!(written.policy.resource_constraint(), ResourceConstraint::Any);
        let all = self.each().filter(open).filter_map(|written| Scoped::of(written, world));
        let (permits, forbids): (Vec<_>, Vec<_>) = all.partition(|scoped| scoped.written.permits());
        let asks = |written: &Written, name| written.reads.context.wants(name);
        let of_lines = || {
            forbids.iter().filter(|forbid| ["line", "major"].iter().all(|name| asks(forbid.written, name)))
        };
        let about = |written| Some((written, named_as(info(written, world)?)?));
        let apart = |(written, (major, _)): &(&Written, (Option<u32>, Name))| {
            !written.permits() && (major.is_some() || asks(written, "major"))
        };
        let some = self.each().filter_map(about).any(|about| apart(&about));
        if permits.is_empty() || (!some && of_lines().next().is_none()) {
            return Vec::new();
        }
        let (concepts, mut lots) = (concepts(world), BTreeMap::<Name, Lot<'_>>::new());
        for (written, (major, name)) in self.each().filter_map(about) {
            if let (Some(concept), Some(scoped)) = (concepts.get(&name), Scoped::of(written, world)) {
                let major = (major, name.0.as_str());
                lots.entry(name.clone()).or_default().enter(scoped, major, (concept, world));
            }
        }
        for forbid in of_lines() {
            for line in forbid.lines(world) {
                let name = (line, String::new());
                let Some(concept) = concepts.get(&name) else { continue };
                let lot = lots.entry(name.clone()).or_default();
                lot.enter(forbid.clone(), (None, &name.0), (concept, world));
            }
        }
        let look = Look { texts: self, world, permits, forbids, pairs: Cell::new(world.shadow_pairs) };
        let of = |(name, lot): (&Name, &Lot<'_>)| look.concept(name, concepts.get(name)?, lot);
        lots.iter().filter_map(of).collect()
    }
}

/// The type that a scope names.
fn info<'a>(written: &Written, world: &World<'a>) -> Option<&'a TypeInfo> {
    let ResourceConstraint::Is(name) = written.policy.resource_constraint() else { return None };
    world.catalogue.types.get(world.of_name(&name.to_string())?)
}

/// What a type is called, its major apart: that of each major where they disagree.
fn named_as(info: &TypeInfo) -> Option<(Option<u32>, Name)> {
    if learnt::is_learnt(info) {
        return None;
    }
    let own = info.name.strip_prefix(&namespace(&info.line))?.strip_prefix("::")?;
    let (major, name) = match own.split_once("::") {
        Some((major, name)) => (Some(major.strip_prefix('v')?.parse().ok()?), name),
        None => (None, own),
    };
    Some((major, (info.line.as_str().to_owned(), name.to_owned())))
}

/// Every concept and every line, with its majors.
fn concepts(world: &World<'_>) -> BTreeMap<Name, Concept> {
    let mut all: BTreeMap<Name, Concept> = BTreeMap::new();
    for (at, info) in world.catalogue.types.iter().enumerate() {
        let Some((major, name)) = named_as(info) else { continue };
        let concept = all.entry(name).or_default();
        concept.split |= major.is_some();
        let majors = || world.versions(at).iter().map(|version| (version.major, at));
        concept.types.extend(majors());
        let line = all.entry((info.line.as_str().to_owned(), String::new())).or_default();
        line.whole = true;
        line.types.extend(majors());
    }
    all
}

impl Concept {
    /// One that is there.
    fn there<'c>(&self, major: u32, line: &'c str, world: &World<'_>) -> Option<Major<'c>> {
        let of_type = *self.types.get(&major)?;
        let version = world.versions(of_type).iter().rev().find(|version| version.major == major)?;
        let version = (major, version.minor);
        if self.whole {
            return Some(Major { of_type: world.catalogue.types.len(), version, line, takes: None });
        }
        let takes = world.catalogue.types.get(of_type).map(|info| info.performatives);
        Some(Major { of_type, version, line, takes })
    }

    /// The one that comes next.
    fn next<'c>(&self, line: &'c str, world: &World<'_>) -> Major<'c> {
        let (last, at) = self.types.last_key_value().map_or((0, None), |(last, at)| (*last, Some(*at)));
        let of_type = at.filter(|_| !self.split && !self.whole).unwrap_or(world.catalogue.types.len());
        Major { of_type, version: (last.saturating_add(1), 0), line, takes: None }
    }

    /// Whether some type of it has a member of one of these names.
    fn has_any(&self, asked: &Attributes, world: &World<'_>) -> bool {
        let mut types = self.types.values().filter_map(|at| world.catalogue.types.get(*at));
        asked.all
            || (self.whole && !asked.none())
            || types.any(|info| asked.names.iter().any(|name| info.attributes.members.contains_key(name)))
    }
}

impl<'w> Lot<'w> {
    /// Enters a policy about the concept by what of it it reaches.
    fn enter(
        &mut self,
        scoped: Scoped<'w>,
        (major, line): (Option<u32>, &str),
        (concept, world): (&Concept, &World<'_>),
    ) {
        let permits = scoped.written.permits();
        match major {
            Some(major) if permits => self.permits.push(OfMajors { scoped, majors: [major].into() }),
            Some(major) => self.some.push(OfMajors { scoped, majors: [major].into() }),
            None if permits => {}
            None => {
                let asks = scoped.written.reads.context.wants("major");
                if asks && !scoped.holds(&concept.next(line, world), &scoped, world) {
                    let there = concept.types.keys().filter_map(|major| concept.there(*major, line, world));
                    let reached = there.filter(|major| scoped.holds(major, &scoped, world));
                    let majors = reached.map(|major| major.version.0).collect();
                    self.some.push(OfMajors { scoped, majors });
                } else {
                    self.every.push(scoped);
                }
            }
        }
    }
}

impl<'w> Scoped<'w> {
    fn of(written: &'w Written, world: &World<'_>) -> Option<Self> {
        let (who, _) = key(written)?;
        let can_be = named(written, world).can_be;
        Some(Self { written, who, can_be, actions: scope(written, world).asked })
    }

    /// The lines that its conditions leave; none where they are too many to be meant one by one.
    fn lines(&self, world: &World<'_>) -> Vec<String> {
        world.steps().begin();
        let (mut looking, here) = (Looking::new(world), scope(self.written, world).here());
        let mut clauses = self.written.judged.iter();
        let there = clauses.try_fold(here, |here, clause| looking.behind(clause, &here));
        match there.as_ref().and_then(|there| there.fact(&Var::Context, &["line"])) {
            Some(Values::Texts(lines)) if lines.len() <= MAX_LINES => lines.iter().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether some sender is meant by both.
    fn meets(&self, other: &Self) -> bool {
        let everybody = [&self.who, &other.who].contains(&&Who::Everybody);
        let both = || self.can_be.as_deref().zip(other.can_be.as_deref());
        everybody || self.who == other.who || both().is_some_and(|(a, b)| !a.is_disjoint(b))
    }

    /// Whether every sender whom the other means is meant.
    fn has_all_of(&self, other: &Self) -> bool {
        let both = || self.can_be.as_deref().zip(other.can_be.as_deref());
        self.who == Who::Everybody
            || self.who == other.who
            || both().is_some_and(|(all, some)| some.is_subset(all))
    }

    /// Whom and which actions both mean.
    fn and(&self, other: &Self) -> Self {
        let can_be = match (&self.can_be, &other.can_be) {
            (Some(a), Some(b)) => Some(Arc::new(a.intersection(b).copied().collect())),
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        let who = if self.who == Who::Everybody { other.who.clone() } else { self.who.clone() };
        Self { written: self.written, who, can_be, actions: self.actions.and(other.actions) }
    }

    /// Whether its conditions can hold for a major, among those whom another scope means; not where it was not looked at to the end.
    fn holds(&self, major: &Major<'_>, among: &Self, world: &World<'_>) -> bool {
        world.steps().begin();
        let line = Values::Texts(Arc::new([major.line.to_owned()].into()));
        let named = matches!(among.who, Who::Agent(_));
        let here = Where {
            of_type: Some(major.of_type),
            actions: among.actions,
            version: Some(major.version),
            sender: End { can_be: among.can_be.clone(), named },
            ..scope(self.written, world).here()
        };
        let here = here.saying((Var::Context, vec!["line".to_owned()]), line);
        let mut all = around(self.written, &here, world).into_iter();
        let can = all.any(|here| Looking::new(world).clauses(&self.written.judged, &here));
        can && !world.steps().are_spent()
    }
}

impl<'w> Look<'_, 'w, '_> {
    /// Takes one of the pairs that are left; false once there are none.
    fn spend(&self) -> bool {
        let left = self.pairs.get();
        self.pairs.set(left.saturating_sub(1));
        left > 0
    }

    fn concept(&self, name: &Name, concept: &Concept, lot: &Lot<'w>) -> Option<PolicyFault> {
        let mut by_who: HashMap<&Who, Vec<&OfMajors<'w>>> = HashMap::new();
        for forbid in &lot.some {
            by_who.entry(&forbid.scoped.who).or_default().push(forbid);
        }
        let of_all = by_who.get(&Who::Everybody).cloned().unwrap_or_default();
        for first in &lot.some {
            let Some(mut own) = by_who.remove(&first.scoped.who) else { continue };
            if first.scoped.who != Who::Everybody {
                own.extend(&of_all);
            }
            if let Some(told) = self.of_whom(&own, (name, concept), lot) {
                return Some(told);
            }
        }
        None
    }

    /// What is told of those whom these forbids name.
    fn of_whom(
        &self,
        forbids: &[&OfMajors<'w>],
        (name, concept): (&Name, &Concept),
        lot: &Lot<'w>,
    ) -> Option<PolicyFault> {
        let first = *forbids.first()?;
        let covered: BTreeSet<u32> = forbids.iter().flat_map(|forbid| &forbid.majors).copied().collect();
        let live = || concept.types.iter().filter(|(major, at)| self.is_live(**major, **at));
        if live().all(|(major, _)| covered.contains(major)) {
            let last = forbids.iter().max_by_key(|forbid| forbid.majors.last().copied())?;
            let next = concept.next(&name.0, self.world);
            let by = self.passes(&next, &last.scoped, (concept, lot))?;
            return Some(self.coming(&last.scoped, (name, concept, next.version.0), by));
        }
        // a condition that asks for the major means the one that it asks for
        if !concept.split {
            return None;
        }
        let mut named = covered;
        for other in lot.some.iter().chain(&lot.permits) {
            if !self.spend() {
                return None;
            }
            if other.scoped.meets(&first.scoped) {
                named.extend(&other.majors);
            }
        }
        let left = live().map(|(major, _)| *major).filter(|major| !named.contains(major));
        let there = left.filter_map(|major| concept.there(major, &name.0, self.world));
        let mut passing = there
            .filter_map(|major| Some((major.of_type, self.passes(&major, &first.scoped, (concept, lot))?)));
        let (at, by) = passing.next()?;
        let type_name = &self.world.catalogue.types.get(at)?.name;
        let by = self.shown(by);
        Some(self.told(&first.scoped, format!("it does not reach `{type_name}`, which {by} permits")))
    }

    fn is_live(&self, major: u32, at: usize) -> bool {
        let floor = self.world.floor(at);
        let mut versions = self.world.versions(at).iter().filter(|version| version.major == major);
        versions.any(|version| floor.is_none_or(|floor| *version >= floor))
    }

    /// The permit that lets a major pass for those whom a forbid of others names.
    fn passes(
        &self,
        major: &Major<'_>,
        forbid: &Scoped<'w>,
        (concept, lot): (&Concept, &Lot<'w>),
    ) -> Option<&'w Written> {
        let is_own = |name: &String| {
            let at = self.world.of_name(name);
            let of_line = |at: usize| self.world.catalogue.types.get(at).map(|info| info.line.as_str());
            at.is_some_and(|at| match concept.whole {
                true => of_line(at) == Some(major.line),
                false => concept.types.values().any(|own| *own == at),
            })
        };
        for permit in &self.permits {
            if !self.spend() {
                return None;
            }
            // one that asks for the major, or for a type of the concept, says itself which it means; and nothing passes by one that has to be
            // approved
            let reads = &permit.written.reads;
            let says = reads.context.wants("major") || reads.types.iter().any(is_own);
            let waits = permit.written.obligation.as_ref().is_some_and(|asks| asks.approve.is_some());
            if says || waits || !permit.meets(forbid) {
                continue;
            }
            let mut both = forbid.and(permit);
            both.actions = major.takes.map_or(both.actions, |takes| both.actions.and(takes));
            let some = !both.actions.is_empty() && both.can_be.as_ref().is_none_or(|all| !all.is_empty());
            if some
                && permit.holds(major, &both, self.world)
                && !self.is_stopped(major, &both, (concept, lot))
            {
                return Some(permit.written);
            }
        }
        None
    }

    /// Whether a forbid that names no major was meant for it: one without a condition, or one that asks for the line, the version, a type, or
    /// a member that the concept has.
    fn is_stopped(&self, major: &Major<'_>, both: &Scoped<'w>, (concept, lot): (&Concept, &Lot<'w>)) -> bool {
        let meant = |forbid: &Scoped<'_>| {
            let reads = &forbid.written.reads;
            forbid.written.judged.is_empty()
                || ["line", "major"].iter().any(|name| reads.context.wants(name))
                || concept.has_any(&reads.resource, self.world)
                || reads.types.iter().any(|name| self.world.of_name(name).is_some())
        };
        self.forbids.iter().chain(&lot.every).any(|forbid| {
            let whole = both.actions.iter().all(|action| forbid.actions.contains(action));
            // what is not looked at any more may stop it
            !self.spend()
                || (whole
                    && forbid.has_all_of(both)
                    && meant(forbid)
                    && forbid.holds(major, both, self.world))
        })
    }

    /// The next major will pass.
    fn coming(
        &self,
        forbid: &Scoped<'w>,
        (name, concept, next): (&Name, &Concept, u32),
        by: &Written,
    ) -> PolicyFault {
        let (line, own) = name;
        let next = match Line::parse(line).map(|line| namespace(&line)) {
            Ok(space) if concept.split => format!("`{space}::v{next}::{own}`"),
            Ok(space) => format!("`{space}::{own}` of v{next}"),
            Err(_) => format!("v{next}"),
        };
        let by = self.shown(by);
        let (of, next) = match own.as_str() {
            "" => (String::new(), "the next one".to_owned()),
            own => (format!("`{own}` of "), next),
        };
        let why = format!(
            "each major of {of}the line `{line}` is forbidden by itself, and {next} will pass by {by} once it is published"
        );
        self.told(forbid, why)
    }

    fn shown(&self, by: &Written) -> String {
        format!("`{}` ({})", by.id, self.texts.place_at(by, 0))
    }

    fn told(&self, forbid: &Scoped<'w>, why: String) -> PolicyFault {
        let place = self.texts.place_at(forbid.written, 0);
        PolicyFault::OtherMajor { place, policy: forbid.written.id.to_string(), why }
    }
}
