//! The rule `case` in comparisons.

use serde_json::{Value, json};

use super::super::*;
use super::{compared, concept, concept_as, context, object};

/// The first is answered by the newer version, and the second is what the older one reads.
fn answered(first: &Value, second: &Value) -> Part {
    concept_as(second, first, Role::Answers)
}

#[test]
fn open_objects_have_no_members_that_differ_in_case() {
    let open =
        |name: &str| json!({ "type": "object", "properties": { name: true }, "additionalProperties": true });
    let part = concept(&open("a"), &open("a"));
    assert_eq!(part.verdict, Verdict::Compatible);
    let part = answered(&json!({ "type": "object", "additionalProperties": true }), &open("amount"));
    assert_eq!(part.verdict, Verdict::Breaking);
    assert_eq!(part.witness.unwrap().refused.rule, "case");
    let taken = |name: &str| json!({ "type": "object", "properties": { name: { "type": "integer" } }, "maxProperties": 1, "minProperties": 1 });
    for twin in ["ri\u{17f}k", "ris\u{212a}", "RISK"] {
        let part = concept(&taken(twin), &open("risk"));
        assert_eq!(part.verdict, Verdict::Breaking, "{twin}");
        assert_eq!(part.witness.unwrap().refused.rule, "case");
    }
}

#[test]
fn attack_a_name_that_only_a_branch_declares_breaks_what_held_its_twin() {
    let named = json!({ "properties": { "amount": { "type": "integer" } } });
    let old = json!({ "type": "object", "additionalProperties": true });
    let with = |keyword: &str, value: Value| json!({ "type": "object", "additionalProperties": true, keyword: value });
    let conditional =
        json!({ "type": "object", "additionalProperties": true, "if": { "required": ["k"] }, "then": named });
    for new in [
        with("anyOf", json!([named, { "required": ["k"] }])),
        with(
            "oneOf",
            json!([named, { "properties": { "amount": { "type": "string" } }, "required": ["amount"] }]),
        ),
        with("dependentSchemas", json!({ "k": named })),
        with("patternProperties", json!({ "^amount$": { "type": "integer" } })),
        with("required", json!(["amount"])),
        conditional,
    ] {
        let part = concept(&old, &new);
        assert_eq!(part.verdict, Verdict::Breaking, "{new}: {part:?}");
        // what the rule alone refuses: names are taken, and nothing else is said
        if let Some(part) = Some(part).filter(|_| new.get("dependentSchemas").is_some()) {
            assert!(["case", "type"].contains(&part.witness.unwrap().refused.rule.as_str()));
        }
        assert_eq!(concept(&new, &new).verdict, Verdict::Compatible, "{new}");
    }
}

#[test]
fn attack_a_twin_alone_breaks_wherever_its_name_is_declared() {
    let declared = json!({ "type": "object", "additionalProperties": true, "properties": { "a": true } });
    let loose = json!({ "type": "object", "additionalProperties": true });
    let map = |inside: &Value| json!({ "type": "object", "additionalProperties": inside });
    let item = |inside: &Value| object(&json!({ "type": "array", "prefixItems": [inside], "items": false }));
    let union = |inside: &Value| object(&json!({ "anyOf": [inside, { "type": "string" }] }));
    let branch = |inside: &Value| json!({ "type": "object", "additionalProperties": true, "anyOf": [inside, { "type": "object", "additionalProperties": true }] });
    let twins: [&dyn Fn(&Value) -> Value; 4] = [&map, &item, &union, &branch];
    for inside in twins {
        assert_eq!(concept(&inside(&loose), &inside(&declared)).verdict, Verdict::Compatible);
        let part = answered(&inside(&loose), &inside(&declared));
        assert_eq!(part.verdict, Verdict::Breaking, "{part:?}");
        assert_eq!(part.witness.unwrap().refused.rule, "case");
        assert_eq!(concept(&inside(&declared), &inside(&loose)).verdict, Verdict::Compatible);
        assert_eq!(concept(&inside(&declared), &inside(&declared)).verdict, Verdict::Compatible);
    }
    let tested = json!({ "type": "array", "items": true, "maxItems": 1, "minItems": 1 });
    let mut named = tested.clone();
    named["contains"] = json!({ "anyOf": [declared, { "type": ["null", "object"] }] });
    let part = answered(
        &object(&json!({ "type": "array", "items": loose, "maxItems": 1, "minItems": 1 })),
        &object(&named),
    );
    assert_eq!(part.witness.expect("a name that is only tested").refused.rule, "case");
}

