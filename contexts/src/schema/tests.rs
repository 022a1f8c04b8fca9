//! The profile: what is refused when a document is compiled, and what closing and bounding do.

use serde_json::{Value, json};

use super::*;
use crate::json;

fn compile_one(
    schema: &Value,
    defs: &Value,
    limits: &SchemaLimits,
) -> Result<CompiledSchema, (String, SchemaFault)> {
    let codes = BTreeMap::from([("colours".to_owned(), vec!["red".to_owned(), "blue".to_owned()])]);
    let concepts = json!({ "c": schema });
    let references = serde_json::Map::new();
    let parts = Parts {
        defs: defs.as_object().unwrap(),
        concepts: concepts.as_object().unwrap(),
        codes: &codes,
        references: &references,
    };
    let wanted = [SchemaRequest { path: vec!["concepts", "c"], schema, concept: true }];
    compile(&parts, &wanted, limits)
        .map(|mut all| all.schemas.pop().unwrap())
        .map_err(|located| (located.path, located.fault))
}

fn with_defs(schema: Value, defs: Value) -> Result<CompiledSchema, (String, SchemaFault)> {
    compile_one(&schema, &defs, &SchemaLimits::default())
}

pub(super) fn compile_schema(schema: Value) -> Result<CompiledSchema, (String, SchemaFault)> {
    with_defs(schema, json!({}))
}

/// An object schema whose one member `m` has this schema.
pub(super) fn member(schema: Value) -> Value {
    json!({ "type": "object", "properties": { "m": schema } })
}

pub(super) fn fits(compiled: &CompiledSchema, instance: Value) -> Result<(), String> {
    let text = instance.to_string();
    let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    let verdict = compiled.validator.conform(read.as_object().unwrap(), None);
    verdict.map_err(|fault| format!("{} {}", fault.path, fault.rule))
}

fn refused(schema: Value) -> SchemaFault {
    compile_schema(schema).unwrap_err().1
}

#[test]
fn unknown_keywords_are_refused_since_a_typo_would_do_nothing() {
    for (keyword, value) in [
        ("maxlength", json!(3)),
        ("x-freetext", json!(true)),
        ("x-anything", json!(1)),
        ("requires", json!(["m"])),
        ("dependencies", json!({})),
        ("additionalItems", json!(false)),
        ("nullable", json!(true)),
    ] {
        let mut inner = json!({ "type": "string" });
        inner[keyword] = value;
        let (path, fault) = compile_schema(member(inner)).unwrap_err();
        assert_eq!(fault, SchemaFault::UnknownKeyword { keyword: keyword.to_owned() });
        assert_eq!(path, "/concepts/c/properties/m");
    }
}

#[test]
fn keywords_that_lead_out_of_the_document_or_do_nothing_are_refused() {
    for (keyword, value) in [
        ("$id", json!("urn:x")),
        ("$anchor", json!("a")),
        ("$dynamicAnchor", json!("a")),
        ("$dynamicRef", json!("#a")),
        ("$defs", json!({})),
        ("unevaluatedItems", json!(false)),
        ("contentEncoding", json!("base64")),
        ("x-performatives", json!(["INFORM"])),
    ] {
        let mut inner = json!({ "type": "string" });
        inner[keyword] = value;
        assert!(
            matches!(refused(member(inner)), SchemaFault::RefusedKeyword { keyword: found, .. } if found == keyword)
        );
    }
    let dialect =
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {} });
    assert!(matches!(refused(dialect), SchemaFault::KeywordValue { keyword, .. } if keyword == "$schema"));
    let dialect = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {} });
    assert!(compile_schema(dialect).is_ok());
}

