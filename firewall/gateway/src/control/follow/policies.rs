//! The policy directory: loaded as a whole or not at all. It is checked when it or the contexts change, and on SIGHUP. A
//! rejected set leaves the last good one live, and is not retried before something changes. The shadow set has a task of its
//! own; its faults affect only itself.

mod first;
mod source;
mod steady;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use semgate_contexts::{Context, Digest};
use semgate_policies::{Floors, Policies, PolicyFault, PolicyLimits, PolicySource};
use tokio::sync::watch;

pub(super) use self::steady::{Stamp, read_file};
pub(crate) use first::{Begun, First, first, shadow_faults};

use self::source::{BundleSource, ReadPolicies};
use super::Publisher;
use super::aside::{Aside, Haste};
use crate::clock::unix_now;
use crate::config::{Config, ShadowConfig};
use crate::control::policy_state::PolicyState;
use crate::fault::RunFault;

/// Number of waits for a directory that keeps changing before the operator is warned. It is not read until it settles, since
/// a half-written set is never intended.
const UNSETTLED: u32 = 5;

/// Role of a policy set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seat {
    /// Messages are judged by it.
    Live,
    /// It is evaluated next to the live set, for a sample of messages.
    Shadow { one_in: u64 },
}

/// The loop of a policy directory.
pub(super) struct Task {
    seat: Seat,
    reload: watch::Receiver<()>,
    location: BundleSource,
    poll: Duration,
    settle: Duration,
    tries: usize,
    limits: PolicyLimits,
    publisher: Rc<Publisher>,
    aside: Aside,
    state: Arc<PolicyState>,
    /// Stamp of the directory at the last read.
    seen: Option<Stamp>,
    /// The last set tried, live or rejected. Neither is retried.
    tried: Option<Tried>,
    /// The last good set, and the contexts of its validation. It is validated against new contexts even if the set on disk is
    /// rejected.
    good: Option<(Arc<PolicySource>, Vec<Digest>)>,
    /// The faults that the log got last.
    logged: Vec<String>,
}

/// Result of waiting for a directory to settle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    Still,
    Moves,
}

/// A policy set, with the contexts and floors of its trial.
#[derive(Clone, PartialEq, Eq)]
struct Tried {
    set: Digest,
    /// Version of a signed bundle. A newer bundle with the same set supersedes those between, so the version counts too.
    version: Option<u64>,
    contexts: Vec<Digest>,
    floors: Floors,
}

impl Task {
    pub(super) fn new(
        config: &Config,
        begun: Begun,
        publisher: Rc<Publisher>,
        state: Arc<PolicyState>,
    ) -> Self {
        let (limits, report) = (&config.limits, state.report());
        // the set tried at the start is not retried with the same contexts
        let tried = report.live.or(report.rejected).map(|set| Tried {
            set,
            version: begun.version,
            contexts: publisher.digests(),
            floors: begun.floors,
        });
        Self {
            seat: Seat::Live,
            reload: publisher.reload.subscribe(),
            location: begun.location,
            good: begun.source.map(|source| (source, publisher.digests())),
            poll: limits.policy_poll,
            settle: limits.policy_settle,
            tries: source::READ_TRIES,
            limits: config.limits.policies(),
            publisher,
            aside: begun.aside,
            state,
            seen: None,
            tried,
            logged: Vec::new(),
        }
    }

    /// Task of the shadow set. A failed load stops nothing, not even the start.
    ///
    /// # Errors
    /// Its thread cannot start.
    pub(super) fn shadow(
        config: &Config,
        shadow: &ShadowConfig,
        publisher: Rc<Publisher>,
        state: Arc<PolicyState>,
    ) -> Result<Self, RunFault> {
        let location = BundleSource::Directory(shadow.policies.clone());
        // a thread of its own, so that the live set does not wait for it
        let aside = Aside::start("semgate-shadow")?;
        let begun = Begun { source: None, location, version: None, floors: Floors::new(), aside };
        let task = Self::new(config, begun, publisher, state);
        Ok(Self { seat: Seat::Shadow { one_in: shadow.one_in }, tried: None, ..task })
    }

