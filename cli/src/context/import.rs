//! Drafts contexts from the self-descriptions of live servers and agents, and from files in other schema languages: to be reviewed and signed, never trusted as they are.
//!
//! Nothing is widened silently. A part of a schema that the profile of contexts cannot keep is omitted if the standard asserts nothing by
//! it. Otherwise `false`, which accepts nothing, replaces it. Both are reported on stderr.

mod a2a;
mod endpoint;
mod files;
mod forms;
mod mcp;
mod unreadable_tools;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use semgate_contexts::schema::refused_in_free_text;
use semgate_contexts::{Context, library};
use semgate_import::draft::{Draft, Naming, Part};
use semgate_import::{ContextDraft, names};
use serde_json::Value;

use crate::fault::{Doing, Fault};
use crate::system::write_new;

/// The source of a draft.
#[derive(Debug, Subcommand)]
pub enum Import {
    /// The tools of an MCP server, each pinned to its current description
    #[command(disable_version_flag = true)]
    Mcp(mcp::FromServer),
    /// The skills of an A2A agent card, as tasks with open questions
    #[command(disable_version_flag = true)]
    A2a(From),
    /// The messages and methods of Protobuf, in their JSON form
    #[command(disable_version_flag = true)]
    Protobuf(files::ProtobufFiles),
    /// The operations of OpenAPI 3.0 or 3.1, as tasks
    #[command(disable_version_flag = true)]
    Openapi(files::OpenapiFile),
    /// A JSON Schema, or some of its definitions, as concepts
    #[command(disable_version_flag = true)]
    Jsonschema(files::SomeOfFile),
    /// The intents of a `schema.json` of Schema-Guided Dialogue, as tasks
    #[command(disable_version_flag = true)]
    Sgd(files::SomeOfFile),
    /// Skills and domains of the Open Agentic Schema Framework, as code lists
    #[command(disable_version_flag = true)]
    Oasf(files::ClassFiles),
    /// SHACL shapes and OWL classes of a graph, as concepts
    #[command(disable_version_flag = true)]
    Rdf(files::GraphFile),
}

/// The server, and the name of the draft.
#[derive(Debug, Args)]
pub struct From {
    /// The server's endpoint, or the agent's address: `https://…`, or `http://` on loopback
    url: String,
    /// The line of the context; default: one made from the server's name. Further contexts get `LINE-2`, `LINE-3`
    #[arg(long)]
    line: Option<String>,
    /// The version of the context
    #[arg(long, default_value = "v1.0")]
    version: String,
    /// PEM roots for https
    #[arg(long)]
    roots: Option<PathBuf>,
    /// File for the draft; the pinned definitions of its tools go to `….tools.json`, further contexts of a large server to `…-2.json`,
    /// `…-3.json`. Nothing is overwritten
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Fetches, drafts, checks and writes.
///
/// # Errors
/// No answer, nothing to draft, a name that is no line, or a draft that cannot become a context.
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
        file => {
            let (target, draft) = from_files(file)?;
            return target.write(&draft, json).map(|()| 0);
        }
    };
    let mut parts = parts(&mut draft, &from, &name)?;
    for drafted in parts.iter_mut().flat_map(|part| &mut part.tasks) {
        forms::unseen(drafted).into_iter().for_each(|line| drafted.warn(line));
    }
    let remarks = remarks(&draft, &parts);
    remarks.iter().for_each(tell_remark);
    let Some(out) = &from.out else {
        let [part] = parts.as_slice() else {
            let several =
                format!("the draft needs {} contexts: one holds at most 90 kB and 256 tasks", parts.len());
            return Err(Fault::new(several).hint(
                "give `--out FILE.json`: the others are written as FILE-2.json, FILE-3.json; or import fewer tools with `--tool`",
            ));
        };
        out!("{}", readable(&part.document)?.trim_end());
        return Ok(0);
    };
    let written = parts.iter().enumerate().map(|(number, part)| write(out, number, part));
    let written = written.collect::<Result<Vec<Value>, Fault>>()?;
    let mut shown = match written.as_slice() {
        [one] => one.clone(),
        several => {
            let urns: Vec<&str> = parts.iter().map(|part| part.urn.as_str()).collect();
            serde_json::json!({"contexts": several, "default_contexts": urns})
        }
    };
    if let Value::Object(members) = &mut shown {
        members.insert("warnings".to_owned(), Value::Array(remarks));
    }
    crate::terminal::print_members(&shown, json);
    Ok(0)
}

/// The draft of an import that reads files, and where it goes.
fn from_files(import: Import) -> Result<(files::DraftTarget, ContextDraft), Fault> {
    match import {
        Import::Protobuf(files) => files.draft(),
        Import::Openapi(file) => file.draft(),
        Import::Jsonschema(file) => file.json_schema(),
        Import::Sgd(file) => file.sgd(),
        Import::Oasf(files) => files.draft(),
        Import::Rdf(file) => file.draft(),
        Import::Mcp(_) | Import::A2a(_) => Err(Fault::new("this import reads a server")),
    }
}

