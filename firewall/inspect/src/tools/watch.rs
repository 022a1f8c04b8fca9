//! What servers last said of themselves: which tools drifted, and which versions are spoken.

use semgate_contexts::Digest;
use semgate_message::mcp::Version;
use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

/// Tools that drifted, for all cores and routes: server, context and name. A server is who its id says (the receiver of its routes), so what
/// one route saw holds on every other that leads there. Names are those of pinned tasks only, so what servers say
/// cannot fill it. A tool that is described as signed again is no longer one. Beside them the versions that each server speaks.
#[derive(Default)]
pub struct ToolWatch {
    seen: Mutex<Seen>,
    journal: OnceLock<Journal>,
}

/// Hears of a server whose tools have to be listed again after a restart, before anything else is judged by what it said, and answers
/// whether that is kept: once of each that is, again with each list of one that is not. It is called while the memory is locked.
type Journal = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// A tool of a context at a server.
type Tool = (String, Digest, String);

#[derive(Debug, Default)]
struct Seen {
    drifted: HashSet<Tool>,
    /// Servers that said that their tools changed, or of which that is assumed.
    changed: HashMap<String, Changed>,
    /// What servers named when they were last asked.
    speaks: HashMap<String, Vec<Version>>,
    /// Servers that the journal keeps.
    told: HashSet<String>,
    /// Servers that the journal could not keep: after a restart they would be trusted.
    unkept: HashSet<String>,
}

impl Seen {
    /// Whether every tool stands as it was signed.
    fn is_empty(&self) -> bool {
        self.drifted.is_empty() && self.changed.is_empty() && self.unkept.is_empty()
    }
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
    /// Its server's tools drifted or changed, and that cannot be kept over a restart.
    Unkept,
}

impl fmt::Debug for ToolWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolWatch").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl ToolWatch {
    /// Says that the tools of these servers changed, as far as anybody knows: what was seen of them is forgotten, so that each is listed
    /// again before it is called.
    pub fn restore(&self, servers: impl IntoIterator<Item = String>) {
        let mut seen = self.locked();
        for server in servers {
            seen.changed.entry(server.clone()).or_default().times = 1;
            seen.told.insert(server);
        }
    }

    /// Tells `journal` from now on of each server whose tools drifted or changed; it answers whether that is kept over a restart. While
    /// it is not, no pinned tool of the server is called, and it is told again with each list. Only the first journal is heard.
    pub fn tell(&self, journal: impl Fn(&str) -> bool + Send + Sync + 'static) {
        let _ = self.journal.set(Box::new(journal));
    }

    fn keep(&self, seen: &mut Seen, server: &str) {
        let Some(journal) = self.journal.get() else { return };
        if seen.told.contains(server) {
            return;
        }
        if journal(server) {
            seen.told.insert(server.to_owned());
            seen.unkept.remove(server);
        } else {
            seen.unkept.insert(server.to_owned());
        }
    }

    /// How often the server of this id said that its tools changed: what a list counts against that is asked for now.
    pub(crate) fn changes(&self, server: &str) -> u64 {
        self.locked().changed.get(server).map_or(0, |changed| changed.times)
    }

    /// A list that was asked for after so many changes has another tool of this name than was signed.
    pub(crate) fn drifted(&self, server: &str, context: &Digest, tool: &str, asked_after: u64) {
        let mut seen = self.locked();
        let tool = (server.to_owned(), *context, tool.to_owned());
        if let Some(changed) = seen.changed.get_mut(server) {
            if changed.times != asked_after {
                return; // the server has said since that this counts no longer
            }
            changed.as_signed.remove(&tool);
        }
        seen.drifted.insert(tool);
        self.keep(&mut seen, server);
    }

    /// A list that was asked for after so many changes has the tool as it was signed.
    pub(crate) fn as_signed(&self, server: &str, context: &Digest, tool: &str, asked_after: u64) {
        let mut seen = self.locked();
        if seen.is_empty() {
            return;
        }
        if seen.unkept.contains(server) {
            self.keep(&mut seen, server);
        }
        let tool = (server.to_owned(), *context, tool.to_owned());
        if let Some(changed) = seen.changed.get_mut(server) {
            if changed.times != asked_after {
                return;
            }
            changed.as_signed.insert(tool.clone());
        }
        seen.drifted.remove(&tool);
    }

    /// The server says that its tools changed: what was held against the pins before, or is on its way, counts no longer.
    pub(crate) fn changed(&self, server: &str) {
        let mut seen = self.locked();
        // it has to be listed before it is called, so whether it drifted is seen then
        seen.drifted.retain(|(of, _, _)| of != server);
        let changed = seen.changed.entry(server.to_owned()).or_default();
        changed.times = changed.times.saturating_add(1);
        changed.as_signed.clear();
        self.keep(&mut seen, server);
    }

    pub(crate) fn stands(&self, server: &str, context: &Digest, tool: &str) -> Result<(), NotAsSigned> {
        let seen = self.locked();
        if seen.is_empty() {
            return Ok(());
        }
        let tool = (server.to_owned(), *context, tool.to_owned());
        if seen.drifted.contains(&tool) {
            return Err(NotAsSigned::Drifted);
        }
        if seen.unkept.contains(server) {
            return Err(NotAsSigned::Unkept);
        }
        match seen.changed.get(server) {
            Some(changed) if !changed.as_signed.contains(&tool) => Err(NotAsSigned::Changed),
            _ => Ok(()),
        }
    }

    /// The server named these versions when it was asked.
    pub(crate) fn speaks(&self, server: &str, versions: Vec<Version>) {
        if !versions.is_empty() {
            self.locked().speaks.insert(server.to_owned(), versions);
        }
    }

    /// The versions that are spoken by a server, of those that are carried: what it named last, and all before it was asked.
    pub(crate) fn spoken(&self, server: &str) -> Vec<Version> {
        self.locked().speaks.get(server).cloned().unwrap_or_else(|| Version::ALL.to_vec())
    }

    /// A thread that panicked while it held the lock left whole entries: each change is one call.
    fn locked(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
