//! `semgate policy check DIR`: would this policy directory be loaded beside these contexts?

use std::path::{Path, PathBuf};

use clap::Args;
use semgate_policies::Policies;
use serde_json::json;

use super::inputs::{self, Contexts};
use crate::fault::{Doing, Fault};

/// Which policies, beside which contexts.
#[derive(Debug, Args)]
pub struct Check {
    /// A directory of `*.cedar` and `entities.json`
    #[arg(default_value = "./.semgate/policies")]
    policies: PathBuf,
    #[command(flatten)]
    contexts: Contexts,
    /// Print the Cedar schema that the contexts give
    #[arg(long)]
    schema: bool,
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
        let policies =
            inputs::load(&inputs::source(&self.policies)?, &contexts, &self.contexts.floors(), json)?;
        report(&self.policies, &policies, json)
    }
}

/// Says what would be live. A context that the set leaves out is refused in every message, so the check does not call it good.
fn report(dir: &Path, policies: &Policies, json: bool) -> Result<u8, Fault> {
    let digest = policies.digest().to_string();
    let left_out: Vec<String> = policies.left_out().iter().map(ToString::to_string).collect();
    if json {
        out!("{}", json!({"policies": dir, "digest": digest, "left_out": left_out}));
    }
    if left_out.is_empty() {
        if !json {
            out!("{}: good, {digest}", dir.display());
        }
        return Ok(0);
    }
    if !json {
        for context in &left_out {
            out!("left out: {context}");
        }
    }
    let count = left_out.len();
    Err(Fault::new(format_args!("{count} context(s) do not fit these policies and would be left out")).hint(
        "guard a member that not every version has with `has`, or name the major: `payment::v1::transfer`",
    ))
}
