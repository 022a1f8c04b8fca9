//! Records how far the log was searched for publications: when the log grows, only the new pages are fetched.
//!
//! A page is only a hint, and its carrier may leave entries out. So failed pages are checked again after a while, and all pages in turn,
//! across restarts. An omitted entry is found in time.

use super::round::FetchTarget;
use super::schedule::ListingSupport;
use super::{FollowFault, Follower, Round};
use crate::listing::{ListedContext, Listing, Page, Span};
use semgate_contexts::ContextUrn;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// The searched part of the log, and the pages to check again.
#[derive(Clone, Debug, Default)]
pub(super) struct LogScan {
    /// Every entry below this index.
    pub(super) upto: u64,
    /// Pages with a failure, by their first entry.
    pub(super) retry_pages: BTreeSet<u64>,
    /// Time of their next check.
    pub(super) retry_at: u64,
    /// The next page to check again in turn, and its time; 0 until everything was searched once.
    pub(super) refresh_from: u64,
    pub(super) refresh_at: u64,
    /// True if a floor names a version that no page listed: a carrier of pages left something out.
    pub(super) version_missing: bool,
    /// Earliest time of a new full search for a head that waits for such a version; the last one was in vain.
    pub(super) rescan_at: u64,
}

impl LogScan {
    /// Returns true if a log of this size was searched whole, without a failure.
    pub(super) fn is_complete(&self, size: u64) -> bool {
        self.upto >= size && self.retry_pages.is_empty()
    }
}

/// The listings of a round.
#[derive(Debug, Default)]
pub(super) struct Listings {
    /// Wanted lines not judged yet, by descending index, so that the next one is popped.
    pub(super) lines: Vec<ListedContext>,
    /// The span of the current lines; none for a line looked up for a reference.
    at_hand: Option<Range<u64>>,
    /// The part searched in this round, which counts once its head is accepted.
    scan: Option<LogScan>,
    /// Pages with a failure in this round, by their first entry.
    failed: BTreeSet<u64>,
    /// True if this round searches everything again, for a head that waits for a version.
    rescanning: bool,
    /// Publications in lines that are not followed, for resolving references.
    others: HashMap<ContextUrn, ListedContext>,
    /// Every entry below this index was searched for those.
    others_upto: u64,
    /// True if more of them were listed than are remembered.
    others_full: bool,
    /// Those found and judged: a refused one is not searched for again in later entries.
    tried: HashSet<ContextUrn>,
    /// True if the listing is a file in a directory of its name, as on mirrors of plain files.
    pub(super) is_file: bool,
}

/// The result of looking up a context of another line.
pub(super) enum Lookup {
    Listed(ListedContext),
    Unlisted,
    /// Too many contexts are listed to search for references.
    TooMany,
    Fetch(FetchTarget),
}

impl Listings {
    /// Records a failure at this entry: its page is checked again.
    pub(super) fn fails(&mut self, index: u64) {
        self.failed.insert(Span::page(index));
    }

    /// The listings for a restarted round: keeps lines read for references, which are hints under any head.
    pub(super) fn for_retry(mut self) -> Listings {
        if self.at_hand.is_none() {
            // looked up, and not judged yet
            self.others.extend(self.lines.into_iter().map(|c| (c.urn.clone(), c)));
        }
        Listings {
            others: self.others,
            others_upto: self.others_upto,
            others_full: self.others_full,
            tried: self.tried,
            is_file: self.is_file,
            ..Listings::default()
        }
    }
}

impl Follower {
    /// The next listing to fetch of a log of `size` entries; none once everything due was searched.
    pub(super) fn plan_listing(&self, round: &Round, size: u64, now: u64) -> Option<FetchTarget> {
        let looked = round.listings.scan.as_ref().unwrap_or(&self.state.scan);
        if let Some(span) = Span::at(looked.upto, size) {
            return Some(self.listing_of(span, size, now));
        }
        // a head that waits for its versions does not wait for the time as well
        let due = !round.accepted || looked.retry_at <= now;
        let again = looked.retry_pages.first().filter(|_| due)?;
        Span::at(*again, size).map(|span| self.listing_of(span, size, now))
    }

    /// The request for a span: by itself, by its page, or by the whole listing.
    fn listing_of(&self, span: Span, size: u64, now: u64) -> FetchTarget {
        match self.schedule.lists(now) {
            ListingSupport::Spans => FetchTarget::Page(span),
            ListingSupport::Pages => {
                Span::at(Span::page(span.first()), size).map_or(FetchTarget::Listing, FetchTarget::Page)
            }
            ListingSupport::Whole => FetchTarget::Listing,
        }
    }

    /// Starts a search from the first entry for a head with a version that is neither known nor newly listed. An earlier page may have
    /// omitted it. Returns false if this round did so already, or if the last one was in vain a short while ago.
    pub(super) fn rescan(&self, round: &mut Round, now: u64) -> bool {
        let (looked, listings) = (&self.state.scan, &mut round.listings);
        if listings.rescanning || looked.upto == 0 || self.rescan_pauses(now) {
            return false;
        }
        listings.rescanning = true;
        listings.scan.get_or_insert_with(|| looked.clone()).upto = 0;
        true
    }

    /// Limits the pause if the clock was set back.
    fn rescan_pauses(&self, now: u64) -> bool {
        let anew_at = self.state.scan.rescan_at;
        anew_at > now && anew_at <= now.saturating_add(self.config.limits.relist)
    }

