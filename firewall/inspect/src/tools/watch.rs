//! What servers last said of themselves: which tools drifted, and which versions are spoken.

use super::lists::Begun;
use crate::{InspectLimits, Route, owners::Pages};
use semgate_contexts::Digest;
use semgate_message::mcp::Version;
use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

/// What the servers of receivers listed, for all cores and routes, held against what was signed. Names are those of pinned tasks
/// only, so what servers say cannot fill it. Beside them the versions that each receiver speaks.
///
/// A receiver is who its id says, and it may be reached at several addresses, where different servers may answer. So what a list has
/// counts for the address that it came from; that a tool drifted or that tools changed puts the others in doubt too, until each of them has listed.
pub struct ToolWatch {
    seen: Mutex<Seen>,
    /// Lists that go on.
    pub(super) lists: Pages<Begun>,
    journal: OnceLock<Journal>,
}

/// A server: the receiver of a route, at its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server<'r> {
    pub(crate) receiver: &'r str,
    pub(crate) upstream: &'r str,
}

impl<'r> Server<'r> {
    pub(crate) fn of(route: &'r Route) -> Self {
        Self { receiver: &route.receiver, upstream: &route.upstream }
    }
}

/// When a call asks or a list comes, and how old a list may be that a call rests on, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Age {
    pub(crate) now: u64,
    pub(crate) most: Option<u64>,
}

/// Hears of a server whose tools have to be listed again after a restart, before anything else is judged by what it said, and answers
/// whether that is kept: once of each that is, again with each list of one that is not. It is called while the memory is locked.
type Journal = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// A tool of a context.
type Tool = (Digest, String);

#[derive(Debug, Default)]
struct Seen {
    /// By receiver.
    of: HashMap<String, Tools>,
    /// What receivers named when they were last asked.
    speaks: HashMap<String, Vec<Version>>,
    /// Receivers that the journal keeps.
    told: HashSet<String>,
    /// Receivers that the journal could not keep: after a restart they would be trusted.
    unkept: HashSet<String>,
}

/// The tools of one receiver.
#[derive(Debug, Default)]
struct Tools {
    /// How often it said that they changed; more than never also where that is assumed.
    changes: u64,
    /// What was last listed otherwise than it was signed, and at which addresses.
    drifted: HashMap<Tool, HashSet<Box<str>>>,
    /// How often something drifted since the last change.
    drifts: u64,
    /// What drifted somewhere since the last change, and the number of its last drift: it has to be listed at each address before it is called there.
    doubted: HashMap<Tool, u64>,
    /// What a list that counts had as signed, by address, and when.
    as_signed: HashMap<Box<str>, HashMap<Tool, u64>>,
}

impl Tools {
    fn listed(&self, upstream: &str, tool: &Tool) -> Option<u64> {
        self.as_signed.get(upstream)?.get(tool).copied()
    }
}

/// Why a tool is not called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAsSigned {
    /// It was last described otherwise than it was signed, at this address.
    Drifted,
    /// The server said that its tools changed, or this one drifted at another address, and no list that was asked for since has had it as signed.
    Changed,
    /// No list that is young enough has had it as signed.
    Old,
    /// Its server's tools drifted or changed, and that cannot be kept over a restart.
    Unkept,
}

impl fmt::Debug for ToolWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolWatch").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Default for ToolWatch {
    fn default() -> Self {
        Self::with_limits(&InspectLimits::default())
    }
}

impl ToolWatch {
    /// An empty memory. Of lists that go on it holds as many pages of one agent, and of as many agents, as of other lists.
    pub(crate) fn with_limits(limits: &InspectLimits) -> Self {
        Self {
            seen: Mutex::default(),
            lists: Pages::new(limits.pages_of_one, limits.metered_agents),
            journal: OnceLock::new(),
        }
    }

