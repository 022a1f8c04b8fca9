//! Arrays: the number of items, and the demands on each.

mod assignment;

use std::rc::Rc;

use serde_json::Value;

use super::super::formula::{Atom, Bound, Formula, Id, Scalar};
use super::{Alternatives, COPIED_A_STEP, NoValue, Solution, Solver, described_of, is_there, unclear};

/// The demands on each item of an array.
type Items = Vec<Vec<Id>>;

/// The demands of one branch on an array.
struct ArrayConstraints {
    least: u64,
    most: u64,
    /// Demands on the item at one index.
    at: Vec<(u64, Id)>,
    /// Demands on all items from an index on.
    from: Vec<(u64, Id)>,
    /// Items that must be there, from an index on; a group demands so many different ones.
    some: Vec<(u64, Id)>,
    groups: Vec<(u64, Id)>,
    /// The most items of a kind, with the formula of the kind and its opposite.
    at_most: Vec<(u64, Id, Id)>,
    unique: bool,
    repeats: bool,
    /// The first index from which all indices are alike: in the items that must be there, and in the wishes they may fulfil.
    /// One further index for each wish is enough for every possible array: the other items behind can be left out.
    alike: u64,
}

impl ArrayConstraints {
    fn of(atoms: &[&Atom]) -> Self {
        let (at, from, some, groups, at_most) = (vec![], vec![], vec![], vec![], vec![]);
        let (least, most, unique, repeats, alike) = (0, u64::MAX, false, false, 0);
        let mut constraints = Self { least, most, at, from, some, groups, at_most, unique, repeats, alike };
        for atom in atoms {
            constraints.add(atom);
        }
        let at = constraints.at.iter().map(|(at, _)| at.saturating_add(1));
        let from = constraints.from.iter().chain(&constraints.some).map(|(from, _)| *from);
        constraints.alike = at.chain(from).max().unwrap_or(0);
        constraints
    }

    /// Adds a demand; of several bounds on one kind of item the strictest counts.
    fn add(&mut self, atom: &Atom) {
        match atom {
            Atom::MinItems(least) => self.least = self.least.max(*least),
            Atom::MaxItems(most) => self.most = self.most.min(*most),
            Atom::Item(at, is) => self.at.push((*at, *is)),
            Atom::HasItem(at, is) => {
                self.at.push((*at, *is));
                self.least = self.least.max(at + 1);
            }
            Atom::Items(from, is) => self.from.push((*from, *is)),
            Atom::SomeItem(from, is) => self.some.push((*from, *is)),
            Atom::AtLeast(count, is) => match self.groups.iter_mut().find(|group| group.1 == *is) {
                Some(group) => group.0 = group.0.max(*count),
                None => self.groups.push((*count, *is)),
            },
            Atom::AtMost(count, is, is_not) => match self.at_most.iter_mut().find(|bound| bound.1 == *is) {
                Some(bound) => bound.0 = bound.0.min(*count),
                None => self.at_most.push((*count, *is, *is_not)),
            },
            Atom::Unique(true) => self.unique = true,
            Atom::Unique(false) => self.repeats = true,
            _ => {}
        }
    }

