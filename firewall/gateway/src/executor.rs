//! The executor of what hyper starts by itself.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use crate::account::turns::{Reading, Turns};

/// Runs futures on the core of their connection: in the turns of one agent, or, outside of serving threads, as they become ready.
#[derive(Clone)]
pub(crate) enum OnThisCore {
    /// For this agent.
    InTurns(Rc<Turns>, Arc<str>),
    /// On a thread that serves nobody.
    Aside,
}

impl OnThisCore {
    /// The same stream, read in turns where work is done in turns.
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
