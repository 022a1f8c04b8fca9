//! The operator's view of a policy set: the live set, the set on disk, and the reason if they differ.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use semgate_contexts::Digest;
use semgate_inspect::ShadowCounts;
use semgate_policies::{Floors, Keep, Policies, PolicyFault};

use crate::config::Config;
use crate::control::scan_state::ScanState;

/// Faults in the log and `/status`; the rest are counted. More than an operator corrects at once.
const MOST_FAULTS: usize = 256;

/// State of every set, for reports.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyStates {
    /// Live set.
    pub(crate) live: Arc<PolicyState>,
    /// Shadow set, if configured.
    pub(crate) shadow: Option<Arc<PolicyState>>,
    /// Counts of the shadow set's evaluations and differences.
    pub(crate) counts: Arc<ShadowCounts>,
    /// Model, baselines and counts of text scores.
    pub(crate) scan: Arc<ScanState>,
}

/// State of one set, shared by the loading thread and the reports.
#[derive(Debug, Default)]
pub(crate) struct PolicyState {
    report: Mutex<PolicyReport>,
    /// Policy inputs of this set that records keep.
    keep: Option<Keep>,
    /// The operator's own floors.
    floors: Floors,
}

/// Contents of [`PolicyState::report`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyReport {
    /// Digest of the live set; `None` before a set of the operator is live.
    pub(crate) live: Option<Digest>,
    /// True if the set on disk is live, as of the last check.
    pub(crate) current: bool,
    /// Digest of the set being loaded from disk, or of the live set during validation against other contexts.
    pub(crate) loading: Option<Digest>,
    /// Unix time of the last completed check of the disk, loads included; `None` before the first.
    pub(crate) looked: Option<u64>,
    /// Digest of the rejected set on disk; `None` if it is unreadable.
    pub(crate) rejected: Option<Digest>,
    /// Reasons why the set on disk is not live.
    pub(crate) faults: Vec<String>,
    /// Contexts that the live policies cannot name.
    pub(crate) left_out: Vec<String>,
    /// Warnings: names that are gone from `entities.json`, literals that fit only below a floor, and missing members in
    /// `[audit_values]`.
    pub(crate) warnings: Vec<String>,
}

impl PolicyState {
    /// State of the live set.
    pub(crate) fn live(config: &Config) -> Self {
        let floors = config.floors.iter().cloned().collect();
        Self { keep: config.kept(), floors, ..Self::default() }
    }

    /// The first items, and the number of the others.
    fn shown<T: Display>(&self, mut all: impl Iterator<Item = T>) -> Vec<String> {
        let mut shown: Vec<String> = all.by_ref().take(MOST_FAULTS).map(|one| one.to_string()).collect();
        let more = all.count();
        if more > 0 {
            shown.push(format!("{more} more (`semgate policy check` shows all)"));
        }
        shown
    }

    /// The operator's floors for lines without any context.
    pub(crate) fn floors_of_nothing(&self, policies: &Policies) -> Vec<String> {
        policies.floors_of_nothing(&self.floors)
    }

    /// Members for records that do not exist in these contexts.
    pub(crate) fn unkept(&self, policies: &Policies) -> Vec<String> {
        self.keep.as_ref().map(|keep| policies.unkept(keep)).unwrap_or_default()
    }

    pub(crate) fn warnings(&self, policies: &Policies) -> Vec<String> {
        let unkept = self.unkept(policies).into_iter().map(|why| format!("audit_values: {why}"));
        let floors = self.floors_of_nothing(policies).into_iter().map(|why| format!("floors: {why}"));
        let shown = policies.warnings().iter().map(ToString::to_string);
        self.shown(shown.chain(unkept).chain(floors))
    }

    pub(crate) fn report(&self) -> PolicyReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut PolicyReport)) {
        change(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sets the policies as live and current.
    pub(crate) fn accepted(&self, policies: &Policies) {
        let left_out = policies.left_out().iter().map(ToString::to_string).collect();
        let (live, warnings) = (Some(policies.digest()), self.warnings(policies));
        self.change(|report| {
            let looked = report.looked;
            *report =
                PolicyReport { live, current: true, left_out, warnings, looked, ..PolicyReport::default() };
        });
    }

    /// Marks the set on disk as being tried. The last rejection stays visible until the trial ends. A live set under
    /// validation against other contexts stays current.
    pub(crate) fn loading(&self, digest: Digest) {
        self.change(|report| {
            report.current &= report.live == Some(digest);
            report.loading = Some(digest);
        });
    }

    /// Records the time of a completed check.
    pub(crate) fn looked(&self, now: u64) {
        self.change(|report| report.looked = Some(now));
    }

    /// Updates the live set after a new validation. The state of the disk stays unchanged.
    pub(crate) fn retyped(&self, policies: &Policies) {
        let left_out = policies.left_out().iter().map(ToString::to_string).collect();
        let warnings = self.warnings(policies);
        self.change(|report| (report.left_out, report.warnings) = (left_out, warnings));
    }

    /// Marks the set on disk as rejected; the live set stays. Returns the faults to report.
    pub(crate) fn rejected(&self, digest: Option<Digest>, faults: &[PolicyFault]) -> Vec<String> {
        let shown = self.shown(faults.iter());
        self.change(|report| {
            (report.current, report.loading) = (false, None);
            (report.rejected, report.faults) = (digest, shown.clone());
        });
        shown
    }
}
