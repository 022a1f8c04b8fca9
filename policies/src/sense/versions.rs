//! Which versions a policy can be about. A message is of one version of one type, so a condition is held against what each of them says of
//! its own: its members and what they can be, its free text, its actions. What holds of no one of them is true for no message, although a
//! member comes with one version and the version that is asked for is another.

use std::collections::BTreeSet;

use cedar_policy::pst::{Clause, Expr, Var};
use semgate_contexts::{Performative, PerformativeSet, Version};

use super::again::Part;
use super::facts::Where;
use super::members::path_of;
use super::possible::{Looking, is_version};
use super::values::Values;
use super::{World, around, walk};
use crate::parse::Written;

/// Versions of all types of an open resource that are looked at one by one.
const MAX_VERSIONS: usize = 1_024;

/// Versions that are named where it is told why.
const MAX_NAMED: usize = 3;

/// What conditions can be true of.
pub(super) enum Found {
    Nothing,
    /// These versions of a type alone, of whose line the floor lets none through.
    Below {
        of_type: usize,
        asked: Vec<Version>,
        floor: Version,
    },
    Something,
}

/// What these conditions of a policy can be true of, by what its scope leaves.
pub(super) fn of(clauses: &[Clause], (written, scope): (&Written, &Where), world: &World<'_>) -> Found {
    let holds = |here: &Where| {
        around(written, here, world).into_iter().any(|here| Looking::new(world).clauses(clauses, &here))
    };
    if let Some(of_type) = scope.of_type {
        return within(&[of_type], scope, holds, world);
    }
    if !holds(scope) {
        return Found::Nothing;
    }
    match types(clauses, scope, world) {
        Some(types) => world.steps().once_more(|| within(&types, scope, holds, world)),
        None => Found::Something,
    }
}

/// What is left by the scope in each version of its type, as it takes the actions that are asked for; of an open resource as it is.
pub(super) fn each(scope: &Where, world: &World<'_>) -> Vec<Where> {
    match scope.of_type {
        Some(of_type) => world
            .versions(of_type)
            .iter()
            .filter_map(|version| one(of_type, *version, scope, world))
            .collect(),
        None => vec![scope.clone()],
    }
}

/// One version of a type by itself; none where it takes none of the actions.
pub(super) fn one(of_type: usize, version: Version, scope: &Where, world: &World<'_>) -> Option<Where> {
    let version = Some((version.major, version.minor));
    let here = Where { of_type: Some(of_type), version, apart: true, ..scope.clone() };
    let actions = world.takes(world.catalogue.types.get(of_type)?, &here).and(here.actions);
    // that nothing takes them is told of the scope
    (!actions.is_empty() || scope.actions.is_empty()).then_some(Where { actions, ..here })
}

/// The types of an open resource that conditions leave, where they name a type or lines and there are not too many versions.
fn types(clauses: &[Clause], scope: &Where, world: &World<'_>) -> Option<Vec<usize>> {
    let mut looking = Looking::new(world);
    let there = clauses.iter().try_fold(scope.clone(), |here, clause| looking.behind(clause, &here))?;
    let named = matches!(there.fact(&Var::Context, &["line"]), Some(Values::Texts(_)));
    if there.of_type.is_none() && !named {
        return None;
    }
    let types: Vec<usize> = world.types_here(&there).map(|(at, _)| at).collect();
    let versions: usize = types.iter().map(|at| world.versions(*at).len()).sum();
    (1..=MAX_VERSIONS).contains(&versions).then_some(types)
}

/// The same of these types, version by version from the last one on.
fn within(types: &[usize], scope: &Where, holds: impl Fn(&Where) -> bool, world: &World<'_>) -> Found {
    let mut below = Found::Nothing;
    for of_type in types.iter().copied() {
        let floor = world.floor(of_type);
        let mut asked = Vec::new();
        for version in world.versions(of_type).iter().rev().copied() {
            if one(of_type, version, scope, world).is_some_and(|here| holds(&here)) {
                if floor.is_none_or(|floor| version >= floor) {
                    return Found::Something;
                }
                asked.push(version);
            }
        }
        if let (Some(floor), Found::Nothing, false) = (floor, &below, asked.is_empty()) {
            asked.reverse();
            below = Found::Below { of_type, asked, floor };
        }
    }
    below
}

/// A version of a type.
type Own = (usize, Version);

