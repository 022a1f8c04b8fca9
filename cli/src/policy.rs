//! `semgate policy …`: policies before they go live, and what they decided. All of it is for operators; no caller ever sees it.

mod analysis;
mod audit;
mod bundle;
mod case;
mod check;
mod explain;
mod inputs;
mod matrix;
mod replay;
mod stage;
mod test;

use clap::Subcommand;

use crate::fault::Fault;

/// Policies
#[derive(Debug, Subcommand)]
pub enum PolicyJob {
    /// Would this directory be loaded? Says file, line, and what is wrong
    Check(check::Check),
    /// Signs a directory as one file, for gateways that demand that, or verifies one
    Bundle(bundle::Bundle),
    /// Plays cases through the inspection, and says which policies none of them decides
    Test(test::Test),
    /// Who may say what: agents by concepts by performatives, to be committed and reviewed
    Matrix(matrix::Words),
    /// Why a message, or a decision out of the audit log, is permitted or denied
    Explain(explain::Explain),
    /// Asks other policies what an audit log recorded, and says what would change
    Replay(replay::Replay),
}

/// Does what was asked for.
///
/// # Errors
/// As the job says.
pub fn run(job: PolicyJob, json: bool) -> Result<u8, Fault> {
    match job {
        PolicyJob::Check(check) => check.run(json),
        PolicyJob::Bundle(bundle) => bundle.run(json),
        PolicyJob::Test(test) => test.run(json),
        PolicyJob::Matrix(words) => words.run(json),
        PolicyJob::Explain(explain) => explain.run(json),
        PolicyJob::Replay(replay) => replay.run(json),
    }
}
