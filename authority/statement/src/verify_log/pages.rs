//! Checks the pages of the listing against the verified entries. They name no head and need none: a page depends on its entries alone.

use super::{Check, Fetch, FetchFault, FollowerConfig, LogFault, listing};
use crate::listing::{Listing, MAX_LISTING_BYTES, MAX_PAGE_BYTES, Page, Span};
use crate::replay::Replay;
use semgate_contexts::ContextUrn;

/// Returns true if a listing or a page is absent: web servers say so, and authorities of a log that outgrew its listing.
pub(super) fn is_absent(fault: &LogFault) -> bool {
    matches!(fault, LogFault::Fetch { fault: FetchFault::HttpStatus(403 | 404 | 410), .. })
}

fn get(fetch: &mut dyn Fetch, span: Span) -> Result<Vec<u8>, LogFault> {
    super::get(fetch, &span.path(), MAX_PAGE_BYTES)
}

impl Check<'_, '_> {
    /// Checks every page of the head, up to the first absent one: a source without pages is not at fault.
    pub(super) fn pages(&mut self, entries: &[Vec<u8>]) -> Result<u64, LogFault> {
        let mut checked = 0;
        let mut rest = entries.iter().map(Vec::as_slice);
        for span in Span::pages(self.served.head.head().seq) {
            let index = span.first();
            let wrong = |fault| LogFault::Statement { index, fault };
            let count = usize::try_from(span.end() - index).unwrap_or(usize::MAX);
            let ours = Page::of(span, rest.by_ref().take(count), &self.config.prefix).map_err(wrong)?;
            match get(self.fetch, span) {
                Ok(bytes) if Ok(&bytes) == ours.to_bytes().as_ref() => checked += 1,
                Ok(_) => return Err(LogFault::PageDiffers { path: span.path() }),
                Err(fault) if is_absent(&fault) => break,
                Err(fault) => return Err(fault),
            }
        }
        Ok(checked)
    }

    /// Checks that all pages were there if there is no listing: the log outgrew it, or its authority claims so.
    pub(super) fn needs_listing(&mut self, replay: &Replay, pages: u64) -> Result<(), LogFault> {
        let Err(fault) = listing(self.fetch) else { return Ok(()) };
        let bytes = replay.listing().to_bytes().map_err(|_| LogFault::ListingDiffers)?;
        let gone = matches!(fault, LogFault::Fetch { fault: FetchFault::HttpStatus(410), .. });
        let all = pages == Span::pages(self.served.head.head().seq).count() as u64;
        if all && (gone || bytes.len() > MAX_LISTING_BYTES) { Ok(()) } else { Err(fault) }
    }
}

/// The log index of a publication, by the listing, or by the pages of a log of `size` entries that outgrew it.
pub(super) fn find(
    fetch: &mut dyn Fetch,
    config: &FollowerConfig,
    size: u64,
    urn: &ContextUrn,
) -> Result<Option<u64>, LogFault> {
    let absent = match listing(fetch) {
        Ok(bytes) => {
            let listed = Listing::read(&bytes, &config.prefix).map_err(|_| LogFault::ListingDiffers)?;
            return Ok(listed.contexts.iter().find(|listed| listed.urn == *urn).map(|listed| listed.index));
        }
        Err(fault) if is_absent(&fault) => fault,
        Err(fault) => return Err(fault),
    };
    for span in Span::pages(size) {
        let bytes = match get(fetch, span) {
            Err(fault) if span.first() == 0 && is_absent(&fault) => return Err(absent),
            got => got?,
        };
        let page = Page::read(&bytes, span, &config.prefix)
            .map_err(|_| LogFault::PageDiffers { path: span.path() })?;
        if let Some(listed) = page.contexts.iter().find(|listed| listed.urn == *urn) {
            return Ok(Some(listed.index));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