/// The documents of a draft, named after the server unless `from` says otherwise.
fn parts(draft: &mut Draft, from: &From, name: &str) -> Result<Vec<Part>, Fault> {
    let line = from.line.clone().unwrap_or_else(|| names::label(name));
    let title = name.chars().filter(|c| !refused_in_free_text(*c)).take(64).collect::<String>();
    Ok(draft.parts(&Naming { line: &line, version: &from.version, title: &title })?)
}

/// The card of an A2A agent.
///
/// # Errors
/// No answer, or no card.
pub async fn agent_card(url: &str) -> Result<Value, Fault> {
    a2a::card(url, None).await
}

/// A label of a line for a name of any text.
pub fn line_label(name: &str) -> String {
    names::label(name)
}

/// One context of a server's tools.
pub struct DraftedContext {
    /// The context.
    pub context: Context,
    /// Its text, for a reviewer.
    pub text: String,
    /// The pinned definitions of its tools.
    pub tools: Option<String>,
    /// True if a tool states no output schema, so that it answers in text.
    pub answers_text: bool,
}

/// The tools of an MCP server as contexts, with the server's name. Tells which tools are left out.
///
/// # Errors
/// No answer, or no tool that can be a task.
pub async fn drafted_tools(url: &str) -> Result<(String, Vec<DraftedContext>), Fault> {
    let from = From { url: url.to_owned(), line: None, version: "v1.0".to_owned(), roots: None, out: None };
    let mut asked = mcp::FromServer::all_of(from);
    let (mut draft, name) = mcp::draft(&asked).await?;
    // a server may have the name of a shipped line, such as `mcp`
    let label = names::label(&name);
    let shipped = library::all().iter().any(|(document, _)| library::line_of(document) == label);
    asked.from.line = shipped.then(|| format!("{label}-tools"));
    let parts = parts(&mut draft, &asked.from, &name)?;
    for (tool, why) in &draft.left_out {
        tell!("warning: the tool {} is left out: {why}", Value::from(tool.as_str()));
    }
    let untyped = |form: &Value| form.get("outputSchema").is_none();
    let drafted = parts.into_iter().map(|part| {
        Ok(DraftedContext {
            text: readable(&part.document)?,
            tools: forms::pinned(&part.tasks).map(|pinned| readable(&pinned)).transpose()?,
            answers_text: part.tasks.iter().any(|task| forms::newest(&task.forms).is_some_and(untyped)),
            context: part.context,
        })
    });
    Ok((name, drafted.collect::<Result<_, Fault>>()?))
}

/// Writes one document, and the file with the pinned definitions of its tools.
fn write(out: &Path, number: usize, part: &Part) -> Result<Value, Fault> {
    let out = match number {
        0 => out.to_owned(),
        number => {
            let stem = out.file_stem().unwrap_or_default().to_string_lossy();
            let kind = out.extension().map(|kind| format!(".{}", kind.to_string_lossy()));
            out.with_file_name(format!("{stem}-{}{}", number.saturating_add(1), kind.unwrap_or_default()))
        }
    };
    let tools = forms::pinned(&part.tasks).map(|pinned| (out.with_extension("tools.json"), pinned));
    if let Some((tools, pinned)) = &tools {
        write_new(tools, readable(pinned)?.as_bytes(), 0o644)?;
    }
    write_new(&out, readable(&part.document)?.as_bytes(), 0o644)?;
    let mut shown =
        serde_json::json!({"urn": part.urn, "digest": part.context.digest().to_string(), "out": out});
    if let (Some((tools, _)), Value::Object(members)) = (tools, &mut shown) {
        members.insert("tools".to_owned(), serde_json::json!(tools));
    }
    Ok(shown)
}

/// All remarks for the reviewer: on the draft as a whole, on each omitted tool, and on each tool of the draft.
fn remarks(draft: &Draft, parts: &[Part]) -> Vec<Value> {
    let document_warnings = draft.warnings.iter().map(|what| serde_json::json!({"warnings": [what]}));
    let left_out = draft.left_out.iter();
    let left_out = left_out.map(|(tool, why)| serde_json::json!({"tool": tool, "left_out": why}));
    let tasks = parts.iter().flat_map(|part| &part.tasks).filter(|drafted| !drafted.warnings.is_empty());
    let tasks = tasks.map(|drafted| {
        serde_json::json!({"tool": drafted.tool, "task": drafted.name, "warnings": drafted.warnings})
    });
    document_warnings.chain(left_out).chain(tasks).collect()
}

fn tell_remark(remark: &Value) {
    let lines = remark.get("warnings").and_then(Value::as_array).into_iter().flatten();
    let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
    match (remark.get("tool"), remark.get("left_out").and_then(Value::as_str)) {
        (Some(tool), Some(why)) => tell!("warning: the tool {tool} is left out: {why}"),
        (Some(tool), None) => {
            tell!("warning: the tool {tool}:");
            lines.iter().for_each(|line| tell!("  {line}"));
        }
        (None, _) => lines.iter().for_each(|line| tell!("warning: {line}")),
    }
}

/// A value for a reviewer, as JSON without hidden characters.
fn readable(value: &Value) -> Result<String, Fault> {
    let text = serde_json::to_string_pretty(value).doing("writing the draft")?;
    Ok(crate::terminal::json(&text) + "\n")
}

#[cfg(test)]
mod tests;
