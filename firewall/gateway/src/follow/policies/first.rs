//! The policies that a gateway starts with, and the set that lets nothing pass until they fit.

#[cfg(feature = "plain-proxy")]
use std::path::PathBuf;
use std::sync::Arc;

use semgate_contexts::{Context, DocumentLimits, Prefix, library};
use semgate_policies::{Floors, Policies, PolicyFault, PolicyLimits, PolicySource};

use super::place::{Found, Place};
use super::{Aside, PolicyState};
use crate::config::Config;
use crate::fault::RunFault;

/// Live while the real policies cannot be typed because no context is known yet: lets nothing pass, and answers about every
/// line alike, so that the status (which is not there either) is what callers are told about. The forbid says that it
/// is meant, so that nothing is told of the permit.
const WAITING: &str = "permit (principal, action, resource);\n\
                       forbid (principal, action, resource) when { true };\n";

/// What a gateway starts with.
pub(crate) struct First {
    /// What is asked from the start.
    pub(crate) policies: Policies,
    /// What the operator is told of them.
    pub(crate) state: PolicyState,
    /// What was read, for typing it anew beside other contexts; none if it does not fit the first ones.
    pub(super) source: Option<Arc<PolicySource>>,
    pub(super) place: Place,
    pub(super) version: Option<u64>,
    /// What is wrong with the policies beside the contexts that are known, whatever else comes: nothing passes for it.
    pub(crate) wrong: Vec<String>,
    floors: Floors,
    aside: Aside,
}

/// The policies that a gateway starts with beside these contexts and above these floors.
///
/// A directory that cannot be read, is empty, or whose text or entities are wrong stops the start. Whether policies fit the
/// contexts cannot be told before the contexts are known: what fails only in that is live as soon as it fits, and until
/// then nothing passes.
///
/// # Errors
/// [`RunFault::Policies`], of a bundle [`RunFault::Bundle`] where it cannot be read; [`RunFault::System`] where no thread can be started.
pub(crate) fn first(config: &Config, contexts: &[Arc<Context>], floors: Floors) -> Result<First, RunFault> {
    let place = Place::live(config)?;
    let path = place.path().to_owned();
    let fault = |faults: &[PolicyFault]| RunFault::Policies { path: path.clone(), why: join(faults) };
    let limits = config.limits.policies();
    let tries = config.limits.policy_read_tries;
    let state = PolicyState::live(config);
    // by the thread that will load the next ones
    let aside = Aside::start("semgate-policies")?;
    let panicked = || RunFault::system("policies", "the thread that loads them panicked");
    let (from, within) = (place.clone(), limits.clone());
    let read = aside.wait(move || from.read(&within, tries)).ok_or_else(panicked)?;
    let Found { source, digest, version, .. } = read.map_err(|why| place.unread(&why))?;
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
                place,
                version,
                wrong: Vec::new(),
                floors,
                aside,
            })
        }
        Err(faults) if faults.iter().all(PolicyFault::is_about_contexts) => {
            state.rejected(Some(digest), &faults);
            // beside no context every policy is wrong
            let wrong = faults.iter().filter(|fault| !contexts.is_empty() && !fault.waits_for_contexts());
            let wrong = wrong.map(ToString::to_string).collect();
            let policies = waiting(&source, &limits).map_err(|faults| fault(&faults))?;
            Ok(First { policies, state, source: None, place, version, wrong, floors, aside })
        }
        Err(mut faults) => {
            // what may be gone once the contexts are known hides what will not
            faults.retain(|fault| !fault.is_about_contexts());
            Err(fault(&faults))
        }
    }
}

impl First {
    /// Keeps on disk what is about to be live, where that is demanded; a start that only looks does not come here.
    ///
    /// # Errors
    /// It cannot be kept.
    pub(crate) fn remember(&self) -> Result<(), RunFault> {
        let Some(digest) = self.state.report().live else { return Ok(()) };
        self.place
            .remember(self.version, digest)
            .map_err(|why| RunFault::Policies { path: self.place.path().to_owned(), why: why.to_string() })
    }

    /// What the task that keeps it live begins with.
    pub(crate) fn begun(&mut self) -> Begun {
        let floors = std::mem::take(&mut self.floors);
        let (place, aside) = (self.place.clone(), self.aside.clone());
        Begun { source: self.source.take(), place, version: self.version, floors, aside }
    }
}

/// See [`First::begun`].
pub(crate) struct Begun {
    pub(super) source: Option<Arc<PolicySource>>,
    pub(super) place: Place,
    pub(super) version: Option<u64>,
    /// The floors that the start knew.
    pub(super) floors: Floors,
    /// The thread that did it.
    pub(super) aside: Aside,
}

/// What is wrong with the shadow policies beside these contexts and above these floors; nothing where there are none.
pub(crate) fn shadow_faults(config: &Config, contexts: &[Arc<Context>], floors: &Floors) -> Vec<String> {
    let Some(shadow) = &config.shadow else { return Vec::new() };
    let limits = config.limits.policies();
    let place = Place::Directory(shadow.policies.clone());
    let faults = match place.read(&limits, config.limits.policy_read_tries) {
        Ok(found) => Policies::load_above(&found.source, contexts, floors, &limits).err().unwrap_or_default(),
        Err(fault) => vec![fault],
    };
    faults.iter().map(ToString::to_string).collect()
}

/// The set that lets nothing pass, with the real agents.
fn waiting(source: &PolicySource, limits: &PolicyLimits) -> Result<Policies, Vec<PolicyFault>> {
    let files = vec![("waiting.cedar".to_owned(), WAITING.to_owned())];
    let waiting = PolicySource { files, entities: source.entities.clone(), limits: None };
    Policies::load(&waiting, &shipped(), limits)
}

/// The set that lets nothing pass, for the build that asks nothing.
///
/// # Errors
/// The shipped agents do not load, which a test of theirs rules out.
#[cfg(feature = "plain-proxy")]
pub(crate) fn none() -> Result<Policies, RunFault> {
    let fault = |faults: Vec<PolicyFault>| RunFault::Policies { path: PathBuf::new(), why: join(&faults) };
    waiting(&PolicySource::shipped(), &PolicyLimits::default()).map_err(fault)
}

/// The shipped contexts: only so that there is something that a policy can be typed against. None of them counts by this, so
/// they are read under the prefix that they are written with, whatever the gateway's is.
fn shipped() -> Vec<Arc<Context>> {
    let (prefix, limits) = (Prefix::default(), DocumentLimits::default());
    let read = |(_, bytes): &(&str, &[u8])| Context::check(bytes, &prefix, &limits).ok().map(Arc::new);
    library::all().iter().filter_map(read).collect()
}

fn join(faults: &[PolicyFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
