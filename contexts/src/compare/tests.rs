//! Verdicts on pairs of schemas, by construct.

use serde_json::{Value, json};

mod approvals;
mod case_collisions;
mod cost;
mod described;
mod endless;
mod few;
pub(crate) mod hunt;
mod natural;
mod second;

use super::*;
use crate::document::{Context, DocumentLimits};
use crate::urn::Prefix;

/// A comparison ends whatever the patterns of its documents would cost in a message.
fn any_work() -> DocumentLimits {
    let mut limits = DocumentLimits::default().published();
    limits.schema.max_steps_per_node = u64::MAX;
    limits
}

pub(super) fn context(document: &Value) -> Context {
    let read = Context::check(document.to_string().as_bytes(), &Prefix::default(), &any_work());
    read.unwrap_or_else(|fault| panic!("{fault}: {document}"))
}

pub(super) fn compared(old: &Value, new: &Value) -> Comparison {
    compare(&context(old), &context(new), &CompareLimits::default())
}

fn concept(old: &Value, new: &Value) -> Part {
    concept_as(old, new, Role::Accepts)
}

fn concept_as(old: &Value, new: &Value, role: Role) -> Part {
    let of = |schema: &Value, minor| {
        json!({ "context": format!("urn:contexts:test:v1.{minor}"), "concepts": { "c": schema },
            "codes": { "few": ["a", "b"], "more": ["a", "b", "c"] },
            "$defs": { "tree": { "type": "object", "properties": { "left": { "$ref": "#/$defs/tree" }, "value": { "type": "integer" } } },
                "deep": { "type": "object", "properties": { "left": { "$ref": "#/$defs/deep" }, "value": { "type": "integer", "maximum": 9 } } } } })
    };
    let (old, new) = (context(&of(old, 0)), context(&of(new, 1)));
    compare_as(&old, &new, Some(role), &CompareLimits::default(), &CancelToken::default()).parts.remove(0)
}

#[track_caller]
fn within(old: Value, new: Value) {
    let part = concept(&object(&old), &object(&new));
    assert_eq!(part.verdict, Verdict::Compatible, "{old} in {new}: {} {:?}", part.reason, part.witness);
}

#[track_caller]
fn beyond(old: Value, new: Value) -> Value {
    let part = concept(&object(&old), &object(&new));
    assert_eq!(part.verdict, Verdict::Breaking, "{old} in {new}: {}", part.reason);
    part.witness.unwrap().content
}

#[track_caller]
fn both_ways(narrow: Value, wide: Value) {
    within(narrow.clone(), wide.clone());
    beyond(wide, narrow);
}

/// Judges pairs of schemas: `A < B` if B is wider, `A in B` if all of A fits B, `A not in B` if not. Pairs stand on lines; a
/// line may go on with its sign on the next.
#[track_caller]
fn pairs(table: &str) {
    const SIGNS: [&str; 3] = ["not in ", "in ", "< "];
    let mut lines = table.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let mut line = line.to_owned();
        while let Some(more) = lines.next_if(|next| SIGNS.iter().any(|sign| next.starts_with(sign))) {
            line += &format!(" {more}");
        }
        let split = SIGNS.iter().find_map(|sign| Some((*sign, line.split_once(&format!(" {sign}"))?)));
        let (sign, (left, right)) = split.unwrap_or_else(|| panic!("no sign: {line}"));
        let [left, right] = [left, right].map(|text| serde_json::from_str(text).unwrap());
        match sign {
            "not in " => drop(beyond(left, right)),
            "in " => within(left, right),
            _ => both_ways(left, right),
        }
    }
}

fn object(member: &Value) -> Value {
    json!({ "type": "object", "properties": { "m": member } })
}

