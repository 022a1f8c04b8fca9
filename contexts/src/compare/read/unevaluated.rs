//! Members for which parts of a composition vouch (`unevaluatedProperties`), as the validator marks them.

use serde_json::{Map, Value};

use super::super::formula::{Part, Scope, Vouched};
use super::Reader;

impl<'e> Reader<'e> {
    /// The members for which a schema that holds vouches; `root` marks the schema with the `unevaluatedProperties`. Each
    /// chain of references is walked anew, so there may be many more chains than schemas. The rest is left out when the steps
    /// run out.
    pub(super) fn vouched(&mut self, side: usize, map: &'e Map<String, Value>, root: bool) -> Vouched {
        if !self.budget.spend(1 + map.len() as u64) {
            return Vouched::default();
        }
        let Scope { names, patterns, .. } = self.others(map);
        let all =
            map.contains_key("additionalProperties") || (!root && map.contains_key("unevaluatedProperties"));
        let mut vouched = Vouched { names, patterns, all, parts: Vec::new() };
        for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let inner = self.vouched_by(side, part);
            vouched.take(inner);
        }
        if let Some(Value::String(reference)) = map.get("$ref") {
            let name = reference.strip_prefix("#/$defs/").unwrap_or_default();
            if let Some(target) = self.sides.get(side).and_then(|emitted| emitted.definitions.get(name)) {
                let inner = self.vouched_by(side, target);
                vouched.take(inner);
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            for branch in map.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                let (holds, fails) = self.schema(side, branch);
                let inner = self.vouched_by(side, branch);
                vouched.parts.push(Part { holds, fails, vouched: inner });
            }
        }
        for (name, schema) in map.get("dependentSchemas").and_then(Value::as_object).into_iter().flatten() {
            let (holds, fails) = self.arena.has(name);
            let inner = self.vouched_by(side, schema);
            vouched.parts.push(Part { holds, fails, vouched: inner });
        }
        if let Some(condition) = map.get("if") {
            let (holds, fails) = self.schema(side, condition);
            for (keyword, holds, fails) in
                [("if", holds, fails), ("then", holds, fails), ("else", fails, holds)]
            {
                if let Some(schema) = map.get(keyword) {
                    let inner = self.vouched_by(side, schema);
                    vouched.parts.push(Part { holds, fails, vouched: inner });
                }
            }
        }
        vouched
    }

    fn vouched_by(&mut self, side: usize, schema: &'e Value) -> Vouched {
        let vouched = schema.as_object().map_or_else(Vouched::default, |map| self.vouched(side, map, false));
        self.budget.spend(vouched.names.len() as u64);
        vouched
    }
}

impl Vouched {
    /// The size of a copy.
    pub(in super::super) fn size(&self) -> u64 {
        let parts = self.parts.iter().map(|part| 1 + part.vouched.size()).sum::<u64>();
        1 + self.names.len() as u64 + self.patterns.len() as u64 + parts
    }

    /// Adds all that the other vouches for.
    pub(in super::super) fn take(&mut self, other: Vouched) {
        self.names.extend(other.names);
        self.patterns.extend(other.patterns);
        self.all |= other.all;
        self.parts.extend(other.parts);
    }

    /// Returns true if it vouches for all that the other could, in every instance.
    pub(in super::super) fn covers(&self, other: &Vouched) -> bool {
        self.all
            || (!other.all
                && other.names.is_subset(&self.names)
                && other.patterns.is_subset(&self.patterns)
                && other.parts.iter().all(|part| self.covers(&part.vouched)))
    }
}
