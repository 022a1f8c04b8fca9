//! `enum` and `const`: scalars by value, arrays and objects by their items and members.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::super::formula::{Atom, FALSE, Formula, Scalar, Scope, TRUE};
use super::{Pair, Reader, scalar};
use crate::schema::types;

impl Reader<'_> {
    /// Two formulas: the value equals one of these, and it equals none.
    pub(super) fn one_of(&mut self, values: &[&Value]) -> Pair {
        self.budget.spend(values.len() as u64);
        let scalars: BTreeSet<Scalar> = values.iter().copied().filter_map(scalar).collect();
        let mut ways = Vec::new();
        if !scalars.is_empty() || values.is_empty() {
            ways.push(self.among(scalars));
        }
        for value in values {
            match value {
                Value::Array(items) => ways.push(self.equal_array(items)),
                Value::Object(members) => ways.push(self.equal_object(members)),
                _ => {}
            }
        }
        self.any_of(&ways)
    }

    fn among(&mut self, values: BTreeSet<Scalar>) -> Pair {
        let values = Rc::new(values);
        let holds = self.arena.add(Formula::Atom(Atom::In(Rc::clone(&values)), true));
        let fails = self.arena.add(Formula::Atom(Atom::NotIn(values), false));
        self.arena.pair(holds, fails)
    }

    fn equal_array(&mut self, items: &[Value]) -> Pair {
        let mut parts = vec![self.of_type(types::ARRAY)];
        let count = items.len() as u64;
        if let Some(below) = count.checked_sub(1) {
            parts.push(self.arena.atoms(Atom::MinItems(count), Atom::MaxItems(below)));
        }
        parts.push(self.arena.atoms(Atom::MaxItems(count), Atom::MinItems(count.saturating_add(1))));
        for (at, item) in items.iter().enumerate() {
            let (holds, fails) = self.one_of(&[item]);
            let at = at as u64;
            parts.push(self.arena.atoms(Atom::Item(at, holds), Atom::HasItem(at, fails)));
        }
        self.all_of(&parts)
    }

    fn equal_object(&mut self, members: &Map<String, Value>) -> Pair {
        let mut parts = vec![self.of_type(types::OBJECT)];
        for (name, value) in members {
            parts.push(self.arena.atoms(Atom::Has(name.clone()), Atom::Lacks(name.clone())));
            let (holds, fails) = self.one_of(&[value]);
            parts.push(self.member(name, holds, fails));
        }
        let names = members.keys().cloned().collect();
        let others = Scope { within: None, names, patterns: BTreeSet::new() };
        parts.push(self.arena.atoms(Atom::Every(others.clone(), FALSE), Atom::SomeMember(others, TRUE)));
        self.all_of(&parts)
    }

    fn of_type(&mut self, mask: u8) -> Pair {
        self.arena.atoms(Atom::Types(mask), Atom::Types(types::ALL & !mask))
    }

    fn any_of(&mut self, branches: &[Pair]) -> Pair {
        let holds = self.arena.or(branches.iter().map(|branch| branch.0));
        let fails = self.arena.and(branches.iter().map(|branch| branch.1));
        if branches.len() == 1 { (holds, fails) } else { self.arena.pair(holds, fails) }
    }

    fn all_of(&mut self, parts: &[Pair]) -> Pair {
        let holds = self.arena.and(parts.iter().map(|part| part.0));
        let fails = self.arena.or(parts.iter().map(|part| part.1));
        self.arena.pair(holds, fails)
    }
}
