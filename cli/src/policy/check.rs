//! `semgate policy check DIR`: would this policy directory be loaded beside these contexts?

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use semgate_contexts::{Context, ContextUrn};
use semgate_gateway::{Config, Remembered};
use semgate_policies::{Floors, Policies, PolicyLimits, PolicySource};
use serde_json::json;

use super::analysis::{Analysis, Outcome};
use super::inputs::{self, Contexts};
use crate::fault::{Doing, Fault};
use crate::system;

/// Which policies, beside which contexts.
#[derive(Debug, Args)]
pub struct Check {
    /// A directory of `*.cedar` and `entities.json`
    #[arg(default_value = "./.semgate/policies")]
    policies: PathBuf,
    #[command(flatten)]
    contexts: Contexts,
    /// A gateway's configuration: its floors and those that it remembers of its authorities, and the issuers of tokens that policies may
    /// ask for (`[[credential_issuer]]`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the Cedar schema that the contexts give
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    analysis: Analysis,
}

impl Check {
    /// Checks.
    ///
    /// # Errors
    /// Status 1 with every fault, a line each, where the directory would not be loaded.
    pub fn run(&self, json: bool) -> Result<u8, Fault> {
        let contexts = self.contexts.read()?;
        if self.schema {
            let schema = semgate_policies::schema_text(&contexts).doing("schema")?;
            out!("{schema}");
        }
        let source = inputs::source(&self.policies)?;
        let Beside { floors, limits, own, unjudged } = self.beside(&contexts)?;
        let policies = inputs::load_within(&source, &contexts, (&floors, &limits), json)?;
        // a gateway loads a set that does nothing because somebody is switched off; whoever checks one wants to know
        if !policies.warnings().is_empty() {
            return Err(inputs::idle(policies.warnings(), json));
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
            warnings: PolicySource::strays(&self.policies)
                .into_iter()
                .chain(self.config.is_none().then(|| unvouched(&policies)).into_iter().flatten())
                .chain(unjudged)
                .chain(policies.advice().iter().map(ToString::to_string))
                .collect(),
            outcome,
        };
        report(&self.policies, &policies, &counts, (json, self.schema))
    }

    /// What a gateway's configuration says beside the policies, and the floors of the command line over those in it.
    fn beside(&self, contexts: &[Arc<Context>]) -> Result<Beside, Fault> {
        let told = self.contexts.floors();
        let limits = PolicyLimits { now: Some(system::now()), ..PolicyLimits::default() };
        let mut beside = Beside { own: told.clone(), limits, ..Beside::default() };
        if let Some(file) = &self.config {
            let config = crate::firewall::load(file)?;
            beside.limits.token_issuers = Some(config.token_issuers());
            beside.limits.trust_domains = Some(config.met_domains());
            beside.limits.scores = Some(config.limits.scores());
            beside.limits.routes = Some(config.carried());
            beside.remembered(&config, contexts);
            beside.own.extend(config.floors.into_iter().filter(|(line, _)| !told.contains_key(line)));
        }
        for (line, version) in &beside.own {
            let floor = beside.floors.entry(line.clone()).or_insert(*version);
            *floor = if told.contains_key(line) { *version } else { (*floor).max(*version) };
        }
        Ok(beside)
    }
}

/// What policies are held against beside the contexts.
#[derive(Default)]
struct Beside {
    /// All floors.
    floors: Floors,
    limits: PolicyLimits,
    /// The operator's floors, of the configuration and the command line.
    own: Floors,
    /// What was not judged, and why.
    unjudged: Vec<String>,
}

impl Beside {
    /// The floors of the authorities that a gateway follows, as it remembers them.
    fn remembered(&mut self, config: &Config, contexts: &[Arc<Context>]) {
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

/// What was looked at.
struct Counts {
    files: usize,
    policies: usize,
    contexts: usize,
    /// What lies there and does nothing.
    warnings: Vec<String>,
    /// What a solver found.
    outcome: Outcome,
}

/// Credentials of tokens that only a gateway which configures their issuer lets anybody show.
fn unvouched(policies: &Policies) -> Vec<String> {
    let told = |(issuer, policy): (&str, &str)| {
        format!(
            "`{policy}` asks for a credential that tokens of `{issuer}` vouch for: whether a gateway takes such, `--config firewall.toml` says"
        )
    };
    policies.token_issuers().map(told).collect()
}

/// Says what would be live. A context that the set leaves out is refused in every message, so the check does not call it good.
fn report(
    dir: &Path,
    policies: &Policies,
    counts: &Counts,
    (json, beside_schema): (bool, bool),
) -> Result<u8, Fault> {
    // who keeps the schema in a file has the schema alone in it
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
        let said = json!({
            "policies": dir, "digest": digest, "left_out": left_out, "files": counts.files,
            "count": counts.policies, "contexts": counts.contexts, "warnings": counts.warnings,
            "analysis": counts.outcome.to_json(),
        });
        say(said.to_string());
    } else {
        for why in &counts.warnings {
            say(format!("warning: {why}"));
        }
    }
    if left_out.is_empty() {
        if !json {
            let Counts { files, policies, contexts, .. } = counts;
            say(format!(
                "{}: good, {digest}: {policies} policies in {files} file(s), beside {contexts} context(s)",
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
