//! How far the log was looked through for what it publishes: a log that grew costs the page of what is new, and not what is known already.
//!
//! A page is a hint, so whoever carries it can leave something out. What failed is looked at again after a while, and one page after the
//! other once more in turn: what was left out once is found, over restarts too.

use super::round::FetchTarget;
use super::schedule::ListingSupport;
use super::{FollowFault, Follower, Round};
use crate::listing::{ListedContext, Listing, Page, Span};
use semgate_contexts::ContextUrn;
use std::collections::{BTreeSet, HashMap, HashSet};

/// What was looked through so far, and what is looked at again.
#[derive(Clone, Debug, Default)]
pub(super) struct LogScan {
    /// Every entry before this one.
    pub(super) upto: u64,
    /// Pages in which something failed, by their first entry.
    pub(super) retry_pages: BTreeSet<u64>,
    /// When these are looked at again.
    pub(super) retry_at: u64,
    /// The page that is looked at once more next, and when; 0 before everything was looked through once.
    pub(super) refresh_from: u64,
    pub(super) refresh_at: u64,
    /// A floor names a version that was listed nowhere: whoever carries the pages left something out.
    pub(super) version_missing: bool,
    /// When a head that waits for such a version may have everything looked through again: it was in vain before.
    pub(super) rescan_at: u64,
}

impl LogScan {
    /// Whether all of a log of this size was, and nothing of it failed.
    pub(super) fn is_complete(&self, size: u64) -> bool {
        self.upto >= size && self.retry_pages.is_empty()
    }
}

/// What a round has of listings.
#[derive(Debug, Default)]
pub(super) struct Listings {
    /// Wanted lines that are not judged yet, by index from the end, so that the next one is popped.
    pub(super) lines: Vec<ListedContext>,
    /// The entries that the lines at hand are of; none of a line that is looked up for a reference.
    at_hand: Option<(u64, u64)>,
    /// What was looked through with this round, which counts once its head is accepted.
    scan: Option<LogScan>,
    /// Pages in which something failed in this round, by their first entry.
    failed: BTreeSet<u64>,
    /// Everything is looked through again in this round, for a head that waits for a version.
    rescanning: bool,
    /// What was published in lines that are not followed: looked up for references.
    others: HashMap<ContextUrn, ListedContext>,
    /// Every entry before this one was looked through for others.
    others_upto: u64,
    /// More of them were listed than are remembered.
    others_full: bool,
    /// Those that were found and judged: one that was refused is not looked for behind the place where it was found.
    tried: HashSet<ContextUrn>,
    /// The listing is a file in a directory of its name, as mirrors of plain files have it.
    pub(super) is_file: bool,
}

/// What a look-up of another line's context came to.
pub(super) enum Lookup {
    Listed(ListedContext),
    Unlisted,
    /// More is listed than is looked through for references.
    TooMany,
    Fetch(FetchTarget),
}

impl Listings {
    /// Something of this entry failed: its page is looked at again.
    pub(super) fn fails(&mut self, index: u64) {
        self.failed.insert(Span::page(index));
    }

    /// Those of the round that starts again: what was read to look up references is not read twice. It is a hint under each head.
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
    /// What is to be listed next of a log of `size` entries; none once all that is due was looked through.
    pub(super) fn plan_listing(&self, round: &Round, size: u64, now: u64) -> Option<FetchTarget> {
        let looked = round.listings.scan.as_ref().unwrap_or(&self.state.scan);
        if let Some(span) = Span::at(looked.upto, size) {
            return Some(self.listing_of(span, size, now));
        }
        // a head that waits for versions that it names does not wait for the time as well
        let due = !round.accepted || looked.retry_at <= now;
        let again = looked.retry_pages.first().filter(|_| due)?;
        Span::at(*again, size).map(|span| self.listing_of(span, size, now))
    }

