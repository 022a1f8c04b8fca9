//! The policy directory: loaded as a whole or not at all, looked at again when it changes, when the contexts change and on
//! SIGHUP. A rejected set leaves the last good one live.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use semgate_contexts::{Context, DocumentLimits, Prefix, library};
use semgate_policies::{Policies, PolicyFault, PolicyLimits, PolicySource};

use super::Publisher;
use crate::config::Config;
use crate::fault::RunFault;

/// Live while the real policies cannot be typed because no context is known yet: lets nothing pass, and answers about every
/// line alike, so that the status (which is not there either) is what callers are told about.
const WAITING: &str = "permit (principal, action, resource);\nforbid (principal, action, resource);\n";

/// What the operator is told about the policies.
#[derive(Debug, Default)]
pub(crate) struct PolicyState(Mutex<PolicyReport>);

/// See [`PolicyState`].
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyReport {
    /// Whether policies of the directory are live at all.
    pub(crate) live: bool,
    /// Whether what is on disk is what is live.
    pub(crate) current: bool,
    /// Why what is on disk is not live.
    pub(crate) faults: Vec<String>,
    /// Contexts that the live policies cannot speak of.
    pub(crate) left_out: Vec<String>,
}

impl PolicyState {
    pub(crate) fn report(&self) -> PolicyReport {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, report: PolicyReport) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }

    fn accepted(&self, policies: &Policies) {
        let left_out = policies.left_out().iter().map(ToString::to_string).collect();
        self.set(PolicyReport { live: true, current: true, faults: Vec::new(), left_out });
    }

    fn rejected(&self, faults: &[PolicyFault]) {
        let mut report = self.report();
        report.current = false;
        report.faults = faults.iter().map(ToString::to_string).collect();
        self.set(report);
    }
}

/// The policies that a gateway starts with.
///
/// A directory that cannot be read, is empty, or whose text or entities are wrong stops the start. Whether policies fit the
/// contexts cannot be told before the contexts are known: what fails only in that is live as soon as it fits, and until
/// then nothing passes.
///
/// # Errors
/// [`RunFault::Policies`].
pub(crate) fn first(
    config: &Config,
    contexts: &[Arc<Context>],
) -> Result<(Policies, PolicyState, PolicySource), RunFault> {
    let fault =
        |faults: &[PolicyFault]| RunFault::Policies { path: config.policies.clone(), why: join(faults) };
    let limits = PolicyLimits::default();
    let source = PolicySource::read_dir(&config.policies).map_err(|why| fault(&[why]))?;
    let state = PolicyState::default();
    match Policies::load(&source, contexts, &limits) {
        Ok(policies) => {
            state.accepted(&policies);
            Ok((policies, state, source))
        }
        Err(faults) if faults.iter().all(|fault| matches!(fault, PolicyFault::Invalid { .. })) => {
            state.rejected(&faults);
            let policies = waiting(&source).map_err(|faults| fault(&faults))?;
            Ok((policies, state, source))
        }
        Err(faults) => Err(fault(&faults)),
    }
}

/// The set that lets nothing pass, with the real agents.
fn waiting(source: &PolicySource) -> Result<Policies, Vec<PolicyFault>> {
    let files = vec![("waiting.cedar".to_owned(), WAITING.to_owned())];
    let waiting = PolicySource { files, entities: source.entities.clone() };
    Policies::load(&waiting, &shipped(), &PolicyLimits::default())
}

/// The set that lets nothing pass, for the build that asks nothing.
///
/// # Errors
/// The shipped agents do not load, which a test of theirs rules out.
#[cfg(feature = "plain-proxy")]
pub(crate) fn none() -> Result<Policies, RunFault> {
    let fault = |faults: Vec<PolicyFault>| RunFault::Policies { path: PathBuf::new(), why: join(&faults) };
    waiting(&PolicySource::shipped()).map_err(fault)
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

/// The loop of the policy directory.
pub(super) struct Task {
    path: PathBuf,
    poll: Duration,
    publisher: Rc<Publisher>,
    state: Arc<PolicyState>,
    /// What was last tried, live or rejected: neither is tried twice.
    tried: Option<(PolicySource, Vec<semgate_contexts::Digest>)>,
}

impl Task {
    pub(super) fn new(config: &Config, publisher: Rc<Publisher>, state: Arc<PolicyState>) -> Self {
        Self { path: config.policies.clone(), poll: config.limits.policy_poll, publisher, state, tried: None }
    }

    pub(super) async fn run(mut self) {
        loop {
            self.look().await;
            tokio::select! {
                () = tokio::time::sleep(self.poll) => {}
                () = self.publisher.reload.notified() => {}
            }
        }
    }

    async fn look(&mut self) {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || PolicySource::read_dir(&path)).await;
        let source = match read {
            Ok(Ok(source)) => source,
            Ok(Err(why)) => {
                // said once for each reason, not at every look
                if self.state.report().faults != [why.to_string()] {
                    self.rejected(&[why]);
                    self.tried = None;
                }
                return;
            }
            Err(why) => return tracing::error!(%why, "the policy directory could not be read"),
        };
        let contexts = self.publisher.contexts();
        let mut digests: Vec<_> = contexts.iter().map(|context| *context.digest()).collect();
        digests.sort_by_key(|digest| *digest.as_bytes());
        if self.tried.as_ref().is_some_and(|(tried, with)| *tried == source && *with == digests) {
            return;
        }
        self.load(source, contexts, digests).await;
    }

    async fn load(
        &mut self,
        source: PolicySource,
        contexts: Vec<Arc<Context>>,
        digests: Vec<semgate_contexts::Digest>,
    ) {
        // typing takes milliseconds: not on the thread that takes in revocations
        let loading = source.clone();
        let live = self.state.report().live.then(|| self.publisher.policies());
        let nothing_known = contexts.is_empty();
        let loaded = tokio::task::spawn_blocking(move || {
            let limits = PolicyLimits::default();
            match live {
                // what is live is not left out to make room for a policy that does not fit it
                Some(live) => live.reload(&loading, &contexts, &limits),
                None => Policies::load(&loading, &contexts, &limits),
            }
        })
        .await;
        self.tried = Some((source, digests));
        match loaded {
            Ok(Ok(policies)) => {
                tracing::info!(digest = %policies.digest(), left_out = policies.left_out().len(), "policies are live");
                for left_out in policies.left_out() {
                    tracing::warn!(%left_out, "a context cannot be typed beside the live policies: its messages are refused");
                }
                self.state.accepted(&policies);
                self.publisher.policies_changed(policies);
                self.count("accepted", 1.0);
            }
            Ok(Err(faults)) if nothing_known => {
                tracing::info!(
                    "the policies wait for the contexts that they speak of; until then nothing passes"
                );
                self.state.rejected(&faults);
            }
            Ok(Err(faults)) => self.rejected(&faults),
            Err(why) => tracing::error!(%why, "loading the policies failed"),
        }
    }

    fn rejected(&self, faults: &[PolicyFault]) {
        for fault in faults {
            tracing::error!(%fault, "the policies on disk are rejected, the last good ones stay live");
        }
        self.state.rejected(faults);
        self.count("rejected", 0.0);
    }

    fn count(&self, outcome: &'static str, current: f64) {
        let metrics = &self.publisher.metrics;
        metrics.counter("semgate_policy_loads_total", &[("outcome", outcome.to_owned())]).increment(1);
        metrics.gauge("semgate_policy_set_current", &[]).set(current);
    }
}