#[test]
fn a_reference_out_of_the_document_is_refused_and_never_fetched() {
    for target in [
        "https://example.com/schema.json",
        "file:///etc/passwd",
        "urn:contexts:payment:v1.1#/concepts/transfer",
        "#",
        "",
        "#/$defs/missing",
        "#/$defs/a/properties/b",
        "#/properties/m",
    ] {
        let fault =
            with_defs(member(json!({ "$ref": target })), json!({ "a": { "type": "string" } })).unwrap_err();
        assert!(matches!(fault.1, SchemaFault::Reference { .. }), "{target}");
    }
}

#[test]
fn every_suggested_keyword_is_known() {
    for name in KEYWORDS {
        let refused = matches!(vocabulary::keyword(name), None | Some(vocabulary::Holds::Never(_)));
        assert!(!refused, "{name}");
    }
}

#[test]
fn values_of_keywords_are_checked() {
    for inner in [
        json!({ "type": "strings" }),
        json!({ "type": [] }),
        json!({ "type": ["string", "string"] }),
        json!({ "type": "string", "maxLength": -1 }),
        json!({ "type": "string", "maxLength": 1.5 }),
        json!({ "type": "string", "format": "regex" }),
        json!({ "type": "string", "format": "dat" }),
        json!({ "type": "string", "enum": [] }),
        json!({ "enum": ["a", "a"] }),
        json!({ "enum": [[1], [1]] }),
        json!({ "type": "number", "multipleOf": 0 }),
        json!({ "type": "number", "minimum": "0" }),
        json!({ "type": "string", "x-free-text": true }),
        json!({ "maxLength": 5, "x-free-text": true }),
        json!({ "type": "string", "then": { "maxLength": 5 } }),
        json!({ "type": "array", "items": true, "uniqueItems": true }),
        json!({ "type": "string", "title": 5 }),
        json!({ "anyOf": [] }),
        json!({ "type": "object", "required": ["a", "a"] }),
    ] {
        assert!(matches!(refused(member(inner.clone())), SchemaFault::KeywordValue { .. }), "{inner}");
    }
    assert_eq!(refused(member(json!(5))), SchemaFault::NotASchema);
    assert_eq!(
        refused(member(json!({ "type": "string", "x-code-list": "no" }))),
        SchemaFault::UnknownCodeList
    );
}

#[test]
fn patterns_are_linear_and_small() {
    assert!(
        compile_schema(member(
            json!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "maxLength": 64 })
        ))
        .is_ok()
    );
    for pattern in ["(a", "(?=a)b", "(a)\\1", "(?<!a)b", "(\\p{L}{1,100}){1,100}"] {
        let fault = refused(member(json!({ "type": "string", "pattern": pattern })));
        assert!(matches!(fault, SchemaFault::Pattern { .. }), "{pattern}");
    }
    let long = refused(member(json!({ "type": "string", "pattern": "a".repeat(257) })));
    assert_eq!(long, SchemaFault::Limit { what: "characters in one pattern", limit: 256 });
    let slow =
        compile_schema(member(json!({ "type": "string", "pattern": "^(a+)+$", "maxLength": 262_144 })))
            .unwrap();
    let text = "a".repeat(100_000) + "b";
    assert!(fits(&slow, json!({ "m": text })).is_err());
}

#[test]
fn a_concept_must_describe_an_object() {
    for schema in [
        json!({ "type": "string" }),
        json!({ "type": ["object", "null"], "properties": {} }),
        json!({ "properties": { "a": { "type": "string" } } }),
        json!(true),
        json!({}),
    ] {
        assert_eq!(refused(schema), SchemaFault::NotAnObject);
    }
    let through =
        with_defs(json!({ "$ref": "#/$defs/o" }), json!({ "o": { "type": "object", "properties": {} } }));
    assert!(through.is_ok());
}

