//! Names that the newer version declares in an open object where the older one does not. Content of the older version may
//! hold members that differ from them only in case, since it took any name there. Their refusal alone is no break: each
//! message names its version, and is judged by that version.

use std::collections::{BTreeMap, BTreeSet};

use super::budget::Budget;
use crate::schema::{Casing, Place};

/// The older version's demands on the values at a place of the newer one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Older {
    /// It declares names in this place, or further inside.
    At(usize),
    /// It declares no name, and takes any member, at every depth.
    Open,
    /// It lists the values around this place.
    Shut,
}

/// The twins of a place that stay.
enum Kept<'c> {
    All,
    /// The twins of these names, folded.
    Named(BTreeSet<&'c str>),
}

/// The casing of the newer version without the twins that are no break. Those belong to names that the older version declares
/// in no case, in places that it leaves plainly open. All twins stay once the budget is spent.
pub(super) fn without_new_names(newer: &Casing, older: &Casing, budget: &Budget) -> Casing {
    let mut casing = newer.clone();
    if let Some(kept) = kept(newer, older, budget) {
        casing.retain_watched(|number, folded| match kept.get(&number) {
            Some(Kept::All) => true,
            Some(Kept::Named(names)) => names.contains(folded),
            None => false,
        });
    }
    casing
}

/// By places of the newer version, the twins that stay; none where the budget is spent.
fn kept<'c>(newer: &Casing, older: &'c Casing, budget: &Budget) -> Option<BTreeMap<usize, Kept<'c>>> {
    let mut kept: BTreeMap<usize, Kept<'_>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let whole = older.place(0).map_or(Older::Open, |_| Older::At(0));
    let mut open = vec![(0, whole)];
    while let Some((number, other)) = open.pop() {
        let Some(place) = newer.place(number).filter(|_| seen.insert((number, other))) else { continue };
        let other = match other {
            Older::At(other) => older.place(other),
            Older::Open => continue,
            Older::Shut => None,
        };
        let names = place.names().count() + other.map_or(0, |other| other.names().count());
        if !budget.spend(1 + names as u64) {
            return None;
        }
        let Some(other) = other else {
            kept.insert(number, Kept::All);
            open.extend(place.all_inside().flatten().map(|inside| (inside, Older::Shut)));
            continue;
        };
        match kept.entry(number).or_insert_with(|| Kept::Named(BTreeSet::new())) {
            all if !other.is_open() => *all = Kept::All,
            Kept::All => {}
            Kept::Named(names) => names.extend(other.watched().map(|(folded, _)| folded)),
        }
        inside(place, other, &mut open);
    }
    Some(kept)
}

/// Adds the places inside a place of the newer version, each with the older version's demands there.
fn inside(place: &Place, other: &Place, open: &mut Vec<(usize, Older)>) {
    let older = |inside: Option<usize>| match inside {
        _ if other.is_listed() => Older::Shut,
        Some(inside) => Older::At(inside),
        None => Older::Open,
    };
    open.extend(place.names().filter_map(|(name, inside)| Some((inside?, older(other.inside(name))))));
    if let Some(rest) = place.rest() {
        let names: BTreeSet<&str> = place.names().map(|(name, _)| name).collect();
        let others = other.names().filter(|(name, _)| !names.contains(name)).map(|(_, inside)| inside);
        open.extend(others.chain([other.rest()]).map(|inside| (rest, older(inside))));
    }
    let ((own, behind), (first, others)) = (place.items(), other.items());
    let at = |index: usize| first.get(index).copied().unwrap_or(others);
    open.extend(own.iter().enumerate().filter_map(|(index, inside)| Some(((*inside)?, older(at(index))))));
    if let Some(behind) = behind {
        let rest = first.iter().skip(own.len()).copied().chain([others]);
        open.extend(rest.map(|inside| (behind, older(inside))));
    }
}
