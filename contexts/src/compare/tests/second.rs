//! A second opinion: `jsonschema::canonical` on the same emitted schemas, over random pairs. It knows nothing of how we decide, so where
//! both answer they must agree; what it does not decide says nothing.

use jsonschema::canonical::{CanonicalView, Containment, options};
use jsonschema::{Draft, PatternOptions};
use serde_json::{Map, Value, json};

use super::super::document::emitted;
use super::super::*;
use crate::compare::tests::hunt::random::{Random, documents};
use crate::document::{Context, DocumentLimits};
use crate::urn::Prefix;

/// What free text refuses, for an engine that has no such keyword.
const PLAIN: &str =
    "^[^\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\U000e0000-\\U000e007f]*$";

/// The schema without our own keywords.
fn standard(schema: &Value, codes: &std::collections::BTreeMap<String, Vec<String>>) -> Value {
    match schema {
        Value::Object(map) => {
            let mut out = Map::new();
            let mut all = Vec::new();
            for (keyword, value) in map {
                match (keyword.as_str(), value) {
                    ("x-code-list", Value::String(name)) => all.push(json!({ "enum": codes[name] })),
                    ("x-free-text", Value::Bool(true)) => all.push(json!({ "pattern": PLAIN })),
                    (_, value) => drop(out.insert(keyword.clone(), standard(value, codes))),
                }
            }
            if !all.is_empty() {
                if let Some(Value::Array(more)) = out.remove("allOf") {
                    all.extend(more);
                }
                out.insert("allOf".to_owned(), Value::Array(all));
            }
            Value::Object(out)
        }
        Value::Array(list) => list.iter().map(|schema| standard(schema, codes)).collect(),
        other => other.clone(),
    }
}

fn whole(context: &Context) -> Value {
    let emitted = emitted(context).unwrap();
    let mut root = standard(&emitted.roots[0], &emitted.codes);
    let defs: Map<String, Value> = emitted
        .definitions
        .iter()
        .map(|(name, schema)| (name.clone(), standard(schema, &emitted.codes)))
        .collect();
    if let (Value::Object(map), false) = (&mut root, defs.is_empty()) {
        map.insert("$defs".to_owned(), Value::Object(defs));
    }
    root
}

/// Theirs, or why they have none.
fn opinion(old: &Value, new: &Value) -> Result<bool, String> {
    let canonical = |schema: &Value| {
        options()
            .with_draft(Draft::Draft202012)
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(PatternOptions::regex())
            .canonicalize(schema)
            .map_err(|error| format!("error: {error}"))
    };
    let (old, new) = (canonical(old)?, canonical(new)?);
    for side in [&old, &new] {
        if let CanonicalView::Raw(raw) = side.view() {
            return Err(format!("raw: {:?}", raw.reason));
        }
    }
    match new.covers(&old).map_err(|error| format!("error: {error}"))? {
        Containment::Yes => Ok(true),
        Containment::No => Ok(false),
        Containment::Unknown => Err("unknown".to_owned()),
    }
}

#[test]
fn a_second_opinion_never_contradicts_ours() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, count) =
        (number("SEMGATE_HUNT_SEED").unwrap_or(500_000), number("SEMGATE_HUNT_PAIRS").unwrap_or(150));
    let read = |document: &str| {
        Context::check(document.as_bytes(), &Prefix::default(), &DocumentLimits::default().published()).ok()
    };
    let limits = CompareLimits { max_steps: 100_000, ..CompareLimits::default() };
    let (mut both, mut ours, mut pairs, mut apart) = (0, 0, 0, Vec::new());
    let mut none: std::collections::BTreeMap<String, i32> = std::collections::BTreeMap::new();
    for seed in first..first + count {
        let (old, new) = documents(&mut Random::new(seed));
        // no two names that differ only in case: that the rule `case` refuses one of them they do not know
        let apart_in_more = |document: &Value| document.to_string().replace(r#""A""#, r#""D""#);
        let [old, new] = [&old, &new].map(apart_in_more);
        let (Some(left), Some(right)) = (read(&old), read(&new)) else { continue };
        pairs += 1;
        let part = compare(&left, &right, &limits).parts.remove(0);
        ours += i32::from(part.verdict != Verdict::Unknown);
        let (before, after) = (whole(&left), whole(&right));
        let theirs = match opinion(&before, &after) {
            Ok(theirs) => theirs,
            Err(why) => {
                *none.entry(why).or_insert(0) += 1;
                continue;
            }
        };
        let agree = match part.verdict {
            Verdict::Compatible => theirs,
            Verdict::Breaking => !theirs,
            Verdict::Unknown => continue,
        };
        both += 1;
        if !agree {
            apart.push(format!(
                "seed {seed}: ours {} {:?}, theirs {theirs}\n{before}\n{after}",
                part.verdict, part.witness
            ));
        }
    }
    println!(
        "{pairs} pairs: ours decided {ours}, both {both}, apart {}; theirs had none: {none:?}",
        apart.len()
    );
    for one in &apart {
        println!("{one}");
    }
    assert!(
        apart.iter().all(|one| !one.contains("ours compatible")),
        "they say that something is refused which we call compatible"
    );
}
