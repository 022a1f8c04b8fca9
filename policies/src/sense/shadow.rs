//! Permits that forbids cover: they permit nothing. A forbid covers what its scope holds for if it has no condition, or one that follows
//! from what the permit asks.

mod taken;
mod wider;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cedar_policy::PrincipalConstraint;
use cedar_policy::pst::Clause;
use semgate_contexts::PerformativeSet;

use super::facts::Where;
use super::implied::Given;
use super::pieces::has_literal;
use super::why::{credentials_in, given_by_entries};
use super::{World, named, scope};
use crate::PolicyFault;
use crate::check::{Texts, policy_in};
use crate::parse::Written;
use crate::reads::Attributes;
use crate::told::is_everything;

/// The part of the pairs that may be such as ask for different members: a tenth, so that a load takes as long as before.
const UNLIKE: usize = 10;

/// Forbids with conditions that are looked at together: each doubles the cases, and people split a member into a handful of ranges.
const MAX_TOGETHER: usize = 8;

/// Whom a scope names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Who {
    Everybody,
    Agent(String),
    Group(String),
}

/// Who, and which type (any, if none).
pub(super) type Key = (Who, Option<String>);

/// A forbid, and the actions that it holds for.
#[derive(Clone, Copy)]
struct Forbid<'w> {
    written: &'w Written,
    actions: PerformativeSet,
    /// Whether it stops everything.
    everything: bool,
}

/// The forbids of one key: those without a condition, and those with one.
#[derive(Default)]
struct Lot<'w> {
    plain: Vec<Forbid<'w>>,
    asking: Vec<Forbid<'w>>,
}

/// Every forbid that could cover something.
struct Forbids<'w, 'a> {
    world: &'w World<'a>,
    by_key: HashMap<Key, Lot<'w>>,
    /// Whom they name, and who that is.
    whos: BTreeMap<Who, Option<Arc<BTreeSet<u32>>>>,
    /// Pairs that are left to be looked at.
    pairs: Cell<usize>,
    /// The same of those whose forbid asks for a member that the permit does not: it covers the permit only if it is true of every message.
    unlike: Cell<usize>,
}

/// The permits that can never permit, and the forbids that others cover. Each looks at a handful of keys, however many policies there are.
pub(super) fn shadowed(texts: &Texts<'_>, world: &World<'_>) -> Vec<PolicyFault> {
    let forbids = Forbids::of(texts, world);
    if forbids.by_key.is_empty() {
        return Vec::new();
    }
    let (stop, mut stopped) = (forbids.stop(), 0);
    let permits = texts.written.iter().filter(|written| written.permits());
    let mut faults: Vec<PolicyFault> = permits
        .filter_map(|written| {
            world.steps().begin();
            let Some(by) = forbids.covering(written) else {
                stopped += 1;
                return None;
            };
            let names: Vec<String> = by.iter().map(|forbid| format!("`{}`", forbid.id)).collect();
            let plain = by.iter().all(|forbid| forbid.judged.is_empty());
            let how = if plain { " without a condition" } else { "" };
            let whenever = || {
                let given =
                    forbids.entries(written, &by).map_or_else(String::new, |given| format!(": {given}"));
                format!("whenever this permit applies, so does what forbids{given}")
            };
            Some(PolicyFault::Invalid {
                place: texts.place_at(written, 0),
                policy: written.id.to_string(),
                why: format!("it permits nothing: {} forbids all of it{how}", names.join(" with ")),
                hint: (!plain).then(whenever),
            })
        })
        .collect();
    if let Some(stop) = stop.filter(|_| stopped > 0) {
        let (place, policy) = (texts.place_at(stop, 0), stop.id.to_string());
        faults.push(PolicyFault::Stopped { place, policy, permits: stopped });
    }
    forbids.begin();
    // what permits nothing takes nothing out either
    let of = |fault: &PolicyFault| policy_in(fault).map(str::to_owned);
    let nothing: Vec<Option<String>> = faults.iter().map(of).collect();
    let untaken = taken::never_taken(texts, world, &forbids).into_iter();
    faults.extend(untaken.filter(|fault| !nothing.contains(&of(fault))));
    forbids.begin();
    faults.extend(wider::covered(texts, world, &forbids));
    faults
}

