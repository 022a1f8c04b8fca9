//! Memory of servers' own descriptions: drifted tools, and supported versions.

use super::lists::Begun;
use crate::{Code, InspectLimits, Refusal, Remedy, Route, owners::Pages};
use semgate_protocol::mcp::Revision;
use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

/// Descriptions of tools by their servers, shared by all cores, routes and contexts.
///
/// A list read by one caller counts for everybody. A call under a context passes only if the observed form is
/// one that the context signs. Only names of pinned tasks are stored, so servers cannot fill the memory. It
/// also holds the versions that each receiver speaks.
///
/// A receiver is identified by its id and may have several addresses with different servers. A list counts
/// for its own address. A drift or an announced change also puts the other addresses in doubt, until each has
/// listed.
pub struct ToolWatch {
    seen: Mutex<Seen>,
    /// Lists that are not read to their end.
    pub(super) lists: Pages<Begun>,
    journal: OnceLock<Journal>,
}

/// A server: the receiver of a route at its address.
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

/// Time of a call or list, and the maximum age of the list behind a call, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Age {
    pub(crate) now: u64,
    pub(crate) most: Option<u64>,
}

/// Receiver of servers whose tools must be listed again after a restart.
///
/// It returns true if it stored the server. A stored server is reported once, others again with each list. It
/// is called under the memory's lock, before anything else is judged by the server's message.
type Journal = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Digest of a tool's form as text. None for a tool that one page has twice, or that has no canonical form;
/// no context signs such a form.
pub(super) type Form = Option<Box<str>>;

/// A pinned tool on a page.
#[derive(Debug)]
pub(super) struct ListedTool<'p> {
    pub(super) tool: &'p str,
    pub(super) form: Form,
    /// Forms signed by the context of the list, if it names the tool.
    pub(super) signed: Option<&'p [&'p str]>,
}

/// Returns true if this form is one of the signed ones.
pub(super) fn is_signed(signed: &[&str], form: &Form) -> bool {
    form.as_deref().is_some_and(|form| signed.contains(&form))
}

impl ListedTool<'_> {
    /// Returns true if the context of the list signs other forms.
    fn drifted(&self) -> bool {
        self.signed.is_some_and(|signed| !is_signed(signed, &self.form))
    }

    /// Returns true if the context of the list signs all of these forms, so that they are one tool.
    fn are_one(&self, forms: &[(Form, u64)]) -> bool {
        self.signed.is_some_and(|signed| forms.iter().all(|(form, _)| is_signed(signed, form)))
    }
}

#[derive(Debug, Default)]
struct Seen {
    /// Tools by receiver.
    of: HashMap<String, Tools>,
    /// Versions that receivers last named.
    speaks: HashMap<String, Vec<Revision>>,
    /// Receivers stored by the journal.
    stored: HashSet<String>,
    /// Receivers that the journal could not store. A restart would trust them.
    unkept: HashSet<String>,
}

/// The tools of one receiver.
#[derive(Debug, Default)]
struct Tools {
    /// Announced changes; at least one if a change is assumed.
    changes: u64,
    /// Pages read since the last change.
    pages: u64,
    /// Tools by address and name.
    described: HashMap<Box<str>, HashMap<Box<str>, Described>>,
    /// Tools that drifted at some address since the last change. Each must be listed at an address before it
    /// is called there.
    doubted: HashSet<Box<str>>,
}

/// Description of a tool by its server.
#[derive(Debug, Default)]
struct Described {
    /// Observed forms that no complete list has cleared, each with the number of its last page.
    forms: Vec<(Form, u64)>,
    /// Time of the last complete list that counted and had one form only.
    settled: Option<u64>,
}

/// Maximum number of forms of one tool. A server with more has an unsigned tool, until a complete list
/// settles it.
const MAX_FORMS: usize = 8;

impl Described {
    /// Records the form on a page. Returns true if it is new.
    fn seen(&mut self, form: &Form, page: u64) -> bool {
        if let Some((_, last)) = self.forms.iter_mut().find(|(known, _)| known == form) {
            *last = page;
            return false;
        }
        if self.forms.len() >= MAX_FORMS {
            self.forms = vec![(None, page)];
        }
        self.forms.push((form.clone(), page));
        true
    }
}

impl Tools {
    fn at(&self, upstream: &str, tool: &str) -> Option<&Described> {
        self.described.get(upstream)?.get(tool)
    }

