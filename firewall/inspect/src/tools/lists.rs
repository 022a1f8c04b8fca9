//! Lists of tools over pages. What any page has counts at once against whoever signed another; that it is all there is counts when the list was read from its
//! first page to its end, so that no page can take back what another one says.

use super::watch::{Age, Form, Found, Server, ToolWatch};
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
    /// How many pages of the receiver's lists were read before.
    pages: u64,
    /// What it has had so far, and when.
    had: Mutex<HashMap<Box<str>, (Form, u64)>>,
}

impl ToolWatch {
    /// A page has these tools. A page of a list that is not known (its first page was not read by this caller, or is forgotten) settles
    /// nothing.
    pub(super) fn listed(&self, page: &Page<'_>, found: &[Found<'_>]) {
        let Page { server, caller, cursor, next, asked_after, age, .. } = *page;
        let begun = match cursor {
            None => {
                let pages = self.pages(server.receiver);
                Some(Arc::new(Begun { asked_after, pages, had: Mutex::default() }))
            }
            Some(cursor) => self.lists.find(&page.scope(), caller, cursor),
        };
        self.describes(server, asked_after, found);
        let Some(begun) = begun else { return };
        // each change is one insertion, so a panic elsewhere left the map whole
        let mut had = begun.had.lock().unwrap_or_else(PoisonError::into_inner);
        had.extend(found.iter().map(|one| (Box::from(one.tool), (one.form.clone(), age.now))));
        match next {
            Some(next) => self.lists.tell(&page.scope(), &Arc::from(caller), next, &begun),
            None => self.settles(server, (begun.asked_after, begun.pages), &had),
        }
    }
}
