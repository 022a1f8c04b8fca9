//! What servers last said of themselves: which tools drifted, and which versions are spoken.

use super::lists::Begun;
use crate::{InspectLimits, Route, owners::Pages};
use semgate_message::mcp::Version;
use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

/// How the servers of receivers describe their tools, for all cores, routes and contexts: whoever lists sees it for everybody, and a call under a context passes only if what was
/// seen is what that context signs. Names are those of pinned tasks only, so what servers say cannot fill it. Beside them the versions that each receiver speaks.
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

/// The text of the digest of a form in which a server describes a tool; none for a tool that one page has twice, and for what has no
/// canonical form: no context signs such.
pub(super) type Form = Option<Box<str>>;

/// What a page has of a tool that some context pins.
#[derive(Debug)]
pub(super) struct Found<'p> {
    pub(super) tool: &'p str,
    pub(super) form: Form,
    /// What the context of the list signs of it, if it names the tool.
    pub(super) signed: Option<&'p [&'p str]>,
}

/// Whether this form is one of those that were signed.
pub(super) fn is_signed(signed: &[&str], form: &Form) -> bool {
    form.as_deref().is_some_and(|form| signed.contains(&form))
}

impl Found<'_> {
    /// The list is read under a context that signs the tool otherwise.
    fn drifted(&self) -> bool {
        self.signed.is_some_and(|signed| !is_signed(signed, &self.form))
    }

    /// Whether the context of the list signs all of these, so that they are one tool.
    fn are_one(&self, forms: &[(Form, u64)]) -> bool {
        self.signed.is_some_and(|signed| forms.iter().all(|(form, _)| is_signed(signed, form)))
    }
}

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
    /// How many pages of its lists were read since the last change.
    pages: u64,
    /// What is known of each tool, by address.
    described: HashMap<Box<str>, HashMap<Box<str>, Described>>,
    /// Tools that became others somewhere since the last change: each has to be listed at each address before it is called there.
    doubted: HashSet<Box<str>>,
}

/// How a server describes a tool.
#[derive(Debug, Default)]
struct Described {
    /// Every form that was seen and that no whole list took back, each with the number of the page that had it last.
    forms: Vec<(Form, u64)>,
    /// When a list that counts was read to its end, and had one form only.
    settled: Option<u64>,
}

/// Forms of one tool that are told apart: a server that makes more of them has a tool that nothing was signed for, until a whole list settles it.
const MAX_FORMS: usize = 8;

impl Described {
    /// A page has it in this form; whether that is a new one.
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

    /// The tool has to be listed again, at every address.
    fn unsettle(&mut self, tool: &str) {
        for there in self.described.values_mut() {
            if let Some(described) = there.get_mut(tool) {
                described.settled = None;
            }
        }
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
    /// No list was read that has it, and contexts differ in what they sign of it.
    Unseen,
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

    /// How many pages of the receiver's lists were read since its tools changed.
    pub(super) fn pages(&self, receiver: &str) -> u64 {
        self.locked().of.get(receiver).map_or(0, |tools| tools.pages)
    }

    /// Whether a tool of this receiver may have to be listed before it is called.
    pub(crate) fn in_doubt(&self, receiver: &str) -> bool {
        self.locked().of.get(receiver).is_some_and(|tools| tools.changes > 0 || !tools.doubted.is_empty())
    }

    /// A page of a list that was asked for after so many changes has these tools in these forms.
    pub(super) fn describes(&self, server: Server<'_>, asked_after: u64, found: &[Found<'_>]) {
        let mut seen = self.locked();
        let tools = seen.of.entry(server.receiver.to_owned()).or_default();
        tools.pages = tools.pages.saturating_add(1);
        let page = tools.pages;
        let mut kept = false;
        for one in found {
            if tools.changes != asked_after {
                // the server has said since that this counts no longer: a tool that differs has to be listed again, and no more is known
                let same = |here: &Described| matches!(&here.forms[..], [(form, _)] if *form == one.form);
                if one.drifted() || !tools.at(server.upstream, one.tool).is_some_and(same) {
                    tools.unsettle(one.tool);
                }
                continue;
            }
            let here = tools.described.entry(server.upstream.into()).or_default();
            let here = here.entry(one.tool.into()).or_default();
            let first = here.forms.is_empty();
            let new = here.seen(&one.form, page);
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

    /// A list was read to its end that was asked for after so many changes, and begun after so many pages, and has these tools in these forms. It says nothing of
    /// other addresses, nor of a tool that a page had in another form since it was begun.
    pub(super) fn settles(
        &self,
        server: Server<'_>,
        (asked_after, pages): (u64, u64),
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

    /// A server says that its tools changed: what was held against the pins before, or is on its way, counts no longer.
    pub(crate) fn changed(&self, receiver: &str) {
        let mut seen = self.locked();
        let tools = seen.of.entry(receiver.to_owned()).or_default();
        // each has to be listed before it is called, so whether it drifted is seen then
        *tools = Tools { changes: tools.changes.saturating_add(1), ..Tools::default() };
        self.keep(&mut seen, receiver);
    }

    /// Whether the server describes a tool as it was signed, as far as anybody has seen, whatever context the lists were read under. `apart` says whether other
    /// contexts sign it otherwise, so that the server's own list has to tell which of them it is.
    pub(super) fn stands(
        &self,
        server: Server<'_>,
        (tool, signed): (&str, &[&str]),
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
