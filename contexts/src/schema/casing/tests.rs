use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::fields::carries;
use super::super::pattern::literal_texts;
use super::super::source::Source;
use super::super::{Parts, SchemaFault, SchemaLimits};
use super::reader::HELD;
use super::*;
use crate::compare::tests::hunt::open_names::excused;
use crate::compare::tests::hunt::random::{Random, documents, value_for};
use crate::compare::{CompareLimits, Verdict, compare};
use crate::json::{Limits, read};
use crate::{Context, DocumentLimits, Prefix};

/// The rule as it is told, on the schemas as they are written and with no memory.
struct Naive<'d> {
    defs: &'d Value,
}

type Looks<'d> = Vec<(&'d Map<String, Value>, u8)>;

fn list<'d>(map: &'d Map<String, Value>, keyword: &str) -> Vec<&'d Value> {
    match map.get(keyword) {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(Value::Object(of)) => of.values().collect(),
        _ => Vec::new(),
    }
}

impl<'d> Naive<'d> {
    fn look(&self, schema: &'d Value, firm: u8, looks: &mut Looks<'d>) {
        let Value::Object(map) = schema else { return };
        looks.push((map, firm));
        if let Some(name) = map.get("$ref").and_then(Value::as_str) {
            self.look(&self.defs[name.rsplit('/').next().unwrap()], firm, looks);
        }
        list(map, "allOf").into_iter().for_each(|part| self.look(part, firm, looks));
        for keyword in ["anyOf", "oneOf", "dependentSchemas"] {
            list(map, keyword).into_iter().for_each(|part| self.look(part, firm.max(1), looks));
        }
        for (keyword, least) in [("then", 1), ("else", 1), ("if", 2), ("not", 2)] {
            if let Some(part) = map.get(keyword) {
                self.look(part, firm.max(least), looks);
            }
        }
    }

    fn declared(&self, looks: &Looks<'d>) -> Vec<(String, u8)> {
        let mut names = Vec::new();
        let keys = |map: &Map<String, Value>, keyword: &str| -> Vec<String> {
            map.get(keyword)
                .and_then(Value::as_object)
                .map(|of| of.keys().cloned().collect())
                .unwrap_or_default()
        };
        for (map, firm) in looks {
            names.extend(keys(map, "properties").into_iter().map(|name| (name, *firm)));
            for pattern in keys(map, "patternProperties") {
                names.extend(literal_texts(&pattern).into_iter().map(|name| (name, (*firm).max(1))));
            }
            let mut asked = [keys(map, "dependentRequired"), keys(map, "dependentSchemas")].concat();
            let lists = list(map, "dependentRequired").into_iter().chain(map.get("required"));
            asked.extend(
                lists.flat_map(|list| list.as_array().unwrap()).map(|name| name.as_str().unwrap().to_owned()),
            );
            names.extend(asked.into_iter().map(|name| (name, 2)));
        }
        names
    }

    /// The declared name of a twin, if there is one.
    fn twin(&self, looks: &Looks<'d>, value: &Value) -> Option<String> {
        match value {
            Value::Object(members) => {
                let names = self.declared(looks);
                let open = looks.iter().any(|(map, _)| carries(map));
                let firmer = |name: &str, firm: u8| {
                    names.iter().any(|(other, of)| case::folded(other) == case::folded(name) && *of < firm)
                };
                let counts = |name: &str, firm: u8| !(open && firmer(name, firm));
                members.iter().find_map(|(name, value)| {
                    let own: Vec<_> = names.iter().filter(|(other, _)| other == name).collect();
                    let firm = own.iter().map(|(_, firm)| *firm).min();
                    let others = names
                        .iter()
                        .filter(|(other, _)| other != name && case::folded(other) == case::folded(name));
                    match firm {
                        Some(firm) if counts(name, firm) => self.twin(&self.member(looks, name), value),
                        _ => others
                            .map(|(other, _)| other.clone())
                            .min()
                            .or_else(|| self.twin(&self.member(looks, name), value)),
                    }
                })
            }
            Value::Array(values) => values.iter().enumerate().find_map(|(at, value)| {
                let mut inside = Looks::new();
                for (map, firm) in looks {
                    let prefix = list(map, "prefixItems");
                    if let Some(schema) = prefix.get(at).copied().or_else(|| map.get("items")) {
                        self.look(schema, *firm, &mut inside);
                    }
                    if let Some(schema) = map.get("contains") {
                        self.look(schema, 2, &mut inside);
                    }
                }
                self.twin(&inside, value)
            }),
            _ => None,
        }
    }

