//! `semgate policy …`: checks policies before they go live, and explains decisions. For operators; no caller sees any of it.

mod analysis;
pub mod audit;
mod bundle;
mod case;
mod check;
mod explain;
mod inputs;
mod matrix;
mod people;
mod replay;
mod stage;
mod test;

use clap::Subcommand;

use crate::fault::Fault;

/// Policies
#[derive(Debug, Subcommand)]
pub enum PolicyJob {
    /// Check if this directory would load; show file, line and fault
    Check(check::CheckPolicies),
    /// Sign a directory as one file, for gateways that demand it, or verify one
    Bundle(bundle::Bundle),
    /// Play cases through the inspection, and list policies that no case decides
    Test(test::Test),
    /// Write a matrix of agents, concepts and performatives, to be committed and reviewed
    Matrix(matrix::MatrixArgs),
    /// Explain why a message, or a decision in the audit log, is permitted or denied
    Explain(explain::Explain),
    /// Apply other policies to the records of an audit log, and show the changes
    Replay(replay::Replay),
}

/// Runs the job.
///
/// # Errors
/// The fault of the job.
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
