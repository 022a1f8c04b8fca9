//! Members that differ from a declared one only in case, in objects that are open (`docs/design/firewall.md` §1).

use semgate_contexts::json::{self, Json, Limits};
use semgate_contexts::{Context, DocumentLimits, Performative, Prefix};
use serde_json::{Value, json};

const DOCUMENT: &str = r#"{"context":"urn:contexts:twins:v1.0","concepts":{"transfer":{
    "type":"object","additionalProperties":true,
    "properties":{"amount":{"type":"integer"},
        "inner":{"type":"object","additionalProperties":true,"properties":{"currency":{"type":"string","maxLength":3},"risk":{"type":"integer"}}},
        "list":{"type":"array","maxItems":3,"items":{"type":"object","additionalProperties":true,"properties":{"id":{"type":"integer"}}}}}}}}"#;

fn held(schema: &Value, instance: &Value) -> Result<(), (String, String)> {
    let amount = json!({"type": "number", "maximum": 100});
    let open = json!({"type": "object", "properties": {"amount": amount}, "required": ["amount"], "additionalProperties": true});
    let tree = json!({"type": "object", "properties": {"amount": amount, "n": {"$ref": "#/$defs/tree"}}, "additionalProperties": true});
    let document = json!({"context": "urn:contexts:twins:v1.0", "concepts": {"transfer": schema}, "$defs": {"open": open, "tree": tree}});
    conform_to(&document.to_string(), &instance.to_string())
}

fn conform(instance: &str) -> Result<(), (String, String)> {
    conform_to(DOCUMENT, instance)
}

