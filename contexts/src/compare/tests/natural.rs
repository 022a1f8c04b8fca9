//! Pairs as people write them that were unknown once.

use super::*;

fn list(more: &Value) -> Value {
    let mut list = json!({ "type": "array", "items": { "type": "string", "maxLength": 9 }, "maxItems": 100 });
    for (name, value) in more.as_object().unwrap() {
        list[name] = value.clone();
    }
    list
}

/// Items that begin with `a`, so many of them at least and at most.
fn counted(least: u64, most: Option<u64>) -> Value {
    let mut list = list(&json!({ "contains": { "pattern": "^a" }, "minContains": least }));
    if let Some(most) = most {
        list["maxContains"] = json!(most);
    }
    list
}

#[test]
fn bounds_of_contains_that_are_raised_or_lowered() {
    both_ways(counted(2, None), counted(1, None));
    both_ways(counted(2, Some(2)), counted(1, Some(3)));
    both_ways(counted(0, Some(1)), counted(0, Some(2)));
    both_ways(counted(40, None), counted(30, None));
    both_ways(counted(70, None), counted(60, None));
    both_ways(counted(1, Some(60)), counted(1, Some(70)));
    assert_eq!(beyond(counted(2, Some(2)), counted(3, None))["m"], json!(["a", "a"]));
    // a bound that lies beside the other, and one that is no bound
    beyond(counted(1, Some(2)), counted(2, Some(3)));
    beyond(counted(2, Some(3)), counted(1, Some(2)));
    within(counted(0, None), list(&json!({})));
    within(list(&json!({})), counted(0, None));
}

#[test]
fn the_same_contains_beside_another_change() {
    let main =
        json!({ "type": "object", "properties": { "kind": { "const": "main" } }, "required": ["kind"] });
    let items = |most: u64| {
        json!({ "type": "array", "maxItems": most, "contains": main, "maxContains": 1,
            "items": { "type": "object", "properties": { "kind": { "type": "string", "maxLength": 9 } }, "required": ["kind"] } })
    };
    both_ways(items(10), items(12));
    let two = |a: u64, b: u64| {
        list(
            &json!({ "allOf": [{ "contains": { "const": "a" }, "maxContains": a }, { "contains": { "const": "b" }, "maxContains": b }] }),
        )
    };
    both_ways(two(1, 1), two(2, 2));
    beyond(two(1, 2), two(2, 1));
    // at most one of two kinds, so that of two items one is of the other
    let of_two = |more: &Value| {
        let mut list = json!({ "type": "array", "items": { "enum": ["a", "b"] }, "maxItems": 9 });
        for (name, value) in more.as_object().unwrap() {
            list[name] = value.clone();
        }
        list
    };
    let one_a =
        of_two(&json!({ "contains": { "const": "a" }, "minContains": 0, "maxContains": 1, "minItems": 2 }));
    within(one_a.clone(), of_two(&json!({ "contains": { "const": "b" } })));
    let both = beyond(one_a.clone(), of_two(&json!({ "contains": { "const": "b" }, "minContains": 2 })));
    assert!([json!(["a", "b"]), json!(["b", "a"])].contains(&both["m"]), "{both}");
    let mut three = one_a;
    three["minItems"] = json!(3);
    within(three, of_two(&json!({ "contains": { "const": "b" }, "minContains": 2 })));
    // what is counted is a part of what is bounded
    within(
        list(&json!({ "contains": { "pattern": "^a" }, "maxContains": 1 })),
        list(&json!({ "contains": { "const": "ab" }, "minContains": 0, "maxContains": 1 })),
    );
}

#[test]
fn different_items_of_few() {
    let of = |all: Value, more: &Value| {
        let mut list =
            json!({ "type": "array", "items": { "enum": all }, "maxItems": 9, "uniqueItems": true });
        for (name, value) in more.as_object().unwrap() {
            list[name] = value.clone();
        }
        list
    };
    let days = json!(["mo", "tu", "we"]);
    // there are no more of them than the days
    within(of(days.clone(), &json!({})), of(days.clone(), &json!({ "maxItems": 3 })));
    beyond(of(days.clone(), &json!({})), of(days.clone(), &json!({ "maxItems": 2 })));
    within(
        of(json!([true, false, null]), &json!({})),
        of(json!([true, false, null]), &json!({ "maxItems": 3 })),
    );
    // with one that must be there the others are fewer, and all of them as many
    let with = of(days.clone(), &json!({ "contains": { "const": "tu" } }));
    within(with.clone(), of(days.clone(), &json!({ "maxItems": 3 })));
    let all = beyond(with, of(days.clone(), &json!({ "maxItems": 2 })));
    assert_eq!(all["m"].as_array().unwrap().len(), 3);
    let same = json!({ "type": "array", "items": { "enum": days }, "maxItems": 9 });
    within(of(days.clone(), &json!({ "maxItems": 9 })), same.clone());
    beyond(same, of(days, &json!({ "maxItems": 9 })));
}

