//! What is refused with a path and a reason, since the author of a context must find it.

use serde_json::json;

use super::SchemaFault;
use super::tests::{compile_schema, fits, member};

#[test]
fn a_pattern_that_does_not_compile_is_named_by_its_path_and_its_reason() {
    for (pattern, reason) in [
        ("^(?=a)b$", "look-around cannot be matched in linear time"),
        ("(?<!a)b", "look-around cannot be matched in linear time"),
        ("(a)\\1", "back-references cannot be matched in linear time"),
        ("^\\0$", "`\\0` is not an escape of ECMA-262: write `\\u0000`"),
        (
            "^\\a$",
            "it has `\\a`, `--`, `&&` or `~~`, which ECMA-262 reads differently, or it is too large when compiled",
        ),
        (
            "^[a--b]$",
            "it has `\\a`, `--`, `&&` or `~~`, which ECMA-262 reads differently, or it is too large when compiled",
        ),
        ("(", "its parentheses are unbalanced"),
        ("a)", "its parentheses are unbalanced"),
        ("[a", "its brackets are unbalanced"),
        ("*", "it is not a regular expression"),
        ("\\p{Nowhere}", "it is not a regular expression"),
        ("(\\p{L}{1,100}){1,100}", "it is too large when compiled"),
    ] {
        let (path, fault) =
            compile_schema(member(json!({ "type": "string", "pattern": pattern }))).unwrap_err();
        assert_eq!(path, "/concepts/c/properties/m", "{pattern}");
        assert_eq!(fault, SchemaFault::Pattern { why: reason }, "{pattern}");
        assert_eq!(fault.to_string(), format!("the pattern does not compile: {reason}"));
        let names = json!({ "type": "object", "patternProperties": { pattern: { "type": "string" } } });
        let (path, fault) = compile_schema(member(names)).unwrap_err();
        assert_eq!(path, format!("/concepts/c/properties/m/patternProperties/{pattern}"));
        assert_eq!(fault, SchemaFault::Pattern { why: reason }, "{pattern}");
    }
}

#[test]
fn a_closed_object_that_requires_what_it_does_not_declare_is_refused() {
    let text = json!({ "a": { "type": "string" } });
    for schema in [
        json!({ "type": "object", "required": ["a", "zz"], "properties": text }),
        json!({ "type": "object", "required": ["zz"] }),
        json!({ "type": "object", "required": ["zz"], "properties": text, "additionalProperties": false }),
        json!({ "type": "object", "required": ["zz"], "properties": text, "unevaluatedProperties": false }),
    ] {
        let (path, fault) = compile_schema(member(schema.clone())).unwrap_err();
        assert_eq!(path, "/concepts/c/properties/m", "{schema}");
        assert_eq!(fault, SchemaFault::Undeclared { name: "zz".to_owned() }, "{schema}");
        assert_eq!(fault.to_string(), "`zz` is required and not declared, and the object is closed");
    }
}

#[test]
fn what_is_open_composed_or_only_tests_may_require_what_it_does_not_declare() {
    let text = json!({ "a": { "type": "string" } });
    let has_zz = json!({ "type": "object", "required": ["zz"] });
    for schema in [
        json!({ "type": "object", "required": ["zz"], "properties": text, "additionalProperties": true }),
        json!({ "type": "object", "required": ["zz"], "unevaluatedProperties": { "type": "string" } }),
        json!({ "type": "object", "required": ["zz"], "patternProperties": { "^z": { "type": "string" } } }),
        json!({ "type": "object", "required": ["zz"], "allOf": [{ "properties": { "zz": { "type": "string" } } }] }),
        json!({ "type": "object", "properties": { "zz": { "type": "string" } }, "anyOf": [has_zz] }),
        json!({ "type": "object", "properties": { "zz": { "type": "string" } }, "if": {}, "then": { "required": ["zz"] } }),
    ] {
        let compiled = compile_schema(member(schema.clone())).unwrap();
        assert_eq!(fits(&compiled, json!({ "m": { "zz": "x" } })), Ok(()), "{schema}");
    }
    let inside = json!({ "properties": { "a": has_zz } });
    for test in [json!({ "not": inside }), json!({ "if": inside, "then": false })] {
        let mut schema = json!({ "type": "object", "properties": { "a": { "type": ["object", "null"] } } });
        schema.as_object_mut().unwrap().extend(test.as_object().unwrap().clone());
        let compiled = compile_schema(member(schema)).unwrap();
        assert_eq!(fits(&compiled, json!({ "m": { "a": {} } })), Ok(()), "{test}");
    }
}

#[test]
fn bounds_that_cross_are_refused() {
    for (kind, least, most) in [
        ("number", "minimum", "maximum"),
        ("string", "minLength", "maxLength"),
        ("array", "minItems", "maxItems"),
    ] {
        let schema =
            |low: u64, high: u64| member(json!({ "type": kind, "items": true, least: low, most: high }));
        assert!(compile_schema(schema(3, 3)).is_ok(), "{least}");
        let (path, fault) = compile_schema(schema(4, 3)).unwrap_err();
        assert_eq!(path, "/concepts/c/properties/m");
        assert_eq!(fault.to_string(), format!("`{least}` must be at most `{most}`"));
    }
}
