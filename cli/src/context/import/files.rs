//! Drafts from files in other schema languages.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use semgate_import::draft::Naming;
use semgate_import::protobuf::{Descriptors, MAX_BYTES};
use semgate_import::rdf::Format;
use semgate_import::{ContextDraft, Remark, jsonschema, names, oasf, openapi, rdf, sgd};
use serde_json::{Value, json};

use crate::fault::{Doing, Fault};
use crate::system::{read_bytes, write_new};

/// The most parts of a source that one line lists; `--json` has all.
const MAX_LISTED: usize = 4;

/// The name of a draft, and its file.
#[derive(Debug, Args)]
pub struct DraftTarget {
    /// The line of the context; default: one made from the title or the file's name
    #[arg(long)]
    line: Option<String>,
    /// The version of the context
    #[arg(long, default_value = "v1.0")]
    version: String,
    /// File for the draft. Nothing is overwritten
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Messages of Protobuf.
#[derive(Debug, Args)]
pub struct ProtobufFiles {
    /// `.proto` files (proto2 or proto3), or one `FileDescriptorSet`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Folder of imports; may be repeated. Those of `google/protobuf/` are built in
    #[arg(long = "include", value_name = "DIR")]
    includes: Vec<PathBuf>,
    /// Take this message alone; may be repeated. Default: every message and method of the files
    #[arg(long = "message", value_name = "NAME")]
    messages: Vec<String>,
    #[command(flatten)]
    target: DraftTarget,
}

/// A description of OpenAPI.
#[derive(Debug, Args)]
pub struct OpenapiFile {
    /// OpenAPI 3.0 or 3.1, JSON or YAML
    file: PathBuf,
    /// Take this operation alone, by its `operationId` or as `GET /path`; may be repeated. Default: all
    #[arg(long = "operation", value_name = "NAME")]
    operations: Vec<String>,
    /// Take this schema of `components` as a concept; may be repeated
    #[arg(long = "only", value_name = "SCHEMA")]
    schemas: Vec<String>,
    #[command(flatten)]
    target: DraftTarget,
}

/// A file, and the parts that are wanted.
#[derive(Debug, Args)]
pub struct SomeOfFile {
    /// The file
    file: PathBuf,
    /// Take the part of this name alone; may be repeated. Default: all
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    #[command(flatten)]
    target: DraftTarget,
}

/// Classes of OASF.
#[derive(Debug, Args)]
pub struct ClassFiles {
    /// JSON files of classes, with the base class or without
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    target: DraftTarget,
}

/// A graph.
#[derive(Debug, Args)]
pub struct GraphFile {
    /// Turtle (`.ttl`), N-Triples (`.nt`), RDF/XML (`.rdf`, `.owl`, `.xml`) or JSON-LD (`.jsonld`, `.json`)
    file: PathBuf,
    /// Take this shape or class alone, by its IRI or the name at its end; may be repeated. Default: all
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    #[command(flatten)]
    target: DraftTarget,
}

/// The stem of a file's name.
fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The parsed text of a file, with its name in errors.
fn parsed(
    file: &Path,
    read: fn(&[u8]) -> Result<Value, semgate_import::ImportFault>,
) -> Result<Value, Fault> {
    read(&read_bytes(file)?).doing(format_args!("`{}`", file.display()))
}

impl DraftTarget {
    /// Drafts under the chosen name, or one made from this title.
    fn draft(
        &self,
        title: &str,
        make: impl FnOnce(&Naming<'_>) -> Result<ContextDraft, semgate_import::ImportFault>,
    ) -> Result<ContextDraft, Fault> {
        let line = self.line.clone().unwrap_or_else(|| names::label(title));
        Ok(make(&Naming { line: &line, version: &self.version, title })?)
    }

    /// Tells the remarks, and writes the draft.
    pub(super) fn write(&self, draft: &ContextDraft, json: bool) -> Result<(), Fault> {
        let remarks = &draft.remarks;
        grouped(remarks).iter().for_each(|line| tell!("warning: {line}"));
        let text = super::readable(&draft.document)?;
        let Some(out) = &self.out else {
            out!("{}", text.trim_end());
            return Ok(());
        };
        write_new(out, text.as_bytes(), 0o644)?;
        let warnings: Vec<Value> =
            remarks.iter().map(|one| json!({"at": one.at, "what": one.what})).collect();
        let (urn, digest) = (draft.context.urn().as_str(), draft.context.digest().to_string());
        let shown = json!({"urn": urn, "digest": digest, "out": out, "warnings": warnings});
        crate::terminal::print_members(&shown, json);
        Ok(())
    }
}

/// One line for each difference, with the parts of the source that have it.
fn grouped(remarks: &[Remark]) -> Vec<String> {
    let mut by_what: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for remark in remarks {
        let all = by_what.entry(&remark.what).or_default();
        if !remark.at.is_empty() {
            all.push(&remark.at);
        }
    }
    let line = |(what, parts): (&str, Vec<&str>)| {
        let listed: Vec<String> = parts.iter().take(MAX_LISTED).map(|at| format!("`{at}`")).collect();
        let more = parts.len().saturating_sub(MAX_LISTED);
        match (listed.is_empty(), more) {
            (true, _) => what.to_owned(),
            (false, 0) => format!("{}: {what}", listed.join(", ")),
            (false, more) => format!("{} and {more} more: {what}", listed.join(", ")),
        }
    };
    by_what.into_iter().map(line).collect()
}

impl ProtobufFiles {
    pub(super) fn draft(self) -> Result<(DraftTarget, ContextDraft), Fault> {
        let is_text = |file: &PathBuf| file.extension().is_some_and(|kind| kind == "proto");
        let descriptors = if self.files.iter().any(is_text) {
            self.compiled()?
        } else {
            let [file] = self.files.as_slice() else {
                return Err(Fault::new("several files, and none is a `.proto` file")
                    .hint("give one `FileDescriptorSet`"));
            };
            Descriptors::from_set(&read_bytes(file)?)?
        };
        let title = self.files.first().map(|file| stem(file)).unwrap_or_default();
        let draft = self.target.draft(&title, |naming| descriptors.draft(&self.messages, naming))?;
        Ok((self.target, draft))
    }

