//! `enum` and `const`: scalars by value, arrays and objects by their items and members.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::super::formula::{Atom, Bound, FALSE, Pair, Scalar, Scope, TRUE};
use super::Reader;
use crate::schema::types;

impl Reader<'_> {
    /// The value equals one of these.
    pub(super) fn one_of(&mut self, values: &[&Value]) -> Pair {
        self.budget.spend(values.len() as u64);
        let scalars: BTreeSet<Scalar> = values.iter().copied().filter_map(scalar).collect();
        let mut ways = Vec::new();
        if !scalars.is_empty() || values.is_empty() {
            ways.push(self.arena.one_of(Rc::new(scalars)));
        }
        for value in values {
            match value {
                Value::Array(items) => ways.push(self.equal_array(items)),
                Value::Object(members) => ways.push(self.equal_object(members)),
                _ => {}
            }
        }
        self.arena.any(&ways)
    }

    fn equal_array(&mut self, items: &[Value]) -> Pair {
        let mut parts = vec![self.arena.types(types::ARRAY)];
        let count = items.len() as u64;
        if let Some(below) = count.checked_sub(1) {
            parts.push(self.arena.atoms(Atom::MinItems(count), Atom::MaxItems(below)));
        }
        parts.push(self.arena.atoms(Atom::MaxItems(count), Atom::MinItems(count.saturating_add(1))));
        for (at, item) in items.iter().enumerate() {
            let equal = self.one_of(&[item]);
            parts.push(self.arena.item(at, equal));
        }
        self.arena.all(&parts)
    }

    fn equal_object(&mut self, members: &Map<String, Value>) -> Pair {
        let mut parts = vec![self.arena.types(types::OBJECT)];
        for (name, value) in members {
            parts.push(self.arena.has(name));
            let equal = self.one_of(&[value]);
            parts.push(self.arena.member(name, equal));
        }
        let others = Scope { names: members.keys().cloned().collect(), ..Scope::default() };
        parts.push(self.arena.every(others, (FALSE, TRUE)));
        self.arena.all(&parts)
    }
}

/// A value of `enum` or `const` that is not an array and no object.
fn scalar(value: &Value) -> Option<Scalar> {
    Some(match value {
        Value::Null => Scalar::Null,
        Value::Bool(value) => Scalar::Bool(*value),
        Value::Number(number) => Scalar::Number(Bound::new(number.as_f64()?)),
        Value::String(text) => Scalar::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => return None,
    })
}