#[test]
fn objects_are_closed_at_every_depth() {
    let inner = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let compiled = compile_schema(json!({ "type": "object", "properties": {
        "o": inner, "l": { "type": "array", "items": inner }, "n": { "type": ["object", "null"], "properties": {} } },
        "patternProperties": { "^p_": inner } }))
    .unwrap();
    assert_eq!(
        fits(&compiled, json!({ "o": { "a": "x" }, "l": [{}], "n": null, "p_1": { "a": "x" } })),
        Ok(())
    );
    for instance in [
        json!({ "x": 1 }),
        json!({ "o": { "b": 1 } }),
        json!({ "l": [{ "a": "x" }, { "b": 1 }] }),
        json!({ "n": { "b": 1 } }),
        json!({ "p_1": { "b": 1 } }),
    ] {
        assert!(
            fits(&compiled, instance.clone()).unwrap_err().ends_with(" additionalProperties"),
            "{instance}"
        );
    }
}

#[test]
fn compositions_are_closed_as_a_whole() {
    let defs = json!({ "base": { "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"] } });
    let compiled = with_defs(
        json!({ "allOf": [{ "$ref": "#/$defs/base" }], "properties": { "n": { "type": "integer" } } }),
        defs.clone(),
    )
    .unwrap();
    assert_eq!(fits(&compiled, json!({ "id": "a", "n": 1 })), Ok(()));
    assert_eq!(fits(&compiled, json!({ "id": "a", "x": 1 })), Err(" unevaluatedProperties".to_owned()));
    let alone = with_defs(member(json!({ "$ref": "#/$defs/base" })), defs).unwrap();
    assert_eq!(fits(&alone, json!({ "m": { "id": "a" } })), Ok(()));
    assert_eq!(
        fits(&alone, json!({ "m": { "id": "a", "x": 1 } })),
        Err("/m additionalProperties".to_owned())
    );
}

#[test]
fn a_union_takes_members_of_the_branch_that_fits_and_no_others() {
    let card = json!({ "type": "object", "properties": { "kind": { "const": "card" }, "number": { "type": "string" } }, "required": ["kind"] });
    let iban = json!({ "type": "object", "properties": { "kind": { "const": "iban" }, "iban": { "type": "string" } }, "required": ["kind"] });
    for union in ["anyOf", "oneOf"] {
        let compiled = compile_schema(member(json!({ union: [card, iban] }))).unwrap();
        assert_eq!(fits(&compiled, json!({ "m": { "kind": "card", "number": "1" } })), Ok(()));
        assert_eq!(fits(&compiled, json!({ "m": { "kind": "iban", "iban": "1" } })), Ok(()));
        let mixed = fits(&compiled, json!({ "m": { "kind": "card", "iban": "1" } }));
        assert_eq!(mixed, Err("/m unevaluatedProperties".to_owned()), "{union}");
    }
}

#[test]
fn attack_an_open_object_smuggled_through_one_branch_or_a_condition() {
    let inner = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let smuggled = json!({ "m": { "o": { "a": "x", "evil": { "deep": 1 } } } });
    for composed in [
        json!({ "oneOf": [{ "type": "object", "properties": { "o": inner } }, { "type": "null" }] }),
        json!({ "anyOf": [{ "type": "object", "properties": { "o": inner } }, { "type": "null" }] }),
        json!({ "type": "object", "if": { "properties": { "o": inner } } }),
        json!({ "type": "object", "if": { "properties": { "o": inner } }, "then": { "required": ["o"] } }),
        json!({ "type": "object", "if": { "required": ["o"] }, "then": { "properties": { "o": inner } } }),
        json!({ "type": "object", "properties": { "o": { "type": "object", "properties": { "a": { "type": "string" } }, "not": { "required": ["b"] } } } }),
        json!({ "type": "object", "dependentSchemas": { "o": { "properties": { "o": inner } } } }),
        json!({ "type": "object", "properties": { "o": { "allOf": [inner, { "required": ["a"] }] } } }),
    ] {
        let compiled = compile_schema(member(composed.clone())).unwrap();
        assert_eq!(fits(&compiled, json!({ "m": { "o": { "a": "x" } } })), Ok(()), "{composed}");
        assert!(fits(&compiled, smuggled.clone()).is_err(), "{composed}");
    }
}