#[test]
fn attack_one_of_with_many_branches_is_read_without_each_pair_of_them() {
    let one_of = |most: u64| {
        let branches: Vec<Value> = (0..most).map(|n| json!({ "const": format!("b{n}") })).collect();
        json!({ "oneOf": branches })
    };
    both_ways(one_of(40), one_of(41));
    // a branch twice: what fits both fits none
    let mut twice = one_of(40);
    twice["oneOf"].as_array_mut().unwrap().push(json!({ "const": "b7" }));
    both_ways(twice, one_of(40));
    let began = std::time::Instant::now();
    let part = concept(&object(&one_of(480)), &object(&one_of(481)));
    assert_ne!(part.verdict, Verdict::Breaking, "{:?}", part.witness);
    assert!(began.elapsed().as_secs() < 60, "pairs would be a quarter of a million formulas");
}

#[test]
fn strings_by_length_pattern_list_format_and_mark() {
    pairs(
        r#"
        {"type":"string","maxLength":10} < {"type":"string"}
        {"type":"string","maxLength":10} < {"type":"string","maxLength":11}
        {"type":"string","minLength":2} < {"type":"string","minLength":1}
        {"type":"string","pattern":"^[A-Z]{3}$"} < {"type":"string","pattern":"^[A-Z]+$"}
        {"type":"string","pattern":"^[A-Z]{3}$"} in {"type":"string","minLength":3,"maxLength":3}
        {"enum":["a","b"]} < {"enum":["b","a","c"]}
        {"const":"a"} < {"enum":["a","b"]}
        {"type":"string","x-code-list":"few"} < {"type":"string","x-code-list":"more"}
        {"type":"string","x-code-list":"few"} < {"type":"string","pattern":"^[a-z]$"}
        {"type":"string","format":"date"} < {"type":"string"}
        {"type":"string","format":"date"} < {"type":"string","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
        {"type":"string","format":"uri"} in {"type":"string","format":"uri-reference"}
        {"type":"string","format":"uuid"} in {"type":"string","maxLength":36}
        {"type":"string","format":"date"} not in {"type":"string","format":"date-time"}
        {"type":"string","maxLength":50,"x-free-text":true}
            < {"type":"string","maxLength":60,"x-free-text":true}
    "#,
    );
    let witness = beyond(
        json!({ "type": "string", "maxLength": 50 }),
        json!({ "type": "string", "maxLength": 50, "x-free-text": true }),
    );
    assert!(witness["m"].as_str().unwrap().chars().any(crate::schema::is_refused));
    within(
        json!({ "type": "string", "pattern": "^[a-z]{1,9}$" }),
        json!({ "type": "string", "maxLength": 50, "x-free-text": true }),
    );
}

#[test]
fn numbers_by_their_digits() {
    pairs(
        r#"
        {"type":"integer"} < {"type":"number"}
        {"type":"number","multipleOf":0.01} < {"type":"number","multipleOf":0.0001}
        {"type":"integer","minimum":0} < {"type":"number","minimum":0,"multipleOf":0.0001}
        {"type":"number","minimum":0,"multipleOf":0.0001} < {"type":"number"}
        {"type":"number","minimum":0,"multipleOf":0.0001,"maximum":10}
            < {"type":"number","minimum":0,"multipleOf":0.0001}
        {"type":"number","exclusiveMaximum":10} < {"type":"number","maximum":10}
        {"type":"integer","exclusiveMinimum":0} in {"type":"integer","minimum":1}
        {"type":"integer","minimum":1,"maximum":3} in {"enum":[1,2,3]}
        {"type":"number","multipleOf":0.5,"minimum":0,"maximum":1} in {"enum":[0,0.5,1.0]}
        {"type":"number","minimum":0,"maximum":1}
            not in {"type":"number","minimum":0,"maximum":1,"multipleOf":0.0001}
        {"type":"integer","multipleOf":6} in {"type":"number","multipleOf":1.5}
        {"type":"number","multipleOf":0.25,"minimum":0.1,"maximum":0.3} in {"const":0.25}
        {"type":"integer"} in {"type":"integer","minimum":-9007199254740991}
    "#,
    );
}

#[test]
fn decimals_that_one_double_cannot_tell_apart_are_told_apart_or_unknown() {
    let (one, integer) = (object(&json!({ "const": 1 })), object(&json!({ "type": "integer" })));
    assert_eq!(concept(&one, &integer).verdict, Verdict::Unknown);
    let accepts = |schema: &Value| {
        let document = json!({ "context": "urn:contexts:test:v1.0", "concepts": { "c": schema } });
        let context = context(&document);
        let read =
            crate::json::read(br#"{"m":1.0000000000000001}"#, &crate::json::Limits::default()).unwrap();
        context.shapes().next().unwrap().conform(read.as_object().unwrap(), None).is_ok()
    };
    assert!(accepts(&one) && !accepts(&integer), "the reason for it: a reader of doubles sees 1");
    both_ways(json!({ "type": "integer", "const": 1 }), json!({ "type": "integer" }));
}

#[test]
fn objects_by_members_and_closing() {
    let open = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": true });
    pairs(
        r#"
        {"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}
            < {"type":"object","properties":{"a":{"type":"string"}}}
        {"type":"object","properties":{"a":{"type":"string"}}}
            < {"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}
        {"type":"object","properties":{"a":{"type":"string"}}}
            < {"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}
        {"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}
            < {"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}
        {"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}
            in {"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}
    "#,
    );
    let witness = beyond(
        open.clone(),
        json!({ "type": "object", "properties": { "a": { "type": "string" }, "note": { "type": "string" } }, "additionalProperties": true }),
    );
    assert!(!witness["m"]["note"].is_string());
    pairs(
        r#"
        {"type":"object","patternProperties":{"^x-":{"type":"string"}}}
            < {"type":"object","patternProperties":{"^x":{"type":"string"}}}
        {"type":"object","additionalProperties":true,"maxProperties":2}
            < {"type":"object","additionalProperties":true,"maxProperties":3}
        {"type":"object","additionalProperties":true,"minProperties":3}
            < {"type":"object","additionalProperties":true,"minProperties":2}
        {"type":"object","additionalProperties":true,"propertyNames":{"pattern":"^[a-z]$"}}
            < {"type":"object","additionalProperties":true,"propertyNames":{"maxLength":1}}
        {"type":"object","properties":{"a":true,"b":true},"dependentRequired":{"a":["b"]}}
            < {"type":"object","properties":{"a":true,"b":true}}
    "#,
    );
}

#[test]
fn arrays_by_length_and_items() {
    let array = |items: Value| json!({ "type": "array", "items": items });
    both_ways(array(json!({ "type": "integer" })), array(json!({ "type": "number" })));
    pairs(
        r#"
        {"type":"array","items":true,"maxItems":2} < {"type":"array","items":true,"maxItems":3}
        {"type":"array","items":true,"minItems":2} < {"type":"array","items":true,"minItems":1}
        {"type":"array","items":{"type":"integer"},"maxItems":4,"uniqueItems":true}
            < {"type":"array","items":{"type":"integer"},"maxItems":4}
    "#,
    );
    both_ways(
        json!({ "type": "array", "items": { "type": "integer" }, "contains": { "const": 1 } }),
        array(json!({ "type": "integer" })),
    );
    pairs(
        r#"
        {"type":"array","prefixItems":[{"type":"string"}],"items":false}
            < {"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}
        {"type":"array","items":true,"contains":{"type":"integer"},"maxContains":1}
            < {"type":"array","items":true,"contains":{"type":"integer"},"maxContains":2}
        {"type":"array","items":{"type":"integer","const":1},"minItems":1}
            in {"type":"array","items":true,"contains":{"type":"integer"}}
    "#,
    );
}

#[test]
fn unions_conditions_and_negations() {
    let card = json!({ "type": "object", "properties": { "kind": { "const": "card" }, "number": { "type": "string" } }, "required": ["kind", "number"] });
    let bank = json!({ "type": "object", "properties": { "kind": { "const": "bank" }, "iban": { "type": "string" } }, "required": ["kind", "iban"] });
    let cash =
        json!({ "type": "object", "properties": { "kind": { "const": "cash" } }, "required": ["kind"] });
    both_ways(json!({ "oneOf": [card, bank] }), json!({ "oneOf": [card, bank, cash] }));
    both_ways(json!({ "anyOf": [card, bank] }), json!({ "anyOf": [bank, cash, card] }));
    within(json!({ "oneOf": [card, bank] }), json!({ "anyOf": [card, bank] }));
    within(card.clone(), json!({ "oneOf": [card, bank, cash] }));
    pairs(
        r#"
        {"type":"string","maxLength":5} < {"type":["string","null"],"maxLength":5}
        {"type":"string"} < {"anyOf":[{"type":"string"},{"type":"null"}]}
        {"type":"integer","not":{"const":3}} < {"type":"integer"}
    "#,
    );
    let conditional = |then: Value| {
        json!({ "type": "object", "properties": { "a": { "type": "boolean" }, "b": { "type": "string" } },
        "if": { "properties": { "a": { "const": true } }, "required": ["a"] }, "then": then })
    };
    both_ways(conditional(json!({ "required": ["b"] })), conditional(json!({ "minProperties": 1 })));
    let base = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let extended = json!({ "type": "object", "allOf": [base, { "type": "object", "properties": { "b": { "type": "string" } } }] });
    both_ways(base, extended);
}

#[test]
fn recursion_ends() {
    pairs(
        r##"
        {"$ref":"#/$defs/deep"} < {"$ref":"#/$defs/tree"}
        {"$ref":"#/$defs/tree"} in {"$ref":"#/$defs/tree"}
    "##,
    );
}

#[test]
fn what_leads_to_a_changed_definition_is_not_called_unchanged() {
    let with = |minor: u32, maximum: u32| {
        json!({ "context": format!("urn:contexts:test:v1.{minor}"), "concepts": { "c": object(&json!({ "$ref": "#/$defs/few" })) },
            "$defs": { "few": { "type": "integer", "maximum": maximum } } })
    };
    let part = |old: &Value, new: &Value| compared(old, new).parts.remove(0);
    assert_eq!(part(&with(0, 3), &with(1, 3)).reason, "it is unchanged");
    let wider = part(&with(0, 3), &with(1, 4));
    assert_eq!(
        (wider.verdict, wider.reason.as_str()),
        (Verdict::Compatible, "the newer version accepts everything that the older one accepts")
    );
}

#[test]
fn attack_items_behind_a_prefix_are_not_forgotten() {
    let (number, integer) = (json!({ "type": "number" }), json!({ "type": "integer" }));
    let three = json!({ "type": "array", "items": number, "minItems": 2, "maxItems": 3 });
    let two = json!({ "type": "array", "prefixItems": [number, number], "items": false, "minItems": 2 });
    let part = concept(&object(&three), &object(&two));
    assert_eq!(part.verdict, Verdict::Breaking, "{part:?}");
    assert_eq!(part.witness.unwrap().refused.path, "/m/2");
    let any = json!({ "type": "array", "items": number });
    for prefix in 1..4 {
        let places = vec![number.clone(); prefix];
        let tail = json!({ "type": "array", "prefixItems": places, "items": integer });
        let part = concept(&object(&any), &object(&tail));
        assert_eq!(part.witness.expect("a break").refused.path, format!("/m/{prefix}"));
        within(object(&tail)["properties"]["m"].clone(), any.clone());
    }
}

#[test]
fn attack_a_wish_that_one_place_fulfils_anyway_is_not_taken_for_one_that_binds_another() {
    let text = json!({ "type": "string" });
    let old = json!({ "type": "array", "items": true, "allOf": [
        { "prefixItems": [true, text] }, { "not": { "items": { "not": text } } },
        { "contains": { "type": "integer" } }, { "maxItems": 2 } ] });
    let content = beyond(old, json!({ "type": "array", "items": true, "maxItems": 1 }));
    let items = content["m"].as_array().unwrap();
    assert!(items.len() == 2 && items[0].is_i64() && items[1].is_string(), "{content}");
}

#[test]
fn members_added_required_removed_or_renamed() {
    let old = json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "integer" } }, "required": ["a"] });
    let added = json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "integer" }, "c": { "type": "string" } }, "required": ["a"] });
    let part = concept(&old, &added);
    assert_eq!((part.verdict, part.changes[0].what.as_str()), (Verdict::Compatible, "is new and optional"));
    assert_eq!(part.changes[0].pointer, "/concepts/c/properties/c");
    let required = json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "integer" } }, "required": ["a", "b"] });
    let part = concept(&old, &required);
    assert_eq!(part.verdict, Verdict::Breaking);
    let witness = part.witness.unwrap();
    assert_eq!((witness.refused.rule.as_str(), witness.content.get("b")), ("required", None));
    let removed = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
    let part = concept(&old, &removed);
    assert_eq!(part.verdict, Verdict::Breaking);
    assert!(part.witness.unwrap().content.get("b").is_some());
}

