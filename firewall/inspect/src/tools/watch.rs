//! Which tools drifted, as their server described them last.

use semgate_contexts::Digest;
use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Tools that drifted, for all cores: route, context and name. Names are those of pinned tasks only, so what servers say
/// cannot fill it. A tool that is described as signed again is no longer one.
#[derive(Debug, Default)]
pub struct ToolWatch {
    seen: Mutex<Seen>,
}

/// A tool of a context on a route.
type Tool = (String, Digest, String);

#[derive(Debug, Default)]
struct Seen {
    drifted: HashSet<Tool>,
    /// Routes whose server said that its tools changed, with those that a list has had as signed since.
    changed: HashMap<String, HashSet<Tool>>,
}

/// Why a tool is not called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAsSigned {
    /// It was last described otherwise than it was signed.
    Drifted,
    /// The server said that its tools changed, and no list has had it as signed since.
    Changed,
}

impl ToolWatch {
    pub(crate) fn drifted(&self, route: &str, context: &Digest, tool: &str) {
        let tool = (route.to_owned(), *context, tool.to_owned());
        let mut seen = self.locked();
        if let Some(since) = seen.changed.get_mut(route) {
            since.remove(&tool);
        }
        seen.drifted.insert(tool);
    }

    pub(crate) fn as_signed(&self, route: &str, context: &Digest, tool: &str) {
        let mut seen = self.locked();
        if seen.drifted.is_empty() && seen.changed.is_empty() {
            return;
        }
        let tool = (route.to_owned(), *context, tool.to_owned());
        seen.drifted.remove(&tool);
        if let Some(since) = seen.changed.get_mut(route) {
            since.insert(tool);
        }
    }

    /// The server says that its tools changed: what was held against the pins before counts no longer.
    pub(crate) fn changed(&self, route: &str) {
        self.locked().changed.insert(route.to_owned(), HashSet::new());
    }

    pub(crate) fn stands(&self, route: &str, context: &Digest, tool: &str) -> Result<(), NotAsSigned> {
        let seen = self.locked();
        if seen.drifted.is_empty() && seen.changed.is_empty() {
            return Ok(());
        }
        let tool = (route.to_owned(), *context, tool.to_owned());
        if seen.drifted.contains(&tool) {
            return Err(NotAsSigned::Drifted);
        }
        match seen.changed.get(route) {
            Some(since) if !since.contains(&tool) => Err(NotAsSigned::Changed),
            _ => Ok(()),
        }
    }

    /// A thread that panicked while it held the lock left whole entries: each change is one call.
    fn locked(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