#[test]
fn closing_never_widens_a_negation_or_a_choice() {
    // As written, any object fails `not`; were the inside of `not` closed, one with a stranger's member would pass.
    let inner = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let negated = compile_schema(member(
        json!({ "type": ["object", "string"], "properties": { "b": { "type": "string" } }, "not": inner }),
    ))
    .unwrap();
    assert!(fits(&negated, json!({ "m": { "b": "x" } })).is_err());
    assert_eq!(fits(&negated, json!({ "m": "x" })), Ok(()));
    // As written both branches take `{a}`, so `oneOf` refuses it; closed branches would accept it.
    let other = json!({ "type": "object", "properties": { "b": { "type": "string" } } });
    let chosen = compile_schema(member(json!({ "oneOf": [inner, other] }))).unwrap();
    assert_eq!(fits(&chosen, json!({ "m": { "a": "x" } })), Err("/m oneOf".to_owned()));
}

#[test]
fn marks_have_no_place_where_a_schema_only_tests() {
    let text = json!({ "type": "string", "maxLength": 5, "x-free-text": true });
    for inner in [
        json!({ "type": "string", "not": text }),
        json!({ "type": "string", "if": text }),
        json!({ "type": "array", "items": true, "contains": text }),
        json!({ "type": "object", "additionalProperties": true, "propertyNames": text }),
        json!({ "type": "string", "not": { "anyOf": [{ "type": "string", "x-code-list": "colours" }] } }),
    ] {
        assert!(matches!(refused(member(inner.clone())), SchemaFault::RefusedKeyword { .. }), "{inner}");
    }
}

#[test]
fn attack_a_schema_that_works_without_end() {
    let around = with_defs(
        member(json!({ "$ref": "#/$defs/a" })),
        json!({
        "a": { "type": "object", "allOf": [{ "$ref": "#/$defs/b" }] }, "b": { "anyOf": [{ "$ref": "#/$defs/a" }] } }),
    );
    assert_eq!(around.unwrap_err().1, SchemaFault::Cycle);
    // Each level looks twice at the next: 2^depth evaluations of one value.
    let twice = with_defs(
        member(json!({ "$ref": "#/$defs/a" })),
        json!({ "a": { "type": "object", "allOf": [
        { "properties": { "n": { "$ref": "#/$defs/a" } } }, { "properties": { "n": { "$ref": "#/$defs/a" } } }] } }),
    );
    let (path, fault) = twice.unwrap_err();
    assert!(matches!(fault, SchemaFault::Work { limit: 500, .. }));
    assert_eq!(path, "/concepts/c");
    // A chain of definitions, each of which looks twice at the next: exponential in the length of the chain.
    let mut defs = serde_json::Map::new();
    for n in 0..14 {
        let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
        defs.insert(format!("d{n}"), json!({ "allOf": [next, next] }));
    }
    defs.insert("d14".to_owned(), json!({ "type": "string" }));
    let chain = with_defs(member(json!({ "$ref": "#/$defs/d0" })), Value::Object(defs));
    assert!(matches!(chain.unwrap_err().1, SchemaFault::Work { .. } | SchemaFault::Limit { .. }));
    // Definitions that would unfold without end are built once each and cost one evaluation a value.
    let mut defs = serde_json::Map::new();
    for n in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
        defs.insert(format!("d{n}"), json!({ "type": "object", "properties": { "l": next, "r": next } }));
    }
    defs.insert("d30".to_owned(), json!({ "type": "string" }));
    let unfolded = with_defs(member(json!({ "$ref": "#/$defs/d0" })), Value::Object(defs)).unwrap();
    assert_eq!(fits(&unfolded, json!({ "m": { "l": { "r": { "l": {} } } } })), Ok(()));
    assert_eq!(unfolded.fields, crate::field::FieldType::Opaque);
    // Nested compositions that are closed by what the instance shows: every level looks twice at the next.
    let nest = |union: &str| {
        (0..24).fold(
            json!({ "type": "object", "properties": {} }),
            |inner, _| json!({ union: [{ "type": "object", "properties": { "n": inner } }] }),
        )
    };
    assert!(matches!(refused(nest("anyOf")), SchemaFault::Work { .. }));
    // Where the schema alone shows it, they cost no more than they hold, whether content fits or not.
    let nested = compile_schema(nest("allOf")).unwrap();
    let content = |leaf: Value| (0..24).fold(leaf, |inner, _| json!({ "n": inner }));
    assert_eq!(fits(&nested, content(json!({}))), Ok(()));
    assert!(fits(&nested, content(json!({ "x": 1 }))).unwrap_err().ends_with("Properties"));
    assert!(fits(&nested, content(json!(1))).unwrap_err().ends_with(" type"));
    let deep = (0..20).fold(json!({ "type": "string" }), |inner, _| json!({ "allOf": [inner] }));
    assert!(matches!(refused(member(deep)), SchemaFault::Limit { .. }));
}

