//! `semgate policy matrix`: the permissions of all agents, as a text to commit beside the policies and to review.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use semgate_policies::PolicyLimits;
use semgate_policy_analysis::{Cell, Matrix};
use serde_json::{Map, Value, json};

use super::inputs::{self, TypedBy, Typing};
use crate::fault::{Fault, Finding};
use crate::findings::{Check, FindingFiles};
use crate::system::{read, write};

/// The policies, and the text to write or to compare.
#[derive(Debug, Args)]
pub struct MatrixArgs {
    /// A directory of `*.cedar` and `entities.json`; default: that of `--config`, else ./.semgate/policies
    policies: Option<PathBuf>,
    #[command(flatten)]
    typing: Typing,
    /// Write the matrix to this file instead of printing it
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
    /// Compare with the file (default: `matrix.txt` of the directory): status 1 and the differences if it differs
    #[arg(long)]
    check: bool,
    /// Most evaluations of a policy: kinds of agents times performatives of concepts times policies
    #[arg(long, value_name = "NUMBER")]
    max_looks: Option<usize>,
    #[command(flatten)]
    files: FindingFiles,
}

impl MatrixArgs {
    /// Prints, writes or compares the matrix.
    ///
    /// # Errors
    /// Policies that would not load, or a file that cannot be read or written. A different matrix is status 1 and a result.
    pub fn run(&self, json: bool) -> Result<u8, Fault> {
        let typed = self.typing.read()?;
        let directory = typed.directory(self.policies.as_deref())?;
        let mut checks = Vec::new();
        let outcome = self.make(&typed, &directory, &mut checks, json);
        self.files.write("policy matrix", &directory, checks, outcome)
    }

    fn make(
        &self,
        typed: &TypedBy,
        directory: &Path,
        checks: &mut Vec<Check>,
        json: bool,
    ) -> Result<u8, Fault> {
        let mut limits = PolicyLimits::default();
        limits.max_matrix_looks = self.max_looks.unwrap_or(limits.max_matrix_looks);
        let matrix = inputs::explainer(directory, typed, json)?.matrix(&limits);
        let matrix = matrix.map_err(|why| {
            Fault::new(why)
                .hint("take fewer contexts (`--no-library`, `--context`), or allow more with `--max-looks`")
        })?;
        let text = matrix.to_string();
        if self.check {
            let file = self.snapshot.clone().unwrap_or_else(|| directory.join("matrix.txt"));
            let differences = differences(&read(&file)?, &text);
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let finding = |line: &String| Finding { file: name.clone(), ..Finding::new(line.as_str()) };
            checks.push(Check { name: name.clone(), findings: differences.iter().map(finding).collect() });
            return Ok(compare(&differences, json));
        }
        match &self.snapshot {
            Some(file) => {
                write(file, text.as_bytes())?;
            }
            None if json => out!("{}", as_json(&matrix)),
            None => out_raw!("{text}"),
        }
        Ok(0)
    }
}

/// Prints the differences, concept by concept.
fn compare(differences: &[String], json: bool) -> u8 {
    if json {
        out!("{}", json!({"same": differences.is_empty(), "differences": differences}));
    } else {
        for line in differences {
            out!("{line}");
        }
    }
    u8::from(!differences.is_empty())
}

/// Removed (`-`) and new (`+`) lines under each heading, with their agents.
fn differences(before: &str, now: &str) -> Vec<String> {
    let (before, now) = (sections(before), sections(now));
    let headings: BTreeSet<&str> = before.keys().chain(now.keys()).copied().collect();
    let mut all = Vec::new();
    for heading in headings {
        let of = |text: &BTreeMap<&str, Vec<String>>| text.get(heading).cloned().unwrap_or_default();
        let (old, new) = (of(&before), of(&now));
        let gone = old.iter().filter(|line| !new.contains(line)).map(|line| format!("- {line}"));
        let come = new.iter().filter(|line| !old.contains(line)).map(|line| format!("+ {line}"));
        let changed: Vec<String> = gone.chain(come).collect();
        if !changed.is_empty() {
            all.push(if heading.is_empty() {
                "the lines above the first concept".to_owned()
            } else {
                heading.to_owned()
            });
            all.extend(changed.into_iter().map(|line| format!("  {line}")));
        }
    }
    all
}

/// Concepts with one line for each row and verdict.
fn sections(text: &str) -> BTreeMap<&str, Vec<String>> {
    let (mut all, mut heading, mut agents) = (BTreeMap::<&str, Vec<String>>::new(), "", "");
    for line in text.lines() {
        if let Some(verdict) = line.strip_prefix("    ") {
            all.entry(heading).or_default().push(format!("{agents}: {verdict}"));
        } else if let Some(row) = line.strip_prefix("  ") {
            agents = row;
        } else if line.starts_with('#') || line.is_empty() {
            continue;
        } else {
            heading = line;
            all.entry(heading).or_default();
        }
    }
    all
}

fn as_json(matrix: &Matrix) -> Value {
    let cell = |cell: &Cell| match cell {
        Cell::Never => json!("never"),
        Cell::Always => json!("always"),
        Cell::Asks(members) => json!({"asks": members}),
        Cell::Depends(members) => json!({"depends": members}),
    };
    let concepts: Map<String, Value> = matrix
        .concepts
        .iter()
        .map(|(concept, rows)| {
            let rows: Vec<Value> = rows
                .iter()
                .map(|row| {
                    let cells: Map<String, Value> = row
                        .cells
                        .iter()
                        .map(|(performative, of)| (performative.as_str().to_owned(), cell(of)))
                        .collect();
                    json!({"agents": row.agents, "performatives": cells})
                })
                .collect();
            (concept.clone(), Value::Array(rows))
        })
        .collect();
    Value::Object(concepts)
}
