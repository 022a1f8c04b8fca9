//! `semgate context …`: check, sign and verify on files; publish, fetch, revoke, floor and list at an authority.

mod check;
mod diff;
mod documents;
mod export;
mod files;
mod import;
mod listing;
mod located;
mod overrides;
mod paged_listing;
mod prompt;
mod remote;
mod serve_mcp;
mod trusted_roots;

pub use documents::Documents;
pub use import::{DraftedContext, agent_card, drafted_tools, line_label};
pub use located::position;
pub use trusted_roots::Keys;

use std::path::PathBuf;

use clap::Subcommand;

use crate::authority_client::{AuthorityArgs, answer, done};
use crate::fault::Fault;

/// Contexts: check, sign, publish, verify, revoke
#[derive(Debug, Subcommand)]
pub enum ContextJob {
    Check(check::CheckContexts),
    /// Compare two versions: compatibility, and the number that the newer one needs
    Diff(diff::Diff),
    /// Sign a document with your own context signer
    Sign(files::Sign),
    /// Verify a signed context under roots
    Verify(files::VerifyContext),
    /// Publish a document, bare (the authority signs it) or signed
    Publish {
        /// A JSON document, or a signed context
        file: PathBuf,
        /// First permit it for this reason, although it breaks or is not proven; see `context override`
        #[arg(long = "override", value_name = "REASON", requires = "name")]
        overriding: Option<String>,
        /// Name of the person who permits it
        #[arg(long, requires = "overriding")]
        name: Option<String>,
        #[command(flatten)]
        at: AuthorityArgs,
    },
    /// Permit a version that breaks, or is not proven: signed by a named person, logged, public
    Override(overrides::Override),
    /// Fetch a published context and verify it
    Fetch {
        /// The URN, or in short `payment:v1.1`
        context: String,
        /// Write the signed context to this file
        #[arg(long)]
        out: Option<PathBuf>,
        /// Also fetch the proof of its publication; `context verify --log-key` checks it offline
        #[arg(long)]
        proof: bool,
        #[command(flatten)]
        at: AuthorityArgs,
        #[command(flatten)]
        keys: trusted_roots::Keys,
    },
    /// Write a context as text for the system prompt of a model
    Prompt(prompt::WritePrompt),
    /// Serve the published contexts to models over MCP, on standard input and output, read-only
    ServeMcp(serve_mcp::ServeMcp),
    /// Revoke a published version, for good
    Revoke(remote::Revocation),
    /// Suspend a published version
    Suspend(remote::LifecycleAct),
    /// Lift a suspension
    Resume(remote::LifecycleAct),
    /// Mark a published version as deprecated
    Retire(remote::LifecycleAct),
    /// Raise the lowest version of a line that is still allowed
    Floor {
        /// The line: `payment`
        line: String,
        /// The version: `v1.1`
        #[arg(value_name = "VERSION")]
        min: String,
        /// Reason, for the log
        #[arg(long, default_value = "raised by the operator")]
        reason: String,
        #[command(flatten)]
        at: AuthorityArgs,
    },
    /// Draft a context from a live server, an agent card or another schema language, to be reviewed and signed
    #[command(subcommand)]
    Import(import::Import),
    /// Write a context in another language
    #[command(subcommand)]
    Export(export::Export),
    /// List the published contexts with their status
    List {
        #[command(flatten)]
        at: AuthorityArgs,
    },
}

/// Runs the job.
///
/// # Errors
/// An invalid document, or an authority that is unreachable or refuses.
pub async fn run(job: ContextJob, json: bool) -> Result<u8, Fault> {
    match job {
        ContextJob::Check(check) => check.run(json).await,
        ContextJob::Diff(diff) => diff.run(json).await,
        ContextJob::Sign(sign) => sign.run(json),
        ContextJob::Verify(verify) => verify.run(json),
        ContextJob::Import(what) => import::run(what, json).await,
        ContextJob::Export(what) => export::run(what, json).await,
        ContextJob::Publish { file, overriding, name, at } => {
            if let (Some(reason), Some(name)) = (&overriding, &name) {
                let reach = at.reach()?;
                if overrides::is_published(&reach, &file).await? {
                    return remote::publish(&reach, &file, json).await;
                }
                let logged = overrides::log(&at, &file, reason, name).await?;
                let entry = answer(&logged)?;
                if logged.status == 202 {
                    let waits = done(&logged, json);
                    tell!(
                        "nothing is published yet: once it is approved, publish the file again, without `--override`"
                    );
                    return waits;
                }
                let published = remote::publish(&reach, &file, json).await;
                return published.map_err(|fault| overrides::waits(fault, &entry));
            }
            remote::publish(&at.reach()?, &file, json).await
        }
        ContextJob::Override(permit) => permit.run(json).await,
        ContextJob::Fetch { context, out, proof, at, keys } => {
            remote::fetch(&keys.resolve(&at)?, &context, out.as_deref(), proof, json).await
        }
        ContextJob::Prompt(prompt) => prompt.run(json).await,
        ContextJob::ServeMcp(serve) => serve.run().await,
        ContextJob::Revoke(act) => act.run(json).await,
        ContextJob::Suspend(act) => act.run("suspend", json).await,
        ContextJob::Resume(act) => act.run("resume", json).await,
        ContextJob::Retire(act) => act.run("retire", json).await,
        ContextJob::Floor { line, min, reason, at } => {
            remote::floor(&at.reach()?, &line, &min, &reason, json).await
        }
        ContextJob::List { at } => listing::list(&at.reach()?, json).await,
    }
}
