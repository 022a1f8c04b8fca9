//! The policy directory: loaded as a whole or not at all, looked at again when it changes, when the contexts change and on
//! SIGHUP. A rejected set leaves the last good one live, and is not tried again before something changes. The set that decides beside the
//! live one is kept in the same way, by a task of its own: whatever is wrong with it is its own.

mod first;
mod state;
mod steady;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use semgate_contexts::{Context, Digest};
use semgate_policies::{Policies, PolicyFault, PolicyLimits, PolicySource};
use tokio::sync::{oneshot, watch};

#[cfg(feature = "plain-proxy")]
pub(crate) use first::none;
pub(crate) use first::{First, first};
pub(crate) use state::{PolicyReport, PolicyState, PolicyStates};

use self::steady::{Stamp, Steady};
use super::Publisher;
use crate::config::Config;

/// How often a directory that keeps changing is waited for before it is read all the same: the read itself tells whether it
/// stood still.
const UNSETTLED: u32 = 5;

/// The nice value of the thread that loads: its ten seconds at most for 10,000 policies must not be taken from messages. At 10 the
/// kernel gives it about a tenth of a core that others want whole, and all of an idle one.
const NICE: i32 = 10;

/// What a set is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seat {
    /// Messages are judged by it.
    Live,
    /// It decides beside the live one, about one message in so many.
    Shadow { one_in: u64 },
}

/// The loop of a policy directory.
pub(super) struct Task {
    seat: Seat,
    reload: watch::Receiver<()>,
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
            seat: Seat::Live,
            reload: publisher.reload.subscribe(),
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

    /// The task of the set that decides beside the live one; that it cannot be loaded stops nothing, not even the start.
    pub(super) fn shadow(config: &Config, publisher: Rc<Publisher>, state: Arc<PolicyState>) -> Option<Self> {
        let shadow = config.shadow.as_ref()?;
        let task = Self::new(config, publisher, state);
        Some(Self {
            seat: Seat::Shadow { one_in: shadow.one_in },
            path: shadow.policies.clone(),
            tried: None,
            ..task
        })
    }

    pub(super) async fn run(mut self) {
        if self.state.report().current {
            self.count("accepted", 1.0);
        } else {
            self.current().set(0.0);
        }
        let mut asked = true;
        loop {
            self.look(asked).await;
            asked = tokio::select! {
                () = tokio::time::sleep(self.poll) => false,
                rung = self.reload.changed() => match rung {
                    Ok(()) => true,
                    Err(_) => return,
                },
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
        let live = self.state.report().live.and_then(|_| match self.seat {
            Seat::Live => Some(self.publisher.policies()),
            Seat::Shadow { .. } => self.publisher.shadow_policies(),
        });
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
        let (digest, left_out) = (policies.digest(), policies.left_out());
        self.state.accepted(&policies);
        match self.seat {
            Seat::Live => {
                tracing::info!(%digest, left_out = left_out.len(), "policies are live");
                for left_out in left_out {
                    tracing::warn!(%left_out, "a context cannot be typed beside the live policies: its messages are refused");
                }
                self.publisher.policies_changed(policies);
            }
            Seat::Shadow { one_in } => {
                tracing::info!(%digest, left_out = left_out.len(), "policies decide beside the live ones");
                self.publisher.shadow_changed(policies, one_in);
            }
        }
        self.count("accepted", 1.0);
    }

    fn rejected(&self, digest: Option<Digest>, faults: &[PolicyFault]) {
        if !self.state.rejected(digest, faults) {
            return;
        }
        for fault in faults {
            match self.seat {
                Seat::Live => {
                    tracing::error!(%fault, "the policies on disk are rejected, the last good ones stay live");
                }
                Seat::Shadow { .. } => {
                    tracing::error!(%fault, "the shadow policies on disk are rejected, the last good ones stay");
                }
            }
        }
        self.count("rejected", 0.0);
    }

    fn count(&self, outcome: &'static str, current: f64) {
        let name = match self.seat {
            Seat::Live => "semgate_policy_loads_total",
            Seat::Shadow { .. } => "semgate_shadow_loads_total",
        };
        self.publisher.metrics.counter(name, &[("outcome", outcome.to_owned())]).increment(1);
        self.current().set(current);
    }

    fn current(&self) -> metrics::Gauge {
        let name = match self.seat {
            Seat::Live => "semgate_policy_set_current",
            Seat::Shadow { .. } => "semgate_shadow_set_current",
        };
        self.publisher.metrics.gauge(name, &[])
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
