//! Names that the newer version declares in an open object where the older one does not. Content of the older version may
//! hold members that differ from them only in case, since it took any name there. Their refusal alone is no break: each
//! message names its version, and is judged by that version.

use std::collections::{BTreeMap, BTreeSet};

use super::budget::Budget;
use crate::schema::{Casing, CasingNode};

/// The older version's demands on the values at a place of the newer one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OlderNode {
    /// It declares names in this place, or further inside.
    At(usize),
    /// It declares no name, and takes any member, at every depth.
    Open,
    /// It lists the values around this place.
    Shut,
}

/// The twins of a place that stay.
enum Retained<'c> {
    All,
    /// The twins of these names, folded.
    Named(BTreeSet<&'c str>),
}

/// The casing of the newer version without the twins that are no break. Those belong to names that the older version declares
/// in no case, in places that it leaves plainly open. All twins stay once the budget is spent.
pub(super) fn without_new_names(newer: &Casing, older: &Casing, budget: &Budget) -> Casing {
    let mut casing = newer.clone();
    if let Some(retained) = retained_names(newer, older, budget) {
        casing.retain_watched(|number, folded| match retained.get(&number) {
            Some(Retained::All) => true,
            Some(Retained::Named(names)) => names.contains(folded),
            None => false,
        });
    }
    casing
}

/// By places of the newer version, the twins that stay; none where the budget is spent.
fn retained_names<'c>(
    newer: &Casing,
    older: &'c Casing,
    budget: &Budget,
) -> Option<BTreeMap<usize, Retained<'c>>> {
    let mut retained: BTreeMap<usize, Retained<'_>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let root = older.node(0).map_or(OlderNode::Open, |_| OlderNode::At(0));
    let mut open = vec![(0, root)];
    while let Some((number, other)) = open.pop() {
        let Some(node) = newer.node(number).filter(|_| seen.insert((number, other))) else { continue };
        let other = match other {
            OlderNode::At(other) => older.node(other),
            OlderNode::Open => continue,
            OlderNode::Shut => None,
        };
        let names = node.names().count() + other.map_or(0, |other| other.names().count());
        if !budget.spend(1 + names as u64) {
            return None;
        }
        let Some(other) = other else {
            retained.insert(number, Retained::All);
            open.extend(node.children().flatten().map(|inside| (inside, OlderNode::Shut)));
            continue;
        };
        match retained.entry(number).or_insert_with(|| Retained::Named(BTreeSet::new())) {
            all if !other.is_open() => *all = Retained::All,
            Retained::All => {}
            Retained::Named(names) => names.extend(other.watched().map(|(folded, _)| folded)),
        }
        queue_children(node, other, &mut open);
    }
    Some(retained)
}

/// Adds the places inside a place of the newer version, each with the older version's demands there.
fn queue_children(node: &CasingNode, other: &CasingNode, open: &mut Vec<(usize, OlderNode)>) {
    let older = |inside: Option<usize>| match inside {
        _ if other.is_listed() => OlderNode::Shut,
        Some(inside) => OlderNode::At(inside),
        None => OlderNode::Open,
    };
    open.extend(node.names().filter_map(|(name, inside)| Some((inside?, older(other.inside(name))))));
    if let Some(rest) = node.rest() {
        let names: BTreeSet<&str> = node.names().map(|(name, _)| name).collect();
        let others = other.names().filter(|(name, _)| !names.contains(name)).map(|(_, inside)| inside);
        open.extend(others.chain([other.rest()]).map(|inside| (rest, older(inside))));
    }
    let ((own, tail), (first, others)) = (node.items(), other.items());
    let at = |index: usize| first.get(index).copied().unwrap_or(others);
    open.extend(own.iter().enumerate().filter_map(|(index, inside)| Some(((*inside)?, older(at(index))))));
    if let Some(tail) = tail {
        let rest = first.iter().skip(own.len()).copied().chain([others]);
        open.extend(rest.map(|inside| (tail, older(inside))));
    }
}