#[test]
fn a_mark_of_free_text_that_goes_away_is_never_compatible() {
    let marked = json!({ "type": "string", "maxLength": 50, "x-free-text": true });
    let part = concept(&object(&marked), &object(&json!({ "type": "string", "maxLength": 50 })));
    assert_eq!(part.verdict, Verdict::Unknown);
    assert!(part.reason.contains("free text"), "{}", part.reason);
}

/// Issue 5: marks were looked for in plain members only, so a version that hid prose from policies counted as compatible.
#[test]
fn attack_a_mark_of_free_text_is_dropped_where_no_plain_member_has_it() {
    let text = |marked: bool| {
        let mut text = json!({ "type": "string", "maxLength": 50 });
        if marked {
            text["x-free-text"] = json!(true);
        }
        text
    };
    let of = |members: Value| json!({ "type": "object", "properties": members });
    let whole = |more: Value| {
        let mut whole = json!({ "type": "object", "properties": { "k": { "enum": ["a", "b"] } } });
        whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        whole
    };
    type Form = Box<dyn Fn(bool) -> Value>;
    let forms: Vec<(&str, Form)> = vec![
        ("anyOf", Box::new(move |m| of(json!({ "c": { "anyOf": [{ "type": "integer" }, text(m)] } })))),
        ("oneOf", Box::new(move |m| of(json!({ "c": { "oneOf": [{ "type": "integer" }, text(m)] } })))),
        (
            "items of two types",
            Box::new(move |m| {
                of(
                    json!({ "c": { "type": "array", "maxItems": 3, "items": { "anyOf": [{ "type": "integer" }, text(m)] } } }),
                )
            }),
        ),
        (
            "then",
            Box::new(move |m| {
                whole(json!({ "if": { "properties": { "k": { "const": "a" } }, "required": ["k"] },
                    "then": { "properties": { "c": text(m) } }, "else": {} }))
            }),
        ),
        (
            "dependentSchemas",
            Box::new(move |m| {
                whole(json!({ "dependentSchemas": { "k": { "properties": { "c": text(m) } } } }))
            }),
        ),
        ("patternProperties", Box::new(move |m| whole(json!({ "patternProperties": { "^c": text(m) } })))),
        ("additionalProperties", Box::new(move |m| whole(json!({ "additionalProperties": text(m) })))),
        ("unevaluatedProperties", Box::new(move |m| whole(json!({ "unevaluatedProperties": text(m) })))),
        (
            "prefixItems",
            Box::new(move |m| {
                of(
                    json!({ "c": { "type": "array", "maxItems": 1, "prefixItems": [text(m)], "items": false } }),
                )
            }),
        ),
        (
            "items after a prefix",
            Box::new(move |m| {
                of(
                    json!({ "c": { "type": "array", "maxItems": 3, "prefixItems": [{ "type": "integer" }], "items": text(m) } }),
                )
            }),
        ),
    ];
    for (name, form) in &forms {
        assert_eq!(concept(&form(true), &form(true)).verdict, Verdict::Compatible, "{name}: kept");
        let part = concept(&form(true), &form(false));
        assert_eq!(part.verdict, Verdict::Unknown, "{name}: {}", part.reason);
        assert!(part.reason.contains("is no longer marked as free text"), "{name}: {}", part.reason);
    }
    let moved =
        concept(&of(json!({ "c": text(true) })), &whole(json!({ "additionalProperties": text(false) })));
    assert_eq!(moved.verdict, Verdict::Unknown, "moved: {}", moved.reason);
}

