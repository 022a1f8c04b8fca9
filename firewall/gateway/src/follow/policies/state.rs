//! What the operator is told about a policy set: what is live, what lies on disk, and why the one is not the other.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use semgate_contexts::Digest;
use semgate_inspect::ShadowCounts;
use semgate_policies::{Floors, Keep, Policies, PolicyFault};

use crate::config::Config;

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
pub(crate) struct PolicyState {
    report: Mutex<PolicyReport>,
    /// What records keep of what this set is asked.
    keep: Option<Keep>,
    /// The operator's own floors.
    floors: Floors,
    /// `policy_faults_told`.
    most: usize,
}

/// What [`PolicyState::report`] tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyReport {
    /// The digest of what is live; none while nothing of the operator's is.
    pub(crate) live: Option<Digest>,
    /// Whether what is on disk is what is live, as far as it was looked at.
    pub(crate) current: bool,
    /// The digest of what is on disk and is being loaded; the live one where that is typed beside other contexts.
    pub(crate) loading: Option<Digest>,
    /// Unix time at which what is on disk was last looked at to the end, loads included, or from which on it is; none before.
    pub(crate) looked: Option<u64>,
    /// The digest of what is on disk and was rejected; none if it could not even be read.
    pub(crate) rejected: Option<Digest>,
    /// Why what is on disk is not live.
    pub(crate) faults: Vec<String>,
    /// Contexts that the live policies cannot speak of.
    pub(crate) left_out: Vec<String>,
    /// Live policies that can match nothing above the present floors, forbids that a version gets past, and members of which records are to
    /// keep what there is not.
    pub(crate) warnings: Vec<String>,
}

impl PolicyState {
    /// The state of the set that messages are judged by.
    pub(crate) fn live(config: &Config) -> Self {
        let floors = config.floors.iter().cloned().collect();
        Self { keep: config.kept(), floors, ..Self::shadow(config) }
    }

    /// The state of the set that decides beside it.
    pub(crate) fn shadow(config: &Config) -> Self {
        Self { most: config.limits.policy_faults_told, ..Self::default() }
    }

    /// The first of these, and how many more there are.
    fn told<T: Display>(&self, mut all: impl Iterator<Item = T>) -> Vec<String> {
        let mut told: Vec<String> = all.by_ref().take(self.most).map(|one| one.to_string()).collect();
        let more = all.count();
        if more > 0 {
            told.push(format!("{more} more that are not told here (`semgate policy check`)"));
        }
        told
    }

    /// Floors of the operator that name no line which any context has.
    pub(crate) fn floors_of_nothing(&self, policies: &Policies) -> Vec<String> {
        policies.floors_of_nothing(&self.floors)
    }

    /// What records are to keep and cannot beside these contexts.
    pub(crate) fn unkept(&self, policies: &Policies) -> Vec<String> {
        self.keep.as_ref().map(|keep| policies.unkept(keep)).unwrap_or_default()
    }

    pub(super) fn warnings(&self, policies: &Policies) -> Vec<String> {
        let unkept = self.unkept(policies).into_iter().map(|why| format!("audit_values: {why}"));
        let floors = self.floors_of_nothing(policies).into_iter().map(|why| format!("floors: {why}"));
        let told = policies.warnings().iter().map(ToString::to_string);
        self.told(told.chain(unkept).chain(floors))
    }

    pub(crate) fn report(&self) -> PolicyReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut PolicyReport)) {
        change(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// These are live, and are what is on disk.
    pub(super) fn accepted(&self, policies: &Policies) {
        let left_out = policies.left_out().iter().map(ToString::to_string).collect();
        let (live, warnings) = (Some(policies.digest()), self.warnings(policies));
        self.change(|report| {
            let looked = report.looked;
            *report =
                PolicyReport { live, current: true, left_out, warnings, looked, ..PolicyReport::default() };
        });
    }

    /// What is on disk is tried; until that ends, what is told of what was rejected before it stays. What is live already and is tried beside
    /// other contexts stays current.
    pub(super) fn loading(&self, digest: Digest) {
        self.change(|report| {
            report.current &= report.live == Some(digest);
            report.loading = Some(digest);
        });
    }

    /// A look at what is on disk has ended at this time.
    pub(super) fn looked(&self, now: u64) {
        self.change(|report| report.looked = Some(now));
    }

    /// What is live was typed anew; what is on disk is as it was.
    pub(super) fn retyped(&self, policies: &Policies) {
        let left_out = policies.left_out().iter().map(ToString::to_string).collect();
        let warnings = self.warnings(policies);
        self.change(|report| (report.left_out, report.warnings) = (left_out, warnings));
    }

    /// What is on disk is not live; what was live is. Gives what is told of it.
    pub(super) fn rejected(&self, digest: Option<Digest>, faults: &[PolicyFault]) -> Vec<String> {
        let told = self.told(faults.iter());
        self.change(|report| {
            (report.current, report.loading) = (false, None);
            (report.rejected, report.faults) = (digest, told.clone());
        });
        told
    }
}