    /// Requires another list of the tool at every address.
    fn unsettle(&mut self, tool: &str) {
        for there in self.described.values_mut() {
            if let Some(described) = there.get_mut(tool) {
                described.settled = None;
            }
        }
    }
}

/// Reason why a tool is not called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAsSigned {
    /// The server at this address last described another form than the signed one.
    Drifted,
    /// The server announced a change, or the tool drifted at another address. No list requested since had the
    /// signed form.
    Changed,
    /// No recent list had the signed form.
    Old,
    /// No list had the tool, and contexts sign different forms of it.
    Unseen,
    /// The server's tools drifted or changed, and the journal could not store it.
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

impl NotAsSigned {
    /// The refusal of a call of the task with this name.
    pub(super) fn refusal(self, name: &str) -> Refusal {
        let (reason, hint, detail) = match self {
            Self::Drifted => (
                "the server describes this tool differently from its signed form",
                "ask the operator to review the tool and publish its context again",
                format!("the last `tools/list` had another `{name}`"),
            ),
            Self::Changed => (
                "the server reported changed tools and has not listed this one since",
                "list the tools; a tool that matches its signed form can then be called",
                format!(
                    "no `tools/list` since the last `list_changed`, or since it drifted elsewhere, had `{name}`"
                ),
            ),
            Self::Old => (
                "the server has not listed this tool for longer than this gateway trusts a list",
                "list the tools; a tool that matches its signed form can then be called",
                format!("no `tools/list` within `limits.tool_list_seconds` had `{name}`"),
            ),
            Self::Unseen => (
                "contexts of this route sign different forms of this tool, and no list has shown which one applies",
                "list the tools; a tool that matches its form in the named context can then be called",
                format!("no `tools/list` had `{name}` so far"),
            ),
            Self::Unkept => (
                "the tools of the server drifted or changed, and the gateway cannot record this on disk",
                "ask the operator to make the gateway's state directory writable; then list the tools",
                "it is written again with each `tools/list`".to_owned(),
            ),
        };
        let refusal = Refusal::new(Code::ToolDrift, reason).with_hint(hint).with_detail(detail);
        if self == Self::Drifted { refusal } else { refusal.with_remedy(Remedy::ListTools) }
    }
}

impl ToolWatch {
    /// An empty memory. Open lists have the same bounds per agent and in agents as other lists.
    pub(crate) fn with_limits(limits: &InspectLimits) -> Self {
        Self {
            seen: Mutex::default(),
            lists: Pages::new(limits.pages_of_one, limits.metered_agents),
            journal: OnceLock::new(),
        }
    }

    /// Assumes that the tools of these servers changed. Each must be listed again before it is called.
    pub fn restore(&self, servers: impl IntoIterator<Item = String>) {
        let mut seen = self.locked();
        for server in servers {
            seen.of.entry(server.clone()).or_default().changes = 1;
            seen.stored.insert(server);
        }
    }

    /// Sets the journal of servers whose tools drifted or changed. Only the first journal is used.
    ///
    /// It returns true if it stored the server across restarts. Until then no pinned tool of the server is
    /// called, and each list reports it again.
    pub fn tell(&self, journal: impl Fn(&str) -> bool + Send + Sync + 'static) {
        let _ = self.journal.set(Box::new(journal));
    }

    fn keep(&self, seen: &mut Seen, server: &str) {
        let Some(journal) = self.journal.get() else { return };
        if seen.stored.contains(server) {
            return;
        }
        if journal(server) {
            seen.stored.insert(server.to_owned());
            seen.unkept.remove(server);
        } else {
            seen.unkept.insert(server.to_owned());
        }
    }

    /// Announced tool changes of the receiver. A list request made now counts against this number.
    pub(crate) fn changes(&self, receiver: &str) -> u64 {
        self.locked().of.get(receiver).map_or(0, |tools| tools.changes)
    }

    /// Pages of the receiver's lists that were read since its tools changed.
    pub(super) fn pages(&self, receiver: &str) -> u64 {
        self.locked().of.get(receiver).map_or(0, |tools| tools.pages)
    }

    /// Returns true if a tool of this receiver may need another list before a call.
    pub(crate) fn in_doubt(&self, receiver: &str) -> bool {
        self.locked().of.get(receiver).is_some_and(|tools| tools.changes > 0 || !tools.doubted.is_empty())
    }