#[test]
fn a_mark_of_free_text_that_goes_with_what_it_marked_loses_nothing() {
    let marked = json!({ "type": "string", "maxLength": 50, "x-free-text": true });
    let task = |results: Value, minor: u32| {
        json!({ "context": format!("urn:contexts:test:v1.{minor}"), "tasks": { "t": {
            "parameters": { "type": "object", "properties": {} }, "results": results } } })
    };
    let with = json!({ "type": "object", "properties": { "a": { "type": "integer" }, "c": marked } });
    let without = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    let parts = compared(&task(with, 0), &task(without, 1)).parts;
    assert!(parts.iter().all(|part| part.verdict == Verdict::Compatible), "{parts:#?}");
}

#[test]
fn results_are_compared_the_other_way_round() {
    let task = |parameters: Value, results: Value, minor: u32| json!({ "context": format!("urn:contexts:test:v1.{minor}"), "tasks": { "t": { "parameters": parameters, "results": results } } });
    let narrow = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let wide =
        json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } } });
    let verdicts = |old: &Value, new: &Value| -> Vec<(String, Verdict)> {
        compared(old, new).parts.into_iter().map(|part| (part.pointer, part.verdict)).collect()
    };
    let (parameters, results) = ("/tasks/t/parameters".to_owned(), "/tasks/t/results".to_owned());
    assert_eq!(
        verdicts(&task(narrow.clone(), narrow.clone(), 0), &task(wide.clone(), wide.clone(), 1)),
        [(parameters.clone(), Verdict::Compatible), (results.clone(), Verdict::Breaking)]
    );
    assert_eq!(
        verdicts(&task(wide.clone(), wide.clone(), 0), &task(narrow.clone(), narrow, 1)),
        [(parameters, Verdict::Breaking), (results, Verdict::Compatible)]
    );
}

