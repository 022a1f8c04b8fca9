//! Lists of tools over pages. A drift on any page counts at once; that a tool is as signed counts when the list was read from its first page
//! to its end, so that no page can take back what another one says.

use super::watch::{Age, Server, ToolWatch};
use semgate_contexts::Digest;
use semgate_message::mcp::Version;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// One page of a list, as it is held against what was signed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'p> {
    pub(crate) server: Server<'p>,
    /// What was signed.
    pub(crate) context: &'p Digest,
    /// Who reads the list.
    pub(crate) caller: &'p str,
    pub(crate) version: Version,
    /// What it was asked for with; none for the first.
    pub(crate) cursor: Option<&'p str>,
    /// What asks for the next; none where the list is over.
    pub(crate) next: Option<&'p str>,
    /// How often the server had said that its tools changed when it was asked for.
    pub(crate) asked_after: u64,
    pub(crate) age: Age,
}

impl Page<'_> {
    /// Whose cursors are one another's.
    fn scope(&self) -> String {
        let Self { server, context, version, .. } = self;
        format!("{} {} {} {context}", server.receiver, server.upstream, version.as_str())
    }
}

/// A list that was begun with its first page.
#[derive(Debug, Default)]
pub(super) struct Begun {
    asked_after: u64,
    /// How often something had drifted before.
    drifts: u64,
    /// What it has had as signed so far, and when.
    as_signed: Mutex<HashMap<Box<str>, u64>>,
}

impl ToolWatch {
    /// A page has these tools otherwise than they were signed, and these as they were. A page of a list that is not known (its first page was
    /// not read by this caller, or is forgotten) clears nothing.
    pub(crate) fn listed(&self, page: &Page<'_>, drifted: &[&str], as_signed: &[&str]) {
        let Page { server, context, caller, cursor, next, asked_after, age, .. } = *page;
        let begun = match cursor {
            None => {
                let drifts = self.drifts(server.receiver);
                Some(Arc::new(Begun { asked_after, drifts, as_signed: Mutex::default() }))
            }
            Some(cursor) => self.lists.find(&page.scope(), caller, cursor),
        };
        drifted.iter().for_each(|tool| self.drifted(server, context, tool, asked_after));
        let Some(begun) = begun.filter(|_| self.heeds(server.receiver, age)) else { return };
        // each change is one insertion, so a panic elsewhere left the map whole
        let mut seen = begun.as_signed.lock().unwrap_or_else(PoisonError::into_inner);
        seen.extend(as_signed.iter().map(|tool| (Box::from(*tool), age.now)));
        match next {
            Some(next) => self.lists.tell(&page.scope(), &Arc::from(caller), next, &begun),
            None => {
                for (tool, now) in seen.iter() {
                    let when = (begun.asked_after, begun.drifts, Age { now: *now, ..age });
                    self.as_signed(server, context, tool, when);
                }
            }
        }
    }
}