impl<'w, 'a> Forbids<'w, 'a> {
    fn of(texts: &Texts<'w>, world: &'w World<'a>) -> Self {
        let mut forbids = Self {
            world,
            by_key: HashMap::new(),
            whos: BTreeMap::new(),
            pairs: Cell::default(),
            unlike: Cell::default(),
        };
        forbids.begin();
        for written in texts.each().filter(|written| !written.permits()) {
            // `true` that is written out silences permits for a while
            if written.judged.iter().any(|clause| has_literal(condition(clause))) {
                continue;
            }
            let Some((who, resource)) = key(written) else { continue };
            // a version to come may take further actions
            let actions = scope(written, world).asked;
            forbids.whos.entry(who.clone()).or_insert_with(|| named(written, world).can_be);
            let lot = forbids.by_key.entry((who, resource)).or_default();
            let of_kind = if written.judged.is_empty() { &mut lot.plain } else { &mut lot.asking };
            of_kind.push(Forbid { written, actions, everything: is_everything(written) });
        }
        forbids
    }

    /// No pair was looked at yet. Most forbids that ask for other members than a permit do not cover it, so that fewer of them are looked at.
    fn begin(&self) {
        self.pairs.set(self.world.shadow_pairs);
        self.unlike.set(self.world.shadow_pairs / UNLIKE);
    }

    /// What entries give the senders of a permit, where forbids that cover it ask for credentials of theirs.
    fn entries(&self, permit: &Written, by: &[&Written]) -> Option<String> {
        let here = Where { sender: named(permit, self.world), ..scope(permit, self.world).here() };
        let there = Given::of(&permit.judged, here, self.world)?.there;
        let mut asked = by.iter().flat_map(|forbid| forbid.judged.iter()).map(condition);
        given_by_entries(&*asked.find_map(credentials_in)?, &there, self.world)
    }

    /// The one that stops everything.
    fn stop(&self) -> Option<&'w Written> {
        let open = self.by_key.get(&(Who::Everybody, None))?;
        open.plain.iter().find(|forbid| forbid.everything).map(|forbid| forbid.written)
    }

    /// The forbids that together cover a permit, but for those that stop everything: these are meant to leave nothing to do.
    fn covering(&self, permit: &Written) -> Option<Vec<&'w Written>> {
        let (who, resource) = key(permit)?;
        let here = Where { sender: named(permit, self.world), ..scope(permit, self.world).here() };
        let given = Given::of(&permit.judged, here, self.world)?;
        let narrowed = given.there.of_type.and_then(|at| self.world.catalogue.types.get(at));
        let of_type = resource.or_else(|| narrowed.map(|info| info.name.clone()));
        let resources = if of_type.is_some() { vec![None, of_type] } else { vec![None] };
        let keys = self.wholes(who, &given.there);
        let keys = keys.iter().flat_map(|who| resources.iter().map(move |of| (who.clone(), of.clone())));
        let found: Vec<&Lot<'w>> = keys.filter_map(|key| self.by_key.get(&key)).collect();
        let actions = given.there.actions;
        if found.is_empty() || actions.is_empty() {
            return None;
        }
        let whole = |forbid: &Forbid<'_>| actions.iter().all(|action| forbid.actions.contains(action));
        let plain = || found.iter().flat_map(|lot| &lot.plain).filter(|forbid| !forbid.everything);
        if let Some(one) = plain().find(|forbid| whole(forbid)) {
            return Some(vec![one.written]);
        }
        let (mut left, mut by) = (actions, Vec::new());
        for forbid in plain().chain(found.iter().flat_map(|lot| &lot.asking)) {
            let rest: PerformativeSet =
                left.iter().filter(|action| !forbid.actions.contains(*action)).collect();
            if rest.len() == left.len() || !self.holds(forbid, permit, &given) {
                continue;
            }
            if whole(forbid) {
                return Some(vec![forbid.written]);
            }
            by.push(forbid.written);
            left = rest;
            if left.is_empty() {
                return Some(by);
            }
        }
        let asking = found.iter().flat_map(|lot| &lot.asking);
        let asking = asking.filter(|forbid| left.iter().all(|action| forbid.actions.contains(action)));
        let asking: Vec<&Written> = asking.map(|forbid| forbid.written).collect();
        by.extend(self.together(&asking, (permit, &given), left)?);
        Some(by)
    }

    /// Whether a forbid applies wherever the permit does, for the actions of both.
    fn holds(&self, forbid: &Forbid<'_>, permit: &Written, given: &Given<'_, '_>) -> bool {
        if forbid.written.judged.is_empty() {
            return true;
        }
        let (asked, own) = (&forbid.written.reads.resource, &permit.reads.resource);
        let alike = !asked.all && asked.names.iter().all(|name| own.wants(name));
        let left = if alike { &self.pairs } else { &self.unlike };
        if left.get() == 0 {
            return false;
        }
        left.set(left.get() - 1);
        let actions: PerformativeSet =
            given.there.actions.iter().filter(|action| forbid.actions.contains(*action)).collect();
        let other = forbid.written;
        // what a permit asks of a member may be so of some versions alone
        let of_several = || given.scope.of_type.is_some_and(|at| self.world.versions(at).len() > 1);
        let asks = |name: &&str| other.reads.context.wants(name);
        let apart = || {
            let is = permit.permits() && ["major", "minor"].iter().any(asks) && of_several();
            let left = self.unlike.get();
            self.unlike.set(left.saturating_sub(usize::from(is)));
            is && left > 0
        };
        given.all_hold(&other.judged)
            || ((have_in_common(other, permit) || apart()) && given.is_covered(permit, &[other], actions))
    }

    /// Those of several forbids with conditions that only together cover a permit for these actions.
    fn together(
        &self,
        forbids: &[&'w Written],
        (permit, given): (&Written, &Given<'_, '_>),
        actions: PerformativeSet,
    ) -> Option<Vec<&'w Written>> {
        let mut lots: BTreeMap<_, Vec<&'w Written>> = BTreeMap::new();
        for forbid in forbids {
            let reads = &forbid.reads;
            // of many, those that ask for the same
            let same = (&reads.resource.names, &reads.context.names, &reads.principal.names);
            let lot = (forbids.len() > MAX_TOGETHER).then_some(same);
            lots.entry(lot).or_default().push(forbid);
        }
        let covers = |by: &[&'w Written]| given.is_covered(permit, by, actions);
        let mut lots = lots.into_values().filter(|lot| (2..=MAX_TOGETHER).contains(&lot.len()));
        let mut by = lots.find(|lot| {
            let left = self.unlike.get();
            self.unlike.set(left.saturating_sub(1));
            left > 0 && covers(lot)
        })?;
        // those without which the others do it as well say nothing
        for at in (0..by.len()).rev() {
            let others: Vec<&Written> =
                by.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, one)| *one).collect();
            if covers(&others) {
                by = others;
            }
        }
        Some(by)
    }

    /// Those whom forbids name and among whom the sender of a permit is.
    fn wholes(&self, who: Who, there: &Where) -> Vec<Who> {
        let mut wholes = vec![Who::Everybody];
        let can_be = there.sender.can_be.as_deref();
        let within = |all: &Option<Arc<BTreeSet<u32>>>| {
            can_be.zip(all.as_deref()).is_some_and(|(can_be, all)| can_be.is_subset(all))
        };
        let others =
            self.whos.iter().filter(|(name, all)| **name != Who::Everybody && (**name == who || within(all)));
        wholes.extend(others.map(|(name, _)| name.clone()));
        wholes
    }
}

