//! The policy directory: loaded as a whole or not at all, looked at again when it changes, when the contexts change and on
//! SIGHUP. A rejected set leaves the last good one live, and is not tried again before something changes. The set that decides beside the
//! live one is kept in the same way, by a task of its own: whatever is wrong with it is its own.

mod first;
mod place;
mod state;
mod steady;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use semgate_contexts::{Context, Digest};
use semgate_policies::{Floors, Policies, PolicyFault, PolicyLimits, PolicySource};
use tokio::sync::watch;

#[cfg(feature = "plain-proxy")]
pub(crate) use first::none;
pub(crate) use first::{Begun, First, first, shadow_faults};
pub(crate) use state::{PolicyReport, PolicyState, PolicyStates};

use self::place::{Found, Place};
use self::steady::Stamp;
use super::Publisher;
use super::aside::{Aside, Haste};
use crate::clock::unix_now;
use crate::config::{Config, ShadowConfig};
use crate::fault::RunFault;

/// How often a directory that keeps changing is waited for before the operator is told; it is not read until it stands still, since half of
/// what somebody writes is a set that nobody meant.
const UNSETTLED: u32 = 5;

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
    place: Place,
    poll: Duration,
    settle: Duration,
    tries: usize,
    limits: PolicyLimits,
    publisher: Rc<Publisher>,
    aside: Aside,
    state: Arc<PolicyState>,
    /// How the directory stood when it was last read.
    seen: Option<Stamp>,
    /// What was last tried, live or rejected: neither is tried twice.
    tried: Option<Tried>,
    /// What is live, and the contexts beside which it was typed: it is typed anew beside others even if what is on disk is rejected.
    good: Option<(Arc<PolicySource>, Vec<Digest>)>,
    /// The faults that the log was told last.
    told: Vec<String>,
}

/// Whether a place can be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    Still,
    Moves,
}

