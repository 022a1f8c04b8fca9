//! Breaks whose content is too large to be written, and lengths beside formats.

use serde_json::{Value, json};

use super::super::*;
use super::hunt::Hunt;
use super::{beyond, both_ways, compared, concept, object, pairs, within};

#[track_caller]
fn described(old: Value, new: Value) -> String {
    let part = concept(&object(&old), &object(&new));
    assert_eq!((part.verdict, part.witness.is_none()), (Verdict::Breaking, true), "{}", part.reason);
    part.described.unwrap()
}

#[test]
fn a_length_that_no_witness_can_show_is_described() {
    let text = |most: u64| json!({ "type": ["string", "null"], "maxLength": most });
    within(text(100_000), text(200_000));
    assert_eq!(described(text(200_000), text(100_000)), "a text of 100001 characters at `/m`");
    assert_eq!(described(json!({ "type": "string" }), text(65_535)), "a text of 65536 characters at `/m`");
    let list = |most: u64| json!({ "type": "array", "items": text(9), "maxItems": most });
    assert_eq!(described(list(60_000), list(50_000)), "an array of 50001 items at `/m`");
    let map = |most: u64| json!({ "type": "object", "additionalProperties": { "type": "integer" }, "maxProperties": most });
    assert_eq!(described(map(60_000), map(50_000)), "an object of 50001 members at `/m`");
    let inner = |most: u64| json!({ "type": "array", "items": list(most), "minItems": 1 });
    assert_eq!(described(inner(60_000), inner(50_000)), "an array of 50001 items at `/m/0`");
}

#[test]
fn more_values_than_a_message_holds_are_described() {
    let rows = json!({ "type": "array", "minItems": 10_662, "items": { "type": "string" } });
    let two = json!({ "type": "object", "properties": { "x": rows, "y": rows }, "required": ["x", "y"] });
    let other = json!({ "type": "object", "properties": { "x": { "type": "array", "items": { "type": "integer" } }, "y": true } });
    assert_eq!(described(two, other), "more than 20000 values at `/m`");
}

#[test]
fn attack_what_cannot_be_is_not_described() {
    let long = json!({ "type": "string", "minLength": 30_000, "maxLength": 29_000 });
    let refused = super::super::super::Context::check(
        json!({ "context": "urn:contexts:t:v1.0", "concepts": { "c": object(&long) } })
            .to_string()
            .as_bytes(),
        &crate::Prefix::default(),
        &crate::DocumentLimits::default().published(),
    );
    assert!(refused.is_err());
    let never = json!({ "type": "string", "allOf": [{ "minLength": 30_000 }, { "maxLength": 29_000 }] });
    within(never, json!({ "type": "string", "maxLength": 5 }));
    let none = json!({ "type": "array", "minItems": 30_000, "items": { "type": "string", "allOf": [{ "minLength": 3 }, { "maxLength": 2 }] } });
    within(none, json!({ "type": "integer" }));
    let few = json!({ "type": "object", "minProperties": 30_000, "properties": { "a": true } });
    let part = concept(&object(&few), &object(&json!({ "type": "integer" })));
    assert_ne!(part.verdict, Verdict::Breaking);
}

/// A described break is one in truth: with room to write it, the same pair has a witness that both validators judge, or is not decided.
#[test]
fn attack_a_described_break_that_is_none() {
    let limits = CompareLimits { max_size: 1, max_values: 4, ..CompareLimits::default() };
    let mut hunt = Hunt::new(limits);
    let mut seen = 0;
    for seed in 41_000..43_000 {
        let before = hunt.described;
        hunt.pair(seed);
        if hunt.described > before {
            seen += 1;
            let mut again = Hunt::new(CompareLimits::default());
            again.pair(seed);
            assert_eq!(again.compatible, 0, "seed {seed} is described as a break and compatible");
        }
    }
    assert!(seen > 20, "only {seen} breaks were described");
}

#[test]
fn formats_beside_null_and_lengths_are_decided_both_ways() {
    let text = |most: u64| json!({ "type": ["string", "null"], "maxLength": most });
    for (format, most) in [("email", 318), ("uuid", 36), ("date", 10), ("hostname", 253), ("ipv4", 15)] {
        let of = json!({ "type": "string", "format": format });
        both_ways(of.clone(), text(most));
        both_ways(of.clone(), json!({ "anyOf": [of, { "type": "null" }] }));
    }
    for (format, most) in
        [("email", 100), ("email", 317), ("uri", 2_048), ("date-time", 25), ("hostname", 252)]
    {
        beyond(json!({ "type": "string", "format": format }), text(most));
    }
    let email = |rest: Value| {
        let mut schema = json!({ "type": "string", "format": "email" });
        schema.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        schema
    };
    both_ways(email(json!({ "minLength": 6 })), email(json!({})));
    both_ways(email(json!({ "minLength": 250 })), email(json!({ "minLength": 249 })));
    both_ways(email(json!({ "pattern": "^[a-z]{3}@b[.]org$" })), email(json!({ "maxLength": 9 })));
    both_ways(
        json!({ "type": "string", "format": "uri", "pattern": "^https:" }),
        json!({ "type": "string", "format": "uri" }),
    );
}

#[test]
fn listed_arrays_and_objects_are_compared_by_what_stands_in_them() {
    pairs(
        r#"
        {"const":{"a":1}} < {"enum":[{"a":1},{"a":2},[1]]}
        {"enum":[[1,"x"],[]]} < {"type":"array","maxItems":2}
        {"const":{"a":[1]}} < {"type":"object","properties":{"a":{"type":"array"}}}
        {"type":"array","items":{"type":"string"}} < {"type":"array"}
        {"type":"string"} < {}
        {} in true
        true in {"description":"any"}
        {"minLength":3} < {"minLength":2}
    "#,
    );
}

#[test]
fn bounds_past_every_number_of_a_message_bind_nothing_or_all() {
    let most = |bound: Value| json!({ "type": "integer", "maximum": bound });
    within(json!({ "type": "integer" }), most(json!(9_223_372_036_854_775_807_i64)));
    within(most(json!(1e300)), most(json!(9_007_199_254_740_991_i64)));
    within(json!({ "type": "integer", "minimum": 1e19 }), json!({ "type": "integer", "maximum": 0 }));
    beyond(most(json!(18_446_744_073_709_551_615_u64)), most(json!(9_007_199_254_740_990_i64)));
    within(
        json!({ "type": "string" }),
        json!({ "type": "string", "maxLength": 18_446_744_073_709_551_615_u64 }),
    );
    let same = json!({ "context": "urn:contexts:t:v1.0", "concepts": { "c": object(&most(json!(1e19))) } });
    assert_eq!(compared(&same, &same).verdict, Verdict::Compatible);
}

#[test]
fn bug_a_bound_past_every_message_was_called_a_break_with_a_length_that_no_message_has() {
    for old in [
        json!({ "type": "string", "minLength": 1e300 }),
        json!({ "type": "array", "items": { "type": "string" }, "minItems": 1e300 }),
        json!({ "type": "object", "additionalProperties": true, "minProperties": 5_000_000_000_u64 }),
    ] {
        let part = concept(&object(&old), &object(&json!({ "type": "integer" })));
        assert_eq!(part.verdict, Verdict::Unknown, "{old}: {part:?}");
        assert!(part.described.is_none());
    }
}
