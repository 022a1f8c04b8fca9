//! Differences member by member, in words: the reasons behind a verdict, as far as members can be told apart.

use std::collections::HashSet;

use serde_json::Value;

use super::CompareLimits;
use super::pair::Schema;
use super::solve::{NoValue, Solver, is_there};
use super::verdict::Change;
use crate::schema::pointer as pointed;

/// A schema of one side.
type Sided<'e> = (usize, &'e Value);

/// The differences between two shapes, by JSON Pointers into the documents.
pub(super) fn changes<'e>(
    solver: &mut Solver<'e>,
    pointer: &str,
    old: Schema<'e>,
    new: Schema<'e>,
    limits: &CompareLimits,
) -> Vec<Change> {
    let mut changes = Vec::new();
    solver.budget.refill();
    members(
        solver,
        pointer,
        (old.side, old.root),
        (new.side, new.root),
        limits.max_change_depth,
        &mut changes,
    );
    changes
}

fn members<'e>(
    solver: &mut Solver<'e>,
    pointer: &str,
    old: Sided<'e>,
    new: Sided<'e>,
    depth: usize,
    changes: &mut Vec<Change>,
) {
    let properties = |schema: &'e Value| schema.get("properties").and_then(Value::as_object);
    let (Some(before), Some(after)) = (properties(old.1), properties(new.1)) else { return };
    let required = |schema: &'e Value| -> HashSet<&'e str> {
        let names = schema.get("required").and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let (was_required, is_required) = (required(old.1), required(new.1));
    let mut say = |name: &str, what: &str| {
        let pointer = format!("{pointer}{}", pointed(&["properties", name]));
        changes.push(Change { pointer, what: what.to_owned() });
    };
    for (name, _) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
        say(
            name,
            if is_required.contains(name.as_str()) { "is new and required" } else { "is new and optional" },
        );
    }
    let mut inner = Vec::new();
    for (name, schema) in before {
        let Some(other) = after.get(name) else {
            say(name, "is no longer there");
            continue;
        };
        match (was_required.contains(name.as_str()), is_required.contains(name.as_str())) {
            (false, true) => say(name, "is required now"),
            (true, false) => say(name, "is optional now"),
            _ => {}
        }
        if let Some(what) = difference(solver, (old.0, schema), (new.0, other)) {
            say(name, what);
            inner.push((name, schema, other));
        }
    }
    if depth == 0 {
        return;
    }
    for (name, schema, other) in inner {
        let pointer = format!("{pointer}{}", pointed(&["properties", name]));
        members(solver, &pointer, (old.0, schema), (new.0, other), depth - 1, changes);
        if let (Some(schema), Some(other)) = (schema.get("items"), other.get("items")) {
            members(solver, &format!("{pointer}/items"), (old.0, schema), (new.0, other), depth - 1, changes);
        }
    }
}

/// The difference in what two schemas accept; none if there is no difference.
fn difference<'e>(solver: &mut Solver<'e>, old: Sided<'e>, new: Sided<'e>) -> Option<&'static str> {
    let (old, not_old) = solver.reader.schema(old.0, old.1);
    let (new, not_new) = solver.reader.schema(new.0, new.1);
    // formulas that were read without steps do not state the schemas
    if old == new && !solver.budget.spent_out() {
        return None;
    }
    match (solver.ask(&[old, not_new]), solver.ask(&[new, not_old])) {
        (Err(NoValue::Nothing), Err(NoValue::Nothing)) => None,
        (Err(NoValue::Nothing), there) if is_there(&there) => Some("accepts more than before"),
        (there, Err(NoValue::Nothing)) if is_there(&there) => Some("accepts less than before"),
        (less, more) if is_there(&less) && is_there(&more) => Some("accepts other values than before"),
        _ => Some("is written differently, and could not be compared by itself"),
    }
}
