//! The listing at `GET /v1/contexts`, and its pages: a hint of what there is. Nothing in it is believed; every line of it that a follower
//! wants is proved from the log.

use crate::format::{FormatFault, Members, limits, write};
use crate::status::Status;
use semgate_contexts::{ContextUrn, Digest, Prefix};

mod page;

#[cfg(test)]
mod tests;

pub use page::{MAX_PAGE_BYTES, PAGE_ENTRIES, PAGES, Page, Span};

/// The largest listing that is read: some 52,000 contexts. A log that publishes more is read by its [pages](Page) alone.
pub const MAX_LISTING_BYTES: usize = 8 * 1024 * 1024;

/// Where the listing is.
pub const LISTING_PATH: &str = "/v1/contexts";
/// Where a mirror of plain files keeps it: there [`LISTING_PATH`] is a directory.
pub const LISTING_FILE: &str = "/v1/contexts/index.json";

/// Bytes of a file's name (`NAME_MAX` of POSIX systems). A mirror has no file named after a longer URN: readers ask by digest.
pub const LONGEST_NAME: usize = 255;

/// Whether an answer for [`LISTING_PATH`] is what web servers say of a directory, so that [`LISTING_FILE`] is worth asking for. A redirect
/// is never followed.
pub fn listing_is_a_file(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308 | 403 | 404)
}

/// One published context, as the authority lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedContext {
    /// Its URN.
    pub urn: ContextUrn,
    /// Digest of its document.
    pub digest: Digest,
    /// Position of its publish statement in the log.
    pub index: u64,
    /// Its status when the listing was made; followers go by the shards.
    pub status: Status,
}

/// All published contexts, as the authority lists them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    /// In the order of their index.
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

/// What a line of a listing or of a page names.
fn listed(m: &Members<'_, '_>, status: Status, prefix: &Prefix) -> Result<ListedContext, FormatFault> {
    Ok(ListedContext {
        urn: m.parsed("urn", |text| ContextUrn::parse(text, prefix).ok())?,
        digest: m.parsed("digest", |text| Digest::parse(text).ok())?,
        index: m.integer("index")?,
        status,
    })
}