    /// Compiles the files; imports come from the folders, and then from the folders of the files.
    fn compiled(&self) -> Result<Descriptors, Fault> {
        let mut folders = self.includes.clone();
        let mut names = Vec::new();
        for file in &self.files {
            let within = self.includes.iter().find_map(|folder| file.strip_prefix(folder).ok());
            let name = within.map(Path::to_path_buf).or_else(|| file.file_name().map(PathBuf::from));
            if within.is_none() {
                folders.push(file.parent().map(Path::to_path_buf).unwrap_or_default());
            }
            read_bytes(file)?;
            names.push(name.unwrap_or_default().to_string_lossy().into_owned());
        }
        let open = move |name: &str| {
            let name = Path::new(name);
            let inside = name.components().all(|piece| matches!(piece, Component::Normal(_)));
            let texts =
                folders.iter().filter(|_| inside).filter_map(|folder| std::fs::read(folder.join(name)).ok());
            let bytes = texts.into_iter().find(|bytes| bytes.len() <= MAX_BYTES)?;
            String::from_utf8(bytes).ok()
        };
        Ok(Descriptors::compile(&names, Box::new(open))?)
    }
}

impl OpenapiFile {
    pub(super) fn draft(self) -> Result<(DraftTarget, ContextDraft), Fault> {
        let source = parsed(&self.file, semgate_import::json_or_yaml)?;
        let title = openapi::title(&source).map_or_else(|| stem(&self.file), str::to_owned);
        let choice = openapi::Choice { operations: self.operations, schemas: self.schemas };
        let draft = self.target.draft(&title, |naming| openapi::draft(&source, &choice, naming))?;
        Ok((self.target, draft))
    }
}

impl SomeOfFile {
    pub(super) fn json_schema(self) -> Result<(DraftTarget, ContextDraft), Fault> {
        let source = parsed(&self.file, semgate_import::json_or_yaml)?;
        let title =
            source.get("title").and_then(Value::as_str).map_or_else(|| stem(&self.file), str::to_owned);
        let draft =
            self.target.draft(&title, |naming| jsonschema::draft(&source, &title, &self.only, naming))?;
        Ok((self.target, draft))
    }

    pub(super) fn sgd(self) -> Result<(DraftTarget, ContextDraft), Fault> {
        let source = parsed(&self.file, semgate_import::json)?;
        let title = match self.only.as_slice() {
            [one] => one.clone(),
            _ => stem(&self.file),
        };
        let draft = self.target.draft(&title, |naming| sgd::draft(&source, &self.only, naming))?;
        Ok((self.target, draft))
    }
}

impl ClassFiles {
    pub(super) fn draft(self) -> Result<(DraftTarget, ContextDraft), Fault> {
        let classes = self.files.iter().map(|file| parsed(file, semgate_import::json));
        let classes = classes.collect::<Result<Vec<Value>, Fault>>()?;
        let draft = self.target.draft("oasf", |naming| oasf::draft(&classes, naming))?;
        Ok((self.target, draft))
    }
}

impl GraphFile {
    pub(super) fn draft(self) -> Result<(DraftTarget, ContextDraft), Fault> {
        let extension = self.file.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let format = Format::of(&extension).ok_or_else(|| {
            Fault::new(format_args!("`{}` has no extension of a graph", self.file.display()))
                .hint("name it `.ttl`, `.nt`, `.rdf`, `.owl`, `.xml`, `.jsonld` or `.json`")
        })?;
        let bytes = read_bytes(&self.file)?;
        let draft =
            self.target.draft(&stem(&self.file), |naming| rdf::draft(&bytes, format, &self.only, naming))?;
        Ok((self.target, draft))
    }
}