/// Which value goes where is not looked for: what is there in another order is never said to be nothing.
#[test]
fn attack_different_items_that_the_first_choice_misses_are_not_compatible() {
    let one = json!({ "type": "array", "items": { "type": "string" }, "maxItems": 1 });
    let few = json!({ "enum": ["a", "b"] });
    let places = json!({ "type": "array", "prefixItems": [few, { "const": "a" }], "items": few, "maxItems": 2, "uniqueItems": true });
    let bounded = json!({ "type": "array", "items": few, "maxItems": 9, "uniqueItems": true,
        "contains": { "const": "a" }, "minContains": 0, "maxContains": 1 });
    let wished = json!({ "type": "array", "items": few, "maxItems": 9, "uniqueItems": true, "contains": { "const": "a" } });
    let nested = json!({ "type": "array", "items": { "anyOf": [few, { "type": "array", "items": few, "maxItems": 1 }] },
        "maxItems": 9, "uniqueItems": true });
    let any = json!({ "type": "array", "items": true, "maxItems": 1 });
    for (old, new) in [(places, one.clone()), (bounded, one.clone()), (wished, one), (nested, any)] {
        let part = concept(&object(&old), &object(&new));
        assert_ne!(part.verdict, Verdict::Compatible, "{old} in {new}: {}", part.reason);
    }
}

#[test]
fn addresses_and_times_beside_lengths_and_patterns() {
    let text = |more: &Value| {
        let mut text = more.clone();
        text["type"] = json!("string");
        text
    };
    let long = |format: &str, most: u64| text(&json!({ "format": format, "maxLength": most }));
    for (format, lengths) in [("ipv6", &[2, 3, 7, 8, 20, 30, 39, 40, 45][..]), ("time", &[9, 11, 14, 15, 40])]
    {
        for pair in lengths.windows(2) {
            both_ways(long(format, pair[0]), long(format, pair[1]));
        }
    }
    both_ways(long("ipv6", 44), text(&json!({ "format": "ipv6" })));
    within(text(&json!({ "format": "ipv6" })), long("ipv6", 45));
    both_ways(
        text(&json!({ "pattern": "^([0-9a-f]{4}:){7}[0-9a-f]{4}$" })),
        text(&json!({ "format": "ipv6" })),
    );
    both_ways(
        text(&json!({ "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$" })),
        text(&json!({ "format": "time" })),
    );
    // a leap second is a time at one moment of the day alone
    beyond(text(&json!({ "pattern": "^[01][0-9]:59:60Z$" })), text(&json!({ "format": "time" })));
    let leap = beyond(text(&json!({ "format": "time" })), text(&json!({ "pattern": r"^\d\d:\d\d:[0-5]\d" })));
    assert_eq!(leap, json!({ "m": "23:59:60Z" }));
    both_ways(text(&json!({ "format": "ipv6", "pattern": "::" })), text(&json!({ "format": "ipv6" })));
}

/// Equality goes by the double and `multipleOf` by the digits: of a fraction that one double stands for several texts are written, and a
/// witness holds the shortest alone.
#[test]
fn a_constant_that_is_a_fraction_is_not_shown_to_lie_on_a_grid() {
    let accepts = |schema: &Value, text: &str| {
        let plain = crate::schema::compile_plain(schema).unwrap();
        let read = crate::json::read(text.as_bytes(), &crate::json::Limits::default()).unwrap();
        plain.accepts(&read).is_ok()
    };
    let (constant, grid) = (json!({ "const": 0.1 }), json!({ "multipleOf": 0.1 }));
    for (text, on_grid) in [("0.1", true), ("0.10000000000000001", false)] {
        assert_eq!((accepts(&constant, text), accepts(&grid, text)), (true, on_grid), "{text}");
    }
    let part = concept(
        &object(&json!({ "type": "number", "const": 0.1 })),
        &object(&json!({ "type": "number", "multipleOf": 0.1 })),
    );
    assert_eq!(part.verdict, Verdict::Unknown, "{}", part.reason);
}

/// The comparison reads what the validator compiles, so that a dot means the same to both.
#[test]
fn a_dot_is_no_line_terminator_here_either() {
    let of = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    let spelt = of("^[^\\n\\r\\u2028\\u2029]*$");
    within(of("^.*$"), spelt.clone());
    within(spelt, of("^.*$"));
    both_ways(of("^.*$"), of("^[^\\n]*$"));
    let names =
        |pattern: &str| json!({ "type": "object", "patternProperties": { pattern: { "type": "integer" } } });
    both_ways(names("^k.$"), names("^k[^\\n]$"));
}
