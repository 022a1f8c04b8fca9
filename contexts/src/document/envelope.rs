//! The closed envelope of a document: its members, their names, the code lists.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::reference::Bundle;
use super::{DocumentFault, DocumentLimits, labels, relations};
use crate::label::Labels;
use crate::relation::Relation;
use crate::schema::Parts;
use crate::urn::{ContextUrn, Prefix};

/// The line of the control vocabulary.
const CONTROL_LINE: &str = "snl";

/// The concepts of the control vocabulary. They may be used under any context, so no other context defines them.
pub const RESERVED_NAMES: [&str; 5] = ["ambiguous_parameter", "parameter_options", "HELLO", "SELECT", "LOCK"];

/// The members of a document.
pub const DOCUMENT_MEMBERS: [&str; 10] = [
    "context",
    "title",
    "description",
    "concepts",
    "tasks",
    "codes",
    "labels",
    "relations",
    "references",
    "$defs",
];

/// The members of a task.
pub const TASK_MEMBERS: [&str; 4] = ["parameters", "results", "performatives", "x-require-approval"];

/// Characters of a question to people: one that fits a chat message and a header.
const MAX_QUESTION: usize = 512;

/// The parts of a document, found and named; their schemas are not checked yet.
pub(super) struct Envelope<'d> {
    pub(super) urn: ContextUrn,
    pub(super) title: Option<String>,
    pub(super) concepts: &'d Map<String, Value>,
    pub(super) tasks: BTreeMap<&'d str, Task<'d>>,
    pub(super) codes: BTreeMap<String, Vec<String>>,
    pub(super) labels: BTreeMap<String, Labels>,
    /// Their names are not looked up yet.
    pub(super) relations: Vec<Relation>,
    pub(super) defs: &'d Map<String, Value>,
    /// Vectors by name and model; their content is checked with the schemas.
    pub(super) references: &'d Map<String, Value>,
}

/// The parts of a task.
pub(super) struct Task<'d> {
    pub(super) parameters: &'d Value,
    pub(super) results: &'d Value,
    pub(super) performatives: Option<&'d Value>,
    /// `x-require-approval`: the question to a person.
    pub(super) approval: Option<Arc<str>>,
}

static NOTHING: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);

impl<'d> Envelope<'d> {
    pub(super) fn read(
        value: &'d Value,
        prefix: &Prefix,
        limits: &DocumentLimits,
    ) -> Result<Self, DocumentFault> {
        let document = value.as_object().ok_or_else(|| member("", "a document is an object"))?;
        closed(document, "", &DOCUMENT_MEMBERS)?;
        let urn = document.get("context").ok_or_else(|| member("/context", "missing"))?;
        let urn = urn.as_str().ok_or_else(|| member("/context", "must be a string"))?;
        let urn = ContextUrn::parse(urn, prefix).map_err(DocumentFault::Urn)?;
        let authored = limits.schema.authored;
        let title = text(document, "title", limits.max_title_bytes, authored)?;
        text(document, "description", limits.max_description_bytes, authored)?;

        let concepts = section(document, "concepts")?;
        let tasks = section(document, "tasks")?;
        let count = concepts.len().saturating_add(tasks.len());
        if count == 0 {
            return Err(member("", "defines neither a concept nor a task"));
        }
        within("", "concepts and tasks", count, limits.max_terms)?;
        let defs = section(document, "$defs")?;
        within("/$defs", "definitions", defs.len(), limits.schema.max_defs)?;
        for (section, names) in [("concepts", concepts), ("tasks", tasks), ("$defs", defs)] {
            check_names(section, names)?;
        }
        check_namespace(&urn, concepts, tasks)?;
        let codes = codes(section(document, "codes")?, limits)?;
        let labels = labels::read(document, &codes, limits)?;
        let relations = relations::read(document, limits)?;
        let references = section(document, "references")?;
        let named = |name: &String| {
            concepts.contains_key(name)
                || tasks.contains_key(name)
                || codes.values().any(|list| list.contains(name))
        };
        check_references(references, &named, limits)?;
        let tasks = tasks.iter().map(|(name, task)| Ok((name.as_str(), read_task(name, task)?)));
        let tasks = tasks.collect::<Result<_, DocumentFault>>()?;
        Ok(Envelope { urn, title, concepts, tasks, codes, labels, relations, defs, references })
    }

