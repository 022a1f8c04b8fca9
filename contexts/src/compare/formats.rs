//! Knowledge of formats without a text: patterns that hold every text of a format, formats that lie in others, and texts to
//! try. The validator itself decides if one text has a format.

use std::cell::OnceCell;

use serde_json::json;

use crate::json::Json;
use crate::schema::{FORMATS, Plain, compile_plain};

/// IPv6 (RFC 3986 §3.2.2, `IPv6address`), as the validator reads it: no zone, and no leading zero in an IPv4 part.
const IPV6: &str = concat!(
    "^(",
    r"([0-9A-Fa-f]{1,4}:){6}([0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}|((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9]))|",
    r"::([0-9A-Fa-f]{1,4}:){5}([0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}|((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9]))|",
    r"([0-9A-Fa-f]{1,4})?::([0-9A-Fa-f]{1,4}:){4}([0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}|((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9]))|",
    r"(([0-9A-Fa-f]{1,4}:){0,1}[0-9A-Fa-f]{1,4})?::([0-9A-Fa-f]{1,4}:){3}([0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}|((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9]))|",
    r"(([0-9A-Fa-f]{1,4}:){0,2}[0-9A-Fa-f]{1,4})?::([0-9A-Fa-f]{1,4}:){2}([0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}|((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9]))|",
    r"(([0-9A-Fa-f]{1,4}:){0,3}[0-9A-Fa-f]{1,4})?::[0-9A-Fa-f]{1,4}:([0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}|((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9]))|",
    r"(([0-9A-Fa-f]{1,4}:){0,4}[0-9A-Fa-f]{1,4})?::([0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}|((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9]))|",
    r"(([0-9A-Fa-f]{1,4}:){0,5}[0-9A-Fa-f]{1,4})?::[0-9A-Fa-f]{1,4}|",
    r"(([0-9A-Fa-f]{1,4}:){0,6}[0-9A-Fa-f]{1,4})?::",
    ")$"
);

/// A pattern that every text of the format matches.
pub(super) fn superset_pattern(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
        "time" => {
            r"^([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?([zZ]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
        }
        "date-time" => {
            r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[tT]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?([zZ]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
        }
        "duration" => r"^P[0-9TYMWDHS]{2,}$",
        "uuid" => r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$",
        "ipv4" => {
            r"^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])$"
        }
        "ipv6" => IPV6,
        "hostname" => r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$",
        "email" => r"(?s)^.+@.+$",
        "uri" => r"^[A-Za-z][A-Za-z0-9+.-]*:[!-~]*$",
        "uri-reference" => r"^[!-~]*$",
        "iri" => r"^[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20]*$",
        "iri-reference" => r"^[^\x00-\x20]*$",
        "json-pointer" => r"(?s)^(/.*)?$",
        "relative-json-pointer" => r"(?s)^[0-9]+(#|/.*)?$",
        _ => return None,
    })
}

/// Returns true if the pattern of [`superset_pattern`] matches nothing but texts of the format.
pub(super) fn is_exact(format: &str) -> bool {
    matches!(format, "ipv4" | "ipv6" | "uuid")
}

/// A pattern whose every match has the format; none where none is known. Times have no leap seconds here, since the offset
/// decides which of them exist.
pub(super) fn subset_pattern(format: &str) -> Option<&'static str> {
    match format {
        "time" => Some(
            r"^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?([zZ]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$",
        ),
        exact if is_exact(exact) => superset_pattern(exact),
        _ => None,
    }
}

/// The most characters of a text of the format. None where only [`superset_pattern`] bounds it.
pub(super) fn longest(format: &str) -> Option<u64> {
    // a local part of 64, and a host name of 253 (RFC 5321 §4.5.3.1, RFC 1035 §2.3.4)
    (format == "email").then_some(64 + 1 + 253)
}

