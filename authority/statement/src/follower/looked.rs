//! Records how far the log was searched for publications: when the log grows, only the new pages are fetched.
//!
//! A page is only a hint, and its carrier may leave entries out. So failed pages are checked again after a while, and all pages in turn,
//! across restarts. An omitted entry is found in time.

use super::pace::Lists;
use super::round::Want;
use super::{FollowFault, Follower, Round};
use crate::listing::{Listed, Listing, Page, Span};
use semgate_contexts::ContextUrn;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The searched part of the log, and the pages to check again.
#[derive(Clone, Debug, Default)]
pub(super) struct Looked {
    /// Every entry below this index.
    pub(super) upto: u64,
    /// Pages with a failure, by their first entry.
    pub(super) again: BTreeSet<u64>,
    /// Time of their next check.
    pub(super) again_at: u64,
    /// The next page to check again in turn, and its time; 0 until everything was searched once.
    pub(super) turn: u64,
    pub(super) turn_at: u64,
    /// True if a floor names a version that no page listed: a carrier of pages left something out.
    pub(super) in_vain: bool,
    /// Earliest time of a new full search for a head that waits for such a version; the last one was in vain.
    pub(super) anew_at: u64,
}

impl Looked {
    /// Returns true if a log of this size was searched whole, without a failure.
    pub(super) fn is_whole(&self, size: u64) -> bool {
        self.upto >= size && self.again.is_empty()
    }
}

/// The listings of a round.
#[derive(Debug, Default)]
pub(super) struct Listings {
    /// Wanted lines not judged yet, by descending index, so that the next one is popped.
    pub(super) lines: Vec<Listed>,
    /// The span of the current lines; none for a line looked up for a reference.
    at_hand: Option<(u64, u64)>,
    /// The part searched in this round, which counts once its head is accepted.
    looked: Option<Looked>,
    /// Pages with a failure in this round, by their first entry.
    failed: BTreeSet<u64>,
    /// True if this round searches everything again, for a head that waits for a version.
    anew: bool,
    /// Publications in lines that are not followed, for resolving references.
    others: HashMap<ContextUrn, Listed>,
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
pub(super) enum LookedUp {
    Listed(Listed),
    Unlisted,
    /// Too many contexts are listed to search for references.
    TooMany,
    Fetch(Want),
}

impl Listings {
    /// Records a failure at this entry: its page is checked again.
    pub(super) fn fails(&mut self, index: u64) {
        self.failed.insert(Span::page(index));
    }

