//! Assigns the demands on some items to their indices, and keeps the bounds on the number of items of a kind.

use std::collections::HashSet;
use std::ops::Range;

use super::super::super::formula::Id;
use super::super::{Alternatives, COPIED_A_STEP, MOST_NESTED, NoValue, Solution, Solver, unclear};
use super::{ArrayConstraints, Items, copies};

/// Bounds of different kinds among which items are dealt out; each choice examines every item.
const SHARED: usize = 3;

/// An item that must be there, from an index on.
struct Wish {
    from: usize,
    is: Id,
    /// The group of items that must differ in their indices.
    group: Option<usize>,
}

impl Wish {
    /// The indices that it may have among so many, with the wishes after it and those that have an index.
    fn indices(&self, rest: &[Wish], used: &[(usize, usize)], length: usize) -> Range<usize> {
        // members of one group are alike, so their indices rise
        let of_group = used.iter().filter(|(known, _)| Some(*known) == self.group);
        let first = of_group.map(|(_, at)| at + 1).max().unwrap_or(0).max(self.from);
        // the rest of the group needs room behind it
        let following = rest.iter().filter(|other| self.group.is_some() && other.group == self.group).count();
        first..length.saturating_sub(following)
    }
}

/// The items with other demands at one index.
fn replaced(items: &Items, at: usize, item: &[Id]) -> Items {
    let mut items = items.clone();
    if let Some(slot) = items.get_mut(at) {
        *slot = item.to_vec();
    }
    items
}