    /// The demands that hold of the item at an index in any case.
    fn item(&self, at: u64) -> Vec<Id> {
        let here = self.at.iter().filter(|(index, _)| *index == at);
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

/// The most different items for which the existing values are counted: the work grows with their square.
const COUNTED_OUT: usize = 256;

impl Solver<'_> {
    pub(super) fn array(&mut self, atoms: &[&Atom]) -> Solution {
        // bounds of one kind are compared with one another
        let counted =
            atoms.iter().filter(|atom| matches!(atom, Atom::AtLeast(..) | Atom::AtMost(..))).count();
        let counted = (counted * counted) as u64;
        self.charge((atoms.len() as u64).saturating_add(counted) / COPIED_A_STEP)?;
        let constraints = ArrayConstraints::of(atoms);
        let grouped = constraints.groups.iter().map(|(count, _)| *count).fold(0, u64::saturating_add);
        let wishes = constraints.some.len() as u64 + grouped + if constraints.repeats { 2 } else { 0 };
        // each of a group has an index of its own
        let widest = constraints.groups.iter().map(|(count, _)| *count).max().unwrap_or(0);
        let shortest = constraints.least.max(widest);
        let longest = shortest.max(constraints.alike.saturating_add(wishes));
        if shortest > constraints.most || self.too_many(&constraints) {
            return Err(NoValue::Nothing);
        }
        if longest > self.limits.max_size || grouped > self.limits.max_counted {
            return self.long_array(&constraints, wishes);
        }
        let mut ways = Alternatives::default();
        // without wishes, no longer array does what the shortest does not
        let longest = if wishes == 0 { shortest } else { longest.min(constraints.most) };
        for length in shortest..=longest {
            let looked = (constraints.at.len() + constraints.from.len()) as u64 / COPIED_A_STEP;
            self.charge(1 + length.saturating_mul(1 + looked))?;
            let items = (0..length).map(|at| constraints.item(at)).collect();
            if let Some(value) = ways.take(self.assign_groups(&constraints, items)) {
                return Ok(value);
            }
        }
        ways.end()
    }

    /// An array of more items than a witness may have, where all are alike from some index on: it is described.
    fn long_array(&mut self, constraints: &ArrayConstraints, wishes: u64) -> Solution {
        let counted = constraints.unique
            || constraints.repeats
            || !constraints.groups.is_empty()
            || !constraints.at_most.is_empty();
        let short = constraints.alike.saturating_add(wishes);
        if counted || short > self.limits.max_size || short >= constraints.least {
            return unclear("more items than a witness may have");
        }
        let tail = self.find(&constraints.item(constraints.alike));
        if !is_there(&tail) {
            return tail;
        }
        match self.assign_groups(constraints, (0..short).map(|at| constraints.item(at)).collect()) {
            items if is_there(&items) => {
                described_of(constraints.least, |least| format!("an array of {least} items"))
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
                is == holds || matches!(self.find(&other), Err(NoValue::Nothing))
            })
        })
    }

    /// The array of these items, two of which may have to be equal.
    fn write(
        &mut self,
        constraints: &ArrayConstraints,
        items: &[Vec<Id>],
        equal: Option<(usize, usize)>,
    ) -> Solution {
        let (mut array, mut room, mut large) = (Vec::new(), self.limits.max_values, None);
        for (at, is) in items.iter().enumerate() {
            // each is compared with those before it
            let compared = if constraints.unique { array.len() as u64 / COMPARED_A_STEP } else { 0 };
            self.charge(1 + compared)?;
            let item = match self.find(is) {
                Ok(value) if constraints.unique && array.contains(&*value) => self.another(is, &array),
                Err(NoValue::Described(what)) => Err(what.inside(&at.to_string())),
                answer => answer,
            };
            match item.and_then(|value| self.copied(&value, &mut room)) {
                Ok(value) => array.push(value),
                // no search can tell if items that are not written differ
                Err(NoValue::Described(_)) if constraints.unique => {
                    return unclear("`uniqueItems` of large items");
                }
                Err(NoValue::Described(what)) => {
                    large.get_or_insert(what);
                    array.push(Value::Null);
                }
                Err(NoValue::Nothing) if constraints.unique && at > 0 => {
                    let narrowed = !constraints.at_most.is_empty() || equal.is_some();
                    return if !narrowed && self.crowded(items) {
                        Err(NoValue::Nothing)
                    } else {
                        unclear("`uniqueItems` with few possible items")
                    };
                }
                Err(other) => return Err(other),
            }
        }
        if let Some(large) = large {
            return Err(NoValue::Described(large));
        }
        if let Some((first, second)) = equal
            && let Some(value) = array.get(first).cloned()
            && let Some(slot) = array.get_mut(second)
        {
            *slot = value;
        }
        Ok(Rc::new(Value::Array(array)))
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
                Ok(value) if matches!(*value, Value::Null | Value::Bool(_) | Value::String(_)) => {
                    values.push(Value::clone(&value));
                }
                Err(NoValue::Nothing) => return true,
                Ok(_) | Err(NoValue::Described(_)) | Err(NoValue::Unclear(_)) => return false,
            }
        }
        false
    }

    /// A scalar that differs from those that are there.
    fn another(&mut self, is: &[Id], there: &[Value]) -> Solution {
        self.charge(there.len() as u64 / COPIED_A_STEP)?;
        let scalars = there.iter().filter_map(|value| match value {
            Value::Null => Some(Scalar::Null),
            Value::Bool(value) => Some(Scalar::Bool(*value)),
            Value::Number(number) => number.as_f64().map(|value| Scalar::Number(Bound::new(value))),
            Value::String(text) => Some(Scalar::Text(text.clone())),
            Value::Array(_) | Value::Object(_) => None,
        });
        let not = Atom::NotIn(Rc::new(scalars.collect()));
        let not = self.reader.arena.add(Formula::Atom(not, false));
        let question: Vec<Id> = is.iter().copied().chain([not]).collect();
        match self.find(&question) {
            Ok(value) if there.contains(&value) => unclear("`uniqueItems` of objects or arrays"),
            found => found,
        }
    }
}
