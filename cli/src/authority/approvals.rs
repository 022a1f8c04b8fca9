//! The second person: what waits, and agreeing to it; and whether a directory of policies about publishers would be loaded.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use semgate_policies::{PolicyLimits, PolicySource, PublisherPolicies};
use serde_json::{Value, json};

use super::print_members;
use crate::context::{AuthorityArgs, answer};
use crate::fault::Fault;

/// Agree to what another person proposed, which carries it out
#[derive(Debug, Args)]
pub struct Approve {
    /// The id of the proposal
    id: String,
    #[command(flatten)]
    at: AuthorityArgs,
}

impl Approve {
    /// Agrees.
    ///
    /// # Errors
    /// No such proposal, one's own, or a right that is missing.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        let reach = self.at.reach()?;
        let url = format!("{}/v1/proposals/{}/approve", reach.url, self.id);
        print_members(&answer(&reach.client.post(&url, "application/json", Vec::new()).await?)?, json);
        Ok(0)
    }
}

/// What waits for a second person
#[derive(Debug, Args)]
pub struct Proposals {
    #[command(flatten)]
    at: AuthorityArgs,
}

impl Proposals {
    /// Lists it.
    ///
    /// # Errors
    /// What the authority answers to those who are no publishers.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        let reach = self.at.reach()?;
        let listed = answer(&reach.client.get(&format!("{}/v1/proposals", reach.url)).await?)?;
        if json {
            out!("{listed}");
            return Ok(0);
        }
        for one in listed.get("proposals").and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default();
            let until = one.get("until").and_then(Value::as_u64).unwrap_or_default();
            // a floor's lowest version; of an override, the one document that it permits
            let more = [text("min"), text("digest")].concat();
            out!(
                "{}  {} {} {more}  by {} until {until}: {}",
                text("proposal"),
                text("act"),
                text("on"),
                text("by"),
                text("reason")
            );
        }
        Ok(0)
    }
}

/// Policies about publishers
#[derive(Debug, Subcommand)]
pub enum PublisherPolicyJob {
    /// Would this directory be loaded? Says everything that is wrong with it, by file, line and column
    Check {
        /// A directory of `*.cedar` and `entities.json`, the `policies` of `authority.toml`
        dir: PathBuf,
        /// Print the Cedar schema that it is held against
        #[arg(long)]
        schema: bool,
    },
}

impl PublisherPolicyJob {
    /// Checks.
    ///
    /// # Errors
    /// Status 1 with every fault, a line each, where the directory would not be loaded.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        let PublisherPolicyJob::Check { dir, schema } = self;
        if schema {
            out_raw!("{}", PublisherPolicies::schema());
        }
        let source = PolicySource::read_dir(&dir).map_err(|why| {
            Fault::new(why).hint("name a directory of `*.cedar` files, as `policies` in authority.toml does")
        })?;
        match PublisherPolicies::load(&source, &PolicyLimits::default()) {
            Ok(policies) => {
                let (digest, count) = (policies.digest().to_string(), policies.count());
                if json {
                    out!("{}", json!({"policies": dir, "digest": digest, "count": count}));
                } else {
                    out!("{}: good, {count} policies, {digest}", dir.display());
                }
                Ok(0)
            }
            Err(faults) => {
                if json {
                    let messages: Vec<String> = faults.iter().map(ToString::to_string).collect();
                    out!("{}", json!({"policies": dir, "faults": messages}));
                } else {
                    faults.iter().for_each(|fault| tell!("{fault}"));
                }
                let count = faults.len();
                Err(Fault::new(format_args!("{count} fault(s): an authority would not load this directory"))
                    .hint("docs/spec/publisher-policies.md says what policies may name"))
            }
        }
    }
}
