//! The view from which policies are typed: members with one type each, references resolved and `allOf` merged.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::custom::is_decimal4;
use super::source::{Source, branches, in_place, named, types};
use crate::term::{Field, FieldType};

/// Types that one shape may consist of; definitions that are used over and over would unfold without end.
const MAX_FIELDS: usize = 4_096;

/// What a schema takes, in words that a policy can use.
pub(super) fn describe(source: &Source<'_>, schema: &Value) -> FieldType {
    let mut unfolding = Unfolding { source, targets: Vec::new(), budget: MAX_FIELDS };
    let found = unfolding.kind(schema);
    if unfolding.budget == 0 { FieldType::Opaque } else { found }
}

struct Unfolding<'s, 'd> {
    source: &'s Source<'d>,
    /// References on the way to here.
    targets: Vec<String>,
    budget: usize,
}

/// All that must hold of a value at once, merged.
#[derive(Default)]
struct Facts<'v> {
    free_text: bool,
    code_list: Option<String>,
    decimal: bool,
    properties: BTreeMap<String, Vec<&'v Value>>,
    required: Vec<String>,
    items: Vec<&'v Value>,
    prefixed: bool,
    references: Vec<String>,
}

impl<'v> Unfolding<'_, 'v> {
    fn kind(&mut self, schema: &'v Value) -> FieldType {
        self.budget = self.budget.saturating_sub(1);
        if self.budget == 0 || schema.is_boolean() {
            return FieldType::Opaque;
        }
        let mut facts = Facts::default();
        self.gather(schema, true, &mut facts);
        if facts.references.iter().any(|reference| self.targets.contains(reference)) {
            return FieldType::Opaque;
        }
        match self.source.types(schema) {
            types::STRING => FieldType::Text { free_text: facts.free_text, code_list: facts.code_list },
            types::BOOLEAN => FieldType::Boolean,
            types::INTEGER => FieldType::Integer,
            taken if taken & types::FRACTION != 0 && taken & !types::NUMBER == 0 => {
                if facts.decimal {
                    FieldType::Decimal
                } else {
                    FieldType::OtherNumber
                }
            }
            types::ARRAY => self.array(facts),
            types::OBJECT => self.record(facts),
            _ => FieldType::Opaque,
        }
    }

    /// `held`: what is said here holds of every value, and not only in one branch of a union.
    fn gather(&mut self, schema: &'v Value, held: bool, facts: &mut Facts<'v>) {
        let Value::Object(map) = schema else { return };
        facts.free_text |= map.get("x-free-text") == Some(&Value::Bool(true));
        if held {
            gather_held(map, facts);
        }
        if let Some(Value::String(reference)) = map.get("$ref")
            && let Ok(target) = self.source.resolve(reference)
        {
            facts.references.push(reference.clone());
            self.gather(target, held, facts);
        }
        for part in branches(map, "allOf") {
            self.gather(part, held, facts);
        }
        for part in in_place(map).filter(|part| !branches(map, "allOf").any(|all| std::ptr::eq(*part, all))) {
            self.gather(part, false, facts);
        }
    }

    fn array(&mut self, facts: Facts<'v>) -> FieldType {
        match (facts.items.as_slice(), facts.prefixed) {
            ([items], false) => match self.inside(&facts.references, items) {
                FieldType::Opaque => FieldType::Opaque,
                kind => FieldType::Array(Box::new(kind)),
            },
            _ => FieldType::Opaque,
        }
    }

    fn record(&mut self, facts: Facts<'v>) -> FieldType {
        if facts.properties.is_empty() {
            return FieldType::Opaque;
        }
        let mut members = BTreeMap::new();
        for (name, schemas) in facts.properties {
            let mut kinds = schemas.into_iter().map(|schema| self.inside(&facts.references, schema));
            let first = kinds.next().unwrap_or(FieldType::Opaque);
            let kind = kinds.fold(first, |all, kind| if all == kind { all } else { FieldType::Opaque });
            let required = facts.required.contains(&name);
            members.insert(name, Field { kind, required });
        }
        FieldType::Record(members)
    }

    fn inside(&mut self, references: &[String], schema: &'v Value) -> FieldType {
        let before = self.targets.len();
        self.targets.extend(references.iter().cloned());
        let kind = self.kind(schema);
        self.targets.truncate(before);
        kind
    }
}

fn gather_held<'v>(map: &'v Map<String, Value>, facts: &mut Facts<'v>) {
    if let Some(list) = map.get("x-code-list").and_then(Value::as_str) {
        facts.code_list = Some(list.to_owned());
    }
    facts.decimal |= map.get("multipleOf").is_some_and(is_decimal4);
    for (name, schema) in named(map, "properties") {
        facts.properties.entry(name.clone()).or_default().push(schema);
    }
    facts.required.extend(branches(map, "required").filter_map(Value::as_str).map(str::to_owned));
    facts.items.extend(map.get("items"));
    facts.prefixed |= map.contains_key("prefixItems");
}