    pub(super) async fn run(mut self) {
        if self.state.report().current {
            self.count("accepted");
        } else {
            // the start's result; a set that only waits for contexts is not a fault yet
            if !self.publisher.contexts().is_empty() {
                self.tell(self.state.report().faults);
            }
        }
        let mut asked = true;
        // shows a first check that never ends
        self.state.looked(unix_now());
        loop {
            self.look(asked).await;
            self.state.looked(unix_now());
            asked = tokio::select! {
                () = tokio::time::sleep(self.poll) => false,
                rung = self.reload.changed() => match rung {
                    Ok(()) => true,
                    Err(_) => return,
                },
            };
        }
    }

    /// Checks for changes since the last trial. `asked` forces a read for the operator.
    async fn look(&mut self, asked: bool) {
        let (contexts, digests) = (self.publisher.contexts(), self.publisher.digests());
        let floors = self.publisher.floors();
        let same_contexts =
            self.tried.as_ref().is_some_and(|tried| tried.contexts == digests && tried.floors == floors);
        let stamp = self.stamp().await;
        if !asked && same_contexts && stamp.is_some() && stamp == self.seen {
            return;
        }
        if stamp != self.seen && self.settled(stamp).await == Stands::Moves {
            let why = format!("it was never unchanged for {} ms", self.settle.as_millis());
            // read again once it settles, even if unchanged
            (self.seen, self.tried) = (None, None);
            self.rejected(
                None,
                &[PolicyFault::Unreadable { path: self.location.path().display().to_string(), why }],
            );
            return;
        }
        let (location, limits, tries) = (self.location.clone(), self.limits.clone(), self.tries);
        let read = self.aside.run(self.haste(), move || location.read(&limits, tries)).await;
        let panicked = || Err(PolicyFault::Schema { why: "the thread that reads them panicked".to_owned() });
        match read.unwrap_or_else(panicked) {
            Ok(found) => {
                self.seen = Some(found.stamp.clone());
                let tried = Tried {
                    set: found.digest,
                    version: found.version,
                    contexts: digests.clone(),
                    floors: floors.clone(),
                };
                if self.tried.as_ref() != Some(&tried) {
                    self.tried = Some(tried);
                    self.load(found, contexts, digests, floors).await;
                }
            }
            Err(why) => {
                // an unreadable directory has no stamp, so it is checked again and logged once
                (self.seen, self.tried) = (None, None);
                self.rejected(None, &[why]);
                self.retype(contexts, digests).await;
            }
        }
    }

    async fn stamp(&self) -> Option<Stamp> {
        let (location, limits) = (self.location.clone(), self.limits.clone());
        let taken = self.aside.run(self.haste(), move || location.stamp(&limits)).await;
        taken.and_then(Result::ok)
    }

    /// Waits until nothing has changed for `policy_settle`.
    async fn settled(&self, mut last: Option<Stamp>) -> Stands {
        for _ in 0..UNSETTLED {
            tokio::time::sleep(self.settle).await;
            let now = self.stamp().await;
            // an unreadable directory reports its own fault
            if now == last {
                return Stands::Still;
            }
            last = now;
        }
        Stands::Moves
    }

    async fn load(
        &mut self,
        ReadPolicies { source, digest, version, .. }: ReadPolicies,
        contexts: Vec<Arc<Context>>,
        digests: Vec<Digest>,
        floors: Floors,
    ) {
        self.state.loading(digest);
        let (live, haste) = (self.live(), self.haste());
        let (kept, beside) = (Arc::clone(&source), contexts.clone());
        let (nothing_known, limits) = (contexts.is_empty(), self.limits.clone());
        let load = move || match live {
            // live policies are not dropped to make room for a policy that does not fit
            Some(live) => live.reload_above(&source, &contexts, &floors, &limits),
            None => Policies::load_above(&source, &contexts, &floors, &limits),
        };
        match self.aside.run(haste, load).await {
            Some(Ok(policies)) => match self.location.remember(version, digest) {
                Ok(()) => {
                    self.good = Some((kept, digests));
                    self.accepted(policies);
                }
                Err(why) => {
                    // the next check may be able to store it
                    (self.seen, self.tried) = (None, None);
                    self.rejected(Some(digest), &[why]);
                    self.retype(beside, digests).await;
                }
            },
            Some(Err(faults)) if nothing_known => {
                tracing::info!(
                    "the policies wait for the contexts that they name; nothing passes until then"
                );
                self.state.rejected(Some(digest), &faults);
            }
            Some(Err(faults)) => {
                self.rejected(Some(digest), &faults);
                self.retype(beside, digests).await;
            }
            None => {
                let why = "the thread that loads them panicked".to_owned();
                (self.seen, self.tried) = (None, None);
                self.rejected(Some(digest), &[PolicyFault::Schema { why }]);
            }
        }
    }

