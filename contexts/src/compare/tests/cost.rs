//! Pairs that are made to take long: all of it is counted, and ends by the steps, by the time, or when nobody waits any more.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::context;
use super::endless::endless;
use crate::compare::tests::hunt::random::Random;
use crate::compare::{CancelToken, CompareLimits, Comparison, Verdict, compare_as};

/// What a slow machine that does other things takes at most for what takes a second or two; unbounded it would be minutes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Steps alone decide.
fn steps(max_steps: u64) -> CompareLimits {
    CompareLimits {
        max_steps,
        max_total_steps: 3 * max_steps,
        max_time: Duration::MAX,
        ..CompareLimits::default()
    }
}

fn document(minor: u8, concepts: Value) -> Value {
    json!({ "context": format!("urn:contexts:test:v1.{minor}"), "concepts": concepts })
}

/// Choices between members, as many as asked for, of which each rules others out.
fn choices(members: usize, choices: usize, of: usize, seed: u64) -> Vec<Value> {
    let mut random = Random::new(seed);
    let way = |random: &mut Random| {
        let name = format!("v{}", random.below(members));
        json!({ "properties": { name.clone(): { "const": random.chance(50) } }, "required": [name] })
    };
    (0..choices).map(|_| json!({ "anyOf": (0..of).map(|_| way(&mut random)).collect::<Vec<_>>() })).collect()
}

fn booleans(names: &[String]) -> Map<String, Value> {
    names.iter().map(|name| (name.clone(), json!({ "type": "boolean" }))).collect()
}

/// A concept that takes so many booleans and leaves so many choices, and one that takes none of it.
fn required(members: usize, clauses: usize, seed: u64) -> (Value, Value) {
    let names: Vec<String> = (0..members).map(|n| format!("v{n}")).collect();
    let old = json!({ "type": "object", "properties": booleans(&names), "required": names,
        "additionalProperties": false, "allOf": choices(members, clauses, 3, seed) });
    (old, json!({ "type": "object", "properties": { "v0": { "const": 5 } }, "additionalProperties": false }))
}

/// The same beside long names and patterns of names that are slow to follow.
fn patterned(length: usize, more: usize) -> (Value, Value) {
    let long = |n: usize| format!("{}{n:05}", "ab".repeat(length));
    let names: Vec<String> = (0..26).map(|n| format!("v{n}")).chain((0..more).map(long)).collect();
    let patterns = |schema: Value| -> Map<String, Value> {
        (40..44).map(|n| (format!("[ab]*a[ab]{{{n}}}c"), schema.clone())).collect()
    };
    let old = json!({ "type": "object", "properties": booleans(&names), "required": names,
        "patternProperties": patterns(json!({ "type": "boolean" })), "additionalProperties": false,
        "allOf": choices(26, 60, 3, 7000) });
    let new = json!({ "type": "object", "properties": booleans(&names),
        "patternProperties": patterns(json!({ "type": ["boolean", "string"] })), "additionalProperties": false,
        "required": ["v0", "v1"], "not": { "properties": { "v0": { "const": true } } } });
    (old, new)
}

fn timed(old: &Value, new: &Value, limits: &CompareLimits) -> (Comparison, Duration) {
    let (old, new) = (context(old), context(new));
    let began = Instant::now();
    let comparison = compare_as(&old, &new, None, limits, &CancelToken::with_clock(Instant::now));
    let took = began.elapsed();
    println!("{:?} after {took:?}: {}", comparison.verdict, comparison.parts[0].reason);
    (comparison, took)
}

fn of_one(pair: &(Value, Value), limits: &CompareLimits) -> (Comparison, Duration) {
    timed(&document(0, json!({ "c": pair.0 })), &document(1, json!({ "c": pair.1 })), limits)
}

#[test]
fn attack_answers_that_are_known_and_asked_for_at_every_choice_take_steps() {
    for seed in 0..3 {
        let (comparison, took) = of_one(&required(100, 110, seed), &steps(200_000));
        assert_ne!(comparison.verdict, Verdict::Compatible);
        assert!(took < PATIENCE, "{took:?}");
    }
}

#[test]
fn attack_several_concepts_end_together() {
    let concepts =
        |pick: &dyn Fn(u64) -> Value| document(0, (0..3).map(|n| (format!("c{n}"), pick(n))).collect());
    let old = concepts(&|seed| required(100, 110, seed).0);
    let mut new = concepts(&|seed| required(100, 110, seed).1);
    new["context"] = json!("urn:contexts:test:v1.1");
    let (comparison, took) = timed(&old, &new, &steps(200_000));
    assert_ne!(comparison.verdict, Verdict::Compatible);
    assert!(took < PATIENCE, "{took:?}");
}

#[test]
fn attack_patterns_of_names_followed_over_long_names_take_steps() {
    let (comparison, took) = of_one(&patterned(30, 20), &steps(200_000));
    assert_ne!(comparison.verdict, Verdict::Compatible);
    assert!(took < PATIENCE, "{took:?}");
    let (_, took) = of_one(&patterned(100, 60), &steps(200_000));
    assert!(took < PATIENCE, "{took:?}");
}

#[test]
fn attack_patterns_of_too_many_states_take_steps() {
    let (comparison, took) = of_one(&endless(), &steps(200_000));
    assert_eq!(comparison.parts[0].reason, "the limit of steps");
    assert!(took < PATIENCE, "{took:?}");
}

#[test]
fn attack_arrays_of_arrays_make_no_witness_that_no_message_holds() {
    let mut schema = json!({ "type": "integer" });
    for _ in 0..6 {
        schema = json!({ "type": "array", "minItems": 15_000, "maxItems": 20_000, "items": schema });
    }
    let concept =
        |member: Value| json!({ "type": "object", "properties": { "m": member }, "required": ["m"] });
    let pair = (concept(schema), concept(json!({ "type": "string" })));
    let (comparison, took) = of_one(&pair, &steps(2_000_000));
    assert_eq!(comparison.verdict, Verdict::Unknown);
    assert!(took < PATIENCE, "{took:?}");
}

#[test]
fn what_costs_more_than_it_counts_ends_by_the_time() {
    let limits = CompareLimits { max_time: Duration::from_millis(300), ..steps(u64::MAX / 4) };
    let (comparison, took) = of_one(&endless(), &limits);
    assert_eq!(comparison.verdict, Verdict::Unknown);
    assert_eq!(comparison.parts[0].reason, "the limit of time");
    assert!(took < PATIENCE, "{took:?}");
}

#[test]
fn a_comparison_that_nobody_waits_for_ends() {
    let (old, new) = endless();
    let (old, new) = (context(&document(0, json!({ "c": old }))), context(&document(1, json!({ "c": new }))));
    let stop = CancelToken::default();
    let one = stop.child();
    let caller = one.cancel_on_drop();
    let (comparison, took) = std::thread::scope(|scope| {
        let comparing = scope.spawn(|| {
            let began = Instant::now();
            (compare_as(&old, &new, None, &steps(u64::MAX / 4), &one), began.elapsed())
        });
        std::thread::sleep(Duration::from_millis(300));
        drop(caller);
        comparing.join().unwrap()
    });
    assert_eq!(comparison.parts[0].reason, "the comparison was ended");
    assert!(took < PATIENCE && one.is_cancelled() && !stop.is_cancelled(), "{took:?}");
    stop.cancel();
    assert!(stop.child().is_cancelled());
}