#[test]
fn recursive_schemas_compile_and_hold_at_every_depth() {
    let tree = json!({ "tree": { "type": "object", "properties": {
        "name": { "type": "string", "maxLength": 20, "x-free-text": true },
        "children": { "type": "array", "items": { "$ref": "#/$defs/tree" } } } } });
    let compiled = with_defs(json!({ "$ref": "#/$defs/tree" }), tree).unwrap();
    let instance = |leaf: Value| json!({ "children": [{ "children": [{ "children": [leaf] }] }] });
    assert_eq!(fits(&compiled, instance(json!({ "name": "x" }))), Ok(()));
    let deep = fits(&compiled, instance(json!({ "evil": 1 })));
    assert_eq!(deep, Err("/children/0/children/0/children/0 additionalProperties".to_owned()));
    let text = |value: Value| {
        let text = value.to_string();
        let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
        compiled.free_text.is_in(read.as_object().unwrap())
    };
    assert!(text(instance(json!({ "name": "x" }))));
    assert!(!text(instance(json!({ "name": "" }))));
    let crate::field::FieldType::Record(members) = &compiled.fields else { panic!("a record") };
    assert_eq!(members["children"].kind, crate::field::FieldType::Opaque);
}

#[test]
fn attack_nesting_and_chains_as_deep_as_allowed_fit_into_a_small_stack() {
    let deep = (0..45).fold(
        json!({ "type": "string" }),
        |inner, _| json!({ "type": "object", "properties": { "n": inner } }),
    );
    assert!(compile_schema(deep).is_ok());
    let mut defs = serde_json::Map::new();
    for n in 0..255 {
        let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
        defs.insert(format!("d{n}"), json!({ "type": "object", "properties": { "n": next } }));
    }
    defs.insert("d255".to_owned(), json!({ "type": "string" }));
    let chain = with_defs(member(json!({ "$ref": "#/$defs/d0" })), Value::Object(defs)).unwrap();
    let content = (0..28).fold(json!({}), |inner, _| json!({ "n": inner }));
    assert_eq!(fits(&chain, json!({ "m": content })), Ok(()));
    // The longest chain in place at every level of a recursive schema.
    let mut part = json!({ "$ref": "#/$defs/o" });
    for _ in 0..8 {
        part = json!({ "allOf": [part] });
    }
    let defs = json!({ "o": { "type": "object", "properties": { "n": part } } });
    let recursive = with_defs(json!({ "$ref": "#/$defs/o" }), defs).unwrap();
    let content = (0..30).fold(json!({}), |inner, _| json!({ "n": inner }));
    assert_eq!(fits(&recursive, content.clone()), Ok(()));
    let bad = (0..30).fold(json!({ "x": 1 }), |inner, _| json!({ "n": inner }));
    assert!(fits(&recursive, bad).is_err());
}
