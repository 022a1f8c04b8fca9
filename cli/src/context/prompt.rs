//! `semgate context prompt`: a verified context as text for the system prompt of a model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use semgate_contexts::prompt::{Budget, BudgetFault, PromptStatus, render};
use semgate_contexts::{Context, ContextUrn, Prefix};
use semgate_statement::{Lines, Stapled, TextProofFault};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::Documents;
use super::files::{untrusted, verified};
use super::serve_mcp::{Catalogue, Current};
use super::trusted_roots::{AuthorityKeys, Keys};
use crate::authority_client::AuthorityArgs;
use crate::fault::{Doing, Fault};
use crate::names;
use crate::system::{now, read_bytes, read_roots};

/// Write a context as text for the system prompt of a model
#[derive(Debug, Args)]
pub struct WritePrompt {
    /// The URN, or in short `travel:v2.1`; not needed with `--file`
    #[arg(required_unless_present = "file")]
    context: Option<String>,
    /// The most tokens; two bytes count as one
    #[arg(long, value_name = "N", default_value_t = Budget::DEFAULT.tokens(), value_parser = clap::value_parser!(u32).range(1..=i64::from(Budget::MOST)))]
    budget: u32,
    /// A signed context, which must verify under `--roots` or those of `--dir`, or a bare document; its status is not looked up
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// A bare document to which that of `--file` refers
    #[arg(long = "reference", value_name = "FILE", requires = "file")]
    references: Vec<PathBuf>,
    #[command(flatten)]
    at: AuthorityArgs,
    #[command(flatten)]
    keys: Keys,
}

impl WritePrompt {
    /// Writes the prompt to standard output.
    ///
    /// # Errors
    /// The context cannot be had or verified, does not count now, or does not fit the budget.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        let name = self.context.as_deref().unwrap_or_default();
        let Current { context, status } = match &self.file {
            Some(file) => Current { context: self.local(file)?, status: PromptStatus::Unchecked },
            None => published(&self.keys.resolve(&self.at)?, name).await?,
        };
        if let Some(name) = self.context.as_deref().map(names::full_urn)
            && name != context.urn().as_str()
        {
            return Err(Fault::new(format_args!("the file holds `{}`, not `{name}`", context.urn())));
        }
        let budget = Budget::of(self.budget).map_err(Fault::new)?;
        let prompt = render(&context, status, budget).map_err(|fault| match fault {
            BudgetFault::TooSmall { least } => {
                Fault::new(fault).hint(format_args!("give `--budget {least}`"))
            }
            BudgetFault::OutOfRange => Fault::new(fault),
        })?;
        if json {
            let (urn, digest) = (context.urn().as_str(), context.digest().to_string());
            let shown = json!({"urn": urn, "digest": digest, "status": status.as_str(), "tokens": Budget::count(&prompt), "prompt": prompt});
            out!("{shown}");
        } else {
            out_raw!("{prompt}");
        }
        Ok(0)
    }

    fn local(&self, file: &Path) -> Result<Arc<Context>, Fault> {
        let bytes = read_bytes(file)?;
        let documents = Documents::with_library(&self.references)?;
        if !is_signed(&bytes) {
            return documents.file(file).map(Arc::new);
        }
        let signed = Stapled::read(&bytes).map_err(|fault| untrusted(&fault))?;
        let roots = read_roots(&self.at.reach()?.roots)?;
        let held = verified(&signed.signed, &roots, now(), &|urn| documents.find(urn));
        let held = held.map_err(|fault| untrusted(&TextProofFault::Context(fault)))?;
        Ok(Arc::clone(held.context()))
    }
}

/// Returns true for bytes that claim a signature: no document has these members, so a signed context never passes for a bare one.
fn is_signed(bytes: &[u8]) -> bool {
    let members = serde_json::from_slice::<Map<String, Value>>(bytes);
    members.is_ok_and(|members| members.contains_key("payload") || members.contains_key("signatures"))
}

/// A published context that counts now, by the log and the status that were verified under the configured roots.
async fn published(keys: &AuthorityKeys, name: &str) -> Result<Current, Fault> {
    let name = names::full_urn(name);
    let urn = ContextUrn::parse(&name, &Prefix::default()).doing(format_args!("`{name}`"))?;
    let lines = Lines::parse(&[urn.line().as_str()]).doing(format_args!("`{name}`"))?;
    let (_, views) = watch::channel(keys.follower(lines).await?.view());
    Catalogue::new(views).find(&name).map_err(|why| why.as_fault(&name))
}

#[cfg(test)]
mod tests;