/// A set of policies, and the contexts beside which and the floors above which it was tried.
#[derive(Clone, PartialEq, Eq)]
struct Tried {
    set: Digest,
    /// Of a signed bundle: the same set in a newer one buries those between, so its version is remembered too.
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
        // what the start tried is not tried again beside the same contexts
        let tried = report.live.or(report.rejected).map(|set| Tried {
            set,
            version: begun.version,
            contexts: publisher.digests(),
            floors: begun.floors,
        });
        Self {
            seat: Seat::Live,
            reload: publisher.reload.subscribe(),
            place: begun.place,
            good: begun.source.map(|source| (source, publisher.digests())),
            poll: limits.policy_poll,
            settle: limits.policy_settle,
            tries: limits.policy_read_tries,
            limits: config.limits.policies(),
            publisher,
            aside: begun.aside,
            state,
            seen: None,
            tried,
            told: Vec::new(),
        }
    }

    /// The task of the set that decides beside the live one; that its policies cannot be loaded stops nothing, not even the start.
    ///
    /// # Errors
    /// Its thread cannot be started.
    pub(super) fn shadow(
        config: &Config,
        shadow: &ShadowConfig,
        publisher: Rc<Publisher>,
        state: Arc<PolicyState>,
    ) -> Result<Self, RunFault> {
        let place = Place::Directory(shadow.policies.clone());
        // of its own, so that the live set does not wait for it
        let aside = Aside::start("semgate-shadow")?;
        let begun = Begun { source: None, place, version: None, floors: Floors::new(), aside };
        let task = Self::new(config, begun, publisher, state);
        Ok(Self { seat: Seat::Shadow { one_in: shadow.one_in }, tried: None, ..task })
    }

    pub(super) async fn run(mut self) {
        if self.state.report().current {
            self.count("accepted");
        } else {
            // what the start tried; a set that merely waits for its contexts is no fault yet
            if !self.publisher.contexts().is_empty() {
                self.tell(self.state.report().faults);
            }
        }
        let mut asked = true;
        // a first look that does not end is to be seen too
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

    /// Looks whether anything changed since the last try; `asked` says that the operator wants it read whether or not it seems to have.
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
            let why = format!("it never stood still for {} ms", self.settle.as_millis());
            // it is read again once it stands still, also where it is as it was before
            (self.seen, self.tried) = (None, None);
            self.rejected(
                None,
                &[PolicyFault::Unreadable { path: self.place.path().display().to_string(), why }],
            );
            return;
        }
        let (place, limits, tries) = (self.place.clone(), self.limits.clone(), self.tries);
        let read = self.aside.run(self.haste(), move || place.read(&limits, tries)).await;
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
                    self.load(found, contexts, (digests, floors)).await;
                }
            }
            Err(why) => {
                // what cannot be read has no stamp to know it by, so it is looked at again and told once
                (self.seen, self.tried) = (None, None);
                self.rejected(None, &[why]);
                self.retype(contexts, digests).await;
            }
        }
    }

    async fn stamp(&self) -> Option<Stamp> {
        let (place, limits) = (self.place.clone(), self.limits.clone());
        let taken = self.aside.run(self.haste(), move || place.stamp(&limits)).await;
        taken.and_then(Result::ok)
    }

    /// Waits until whoever writes is done: until nothing changed for the time of `policy_settle`.
    async fn settled(&self, mut last: Option<Stamp>) -> Stands {
        for _ in 0..UNSETTLED {
            tokio::time::sleep(self.settle).await;
            let now = self.stamp().await;
            // what cannot be looked at says by itself what is wrong
            if now == last {
                return Stands::Still;
            }
            last = now;
        }
        Stands::Moves
    }

    async fn load(
        &mut self,
        Found { source, digest, version, .. }: Found,
        contexts: Vec<Arc<Context>>,
        (digests, floors): (Vec<Digest>, Floors),
    ) {
        self.state.loading(digest);
        let (live, haste) = (self.live(), self.haste());
        let (kept, beside) = (Arc::clone(&source), contexts.clone());
        let (nothing_known, limits) = (contexts.is_empty(), self.limits.clone());
        let load = move || match live {
            // what is live is not left out to make room for a policy that does not fit it
            Some(live) => live.reload_above(&source, &contexts, &floors, &limits),
            None => Policies::load_above(&source, &contexts, &floors, &limits),
        };
        match self.aside.run(haste, load).await {
            Some(Ok(policies)) => match self.place.remember(version, digest) {
                Ok(()) => {
                    self.good = Some((kept, digests));
                    self.accepted(policies);
                }
                Err(why) => {
                    // what was not remembered may be by the next look
                    (self.seen, self.tried) = (None, None);
                    self.rejected(Some(digest), &[why]);
                    self.retype(beside, digests).await;
                }
            },
            Some(Err(faults)) if nothing_known => {
                tracing::info!(
                    "the policies wait for the contexts that they speak of; until then nothing passes"
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
            // nobody waits for what only decides beside
            Seat::Live | Seat::Shadow { .. } => Haste::GivesWay,
        }
    }

    /// Types what is live beside other contexts, while what is on disk is rejected: a new context must not wait for whoever broke that.
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
        self.told.clear();
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
                    tracing::warn!(%left_out, "a context cannot be typed beside the live policies: its messages are refused");
                }
                for why in self.state.warnings(&policies) {
                    tracing::warn!(
                        why,
                        "the policies are live, and something in them or around them does nothing, or less than it seems to"
                    );
                }
                self.publisher.policies_changed(policies);
            }
            Seat::Shadow { one_in } => {
                tracing::info!(%digest, left_out = left_out.len(), "policies decide beside the live ones");
                self.publisher.shadow_changed(policies, one_in);
            }
        }
    }

    fn rejected(&mut self, digest: Option<Digest>, faults: &[PolicyFault]) {
        let told = self.state.rejected(digest, faults);
        self.tell(told);
    }

    /// Tells the log and counts, unless that was the last that was told.
    fn tell(&mut self, faults: Vec<String>) {
        if faults == self.told {
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
                        "the shadow policies on disk are rejected, and none decide beside"
                    );
                }
            }
        }
        self.told = faults;
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
