//! Differences member by member, in words: the reasons behind a verdict, as far as members can be told apart.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::CompareLimits;
use super::pair::Schema;
use super::solve::{NoValue, Solver, is_there};
use super::verdict::Change;
use crate::schema::pointer as pointed;

/// A schema of one side.
#[derive(Clone, Copy)]
struct Sided<'e> {
    side: usize,
    schema: &'e Value,
}

impl<'e> Sided<'e> {
    fn inside(self, schema: &'e Value) -> Self {
        Sided { schema, ..self }
    }

    fn properties(self) -> Option<&'e Map<String, Value>> {
        self.schema.get("properties").and_then(Value::as_object)
    }

    fn required(self) -> HashSet<&'e str> {
        let names = self.schema.get("required").and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// The differences between two shapes, by JSON Pointers into the documents.
pub(super) fn changes<'e>(
    solver: &mut Solver<'e>,
    pointer: &str,
    old: Schema<'e>,
    new: Schema<'e>,
    limits: &CompareLimits,
) -> Vec<Change> {
    solver.budget.refill();
    let mut reader = ChangeReader { solver, changes: Vec::new() };
    let sided = |schema: Schema<'e>| Sided { side: schema.side, schema: schema.root };
    reader.members(pointer, sided(old), sided(new), limits.max_change_depth);
    reader.changes
}

struct ChangeReader<'s, 'e> {
    solver: &'s mut Solver<'e>,
    changes: Vec<Change>,
}

impl<'e> ChangeReader<'_, 'e> {
    fn members(&mut self, pointer: &str, old: Sided<'e>, new: Sided<'e>, depth: usize) {
        let (Some(before), Some(after)) = (old.properties(), new.properties()) else { return };
        let (was_required, is_required) = (old.required(), new.required());
        let at = |name: &str| format!("{pointer}{}", pointed(&["properties", name]));
        for name in after.keys().filter(|name| !before.contains_key(*name)) {
            let required = is_required.contains(name.as_str());
            self.note(at(name), if required { "is new and required" } else { "is new and optional" });
        }
        let mut inner = Vec::new();
        for (name, schema) in before {
            let Some(other) = after.get(name) else {
                self.note(at(name), "is no longer there");
                continue;
            };
            match (was_required.contains(name.as_str()), is_required.contains(name.as_str())) {
                (false, true) => self.note(at(name), "is required now"),
                (true, false) => self.note(at(name), "is optional now"),
                _ => {}
            }
            let (schema, other) = (old.inside(schema), new.inside(other));
            if let Some(what) = self.difference(schema, other) {
                self.note(at(name), what);
                inner.push((at(name), schema, other));
            }
        }
        if depth == 0 {
            return;
        }
        for (pointer, schema, other) in inner {
            self.members(&pointer, schema, other, depth - 1);
            if let (Some(items), Some(others)) = (schema.schema.get("items"), other.schema.get("items")) {
                let pointer = format!("{pointer}/items");
                self.members(&pointer, schema.inside(items), other.inside(others), depth - 1);
            }
        }
    }

    fn note(&mut self, pointer: String, what: &str) {
        self.changes.push(Change { pointer, what: what.to_owned() });
    }

    /// The difference in what two schemas accept; none if there is no difference.
    fn difference(&mut self, old: Sided<'e>, new: Sided<'e>) -> Option<&'static str> {
        let (old, not_old) = self.solver.reader.schema(old.side, old.schema);
        let (new, not_new) = self.solver.reader.schema(new.side, new.schema);
        // formulas that were read without steps do not state the schemas
        if old == new && !self.solver.budget.spent_out() {
            return None;
        }
        match (self.solver.ask(&[old, not_new]), self.solver.ask(&[new, not_old])) {
            (Err(NoValue::Nothing), Err(NoValue::Nothing)) => None,
            (Err(NoValue::Nothing), more) if is_there(&more) => Some("accepts more than before"),
            (less, Err(NoValue::Nothing)) if is_there(&less) => Some("accepts less than before"),
            (less, more) if is_there(&less) && is_there(&more) => Some("accepts other values than before"),
            _ => Some("is written differently, and could not be compared on its own"),
        }
    }
}
