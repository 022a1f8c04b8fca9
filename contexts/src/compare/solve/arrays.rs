//! Arrays: the number of items, and the demands on each.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;

use super::super::formula::{Atom, Formula, Id, Scalar};
use super::{Alternatives, COPIED_A_STEP, MOST_NESTED, Solution, Solver};

/// The demands of one branch on an array.
#[derive(Default)]
struct ArrayConstraints {
    least: u64,
    most: Option<u64>,
    /// Demands on the item at one index.
    at: Vec<(u64, Id)>,
    /// Demands on all items from an index on.
    from: Vec<(u64, Id)>,
    /// Items that must be there, from an index on; a group demands so many different ones.
    some: Vec<(u64, Id)>,
    groups: Vec<(u64, Id)>,
    at_most: Vec<(u64, Id, Id)>,
    unique: bool,
    repeats: bool,
    /// The first index from which all indices are alike: in the items that must be there, and in the wishes they may fulfil.
    /// One further index for each wish is enough for every possible array: the other items behind can be left out.
    alike: u64,
}

impl ArrayConstraints {
    fn of(atoms: &[&Atom]) -> Self {
        let mut constraints = ArrayConstraints::default();
        for atom in atoms {
            match atom {
                Atom::MinItems(least) => constraints.least = constraints.least.max(*least),
                Atom::MaxItems(most) => {
                    constraints.most = Some(constraints.most.map_or(*most, |known| known.min(*most)))
                }
                Atom::Item(at, is) => constraints.at.push((*at, *is)),
                Atom::HasItem(at, is) => {
                    constraints.at.push((*at, *is));
                    constraints.least = constraints.least.max(at + 1);
                }
                Atom::Items(from, is) => constraints.from.push((*from, *is)),
                Atom::SomeItem(from, is) => constraints.some.push((*from, *is)),
                Atom::AtLeast(count, is) => constraints.groups.push((*count, *is)),
                Atom::AtMost(count, is, is_not) => constraints.at_most.push((*count, *is, *is_not)),
                Atom::Unique(true) => constraints.unique = true,
                Atom::Unique(false) => constraints.repeats = true,
                _ => {}
            }
        }
        let at = constraints.at.iter().map(|(at, _)| at.saturating_add(1));
        let from = constraints.from.iter().chain(&constraints.some).map(|(from, _)| *from);
        constraints.groups =
            strictest(&constraints.groups, |group| group.1, |known, group| known.0 = known.0.max(group.0));
        constraints.at_most =
            strictest(&constraints.at_most, |bound| bound.1, |known, bound| known.0 = known.0.min(bound.0));
        constraints.alike = at.chain(from).max().unwrap_or(0);
        constraints
    }

    /// The demands that hold of the item at an index in any case.
    fn item(&self, at: u64) -> Vec<Id> {
        let here = self.at.iter().filter(|(place, _)| *place == at);
        here.chain(self.from.iter().filter(|(from, _)| *from <= at)).map(|(_, is)| *is).collect()
    }
}

/// Items that are copied within one step.
const ITEMS_A_STEP: u64 = 2;

/// Items that are compared with another within one step.
const COMPARED_A_STEP: u64 = 32;

/// Steps that a copy of the items takes.
fn copies(items: &[Vec<Id>]) -> u64 {
    let total = items.iter().map(|item| item.len() as u64).sum::<u64>();
    items.len() as u64 / ITEMS_A_STEP + total / (4 * ITEMS_A_STEP)
}

/// Bounds of different kinds among which items are dealt out; each choice examines every item.
const SHARED: usize = 3;

/// The most different items for which the existing values are counted: the work grows with their square.
const COUNTED_OUT: usize = 256;

/// The answer for items that are not written: no search can tell if they differ.
fn large_and_different(solution: Solution) -> Solution {
    match solution {
        Solution::Described(_) => Solution::Unclear("`uniqueItems` of large items".into()),
        other => other,
    }
}