/// A pattern whose matches mostly have the format, for texts that other rules take too.
pub(super) fn common(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$",
        "date-time" => {
            r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
        }
        "duration" => r"^P([0-9]+[DW]|T[0-9]+[HMS])$",
        "hostname" => r"^[A-Za-z0-9]{1,63}(\.[A-Za-z0-9]{1,63}){0,3}$",
        "email" => r"^[A-Za-z0-9]{1,64}@[A-Za-z0-9]{1,63}(\.[A-Za-z0-9]{1,63})?$",
        "uri" | "iri" => r"^[A-Za-z]+:(//[A-Za-z0-9.-]+/)?[A-Za-z0-9._-]*$",
        "uri-reference" | "iri-reference" | "uri-template" => r"^[A-Za-z0-9._/-]*$",
        "json-pointer" => r"^(/[^~/]*)*$",
        "relative-json-pointer" => r"^(0|[1-9][0-9]*)(#|(/[^~/]*)*)$",
        other => return subset_pattern(other),
    })
}

/// Returns true if every text of the first format has the second.
pub(super) fn lies_in(inner: &str, outer: &str) -> bool {
    inner == outer
        || matches!(
            (inner, outer),
            ("uri", "uri-reference" | "iri" | "iri-reference") | ("iri" | "uri-reference", "iri-reference")
        )
}

/// Texts to try where a text must have a format, or must not.
pub(super) const SAMPLES: [&str; 41] = [
    "2024-02-29",
    "2024-01-31T12:30:00Z",
    "2024-01-31t12:30:00.125+02:00",
    "2024-01-31T23:59:60Z",
    "12:30:00Z",
    "12:30:00.5-01:00",
    "23:59:60Z",
    "P1D",
    "PT1H30M",
    "P3W",
    "P1Y2M3DT4H5M6S",
    "someone@example.org",
    "a@b",
    "\"a b\"@example.org",
    "example.org",
    "localhost",
    "192.0.2.1",
    "0.0.0.0",
    "2001:db8::1",
    "::",
    "::ffff:192.0.2.1",
    "https://example.org/a?b=c#d",
    "urn:contexts:payment:v1.1",
    "mailto:a@b.org",
    "a/b",
    "#a",
    "",
    "https://example.org/\u{e4}",
    "\u{e4}",
    "/a/b~0c",
    "0/a",
    "1#",
    "{a}",
    "{a",
    "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",
    " ",
    "a b",
    "%",
    "~",
    "\u{7f}",
];

/// The formats as the validator checks them, each compiled at its first use.
#[derive(Debug, Default)]
pub(super) struct Formats {
    checks: [OnceCell<Option<Plain>>; FORMATS.len()],
}

impl Formats {
    /// Returns true if the text has the format; none if the validator cannot be asked.
    pub(super) fn holds(&self, format: usize, text: &str) -> Option<bool> {
        let compile = || compile_plain(&json!({ "format": FORMATS.get(format)? })).ok();
        let check = self.checks.get(format)?.get_or_init(compile).as_ref()?;
        Some(check.accepts(&Json::String(text.into())).is_ok())
    }
}

/// A long text of the format, at least so long; none where none is known.
pub(super) fn long_example(format: &str, least: usize) -> Option<String> {
    let fill = |from: usize| "a".repeat(least.saturating_sub(from).max(1));
    Some(match format {
        "email" => {
            let local = "a".repeat(least.saturating_sub(254).clamp(1, 64));
            let domain = labels(least.saturating_sub(local.len() + 1).max(3));
            format!("{local}@{domain}")
        }
        "hostname" => labels(least.max(1)),
        "uri" | "iri" => format!("urn:{}", fill(4)),
        "uri-reference" | "iri-reference" | "uri-template" => fill(0),
        "json-pointer" => format!("/{}", fill(1)),
        "relative-json-pointer" => format!("0/{}", fill(2)),
        "duration" => format!("P{}D", "1".repeat(least.saturating_sub(2).max(1))),
        "time" => format!("12:30:00.{}Z", "0".repeat(least.saturating_sub(10).max(1))),
        "date-time" => format!("2024-01-31T12:30:00.{}Z", "0".repeat(least.saturating_sub(21).max(1))),
        _ => return None,
    })
}

/// Labels of at most 63 characters, with exactly this many characters in all, dots included.
fn labels(length: usize) -> String {
    let mut text = String::new();
    while text.len() < length {
        let left = length - text.len();
        // a dot is never last
        let take = if left <= 63 {
            left
        } else if left == 64 {
            62
        } else {
            63
        };
        text.push_str(&"a".repeat(take));
        if text.len() < length {
            text.push('.');
        }
    }
    text
}

#[cfg(test)]
mod tests;