    /// Records a page: tools with their forms. `asked_after` is the number of changes when it was requested.
    pub(super) fn describes(&self, server: Server<'_>, asked_after: u64, page: &[ListedTool<'_>]) {
        let mut seen = self.locked();
        let tools = seen.of.entry(server.receiver.to_owned()).or_default();
        tools.pages = tools.pages.saturating_add(1);
        let number = tools.pages;
        let mut kept = false;
        for one in page {
            if tools.changes != asked_after {
                // the list is outdated: a tool that differs must be listed again, and nothing else follows
                // from it
                let same = |here: &Described| matches!(&here.forms[..], [(form, _)] if *form == one.form);
                if one.drifted() || !tools.at(server.upstream, one.tool).is_some_and(same) {
                    tools.unsettle(one.tool);
                }
                continue;
            }
            let here = tools.described.entry(server.upstream.into()).or_default();
            let here = here.entry(one.tool.into()).or_default();
            let first = here.forms.is_empty();
            let new = here.seen(&one.form, number);
            if new && if first { one.drifted() } else { !one.are_one(&here.forms) } {
                tools.unsettle(one.tool);
                tools.doubted.insert(one.tool.into());
                kept = true;
            }
            kept |= one.drifted();
        }
        if kept || seen.unkept.contains(server.receiver) {
            self.keep(&mut seen, server.receiver);
        }
    }

    /// Settles the tools of a complete list. `asked_after` and `pages` are the counts of changes and pages at
    /// its start.
    ///
    /// The list says nothing about other addresses, nor about a tool with another form on a page read since
    /// its start.
    pub(super) fn settles(
        &self,
        server: Server<'_>,
        asked_after: u64,
        pages: u64,
        listed: &HashMap<Box<str>, (Form, u64)>,
    ) {
        let mut seen = self.locked();
        let Some(tools) = seen.of.get_mut(server.receiver).filter(|tools| tools.changes == asked_after)
        else {
            return;
        };
        let Some(here) = tools.described.get_mut(server.upstream) else { return };
        for (tool, (form, now)) in listed {
            let Some(described) = here.get_mut(tool) else { continue };
            let other = |(known, page): &(Form, u64)| known != form && *page > pages;
            if !described.forms.iter().any(other) {
                described.forms = vec![(form.clone(), tools.pages)];
                described.settled = Some(*now);
            }
        }
    }

    /// Invalidates everything known about a receiver's tools, including lists under way, after an announced
    /// change.
    pub(crate) fn changed(&self, receiver: &str) {
        let mut seen = self.locked();
        let tools = seen.of.entry(receiver.to_owned()).or_default();
        // each must be listed before a call, so a drift shows then
        *tools = Tools { changes: tools.changes.saturating_add(1), ..Tools::default() };
        self.keep(&mut seen, receiver);
    }

    /// Checks that the server's observed form of a tool is signed, whatever context its lists were read
    /// under.
    ///
    /// `apart` returns true if other contexts sign other forms. The server's own list then has to tell which
    /// one applies.
    pub(super) fn stands(
        &self,
        server: Server<'_>,
        tool: &str,
        signed: &[&str],
        age: Age,
        apart: impl FnOnce() -> bool,
    ) -> Result<(), NotAsSigned> {
        let seen = self.locked();
        let tools = seen.of.get(server.receiver);
        let here = tools.and_then(|tools| tools.at(server.upstream, tool));
        if here.is_some_and(|here| here.forms.iter().any(|(form, _)| !is_signed(signed, form))) {
            return Err(NotAsSigned::Drifted);
        }
        if seen.unkept.contains(server.receiver) {
            return Err(NotAsSigned::Unkept);
        }
        let settled = here.and_then(|here| here.settled);
        let asked = tools.is_some_and(|tools| tools.changes > 0 || tools.doubted.contains(tool));
        match settled {
            None if asked => return Err(NotAsSigned::Changed),
            None if apart() => return Err(NotAsSigned::Unseen),
            _ => {}
        }
        let young = |most| settled.is_some_and(|listed| age.now.saturating_sub(listed) <= most);
        if age.most.is_none_or(young) { Ok(()) } else { Err(NotAsSigned::Old) }
    }

    /// Records the versions that the server named.
    pub(crate) fn speaks(&self, server: &str, versions: Vec<Revision>) {
        if !versions.is_empty() {
            self.locked().speaks.insert(server.to_owned(), versions);
        }
    }

    /// Supported versions of a server: those that it last named, or all before it was asked.
    pub(crate) fn spoken(&self, server: &str) -> Vec<Revision> {
        self.locked().speaks.get(server).cloned().unwrap_or_else(|| Revision::ALL.to_vec())
    }

    /// Takes the lock, also after a panic: each change is one call, so entries are whole.
    fn locked(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