    /// The set of this seat that is asked.
    fn live(&self) -> Option<Arc<Policies>> {
        self.state.report().live.and_then(|_| match self.seat {
            Seat::Live => Some(self.publisher.policies()),
            Seat::Shadow { .. } => self.publisher.shadow_policies(),
        })
    }

    fn haste(&self) -> Haste {
        match self.seat {
            Seat::Live if self.publisher.waiting.get() => Haste::Awaited,
            // no message waits for the shadow set
            Seat::Live | Seat::Shadow { .. } => Haste::GivesWay,
        }
    }

    /// Validates the live set against other contexts while the set on disk is rejected. A faulty set must not delay a new
    /// context.
    async fn retype(&mut self, contexts: Vec<Arc<Context>>, digests: Vec<Digest>) {
        let (Some(live), Some((source, with))) = (self.live(), self.good.clone()) else { return };
        if with == digests {
            return;
        }
        let (limits, floors) = (self.limits.clone(), self.publisher.floors());
        let again = Arc::clone(&source);
        let load = move || live.reload_above(&again, &contexts, &floors, &limits);
        if let Some(Ok(policies)) = self.aside.run(self.haste(), load).await {
            self.good = Some((source, digests));
            self.state.retyped(&policies);
            self.go_live(policies);
        }
    }

    fn accepted(&mut self, policies: Policies) {
        self.logged.clear();
        self.state.accepted(&policies);
        self.go_live(policies);
        self.count("accepted");
    }

    fn go_live(&self, policies: Policies) {
        let (digest, left_out) = (policies.digest(), policies.left_out());
        match self.seat {
            Seat::Live => {
                tracing::info!(%digest, left_out = left_out.len(), "policies are live");
                for left_out in left_out {
                    tracing::warn!(%left_out, "a context does not fit the live policies; its messages are refused");
                }
                for why in self.state.warnings(&policies) {
                    tracing::warn!(
                        why,
                        "the policies are live, but a part of them or their configuration has less effect than it seems"
                    );
                }
                self.publisher.policies_changed(policies);
            }
            Seat::Shadow { one_in } => {
                tracing::info!(%digest, left_out = left_out.len(), "shadow policies are loaded");
                self.publisher.shadow_changed(policies, one_in);
            }
        }
    }

    fn rejected(&mut self, digest: Option<Digest>, faults: &[PolicyFault]) {
        self.tell(self.state.rejected(digest, faults));
    }

    /// Logs and counts faults, unless they equal the last ones.
    fn tell(&mut self, faults: Vec<String>) {
        if faults == self.logged {
            return;
        }
        let any = self.state.report().live.is_some();
        for fault in &faults {
            match self.seat {
                Seat::Live if any => {
                    tracing::error!(fault, "the policies on disk are rejected, the last good ones stay live");
                }
                Seat::Live => {
                    tracing::error!(
                        fault,
                        "the policies on disk are rejected, and none are live: nothing passes"
                    );
                }
                Seat::Shadow { .. } if any => {
                    tracing::error!(
                        fault,
                        "the shadow policies on disk are rejected, the last good ones stay"
                    );
                }
                Seat::Shadow { .. } => {
                    tracing::error!(
                        fault,
                        "the shadow policies on disk are rejected, and no others are loaded"
                    );
                }
            }
        }
        self.logged = faults;
        self.count("rejected");
    }

    fn count(&self, outcome: &'static str) {
        let name = match self.seat {
            Seat::Live => "semgate_policy_loads_total",
            Seat::Shadow { .. } => "semgate_shadow_loads_total",
        };
        self.publisher.metrics.counter(name, &[("outcome", outcome.to_owned())]).increment(1);
    }
}
