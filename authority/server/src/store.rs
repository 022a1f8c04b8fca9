//! The layout of the state directory. `docs/how-to/run-an-authority.md` tells which files are trusted for what.

mod documents;
mod last_seen;
mod leftovers;
mod log;
mod pinned_checkpoint;
mod source;

#[cfg(test)]
mod log_tests;

use std::path::{Path, PathBuf};

pub(crate) use documents::{Documents, Evidence, NewEvidence};
pub(crate) use last_seen::LastSeen;
pub(crate) use leftovers::Leftovers;
pub(crate) use log::{AppendFault, CommitFiles, Edge, Log, LogState, Recovery, cut, widest, with_width};
pub(crate) use pinned_checkpoint::{CheckpointFile, PinnedCheckpoint};

use crate::{RunFault, disk};

/// Paths below a state directory.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// The state directory itself.
    pub state: PathBuf,
    /// Tiles, entry bundles and the checkpoint: the log.
    pub log: PathBuf,
    /// Signed contexts, named by the digest of their payload.
    pub documents: PathBuf,
    /// Chains of everything that signed an entry, named by thumbprint.
    pub certificates: PathBuf,
    /// Context signers minted on demand, named by line.
    pub signers: PathBuf,
    /// Role keys that this authority renewed by itself, named by role.
    pub roles: PathBuf,
    /// Proposals that wait for a second person.
    pub proposals: PathBuf,
    /// Evidence: refused documents that must not be forgotten.
    pub evidence: PathBuf,
    /// Entries and documents of writes that were cut short.
    pub leftovers: PathBuf,
    /// sled: only an index.
    pub index: PathBuf,
    /// Marker that a checkpoint of this log is kept apart, so that its absence is noticed.
    pub kept_apart: PathBuf,
    /// The last head: its time, and evidence of the log's size.
    pub head: PathBuf,
}

impl Layout {
    /// The paths below `state`.
    pub fn new(state: &Path) -> Self {
        Self {
            state: state.to_path_buf(),
            log: state.join("log"),
            documents: state.join("documents"),
            certificates: state.join("certificates"),
            signers: state.join("signers"),
            roles: state.join("roles"),
            proposals: state.join("proposals"),
            evidence: state.join("evidence"),
            leftovers: state.join("leftovers"),
            index: state.join("index"),
            kept_apart: state.join("kept-apart"),
            head: state.join("head.json"),
        }
    }

    /// Makes missing directories and removes half-written leftovers of a crash.
    pub fn prepare(&self) -> Result<(), RunFault> {
        for dir in [
            &self.state,
            &self.log,
            &self.documents,
            &self.certificates,
            &self.signers,
            &self.roles,
            &self.proposals,
            &self.evidence,
        ] {
            disk::make_dir(dir)?;
            disk::sweep(dir)?;
        }
        Ok(())
    }
}
