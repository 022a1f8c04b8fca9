//! The routes that a core serves, and their changes while it serves.
//!
//! A route goes on untouched, or another takes its socket and it drains: no connection is accepted, messages in flight end
//! within the drain limit, and what is open then is cut.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinSet;

use super::core::{Core, Seat};
use crate::fault::RunFault;
use crate::server::listen::Listener;
use crate::server::sockets::ListeningSocket;
use crate::server::worker::Phase;

/// New routes for one core, beside the running ones.
pub(super) struct Change {
    /// The core under the new configuration.
    pub(super) core: Core,
    /// Routes that begin.
    pub(super) seats: Vec<Seat>,
    /// Names of the routes that go on untouched. All others drain.
    pub(super) kept: Vec<String>,
    /// Takes the result of building the routes.
    pub(super) ready: oneshot::Sender<Result<(), RunFault>>,
    /// Resolves once every core is ready. Dropped if one is not; then nothing changes.
    pub(super) go: oneshot::Receiver<()>,
}

/// A route that does not listen yet.
pub(super) struct Opened {
    served: ServedRoute,
    pub(super) listeners: Vec<(Listener, ListeningSocket)>,
}

impl Opened {
    /// `each` is the number of slots of each listener.
    pub(super) fn new(name: String, phase: watch::Sender<Phase>, each: usize) -> Self {
        Self { served: ServedRoute { name, phase, slots: Vec::new(), each }, listeners: Vec::new() }
    }

    /// Slots for one more listener.
    pub(super) fn slots(&mut self) -> Arc<Semaphore> {
        let slots = Arc::new(Semaphore::new(self.served.each));
        self.served.slots.push(Arc::clone(&slots));
        slots
    }

    /// Accepts connections in tasks of their own.
    fn begin(self) -> ServedRoute {
        for (listener, bound) in self.listeners {
            tokio::task::spawn_local(async move {
                if let Err(why) = Rc::new(listener).run(bound).await {
                    tracing::error!(%why, "a listener ended");
                }
            });
        }
        self.served
    }
}

/// A route that listens or drains.
struct ServedRoute {
    name: String,
    phase: watch::Sender<Phase>,
    slots: Vec<Arc<Semaphore>>,
    each: usize,
}

impl ServedRoute {
    /// Drains, and cuts what is open after `time`.
    async fn drain(self, time: Duration) {
        self.phase.send_replace(Phase::Draining);
        let each = u32::try_from(self.each).unwrap_or(u32::MAX);
        // all slots of a listener are free once its last connection has ended
        let ended = async {
            for slots in &self.slots {
                let _ = slots.acquire_many(each).await;
            }
        };
        if tokio::time::timeout(time, ended).await.is_err() {
            tracing::warn!(route = self.name, "connections were cut at the end of the drain limit");
            self.phase.send_replace(Phase::Cut);
        }
    }
}

/// All routes of a core.
pub(super) struct ServedRoutes {
    open: Vec<ServedRoute>,
    draining: JoinSet<()>,
}

impl ServedRoutes {
    pub(super) fn begin(opened: Vec<Opened>) -> Self {
        Self { open: opened.into_iter().map(Opened::begin).collect(), draining: JoinSet::new() }
    }

    /// Begins with these routes, and drains all others but those of the names in `kept`, within `time`.
    pub(super) fn change(&mut self, opened: Vec<Opened>, kept: &[String], time: Duration) {
        let (stay, leave): (Vec<_>, Vec<_>) =
            self.open.drain(..).partition(|route| kept.contains(&route.name));
        self.open = stay.into_iter().chain(opened.into_iter().map(Opened::begin)).collect();
        self.drain(leave, time);
        while self.draining.try_join_next().is_some() {}
    }

    /// Drains all routes.
    pub(super) async fn end(mut self, time: Duration) {
        let all = std::mem::take(&mut self.open);
        self.drain(all, time);
        while self.draining.join_next().await.is_some() {}
    }

    fn drain(&mut self, routes: Vec<ServedRoute>, time: Duration) {
        for route in routes {
            self.draining.spawn_local(route.drain(time));
        }
    }
}