    /// The parts that its schemas refer to.
    pub(super) fn parts(&self) -> Parts<'_> {
        Parts { defs: self.defs, concepts: self.concepts, codes: &self.codes, references: self.references }
    }

    /// The same envelope around the schemas of a bundle, where borrowed schemas stand among the definitions.
    pub(super) fn rebound<'b>(&self, bundle: &'b Bundle) -> Result<Envelope<'b>, DocumentFault> {
        let document = bundle.document.as_object().ok_or_else(|| member("", "a document is an object"))?;
        let tasks = section(document, "tasks")?.iter();
        let tasks = tasks.map(|(name, task)| Ok((name.as_str(), read_task(name, task)?)));
        let mut codes = self.codes.clone();
        codes.extend(bundle.codes.iter().map(|(name, list)| (name.clone(), list.clone())));
        Ok(Envelope {
            urn: self.urn.clone(),
            title: self.title.clone(),
            concepts: section(document, "concepts")?,
            tasks: tasks.collect::<Result<_, DocumentFault>>()?,
            codes,
            labels: self.labels.clone(),
            relations: self.relations.clone(),
            defs: section(document, "$defs")?,
            references: section(document, "references")?,
        })
    }
}

/// Removes the part at `path`, or the part that lacks it. Returns true if anything was removed.
pub(super) fn remove_part(document: &mut Value, path: &str) -> bool {
    remove(document, path) || path.rsplit_once('/').is_some_and(|(above, _)| remove(document, above))
}

/// Removes a part. A document without its own name is none, so that name stays.
fn remove(document: &mut Value, path: &str) -> bool {
    let Some((above, name)) = path.rsplit_once('/').filter(|_| path != "/context") else { return false };
    let name = name.replace("~1", "/").replace("~0", "~");
    let above = document.pointer_mut(above).and_then(Value::as_object_mut);
    above.is_some_and(|members| members.remove(&name).is_some())
}

pub(super) fn member(path: &str, what: &'static str) -> DocumentFault {
    DocumentFault::Member { path: path.to_owned(), what }
}

/// A path of the document. Unknown names are truncated, since they stand in error text.
pub(super) fn path(segments: &[&str]) -> String {
    let cut: Vec<String> = segments.iter().map(|segment| segment.chars().take(64).collect()).collect();
    crate::schema::pointer(&cut)
}

pub(super) fn within(
    path: &str,
    what: &'static str,
    count: usize,
    limit: usize,
) -> Result<(), DocumentFault> {
    if count > limit {
        return Err(DocumentFault::TooMany { path: path.to_owned(), what, limit });
    }
    Ok(())
}

pub(super) fn closed(map: &Map<String, Value>, at: &str, known: &[&str]) -> Result<(), DocumentFault> {
    match map.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(member(&(at.to_owned() + &path(&[name])), "unknown member")),
        None => Ok(()),
    }
}

pub(super) fn section<'d>(
    document: &'d Map<String, Value>,
    name: &str,
) -> Result<&'d Map<String, Value>, DocumentFault> {
    match document.get(name) {
        None => Ok(&NOTHING),
        Some(Value::Object(map)) => Ok(map),
        Some(_) => Err(member(&path(&[name]), "must be an object")),
    }
}

fn text(
    document: &Map<String, Value>,
    name: &str,
    limit: usize,
    authored: bool,
) -> Result<Option<String>, DocumentFault> {
    let Some(value) = document.get(name) else { return Ok(None) };
    let text = value.as_str().ok_or_else(|| member(&path(&[name]), "must be a string"))?;
    within(&path(&[name]), "bytes", text.len(), limit)?;
    if authored && text.chars().any(crate::schema::is_refused) {
        return Err(member(&path(&[name]), crate::schema::MUST_BE_SEEN));
    }
    Ok(Some(text.to_owned()))
}

/// A letter, then letters, digits and underscores; at most 64.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn check_names(section: &str, names: &Map<String, Value>) -> Result<(), DocumentFault> {
    let what = "a name is a letter, then letters, digits and `_`, at most 64";
    match names.keys().find(|name| !is_name(name)) {
        Some(name) => Err(member(&path(&[section, name]), what)),
        None => Ok(()),
    }
}

