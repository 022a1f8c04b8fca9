//! Executor for hyper's own tasks.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use crate::server::account::turns::{Reading, Turns};

/// Runs futures on the core of their connection. Those of an agent run in its turns; outside of serving threads they run once
/// they are ready.
#[derive(Clone)]
pub(crate) enum OnThisCore {
    /// In the turns of this agent.
    InTurns(Rc<Turns>, Arc<str>),
    /// On a thread that serves no caller.
    Aside,
}

impl OnThisCore {
    /// Wraps the stream, which is read in turns on a serving thread.
    pub(crate) fn reading<S>(&self, stream: S) -> Reading<S> {
        match self {
            Self::InTurns(turns, _) => turns.reading(stream),
            Self::Aside => Reading::at_once(stream),
        }
    }

    /// Runs a future to its end.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        match self {
            Self::InTurns(turns, agent) => turns.spawn(agent, future),
            Self::Aside => drop(tokio::task::spawn_local(future)),
        }
    }
}

impl<F: Future + 'static> hyper::rt::Executor<F> for OnThisCore {
    fn execute(&self, future: F) {
        self.spawn(async move { drop(future.await) });
    }
}
