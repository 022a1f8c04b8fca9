//! Drafts: first each task is made valid by itself, and then as many as fit share a document.

use std::collections::BTreeSet;

use semgate_contexts::{Context, DocumentFault, DocumentLimits, Prefix};
use serde_json::{Map, Value, json};

use super::forms::Form;
use super::schema::Used;
use crate::fault::{Doing, Fault};

/// Rounds of repairs on a draft: each one removes every fault that the last one showed.
const ROUNDS: usize = 32;

/// One tool or skill as a task.
pub(super) struct Drafted {
    /// The task.
    pub name: String,
    /// The exact name of the tool or skill.
    pub tool: String,
    pub task: Value,
    /// The definitions to which the task refers, under names unique in the whole draft.
    pub definitions: Map<String, Value>,
    /// References of the given schemas that lead to these definitions.
    pub references: BTreeSet<String>,
    /// All pinned forms of the task; none for a skill.
    pub forms: Vec<Form>,
    /// Remarks for the reviewer.
    pub warnings: Vec<String>,
}

impl Drafted {
    pub fn new(name: &str, tool: &str) -> Self {
        Self {
            name: name.to_owned(),
            tool: tool.to_owned(),
            task: Value::Null,
            definitions: Map::new(),
            references: BTreeSet::new(),
            forms: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub fn warn(&mut self, what: String) {
        if !self.warnings.contains(&what) {
            self.warnings.push(what);
        }
    }
}

/// A draft with all remarks for its reviewer.
#[derive(Default)]
pub(super) struct Draft {
    pub tasks: Vec<Drafted>,
    /// Remarks on the draft as a whole.
    pub warnings: Vec<String>,
    /// Tools and skills that cannot be expressed, each with the reason.
    pub left_out: Vec<(String, String)>,
    pub used: Used,
}

/// One document of a draft.
pub(super) struct Part {
    pub urn: String,
    pub context: Context,
    pub document: Value,
    pub tasks: Vec<Drafted>,
}

/// The naming of a draft's documents.
pub(super) struct Naming<'n> {
    pub line: &'n str,
    pub version: &'n str,
    pub title: &'n str,
}

impl Naming<'_> {
    /// The URN of one document: the line itself, then `LINE-2`, `LINE-3`.
    fn urn(&self, number: usize) -> String {
        let mark = if number == 0 { String::new() } else { format!("-{}", number.saturating_add(1)) };
        format!("urn:contexts:{}{mark}:{}", self.line, self.version)
    }

    fn document<'t>(&self, number: usize, tasks: impl Iterator<Item = &'t Drafted>) -> Value {
        let (mut all, mut definitions) = (Map::new(), Map::new());
        for drafted in tasks {
            all.insert(drafted.name.clone(), drafted.task.clone());
            definitions.extend(drafted.definitions.clone());
        }
        let mut document = Map::new();
        document.insert("context".to_owned(), Value::from(self.urn(number)));
        document.insert("title".to_owned(), Value::from(self.title));
        document.insert("tasks".to_owned(), Value::Object(all));
        if !definitions.is_empty() {
            document.insert("$defs".to_owned(), Value::Object(definitions));
        }
        Value::Object(document)
    }
}

impl Draft {
    pub fn warn(&mut self, what: impl Into<String>) {
        self.warnings.push(what.into());
    }

    /// The documents of the draft: as few as hold every expressible task, in the order of the tasks. `false`, which accepts nothing,
    /// replaces a schema that the profile refuses. A task refused as a whole is omitted and named.
    ///
    /// # Errors
    /// No task is left, or the line, version or title is refused.
    pub fn parts(&mut self, naming: &Naming<'_>) -> Result<Vec<Part>, Fault> {
        let mut sound = Vec::new();
        for mut drafted in std::mem::take(&mut self.tasks) {
            match mend(&mut drafted) {
                Ok(()) => sound.push(drafted),
                Err(why) => self.left_out.push((drafted.tool, why)),
            }
        }
        if sound.is_empty() {
            let reasons =
                self.left_out.iter().map(|(tool, why)| format!("{}: {why}", Value::from(tool.as_str())));
            let reasons: Vec<String> = reasons.take(8).collect();
            return Err(Fault::new(format_args!(
                "no tool or skill can become a task of a context: {}",
                reasons.join("; ")
            ))
            .hint("write the context by hand"));
        }
        let mut parts = Vec::new();
        let mut waiting = vec![sound];
        while let Some(mut tasks) = waiting.pop() {
            let document = naming.document(parts.len(), tasks.iter());
            let task_count = tasks.len();
            match checked(&document)? {
                Ok(context) => parts.push(Part { urn: naming.urn(parts.len()), context, document, tasks }),
                Err(_) if task_count > 1 => {
                    let rest = tasks.split_off(fitting(&tasks));
                    waiting.push(rest);
                    waiting.push(tasks);
                }
                Err(fault) => {
                    return Err(Fault::new(format_args!("the draft is not a context: {fault}"))
                        .hint("name it with `--line` and `--version`, or write it by hand"));
                }
            }
        }
        Ok(parts)
    }
}