    /// Says that the tools of these servers changed, as far as anybody knows: what was seen of them is forgotten, so that each is listed
    /// again before it is called.
    pub fn restore(&self, servers: impl IntoIterator<Item = String>) {
        let mut seen = self.locked();
        for server in servers {
            seen.of.entry(server.clone()).or_default().changes = 1;
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

    /// How often the receiver said that its tools changed: what a list counts against that is asked for now.
    pub(crate) fn changes(&self, receiver: &str) -> u64 {
        self.locked().of.get(receiver).map_or(0, |tools| tools.changes)
    }

    /// How often something of the receiver's drifted since its tools changed.
    pub(super) fn drifts(&self, receiver: &str) -> u64 {
        self.locked().of.get(receiver).map_or(0, |tools| tools.drifts)
    }

    /// Whether it changes anything that a tool of this receiver was listed as signed.
    pub(super) fn heeds(&self, receiver: &str, age: Age) -> bool {
        age.most.is_some() || self.locked().of.contains_key(receiver)
    }

    /// Whether a tool of this receiver may have to be listed before it is called.
    pub(crate) fn in_doubt(&self, receiver: &str) -> bool {
        self.locked().of.get(receiver).is_some_and(|tools| tools.changes > 0 || !tools.doubted.is_empty())
    }

    /// A list that was asked for after so many changes has another tool of this name than was signed.
    pub(super) fn drifted(&self, server: Server<'_>, context: &Digest, tool: &str, asked_after: u64) {
        let mut seen = self.locked();
        let tools = seen.of.entry(server.receiver.to_owned()).or_default();
        let tool = (*context, tool.to_owned());
        if tools.changes != asked_after {
            // the server has said since that this counts no longer: nothing is known of the tool but that it has to be listed again
            for there in tools.as_signed.values_mut() {
                there.remove(&tool);
            }
            return;
        }
        if let Some(here) = tools.as_signed.get_mut(server.upstream) {
            here.remove(&tool);
        }
        if tools.drifted.entry(tool.clone()).or_default().insert(server.upstream.into()) {
            for there in tools.as_signed.values_mut() {
                there.remove(&tool);
            }
        }
        tools.drifts = tools.drifts.saturating_add(1);
        tools.doubted.insert(tool, tools.drifts);
        self.keep(&mut seen, server.receiver);
    }

    /// A list that was asked for after so many changes, and begun after so many drifts, has the tool as it was signed. It says nothing of other
    /// addresses, nor of a tool that drifted since it was begun.
    pub(super) fn as_signed(
        &self,
        server: Server<'_>,
        context: &Digest,
        tool: &str,
        (asked_after, drifts, age): (u64, u64, Age),
    ) {
        let mut seen = self.locked();
        if seen.unkept.contains(server.receiver) {
            self.keep(&mut seen, server.receiver);
        }
        let tools = seen.of.entry(server.receiver.to_owned()).or_default();
        if tools.changes != asked_after {
            return;
        }
        let tool = (*context, tool.to_owned());
        if tools.doubted.get(&tool).is_some_and(|last| *last > drifts) {
            return;
        }
        if let Some(at) = tools.drifted.get_mut(&tool) {
            at.remove(server.upstream);
            if at.is_empty() {
                tools.drifted.remove(&tool);
            }
        }
        tools.as_signed.entry(server.upstream.into()).or_default().insert(tool, age.now);
    }

    /// A server says that its tools changed: what was held against the pins before, or is on its way, counts no longer.
    pub(crate) fn changed(&self, receiver: &str) {
        let mut seen = self.locked();
        let tools = seen.of.entry(receiver.to_owned()).or_default();
        // each has to be listed before it is called, so whether it drifted is seen then
        *tools = Tools { changes: tools.changes.saturating_add(1), ..Tools::default() };
        self.keep(&mut seen, receiver);
    }

    pub(crate) fn stands(
        &self,
        server: Server<'_>,
        context: &Digest,
        tool: &str,
        age: Age,
    ) -> Result<(), NotAsSigned> {
        let seen = self.locked();
        let tools = seen.of.get(server.receiver);
        if tools.is_none() && age.most.is_none() {
            return Ok(());
        }
        let tool = (*context, tool.to_owned());
        let drifted = tools.and_then(|tools| tools.drifted.get(&tool));
        if drifted.is_some_and(|at| at.contains(server.upstream)) {
            return Err(NotAsSigned::Drifted);
        }
        if seen.unkept.contains(server.receiver) {
            return Err(NotAsSigned::Unkept);
        }
        let listed = tools.and_then(|tools| tools.listed(server.upstream, &tool));
        let asked = tools.is_some_and(|tools| tools.changes > 0 || tools.doubted.contains_key(&tool));
        if asked && listed.is_none() {
            return Err(NotAsSigned::Changed);
        }
        let young = |most| listed.is_some_and(|listed| age.now.saturating_sub(listed) <= most);
        if age.most.is_none_or(young) { Ok(()) } else { Err(NotAsSigned::Old) }
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