/// Concepts, tasks and the results of tasks (`NAME_results` in policies) share one namespace.
fn check_namespace(
    urn: &ContextUrn,
    concepts: &Map<String, Value>,
    tasks: &Map<String, Value>,
) -> Result<(), DocumentFault> {
    let defined = |name: &str| concepts.contains_key(name) || tasks.contains_key(name);
    for name in concepts.keys().chain(tasks.keys()) {
        if urn.line().as_str() != CONTROL_LINE && RESERVED_NAMES.contains(&name.as_str()) {
            return Err(DocumentFault::ReservedName { name: name.clone() });
        }
    }
    for name in tasks.keys() {
        let results = format!("{name}_results");
        if concepts.contains_key(name) {
            return Err(DocumentFault::NameCollision { name: name.clone() });
        }
        if defined(&results) {
            return Err(DocumentFault::NameCollision { name: results });
        }
    }
    Ok(())
}

fn read_task<'d>(name: &str, task: &'d Value) -> Result<Task<'d>, DocumentFault> {
    let at = path(&["tasks", name]);
    let map = task.as_object().ok_or_else(|| member(&at, "must be an object"))?;
    closed(map, &at, &TASK_MEMBERS)?;
    let part = |part: &'static str| map.get(part).ok_or_else(|| member(&format!("{at}/{part}"), "missing"));
    Ok(Task {
        parameters: part("parameters")?,
        results: part("results")?,
        performatives: map.get("performatives"),
        approval: map.get("x-require-approval").map(|value| approval(name, value)).transpose()?,
    })
}

/// The question of `x-require-approval`: its text, or a plain one for `true`. `false` would look like a demand, so it is refused.
fn approval(name: &str, value: &Value) -> Result<Arc<str>, DocumentFault> {
    let fault = || {
        let what = "must be `true`, or one line of 1 to 512 visible characters that asks a person";
        member(&path(&["tasks", name, "x-require-approval"]), what)
    };
    match value {
        Value::Bool(true) => Ok(format!("the context requires approval of `{name}`").into()),
        Value::String(text) => {
            let length = text.chars().count();
            let sound = !text.trim().is_empty() && length <= MAX_QUESTION;
            let sound = sound && !text.chars().any(crate::schema::is_unseen);
            if sound { Ok(text.as_str().into()) } else { Err(fault()) }
        }
        _ => Err(fault()),
    }
}

/// Each name of `references` is defined, and leads to vectors by their models.
fn check_references(
    references: &Map<String, Value>,
    defined: &dyn Fn(&String) -> bool,
    limits: &DocumentLimits,
) -> Result<(), DocumentFault> {
    within("/references", "reference vectors", references.len(), limits.max_reference_vectors)?;
    for (name, models) in references {
        let at = || path(&["references", name]);
        if !defined(name) {
            return Err(member(&at(), "names no concept, task or code of the document"));
        }
        if models.as_object().is_none_or(Map::is_empty) {
            return Err(member(&at(), "must be an object of vectors by their models, not empty"));
        }
    }
    Ok(())
}

fn codes(
    lists: &Map<String, Value>,
    limits: &DocumentLimits,
) -> Result<BTreeMap<String, Vec<String>>, DocumentFault> {
    within("/codes", "code lists", lists.len(), limits.max_code_lists)?;
    check_names("codes", lists)?;
    lists.iter().map(|(name, list)| Ok((name.clone(), code_list(name, list, limits)?))).collect()
}

fn code_list(name: &str, list: &Value, limits: &DocumentLimits) -> Result<Vec<String>, DocumentFault> {
    let at = path(&["codes", name]);
    let what = "must be a list of strings, each once, not empty, without control characters";
    let list = list.as_array().filter(|list| !list.is_empty()).ok_or_else(|| member(&at, what))?;
    within(&at, "codes", list.len(), limits.max_codes)?;
    let mut seen = std::collections::BTreeSet::new();
    list.iter()
        .enumerate()
        .map(|(index, code)| {
            let at = format!("{at}/{index}");
            let code = code.as_str().ok_or_else(|| member(&at, what))?;
            within(&at, "bytes", code.len(), limits.max_code_bytes)?;
            let sound = !code.is_empty() && !code.chars().any(crate::schema::is_refused) && seen.insert(code);
            if sound { Ok(code.to_owned()) } else { Err(member(&at, what)) }
        })
        .collect()
}
