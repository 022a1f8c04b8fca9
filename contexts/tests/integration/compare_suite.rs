//! The schemas of the JSON-Schema-Test-Suite 2020-12 against each other, file by file: no verdict may be contradicted by any instance that
//! the suite has for that file. The suite is fetched as `schema_suite.rs` fetches it.

use std::collections::BTreeMap;

use semgate_contexts::compare::{CompareLimits, Verdict, compare};
use semgate_contexts::{Context, DocumentLimits, Prefix, json};
use serde_json::{Value, json};

/// The schema as the standard reads it: behind two negations nothing is closed and nothing has to name a type.
fn context(schema: &Value, minor: u8) -> Option<Context> {
    let mut schema = schema.clone();
    let mut defs = json!({});
    if let Value::Object(map) = &mut schema {
        defs = map.remove("$defs").unwrap_or(defs);
        map.remove("$schema");
    }
    let types = ["array", "boolean", "number", "object", "string"];
    let member =
        json!({ "type": types, "items": true, "unevaluatedProperties": true, "not": { "not": schema } });
    let document = json!({ "context": format!("urn:contexts:test:v1.{minor}"), "$defs": defs,
        "concepts": { "c": { "type": "object", "properties": { "m": member } } } });
    Context::check(
        document.to_string().as_bytes(),
        &Prefix::default(),
        &DocumentLimits::default().published(),
    )
    .ok()
}

fn accepts(context: &Context, instance: &Value) -> Option<bool> {
    let text = json!({ "m": instance }).to_string();
    let read = json::read(text.as_bytes(), &json::Limits::default()).ok()?;
    Some(context.shapes().next()?.conform(read.as_object()?, None).is_ok())
}

#[test]
fn no_instance_of_the_suite_contradicts_a_verdict() {
    let folder = crate::schema_suite::suite();
    let limits = CompareLimits { max_steps: 100_000, ..CompareLimits::default() };
    let apart = std::env::var("SEMGATE_SUITE_APART").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let (mut counts, mut unknown) = ([0_u64; 3], BTreeMap::<String, u64>::new());
    let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    for file in names.iter().filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
        let cases: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let cases = cases.as_array().unwrap();
        let schemas: Vec<&Value> = cases.iter().map(|case| &case["schema"]).collect();
        let instances: Vec<&Value> = cases
            .iter()
            .flat_map(|case| case["tests"].as_array().unwrap())
            .map(|test| &test["data"])
            .collect();
        for (index, schema) in schemas.iter().enumerate() {
            let Some(old) = context(schema, 0) else { continue };
            for other in schemas.iter().cycle().skip(index).take(1 + apart) {
                let Some(new) = context(other, 1) else { continue };
                let comparison = compare(&old, &new, &limits);
                let part = &comparison.parts[0];
                counts[part.verdict as usize] += 1;
                match part.verdict {
                    Verdict::Compatible => {
                        for instance in &instances {
                            let wrong = accepts(&old, instance) == Some(true)
                                && accepts(&new, instance) == Some(false);
                            assert!(!wrong, "{}: {schema} in {other}: {instance}", file.display());
                        }
                    }
                    Verdict::Breaking => {
                        let witness = &part.witness.as_ref().unwrap().content["m"];
                        assert!(
                            accepts(&old, witness) == Some(true) && accepts(&new, witness) == Some(false)
                        );
                    }
                    Verdict::Unknown => *unknown.entry(part.reason.clone()).or_default() += 1,
                }
            }
        }
    }
    let [compatible, unknowns, breaking] = counts;
    let all = compatible + unknowns + breaking;
    println!(
        "{all} pairs: {compatible} compatible, {breaking} breaking, {unknowns} unknown: {:.1} % decided; {unknown:?}",
        100.0 * (all - unknowns) as f64 / all as f64
    );
    assert!(all > 300 && (all - unknowns) * 100 >= all * 95, "{unknown:?}");
}
