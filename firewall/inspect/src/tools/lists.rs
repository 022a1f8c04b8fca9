//! Tool lists over several pages.
//!
//! A tool's form on any page counts at once against other signed forms. Completeness counts only once a list
//! was read from its first page to its last. No page can therefore cancel what another says.

use super::drift::{Age, Form, ListedTool, Server, ToolWatch};
use semgate_contexts::Digest;
use semgate_protocol::mcp::Revision;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// One page of a list, for comparison with the signed forms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'p> {
    pub(crate) server: Server<'p>,
    /// Digest of the signed context.
    pub(crate) context: &'p Digest,
    /// Reader of the list.
    pub(crate) caller: &'p str,
    pub(crate) version: Revision,
    /// Cursor of the request; none for the first page.
    pub(crate) cursor: Option<&'p str>,
    /// Cursor of the next page; none at the end of the list.
    pub(crate) next: Option<&'p str>,
    /// Announced tool changes of the server at the time of the request.
    pub(crate) asked_after: u64,
    pub(crate) age: Age,
}

impl Page<'_> {
    /// The scope in which cursors belong together.
    fn scope(&self) -> String {
        let Self { server, context, version, .. } = self;
        format!("{} {} {} {context}", server.receiver, server.upstream, version.as_str())
    }
}

/// A list that began with its first page.
#[derive(Debug, Default)]
pub(super) struct Begun {
    asked_after: u64,
    /// Pages of the receiver's lists that were read before.
    pages: u64,
    /// Tools so far, each with form and time.
    had: Mutex<HashMap<Box<str>, (Form, u64)>>,
}

impl ToolWatch {
    /// Records the tools of a page. A page of an unknown list settles nothing: this caller did not read its
    /// first page, or it was forgotten.
    pub(super) fn listed(&self, page: &Page<'_>, tools: &[ListedTool<'_>]) {
        let Page { server, caller, cursor, next, asked_after, age, .. } = *page;
        let begun = match cursor {
            None => {
                let pages = self.pages(server.receiver);
                Some(Arc::new(Begun { asked_after, pages, had: Mutex::default() }))
            }
            Some(cursor) => self.lists.find(&page.scope(), caller, cursor),
        };
        self.describes(server, asked_after, tools);
        let Some(begun) = begun else { return };
        // each change is one insertion, so the map is whole after a panic
        let mut had = begun.had.lock().unwrap_or_else(PoisonError::into_inner);
        had.extend(tools.iter().map(|one| (Box::from(one.tool), (one.form.clone(), age.now))));
        match next {
            Some(next) => self.lists.tell(&page.scope(), &Arc::from(caller), next, &begun),
            None => self.settles(server, begun.asked_after, begun.pages, &had),
        }
    }
}