#[test]
fn terms_and_performatives_that_go_away_break() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let with = |names: &[&str], minor: u32| {
        let concepts: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), schema.clone())).collect();
        json!({ "context": format!("urn:contexts:test:v1.{minor}"), "concepts": concepts })
    };
    let comparison = compared(&with(&["a", "b"], 0), &with(&["a", "c"], 1));
    let verdicts: Vec<Verdict> = comparison.parts.iter().map(|part| part.verdict).collect();
    assert_eq!(verdicts, [Verdict::Compatible, Verdict::Breaking, Verdict::Compatible]);
    assert_eq!(comparison.next.to_string(), "v2.0");
    assert_eq!(compared(&with(&["a"], 0), &with(&["a", "c"], 1)).next.to_string(), "v1.1");

    let mut fewer = schema.clone();
    fewer["x-performatives"] = json!(["INFORM"]);
    let part = concept(&schema, &fewer);
    assert_eq!(part.verdict, Verdict::Breaking);
    assert_eq!(part.witness.unwrap().refused.rule, "x-performatives");
}

#[test]
fn a_pathological_pair_ends_in_unknown() {
    let hard = |last: &str| json!({ "type": "string", "pattern": format!("^(a|b)*{last}(a|b){{60}}$") });
    let mut branches: Vec<Value> = Vec::new();
    for index in 0..12 {
        branches.push(json!({ "type": "object", "properties": { format!("p{index}"): hard("a") }, "required": [format!("p{index}")] }));
    }
    let old = json!({ "type": "object", "properties": { "m": { "anyOf": branches } } });
    let new = json!({ "type": "object", "properties": { "m": { "anyOf": branches.iter().rev().cloned().chain([json!({ "type": "object", "properties": { "q": hard("b") } })]).collect::<Vec<_>>() } } });
    let part = concept(&old, &new);
    assert_ne!(part.verdict, Verdict::Breaking, "{:?}", part.witness);
    let part =
        concept(&object(&hard("a")), &object(&json!({ "type": "string", "pattern": "^(a|b)*b(a|b){59}$" })));
    assert_ne!(part.verdict, Verdict::Compatible);
}

