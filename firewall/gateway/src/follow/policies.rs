//! The policy directory: loaded as a whole or not at all, looked at again when it changes, when the contexts change and on
//! SIGHUP. A rejected set leaves the last good one live, and is not tried again before something changes.

mod first;
mod state;
mod steady;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use semgate_contexts::{Context, Digest};
use semgate_policies::{Policies, PolicyFault, PolicyLimits, PolicySource};
use tokio::sync::oneshot;

#[cfg(feature = "plain-proxy")]
pub(crate) use first::none;
pub(crate) use first::{First, first};
pub(crate) use state::{PolicyReport, PolicyState};

use self::steady::{Stamp, Steady};
use super::Publisher;
use crate::config::Config;

/// How often a directory that keeps changing is waited for before it is read all the same: the read itself tells whether it
/// stood still.
const UNSETTLED: u32 = 5;

/// The nice value of the thread that loads: its ten seconds at most for 10,000 policies must not be taken from messages. At 10 the
/// kernel gives it about a tenth of a core that others want whole, and all of an idle one.
const NICE: i32 = 10;

/// The loop of the policy directory.
pub(super) struct Task {
    path: PathBuf,
    poll: Duration,
    settle: Duration,
    tries: usize,
    limits: PolicyLimits,
    publisher: Rc<Publisher>,
    state: Arc<PolicyState>,
    /// How the directory stood when it was last read.
    seen: Option<Stamp>,
    /// What was last tried, live or rejected: neither is tried twice.
    tried: Option<Tried>,
}

/// A set of policies, and the contexts beside which it was tried.
#[derive(Clone, PartialEq, Eq)]
struct Tried {
    set: Digest,
    contexts: Vec<Digest>,
}

impl Task {
    pub(super) fn new(config: &Config, publisher: Rc<Publisher>, state: Arc<PolicyState>) -> Self {
        let (limits, report) = (&config.limits, state.report());
        // what the start tried is not tried again beside the same contexts
        let tried = report.live.or(report.rejected).map(|set| Tried { set, contexts: publisher.digests() });
        Self {
            path: config.policies.clone(),
            poll: limits.policy_poll,
            settle: limits.policy_settle,
            tries: limits.policy_read_tries,
            limits: limits.policies(),
            publisher,
            state,
            seen: None,
            tried,
        }
    }

    pub(super) async fn run(mut self) {
        if self.state.report().current {
            self.count("accepted", 1.0);
        } else {
            self.publisher.metrics.gauge("semgate_policy_set_current", &[]).set(0.0);
        }
        let mut asked = true;
        loop {
            self.look(asked).await;
            asked = tokio::select! {
                () = tokio::time::sleep(self.poll) => false,
                () = self.publisher.reload.notified() => true,
            };
        }
    }

    /// Looks whether anything changed since the last try; `asked` says that the operator wants it read whether or not it seems to have.
    async fn look(&mut self, asked: bool) {
        let (contexts, digests) = (self.publisher.contexts(), self.publisher.digests());
        let same_contexts = self.tried.as_ref().is_some_and(|tried| tried.contexts == digests);
        let stamp = self.stamp().await;
        if !asked && same_contexts && stamp.is_some() && stamp == self.seen {
            return;
        }
        if self.seen.is_some() && stamp != self.seen {
            self.settled(stamp).await;
        }
        let (path, limits, tries) = (self.path.clone(), self.limits.clone(), self.tries);
        let read = tokio::task::spawn_blocking(move || steady::read(&path, &limits, tries)).await;
        match read {
            Ok(Ok(Steady { source, stamp })) => {
                self.seen = Some(stamp);
                let tried = Tried { set: source.digest(), contexts: digests };
                if self.tried.as_ref() != Some(&tried) {
                    self.tried = Some(tried);
                    self.load(source, contexts).await;
                }
            }
            Ok(Err(why)) => {
                // what cannot be read has no stamp to know it by, so it is looked at again and told once
                (self.seen, self.tried) = (None, None);
                self.rejected(None, &[why]);
            }
            Err(why) => tracing::error!(%why, "the policy directory could not be read"),
        }
    }

    async fn stamp(&self) -> Option<Stamp> {
        let (path, limits) = (self.path.clone(), self.limits.clone());
        let taken = tokio::task::spawn_blocking(move || Stamp::take(&path, &limits)).await;
        taken.ok().and_then(Result::ok)
    }

    /// Waits until whoever writes is done: until nothing changed for the time of `policy_settle`.
    async fn settled(&self, mut last: Option<Stamp>) {
        for _ in 0..UNSETTLED {
            tokio::time::sleep(self.settle).await;
            let now = self.stamp().await;
            if now.is_some() && now == last {
                return;
            }
            last = now;
        }
    }

    async fn load(&mut self, source: PolicySource, contexts: Vec<Arc<Context>>) {
        let digest = source.digest();
        let live = self.state.report().live.map(|_| self.publisher.policies());
        let (nothing_known, limits) = (contexts.is_empty(), self.limits.clone());
        let load = move || match live {
            // what is live is not left out to make room for a policy that does not fit it
            Some(live) => live.reload(&source, &contexts, &limits),
            None => Policies::load(&source, &contexts, &limits),
        };
        match aside(load).await {
            Some(Ok(policies)) => self.accepted(policies),
            Some(Err(faults)) if nothing_known => {
                tracing::info!(
                    "the policies wait for the contexts that they speak of; until then nothing passes"
                );
                self.state.rejected(Some(digest), &faults);
            }
            Some(Err(faults)) => self.rejected(Some(digest), &faults),
            None => {
                let why = "the thread that loads them ended".to_owned();
                self.rejected(Some(digest), &[PolicyFault::Schema { why }]);
            }
        }
    }

    fn accepted(&self, policies: Policies) {
        tracing::info!(digest = %policies.digest(), left_out = policies.left_out().len(), "policies are live");
        for left_out in policies.left_out() {
            tracing::warn!(%left_out, "a context cannot be typed beside the live policies: its messages are refused");
        }
        self.state.accepted(&policies);
        self.publisher.policies_changed(policies);
        self.count("accepted", 1.0);
    }

    fn rejected(&self, digest: Option<Digest>, faults: &[PolicyFault]) {
        if !self.state.rejected(digest, faults) {
            return;
        }
        for fault in faults {
            tracing::error!(%fault, "the policies on disk are rejected, the last good ones stay live");
        }
        self.count("rejected", 0.0);
    }

    fn count(&self, outcome: &'static str, current: f64) {
        let metrics = &self.publisher.metrics;
        metrics.counter("semgate_policy_loads_total", &[("outcome", outcome.to_owned())]).increment(1);
        metrics.gauge("semgate_policy_set_current", &[]).set(current);
    }
}

/// Runs what takes seconds of a core on a thread of its own, which the kernel lets wait for those that serve. `None` if it cannot start
/// or panics.
async fn aside<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, result) = oneshot::channel();
    let thread = std::thread::Builder::new().name("semgate-policies".to_owned());
    let body = move || {
        // of this thread alone, on Linux; where it is not granted, the load is merely not kinder than others
        let _ = rustix::process::setpriority_process(None, NICE);
        let _ = done.send(job());
    };
    if let Err(why) = thread.spawn(body) {
        tracing::error!(%why, "a thread for loading policies could not be started");
        return None;
    }
    result.await.ok()
}
