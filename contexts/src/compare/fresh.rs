//! Names that the newer version declares and the older one does not: content of the older version may hold members that differ from them only
//! in case, since it took any name there. Their refusal alone is no break: each message names its version, and is held against that.

use std::collections::{BTreeMap, BTreeSet};

use super::budget::Budget;
use crate::schema::Casing;

/// The casing of the newer version without the twins of names that the older one declares nowhere in that place, in no case. Where the steps
/// run out all twins stay.
pub(super) fn beside(newer: &Casing, older: &Casing, budget: &Budget) -> Casing {
    let mut kept = newer.clone();
    if let Some(known) = known(newer, older, budget) {
        kept.retain_watched(|number, folded| known.get(&number).is_some_and(|names| names.contains(folded)));
    }
    kept
}

/// By places of the newer version, the names, folded, that the older one watches for in the same values.
fn known<'c>(
    newer: &Casing,
    older: &'c Casing,
    budget: &Budget,
) -> Option<BTreeMap<usize, BTreeSet<&'c str>>> {
    let mut known: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![(0, Some(0))];
    while let Some((number, other)) = open.pop() {
        let Some(place) = newer.place(number).filter(|_| seen.insert((number, other))) else { continue };
        // nothing is declared there or further inside
        let Some(beside) = other.and_then(|other| older.place(other)) else { continue };
        let names: BTreeSet<&str> = place.names().map(|(name, _)| name).collect();
        if !budget.spend((1 + names.len() + beside.names().count()) as u64) {
            return None;
        }
        known.entry(number).or_default().extend(beside.watched().map(|(folded, _)| folded));
        open.extend(place.names().filter_map(|(name, inside)| Some((inside?, beside.inside(name)))));
        if let Some(rest) = place.rest() {
            let others = beside.names().filter(|(name, _)| !names.contains(name)).map(|(_, inside)| inside);
            open.extend(others.chain([beside.rest()]).map(|inside| (rest, inside)));
        }
        let ((own, behind), (first, others)) = (place.items(), beside.items());
        let at = |index: usize| first.get(index).copied().unwrap_or(others);
        open.extend(own.iter().enumerate().filter_map(|(index, inside)| Some(((*inside)?, at(index)))));
        if let Some(behind) = behind {
            let rest = first.iter().skip(own.len()).copied().chain([others]);
            open.extend(rest.map(|inside| (behind, inside)));
        }
    }
    Some(known)
}