    /// Records that the version of a floor was not found anywhere.
    pub(super) fn scan_failed(&mut self, now: u64) {
        if !self.rescan_pauses(now) {
            self.state.scan.rescan_at = now.saturating_add(self.config.limits.relist);
        }
        self.state.scan.version_missing = true;
    }

    /// The next page to check again in turn, when nothing else is left to do.
    pub(super) fn plan_refresh(&mut self, round: &Round, now: u64) -> Option<FetchTarget> {
        let pause = self.config.limits.relist;
        let looked = &mut self.state.scan;
        // a clock that was set back must not put it off for longer
        let due = looked.refresh_at <= now || looked.refresh_at > now.saturating_add(pause);
        if !due || looked.refresh_at == 0 || self.schedule.lists(now) == ListingSupport::Whole {
            return None;
        }
        looked.refresh_at = now.saturating_add(pause);
        let size = round.candidate.as_ref()?.head.head().seq;
        let span = Span::at(looked.refresh_from, size)?;
        looked.refresh_from = if span.end() < size { span.end() } else { 0 };
        Some(FetchTarget::Page(span))
    }

    /// Takes the page of a span.
    pub(super) fn take_page(&self, round: &mut Round, span: Span, bytes: &[u8]) -> Result<(), FollowFault> {
        let page = Page::read(bytes, span, &self.config.prefix).map_err(FollowFault::Listing)?;
        self.take_lines(round, page.contexts, span.first()..span.end());
        Ok(())
    }

    /// Takes the whole listing. It may be newer than the head; later publications come with the next one.
    pub(super) fn take_listing(&self, round: &mut Round, bytes: &[u8]) -> Result<(), FollowFault> {
        let mut listing = Listing::read(bytes, &self.config.prefix).map_err(FollowFault::Listing)?;
        let size = round.candidate.as_ref().map_or(0, |c| c.head.head().seq);
        listing.contexts.retain(|c| c.index < size);
        self.take_lines(round, listing.contexts, 0..size);
        Ok(())
    }

    /// Keeps the lines that this follower wants, the first entry last; and separately those that may be referred to.
    fn take_lines(&self, round: &mut Round, lines: Vec<ListedContext>, span: Range<u64>) {
        let listings = &mut round.listings;
        let followed = |c: &ListedContext| {
            self.config.lines.holds(c.urn.line()).is_some() || self.state.known.contains_key(&c.urn)
        };
        let is_new = |c: &ListedContext| {
            let known = self.state.known.get(&c.urn);
            known.is_none_or(|known| known.index != c.index || known.digest != c.digest)
        };
        let (mut wanted, others): (Vec<ListedContext>, Vec<ListedContext>) =
            lines.into_iter().filter(is_new).partition(followed);
        wanted.sort_by_key(|c| std::cmp::Reverse(c.index));
        wanted.dedup();
        let upto = listings.others_upto;
        if span.contains(&upto) {
            let room = self.config.limits.max_others.saturating_sub(listings.others.len());
            let mut new = others.into_iter().filter(|c| c.index >= upto);
            listings.others.extend(new.by_ref().take(room).map(|c| (c.urn.clone(), c)));
            listings.others_full |= new.next().is_some();
            listings.others_upto = span.end;
        }
        (listings.lines, listings.at_hand) = (wanted, Some(span));
    }

    /// Records that all current lines were judged.
    pub(super) fn scan_complete(&mut self, round: &mut Round, now: u64) {
        let Some(Range { start: first, end }) = round.listings.at_hand.take() else { return };
        let looked = round.listings.scan.get_or_insert_with(|| self.state.scan.clone());
        if first <= looked.upto {
            looked.upto = looked.upto.max(end);
        }
        looked.retry_pages.retain(|page| !(first..end).contains(page));
        if round.accepted {
            self.keep_scan(round, now);
        }
    }

    /// Counts the searched part: its head is accepted.
    pub(super) fn keep_scan(&mut self, round: &mut Round, now: u64) {
        if let Some(looked) = round.listings.scan.take() {
            let (turn, turn_at) = (self.state.scan.refresh_from, self.state.scan.refresh_at);
            self.state.scan = LogScan { refresh_from: turn, refresh_at: turn_at, ..looked };
            let size = round.candidate.as_ref().map_or(0, |c| c.head.head().seq);
            if turn_at == 0 && self.state.scan.upto >= size {
                self.state.scan.refresh_at = now.saturating_add(self.config.limits.relist);
            }
        }
        if !round.listings.failed.is_empty() {
            // after the end of the round, which must not check the same pages again and again
            self.state.scan.retry_at = now.saturating_add(self.config.limits.retry_documents);
            self.state.scan.retry_pages.append(&mut round.listings.failed);
        }
    }

    /// Looks up a context of a line that is not followed, published before `index`. Does not try a refused statement twice.
    pub(super) fn look_up(&self, round: &mut Round, urn: &ContextUrn, index: u64, now: u64) -> Lookup {
        let size = round.candidate.as_ref().map_or(0, |c| c.head.head().seq);
        let listings = &mut round.listings;
        if let Some(listed) = listings.others.remove(urn) {
            listings.tried.insert(urn.clone());
            return Lookup::Listed(listed);
        }
        if listings.tried.contains(urn) {
            return Lookup::Unlisted;
        }
        if listings.others_full {
            return Lookup::TooMany;
        }
        match Span::at(listings.others_upto, size).filter(|span| span.first() < index) {
            Some(span) => Lookup::Fetch(self.listing_of(span, size, now)),
            None => Lookup::Unlisted,
        }
    }
}
