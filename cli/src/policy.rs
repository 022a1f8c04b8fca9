//! `semgate policy check DIR`: would this policy directory be loaded beside these contexts?

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use semgate_contexts::{Context, DocumentLimits, Prefix, library};
use semgate_policies::{Policies, PolicyLimits, PolicySource};
use serde_json::json;

use crate::fault::{Doing, Fault};

/// Policies
#[derive(Debug, Subcommand)]
pub enum PolicyJob {
    /// Would this directory be loaded? Says file, line, and what is wrong
    Check(Check),
}

/// Which policies, beside which contexts.
#[derive(Debug, Args)]
pub struct Check {
    /// A directory of `*.cedar` and `entities.json`
    #[arg(default_value = "./.semgate/policies")]
    policies: PathBuf,
    /// Context documents to type the policies by, besides the shipped library
    #[arg(long = "context", value_name = "FILE")]
    contexts: Vec<PathBuf>,
    /// Without the shipped library
    #[arg(long)]
    no_library: bool,
    /// Print the Cedar schema that the contexts give
    #[arg(long)]
    schema: bool,
}

/// Checks.
///
/// # Errors
/// Status 1 with every fault, a line each, where the directory would not be loaded.
pub fn run(job: PolicyJob, json: bool) -> Result<u8, Fault> {
    let PolicyJob::Check(check) = job;
    let contexts = check.contexts()?;
    if check.schema {
        let schema = semgate_policies::schema_text(&contexts).doing("schema")?;
        out!("{schema}");
    }
    let source = PolicySource::read_dir(&check.policies)
        .map_err(|e| Fault::new(e).hint("name a directory with `*.cedar` files and `entities.json`"))?;
    match Policies::load(&source, &contexts, &PolicyLimits::default()) {
        Ok(policies) => report(&check.policies, &policies, json),
        Err(faults) => {
            for fault in &faults {
                if json {
                    out!("{}", json!({"fault": fault.to_string()}));
                } else {
                    out!("{fault}");
                }
            }
            let count = faults.len();
            Err(Fault::new(format_args!("{count} fault(s): this policy set would not be loaded"))
                .hint("a set is loaded whole or not at all"))
        }
    }
}

impl Check {
    fn contexts(&self) -> Result<Vec<Arc<Context>>, Fault> {
        let mut contexts = Vec::new();
        let shipped = if self.no_library { &[][..] } else { library::all() };
        for (name, bytes) in shipped {
            let context =
                Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).doing(name)?;
            contexts.push(Arc::new(context));
        }
        let documents = crate::context::Documents::with_library(&self.contexts)?;
        for file in &self.contexts {
            contexts.push(Arc::new(documents.file(file)?));
        }
        Ok(contexts)
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