    /// The listings for a restarted round: keeps lines read for references, which are hints under any head.
    pub(super) fn again(mut self) -> Listings {
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
    pub(super) fn plan_listing(&self, round: &Round, size: u64, now: u64) -> Option<Want> {
        let looked = round.listings.looked.as_ref().unwrap_or(&self.state.looked);
        if let Some(span) = Span::at(looked.upto, size) {
            return Some(self.listing_of(span, size, now));
        }
        // a head that waits for its versions does not wait for the time as well
        let due = !round.accepted || looked.again_at <= now;
        let again = looked.again.first().filter(|_| due)?;
        Span::at(*again, size).map(|span| self.listing_of(span, size, now))
    }

    /// The request for a span: by itself, by its page, or by the whole listing.
    fn listing_of(&self, span: Span, size: u64, now: u64) -> Want {
        match self.pace.lists(now) {
            Lists::Spans => Want::Page(span),
            Lists::Pages => Span::at(Span::page(span.first()), size).map_or(Want::Listing, Want::Page),
            Lists::Whole => Want::Listing,
        }
    }

    /// Starts a search from the first entry for a head with a version that is neither known nor newly listed. An earlier page may have
    /// omitted it. Returns false if this round did so already, or if the last one was in vain a short while ago.
    pub(super) fn look_anew(&self, round: &mut Round, now: u64) -> bool {
        let (looked, listings) = (&self.state.looked, &mut round.listings);
        if listings.anew || looked.upto == 0 || self.waits_anew(now) {
            return false;
        }
        listings.anew = true;
        listings.looked.get_or_insert_with(|| looked.clone()).upto = 0;
        true
    }

    /// Limits the pause if the clock was set back.
    fn waits_anew(&self, now: u64) -> bool {
        let anew_at = self.state.looked.anew_at;
        anew_at > now && anew_at <= now.saturating_add(self.config.limits.relist)
    }

    /// Records that the version of a floor was not found anywhere.
    pub(super) fn looked_in_vain(&mut self, now: u64) {
        if !self.waits_anew(now) {
            self.state.looked.anew_at = now.saturating_add(self.config.limits.relist);
        }
        self.state.looked.in_vain = true;
    }

    /// The next page to check again in turn, when nothing else is left to do.
    pub(super) fn plan_turn(&mut self, round: &Round, now: u64) -> Option<Want> {
        let pause = self.config.limits.relist;
        let looked = &mut self.state.looked;
        // a clock that was set back must not put it off for longer
        let due = looked.turn_at <= now || looked.turn_at > now.saturating_add(pause);
        if !due || looked.turn_at == 0 || self.pace.lists(now) == Lists::Whole {
            return None;
        }
        looked.turn_at = now.saturating_add(pause);
        let size = round.candidate.as_ref()?.head.head().seq;
        let span = Span::at(looked.turn, size)?;
        looked.turn = if span.end() < size { span.end() } else { 0 };
        Some(Want::Page(span))
    }

    /// Takes the page of a span.
    pub(super) fn take_page(&self, round: &mut Round, span: Span, bytes: &[u8]) -> Result<(), FollowFault> {
        let page = Page::read(bytes, span, &self.config.prefix).map_err(FollowFault::Listing)?;
        self.take_lines(round, page.contexts, (span.first(), span.end()));
        Ok(())
    }

    /// Takes the whole listing. It may be newer than the head; later publications come with the next one.
    pub(super) fn take_listing(&self, round: &mut Round, bytes: &[u8]) -> Result<(), FollowFault> {
        let mut listing = Listing::read(bytes, &self.config.prefix).map_err(FollowFault::Listing)?;
        let size = round.candidate.as_ref().map_or(0, |c| c.head.head().seq);
        listing.contexts.retain(|c| c.index < size);
        self.take_lines(round, listing.contexts, (0, size));
        Ok(())
    }

    /// Keeps the lines that this follower wants, the first entry last; and separately those that may be referred to.
    fn take_lines(&self, round: &mut Round, lines: Vec<Listed>, span: (u64, u64)) {
        let listings = &mut round.listings;
        let followed = |c: &Listed| {
            self.config.lines.holds(c.urn.line()).is_some() || self.state.known.contains_key(&c.urn)
        };
        let is_new = |c: &Listed| {
            let known = self.state.known.get(&c.urn);
            known.is_none_or(|known| known.index != c.index || known.digest != c.digest)
        };
        let (mut wanted, others): (Vec<Listed>, Vec<Listed>) =
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

    /// Records that all current lines were judged.
    pub(super) fn looked_through(&mut self, round: &mut Round, now: u64) {
        let Some((first, end)) = round.listings.at_hand.take() else { return };
        let looked = round.listings.looked.get_or_insert_with(|| self.state.looked.clone());
        if first <= looked.upto {
            looked.upto = looked.upto.max(end);
        }
        looked.again.retain(|page| !(first..end).contains(page));
        if round.accepted {
            self.keep_looked(round, now);
        }
    }

    /// Counts the searched part: its head is accepted.
    pub(super) fn keep_looked(&mut self, round: &mut Round, now: u64) {
        if let Some(looked) = round.listings.looked.take() {
            let (turn, turn_at) = (self.state.looked.turn, self.state.looked.turn_at);
            self.state.looked = Looked { turn, turn_at, ..looked };
            let size = round.candidate.as_ref().map_or(0, |c| c.head.head().seq);
            if turn_at == 0 && self.state.looked.upto >= size {
                self.state.looked.turn_at = now.saturating_add(self.config.limits.relist);
            }
        }
        if !round.listings.failed.is_empty() {
            // after the end of the round, which must not check the same pages again and again
            self.state.looked.again_at = now.saturating_add(self.config.limits.retry_documents);
            self.state.looked.again.append(&mut round.listings.failed);
        }
    }

    /// Looks up a context of a line that is not followed, published before `index`. Does not try a refused statement twice.
    pub(super) fn look_up(&self, round: &mut Round, urn: &ContextUrn, index: u64, now: u64) -> LookedUp {
        let size = round.candidate.as_ref().map_or(0, |c| c.head.head().seq);
        let listings = &mut round.listings;
        if let Some(listed) = listings.others.remove(urn) {
            listings.tried.insert(urn.clone());
            return LookedUp::Listed(listed);
        }
        if listings.tried.contains(urn) {
            return LookedUp::Unlisted;
        }
        if listings.others_full {
            return LookedUp::TooMany;
        }
        match Span::at(listings.others_upto, size).filter(|span| span.first() < index) {
            Some(span) => LookedUp::Fetch(self.listing_of(span, size, now)),
            None => LookedUp::Unlisted,
        }
    }
}
