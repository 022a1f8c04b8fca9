//! The listing at `GET /v1/contexts`, and its pages: only a hint. A follower proves every wanted line from the log.

use crate::format::{FormatFault, Members, limits, write};
use crate::status::Status;
use semgate_contexts::{ContextUrn, Digest, Prefix};

mod page;

#[cfg(test)]
mod tests;

pub use page::{MAX_PAGE_BYTES, PAGE_ENTRIES, PAGES, Page, Span};

/// The largest listing accepted: some 52,000 contexts. A log with more is read by its [pages](Page) alone.
pub const MAX_LISTING_BYTES: usize = 8 * 1024 * 1024;

/// Path of the listing.
pub const LISTING_PATH: &str = "/v1/contexts";
/// Path of the listing on a mirror of plain files, where [`LISTING_PATH`] is a directory.
pub const LISTING_FILE: &str = "/v1/contexts/index.json";

/// Bytes of a file's name (`NAME_MAX` of POSIX systems). A mirror has no file named after a longer URN: readers ask by digest.
pub const LONGEST_NAME: usize = 255;

/// Returns true if the status for [`LISTING_PATH`] is one that web servers give for a directory, so that [`LISTING_FILE`] is worth a
/// request. Redirects are never followed.
pub fn listing_is_a_file(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308 | 403 | 404)
}

/// One published context in the authority's listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedContext {
    /// Its URN.
    pub urn: ContextUrn,
    /// Digest of its document.
    pub digest: Digest,
    /// Position of its publish statement in the log.
    pub index: u64,
    /// Its status when the listing was made; followers use the shards.
    pub status: Status,
}

/// All published contexts in the authority's listing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    /// Ordered by index.
    pub contexts: Vec<ListedContext>,
}

impl Listing {
    /// `{contexts: [{digest, index, status, urn} …]}` in canonical form.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatFault> {
        let contexts: Vec<_> = self
            .contexts
            .iter()
            .map(|c| {
                serde_json::json!({
                    "digest": c.digest.to_string(), "index": c.index, "status": c.status.as_str(), "urn": c.urn.as_str(),
                })
            })
            .collect();
        write(&serde_json::json!({"contexts": contexts}))
    }

    /// Reads a listing.
    pub fn read(bytes: &[u8], prefix: &Prefix) -> Result<Listing, FormatFault> {
        let json = semgate_contexts::json::read(bytes, &limits(MAX_LISTING_BYTES))?;
        let members = Members::closed(&json, &["contexts"], &[])?;
        let mut contexts = Vec::new();
        for item in members.list("contexts")? {
            let m = Members::closed(item, &["urn", "digest", "index", "status"], &[])?;
            contexts.push(listed(&m, m.parsed("status", Status::parse)?, prefix)?);
        }
        Ok(Listing { contexts })
    }
}

/// Reads a line of a listing or page.
fn listed(m: &Members<'_, '_>, status: Status, prefix: &Prefix) -> Result<ListedContext, FormatFault> {
    Ok(ListedContext {
        urn: m.parsed("urn", |text| ContextUrn::parse(text, prefix).ok())?,
        digest: m.parsed("digest", |text| Digest::parse(text).ok())?,
        index: m.integer("index")?,
        status,
    })
}