    /// How a span is asked for: by itself, by the page that it lies in, or by the whole listing.
    fn listing_of(&self, span: Span, size: u64, now: u64) -> FetchTarget {
        match self.schedule.lists(now) {
            ListingSupport::Spans => FetchTarget::Page(span),
            ListingSupport::Pages => {
                Span::at(Span::page(span.first()), size).map_or(FetchTarget::Listing, FetchTarget::Page)
            }
            ListingSupport::Whole => FetchTarget::Listing,
        }
    }

    /// A head waits for a version that is neither known nor listed in what is new: it may have been left out of a page before, so that
    /// everything is looked through again from the first entry. False where that was done in this round, or in vain a short while ago.
    pub(super) fn rescan(&self, round: &mut Round, now: u64) -> bool {
        let (looked, listings) = (&self.state.scan, &mut round.listings);
        if listings.rescanning || looked.upto == 0 || self.rescan_pauses(now) {
            return false;
        }
        listings.rescanning = true;
        listings.scan.get_or_insert_with(|| looked.clone()).upto = 0;
        true
    }

    /// A clock that was set back must not put it off for longer.
    fn rescan_pauses(&self, now: u64) -> bool {
        let anew_at = self.state.scan.rescan_at;
        anew_at > now && anew_at <= now.saturating_add(self.config.limits.relist)
    }

    /// The version that a floor names was not found, whatever was looked through.
    pub(super) fn scan_failed(&mut self, now: u64) {
        if !self.rescan_pauses(now) {
            self.state.scan.rescan_at = now.saturating_add(self.config.limits.relist);
        }
        self.state.scan.version_missing = true;
    }

    /// The page whose turn it is to be looked at once more, when nothing else is left to do.
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

    /// A page that came for a span.
    pub(super) fn take_page(&self, round: &mut Round, span: Span, bytes: &[u8]) -> Result<(), FollowFault> {
        let page = Page::read(bytes, span, &self.config.prefix).map_err(FollowFault::Listing)?;
        self.take_lines(round, page.contexts, (span.first(), span.end()));
        Ok(())
    }

    /// The whole listing. It may be newer than the head; what it knows beyond comes with the next one.
    pub(super) fn take_listing(&self, round: &mut Round, bytes: &[u8]) -> Result<(), FollowFault> {
        let mut listing = Listing::read(bytes, &self.config.prefix).map_err(FollowFault::Listing)?;
        let size = round.candidate.as_ref().map_or(0, |c| c.head.head().seq);
        listing.contexts.retain(|c| c.index < size);
        self.take_lines(round, listing.contexts, (0, size));
        Ok(())
    }

    /// Keeps what this follower wants of what is listed, the first entry last; and apart, what may be referred to.
    fn take_lines(&self, round: &mut Round, lines: Vec<ListedContext>, span: (u64, u64)) {
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
        if span.0 <= upto && upto < span.1 {
            let room = self.config.limits.max_others.saturating_sub(listings.others.len());
            let mut new = others.into_iter().filter(|c| c.index >= upto);
            listings.others.extend(new.by_ref().take(room).map(|c| (c.urn.clone(), c)));
            listings.others_full |= new.next().is_some();
            listings.others_upto = span.1;
        }
        (listings.lines, listings.at_hand) = (wanted, Some(span));
    }

    /// All lines at hand were judged.
    pub(super) fn scan_complete(&mut self, round: &mut Round, now: u64) {
        let Some((first, end)) = round.listings.at_hand.take() else { return };
        let looked = round.listings.scan.get_or_insert_with(|| self.state.scan.clone());
        if first <= looked.upto {
            looked.upto = looked.upto.max(end);
        }
        looked.retry_pages.retain(|page| !(first..end).contains(page));
        if round.accepted {
            self.keep_scan(round, now);
        }
    }

    /// What was looked through counts: the head that it was looked through with is accepted.
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
            // not before the round is over: it does not look at the same again and again
            self.state.scan.retry_at = now.saturating_add(self.config.limits.retry_documents);
            self.state.scan.retry_pages.append(&mut round.listings.failed);
        }
    }

    /// Where a context of a line that is not followed was published before `index`. A statement that is refused is not looked at twice.
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