/// The strictest of several demands on one kind of item.
fn strictest<T: Clone>(constraints: &[T], kind: impl Fn(&T) -> Id, tighten: impl Fn(&mut T, &T)) -> Vec<T> {
    let mut tightest: Vec<T> = Vec::new();
    for one in constraints {
        match tightest.iter_mut().find(|known| kind(known) == kind(one)) {
            Some(known) => tighten(known, one),
            None => tightest.push(one.clone()),
        }
    }
    tightest
}

impl Solver<'_> {
    pub(super) fn array(&mut self, atoms: &[&Atom]) -> Solution {
        // bounds of one kind are compared with one another
        let counted =
            atoms.iter().filter(|atom| matches!(atom, Atom::AtLeast(..) | Atom::AtMost(..))).count();
        let counted = (counted * counted) as u64;
        if let Err(spent) = self.charge((atoms.len() as u64).saturating_add(counted) / COPIED_A_STEP) {
            return spent;
        }
        let constraints = ArrayConstraints::of(atoms);
        let grouped = constraints.groups.iter().map(|(count, _)| *count).fold(0, u64::saturating_add);
        let wishes = constraints.some.len() as u64 + grouped + if constraints.repeats { 2 } else { 0 };
        // each of a group has a place of its own
        let widest = constraints.groups.iter().map(|(count, _)| *count).max().unwrap_or(0);
        let shortest = constraints.least.max(widest);
        let longest = shortest.max(constraints.alike.saturating_add(wishes));
        if shortest > constraints.most.unwrap_or(u64::MAX) || self.too_many(&constraints) {
            return Solution::Nothing;
        }
        if longest > self.limits.max_size || grouped > self.limits.max_counted {
            return self.long_array(&constraints, wishes);
        }
        let mut ways = Alternatives::default();
        let mut lengths: Vec<u64> = (shortest..=longest).collect();
        if constraints.some.is_empty() && constraints.groups.is_empty() && !constraints.repeats {
            lengths.truncate(1);
        }
        for length in lengths {
            if constraints.most.is_some_and(|most| length > most) {
                break;
            }
            let looked = (constraints.at.len() + constraints.from.len()) as u64 / COPIED_A_STEP;
            if let Err(spent) = self.charge(1 + length.saturating_mul(1 + looked)) {
                return spent;
            }
            let items: Vec<Vec<Id>> = (0..length).map(|at| constraints.item(at)).collect();
            let solution = self.assign_groups(&constraints, items);
            if let Some(solution) = ways.take(solution) {
                return solution;
            }
        }
        ways.end()
    }

    /// An array of more items than a witness may have, where all are alike from some place on: it is described.
    fn long_array(&mut self, constraints: &ArrayConstraints, wishes: u64) -> Solution {
        let unclear = || Solution::Unclear("more items than a witness may have".into());
        let counted = constraints.unique
            || constraints.repeats
            || !constraints.groups.is_empty()
            || !constraints.at_most.is_empty();
        let short = constraints.alike.saturating_add(wishes);
        if counted || short > self.limits.max_size || short >= constraints.least {
            return unclear();
        }
        let tail = self.find(&constraints.item(constraints.alike));
        if !tail.is_there() {
            return tail;
        }
        let items: Vec<Vec<Id>> = (0..short).map(|at| constraints.item(at)).collect();
        match self.assign_groups(constraints, items) {
            found if found.is_there() => {
                Solution::described_of(constraints.least, |least| format!("an array of {least} items"))
            }
            other => other,
        }
    }

    /// Returns true if more items must be of a kind than may be. A group counts whole where none of it can be anything else.
    fn too_many(&mut self, constraints: &ArrayConstraints) -> bool {
        let everywhere = constraints.from.iter().filter(|(from, _)| *from == 0).map(|(_, is)| *is);
        let everywhere: Vec<Id> = everywhere.collect();
        constraints.groups.iter().any(|(count, is)| {
            constraints.at_most.iter().filter(|(most, ..)| count > most).any(|(_, holds, is_not)| {
                let other: Vec<Id> = everywhere.iter().copied().chain([*is, *is_not]).collect();
                is == holds || matches!(self.find(&other), Solution::Nothing)
            })
        })
    }

    /// Chooses the places of items that must be there.
    fn assign_groups(&mut self, constraints: &ArrayConstraints, items: Vec<Vec<Id>>) -> Solution {
        let mut wishes: Vec<(u64, Id, Option<usize>)> =
            constraints.some.iter().map(|(from, is)| (*from, *is, None)).collect();
        for (group, (count, is)) in constraints.groups.iter().enumerate() {
            wishes.extend((0..*count).map(|_| (0, *is, Some(group))));
        }
        self.assign_items(constraints, &wishes, items, &[])
    }

    fn assign_items(
        &mut self,
        constraints: &ArrayConstraints,
        wishes: &[(u64, Id, Option<usize>)],
        items: Vec<Vec<Id>>,
        used: &[(usize, usize)],
    ) -> Solution {
        if let Err(spent) = self.charge(2 + copies(&items)) {
            return spent;
        }
        let Some(((from, is, group), rest)) = wishes.split_first() else {
            return self.repeat(constraints, items);
        };
        let mut ways = Alternatives::default();
        let mut seen: HashSet<(Vec<Id>, usize)> = HashSet::new();
        let furthest = wishes.iter().map(|(from, _, _)| *from).max().unwrap_or(0);
        let furthest = usize::try_from(furthest).unwrap_or(usize::MAX);
        // members of one group are alike, so their places rise
        let after = group
            .and_then(|group| used.iter().filter(|(known, _)| *known == group).map(|(_, at)| at + 1).max());
        let first = after.unwrap_or(0).max(usize::try_from(*from).unwrap_or(usize::MAX));
        // the rest of the group needs room behind it
        let following = rest.iter().filter(|(_, _, other)| group.is_some() && other == group).count();
        for at in first..items.len().saturating_sub(following) {
            let Some(here) = items.get(at) else { break };
            if let Err(spent) = self.charge(1 + here.len() as u64 / COPIED_A_STEP) {
                return spent;
            }
            let mut here = here.clone();
            here.sort_unstable();
            here.dedup();
            // alike places are one choice, unless a group needs the room behind them. A place that a wish demands anyway
            // differs from one that it makes so: the wish binds nothing there
            let choice = (here.clone(), at.min(furthest));
            here.push(*is);
            here.sort_unstable();
            here.dedup();
            if group.is_none() && seen.contains(&choice) {
                continue;
            }
            seen.insert(choice);
            match self.find(&here) {
                found if found.is_there() => {}
                other => {
                    ways.take(other);
                    continue;
                }
            }
            if let Err(spent) = self.charge(copies(&items) + used.len() as u64 / COPIED_A_STEP) {
                return spent;
            }
            let mut items = items.clone();
            if let Some(slot) = items.get_mut(at) {
                *slot = here;
            }
            let used: Vec<(usize, usize)> =
                used.iter().copied().chain(group.map(|group| (group, at))).collect();
            let solution = self.assign_items(constraints, rest, items, &used);
            if let Some(solution) = ways.take(solution) {
                return solution;
            }
        }
        ways.end()
    }

    /// Two equal items, if the branch demands them.
    fn repeat(&mut self, constraints: &ArrayConstraints, items: Vec<Vec<Id>>) -> Solution {
        if !constraints.repeats {
            return self.limit(constraints, items, None);
        }
        let mut ways = Alternatives::default();
        for second in 0..items.len() {
            for first in 0..second {
                let (Some(left), Some(right)) = (items.get(first), items.get(second)) else { continue };
                if let Err(spent) = self.charge(1) {
                    return spent;
                }
                let both: Vec<Id> = left.iter().chain(right).copied().collect();
                match self.find(&both) {
                    found if found.is_there() => {}
                    other => {
                        ways.take(other);
                        continue;
                    }
                }
                if let Err(spent) = self.charge(copies(&items)) {
                    return spent;
                }
                let mut items = items.clone();
                for at in [first, second] {
                    if let Some(slot) = items.get_mut(at) {
                        slot.clone_from(&both);
                    }
                }
                let solution = self.limit(constraints, items, Some((first, second)));
                if let Some(solution) = ways.take(solution) {
                    return solution;
                }
            }
        }
        ways.end()
    }

    /// Keeps the number of items of a kind within its bound, with as few items of that kind as possible.
    fn limit(
        &mut self,
        constraints: &ArrayConstraints,
        mut items: Vec<Vec<Id>>,
        equal: Option<(usize, usize)>,
    ) -> Solution {
        let mut exact = constraints.at_most.len() <= 1 && equal.is_none();
        let asked_for = items.clone();
        for (most, _, is_not) in &constraints.at_most {
            let (mut count, mut forced) = (0, 0);
            if let Err(spent) = self.charge(4 * items.len() as u64) {
                return spent;
            }
            for at in 0..items.len() {
                // of this kind under any form of the other bounds
                let alone = asked_for.get(at).into_iter().flatten().copied().chain([*is_not]);
                let alone: Vec<Id> = alone.collect();
                forced += u64::from(matches!(self.find(&alone), Solution::Nothing));
                let mut here = items.get(at).cloned().unwrap_or_default();
                here.push(*is_not);
                match self.find(&here) {
                    Solution::Value(_) | Solution::Described(_) => {
                        if let Some(slot) = items.get_mut(at) {
                            *slot = here;
                        }
                    }
                    Solution::Nothing => count += 1,
                    Solution::Unclear(_) => {
                        count += 1;
                        exact = false;
                    }
                }
            }
            if count > *most {
                if exact || forced > *most {
                    return Solution::Nothing;
                }
                if equal.is_some() || constraints.at_most.len() > SHARED {
                    return Solution::Unclear("`contains` beside other rules".into());
                }
                let left: Vec<u64> = constraints.at_most.iter().map(|(most, ..)| *most).collect();
                return self.share(constraints, asked_for, 0, (left, &mut HashSet::new()));
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
        items: Vec<Vec<Id>>,
        at: usize,
        (left, dead): (Vec<u64>, &mut HashSet<(usize, Vec<u64>)>),
    ) -> Solution {
        let Some(here) = items.get(at).cloned() else { return self.write(constraints, &items, None) };
        if dead.contains(&(at, left.clone())) {
            return Solution::Nothing;
        }
        if self.nested >= MOST_NESTED {
            return Solution::Unclear("choices too deep inside one another".into());
        }
        let mut ways = Alternatives::default();
        for kinds in 0..1_u32 << constraints.at_most.len() {
            if let Err(spent) = self.charge(2 + copies(&items)) {
                return spent;
            }
            let may = |number: usize| (kinds >> number) & 1 == 1;
            if left.iter().enumerate().any(|(number, left)| may(number) && *left == 0) {
                continue;
            }
            let others = constraints.at_most.iter().enumerate().filter(|(number, _)| !may(*number));
            let item: Vec<Id> = here.iter().copied().chain(others.map(|(_, (.., is_not))| *is_not)).collect();
            match self.find(&item) {
                found if found.is_there() => {}
                other => {
                    ways.take(other);
                    continue;
                }
            }
            let left = left.iter().enumerate().map(|(number, left)| left - u64::from(may(number))).collect();
            let mut items = items.clone();
            if let Some(slot) = items.get_mut(at) {
                *slot = item;
            }
            self.nested += 1;
            let solution = self.share(constraints, items, at + 1, (left, &mut *dead));
            self.nested -= 1;
            if let Some(solution) = ways.take(solution) {
                return solution;
            }
        }
        // an unclear answer here is reported once, and counts for the whole
        dead.insert((at, left));
        ways.end()
    }

    fn write(
        &mut self,
        constraints: &ArrayConstraints,
        items: &[Vec<Id>],
        equal: Option<(usize, usize)>,
    ) -> Solution {
        let mut array: Vec<Value> = Vec::new();
        let mut room = self.limits.max_values;
        let mut described = None;
        for (at, is) in items.iter().enumerate() {
            // each is compared with those before it
            let compared = if constraints.unique { array.len() as u64 / COMPARED_A_STEP } else { 0 };
            if let Err(spent) = self.charge(1 + compared) {
                return spent;
            }
            let solution = match self.find(is) {
                Solution::Value(value) if constraints.unique && array.contains(&value) => {
                    self.another(is, &array)
                }
                found => found,
            };
            match solution {
                Solution::Value(value) => match self.copied(&value, &mut room) {
                    Ok(value) => array.push(value),
                    Err(Solution::Described(what)) if !constraints.unique => {
                        described.get_or_insert(Solution::Described(what));
                        array.push(Value::Null);
                    }
                    Err(other) => return large_and_different(other),
                },
                Solution::Described(what) if !constraints.unique => {
                    described.get_or_insert_with(|| what.inside(&at.to_string()));
                    array.push(Value::Null);
                }
                Solution::Described(what) => return large_and_different(Solution::Described(what)),
                Solution::Nothing if constraints.unique && at > 0 => {
                    let narrowed = !constraints.at_most.is_empty() || equal.is_some();
                    return if !narrowed && self.crowded(items) {
                        Solution::Nothing
                    } else {
                        Solution::Unclear("`uniqueItems` beside few possible items".into())
                    };
                }
                other => return other,
            }
        }
        if let Some(described) = described {
            return described;
        }
        if let Some((first, second)) = equal
            && let Some(value) = array.get(first).cloned()
            && let Some(slot) = array.get_mut(second)
        {
            *slot = value;
        }
        Solution::Value(Rc::new(Value::Array(array)))
    }

    /// Returns true if there are fewer values than items, which must all differ. It counts the values of one item, where they
    /// include the values of all others. Numbers are excluded: they are told apart by their doubles here, and can be more.
    fn crowded(&mut self, items: &[Vec<Id>]) -> bool {
        let Some(widest) = items.iter().min_by_key(|item| item.len()) else { return false };
        let holds_all = items.iter().all(|item| widest.iter().all(|is| item.contains(is)));
        if items.len() > COUNTED_OUT || !holds_all || self.charge(copies(items)).is_err() {
            return false;
        }
        let mut values: Vec<Value> = Vec::new();
        while values.len() < items.len() {
            match self.another(widest, &values) {
                Solution::Value(value)
                    if matches!(*value, Value::Null | Value::Bool(_) | Value::String(_)) =>
                {
                    values.push(Value::clone(&value));
                }
                Solution::Nothing => return true,
                Solution::Value(_) | Solution::Described(_) | Solution::Unclear(_) => return false,
            }
        }
        false
    }

    /// A scalar that differs from those that are there.
    fn another(&mut self, is: &[Id], there: &[Value]) -> Solution {
        if let Err(spent) = self.charge(there.len() as u64 / COPIED_A_STEP) {
            return spent;
        }
        let scalars = there.iter().filter_map(|value| match value {
            Value::Null => Some(Scalar::Null),
            Value::Bool(value) => Some(Scalar::Bool(*value)),
            Value::Number(number) => {
                number.as_f64().map(|value| Scalar::Number(super::super::formula::Bound::new(value)))
            }
            Value::String(text) => Some(Scalar::Text(text.clone())),
            Value::Array(_) | Value::Object(_) => None,
        });
        let not = Atom::NotIn(Rc::new(scalars.collect()));
        let not = self.reader.arena.add(Formula::Atom(not, false));
        let question: Vec<Id> = is.iter().copied().chain([not]).collect();
        match self.find(&question) {
            Solution::Value(value) if there.contains(&value) => {
                Solution::Unclear("`uniqueItems` of objects or arrays".into())
            }
            found => found,
        }
    }
}
