//! What servers last said of themselves: which tools drifted, and which versions are spoken.

use semgate_contexts::Digest;
use semgate_message::mcp::Version;
use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Tools that drifted, for all cores: route, context and name. Names are those of pinned tasks only, so what servers say
/// cannot fill it. A tool that is described as signed again is no longer one. Beside them the versions that each server speaks.
#[derive(Debug, Default)]
pub struct ToolWatch {
    seen: Mutex<Seen>,
}

/// A tool of a context on a route.
type Tool = (String, Digest, String);

#[derive(Debug, Default)]
struct Seen {
    drifted: HashSet<Tool>,
    /// Routes whose server said that its tools changed.
    changed: HashMap<String, Changed>,
    /// What the servers of routes named when they were last asked.
    speaks: HashMap<String, Vec<Version>>,
}

#[derive(Debug, Default)]
struct Changed {
    /// How often it said so.
    times: u64,
    /// Tools that a list which was asked for since has had as signed.
    as_signed: HashSet<Tool>,
}

/// Why a tool is not called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAsSigned {
    /// It was last described otherwise than it was signed.
    Drifted,
    /// The server said that its tools changed, and no list that was asked for since has had it as signed.
    Changed,
}

impl ToolWatch {
    /// How often the server of a route said that its tools changed: what a list counts against that is asked for now.
    pub(crate) fn changes(&self, route: &str) -> u64 {
        self.locked().changed.get(route).map_or(0, |changed| changed.times)
    }

    /// A list that was asked for after so many changes has another tool of this name than was signed.
    pub(crate) fn drifted(&self, route: &str, context: &Digest, tool: &str, asked_after: u64) {
        let mut seen = self.locked();
        let tool = (route.to_owned(), *context, tool.to_owned());
        if let Some(changed) = seen.changed.get_mut(route) {
            if changed.times != asked_after {
                return; // the server has said since that this counts no longer
            }
            changed.as_signed.remove(&tool);
        }
        seen.drifted.insert(tool);
    }

    /// A list that was asked for after so many changes has the tool as it was signed.
    pub(crate) fn as_signed(&self, route: &str, context: &Digest, tool: &str, asked_after: u64) {
        let mut seen = self.locked();
        if seen.drifted.is_empty() && seen.changed.is_empty() {
            return;
        }
        let tool = (route.to_owned(), *context, tool.to_owned());
        if let Some(changed) = seen.changed.get_mut(route) {
            if changed.times != asked_after {
                return;
            }
            changed.as_signed.insert(tool.clone());
        }
        seen.drifted.remove(&tool);
    }

    /// The server says that its tools changed: what was held against the pins before, or is on its way, counts no longer.
    pub(crate) fn changed(&self, route: &str) {
        let mut seen = self.locked();
        // it has to be listed before it is called, so whether it drifted is seen then
        seen.drifted.retain(|(of, _, _)| of != route);
        let changed = seen.changed.entry(route.to_owned()).or_default();
        changed.times = changed.times.saturating_add(1);
        changed.as_signed.clear();
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
            Some(changed) if !changed.as_signed.contains(&tool) => Err(NotAsSigned::Changed),
            _ => Ok(()),
        }
    }

    /// The server named these versions when it was asked.
    pub(crate) fn speaks(&self, route: &str, versions: Vec<Version>) {
        if !versions.is_empty() {
            self.locked().speaks.insert(route.to_owned(), versions);
        }
    }

    /// The versions that are spoken on a route, of those that are carried: what its server named last, and all before it was asked.
    pub(crate) fn spoken(&self, route: &str) -> Vec<Version> {
        self.locked().speaks.get(route).cloned().unwrap_or_else(|| Version::ALL.to_vec())
    }

    /// A thread that panicked while it held the lock left whole entries: each change is one call.
    fn locked(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