#[test]
fn the_shipped_versions_of_payment() {
    let read = |text: &str| {
        Context::check(text.as_bytes(), &Prefix::default(), &DocumentLimits::default().published()).unwrap()
    };
    let (v10, v11, v20) = (
        read(include_str!("../../library/payment-v1.0.json")),
        read(include_str!("../../library/payment-v1.1.json")),
        read(include_str!("../../library/payment-v2.0.json")),
    );
    let limits = CompareLimits::default();
    for (old, new) in [(&v10, &v11), (&v11, &v20), (&v11, &v10)] {
        let comparison = compare(old, new, &limits);
        println!("{} -> {}: {} {:?}", old.urn(), new.urn(), comparison.verdict, comparison.parts);
        assert_ne!(comparison.verdict, Verdict::Unknown);
    }
}

#[test]
fn documents_are_compatible_with_themselves() {
    for text in [
        include_str!("../../library/a2a-v1.0.json"),
        include_str!("../../library/mcp-v1.0.json"),
        include_str!("../../library/travel-v2.1.json"),
        include_str!("../../library/supplyChain-v1.0.json"),
    ] {
        let mut document: Value = serde_json::from_str(text).unwrap();
        let old = context(&document);
        document["description"] = json!("said otherwise");
        let comparison = compare(&old, &context(&document), &CompareLimits::default());
        let worst: Vec<&Part> = comparison.obstacles().collect();
        assert_eq!(comparison.verdict, Verdict::Compatible, "{worst:#?}");
    }
}

#[test]
fn the_large_shipped_contexts_with_every_bound_widened() {
    fn widen(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for keyword in ["maxLength", "maxItems", "maxProperties"] {
                    if let Some(most) = map.get(keyword).and_then(Value::as_u64)
                        && (keyword != "maxLength" || most < 10_000)
                        && (keyword != "maxItems" || !map.contains_key("uniqueItems"))
                    {
                        map.insert(keyword.to_owned(), json!(most + 1));
                    }
                }
                map.values_mut().for_each(widen);
            }
            Value::Array(list) => list.iter_mut().for_each(widen),
            _ => {}
        }
    }
    for text in [include_str!("../../library/mcp-v1.0.json"), include_str!("../../library/a2a-v1.0.json")] {
        let old: Value = serde_json::from_str(text).unwrap();
        let mut new = old.clone();
        for section in ["concepts", "tasks", "$defs"] {
            new.get_mut(section).into_iter().for_each(widen);
        }
        let comparison = compared(&old, &new);
        for part in &comparison.parts {
            let expected = if part.role == Role::Accepts {
                vec![Verdict::Compatible]
            } else {
                vec![Verdict::Compatible, Verdict::Breaking]
            };
            assert!(expected.contains(&part.verdict), "{part:?}");
        }
    }
}
