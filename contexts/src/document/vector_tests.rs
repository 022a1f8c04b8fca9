//! Vectors and reference vectors in documents, and the versions that may follow one another.

use serde_json::{Value, json};

use super::*;
use crate::compare::{CompareLimits, Verdict, compare};
use crate::field::FieldType;
use crate::json::Json;
use crate::schema::{ContentFault, SchemaFault, WorkBudget};
use crate::term::InstanceFault;
use crate::vectors::ModelName;

fn check(document: &Value) -> Result<Context, DocumentFault> {
    Context::check(document.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default())
}

fn space(model: &str, dimensions: u64) -> Value {
    json!({ "model": model, "dimensions": dimensions, "metric": "cosine" })
}

fn document(minor: u32, member: Value, more: Value) -> Value {
    let mut document = json!({
        "context": format!("urn:contexts:search:v1.{minor}"),
        "concepts": { "ask": { "type": "object", "properties": { "intent": member }, "required": ["intent"] } },
        "codes": { "kinds": ["refund_request", "greeting"] },
    });
    for (name, value) in more.as_object().unwrap() {
        document[name] = value.clone();
    }
    document
}

fn one(embedding: Value) -> Value {
    json!({ "x-embedding": embedding })
}

fn conform(context: &Context, content: &str) -> Result<(), (String, String)> {
    let read = json::read(content.as_bytes(), &json::Limits::default()).unwrap();
    let shape = context.term("ask").unwrap().shapes().next().unwrap();
    shape.conform(read.as_object().unwrap(), None).map_err(|ContentFault { path, rule }| (path, rule))
}

fn rule(context: &Context, content: &str) -> String {
    let (path, rule) = conform(context, content).unwrap_err();
    assert_eq!(path, "/intent", "{content}");
    rule
}

