//! The pages of the listing in a mirror.

use std::fs;
use std::path::Path;

use semgate_contexts::Prefix;
use semgate_statement::listing::{LISTING_FILE, MAX_LISTING_BYTES, MAX_PAGE_BYTES, PAGES, Page, Span};
use semgate_statement::{ListedContext, Listing, LogFault};

use super::{below, read};

/// The publications of a log of `size` entries, from the verified files: the listing, or the pages if the log outgrew it.
///
/// # Errors
/// A file is missing.
pub(super) fn published(
    staging: &Path,
    to: &Path,
    size: u64,
    prefix: &Prefix,
) -> Result<Vec<ListedContext>, LogFault> {
    if let Some(bytes) = read(&below(staging, LISTING_FILE), MAX_LISTING_BYTES as u64) {
        return Ok(Listing::read(&bytes, prefix).map_err(|_| LogFault::ListingDiffers)?.contexts);
    }
    let mut published = Vec::new();
    for span in Span::pages(size) {
        let path = span.path();
        let max = MAX_PAGE_BYTES as u64;
        let bytes = read(&below(staging, &path), max).or_else(|| read(&below(to, &path), max));
        let page = bytes.and_then(|bytes| Page::read(&bytes, span, prefix).ok());
        published.extend(page.ok_or(LogFault::PageDiffers { path })?.contexts);
    }
    Ok(published)
}

/// Removes the earlier versions of a page that grew, except the last one: readers of the replaced head ask for that. A file that cannot be
/// removed does no harm.
pub(super) fn superseded(path: &str, to: &Path) {
    let Some(span) = path.strip_prefix(PAGES).and_then(Span::parse) else { return };
    let dir = below(to, PAGES);
    let files = fs::read_dir(&dir).into_iter().flatten().flatten();
    let spans = files.filter_map(|file| Span::parse(file.file_name().to_str()?));
    let mut before: Vec<Span> =
        spans.filter(|it| it.first() == span.first() && it.end() < span.end()).collect();
    before.sort_unstable();
    before.pop();
    for narrower in before {
        let _ = fs::remove_file(dir.join(narrower.to_string()));
    }
}
