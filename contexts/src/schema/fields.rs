//! The view from which policies are typed: members with one type each, references resolved, `allOf` merged, unions joined.

mod union;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::check::is_bare;
use super::custom::is_decimal4;
use super::source::{Source, branches, in_place, lists_objects, named, types};
use crate::field::{Field, FieldType, Format, Members};
use crate::vectors::VectorType;
use union::{join, meet};

/// The most types of one shape; definitions that are used repeatedly would unfold without end.
const MAX_FIELDS: usize = 4_096;

/// Keywords by which an object can have members that no `properties` names, or that it names under a condition.
const CARRIERS: [&str; 5] = ["patternProperties", "if", "then", "else", "dependentSchemas"];

/// The values that a schema takes, in terms that a policy can use.
pub(super) fn describe(source: &Source<'_>, schema: &Value) -> FieldType {
    let mut unfolding = Unfolding::new(source);
    let kind = unfolding.kind(schema, types::ALL);
    if unfolding.budget == 0 { FieldType::Opaque } else { kind }
}

/// The members that the schema names, demands in no instance without a condition, and takes with some value but never with
/// null. Sorted.
pub(super) fn never_null(source: &Source<'_>, schema: &Value) -> Vec<String> {
    let facts = Unfolding::new(source).facts(schema).unwrap_or_default();
    let taken = |schemas: &[&Value]| schemas.iter().fold(types::ALL, |all, one| all & source.types(one));
    let never =
        |schemas: &[&Value]| matches!(taken(schemas), taken if taken != 0 && taken & types::NULL == 0);
    let named =
        facts.properties.iter().filter(|(name, schemas)| !facts.required.contains(name) && never(schemas));
    named.map(|(name, _)| name.clone()).collect()
}

/// Bytes of one member of a [`FieldType::Record`] besides its name, and of one string of a list besides its text.
const FIELD_BYTES: u64 = 320;
const VALUE_BYTES: u64 = 64;

/// Bytes that a description takes, by estimate. Code lists are there once for a document and count nothing here.
pub(crate) fn bytes(kind: &FieldType) -> u64 {
    match kind.present() {
        FieldType::Record(fields) => {
            let each = fields.iter().map(|(name, field)| {
                FIELD_BYTES.saturating_add(name.len() as u64).saturating_add(bytes(&field.kind))
            });
            each.fold(0, u64::saturating_add)
        }
        FieldType::Array(items) => FIELD_BYTES.saturating_add(bytes(items)),
        FieldType::Vector(_) => FIELD_BYTES,
        FieldType::Text { values: Some(values), code_list: None, .. } => {
            let each = values.iter().map(|value| VALUE_BYTES.saturating_add(value.len() as u64));
            each.fold(0, u64::saturating_add)
        }
        _ => 0,
    }
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
    formats: Vec<&'v str>,
    /// Each set of strings that the value must be in.
    values: Vec<Arc<BTreeSet<String>>>,
    decimal: bool,
    /// The schema with `x-embedding`.
    vector: Option<&'v Map<String, Value>>,
    properties: BTreeMap<String, Vec<&'v Value>>,
    required: Vec<String>,
    items: Vec<&'v Value>,
    prefixed: bool,
    references: Vec<String>,
    /// `anyOf` and `oneOf`: one branch of each holds.
    unions: Vec<Vec<&'v Value>>,
    /// Some part may carry members that are not listed, in any branch.
    carries: bool,
}

impl<'s, 'd> Unfolding<'s, 'd> {
    fn new(source: &'s Source<'d>) -> Self {
        Self { source, targets: Vec::new(), budget: MAX_FIELDS }
    }
}

