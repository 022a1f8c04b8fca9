//! One pattern on its own: whether the validator takes it, and if not, why in plain words.

use regex_syntax::ast::ErrorKind;
use serde_json::json;

use super::{SchemaFault, SchemaLimits, Validator};

/// Compiles the pattern as the keyword will, with the same engine and limits.
///
/// # Errors
/// [`SchemaFault::Pattern`] with the reason.
pub(super) fn compiles(keyword: &str, pattern: &str, limits: &SchemaLimits) -> Result<(), SchemaFault> {
    let schema = match keyword {
        "patternProperties" => json!({ "patternProperties": { pattern: { "type": "null" } } }),
        _ => json!({ "pattern": pattern }),
    };
    match Validator::compile_as_is(&schema, limits) {
        Ok(_) => Ok(()),
        Err(_) => Err(SchemaFault::Pattern { why: reason(pattern) }),
    }
}

/// What the parser that is asked for a reason takes and the engine does not.
const FOREIGN: [&str; 4] = ["\\a", "--", "&&", "~~"];

/// Why a pattern that the validator refuses is refused.
fn reason(pattern: &str) -> &'static str {
    match regex_syntax::Parser::new().parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => match error.kind() {
            ErrorKind::UnsupportedLookAround => "look-around cannot be matched in linear time",
            ErrorKind::UnsupportedBackreference if pattern.contains("\\0") => {
                "`\\0` is no escape of it: write `\\u0000`"
            }
            ErrorKind::UnsupportedBackreference => "back-references cannot be matched in linear time",
            ErrorKind::GroupUnclosed | ErrorKind::GroupUnopened => "its parentheses are unbalanced",
            ErrorKind::ClassUnclosed => "its brackets are unbalanced",
            _ => "it is not a regular expression",
        },
        Ok(_) if FOREIGN.iter().any(|text| pattern.contains(text)) => {
            "it has `\\a`, `--`, `&&` or `~~`, which ECMA-262 reads otherwise, or it is too large when compiled"
        }
        Ok(_) => "it is too large when compiled",
        Err(_) => "it is not a regular expression",
    }
}
