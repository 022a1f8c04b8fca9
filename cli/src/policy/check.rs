//! `semgate policy check DIR`: checks that a policy directory loads beside these contexts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use semgate_contexts::{Context, ContextUrn};
use semgate_policies::{Policies, PolicySource};
use serde_json::json;

use super::analysis::{Analysis, Outcome};
use super::inputs::{self, TypedBy, Typing};
use super::people;
use crate::fault::{Doing, Fault};
use crate::findings::FindingFiles;

/// The policies, and the contexts beside them.
#[derive(Debug, Args)]
pub struct CheckPolicies {
    /// A directory of `*.cedar` and `entities.json`; default: that of `--config`, else ./.semgate/policies
    policies: Option<PathBuf>,
    #[command(flatten)]
    typing: Typing,
    /// A directory of Human Cards: warns about demands that nobody in it can answer
    #[arg(long, value_name = "DIR")]
    humans: Option<PathBuf>,
    /// Print the Cedar schema of the contexts
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    analysis: Analysis,
    #[command(flatten)]
    files: FindingFiles,
}

impl CheckPolicies {
    /// Checks.
    ///
    /// # Errors
    /// Status 1 with every fault, a line each, if the directory would not load.
    pub fn run(&self, json: bool) -> Result<u8, Fault> {
        let typed = self.typing.read()?;
        let directory = typed.directory(self.policies.as_deref())?;
        let outcome = self.check(typed, &directory, json);
        self.files.write("policy check", &directory, Vec::new(), outcome)
    }

    fn check(&self, typed: TypedBy, directory: &Path, json: bool) -> Result<u8, Fault> {
        let source = inputs::source(directory)?;
        typed.announce();
        let TypedBy { contexts, floors, own, unjudged, .. } = typed;
        if self.schema {
            let schema = semgate_policies::schema_text(&contexts).doing("schema")?;
            out!("{schema}");
        }
        // the load check of a gateway
        let policies = inputs::load(&source, &contexts, &floors, json)?;
        if !policies.warnings().is_empty() {
            return Err(inputs::warned(policies.warnings(), &source, json));
        }
        if let Some(why) = policies.floors_of_nothing(&own).first() {
            return Err(Fault::new(format_args!("`--floor`: {why}"))
                .hint("name a line as in `payment=v2.0`, and the file of its context with `--context`"));
        }
        let typed: Vec<Arc<Context>> = {
            let left_out = |urn: &ContextUrn| policies.left_out().iter().any(|left| left.urn == *urn);
            contexts.iter().filter(|context| !left_out(context.urn())).map(Arc::clone).collect()
        };
        let outcome = self.analysis.run(&source, &typed, &floors, json)?;
        let people = self.humans.as_deref().map(|dir| people::warnings(&source, dir)).transpose()?;
        let counts = Counts {
            files: source.files.len(),
            policies: policies.ids().count(),
            contexts: contexts.len(),
            warnings: PolicySource::strays(directory)
                .into_iter()
                .chain(unjudged)
                .chain(people.unwrap_or_default())
                .collect(),
            outcome,
        };
        report(directory, &policies, &counts, json, self.schema)
    }
}

/// Counts of the checked parts.
struct Counts {
    files: usize,
    policies: usize,
    contexts: usize,
    /// Policies and entries without effect.
    warnings: Vec<String>,
    /// The result of the solver.
    outcome: Outcome,
}

/// Says what would be live. A context that the set leaves out is refused in every message, so the check does not call it good.
fn report(
    dir: &Path,
    policies: &Policies,
    counts: &Counts,
    json: bool,
    beside_schema: bool,
) -> Result<u8, Fault> {
    // a file for the schema must hold the schema alone
    let say = |line: String| {
        if beside_schema {
            tell!("{line}");
        } else {
            out!("{line}");
        }
    };
    let digest = policies.digest().to_string();
    let left_out: Vec<String> = policies.left_out().iter().map(ToString::to_string).collect();
    if json {
        let report = json!({
            "policies": dir, "digest": digest, "left_out": left_out, "files": counts.files,
            "count": counts.policies, "contexts": counts.contexts, "warnings": counts.warnings,
            "analysis": counts.outcome.to_json(),
        });
        say(report.to_string());
    } else {
        for why in &counts.warnings {
            say(format!("warning: {why}"));
        }
    }
    if left_out.is_empty() {
        if !json {
            let Counts { files, policies, contexts, .. } = counts;
            say(format!(
                "{}: good, {digest}: {policies} policies in {files} file(s), with {contexts} context(s)",
                dir.display()
            ));
            counts.outcome.lines().into_iter().for_each(say);
        }
        return Ok(0);
    }
    if !json {
        for context in &left_out {
            say(format!("left out: {context}"));
        }
    }
    let count = left_out.len();
    Err(Fault::new(format_args!("{count} context(s) do not fit these policies and would be left out")).hint(
        "guard a member that not every version has with `has`, or name the major: `payment::v1::transfer`",
    ))
}
