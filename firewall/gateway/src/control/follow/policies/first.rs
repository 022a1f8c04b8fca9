//! Policies at the start of a gateway, and the set that refuses everything until they fit.

use std::sync::Arc;

use semgate_contexts::{Context, DocumentLimits, Prefix, library};
use semgate_policies::{Floors, Policies, PolicyFault, PolicyLimits, PolicySource};

use super::Aside;
use super::source::{BundleSource, ReadPolicies};
use crate::config::Config;
use crate::control::policy_state::PolicyState;
use crate::fault::RunFault;

/// Live while the real policies cannot be validated for lack of contexts. It refuses everything, and gives the same answer
/// about every line. So callers are told about the missing status. The forbid states that it is intended, so that the permit
/// causes no warning.
const WAITING: &str = "permit (principal, action, resource);\n\
                       forbid (principal, action, resource) when { true };\n";

/// Policies at the start of a gateway.
pub(crate) struct First {
    /// Policies in force from the start.
    pub(crate) policies: Policies,
    /// Their state for the operator.
    pub(crate) state: PolicyState,
    /// The parsed set, for validation against other contexts; `None` if it does not fit the first ones.
    pub(super) source: Option<Arc<PolicySource>>,
    pub(super) location: BundleSource,
    pub(super) version: Option<u64>,
    /// Faults of the policies with the known contexts that no later context can mend. Nothing passes then.
    pub(crate) wrong: Vec<String>,
    floors: Floors,
    aside: Aside,
}

/// Loads the policies at the start with these contexts and floors. Faults of formerly live policies that a running gateway
/// only warns of, such as a raised floor, are warnings here too.
///
/// An unreadable or empty directory, or wrong text or entities, stop the start. Policies cannot be validated before the
/// contexts are known. A set with only such faults goes live as soon as it fits; until then nothing passes.
///
/// # Errors
/// [`RunFault::Policies`], or [`RunFault::Bundle`] for an unreadable bundle; [`RunFault::System`] if no thread can start.
pub(crate) fn first(config: &Config, contexts: &[Arc<Context>], floors: Floors) -> Result<First, RunFault> {
    let location = BundleSource::live(config)?;
    let path = location.path().to_owned();
    let fault = |faults: &[PolicyFault]| RunFault::Policies { path: path.clone(), why: join(faults) };
    let limits = config.limits.policies();
    let tries = super::source::READ_TRIES;
    let state = PolicyState::live(config);
    // by the thread that will load the next ones
    let aside = Aside::start("semgate-policies")?;
    let panicked = || RunFault::system("policies", "the thread that loads them panicked");
    let (from, within) = (location.clone(), limits.clone());
    let read = aside.wait(move || from.read(&within, tries)).ok_or_else(panicked)?;
    let ReadPolicies { source, digest, version, .. } = read.map_err(|why| location.unread(&why))?;
    let load = {
        let (source, contexts, limits) = (Arc::clone(&source), contexts.to_vec(), limits.clone());
        let floors = floors.clone();
        move || Policies::load_above(&source, &contexts, &floors, &limits)
    };
    match aside.wait(load).ok_or_else(panicked)? {
        Ok(policies) => {
            state.accepted(&policies);
            Ok(First {
                policies,
                state,
                source: Some(source),
                location,
                version,
                wrong: Vec::new(),
                floors,
                aside,
            })
        }
        Err(faults) if faults.iter().all(PolicyFault::is_about_contexts) => {
            state.rejected(Some(digest), &faults);
            // without contexts every policy is wrong
            let wrong = faults.iter().filter(|fault| !contexts.is_empty() && !fault.waits_for_contexts());
            let wrong = wrong.map(ToString::to_string).collect();
            let policies = waiting(&source, &limits).map_err(|faults| fault(&faults))?;
            Ok(First { policies, state, source: None, location, version, wrong, floors, aside })
        }
        Err(mut faults) => {
            // faults that later contexts may mend would hide the permanent ones
            faults.retain(|fault| !fault.is_about_contexts());
            Err(fault(&faults))
        }
    }
}

impl First {
    /// Stores the policies that are about to go live, if the configuration demands it. `check` does not call this.
    ///
    /// # Errors
    /// The set cannot be stored.
    pub(crate) fn remember(&self) -> Result<(), RunFault> {
        let Some(digest) = self.state.report().live else { return Ok(()) };
        self.location
            .remember(self.version, digest)
            .map_err(|why| RunFault::Policies { path: self.location.path().to_owned(), why: why.to_string() })
    }

    /// Start values of the task that keeps the policies live.
    pub(crate) fn begun(&mut self) -> Begun {
        let floors = std::mem::take(&mut self.floors);
        let (location, aside) = (self.location.clone(), self.aside.clone());
        Begun { source: self.source.take(), location, version: self.version, floors, aside }
    }
}

/// See [`First::begun`].
pub(crate) struct Begun {
    pub(super) source: Option<Arc<PolicySource>>,
    pub(super) location: BundleSource,
    pub(super) version: Option<u64>,
    /// The floors that the start knew.
    pub(super) floors: Floors,
    /// Thread that loaded the set.
    pub(super) aside: Aside,
}

/// Faults of the shadow policies with these contexts and floors; empty without shadow policies.
pub(crate) fn shadow_faults(config: &Config, contexts: &[Arc<Context>], floors: &Floors) -> Vec<String> {
    let Some(shadow) = &config.shadow else { return Vec::new() };
    let limits = config.limits.policies();
    let location = BundleSource::Directory(shadow.policies.clone());
    let faults = match location.read(&limits, super::source::READ_TRIES) {
        Ok(found) => Policies::load_above(&found.source, contexts, floors, &limits).err().unwrap_or_default(),
        Err(fault) => vec![fault],
    };
    faults.iter().map(ToString::to_string).collect()
}

/// The set that refuses everything, with the real agents.
fn waiting(source: &PolicySource, limits: &PolicyLimits) -> Result<Policies, Vec<PolicyFault>> {
    let files = vec![("waiting.cedar".to_owned(), WAITING.to_owned())];
    let waiting = PolicySource { files, entities: source.entities.clone(), limits: None };
    Policies::load(&waiting, &shipped(), limits)
}

/// The shipped contexts, so that policies can be validated against some. None of them counts by this. They are parsed under
/// their own prefix, not the gateway's.
fn shipped() -> Vec<Arc<Context>> {
    let (prefix, limits) = (Prefix::default(), DocumentLimits::default());
    let read = |(_, bytes): &(&str, &[u8])| Context::check(bytes, &prefix, &limits).ok().map(Arc::new);
    library::all().iter().filter_map(read).collect()
}

fn join(faults: &[PolicyFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
