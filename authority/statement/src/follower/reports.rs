//! Faults kept until they are taken: an operator needs the first ones.

use super::{FollowFault, Report};
use semgate_contexts::ContextUrn;
use std::path::PathBuf;

/// The first faults since the last call of `take`.
#[derive(Debug)]
pub(super) struct Reports {
    reports: Vec<Report>,
    most: usize,
}

impl Reports {
    /// Keeps at most `most`.
    pub(super) fn new(most: usize) -> Reports {
        Reports { reports: Vec::new(), most }
    }

    /// Keeps one more, if there is room.
    pub(super) fn add(
        &mut self,
        urn: Option<ContextUrn>,
        fault: FollowFault,
        evidence: Option<PathBuf>,
        at: u64,
    ) {
        if self.reports.len() < self.most {
            self.reports.push(Report { at, urn, fault, evidence });
        }
    }

    /// All kept faults, oldest first.
    pub(super) fn take(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }
}
