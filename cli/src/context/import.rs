//! Contexts from what live servers and agents say of themselves: a draft to be reviewed and signed, never trusted as it is.
//!
//! Nothing is widened in silence. What a schema says that the profile of contexts cannot keep is either nothing that the
//! standard asserts, and left out, or replaced by `false`, which takes nothing; both are told on stderr.

mod a2a;
mod ask;
mod forms;
mod mcp;
mod schema;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use semgate_contexts::{Context, DocumentFault, DocumentLimits, Prefix};
use serde_json::{Map, Value};

use crate::fault::{Doing, Fault};
use crate::system::write_new;

/// Where a draft comes from.
#[derive(Debug, Subcommand)]
pub enum Import {
    /// The tools of an MCP server, each pinned to what the server says of it now
    #[command(disable_version_flag = true)]
    Mcp(mcp::FromServer),
    /// The skills of an A2A agent card, as tasks with open questions
    #[command(disable_version_flag = true)]
    A2a(From),
}

/// What is asked, and how the draft is named.
#[derive(Debug, Args)]
pub struct From {
    /// The server's endpoint, or the agent's address: `https://…`, or `http://` on loopback
    url: String,
    /// The line of the context; without it, one made of the server's name
    #[arg(long)]
    line: Option<String>,
    /// The version of the context
    #[arg(long, default_value = "v1.0")]
    version: String,
    /// PEM roots for https
    #[arg(long)]
    roots: Option<PathBuf>,
    /// Write the draft to this file, and beside it as `….tools.json` what its tools are pinned to; nothing is overwritten
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A draft with what a reviewer has to know of it.
#[derive(Default)]
struct Draft {
    tasks: Map<String, Value>,
    definitions: Map<String, Value>,
    warnings: Vec<String>,
    /// What each task that is a tool is pinned to.
    pinned: Vec<(String, Vec<forms::Form>)>,
}

impl Draft {
    fn warn(&mut self, what: impl Into<String>) {
        self.warnings.push(what.into());
    }

    fn document(&self, urn: &str, title: &str) -> Value {
        let mut document = Map::new();
        document.insert("context".to_owned(), Value::from(urn));
        document.insert("title".to_owned(), Value::from(title));
        document.insert("tasks".to_owned(), Value::Object(self.tasks.clone()));
        if !self.definitions.is_empty() {
            document.insert("$defs".to_owned(), Value::Object(self.definitions.clone()));
        }
        Value::Object(document)
    }
}

/// Fetches, drafts, checks and writes.
///
/// # Errors
/// No answer, nothing to draft, a name that is no line, or a draft that nothing could make a context.
pub async fn run(import: Import, json: bool) -> Result<u8, Fault> {
    let (from, mut draft, name) = match import {
        Import::Mcp(asked) => {
            let (draft, name) = mcp::draft(&asked).await?;
            (asked.from, draft, name)
        }
        Import::A2a(from) => {
            let (draft, name) = a2a::draft(&from).await?;
            (from, draft, name)
        }
    };
    let line = from.line.clone().unwrap_or_else(|| label(&name));
    let urn = format!("urn:contexts:{line}:{}", from.version);
    let title = name.chars().filter(|c| !c.is_control()).take(64).collect::<String>();
    let context = good(&mut draft, &urn, &title)?;
    forms::unseen(&draft).into_iter().for_each(|line| draft.warn(line));
    for warning in &draft.warnings {
        tell!("warning: {warning}");
    }
    let text = readable(&draft.document(&urn, &title))?;
    match &from.out {
        Some(out) => {
            let tools = forms::beside(&draft).map(|pinned| (out.with_extension("tools.json"), pinned));
            if let Some((tools, pinned)) = &tools {
                write_new(tools, readable(pinned)?.as_bytes(), 0o644)?;
            }
            write_new(out, text.as_bytes(), 0o644)?;
            let mut shown = serde_json::json!({
                "urn": urn, "digest": context.digest().to_string(), "out": out, "tools": tools.map(|(tools, _)| tools),
                "warnings": draft.warnings,
            });
            if let Value::Object(members) = &mut shown {
                members.retain(|_, member| !member.is_null());
            }
            crate::authority::print_members(&shown, json);
        }
        None => out!("{}", text.trim_end()),
    }
    Ok(0)
}

/// What is to be reviewed, as JSON in which nothing hides.
fn readable(value: &Value) -> Result<String, Fault> {
    let text = serde_json::to_string_pretty(value).doing("writing the draft")?;
    Ok(crate::screen::json(&text) + "\n")
}

/// The draft as a context. What the profile refuses is replaced by `false`, place by place; a task that it refuses as a
/// whole is left out.
fn good(draft: &mut Draft, urn: &str, title: &str) -> Result<Context, Fault> {
    /// More faults than one draft of 256 tasks should have.
    const MOST: usize = 1_024;
    for _ in 0..MOST {
        if draft.tasks.is_empty() {
            return Err(Fault::new("nothing that was found can be a task of a context")
                .hint("see the warnings; write the context by hand"));
        }
        let mut document = draft.document(urn, title);
        let bytes = serde_json::to_vec(&document).doing("writing the draft")?;
        let fault = match Context::check(&bytes, &Prefix::default(), &DocumentLimits::default()) {
            Ok(context) => return Ok(context),
            Err(fault) => fault,
        };
        if let DocumentFault::NameCollision { name } | DocumentFault::ReservedName { name } = &fault
            && draft.tasks.remove(name).is_some()
        {
            draft.warn(format!("`{name}` is left out: {fault}"));
            continue;
        }
        let DocumentFault::Schema { path, .. } = &fault else {
            return Err(Fault::new(format_args!("the draft is no context: {fault}"))
                .hint("name it with `--line` and `--version`, or write it by hand"));
        };
        let pieces: Vec<&str> = path.split('/').collect();
        if let ["", "tasks", task, "parameters" | "results"] = pieces.as_slice() {
            draft.tasks.remove(*task);
            draft.warn(format!("`{task}` is left out: {fault}"));
            continue;
        }
        let Some(place) = document.pointer_mut(path).filter(|place| !place.is_boolean()) else {
            return Err(Fault::new(format_args!("the draft is no context: {fault}")));
        };
        *place = Value::Bool(false);
        draft.warn(format!("nothing is taken at `{path}` until it is reviewed: {fault}"));
        let mut take = |member: &str| match document.get_mut(member).map(Value::take) {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        (draft.tasks, draft.definitions) = (take("tasks"), take("$defs"));
    }
    Err(Fault::new("the draft has more faults than can be told"))
}

/// A label of a line: letters, digits and inner hyphens.
fn label(name: &str) -> String {
    let text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let text = text.trim_matches('-').to_owned();
    if text.is_empty() { "tools".to_owned() } else { text.chars().take(63).collect() }
}

/// A name of a task: a letter, then letters, digits and `_`, at most 64.
fn task_name(name: &str) -> String {
    let text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let text = if text.starts_with(|c: char| c.is_ascii_alphabetic()) { text } else { format!("t_{text}") };
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests;
