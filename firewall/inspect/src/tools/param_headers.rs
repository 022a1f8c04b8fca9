//! Headers that repeat arguments of a call (2026-07-28 "Custom Headers from Tool Parameters"). The pin signs
//! which arguments have one. A header that differs from the body is a mismatch.

use super::pin::Pinned;
use crate::{Code, Direction, Refusal, inspection::Inspection};
use semgate_contexts::json::{Json, Object};
use semgate_protocol::mcp::{Head, decoded};
use serde_json::Value;

/// Schema keyword that gives an argument its header.
const KEYWORD: &str = "x-mcp-header";

/// Prefix of a pin's word that names a header: `header:NAME=POINTER`.
pub(super) const MARK: &str = "header:";

/// The schema of a tool has an annotation that the protocol does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadHeader;

/// The headers that a tool's `inputSchema` requires, as words of its pin.
///
/// # Errors
/// [`BadHeader`]: clients leave out a tool with one of these faults.
///
/// - A name is not a token, or appears twice.
/// - An argument is not a string, integer or boolean.
/// - A path holds characters outside visible ASCII.
/// - An annotation is not reached by `properties` alone.
pub fn headers(input: &Value) -> Result<Vec<String>, BadHeader> {
    let mut words: Vec<(String, String)> = Vec::new();
    collect(input, "", &mut words)?;
    if words.len() != annotations(input) {
        return Err(BadHeader);
    }
    let mut names: Vec<String> = words.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| matches!(pair, [one, other] if one == other)) {
        return Err(BadHeader);
    }
    // sorted, so that member order does not change the pin
    words.sort_unstable();
    Ok(words.into_iter().map(|(name, path)| format!("{MARK}{name}={path}")).collect())
}

fn collect(schema: &Value, at: &str, words: &mut Vec<(String, String)>) -> Result<(), BadHeader> {
    let Some(Value::Object(properties)) = schema.get("properties") else { return Ok(()) };
    for (key, schema) in properties {
        let path = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        if let Some(name) = schema.get(KEYWORD) {
            let name = name.as_str().filter(|name| is_token(name)).ok_or(BadHeader)?;
            let plain =
                matches!(schema.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean"));
            if !plain || !path.bytes().all(|b| b.is_ascii_graphic()) {
                return Err(BadHeader);
            }
            words.push((name.to_owned(), path.clone()));
        }
        collect(schema, &path, words)?;
    }
    Ok(())
}

fn annotations(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            usize::from(members.contains_key(KEYWORD)) + members.values().map(annotations).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(annotations).sum(),
        _ => 0,
    }
}

/// Returns true for a token of RFC 9110 §5.6.2. `=` is not allowed in one.
fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Checks that the headers of a call exactly repeat its arguments, as the tool requires.
///
/// # Errors
/// `header_mismatch`: a header is missing, differs, repeats an absent argument, or is not one of the tool's.
pub(super) fn agrees(
    case: &Inspection<'_>,
    pinned: Option<&Pinned<'_>>,
    arguments: &Object<'_>,
) -> Result<(), Refusal> {
    let Some(head) = case.call.mcp.as_deref().filter(|_| case.direction == Direction::Request) else {
        return Ok(());
    };
    // the version before has no such headers and refused them
    if head.version.as_deref() != Some("2026-07-28") {
        return Ok(());
    }
    let asked = pinned.map(|pinned| pinned.headers.as_slice()).unwrap_or_default();
    for (name, path) in asked {
        match (find(arguments, path), header(head, name)) {
            (None | Some(Json::Null), None) => {}
            (None | Some(Json::Null), Some(_)) => {
                return Err(mismatch("repeats a missing argument"));
            }
            (Some(_), None) => return Err(mismatch("of an argument is missing")),
            (Some(value), Some(written)) if same(value, written) => {}
            (Some(_), Some(_)) => return Err(mismatch("differs from the argument")),
        }
    }
    let known = |name: &str| asked.iter().any(|(asked, _)| asked.eq_ignore_ascii_case(name));
    if head.params.iter().any(|(name, _)| !known(name)) {
        return Err(mismatch("is not one that the signed tool asks for"));
    }
    Ok(())
}

fn header<'h>(head: &'h Head, name: &str) -> Option<&'h str> {
    let mut all = head.params.iter();
    all.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

fn find<'j>(arguments: &'j Object<'j>, path: &str) -> Option<&'j Json<'j>> {
    let mut steps = path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"));
    let first = arguments.get(&steps.next()?)?;
    steps.try_fold(first, |value, step| value.as_object()?.get(&step))
}

fn same(value: &Json<'_>, written: &str) -> bool {
    let Some(written) = decoded(written) else { return false };
    match value {
        Json::String(text) => **text == *written,
        Json::Bool(flag) => *written == *if *flag { "true" } else { "false" },
        // compared as numbers: `42.0` equals `42`, and neither `+42` nor `042` is a JSON number
        Json::Number(number) => {
            let (whole, zeros) = written.split_once('.').unwrap_or((&*written, "0"));
            let written = number.as_i64_exact().map(|number| number.to_string());
            written.as_deref() == Some(whole) && !zeros.is_empty() && zeros.bytes().all(|b| b == b'0')
        }
        _ => false,
    }
}

fn mismatch(what: &str) -> Refusal {
    Refusal::new(Code::HeaderMismatch, format!("an `Mcp-Param` header {what}"))
        .with_hint("list the tools, and repeat in headers the arguments that the tool's schema names")
}