fn conform_to(document: &str, instance: &str) -> Result<(), (String, String)> {
    let context =
        Context::check(document.as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap();
    let shape = context.term("transfer").unwrap().side(Performative::Request).unwrap();
    let Json::Object(object) = json::read(instance.as_bytes(), &Limits::default()).unwrap() else { panic!() };
    shape.conform(&object, Some("concept")).map_err(|fault| (fault.path, fault.rule))
}

#[test]
fn attack_an_amount_in_another_case_beside_the_one_that_policies_read_is_refused() {
    let twin = |path: &str| Err((path.to_owned(), "case".to_owned()));
    assert_eq!(conform(r#"{"concept":"transfer","amount":1,"Amount":50000}"#), twin("/amount"));
    assert_eq!(conform(r#"{"AMOUNT":50000}"#), twin("/amount"), "also where the declared one is absent");
    assert_eq!(conform(r#"{"inner":{"Currency":"USD"}}"#), twin("/inner/currency"));
    assert_eq!(conform("{\"inner\":{\"ri\u{17f}k\":900}}"), twin("/inner/risk"), "as Go's readers fold it");
    assert_eq!(conform("{\"inner\":{\"ris\u{212a}\":900}}"), twin("/inner/risk"));
    assert_eq!(conform(r#"{"list":[{"id":1},{"Id":2}]}"#), twin("/list/id"));
    assert_eq!(conform(r#"{"concept":"transfer","amount":1,"note":"n","inner":{"x":1}}"#), Ok(()));
}

/// Wherever the names are declared: of twelve ways to write it only the first three were looked at.
#[test]
fn attack_a_twin_in_an_open_object_is_refused_wherever_its_name_is_declared() {
    let amount = json!({"type": "number", "maximum": 100});
    let named = json!({"properties": {"amount": amount}});
    let open = json!({"$ref": "#/$defs/open"});
    let object = |members: Value| json!({"type": "object", "properties": members});
    let with = |keyword: &str, value: Value| {
        let mut schema = json!({"type": "object", "properties": {"k": {"type": "string", "maxLength": 5}}, "additionalProperties": true});
        schema[keyword] = value;
        schema
    };
    let conditional = |keyword: &str| {
        let mut schema = with("if", json!({"properties": {"k": {"const": "a"}}, "required": ["k"]}));
        schema[keyword] = named.clone();
        schema
    };
    let either = |keyword: &str| {
        with(
            keyword,
            json!([{"properties": {"amount": amount}, "required": ["amount"]}, {"properties": {"z": {"type": "integer"}}, "required": ["z"]}]),
        )
    };
    let list = |members: Value| {
        let mut list = json!({"type": "array", "maxItems": 3});
        list.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        object(json!({"x": list}))
    };
    let whole = |content: Value| content;
    let x = |content: Value| json!({ "x": content });
    let first = |content: Value| json!({ "x": [content] });
    let deep = |content: Value| json!({"n": {"n": content}});
    type Put = fn(Value) -> Value;
    let shapes: Vec<(&str, Value, Put, &str)> = vec![
        ("a member", object(json!({ "x": open })), x, "/x/amount"),
        ("the concept", with("properties", json!({ "amount": amount })), whole, "/amount"),
        ("a reference", json!({"$ref": "#/$defs/open", "unevaluatedProperties": true}), whole, "/amount"),
        ("a value of a map", json!({"type": "object", "additionalProperties": open}), x, "/*/amount"),
        (
            "a value of a map behind others",
            json!({"type": "object", "allOf": [object(json!({}))], "unevaluatedProperties": open}),
            x,
            "/*/amount",
        ),
        (
            "a value by a pattern",
            json!({"type": "object", "patternProperties": {"^x+$": open}}),
            x,
            "/*/amount",
        ),
        ("an item of a prefix", list(json!({"prefixItems": [open], "items": false})), first, "/x/amount"),
        (
            "an item behind a prefix",
            list(json!({"prefixItems": [{"type": "object"}], "items": open})),
            |content| json!({"x": [{}, content]}),
            "/x/amount",
        ),
        ("an item that is tested", list(json!({"items": true, "contains": open})), first, "/x/amount"),
        (
            "a union",
            object(json!({"x": {"anyOf": [open, {"type": "string", "maxLength": 5}]}})),
            x,
            "/x/amount",
        ),
        ("a nullable union", object(json!({"x": {"oneOf": [open, {"type": "null"}]}})), x, "/x/amount"),
        ("a tree", object(json!({"n": {"$ref": "#/$defs/tree"}})), deep, "/n/n/amount"),
        ("`anyOf`", either("anyOf"), whole, "/amount"),
        ("`oneOf`", either("oneOf"), whole, "/amount"),
        ("`allOf`", with("allOf", json!([named])), whole, "/amount"),
        ("`then`", conditional("then"), whole, "/amount"),
        ("`else`", conditional("else"), whole, "/amount"),
        ("`if`", with("if", named.clone()), whole, "/amount"),
        (
            "`not`",
            with("not", json!({"properties": {"amount": {"type": "null"}}, "required": ["amount"]})),
            whole,
            "/amount",
        ),
        ("`dependentSchemas`", with("dependentSchemas", json!({ "k": named })), whole, "/amount"),
        ("a pattern", with("patternProperties", json!({ "^amount$": amount })), whole, "/amount"),
        (
            "one of a pattern",
            with("patternProperties", json!({ "^(amount|fee)$": amount })),
            whole,
            "/amount",
        ),
        ("`required`", with("required", json!(["amount"])), whole, "/amount"),
        ("`dependentRequired`", with("dependentRequired", json!({ "k": ["amount"] })), whole, "/amount"),
    ];
    for (shape, schema, put, path) in shapes {
        let (plain, twin) = (json!({"amount": 1, "note": 1}), json!({"amount": 1, "Amount": 1_000_000}));
        assert_eq!(held(&schema, &put(plain)), Ok(()), "{shape}");
        assert_eq!(held(&schema, &put(twin)), Err((path.to_owned(), "case".to_owned())), "{shape}");
    }
}

#[test]
fn attack_a_shape_of_thousands_of_members_has_no_room_for_twins_either() {
    let many: serde_json::Map<String, Value> =
        (0..70).map(|at| (format!("m{at}"), json!({"$ref": "#/$defs/wide"}))).collect();
    let wide: serde_json::Map<String, Value> =
        (0..70).map(|at| (format!("w{at}"), json!({"type": "integer"}))).collect();
    let document = json!({"context": "urn:contexts:twins:v1.0", "$defs": {"wide": {"type": "object", "properties": wide, "additionalProperties": true}},
        "concepts": {"transfer": {"type": "object", "properties": many}}});
    let refused = conform_to(&document.to_string(), r#"{"m7":{"w5":1,"W5":2}}"#);
    assert_eq!(refused, Err(("/m7/w5".to_owned(), "case".to_owned())));
}

#[test]
fn maps_and_patterns_declare_no_names_and_a_name_that_is_declared_in_both_cases_is_meant() {
    let free = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    assert_eq!(held(&free, &json!({"a": 1, "A": 2})), Ok(()));
    let pattern = json!({"type": "object", "patternProperties": {"^x-": {"type": "integer"}, "amount": true}, "additionalProperties": true});
    assert_eq!(
        held(&pattern, &json!({"x-a": 1, "x-A": 2, "amount": 1, "the-Amount": 1, "Amount-": 2})),
        Ok(())
    );
    let inside = json!({"type": "object", "properties": {"amount": {"type": "integer"}, "free": free}});
    assert_eq!(
        held(&inside, &json!({"amount": 1, "free": {"Amount": 2}})),
        Ok(()),
        "no name is declared there"
    );
    let both = json!({"type": "object", "properties": {"a": {"type": "integer"}, "A": {"type": "integer"}}, "additionalProperties": true});
    assert_eq!(held(&both, &json!({"a": 1, "A": 2})), Ok(()));
}

/// Policies know the name that holds whatever branch does; the other was refused before branches were looked at, and still is.
#[test]
fn attack_a_twin_that_a_branch_of_an_open_object_declares_does_not_count() {
    let schema = json!({"type": "object", "properties": {"amount": {"type": "number"}}, "additionalProperties": true,
        "anyOf": [{"properties": {"Amount": {"type": "number"}}}, {"required": ["amount"]}]});
    let twin = Err(("/amount".to_owned(), "case".to_owned()));
    assert_eq!(held(&schema, &json!({"amount": 1, "Amount": 5})), twin);
    let closed = json!({"type": "object", "properties": {"amount": {"type": "number"}},
        "anyOf": [{"properties": {"Amount": {"type": "number"}}}, {"required": ["amount"]}]});
    assert_eq!(
        held(&closed, &json!({"amount": 1, "Amount": 5})),
        Ok(()),
        "it is closed, and both are declared"
    );
}
