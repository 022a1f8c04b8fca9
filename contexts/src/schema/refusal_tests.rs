//! What is refused with a path and a reason, since the author of a context must find it.

use serde_json::json;

use super::SchemaFault;
use super::tests::{compile_schema, member};

#[test]
fn a_pattern_that_does_not_compile_is_named_by_its_path_and_its_reason() {
    for (pattern, reason) in [
        ("^(?=a)b$", "look-around cannot be matched in linear time"),
        ("(?<!a)b", "look-around cannot be matched in linear time"),
        ("(a)\\1", "back-references cannot be matched in linear time"),
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