/// Whether two policies ask for a member that both do, or for who or what is there: otherwise neither says anything of what the other does.
fn have_in_common(one: &Written, other: &Written) -> bool {
    let (one, other) = (&one.reads, &other.reads);
    let common =
        |a: &Attributes, b: &Attributes| a.all || b.all || a.names.iter().any(|name| b.names.contains(name));
    // what stands in the context record hangs together: a version is one of its binding
    let context = !one.context.none() && !other.context.none();
    let types = one.types.iter().any(|name| other.types.contains(name));
    context || types || common(&one.resource, &other.resource) || common(&one.principal, &other.principal)
}

fn condition(clause: &Clause) -> &Arc<cedar_policy::pst::Expr> {
    match clause {
        Clause::When(condition) | Clause::Unless(condition) => condition,
    }
}

/// `None` for a scope that names what nobody can be, which is a fault of its own.
pub(super) fn key(written: &Written) -> Option<Key> {
    use cedar_policy::ResourceConstraint::{Any, Is};
    let who = match written.policy.principal_constraint() {
        PrincipalConstraint::Any => Who::Everybody,
        PrincipalConstraint::Is(name) if name.to_string() == "Agent" => Who::Everybody,
        PrincipalConstraint::Eq(uid) | PrincipalConstraint::In(uid) | PrincipalConstraint::IsIn(_, uid) => {
            let id = uid.id().unescaped().to_owned();
            match uid.type_name().to_string().as_str() {
                "Agent" => Who::Agent(id),
                "Group" => Who::Group(id),
                _ => return None,
            }
        }
        PrincipalConstraint::Is(_) => return None,
    };
    match written.policy.resource_constraint() {
        Any => Some((who, None)),
        Is(name) => Some((who, Some(name.to_string()))),
        _ => None,
    }
}
