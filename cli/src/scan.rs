//! `semgate scan …`: scores of free text, the baselines of fields, and signed models. For operators.

mod baseline_file;
mod learn;
mod report;
mod score;
mod sign;

use clap::Subcommand;

use crate::fault::Fault;

/// The largest model or baseline, signed or not, in bytes: as much as a gateway reads.
const MAX_BYTES: usize = 4 << 20;

/// Scores of free text that policies may read
#[derive(Debug, Subcommand)]
pub enum ScanJob {
    /// Score a text as a gateway does
    Score(score::Score),
    /// Learn how the texts of one field usually read
    Learn(learn::Learn),
    /// Show what a model was measured at, or what a threshold would do to an audit log
    Report(report::Report),
    /// Sign a model or a baseline for gateways
    Sign(sign::SignScan),
    /// Verify a signed model or baseline
    Verify(sign::VerifyScan),
}

/// Runs the job.
///
/// # Errors
/// The fault of the job.
pub fn run(job: ScanJob, json: bool) -> Result<u8, Fault> {
    match job {
        ScanJob::Score(score) => score.run(json),
        ScanJob::Learn(learn) => learn.run(json),
        ScanJob::Report(report) => report.run(json),
        ScanJob::Sign(sign) => sign.run(json),
        ScanJob::Verify(verify) => verify.run(json),
    }
}