impl Solver<'_> {
    /// Chooses the indices of items that must be there.
    pub(super) fn assign_groups(&mut self, constraints: &ArrayConstraints, items: Items) -> Solution {
        let index = |from: u64| usize::try_from(from).unwrap_or(usize::MAX);
        let some =
            constraints.some.iter().map(|(from, is)| Wish { from: index(*from), is: *is, group: None });
        let mut wishes: Vec<Wish> = some.collect();
        for (group, (count, is)) in constraints.groups.iter().enumerate() {
            wishes.extend((0..*count).map(|_| Wish { from: 0, is: *is, group: Some(group) }));
        }
        self.assign_items(constraints, &wishes, items, &[])
    }

    fn assign_items(
        &mut self,
        constraints: &ArrayConstraints,
        wishes: &[Wish],
        items: Items,
        used: &[(usize, usize)],
    ) -> Solution {
        self.charge(2 + copies(&items))?;
        let Some((wish, rest)) = wishes.split_first() else { return self.repeat(constraints, items) };
        let mut ways = Alternatives::default();
        let mut seen: HashSet<(Vec<Id>, usize)> = HashSet::new();
        let furthest = wishes.iter().map(|wish| wish.from).max().unwrap_or(0);
        for at in wish.indices(rest, used, items.len()) {
            let Some(here) = items.get(at) else { break };
            self.charge(1 + here.len() as u64 / COPIED_A_STEP)?;
            let mut here = here.clone();
            here.sort_unstable();
            here.dedup();
            // alike places are one choice, unless a group needs the room behind them. A place that a wish demands anyway
            // differs from one that it makes so: the wish binds nothing there
            let choice = (here.clone(), at.min(furthest));
            here.push(wish.is);
            here.sort_unstable();
            here.dedup();
            if !seen.insert(choice) && wish.group.is_none() {
                continue;
            }
            if !ways.admit(self.find(&here)) {
                continue;
            }
            self.charge(copies(&items) + used.len() as u64 / COPIED_A_STEP)?;
            let items = replaced(&items, at, &here);
            let used: Vec<(usize, usize)> =
                used.iter().copied().chain(wish.group.map(|group| (group, at))).collect();
            if let Some(value) = ways.take(self.assign_items(constraints, rest, items, &used)) {
                return Ok(value);
            }
        }
        ways.end()
    }

    /// Two equal items, if the branch demands them.
    fn repeat(&mut self, constraints: &ArrayConstraints, items: Items) -> Solution {
        if !constraints.repeats {
            return self.limit(constraints, items, None);
        }
        let mut ways = Alternatives::default();
        for second in 0..items.len() {
            for first in 0..second {
                let (Some(left), Some(right)) = (items.get(first), items.get(second)) else { continue };
                self.charge(1)?;
                let both: Vec<Id> = left.iter().chain(right).copied().collect();
                if !ways.admit(self.find(&both)) {
                    continue;
                }
                self.charge(copies(&items))?;
                let items = replaced(&replaced(&items, first, &both), second, &both);
                if let Some(value) = ways.take(self.limit(constraints, items, Some((first, second)))) {
                    return Ok(value);
                }
            }
        }
        ways.end()
    }

    /// Keeps the number of items of a kind within its bound, with as few items of that kind as possible.
    fn limit(
        &mut self,
        constraints: &ArrayConstraints,
        mut items: Items,
        equal: Option<(usize, usize)>,
    ) -> Solution {
        let mut exact = constraints.at_most.len() <= 1 && equal.is_none();
        let asked_for = items.clone();
        for (most, _, is_not) in &constraints.at_most {
            let (mut count, mut forced) = (0, 0);
            self.charge(4 * items.len() as u64)?;
            for (item, asked_for) in items.iter_mut().zip(&asked_for) {
                // of this kind under any form of the other bounds
                let alone: Vec<Id> = asked_for.iter().copied().chain([*is_not]).collect();
                forced += u64::from(matches!(self.find(&alone), Err(NoValue::Nothing)));
                let other: Vec<Id> = item.iter().copied().chain([*is_not]).collect();
                match self.find(&other) {
                    Ok(_) | Err(NoValue::Described(_)) => *item = other,
                    Err(NoValue::Nothing) => count += 1,
                    Err(NoValue::Unclear(_)) => {
                        count += 1;
                        exact = false;
                    }
                }
            }
            if count > *most {
                if exact || forced > *most {
                    return Err(NoValue::Nothing);
                }
                if equal.is_some() || constraints.at_most.len() > SHARED {
                    return unclear("`contains` together with other rules");
                }
                let left: Vec<u64> = constraints.at_most.iter().map(|(most, ..)| *most).collect();
                return self.share(constraints, asked_for, 0, left, &mut HashSet::new());
            }
        }
        self.write(constraints, &items, equal)
    }

    /// Deals the items out among several bounds, from an index on. Each item is of some of the kinds, as often as `left`
    /// allows, and of none of the others. Every possible array deals them so too, so that no result means no array. `dead`
    /// holds the positions that led nowhere. The rest of an array does not depend on the items before, except where all items
    /// differ. For those, `write` never answers "none" if anything is bounded.
    fn share(
        &mut self,
        constraints: &ArrayConstraints,
        items: Items,
        at: usize,
        left: Vec<u64>,
        dead: &mut HashSet<(usize, Vec<u64>)>,
    ) -> Solution {
        let Some(here) = items.get(at).cloned() else { return self.write(constraints, &items, None) };
        if dead.contains(&(at, left.clone())) {
            return Err(NoValue::Nothing);
        }
        if self.nested >= MOST_NESTED {
            return unclear("choices nested too deeply");
        }
        let mut ways = Alternatives::default();
        for kinds in 0..1_u32 << constraints.at_most.len() {
            self.charge(2 + copies(&items))?;
            let may = |number: usize| (kinds >> number) & 1 == 1;
            if left.iter().enumerate().any(|(number, left)| may(number) && *left == 0) {
                continue;
            }
            let others = constraints.at_most.iter().enumerate().filter(|(number, _)| !may(*number));
            let item: Vec<Id> = here.iter().copied().chain(others.map(|(_, (.., is_not))| *is_not)).collect();
            if !ways.admit(self.find(&item)) {
                continue;
            }
            let left = left.iter().enumerate().map(|(number, left)| left - u64::from(may(number))).collect();
            self.nested += 1;
            let solution = self.share(constraints, replaced(&items, at, &item), at + 1, left, dead);
            self.nested -= 1;
            if let Some(value) = ways.take(solution) {
                return Ok(value);
            }
        }
        // an unclear answer here is reported once, and counts for the whole
        dead.insert((at, left));
        ways.end()
    }
}