#[test]
fn a_vector_of_a_message_is_refused_by_the_rule_of_its_fault() {
    let context = check(&document(0, one(space("acme/mini", 3)), json!({}))).unwrap();
    conform(&context, r#"{"intent": [1, 2.5, -3]}"#).unwrap();
    conform(&context, r#"{"intent": {"model": "acme/mini", "vector": [1, 2, 3]}}"#).unwrap();
    for (intent, expected) in [
        (r#"[1, 2, "NaN"]"#, "x-embedding-finite"),
        ("[1, 2, null]", "x-embedding-null"),
        ("[1, 2, false]", "x-embedding-number"),
        ("[1, 2]", "x-embedding-dimensions"),
        ("[0, 0, 0]", "x-embedding-norm"),
        (r#"{"model": "other", "vector": [1, 2, 3]}"#, "x-embedding-model"),
        (r#"{"model": "acme/mini"}"#, "x-embedding-form"),
        (r#""NaN""#, "type"),
        ("null", "type"),
    ] {
        assert_eq!(rule(&context, &format!(r#"{{"intent": {intent}}}"#)), expected, "{intent}");
    }
    let fault = json::read(br#"{"intent": [1, 2, NaN]}"#, &json::Limits::default()).unwrap_err();
    assert_eq!(fault.to_string(), "malformed json at byte 18: NaN and Infinity are no numbers of JSON");
}

#[test]
fn a_session_with_a_model_refuses_a_vector_of_another() {
    let both = json!([space("acme/mini", 2), space("acme/large", 2)]);
    let context = check(&document(0, one(both), json!({}))).unwrap();
    let shape = context.term("ask").unwrap().shapes().next().unwrap();
    let judged = |model: &str, session: Option<&str>| {
        let content = json!({ "intent": { "model": model, "vector": [1, 2] } }).to_string();
        let read = json::read(content.as_bytes(), &json::Limits::default()).unwrap();
        let session = session.map(|name| ModelName::parse(name).unwrap());
        shape.conform_within(read.as_object().unwrap(), None, &WorkBudget::of_message().of_session(session))
    };
    judged("acme/mini", None).unwrap();
    judged("acme/large", None).unwrap();
    judged("acme/mini", Some("acme/mini")).unwrap();
    let Err(InstanceFault::Content(fault)) = judged("acme/large", Some("acme/mini")) else { panic!() };
    assert_eq!((fault.path.as_str(), fault.rule.as_str()), ("/intent", "x-embedding-session"));
    // the next message of the thread belongs to no session
    judged("acme/large", None).unwrap();
}

#[test]
fn a_vector_may_be_null_or_stand_in_a_list_or_behind_a_reference() {
    let vector = json!({ "type": "array", "items": { "type": "number" }, "x-embedding": space("m", 2) });
    let nullable = document(0, json!({ "anyOf": [one(space("m", 2)), { "type": "null" }] }), json!({}));
    let context = check(&nullable).unwrap();
    conform(&context, r#"{"intent": null}"#).unwrap();
    conform(&context, r#"{"intent": {"model": "m", "vector": [1, 2]}}"#).unwrap();
    assert!(conform(&context, r#"{"intent": {"model": "m", "vector": [1, 2], "more": 1}}"#).is_err());
    let FieldType::Record(members) = context.shapes().next().unwrap().fields() else { panic!() };
    assert!(
        matches!(&members["intent"].kind, FieldType::Nullable(inner) if matches!(**inner, FieldType::Vector(_)))
    );
    let list = document(0, json!({ "type": "array", "items": vector }), json!({}));
    let context = check(&list).unwrap();
    conform(&context, r#"{"intent": [[1, 2], [3, 4]]}"#).unwrap();
    assert_eq!(
        conform(&context, r#"{"intent": [[1, 2], [3]]}"#),
        Err(("/intent/1".to_owned(), "x-embedding-dimensions".to_owned()))
    );
    assert!(conform(&context, r#"{"intent": [{"model": "m", "vector": [1, 2]}]}"#).is_err());
    let referred =
        document(0, json!({ "$ref": "#/$defs/v" }), json!({ "$defs": { "v": one(space("m", 2)) } }));
    let context = check(&referred).unwrap();
    conform(&context, r#"{"intent": {"model": "m", "vector": [1, 2]}}"#).unwrap();
    assert_eq!(rule(&context, r#"{"intent": [1]}"#), "x-embedding-dimensions");
    let one_of = document(0, json!({ "oneOf": [one(space("m", 2)), { "type": "null" }] }), json!({}));
    let context = check(&one_of).unwrap();
    conform(&context, r#"{"intent": null}"#).unwrap();
    conform(&context, r#"{"intent": [1, 2]}"#).unwrap();
    assert!(conform(&context, r#"{"intent": [1]}"#).is_err());
}

#[test]
fn a_wrong_embedding_is_refused_where_it_stands() {
    let keyword = |member: Value| match check(&document(0, member, json!({}))) {
        Err(DocumentFault::Schema { path, fault: SchemaFault::KeywordValue { keyword, .. } }) => {
            assert!(path.starts_with("/concepts/ask/properties/intent"), "{path}");
            keyword
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(keyword(one(space("a b", 3))), "x-embedding");
    assert_eq!(keyword(one(space("m", 5000))), "x-embedding");
    assert_eq!(keyword(json!({ "x-embedding": space("m", 3), "maxItems": 3 })), "x-embedding");
    assert_eq!(keyword(json!({ "x-embedding": space("m", 3), "type": "object" })), "x-embedding");
    assert_eq!(
        keyword(json!({ "x-embedding": [space("m", 3), space("n", 3)], "type": "array" })),
        "x-embedding"
    );
    let two = json!({ "anyOf": [one(space("m", 3)), one(space("m", 4))] });
    assert_eq!(keyword(two), "x-embedding");
    let tested = document(0, json!({ "type": "array", "not": one(space("m", 3)) }), json!({}));
    let fault = check(&tested).unwrap_err();
    assert!(
        matches!(fault, DocumentFault::Schema { fault: SchemaFault::RefusedKeyword { .. }, .. }),
        "{fault}"
    );
    let whole = json!({ "context": "urn:contexts:search:v1.0",
        "concepts": { "ask": one(json!([space("m", 2), space("n", 2)])) } });
    let fault = check(&whole).unwrap_err();
    assert!(matches!(fault, DocumentFault::Schema { fault: SchemaFault::NotAnObject, .. }), "{fault}");
}

#[test]
fn a_reference_vector_is_checked_like_a_value() {
    let with =
        |references: Value| check(&document(0, one(space("m", 2)), json!({ "references": references })));
    let context = with(json!({ "refund_request": { "m": [1, 0] }, "ask": { "m": [0.5, 0.25] } })).unwrap();
    let FieldType::Record(members) = context.shapes().next().unwrap().fields() else { panic!() };
    let FieldType::Vector(vector) = &members["intent"].kind else { panic!() };
    assert_eq!(vector.reference_names().collect::<Vec<_>>(), ["ask", "refund_request"]);
    let value: Json<'_> = json::read(b"[1, 1]", &json::Limits::default()).unwrap();
    assert_eq!(vector.similarities(&value), [("ask", 949), ("refund_request", 707)]);
    for (references, path) in [
        (json!({ "unknown_name": { "m": [1, 0] } }), "/references/unknown_name"),
        (json!({ "ask": {} }), "/references/ask"),
        (json!({ "ask": [1, 0] }), "/references/ask"),
        (json!({ "ask": { "m": [1] } }), "/references/ask/m"),
        (json!({ "ask": { "m": [0, 0] } }), "/references/ask/m"),
        (json!({ "ask": { "m": [1, "NaN"] } }), "/references/ask/m"),
        (json!({ "ask": { "m": { "model": "m", "vector": [1, 0] } } }), "/references/ask/m"),
        (json!({ "ask": { "n": [1, 0] } }), "/references/ask/n"),
    ] {
        let fault = with(references.clone()).unwrap_err();
        assert_eq!(fault.path(), Some(path), "{references}: {fault}");
        let document = document(0, one(space("m", 2)), json!({ "references": references }));
        let limits = DocumentLimits::default();
        let all = Context::faults(document.to_string().as_bytes(), &Prefix::default(), &limits, &|_| None);
        assert_eq!(all.first().and_then(|fault| fault.path().map(str::to_owned)).as_deref(), Some(path));
    }
    let many: serde_json::Map<String, Value> =
        (0..65).map(|number| (format!("c{number}"), json!({ "m": [1, 0] }))).collect();
    let codes: Vec<String> = many.keys().cloned().collect();
    let more = json!({ "references": many, "codes": { "kinds": codes } });
    let fault = check(&document(0, one(space("m", 2)), more)).unwrap_err();
    assert!(matches!(fault, DocumentFault::TooMany { limit: 64, .. }), "{fault}");
}

#[test]
fn an_attack_by_a_vector_in_a_test_through_references_is_refused() {
    let defs = |member: Value| {
        json!({ "$defs": {
            "v": one(space("m", 3)),
            "inner": { "type": "object", "properties": { "v": { "$ref": "#/$defs/v" }, "again": { "$ref": "#/$defs/inner" } } },
            "plain": { "type": "object", "properties": { "again": { "$ref": "#/$defs/plain" } } },
            "member": member,
        } })
    };
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    for target in ["v", "inner"] {
        for member in [
            json!({ "not": reference(target) }),
            json!({ "type": "array", "items": {}, "contains": reference(target) }),
            json!({ "if": { "allOf": [reference("plain"), reference(target)] }, "then": true }),
        ] {
            let fault = check(&document(0, json!({}), defs(member.clone()))).unwrap_err();
            let DocumentFault::Schema { path, fault: SchemaFault::RefusedKeyword { keyword, .. } } = fault
            else {
                panic!("{fault}")
            };
            assert_eq!(keyword, "x-embedding", "{member}");
            assert!(path.starts_with("/$defs/member"), "{path}");
        }
    }
    check(&document(0, reference("inner"), defs(json!({ "not": reference("plain") })))).unwrap();
}

#[test]
fn an_attack_by_two_models_on_one_bare_vector_is_refused() {
    let (m, n) = (one(space("m", 2)), one(space("n", 2)));
    let defs = json!({ "$defs": { "m": m.clone(), "n": n.clone() } });
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let object = |member: &Value| json!({ "type": "object", "properties": { "v": member } });
    for member in [
        json!({ "anyOf": [m, n] }),
        json!({ "oneOf": [m, { "allOf": [reference("n")] }] }),
        json!({ "allOf": [reference("m"), reference("n")] }),
        json!({ "anyOf": [m, one(json!([space("m", 2), space("n", 2)]))] }),
        json!({ "anyOf": [object(&m), object(&reference("n"))] }),
        json!({ "anyOf": [object(&m), { "type": "object", "additionalProperties": n }] }),
        json!({ "type": "array", "items": { "anyOf": [m, { "type": "null" }, n] } }),
        json!({ "allOf": [{ "type": "array", "prefixItems": [true, m], "items": true }, { "type": "array", "items": n }] }),
        json!({ "type": "object", "patternProperties": { "^a": m, "b$": n } }),
    ] {
        let fault = check(&document(0, member.clone(), defs.clone())).unwrap_err();
        let DocumentFault::Schema { path, fault } = fault else { panic!("{member}: {fault}") };
        assert!(path.starts_with("/concepts/ask/properties/intent"), "{path}");
        assert!(fault.to_string().contains("use the list"), "{member}: {fault}");
    }
    for member in [
        json!({ "anyOf": [m, { "type": "null" }, reference("m")] }),
        json!({ "type": "object", "properties": { "a": m, "b": n }, "additionalProperties": n }),
        json!({ "type": "object", "patternProperties": { "^a": m }, "additionalProperties": n }),
        json!({ "type": "array", "prefixItems": [m, n], "items": m }),
    ] {
        check(&document(0, member, defs.clone())).unwrap();
    }
}

fn verdict(old: &Value, new: &Value) -> (Verdict, Vec<String>) {
    let comparison = compare(&check(old).unwrap(), &check(new).unwrap(), &CompareLimits::default());
    let worst = comparison.parts.iter().filter(|part| part.verdict == comparison.verdict);
    (comparison.verdict, worst.map(|part| part.pointer.clone()).collect())
}

#[test]
fn another_space_is_a_break_and_another_model_beside_it_is_none() {
    let base = document(0, one(space("m", 3)), json!({}));
    let next = |member: Value| document(1, member, json!({}));
    let titled = next(json!({ "title": "Intent", "x-embedding": space("m", 3) }));
    assert_eq!(verdict(&base, &titled).0, Verdict::Compatible);
    assert_eq!(verdict(&base, &next(one(json!([space("m", 3)])))).0, Verdict::Compatible);
    // another model, size or metric
    assert_eq!(verdict(&base, &next(one(space("n", 3)))).0, Verdict::Breaking);
    assert_eq!(verdict(&base, &next(one(space("m", 4)))).0, Verdict::Breaking);
    for member in ["metric", "normalized"] {
        let mut other = space("m", 3);
        other[member] = if member == "metric" { json!("dot") } else { json!(true) };
        let (verdict, parts) = verdict(&base, &next(one(other)));
        assert_eq!(verdict, Verdict::Breaking);
        assert!(parts.contains(&"/x-embedding/m".to_owned()), "{parts:?}");
    }
    // the bare array has no place among several models
    let several = json!([space("m", 3), space("n", 2)]);
    assert_eq!(verdict(&base, &next(one(several.clone()))).0, Verdict::Breaking);
    let three = json!([space("m", 3), space("n", 2), space("o", 2)]);
    let base = document(0, one(several), json!({}));
    assert_eq!(verdict(&base, &next(one(three.clone()))).0, Verdict::Compatible);
    assert_eq!(verdict(&document(0, one(three), json!({})), &next(one(space("m", 3)))).0, Verdict::Breaking);
}

#[test]
fn an_attack_by_another_model_of_a_bare_vector_is_a_break() {
    let bare = |model: &str| json!({ "x-embedding": space(model, 2), "type": "array" });
    let normalized = |model: &str| {
        let mut space = space(model, 1);
        space["normalized"] = json!(true);
        json!({ "x-embedding": space, "type": "array" })
    };
    // both models stay in the document, so no space changes
    let keep = json!({ "$defs": { "keep": one(json!([space("m", 2), space("n", 2), space("o", 2)])) } });
    let of = |minor, member: Value| document(minor, member, keep.clone());
    let nullable = |model: &str| json!({ "anyOf": [bare(model), { "type": "null" }] });
    let listed = |model: &str| json!({ "type": "array", "items": bare(model) });
    let pair = |one: &str, other: &str| {
        let (one, other) = (bare(one), bare(other));
        json!({ "type": "object", "properties": { "a": one, "b": other }, "required": ["a", "b"] })
    };
    let tuple = |one: &str, other: &str| json!({ "type": "array", "prefixItems": [bare(one), bare(other)], "items": false, "minItems": 2 });
    for (old, new) in [
        (bare("m"), bare("n")),
        (nullable("m"), nullable("n")),
        (listed("m"), listed("n")),
        (pair("m", "o"), pair("n", "o")),
        (tuple("m", "n"), tuple("n", "m")),
        (json!({ "$ref": "#/$defs/v" }), bare("n")),
        (
            json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2, "contains": { "not": { "const": 0 } } }),
            bare("n"),
        ),
    ] {
        let of = |minor, member: &Value| {
            let mut document = of(minor, member.clone());
            document["$defs"]["v"] = bare("m");
            document
        };
        assert_eq!(
            verdict(&of(0, &old), &of(1, &new)),
            (Verdict::Breaking, vec!["/concepts/ask".to_owned()]),
            "{old} {new}"
        );
        let titled = |mut member: Value| {
            member["title"] = json!("Other words");
            member
        };
        if old.get("$ref").is_none() {
            assert_eq!(verdict(&of(0, &old), &of(1, &titled(old.clone()))).0, Verdict::Compatible, "{old}");
        }
    }
    let one_number = json!({ "$defs": { "p": normalized("p"), "q": normalized("q") } });
    let old = document(0, normalized("p"), one_number.clone());
    assert_eq!(verdict(&old, &document(1, normalized("q"), one_number)).0, Verdict::Breaking);
}

#[test]
fn a_reference_vector_stays_as_it_is_in_a_major() {
    let with =
        |minor, references: Value| document(minor, one(space("m", 2)), json!({ "references": references }));
    let base = with(0, json!({ "ask": { "m": [1, 0] } }));
    let grown = with(1, json!({ "ask": { "m": [1, 0] }, "greeting": { "m": [0, 1] } }));
    assert_eq!(verdict(&base, &grown).0, Verdict::Compatible);
    let moved = with(1, json!({ "ask": { "m": [1, 0.5] } }));
    assert_eq!(verdict(&base, &moved), (Verdict::Breaking, vec!["/references/ask/m".to_owned()]));
    let gone = document(1, one(space("m", 2)), json!({}));
    assert_eq!(verdict(&base, &gone), (Verdict::Breaking, vec!["/references/ask/m".to_owned()]));
}

#[test]
fn a_vector_draws_no_warning_of_the_array_around_it() {
    let member = json!({ "type": "array", "items": { "type": "number" }, "x-embedding": space("m", 2) });
    let context = check(&document(0, member, json!({}))).unwrap();
    assert_eq!(crate::lint::lint(&context), []);
}