/// In which versions alone each of some parts can be so, and the actions of the scope are taken, where that is why they are never so together.
pub(super) fn told(parts: &[Part<'_>], here: &Where, world: &World<'_>) -> Option<String> {
    let types = types_of(parts, here, world)?;
    let of_type = |at: usize| world.versions(at).iter().map(move |version| (at, *version));
    let all: BTreeSet<Own> = types.iter().copied().flat_map(of_type).collect();
    let every: PerformativeSet = Performative::ALL.into_iter().collect();
    let of = |clauses: &[Clause], actions: PerformativeSet| -> BTreeSet<Own> {
        let here = Where { actions, ..here.clone() };
        let holds = |(at, version): &&Own| {
            let own = one(*at, *version, &here, world);
            own.is_some_and(|here| Looking::new(world).clauses(clauses, &here))
        };
        all.iter().filter(holds).copied().collect()
    };
    let each: Vec<(&Part<'_>, BTreeSet<Own>)> =
        parts.iter().map(|part| (part, of(&[part.clause()], every))).collect();
    let taken = of(&[], here.actions);
    let left = |all: BTreeSet<Own>, some: &BTreeSet<Own>| all.intersection(some).copied().collect();
    let some = |own: &BTreeSet<Own>| !own.is_empty() && versions_of(own) != versions_of(&all);
    let mut known = Vec::new();
    if each.iter().map(|(_, own)| own).fold(taken.clone(), left).is_empty() {
        let others = each.iter().filter(|(part, own)| !asks_for_version(part) && some(own));
        let can =
            |(part, own): &(&Part<'_>, _)| format!("`{}` can be so in {} only", part.shown(), named(own));
        known.extend(others.map(can));
        if some(&taken) {
            let actions: Vec<String> = here.actions.iter().map(|action| format!("`{action}`")).collect();
            known.push(format!("{} is taken in {} only", actions.join(", "), named(&taken)));
        }
    }
    let asking = each.iter().filter(|(part, _)| asks_for_version(part)).map(|(_, own)| own);
    let others: Vec<Clause> = parts.iter().filter(|part| !asks_for_version(part)).map(Part::clause).collect();
    let joint = of(&others, here.actions);
    if known.is_empty() && some(&joint) && asking.fold(joint.clone(), left).is_empty() {
        known.push(format!("what the others ask for can be so in {} only", named(&joint)));
    }
    (!known.is_empty()).then(|| known.join(", "))
}

/// The types of which some parts say that the resource is one, and that have the members that are asked to be there.
fn types_of(parts: &[Part<'_>], here: &Where, world: &World<'_>) -> Option<Vec<usize>> {
    let naming = parts.iter().filter(|part| part.truth && (names_types(part.expr) || is_has(part.expr)));
    let naming: Vec<Clause> = naming.map(Part::clause).collect();
    let mut types = match here.of_type {
        Some(of_type) => vec![of_type],
        None => types(&naming, here, world)?,
    };
    types.retain(|at| Looking::new(world).clauses(&naming, &Where { of_type: Some(*at), ..here.clone() }));
    (!types.is_empty()).then_some(types)
}

const fn is_has(expr: &Expr) -> bool {
    matches!(expr, Expr::HasAttr { .. })
}

fn versions_of(all: &BTreeSet<Own>) -> BTreeSet<Version> {
    all.iter().map(|(_, version)| *version).collect()
}

fn named(all: &BTreeSet<Own>) -> String {
    let all = versions_of(all);
    let few: Vec<String> = all.iter().take(MAX_NAMED).map(|version| format!("`{version}`")).collect();
    match all.len().saturating_sub(MAX_NAMED) {
        0 => few.join(", "),
        more => format!("{}, and {more} more", few.join(", ")),
    }
}

fn asks_for_version(part: &Part<'_>) -> bool {
    let mut found = false;
    walk::each(part.expr, &mut |part| found |= is_version(part));
    found
}

/// Whether it asks which type or line it is.
fn names_types(expr: &Expr) -> bool {
    let is_line = |expr: &Expr| {
        path_of(expr).is_some_and(|(var, path)| var == Var::Context && path.iter().eq(["line"]))
    };
    match expr {
        Expr::Is { .. } => true,
        Expr::BinaryOp { left, right, .. } => is_line(left) || is_line(right),
        Expr::Like { expr, .. } => is_line(expr),
        _ => false,
    }
}
