//! Pages of publications: the contexts with publish statements within a span of log entries. A page is a pure function of these entries, so
//! it never changes. It names no status, because statuses change.

#[cfg(test)]
mod tests;

use super::ListedContext;
use crate::entry::Entry;
use crate::format::{FormatFault, Members, limits, write};
use crate::statement::Statement;
use crate::status::Status;
use semgate_contexts::Prefix;
use semgate_contexts::urn::MAX_URN;
use std::fmt;

/// Path prefix of the page of each [`Span`].
pub const PAGES: &str = "/v1/contexts/published/";
/// Log entries in a full page: four entry bundles. A page takes at most 170 kB with names of usual length, a second on a slow line. Ten
/// million entries take some ten thousand requests.
pub const PAGE_ENTRIES: u64 = 1024;
/// Bytes of a line of a page with its comma, without its URN.
const LINE_BYTES: usize = r#"{"digest":"sha-256:","index":9007199254740991,"urn":""},"#.len() + 64;
/// The longest page accepted: every entry of a full one publishes a context with the longest name.
pub const MAX_PAGE_BYTES: usize = PAGE_ENTRIES as usize * (LINE_BYTES + MAX_URN)
    + r#"{"contexts":[],"from":9007199254740991,"to":9007199254740991}"#.len();

/// A span of consecutive log entries: at least one, at most [`PAGE_ENTRIES`]. Its text form is `from-to`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Span {
    from: u64,
    to: u64,
}

impl Span {
    /// The span from an entry to the end of its page, or of a log of `size` entries; none past the end.
    pub fn at(from: u64, size: u64) -> Option<Span> {
        let end = Span::page(from).checked_add(PAGE_ENTRIES)?;
        let to = end.min(size);
        (from < to).then_some(Span { from, to })
    }

    /// The first entry of the page that holds an entry: pages of plain files begin at a multiple of [`PAGE_ENTRIES`].
    pub fn page(index: u64) -> u64 {
        index - index % PAGE_ENTRIES
    }

    /// The spans of a whole log, in order.
    pub fn pages(size: u64) -> impl Iterator<Item = Span> {
        (0..size.div_ceil(PAGE_ENTRIES)).filter_map(move |n| Span::at(n * PAGE_ENTRIES, size))
    }

    /// Reads `from-to`. Refuses every other spelling, an empty span and one of more than [`PAGE_ENTRIES`].
    pub fn parse(text: &str) -> Option<Span> {
        let (from, to) = text.split_once('-')?;
        let span = Span { from: from.parse().ok()?, to: to.parse().ok()? };
        let within = span.from < span.to && span.to - span.from <= PAGE_ENTRIES;
        (within && span.to_string() == text).then_some(span)
    }

    /// Path of its page.
    pub fn path(&self) -> String {
        format!("{PAGES}{self}")
    }

    /// Its first entry.
    pub fn first(&self) -> u64 {
        self.from
    }

    /// The entry after its last.
    pub fn end(&self) -> u64 {
        self.to
    }

    /// Returns true if it begins where a page does.
    pub fn begins_a_page(&self) -> bool {
        Span::page(self.from) == self.from
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.from, self.to)
    }
}

/// The publications within a span.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// The span of entries.
    pub span: Span,
    /// Ordered by index. A page holds no status: each is VALID here.
    pub contexts: Vec<ListedContext>,
}

impl Page {
    /// The page of these entries, which begin at the first of the span; ignores entries after its end. Verifies nothing.
    ///
    /// # Errors
    /// An entry cannot be read.
    pub fn of<'a>(
        span: Span,
        entries: impl IntoIterator<Item = &'a [u8]>,
        prefix: &Prefix,
    ) -> Result<Page, crate::statement::StatementFault> {
        let mut contexts = Vec::new();
        for (index, bytes) in (span.from..span.to).zip(entries) {
            if let Statement::Publish { urn, digest, .. } = Entry::read(bytes, prefix)?.unverified() {
                contexts.push(ListedContext {
                    urn: urn.clone(),
                    digest: *digest,
                    index,
                    status: Status::Valid,
                });
            }
        }
        Ok(Page { span, contexts })
    }

    /// `{contexts: [{digest, index, urn} …], from, to}` in canonical form.
    ///
    /// # Errors
    /// A number has no canonical form.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatFault> {
        let line = |c: &ListedContext| serde_json::json!({"digest": c.digest.to_string(), "index": c.index, "urn": c.urn.as_str()});
        let contexts: Vec<_> = self.contexts.iter().map(line).collect();
        write(&serde_json::json!({"contexts": contexts, "from": self.span.from, "to": self.span.to}))
    }

    /// Reads the page of a span. Verifies nothing.
    ///
    /// # Errors
    /// Malformed bytes, longer than [`MAX_PAGE_BYTES`], a page of another span, or lines outside of it or not in log order.
    pub fn read(bytes: &[u8], span: Span, prefix: &Prefix) -> Result<Page, FormatFault> {
        let json = semgate_contexts::json::read(bytes, &limits(MAX_PAGE_BYTES))?;
        let members = Members::closed(&json, &["contexts", "from", "to"], &[])?;
        for (name, of) in [("from", span.from), ("to", span.to)] {
            if members.integer(name)? != of {
                return Err(FormatFault::Member(name));
            }
        }
        let mut contexts: Vec<ListedContext> = Vec::new();
        for item in members.list("contexts")? {
            let m = Members::closed(item, &["urn", "digest", "index"], &[])?;
            let listed = super::listed(&m, Status::Valid, prefix)?;
            let next = contexts.last().map_or(span.from, |last| last.index + 1);
            if !(next..span.to).contains(&listed.index) {
                return Err(FormatFault::Member("index"));
            }
            contexts.push(listed);
        }
        Ok(Page { span, contexts })
    }
}
