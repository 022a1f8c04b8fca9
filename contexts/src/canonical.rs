//! Canonical bytes: JCS, the JSON canonicalisation scheme of RFC 8785.

use serde_json::Value;

use crate::json::{self, Fault, Limits, MAX_INTEGER};

/// The reason that a value has no canonical bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalFault {
    /// The strict reader refuses the bytes.
    #[error(transparent)]
    Unreadable(#[from] Fault),
    /// A number of magnitude beyond 2^53 − 1, or one that is not finite: I-JSON has no exact form for it.
    #[error("number is beyond 2^53 - 1")]
    NumberRange,
    /// The serialiser failed; only possible for values that no JSON text has.
    #[error("value has no canonical form")]
    Serialiser,
}

/// The canonical bytes of a value: no white space, members sorted by UTF-16 code units, numbers as ECMAScript writes them.
/// The strict reader reads them back as an equal value.
///
/// # Errors
/// [`CanonicalFault::NumberRange`] for a number that writing would change.
pub fn jcs(value: &Value) -> Result<Vec<u8>, CanonicalFault> {
    check_numbers(value)?;
    jcs_of_document(value)
}

/// As [`jcs`], but writes integers beyond 2^53 − 1 as RFC 8785 writes their doubles. For a context document, whose reader
/// takes them as doubles.
///
/// # Errors
/// [`CanonicalFault::Serialiser`].
pub(crate) fn jcs_of_document(value: &Value) -> Result<Vec<u8>, CanonicalFault> {
    serde_json_canonicalizer::to_vec(value).map_err(|_| CanonicalFault::Serialiser)
}

/// Reads strict JSON in any form and gives back its canonical bytes.
///
/// # Errors
/// [`CanonicalFault::Unreadable`] with the reader's fault.
pub fn canonicalise(bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, CanonicalFault> {
    jcs(&json::read(bytes, limits)?.to_value())
}

/// Recursion is bounded by the origin of the value: the strict reader, or `serde_json` with its own bound of 128.
fn check_numbers(value: &Value) -> Result<(), CanonicalFault> {
    match value {
        Value::Number(number) => {
            let exact = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64());
            let fits = match exact {
                Some(integer) => integer <= MAX_INTEGER.unsigned_abs(),
                // An `f64` holds 2^53 − 1 exactly.
                None => number.as_f64().is_some_and(|float| float.abs() <= MAX_INTEGER as f64),
            };
            if fits { Ok(()) } else { Err(CanonicalFault::NumberRange) }
        }
        Value::Array(elements) => elements.iter().try_for_each(check_numbers),
        Value::Object(members) => members.values().try_for_each(check_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