    fn member(&self, looks: &Looks<'d>, name: &str) -> Looks<'d> {
        let mut inside = Looks::new();
        for (map, firm) in looks {
            let own = map.get("properties").and_then(|of| of.get(name));
            let mut listed = own.is_some();
            own.into_iter().for_each(|schema| self.look(schema, *firm, &mut inside));
            for (pattern, schema) in
                map.get("patternProperties").and_then(Value::as_object).into_iter().flatten()
            {
                let words = literal_texts(pattern);
                let fits = words.iter().any(|word| word == name);
                listed |= fits;
                if fits || words.is_empty() {
                    self.look(schema, (*firm).max(1), &mut inside);
                }
            }
            for keyword in ["additionalProperties", "unevaluatedProperties"] {
                if let Some(schema) = map.get(keyword).filter(|_| !listed) {
                    self.look(schema, *firm, &mut inside);
                }
            }
        }
        inside
    }
}

/// The value with names of members in another case, here and there.
fn twisted(value: &Value, random: &mut Random) -> Value {
    match value {
        Value::Object(members) => {
            let mut out = Map::new();
            for (name, value) in members {
                let value = twisted(value, random);
                match random.below(8) {
                    0 => drop(out.insert(name.to_uppercase(), value)),
                    1 => drop(out.insert(name.to_lowercase(), value)),
                    2 => {
                        out.insert(name.clone(), value.clone());
                        out.insert(name.to_uppercase(), value);
                    }
                    _ => drop(out.insert(name.clone(), value)),
                }
            }
            Value::Object(out)
        }
        Value::Array(values) => values.iter().map(|value| twisted(value, random)).collect(),
        other => other.clone(),
    }
}

/// Half of the schemas are opened, so that the rule has something to say.
fn opened(schema: &mut Value, random: &mut Random) {
    if let Value::Object(map) = schema {
        if map.get("type") == Some(&json!("object")) && random.chance(50) {
            map.insert("additionalProperties".to_owned(), json!(true));
        }
        map.values_mut().for_each(|inside| opened(inside, random));
    } else if let Value::Array(list) = schema {
        list.iter_mut().for_each(|inside| opened(inside, random));
    }
}

#[test]
fn the_rule_case_is_what_a_naive_reading_of_the_schema_says() {
    let (mut refused, mut taken) = (0_u32, 0_u32);
    for seed in 0..4_000 {
        let mut random = Random::new(seed);
        let (mut document, _) = documents(&mut random);
        opened(&mut document["concepts"], &mut random);
        opened(&mut document["$defs"], &mut random);
        let bytes = document.to_string();
        let Ok(context) = Context::check(bytes.as_bytes(), &Prefix::default(), &DocumentLimits::default())
        else {
            continue;
        };
        let shape = context.shapes().next().unwrap();
        let naive = Naive { defs: &document["$defs"] };
        let mut whole = Looks::new();
        naive.look(&document["concepts"]["c"], HELD, &mut whole);
        for _ in 0..6 {
            let value = value_for(&document["concepts"]["c"], &document["$defs"], &mut random, 0);
            let value = twisted(&value, &mut random);
            let text = value.to_string();
            let tree = read(text.as_bytes(), &Limits::default()).unwrap();
            let Some(object) = tree.as_object() else { continue };
            let ours = shape.compiled.casing.conform(object, None).err();
            let theirs = naive.twin(&whole, &value);
            assert_eq!(
                ours.is_some(),
                theirs.is_some(),
                "{seed}: {text} {ours:?} {theirs:?} under {document}"
            );
            match ours {
                Some(fault) => {
                    assert_eq!(fault.rule, "case");
                    refused += 1;
                }
                None => taken += 1,
            }
        }
    }
    assert!(refused > 500 && taken > 500, "{refused} {taken}");
}

fn casing(document: &Value, limits: &SchemaLimits) -> Result<Casing, SchemaFault> {
    let empty = Map::new();
    let section = |name: &str| document.get(name).and_then(Value::as_object).unwrap_or(&empty);
    let (defs, concepts, codes) = (section("$defs"), section("concepts"), &BTreeMap::new());
    let source = Source::new(&Parts { defs, concepts, codes, references: &empty });
    CasingReader::new(&source, limits).read(&document["concepts"]["c"])
}

#[test]
fn a_schema_that_leads_back_to_itself_ends_and_one_without_names_has_no_places() {
    let tree = json!({ "concepts": { "c": { "$ref": "#/$defs/n" } }, "$defs": { "n": { "type": "object",
        "properties": { "amount": { "type": "integer" }, "n": { "$ref": "#/$defs/n" } }, "additionalProperties": true } } });
    let tree = casing(&tree, &SchemaLimits::default()).unwrap();
    assert_eq!(tree.nodes.len(), 3, "the concept, the definition, the amount");
    let open = json!({ "concepts": { "c": { "type": "object", "additionalProperties": true } } });
    assert_eq!(casing(&open, &SchemaLimits::default()).unwrap().nodes, []);
    // a place that bounds its members stays, for the comparison
    let map = json!({ "concepts": { "c": { "type": "object", "additionalProperties": { "type": "object", "additionalProperties": true } } } });
    let map = casing(&map, &SchemaLimits::default()).unwrap();
    assert!(map.nodes.iter().all(|place| !place.leads_to_names()));
    assert_eq!(map.nodes.iter().map(CasingNode::is_open).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn more_names_than_may_be_are_refused() {
    let document = json!({ "concepts": { "c": { "type": "object", "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } } } } });
    let limits = SchemaLimits { max_case_names: 4, ..SchemaLimits::default() };
    assert!(matches!(casing(&document, &limits), Err(SchemaFault::Limit { limit: 4, .. })));
    let limits = SchemaLimits { max_case_names: 5, ..SchemaLimits::default() };
    assert!(casing(&document, &limits).is_ok());
}

#[test]
fn a_pattern_that_spells_out_whole_names_declares_them() {
    for (pattern, names) in [
        ("^amount$", vec!["amount"]),
        ("^(net|gross)$", vec!["net", "gross"]),
        ("^a$|^b$", vec!["a", "b"]),
        ("^[Aa]b$", vec!["Ab", "ab"]),
        ("amount", vec![]),
        ("^amount", vec![]),
        ("^amount|fee$", vec![]),
        ("^am.unt$", vec![]),
        ("^a+$", vec![]),
        ("(?m)^a$", vec![]),
        ("^[a-z]$|^b", vec![]),
    ] {
        assert_eq!(literal_texts(pattern), names, "{pattern}");
    }
}

/// The comparison reads the rule off the same places.
#[test]
fn what_is_called_compatible_accepts_every_twin_that_the_other_does_not_take_at_will() {
    let (mut held, mut refused) = (0_u32, 0_u32);
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let (mut old, mut new) = documents(&mut random);
        opened(&mut old, &mut Random::new(seed));
        opened(&mut new, &mut Random::new(seed));
        let context = |document: &Value| {
            let bytes = document.to_string();
            Context::check(bytes.as_bytes(), &Prefix::default(), &DocumentLimits::default()).ok()
        };
        let (Some(first), Some(second)) = (context(&old), context(&new)) else { continue };
        let comparison = compare(&first, &second, &CompareLimits::default());
        let accepts = |context: &Context, value: &Value| {
            let text = value.to_string();
            let tree = read(text.as_bytes(), &Limits::default()).unwrap();
            let object = tree.as_object()?;
            Some(context.shapes().next()?.conform(object, None).map_err(|fault| fault.rule))
        };
        for _ in 0..30 {
            let value = value_for(&old["concepts"]["c"], &old["$defs"], &mut random, 0);
            let value = twisted(&value, &mut random);
            if accepts(&first, &value) != Some(Ok(())) {
                continue;
            }
            let there = accepts(&second, &value);
            if comparison.verdict == Verdict::Compatible {
                let shapes = first.shapes().next().zip(second.shapes().next());
                let excused = || shapes.is_some_and(|(older, newer)| excused(older, newer, &value));
                let passes = there == Some(Ok(())) || (there == Some(Err("case".to_owned())) && excused());
                assert!(passes, "{seed}: {there:?} for {value} under {old} and {new}");
                held += 1;
            }
            refused += u32::from(there == Some(Err("case".to_owned())));
        }
    }
    assert!(held > 300 && refused > 5, "{held} {refused}");
}
