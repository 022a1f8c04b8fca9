//! Pages of publications: the contexts with publish statements within a span of log entries. A page is a pure function of these entries, so
//! it never changes. It names no status, because statuses change.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MemoryAuthority, START};
    use semgate_contexts::{ContextUrn, Digest};

    #[test]
    fn spans_end_with_their_page_or_the_log_and_have_one_spelling() {
        assert_eq!(Span::at(0, 5), Some(Span { from: 0, to: 5 }));
        assert_eq!(Span::at(5, 5), None);
        assert_eq!(Span::at(1023, 5000), Some(Span { from: 1023, to: 1024 }));
        assert_eq!(Span::at(1024, 5000), Some(Span { from: 1024, to: 2048 }));
        assert_eq!(Span::at(u64::MAX, u64::MAX), None);
        let pages: Vec<String> = Span::pages(2049).map(|span| span.to_string()).collect();
        assert_eq!(pages, ["0-1024", "1024-2048", "2048-2049"]);
        assert_eq!(Span::pages(0).count(), 0);
        assert_eq!(Span::pages(1024).count(), 1);
        for good in ["0-1", "7-1031", "1024-2048"] {
            assert_eq!(Span::parse(good).unwrap().to_string(), good);
        }
        for bad in
            ["", "5", "-5", "5-5", "6-5", "0-1025", "00-1", "0-01", "+0-1", "0-1-2", "0-99999999999999999999"]
        {
            assert_eq!(Span::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_page_is_what_its_entries_publish_and_is_read_for_its_own_span_alone() {
        let authority = MemoryAuthority::with_library(START);
        let size = authority.tree.size();
        let span = Span::at(0, size).unwrap();
        let prefix = Prefix::default();
        let page = authority.page(span).unwrap();
        let listing = authority.replay.listing().contexts;
        assert_eq!(page.contexts, listing, "nothing of the library is revoked");
        let bytes = page.to_bytes().unwrap();
        assert_eq!(Page::read(&bytes, span, &prefix), Ok(page.clone()));
        let shorter = Span { from: 0, to: size - 1 };
        assert_eq!(Page::read(&bytes, shorter, &prefix), Err(FormatFault::Member("to")));
        let later = Span { from: 1, to: size };
        assert_eq!(Page::read(&bytes, later, &prefix), Err(FormatFault::Member("from")));
        let refused = |contexts: Vec<ListedContext>| {
            let bytes = Page { span, contexts }.to_bytes().unwrap();
            assert_eq!(Page::read(&bytes, span, &prefix), Err(FormatFault::Member("index")));
        };
        let [one, two, ..] = &listing[..] else { panic!("the library has more") };
        refused(vec![two.clone(), one.clone()]);
        refused(vec![one.clone(), one.clone()]);
        refused(vec![ListedContext { index: size, ..one.clone() }]);
        let text = String::from_utf8(bytes).unwrap();
        let more = text.replacen("{\"digest\"", "{\"status\":\"valid\",\"digest\"", 1);
        assert_eq!(Page::read(more.as_bytes(), span, &prefix), Err(FormatFault::UnknownMember));
    }

    #[test]
    fn the_longest_page_is_within_its_bound() {
        let prefix = Prefix::parse(&format!("urn:{}", "p".repeat(27))).unwrap();
        let label = "l".repeat(58);
        let line = [label.as_str(); 4].join(".");
        let from = (1 << 53) - 1 - PAGE_ENTRIES;
        let contexts = (0..PAGE_ENTRIES).map(|n| ListedContext {
            urn: ContextUrn::parse(
                &format!("{}:{line}:v4294967295.{}", prefix.as_str(), 4_294_967_295 - n),
                &prefix,
            )
            .unwrap(),
            digest: Digest::of(&n.to_be_bytes()),
            index: from + n,
            status: Status::Valid,
        });
        let page = Page { span: Span { from, to: from + PAGE_ENTRIES }, contexts: contexts.collect() };
        let bytes = page.to_bytes().unwrap();
        assert!((PAGE_ENTRIES as usize * 300..MAX_PAGE_BYTES).contains(&bytes.len()), "{}", bytes.len());
        assert_eq!(Page::read(&bytes, page.span, &prefix), Ok(page));
    }
}
