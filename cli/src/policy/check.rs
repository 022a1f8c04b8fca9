//! `semgate policy check DIR`: checks that a policy directory loads beside these contexts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use semgate_contexts::{Context, ContextUrn};
use semgate_gateway::{Config, Remembered};
use semgate_policies::{Floors, Policies, PolicySource};
use serde_json::json;

use super::analysis::{Analysis, Outcome};
use super::inputs::{self, Contexts};
use crate::fault::{Doing, Fault};
use crate::findings::FindingFiles;

/// The policies, and the contexts beside them.
#[derive(Debug, Args)]
pub struct CheckPolicies {
    /// A directory of `*.cedar` and `entities.json`
    #[arg(default_value = "./.semgate/policies")]
    policies: PathBuf,
    #[command(flatten)]
    contexts: Contexts,
    /// A gateway's configuration: its floors and the remembered floors of its authorities, and the issuers of tokens that policies may
    /// require (`[[credential_issuer]]`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
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
        self.files.write("policy check", &self.policies, Vec::new(), self.check(json))
    }

    fn check(&self, json: bool) -> Result<u8, Fault> {
        let contexts = self.contexts.read()?;
        if self.schema {
            let schema = semgate_policies::schema_text(&contexts).doing("schema")?;
            out!("{schema}");
        }
        let source = inputs::source(&self.policies)?;
        let CheckInputs { floors, own, unjudged } = self.inputs(&contexts)?;
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
        let counts = Counts {
            files: source.files.len(),
            policies: policies.ids().count(),
            contexts: contexts.len(),
            warnings: PolicySource::strays(&self.policies).into_iter().chain(unjudged).collect(),
            outcome,
        };
        report(&self.policies, &policies, &counts, json, self.schema)
    }

    /// The floors and issuers of a gateway's configuration; floors of the command line replace its own.
    fn inputs(&self, contexts: &[Arc<Context>]) -> Result<CheckInputs, Fault> {
        let given = self.contexts.floors();
        let mut inputs = CheckInputs { own: given.clone(), ..CheckInputs::default() };
        if let Some(file) = &self.config {
            let config = crate::firewall::load(file)?;
            inputs.add_remembered_floors(&config, contexts);
            inputs.own.extend(config.floors.into_iter().filter(|(line, _)| !given.contains_key(line)));
        }
        for (line, version) in &inputs.own {
            let floor = inputs.floors.entry(line.clone()).or_insert(*version);
            *floor = if given.contains_key(line) { *version } else { (*floor).max(*version) };
        }
        Ok(inputs)
    }
}

/// The settings that policies are checked against, beside the contexts.
#[derive(Default)]
struct CheckInputs {
    /// All floors.
    floors: Floors,
    /// The operator's floors, of the configuration and the command line.
    own: Floors,
    /// Unchecked parts, with the reason.
    unjudged: Vec<String>,
}

impl CheckInputs {
    /// Adds the floors of the authorities that a gateway follows, as it remembers them.
    fn add_remembered_floors(&mut self, config: &Config, contexts: &[Arc<Context>]) {
        let Remembered { floors, unheard } = match semgate_gateway::remembered(config) {
            Ok(remembered) => remembered,
            Err(why) => {
                self.unjudged.push(format!("floors of the authorities were not judged: {why}"));
                return;
            }
        };
        self.unjudged.extend(unheard.iter().map(|name| {
            format!(
                "floors of the authority `{name}` were not judged: `{}` remembers nothing of it",
                config.state.display()
            )
        }));
        for (line, floor) in floors {
            let of_line = |context: &&Arc<Context>| *context.urn().line() == line;
            let reached = contexts.iter().filter(of_line).any(|context| context.urn().version() >= floor);
            if reached {
                self.floors.insert(line, floor);
            } else if contexts.iter().any(|context| *context.urn().line() == line) {
                self.unjudged.push(format!(
                    "the floor {floor} of `{line}` was not judged: no context of it from there on was given (`--context`)"
                ));
            }
        }
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
