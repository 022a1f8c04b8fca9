//! `semgate context prompt`: a verified context as text for the system prompt of a model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use semgate_contexts::Context;
use semgate_contexts::prompt::{Budget, BudgetFault, PromptStatus, render};
use semgate_statement::{Stapled, Status, TextProofFault};
use serde_json::json;

use super::files::{untrusted, verified};
use super::listing::{VersionStanding, word};
use super::trusted_roots::{AuthorityKeys, Keys};
use super::{Documents, remote};
use crate::authority_client::AuthorityArgs;
use crate::fault::Fault;
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
        let (context, status) = match &self.file {
            Some(file) => (self.local(file)?, PromptStatus::Unchecked),
            None => {
                published(&self.keys.resolve(&self.at)?, self.context.as_deref().unwrap_or_default()).await?
            }
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
        let Ok(signed) = Stapled::read(&bytes) else { return documents.file(file).map(Arc::new) };
        let roots = read_roots(&self.at.reach()?.roots)?;
        let held = verified(&signed.signed, &roots, now(), &|urn| documents.find(urn));
        let held = held.map_err(|fault| untrusted(&TextProofFault::Context(fault)))?;
        Ok(Arc::clone(held.context()))
    }
}

/// A published context that counts now, as far as its authority tells.
async fn published(keys: &AuthorityKeys, name: &str) -> Result<(Arc<Context>, PromptStatus), Fault> {
    let context = remote::context(keys, &names::full_urn(name)).await?;
    let urn = context.urn();
    let standing = VersionStanding::of(&keys.reach, urn).await?;
    let standing = standing.ok_or_else(|| {
        Fault::new(format_args!("`{urn}` is not in the listing of published contexts"))
            .hint("ask the authority itself: this may be an incomplete mirror")
    })?;
    let status = match standing.status {
        Status::Valid => PromptStatus::Valid,
        Status::Deprecated => PromptStatus::Deprecated,
        gone @ (Status::Invalid | Status::Suspended) => {
            return Err(Fault::new(format_args!("`{urn}` is {}, so it has no prompt", word(gone)))
                .hint("use a version that counts: `semgate context list`"));
        }
    };
    match standing.floor {
        Some(floor) => {
            Err(Fault::new(format_args!("`{urn}` is below the floor {floor}, so it has no prompt"))
                .hint("use a version that counts: `semgate context list`"))
        }
        None => Ok((context, status)),
    }
}
