//! Faults of a document for its author: with line and column, the name that was probably meant, and the choices.

use std::collections::BTreeMap;

use semgate_contexts::document::{DOCUMENT_MEMBERS, TASK_MEMBERS};
use semgate_contexts::schema::KEYWORDS;
use semgate_contexts::{DocumentFault, Performative, SchemaFault, json};
use semgate_policies::closest;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fault::Fault;

const CODE_LIST: &str = "x-code-list";
const REFERENCE: &str = "$ref";

/// A document as written.
pub struct DocumentText<'s> {
    text: &'s [u8],
    /// Null if it cannot be read.
    value: Value,
}

impl<'s> DocumentText<'s> {
    pub fn new(text: &'s [u8]) -> Self {
        Self { text, value: serde_json::from_slice(text).unwrap_or_default() }
    }

    /// The fault in one line.
    pub fn describe(&self, fault: &DocumentFault) -> String {
        let words = match fault {
            DocumentFault::Json(json::Fault::Malformed { what, .. }) => format!("not strict JSON: {what}"),
            DocumentFault::Json(json::Fault::DuplicateKey { .. }) => {
                "not strict JSON: duplicate member name".to_owned()
            }
            fault => fault.to_string(),
        };
        let position = self.offset(fault).map(|offset| {
            let (line, column) = position(self.text, offset);
            format!(" (line {line}, column {column})")
        });
        format!("{words}{}{}", self.advice(fault), position.unwrap_or_default())
    }

    /// The offset of the part at fault: of its name, if it has one.
    fn offset(&self, fault: &DocumentFault) -> Option<usize> {
        match fault {
            DocumentFault::Json(
                json::Fault::Malformed { offset, .. } | json::Fault::DuplicateKey { offset },
            ) => Some(*offset),
            DocumentFault::Urn(_) => self.pointed("/context"),
            DocumentFault::NameCollision { name } | DocumentFault::ReservedName { name } => {
                let section = if self.value.pointer(&format!("/tasks/{name}")).is_some() {
                    "tasks"
                } else {
                    "concepts"
                };
                self.pointed(&format!("/{section}/{name}"))
            }
            DocumentFault::Schema { path, fault } => {
                let keyword = match fault {
                    SchemaFault::UnknownKeyword { keyword }
                    | SchemaFault::RefusedKeyword { keyword, .. }
                    | SchemaFault::KeywordValue { keyword, .. } => keyword,
                    SchemaFault::UnknownCodeList => CODE_LIST,
                    SchemaFault::Reference { .. } => REFERENCE,
                    _ => return self.pointed(path),
                };
                self.pointed(&format!("{path}/{}", keyword.replace('~', "~0").replace('/', "~1")))
            }
            fault => self.pointed(fault.path().filter(|path| !path.is_empty())?),
        }
    }

    /// The offset of the part that a JSON Pointer names, or of the nearest part around it.
    fn pointed(&self, pointer: &str) -> Option<usize> {
        let text = std::str::from_utf8(self.text).ok()?;
        let mut raw: &RawValue = serde_json::from_str(text).ok()?;
        let mut offset = 0_usize;
        for segment in pointer.split('/').skip(1) {
            let name = segment.replace("~1", "/").replace("~0", "~");
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
            let items: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
            let item = segment.parse().ok().and_then(|index: usize| items.get(index));
            let (within, named) = match (members.get(&name), item) {
                (Some(member), _) => (*member, true),
                (None, Some(item)) => (*item, false),
                (None, None) => break,
            };
            // a borrowed value is a part of the text
            let start = (within.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
            offset = if named { key(text, start)? } else { start };
            raw = within;
        }
        Some(offset)
    }

    /// The meant name and the choices, if the fault has any.
    fn advice(&self, fault: &DocumentFault) -> String {
        match fault {
            DocumentFault::Member { path, what: "unknown member" } => {
                let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
                let known: &[&str] = if above.is_empty() { &DOCUMENT_MEMBERS } else { &TASK_MEMBERS };
                chosen(name, known)
            }
            DocumentFault::Schema { fault: SchemaFault::UnknownKeyword { keyword }, .. } => {
                meant(keyword, &KEYWORDS)
            }
            DocumentFault::Schema { path, fault: SchemaFault::UnknownCodeList } => {
                let lists = self.value.get("codes").and_then(Value::as_object);
                let known: Vec<&str> =
                    lists.into_iter().flat_map(|all| all.keys()).map(String::as_str).collect();
                chosen(self.text_at(path, CODE_LIST), &known)
            }
            DocumentFault::Schema { fault: SchemaFault::Performatives, .. } => {
                chosen("", &Performative::ALL.map(Performative::as_str))
            }
            DocumentFault::Schema { path, fault: SchemaFault::Reference { .. } } => {
                let defs = self.value.get("$defs").and_then(Value::as_object);
                let known: Vec<String> = defs
                    .into_iter()
                    .flat_map(|all| all.keys())
                    .map(|name| format!("#/$defs/{name}"))
                    .collect();
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                meant(self.text_at(path, REFERENCE), &known)
            }
            _ => String::new(),
        }
    }

    /// The string at a path, or its member of this name.
    fn text_at(&self, path: &str, member: &str) -> &str {
        let value = self.value.pointer(path);
        let value = value.and_then(|value| value.get(member)).or(value);
        value.and_then(Value::as_str).unwrap_or_default()
    }
}

/// The start of the name of the member whose value starts here.
fn key(text: &str, value: usize) -> Option<usize> {
    let name = text.get(..value)?.trim_end().strip_suffix(':')?.trim_end().strip_suffix('"')?;
    name.rfind('"')
}

/// Line and column of an offset, from 1; columns count characters.
pub fn position(text: &[u8], offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.iter().filter(|byte| **byte == b'\n').count();
    let last = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    (line.saturating_add(1), String::from_utf8_lossy(last).chars().count().saturating_add(1))
}

fn meant(name: &str, known: &[&str]) -> String {
    closest(name, known.iter().copied()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

fn chosen(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return String::new();
    }
    let all: Vec<String> = known.iter().map(|one| format!("`{one}`")).collect();
    let meant = meant(name, known);
    let mark = if meant.is_empty() { ";" } else { "" };
    format!("{meant}{mark} one of {}", all.join(", "))
}

/// Refuses a draft with open questions: a published version stays for ever.
///
/// # Errors
/// Names each question.
pub fn settled(document: &Value) -> Result<(), Fault> {
    let open = open_questions(document);
    if open.is_empty() {
        return Ok(());
    }
    Err(Fault::new(format_args!(
        "the draft has {} open question(s), and a published version stays for ever",
        open.len()
    ))
    .also(open.iter().map(|(path, question)| format!("`{path}`: {question}")))
    .hint("answer each in its schema, and remove its `$comment`"))
}

/// The open questions of a draft, by path: comments that begin with `open:`, as `context import` writes them.
pub fn open_questions(document: &Value) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    collect(document, "", &mut all);
    all
}

fn collect(value: &Value, path: &str, all: &mut BTreeMap<String, String>) {
    let mut below = |name: &str, value: &Value| collect(value, &format!("{path}/{name}"), all);
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| below(name, value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| below(&index.to_string(), value));
        }
        Value::String(text) if path.ends_with("/$comment") && text.starts_with("open:") => {
            all.insert(path.to_owned(), text.clone());
        }
        _ => {}
    }
}