impl<'v> Unfolding<'_, 'v> {
    /// The type of a value; `limit` holds the types that other demands on it leave possible.
    fn kind(&mut self, schema: &'v Value, limit: u8) -> FieldType {
        self.budget = self.budget.saturating_sub(1);
        if self.budget == 0 || schema.is_boolean() {
            return FieldType::Opaque;
        }
        let Some(facts) = self.facts(schema) else { return FieldType::Opaque };
        let taken = self.source.types(schema) & limit;
        let present = taken & !types::NULL;
        let vector = self.vector(&facts, present);
        let field_type = match present {
            _ if vector.is_some() => vector.unwrap_or(FieldType::Opaque),
            types::OBJECT => match self.members(facts) {
                Some(members) if !members.is_empty() => FieldType::Record(members),
                _ => FieldType::Opaque,
            },
            0 => FieldType::Opaque,
            _ => self.value(facts, present),
        };
        if taken == present || field_type == FieldType::Opaque {
            field_type
        } else {
            FieldType::Nullable(Box::new(field_type))
        }
    }

    /// The type of a vector: all that its schema demands, or the one branch of a union that takes more than null.
    fn vector(&mut self, facts: &Facts<'v>, present: u8) -> Option<FieldType> {
        if present & types::ARRAY == 0 {
            return None;
        }
        if let Some(map) = facts.vector {
            let value = map.get("x-embedding")?;
            return VectorType::of(value, is_bare(map), self.source.references()).ok().map(FieldType::Vector);
        }
        let [union] = facts.unions.as_slice() else { return None };
        let mut possible = union.iter().filter(|branch| self.source.types(branch) & present != 0);
        let (Some(one), None) = (possible.next(), possible.next()) else { return None };
        let (one, references) = (*one, facts.references.clone());
        Some(self.inside(&references, one, present)).filter(|kind| matches!(kind, FieldType::Vector(_)))
    }

    /// The facts about one value; `None` if a reference leads back to itself.
    fn facts(&mut self, schema: &'v Value) -> Option<Facts<'v>> {
        let mut facts = Facts::default();
        self.gather(schema, true, &mut facts);
        let back = facts.references.iter().any(|reference| self.targets.contains(reference));
        (!back).then_some(facts)
    }

    /// A value that is not an object.
    fn value(&mut self, facts: Facts<'v>, present: u8) -> FieldType {
        let unions = facts.unions.clone();
        let references = facts.references.clone();
        let own = match present {
            types::STRING => text(facts),
            types::BOOLEAN => FieldType::Boolean,
            types::INTEGER => FieldType::Integer,
            taken if taken & types::FRACTION != 0 && taken & !types::NUMBER == 0 => {
                if facts.decimal {
                    FieldType::Decimal
                } else {
                    FieldType::OtherNumber
                }
            }
            types::ARRAY => self.array(&facts),
            _ => return FieldType::Opaque,
        };
        unions.into_iter().fold(own, |own, union| {
            let possible = union.into_iter().filter(|branch| self.source.types(branch) & present != 0);
            let kinds: Vec<FieldType> = possible
                .collect::<Vec<_>>()
                .into_iter()
                .map(|branch| self.inside(&references, branch, present))
                .collect();
            match kinds.into_iter().reduce(join) {
                Some(joined) => meet(own, joined),
                None => own,
            }
        })
    }

    /// Gathers the facts of a schema. `held` is true if they hold of every value, not only in one branch of a union.
    fn gather(&mut self, schema: &'v Value, held: bool, facts: &mut Facts<'v>) {
        let Value::Object(map) = schema else { return };
        facts.free_text |= map.get("x-free-text") == Some(&Value::Bool(true));
        facts.carries |= carries(map);
        if held {
            self.gather_held(map, facts);
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

    fn gather_held(&mut self, map: &'v Map<String, Value>, facts: &mut Facts<'v>) {
        if let Some(list) = map.get("x-code-list").and_then(Value::as_str) {
            facts.code_list = Some(list.to_owned());
            facts.values.extend(self.source.code_set(list));
        }
        let strings = |values: &mut dyn Iterator<Item = &Value>| {
            Arc::new(values.filter_map(Value::as_str).map(str::to_owned).collect())
        };
        if map.contains_key("enum") {
            facts.values.push(strings(&mut branches(map, "enum")));
        }
        if let Some(only) = map.get("const") {
            facts.values.push(strings(&mut std::iter::once(only)));
        }
        facts.vector = facts.vector.or(Some(map).filter(|map| map.contains_key("x-embedding")));
        facts.formats.extend(map.get("format").and_then(Value::as_str));
        facts.decimal |= map.get("multipleOf").is_some_and(is_decimal4);
        for (name, schema) in named(map, "properties") {
            facts.properties.entry(name.clone()).or_default().push(schema);
        }
        facts.required.extend(branches(map, "required").filter_map(Value::as_str).map(str::to_owned));
        facts.items.extend(map.get("items"));
        facts.prefixed |= map.contains_key("prefixItems");
        for union in ["anyOf", "oneOf"] {
            if map.contains_key(union) {
                facts.unions.push(branches(map, union).collect());
            }
        }
    }

    fn array(&mut self, facts: &Facts<'v>) -> FieldType {
        match (facts.items.as_slice(), facts.prefixed) {
            ([items], false) => match self.inside(&facts.references, items, types::ALL) {
                // A null among the items could not be shown as one that is absent.
                FieldType::Opaque | FieldType::Nullable(_) => FieldType::Opaque,
                kind => FieldType::Array(Box::new(kind)),
            },
            _ => FieldType::Opaque,
        }
    }

    /// The members of an object; `None` where some branch cannot be looked into.
    fn members(&mut self, facts: Facts<'v>) -> Option<Members> {
        let mut own = Members::new();
        for (name, schemas) in &facts.properties {
            let kinds: Vec<FieldType> =
                schemas.iter().map(|schema| self.inside(&facts.references, schema, types::ALL)).collect();
            let kind = kinds.into_iter().reduce(meet).unwrap_or(FieldType::Opaque);
            own.insert(name.clone(), Field { kind, required: facts.required.contains(name) });
        }
        if facts.carries {
            return Some(own);
        }
        let mut unions = Vec::new();
        for branches in &facts.unions {
            let mut of_union = Vec::new();
            for branch in branches.iter().filter(|branch| self.source.types(branch) & types::OBJECT != 0) {
                of_union.push(self.branch(branch, &facts.references)?);
            }
            unions.push(of_union);
        }
        union::add(&mut own, unions);
        Some(own)
    }

    fn branch(&mut self, branch: &'v Value, references: &[String]) -> Option<Members> {
        self.budget = self.budget.saturating_sub(1);
        if self.budget == 0 {
            return None;
        }
        if branch.is_boolean() {
            return Some(Members::new());
        }
        let before = self.targets.len();
        self.targets.extend(references.iter().cloned());
        let members = self.facts(branch).and_then(|facts| self.members(facts));
        self.targets.truncate(before);
        members
    }

    fn inside(&mut self, references: &[String], schema: &'v Value, limit: u8) -> FieldType {
        let before = self.targets.len();
        self.targets.extend(references.iter().cloned());
        let kind = self.kind(schema, limit);
        self.targets.truncate(before);
        kind
    }
}

/// Returns true if an object may have members that no `properties` names, or that it names under a condition.
pub(super) fn carries(map: &Map<String, Value>) -> bool {
    let open = |keyword: &str| map.get(keyword).is_some_and(|value| value != &Value::Bool(false));
    open("additionalProperties")
        || lists_objects(map)
        || open("unevaluatedProperties")
        || CARRIERS.iter().any(|keyword| map.contains_key(*keyword))
}

fn text(facts: Facts<'_>) -> FieldType {
    let mut formats = facts.formats.iter().filter_map(|name| format_named(name));
    let format = formats.next().filter(|first| formats.all(|other| other == *first));
    let values = facts.values.into_iter().reduce(union::both);
    FieldType::Text { free_text: facts.free_text, code_list: facts.code_list, format, values }
}

fn format_named(name: &str) -> Option<Format> {
    Some(match name {
        "date" => Format::Date,
        "date-time" => Format::DateTime,
        "duration" => Format::Duration,
        "ipv4" | "ipv6" => Format::IpAddress,
        _ => return None,
    })
}
