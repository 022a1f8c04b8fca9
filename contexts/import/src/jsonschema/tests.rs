use super::*;
use proptest::prelude::*;
use semgate_contexts::json;
use serde_json::json;

const NAMING: Naming<'_> = Naming { line: "drafts", version: "v1.0", title: "Drafts" };

fn drafted(source: &Value) -> ContextDraft {
    draft(source, "thing", &[], &NAMING).unwrap()
}

fn rule(draft: &ContextDraft, value: &Value) -> Option<String> {
    let text = value.to_string();
    let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    let shape = draft.context.terms().next().unwrap().shapes().next().unwrap();
    shape.conform(read.as_object().unwrap(), None).err().map(|fault| fault.rule)
}

#[test]
fn drafts_of_07_and_2020_12_mean_the_same() {
    let old = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["p"],
        "properties": {"p": {"items": [{"type": "integer"}], "additionalItems": false, "type": "array"}, "q": {"$ref": "#/definitions/q"}},
        "dependencies": {"q": ["p"]}, "definitions": {"q": {"type": "boolean"}}});
    let new = json!({"type": "object", "required": ["p"],
        "properties": {"p": {"prefixItems": [{"type": "integer"}], "items": false, "type": "array"}, "q": {"$ref": "#/$defs/q"}},
        "dependentRequired": {"q": ["p"]}, "$defs": {"q": {"type": "boolean"}}});
    for source in [old, new] {
        let draft = drafted(&source);
        assert_eq!(rule(&draft, &json!({"p": [1], "q": true})), None);
        assert_eq!(rule(&draft, &json!({"q": true})).as_deref(), Some("required"));
        assert!(rule(&draft, &json!({"p": [1, 2]})).is_some());
        assert!(rule(&draft, &json!({"p": [], "q": 1})).is_some());
    }
}

#[test]
fn definitions_are_chosen_as_concepts() {
    let source = json!({"$defs": {"a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}}, "b": {"type": "integer"}}});
    let draft = draft(&source, "thing", &["a".to_owned()], &NAMING).unwrap();
    assert_eq!(rule(&draft, &json!({"b": 1})), None);
    assert_eq!(rule(&draft, &json!({"b": "x"})).as_deref(), Some("type"));
    let unknown = super::draft(&source, "thing", &["c".to_owned()], &NAMING).unwrap_err();
    assert!(unknown.hint.unwrap().contains("a, b"));
}

#[test]
fn a_recursive_root_and_a_long_list_are_kept() {
    let codes: Vec<String> = (0..400).map(|n| format!("c{n}")).collect();
    let source = json!({"type": "object", "properties": {"next": {"$ref": "#"}, "code": {"enum": codes}}});
    let draft = drafted(&source);
    assert_eq!(rule(&draft, &json!({"next": {"next": {"code": "c399"}}})), None);
    assert_eq!(rule(&draft, &json!({"next": {"code": "c400"}})).as_deref(), Some("x-code-list"));
}

#[test]
fn what_cannot_be_kept_accepts_nothing_and_is_named() {
    let source = json!({"type": "object", "properties": {
        "back": {"type": "string", "pattern": "^(a+)\\1$"}, "tail": {"type": "array", "unevaluatedItems": false}, "ok": {"type": "integer"}}});
    let draft = drafted(&source);
    for name in ["back", "tail"] {
        assert_eq!(draft.document["concepts"]["thing"]["properties"][name], json!(false));
        let at = format!("/properties/{name}");
        assert!(
            draft.remarks.iter().any(|one| one.at.ends_with(&at) && one.what.contains("accepts nothing")),
            "{:#?}",
            draft.remarks
        );
    }
    let whole = super::draft(&json!({"type": "string"}), "thing", &[], &NAMING).unwrap_err();
    assert!(whole.hint.unwrap().contains("must describe an object"));
}

#[test]
fn a_source_that_is_too_large_says_how_to_choose() {
    let many: Map<String, Value> = (0..200)
        .map(|n| {
            (
                format!("member_with_a_long_name_{n}"),
                json!({"enum": (0..40).map(|m| format!("value-{n}-{m}")).collect::<Vec<_>>()}),
            )
        })
        .collect();
    let refused =
        super::draft(&json!({"type": "object", "properties": many}), "thing", &[], &NAMING).unwrap_err();
    assert!(refused.what.contains("more than 90000") && refused.hint.unwrap().contains("--only"));
}

/// A small schema of an object.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "integer", "minimum": -5, "maximum": 5})),
        Just(json!({"type": "boolean"})),
        Just(json!({"enum": ["a", "b", 3]})),
        Just(json!({"type": "string", "maxLength": 4})),
        Just(json!({"type": ["string", "null"]})),
        Just(json!({"type": "array", "items": {"type": "integer"}, "maxItems": 3})),
        Just(json!({"oneOf": [{"type": "integer"}, {"const": 3}]})),
        Just(json!({"not": {"type": "string"}})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        (proptest::collection::btree_map("[abc]", inner, 0..3), any::<bool>(), any::<bool>()).prop_map(
            |(members, closed, needs)| {
                let mut schema = json!({"type": "object", "properties": members});
                if closed {
                    schema["additionalProperties"] = json!(false);
                }
                if needs {
                    schema["required"] = json!(["a"]);
                }
                schema
            },
        )
    })
    .prop_map(|inner| json!({"type": "object", "properties": {"v": inner}}))
}

/// A small value.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        (-7_i64..7).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        "[abc\n]{0,5}".prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[abcd]", inner, 0..3).prop_map(|members| json!(members)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_draft_refuses_only_what_the_source_refuses_or_a_remark_names(schema in schema(), inner in value()) {
        let draft = drafted(&schema);
        let instance = json!({"v": inner});
        let original = jsonschema::draft202012::new(&schema).unwrap();
        match (original.is_valid(&instance), rule(&draft, &instance)) {
            (true, Some(rule)) => {
                let named = match rule.as_str() {
                    "additionalProperties" | "unevaluatedProperties" => "members that it does not name are refused",
                    "x-free-text" => "is free text",
                    // a nullable text is one of two schemas
                    "anyOf" => "is free text",
                    other => panic!("`{other}` refuses {instance} under {schema}"),
                };
                prop_assert!(draft.remarks.iter().any(|one| one.what.contains(named)), "{rule}: {:?}", draft.remarks);
            }
            (false, None) => prop_assert!(false, "{instance} passes the draft of {schema}"),
            _ => {}
        }
    }
}
