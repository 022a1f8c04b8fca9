//! One pattern on its own: the validator's verdict, and the reason for a refusal in plain words.

use std::borrow::Cow;

use super::matcher::Matchers;
use super::{SchemaFault, plain};
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::literal::{Extractor, Literal};
use regex_syntax::hir::{Hir, Look};

/// Compiles the pattern as the keyword will, with the same engine and limits.
///
/// # Errors
/// [`SchemaFault::Pattern`] with the reason.
pub(super) fn compiles(keyword: &str, pattern: &str, matchers: &Matchers) -> Result<(), SchemaFault> {
    let taken = matchers.get(&dots_spelt_out(pattern)).is_some()
        && match keyword {
            // the names of members are matched by the library that validates
            "patternProperties" => plain::compiles_names(pattern, matchers.limits()),
            _ => true,
        };
    if taken { Ok(()) } else { Err(SchemaFault::Pattern { why: reason(pattern) }) }
}

/// Syntax that the parser used for reasons accepts and the engine does not.
const FOREIGN: [&str; 4] = ["\\a", "--", "&&", "~~"];

/// The reason that the validator refuses a pattern.
fn reason(pattern: &str) -> &'static str {
    match regex_syntax::Parser::new().parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => match error.kind() {
            ErrorKind::UnsupportedLookAround => "look-around cannot be matched in linear time",
            ErrorKind::UnsupportedBackreference if pattern.contains("\\0") => {
                "`\\0` is not an escape of ECMA-262: write `\\u0000`"
            }
            ErrorKind::UnsupportedBackreference => "back-references cannot be matched in linear time",
            ErrorKind::GroupUnclosed | ErrorKind::GroupUnopened => "its parentheses are unbalanced",
            ErrorKind::ClassUnclosed => "its brackets are unbalanced",
            _ => "it is not a regular expression",
        },
        Ok(_) if FOREIGN.iter().any(|text| pattern.contains(text)) => {
            "it has `\\a`, `--`, `&&` or `~~`, which ECMA-262 reads differently, or it is too large when compiled"
        }
        Ok(_) => "it is too large when compiled",
        Err(_) => "it is not a regular expression",
    }
}

/// Every character that is no line terminator (ECMA-262 §12.3).
pub(super) const NO_LINE_END: &str = r"[^\n\r\u2028\u2029]";

/// The pattern with each `.` replaced by its meaning in ECMA-262 §22.2.2.7: any character but line terminators. The engine
/// knows only U+000A as one. A pattern with flags (`(?s:…)`) or an empty class, which engines read in two ways, stays as it
/// is.
pub(super) fn dots_spelt_out(pattern: &str) -> Cow<'_, str> {
    let mut out = String::with_capacity(pattern.len() + NO_LINE_END.len());
    let (mut escaped, mut class, mut name) = (false, false, false);
    for (at, c) in pattern.char_indices() {
        let plain = !escaped && !class && !name;
        let rest = pattern.get(at + c.len_utf8()..).unwrap_or_default();
        match c {
            '.' if plain => {
                out.push_str(NO_LINE_END);
                continue;
            }
            '(' if plain && has_flags(rest) => return Cow::Borrowed(pattern),
            '[' if plain && (rest.starts_with(']') || rest.starts_with("^]")) => {
                return Cow::Borrowed(pattern);
            }
            '[' if plain => class = true,
            ']' if !escaped => class = false,
            '<' if plain => {
                let before = pattern.get(..at).unwrap_or_default();
                name = before.ends_with("(?") || before.ends_with("(?P");
            }
            '>' if name => name = false,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    Cow::Owned(out)
}

/// Returns true if the text behind a parenthesis sets flags: `?s:`, `?-i)`; not `?:`, `?<name>` or `?P<name>`.
fn has_flags(rest: &str) -> bool {
    rest.strip_prefix('?').is_some_and(|rest| {
        rest.starts_with(|c: char| c == '-' || c.is_ascii_alphabetic()) && !rest.starts_with("P<")
    })
}

/// The whole texts that a pattern spells out (`^amount$`, `^(net|gross)$`). None if it fits any other text.
pub(super) fn literal_texts(pattern: &str) -> Vec<String> {
    let spelt = |hir: &Hir| {
        let properties = hir.properties();
        let anchored = properties.look_set_prefix().contains(Look::Start)
            && properties.look_set_suffix().contains(Look::End);
        let ends = properties.look_set().iter().all(|look| matches!(look, Look::Start | Look::End));
        let texts = Extractor::new().extract(hir);
        let texts =
            texts.literals().filter(|texts| anchored && ends && texts.iter().all(Literal::is_exact))?;
        texts.iter().map(|text| String::from_utf8(text.as_bytes().to_vec()).ok()).collect()
    };
    let hir = regex_syntax::Parser::new().parse(pattern).ok();
    hir.and_then(|hir| spelt(&hir)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
