//! What the operator is told about a policy set: what is live, what lies on disk, and why the one is not the other.

use std::sync::{Arc, Mutex, PoisonError};

use semgate_contexts::Digest;
use semgate_inspect::ShadowCounts;
use semgate_policies::{Policies, PolicyFault};

/// The state of every set, for whoever tells of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyStates {
    /// The set that messages are judged by.
    pub(crate) live: Arc<PolicyState>,
    /// The set that decides beside it, if one is configured.
    pub(crate) shadow: Option<Arc<PolicyState>>,
    /// How often that was asked and differed.
    pub(crate) counts: Arc<ShadowCounts>,
}

/// One set's state, shared by the thread that loads it and those that tell of it.
#[derive(Debug, Default)]
pub(crate) struct PolicyState(Mutex<PolicyReport>);

/// See [`PolicyState`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyReport {
    /// The digest of what is live; none while nothing of the operator's is.
    pub(crate) live: Option<Digest>,
    /// Whether what is on disk is what is live.
    pub(crate) current: bool,
    /// The digest of what is on disk and was rejected; none if it could not even be read.
    pub(crate) rejected: Option<Digest>,
    /// Why what is on disk is not live.
    pub(crate) faults: Vec<String>,
    /// Contexts that the live policies cannot speak of.
    pub(crate) left_out: Vec<String>,
    /// Live policies that can match nothing above the present floors.
    pub(crate) warnings: Vec<String>,
}

impl PolicyState {
    pub(crate) fn report(&self) -> PolicyReport {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, report: PolicyReport) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }

    /// These are live, and are what is on disk.
    pub(super) fn accepted(&self, policies: &Policies) {
        let left_out = policies.left_out().iter().map(ToString::to_string).collect();
        let live = Some(policies.digest());
        let warnings = policies.warnings().iter().map(ToString::to_string).collect();
        self.set(PolicyReport {
            live,
            current: true,
            rejected: None,
            faults: Vec::new(),
            left_out,
            warnings,
        });
    }

    /// What is live was typed anew; what is on disk is as it was.
    pub(super) fn retyped(&self, policies: &Policies) {
        let left_out = policies.left_out().iter().map(ToString::to_string).collect();
        self.set(PolicyReport { left_out, ..self.report() });
    }

    /// What is on disk is not live; what was live is. Answers whether that is news.
    pub(super) fn rejected(&self, digest: Option<Digest>, faults: &[PolicyFault]) -> bool {
        let before = self.report();
        let faults = faults.iter().map(ToString::to_string).collect();
        let report = PolicyReport { current: false, rejected: digest, faults, ..before.clone() };
        let news = report != before;
        self.set(report);
        news
    }
}