/// The number of tasks to try in one document, fewer than all: as many as its bound on bytes takes. If the bytes were not the problem, half
/// of them.
fn fitting(tasks: &[Drafted]) -> usize {
    let mut room = DocumentLimits::default().max_payload_bytes.saturating_sub(1_000);
    let length = |value: &Value| value.to_string().len();
    let mut fits = 0_usize;
    for drafted in tasks {
        let definitions = drafted.definitions.iter().map(|(name, schema)| name.len() + length(schema) + 4);
        let size = drafted.name.len() + length(&drafted.task) + 4 + definitions.sum::<usize>();
        let Some(left) = room.checked_sub(size) else { break };
        room = left;
        fits += 1;
    }
    if fits == tasks.len() { fits / 2 } else { fits }.max(1)
}

fn checked(document: &Value) -> Result<Result<Context, DocumentFault>, Fault> {
    let bytes = serde_json::to_vec(document).doing("writing the draft")?;
    Ok(Context::check(&bytes, &Prefix::default(), &DocumentLimits::default()))
}

/// Replaces each schema that the profile refuses by `false`, until none is left.
///
/// # Errors
/// The reason for omitting the task.
fn mend(drafted: &mut Drafted) -> Result<(), String> {
    let naming = Naming { line: "draft", version: "v1.0", title: "Draft" };
    for _ in 0..ROUNDS {
        let mut document = naming.document(0, std::iter::once(&*drafted));
        let bytes = serde_json::to_vec(&document).map_err(|e| e.to_string())?;
        let faults = Context::faults(&bytes, &Prefix::default(), &DocumentLimits::default(), &|_| None);
        if faults.is_empty() {
            return uncallable(drafted).map_or(Ok(()), Err);
        }
        for fault in faults {
            let Some(path) = replaceable(&fault, &document) else { return Err(fault.to_string()) };
            // an outer one may be replaced already
            let Some(schema) = document.pointer_mut(&path).filter(|schema| **schema != Value::Bool(false))
            else {
                continue;
            };
            *schema = Value::Bool(false);
            drafted.warn(format!("the draft accepts nothing at `{path}` until it is reviewed: {fault}"));
        }
        let mut take = |pointer: &str| document.pointer_mut(pointer).map(Value::take);
        drafted.task = take(&format!("/tasks/{}", drafted.name)).unwrap_or_default();
        if let Some(Value::Object(definitions)) = take("/$defs") {
            drafted.definitions = definitions;
        }
    }
    Err("it has more faults than the draft lists".to_owned())
}

/// Keywords that may accept more when a schema inside accepts less; `contains` does so beside `maxContains`.
const TURNING: [&str; 4] = ["not", "if", "oneOf", "contains"];

/// The place to replace by `false`: the faulty schema, or the one around it if narrowing the inner one would accept more. `None` if that is
/// the whole side of the task.
fn replaceable(fault: &DocumentFault, document: &Value) -> Option<String> {
    let DocumentFault::Schema { path, .. } = fault else { return None };
    let pieces: Vec<&str> = path.split('/').collect();
    let within = match pieces.get(1..3)? {
        ["tasks", _] => 4,
        ["$defs", _] => 3,
        _ => return None,
    };
    if within == 3 && turns(document) {
        return None;
    }
    let (mut nearest, mut named) = (within, false);
    for (at, piece) in pieces.iter().enumerate().skip(within) {
        if !named && TURNING.contains(piece) {
            break;
        }
        // names stand below these, and no keywords
        named = !named && matches!(*piece, "properties" | "patternProperties" | "dependentSchemas");
        nearest = at.saturating_add(1);
    }
    let path = pieces.get(..nearest)?.join("/");
    let can_stand = |schema: &Value| schema.is_object() || schema.is_boolean() || schema.is_null();
    let is_schema = document.pointer(&path).is_some_and(can_stand);
    (is_schema && !(within == 4 && nearest <= 4)).then_some(path)
}

/// True if the draft accepts more when a definition accepts less.
fn turns(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            TURNING.iter().any(|keyword| map.contains_key(*keyword)) || map.values().any(turns)
        }
        Value::Array(items) => items.iter().any(turns),
        _ => false,
    }
}

/// Reason why nobody could call the task: a required member accepts nothing.
fn uncallable(drafted: &Drafted) -> Option<String> {
    for side in ["parameters", "results"] {
        let schema = drafted.task.get(side)?;
        if schema == &Value::Bool(false) {
            return Some(format!("its {side} accept nothing"));
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for member in required.filter_map(Value::as_str) {
            if schema.get("properties").and_then(|all| all.get(member)) == Some(&json!(false)) {
                let why = drafted.warnings.iter().find(|warning| warning.contains(&format!("/{member}`")));
                let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
                return Some(format!("its {side} ask for `{}`, which accepts nothing{why}", shown(member)));
            }
        }
    }
    None
}

fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control() && *c != '`').take(64).collect()
}
