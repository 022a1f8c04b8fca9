//! Evolutions of concepts as people make them, each with the verdict that it must get: how many are decided, and that none is decided
//! wrongly.

use semgate_contexts::compare::{CompareLimits, Verdict, compare};
use semgate_contexts::{Context, DocumentLimits, Prefix};
use serde_json::{Value, json};

fn context(corpus: &Value, schema: &Value, minor: u8) -> Context {
    let document = json!({ "context": format!("urn:contexts:test:v1.{minor}"), "concepts": { "c": schema }, "codes": corpus["codes"], "$defs": corpus["$defs"] });
    // as people write them: with patterns beside no longest length
    let mut limits = DocumentLimits::default().published();
    limits.schema.max_steps_per_node = u64::MAX;
    Context::check(document.to_string().as_bytes(), &Prefix::default(), &limits)
        .unwrap_or_else(|fault| panic!("{fault}: {schema}"))
}

#[test]
fn realistic_evolutions_are_decided_and_decided_rightly() {
    let corpus: Value = serde_json::from_str(include_str!("corpus/evolutions.json")).unwrap();
    let pairs = corpus["pairs"].as_array().unwrap();
    let (mut decided, mut wrong) = (0, Vec::new());
    for pair in pairs {
        let (old, new) = (context(&corpus, &pair["old"], 0), context(&corpus, &pair["new"], 1));
        let comparison = compare(&old, &new, &CompareLimits::default());
        let part = &comparison.parts[0];
        match part.verdict {
            Verdict::Unknown => println!("unknown: {}: {}", pair["name"], part.reason),
            verdict => {
                decided += 1;
                if pair["expect"] != verdict.as_str() {
                    wrong.push(format!("{}: {verdict}: {} {:?}", pair["name"], part.reason, part.witness));
                }
            }
        }
    }
    println!(
        "{decided} of {} pairs decided: {:.1} %",
        pairs.len(),
        100.0 * f64::from(decided) / pairs.len() as f64
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(pairs.len() >= 100 && decided * 100 >= 95 * i32::try_from(pairs.len()).unwrap());
}
