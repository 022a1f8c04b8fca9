//! The second person: lists proposals and approves them; and checks a directory of policies about publishers.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use semgate_policies::{PolicyLimits, PolicySource, PublisherPolicies};
use serde_json::{Value, json};

use super::print_members;
use crate::authority_client::{AuthorityArgs, answer};
use crate::fault::Fault;

/// Approve another person's proposal, which carries it out
#[derive(Debug, Args)]
pub struct Approve {
    /// The id of the proposal
    id: String,
    #[command(flatten)]
    at: AuthorityArgs,
}

impl Approve {
    /// Approves the proposal.
    ///
    /// # Errors
    /// There is no such proposal, it is one's own, or a right is missing.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        let reach = self.at.reach()?;
        let path = format!("/v1/proposals/{}/approve", self.id);
        print_members(&answer(&reach.post(&path, "application/json", Vec::new()).await?)?, json);
        Ok(0)
    }
}

/// List the proposals that wait for a second person
#[derive(Debug, Args)]
pub struct Proposals {
    #[command(flatten)]
    at: AuthorityArgs,
}

impl Proposals {
    /// Lists the proposals.
    ///
    /// # Errors
    /// The authority's refusal, for callers who are no publishers.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        let reach = self.at.reach()?;
        let listed = answer(&reach.get("/v1/proposals").await?)?;
        if json {
            out!("{listed}");
            return Ok(0);
        }
        for one in listed.get("proposals").and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default();
            let until = one.get("until").and_then(Value::as_u64).unwrap_or_default();
            // the new floor; for an override, the permitted document
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
    /// Check if this directory would load; report every fault with file, line and column
    Check {
        /// A directory of `*.cedar` and `entities.json`, the `policies` of `authority.toml`
        dir: PathBuf,
        /// Print the Cedar schema for these policies
        #[arg(long)]
        schema: bool,
    },
}

impl PublisherPolicyJob {
    /// Checks.
    ///
    /// # Errors
    /// Status 1 with every fault, a line each, if the directory would not load.
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