#[test]
fn attack_a_twin_far_down_a_tree_breaks_and_trees_that_are_one_do_not() {
    let with = |minor: u32, names: Value| {
        let mut members = json!({ "n": { "$ref": "#/$defs/n" } });
        members.as_object_mut().unwrap().extend(names.as_object().unwrap().clone());
        let tree = json!({ "type": "object", "properties": members, "additionalProperties": true });
        json!({ "context": format!("urn:contexts:test:v1.{minor}"), "concepts": { "c": object(&json!({ "$ref": "#/$defs/n" })) }, "$defs": { "n": tree },
            "title": format!("{minor}") })
    };
    let part = |old: &Value, new: &Value| compared(old, new).parts.remove(0);
    let (none, one) = (json!({}), json!({ "a": true }));
    assert_eq!(part(&with(0, none.clone()), &with(1, one.clone())).verdict, Verdict::Compatible);
    let (old, new) = (context(&with(0, one.clone())), context(&with(1, none.clone())));
    let answers = Some(Role::Answers);
    let broken =
        compare_as(&old, &new, answers, &CompareLimits::default(), &CancelToken::default()).parts.remove(0);
    assert_eq!(broken.witness.expect("a break").refused.rule, "case");
    assert_eq!(part(&with(0, one.clone()), &with(1, none)).verdict, Verdict::Compatible);
    assert_eq!(part(&with(0, one.clone()), &with(1, one)).verdict, Verdict::Compatible);
}

/// Members are not keywords: what stands under a member called `const` is a schema.
#[test]
fn attack_an_open_object_under_a_member_that_is_called_as_a_keyword_is_not_taken_for_closed() {
    for name in ["const", "enum", "required", "uniqueItems"] {
        let part = |inside: &Value| json!({ "type": "object", "properties": { name: inside } });
        let loose = json!({ "type": "object", "additionalProperties": true });
        let named = json!({ "type": "object", "additionalProperties": true, "properties": { "a": true } });
        let broken = answered(&part(&loose), &part(&named));
        assert_eq!(broken.witness.expect("a break").refused.rule, "case", "{name}");
    }
}

#[test]
fn a_member_added_to_an_open_object_breaks_nothing_by_case_alone() {
    let open =
        |members: Value| json!({ "type": "object", "properties": members, "additionalProperties": true });
    let (none, one) = (open(json!({ "id": true })), open(json!({ "id": true, "amount": true })));
    assert_eq!(concept(&none, &one).verdict, Verdict::Compatible);
    // by its type it still breaks, and the witness shows the name as it is declared
    let typed = open(json!({ "id": true, "amount": { "type": "integer" } }));
    let part = concept(&none, &typed);
    assert_eq!(part.witness.expect("a break").refused.rule, "type");
}

#[test]
fn attack_a_new_member_that_is_a_twin_of_a_declared_one_or_of_a_closed_object_breaks() {
    let open =
        |members: Value| json!({ "type": "object", "properties": members, "additionalProperties": true });
    // `Id` was no member before, since `id` was declared; with both declared it is one
    let part = concept(&open(json!({ "Id": true })), &open(json!({ "id": true })));
    assert_eq!(part.witness.expect("a break").refused.rule, "case");
    let part = concept(
        &json!({ "type": "object", "additionalProperties": true, "propertyNames": { "enum": ["Amount"] } }),
        &json!({ "type": "object", "properties": { "amount": true } }),
    );
    assert_eq!(part.witness.expect("a break").refused.rule, "additionalProperties");
    // declared in the same place by another way
    let list = |items: Value| object(&json!({ "type": "array", "items": items }));
    let part = concept(
        &list(json!({ "anyOf": [open(json!({ "A": true })), { "type": "null" }] })),
        &list(open(json!({ "a": true }))),
    );
    assert_eq!(part.verdict, Verdict::Breaking);
}

