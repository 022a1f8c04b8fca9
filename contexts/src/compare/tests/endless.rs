//! A pair that no comparison ends with in a lifetime, and a line long; also for the tests of those who compare.

use serde_json::{Value, json};

/// Patterns that have to remember which of the last forty characters were an `a`: deterministic automata of 2^40 states.
pub fn endless() -> (Value, Value) {
    let of = |pattern: &str| json!({ "type": "object", "properties": { "m": { "type": "string", "pattern": pattern, "maxLength": 500 } }, "required": ["m"] });
    (of("^[ab]*a[ab]{40}$"), of("^[ab]*b[ab]{39}$"))
}
