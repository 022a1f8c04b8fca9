//! Drafts: first each task is made valid by itself, and then as many as fit share a document.

use std::collections::BTreeSet;

use semgate_contexts::{Context, DocumentFault, DocumentLimits, Prefix};
use serde_json::{Map, Value, json};

use crate::fault::ImportFault;
use crate::names::Used;
use crate::repair::replaceable;

/// Rounds of repairs on a draft: each one removes every fault that the last one showed.
const ROUNDS: usize = 32;

/// One definition of a tool, and the versions of the protocol in which the server has it.
pub struct Form {
    /// The versions.
    pub versions: Vec<&'static str>,
    /// The whole tool object.
    pub definition: Value,
}

/// One tool or skill as a task.
pub struct Drafted {
    /// The task.
    pub name: String,
    /// The exact name of the tool or skill.
    pub tool: String,
    /// Schemas of parameters and results.
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
    /// A task without schemas.
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

    /// Adds a remark, once.
    pub fn warn(&mut self, what: String) {
        if !self.warnings.contains(&what) {
            self.warnings.push(what);
        }
    }
}

/// A draft with all remarks for its reviewer.
#[derive(Default)]
pub struct Draft {
    /// Every tool or skill that can be a task.
    pub tasks: Vec<Drafted>,
    /// Remarks on the draft as a whole.
    pub warnings: Vec<String>,
    /// Tools and skills that cannot be expressed, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// Names of definitions in use.
    pub used: Used,
}

/// One document of a draft.
pub struct Part {
    /// The name.
    pub urn: String,
    /// The checked context.
    pub context: Context,
    /// Its document.
    pub document: Value,
    /// Its tasks.
    pub tasks: Vec<Drafted>,
}

/// The naming of a draft's documents.
pub struct Naming<'n> {
    /// The line.
    pub line: &'n str,
    /// The version, `v1.0`.
    pub version: &'n str,
    /// The title.
    pub title: &'n str,
}

impl Naming<'_> {
    /// The URN of one document: the line itself, then `LINE-2`, `LINE-3`.
    pub(crate) fn urn(&self, number: usize) -> String {
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
    /// Adds a remark on the whole.
    pub fn warn(&mut self, what: impl Into<String>) {
        self.warnings.push(what.into());
    }

    /// The documents of the draft: as few as hold every expressible task, in the order of the tasks. `false`, which accepts nothing,
    /// replaces a schema that the profile refuses. A task refused as a whole is omitted and named.
    ///
    /// # Errors
    /// No task is left, or the line, version or title is refused.
    pub fn parts(&mut self, naming: &Naming<'_>) -> Result<Vec<Part>, ImportFault> {
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
            return Err(ImportFault::new(format_args!(
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
                    return Err(ImportFault::new(format_args!("the draft is not a context: {fault}"))
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

fn checked(document: &Value) -> Result<Result<Context, DocumentFault>, ImportFault> {
    let bytes =
        serde_json::to_vec(document).map_err(|e| ImportFault::new(format_args!("writing the draft: {e}")))?;
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