/// A place that bounds its names or values took no member at will: a new name that refuses what it took breaks.
#[test]
fn attack_a_new_name_breaks_where_the_older_version_bounds_the_members() {
    let int = || json!({ "type": "integer" });
    let text = || json!({ "type": "string" });
    let whole = |x: Value| json!({ "type": "object", "properties": { "x": x }, "required": ["x"] });
    let map = |members: Value, rest: Value| json!({ "type": "object", "properties": members, "additionalProperties": rest });
    let amount = || map(json!({ "amount": text() }), text());
    let list = |items: Value| json!({ "type": "array", "items": items });
    let pairs = [
        (whole(json!({ "const": { "Amount": "q" } })), whole(amount())),
        (
            whole(json!({ "enum": [{ "Amount": "q" }, null] })),
            whole(json!({ "anyOf": [amount(), { "type": "null" }] })),
        ),
        (whole(list(json!({ "enum": [{ "Id": "1" }] }))), whole(list(map(json!({ "id": text() }), text())))),
        (
            whole(json!({ "const": { "y": [{ "Amount": "q" }] } })),
            whole(map(json!({ "y": list(amount()) }), json!(true))),
        ),
        (
            whole(
                json!({ "propertyNames": { "enum": ["USD", "EUR"] }, "type": "object", "additionalProperties": int() }),
            ),
            whole(map(json!({ "usd": int() }), int())),
        ),
        (
            whole(
                json!({ "type": "object", "patternProperties": { "^[A-Z]{3}$": int() }, "additionalProperties": false }),
            ),
            whole(
                json!({ "type": "object", "patternProperties": { "^[A-Z]{3}$": int() }, "additionalProperties": false, "properties": { "usd": int() } }),
            ),
        ),
        (whole(map(json!({}), text())), whole(map(json!({ "note": text() }), text()))),
        (
            whole(
                json!({ "type": "object", "additionalProperties": true, "propertyNames": { "maxLength": 3 } }),
            ),
            whole(map(json!({ "usd": true }), json!(true))),
        ),
        (
            whole(json!({ "anyOf": [map(json!({}), json!(true)), map(json!({}), int())] })),
            whole(map(json!({ "usd": true }), json!(true))),
        ),
        (
            json!({ "type": "object", "patternProperties": { "^[A-Z]{3}$": int() } }),
            json!({ "type": "object", "patternProperties": { "^[A-Z]{3}$": int() }, "properties": { "usd": int() } }),
        ),
    ];
    for (old, new) in pairs {
        let part = concept(&old, &new);
        assert_eq!(part.verdict, Verdict::Breaking, "{old} and {new}: {part:?}");
        assert_eq!(part.witness.expect("a break").refused.rule, "case", "{old} and {new}");
    }
}

#[test]
fn a_new_name_in_a_plainly_open_place_breaks_nothing_by_case_however_the_place_is_opened() {
    let whole = |x: Value| json!({ "type": "object", "properties": { "x": x } });
    let open = || json!({ "type": "object", "additionalProperties": true });
    let named =
        || json!({ "type": "object", "additionalProperties": true, "properties": { "amount": true } });
    let nothing = || json!({ "type": "null" });
    let pairs = [
        (whole(open()), whole(named())),
        (whole(json!({})), whole(json!({ "additionalProperties": true, "properties": { "amount": true } }))),
        (whole(json!({ "anyOf": [open(), nothing()] })), whole(json!({ "anyOf": [named(), nothing()] }))),
        (
            whole(
                json!({ "type": "object", "unevaluatedProperties": true, "allOf": [{ "properties": { "id": true } }] }),
            ),
            whole(
                json!({ "type": "object", "unevaluatedProperties": true, "properties": { "id": true, "amount": true } }),
            ),
        ),
        (
            whole(
                json!({ "type": "object", "additionalProperties": true, "properties": { "k": { "enum": ["a", "b"] } } }),
            ),
            whole(
                json!({ "type": "object", "additionalProperties": true, "properties": { "k": { "enum": ["a", "b"] }, "amount": true } }),
            ),
        ),
        (
            whole(json!({ "type": "array", "items": open() })),
            whole(json!({ "type": "array", "items": named() })),
        ),
    ];
    for (old, new) in pairs {
        let part = concept(&old, &new);
        assert_eq!(part.verdict, Verdict::Compatible, "{old} and {new}: {part:?}");
    }
}
