//! Requests, and the intake of their answers: status, size and form, before anything is judged.

use super::reference::WaitingDocument;
use super::state::{Document, Pinned};
use super::{Answer, FetchTarget, FollowFault, Follower, Request, Round, judge};
use crate::delta::MAX_DELTA_BYTES;
use crate::floors::{FloorsDocument, MAX_FLOORS_BYTES};
use crate::format::FormatFault;
use crate::head::MAX_HEAD_BYTES;
use crate::listing::{
    LISTING_FILE, LISTING_PATH, ListedContext, MAX_LISTING_BYTES, MAX_PAGE_BYTES, listing_is_a_file,
};
use crate::sha256::sha256;
use crate::tiles::{MAX_BUNDLE_BYTES, TileFault, TilePath, decode_bundle};
use crate::token::{MAX_TOKEN_BYTES, Token, TokenFault};
use crate::trust::{MAX_TRUST_BYTES, Trust};
use semgate_contexts::{ContextUrn, Digest};
use std::sync::Arc;

impl Follower {
    /// The request for a wanted part, with the byte limit of its format.
    pub(super) fn request(&self, round: &Round, want: &FetchTarget) -> Request {
        let here = |path: &TilePath| if round.full.contains(path) { path.full() } else { *path };
        let (path, max_bytes) = match want {
            FetchTarget::Head => ("/v1/feed/head".to_owned(), MAX_HEAD_BYTES as u64),
            FetchTarget::Delta(from) => (format!("/v1/feed/deltas/{from}"), MAX_DELTA_BYTES as u64),
            FetchTarget::Tile(path) => (here(path).to_string(), 256 * 32),
            FetchTarget::Shard(at) => {
                let shards = round.candidate.as_ref().map(|c| c.head.head().shards.as_slice());
                let hex = shards.and_then(|s| s.get(*at)).map(|s| s.hex()).unwrap_or_default();
                (format!("/v1/feed/shards/{hex}"), MAX_TOKEN_BYTES as u64)
            }
            FetchTarget::Floors => ("/v1/floors".to_owned(), MAX_FLOORS_BYTES as u64),
            FetchTarget::Page(span) => (span.path(), MAX_PAGE_BYTES as u64),
            FetchTarget::Listing => {
                let path = if round.listings.is_file { LISTING_FILE } else { LISTING_PATH };
                (path.to_owned(), MAX_LISTING_BYTES as u64)
            }
            FetchTarget::Trust => ("/v1/trust".to_owned(), MAX_TRUST_BYTES as u64),
            FetchTarget::Bundle(path) => (here(path).to_string(), MAX_BUNDLE_BYTES),
            FetchTarget::Document(urn) => {
                let digest = self.state.known.get(urn).map(|known| known.digest.to_string());
                let path = format!("/v1/contexts/by-digest/{}", digest.unwrap_or_default());
                (path, crate::context::MAX_SIGNED_BYTES as u64)
            }
        };
        // Only a poll of the head can be answered with 304.
        let polls = matches!(want, FetchTarget::Head | FetchTarget::Delta(_));
        let if_none_match = if polls { self.etag.clone() } else { None };
        Request { path, if_none_match, max_bytes }
    }

    /// Takes the answer to the current request. Faults of one context are reported and the round goes on.
    pub(super) fn take(&mut self, round: &mut Round, answer: Answer, now: u64) -> Result<(), FollowFault> {
        let Some((request, want)) = round.pending.take() else { return Err(FollowFault::Unasked) };
        round.unanswered = 0;
        let polls = matches!(want, FetchTarget::Head | FetchTarget::Delta(_));
        if polls && answer.status == 304 && self.etag.is_some() {
            return self.take_unchanged(round, now);
        }
        if let FetchTarget::Delta(_) = want {
            return self.take_delta(round, &request, answer, now);
        }
        let gone = matches!(answer.status, 404 | 410);
        if let (true, FetchTarget::Tile(path) | FetchTarget::Bundle(path)) = (gone, &want)
            && path.full() != *path
            && round.full.insert(*path)
        {
            // A log may delete a partial tile once the full one exists (tlog-tiles, "Partial Tiles").
            return Ok(());
        }
        if let FetchTarget::Page(span) = &want
            && (gone || listing_is_a_file(answer.status))
        {
            // a mirror, with pages at fixed beginnings, or an authority of an earlier version
            self.schedule.lists_without(span.begins_a_page(), now);
            return Ok(());
        }
        if want == FetchTarget::Listing && !round.listings.is_file && listing_is_a_file(answer.status) {
            round.listings.is_file = true;
            return Ok(());
        }
        if want == FetchTarget::Listing && answer.status != 200 {
            // a log that outgrew it has pages alone
            self.schedule.retry_lists();
        }
        if gone && matches!(want, FetchTarget::Tile(_) | FetchTarget::Bundle(_) | FetchTarget::Shard(_)) {
            round.may_restart();
        }
        let Answer { status, etag, body } = answer;
        let body = checked_body(&want, &request, status, &body);
        match want {
            FetchTarget::Document(urn) => {
                self.take_document(round, &urn, body, now);
                Ok(())
            }
            FetchTarget::Bundle(path) => {
                match body.and_then(|bytes| take_bundle(round, &path, bytes)) {
                    Err(fault) if round.restart => return Err(fault),
                    Err(fault) => self.skip_bundle(round, &path, &fault, now),
                    Ok(()) => {}
                }
                Ok(())
            }
            FetchTarget::Head => self.take_head(round, body?, etag, now),
            FetchTarget::Tile(path) => take_tile(round, path, body?),
            // Handled above, whatever its status.
            FetchTarget::Delta(_) => Ok(()),
            FetchTarget::Shard(at) => take_shard(round, at, body?),
            FetchTarget::Floors => self.take_floors(round, body?),
            FetchTarget::Page(span) => self.take_page(round, span, body?),
            FetchTarget::Listing => self.take_listing(round, body?),
            FetchTarget::Trust => self.take_trust(round, body?, now),
        }
    }

    /// Handles a missing answer. A round skips the same parts as for a refusal; a few missing answers in a row mean that the authority is
    /// away.
    pub(super) fn take_nothing(&mut self, round: &mut Round, now: u64) -> Result<(), FollowFault> {
        let Some((_, want)) = round.pending.take() else { return Err(FollowFault::Unasked) };
        match want {
            FetchTarget::Document(urn) => self.refuse_document(round, &urn, FollowFault::Unreachable, now),
            FetchTarget::Bundle(path) if round.accepted => {
                self.skip_bundle(round, &path, &FollowFault::Unreachable, now)
            }
            _ => return Err(FollowFault::Unreachable),
        }
        round.unanswered += 1;
        if round.unanswered < self.config.limits.max_unanswered {
            Ok(())
        } else {
            Err(FollowFault::Unreachable)
        }
    }

    /// Handles 304: the accepted head is still the newest. Some work may be left, or it may have expired.
    fn take_unchanged(&mut self, round: &mut Round, now: u64) -> Result<(), FollowFault> {
        let Some(pinned) = self.state.head.clone() else { return Err(FollowFault::Unasked) };
        if now >= pinned.head.head().next_update {
            return Err(FollowFault::Head(crate::head::HeadFault::Expired));
        }
        round.candidate = Some(pinned);
        round.accepted = true;
        Ok(())
    }

    pub(super) fn take_head(
        &mut self,
        round: &mut Round,
        bytes: &[u8],
        etag: Option<String>,
        now: u64,
    ) -> Result<(), FollowFault> {
        let head = match self.judge_head(round, bytes, now) {
            Err(fault) if self.may_be_newer_keys(round, &fault) => {
                round.keys_first = true;
                return Ok(());
            }
            judged => judged?,
        };
        round.refused_head = None;
        // an earlier trust document may not have the signers of this head yet
        round.trust_fetched = false;
        let candidate = Pinned { bytes: bytes.to_vec(), head };
        let head = candidate.head.head();
        for shard in &head.shards {
            if let Some(list) = self.state.shards.get(&shard.sha256) {
                round.shards.insert(shard.sha256, list.clone());
            }
        }
        let had = self.state.head.as_ref().filter(|_| self.state.complete);
        if had.is_some_and(|had| had.head.head().floors == head.floors) {
            round.floors = Some(self.state.floors.clone());
        }
        round.etag = etag.filter(|etag| etag.len() <= 256);
        round.candidate = Some(candidate);
        Ok(())
    }

    pub(super) fn judge_head(
        &mut self,
        round: &mut Round,
        bytes: &[u8],
        now: u64,
    ) -> Result<crate::head::VerifiedHead, FollowFault> {
        let anchors = self.anchors(round);
        let judged = judge::head(bytes, &self.state, anchors, &self.config, now);
        let judged = judged.and_then(|head| self.check_feed(round, &head).map(|()| head));
        if judged.is_err() {
            round.refused_head = Some(bytes.to_vec());
        }
        judged
    }

    fn take_floors(&mut self, round: &mut Round, bytes: &[u8]) -> Result<(), FollowFault> {
        let named = round.candidate.as_ref().map(|c| c.head.head().floors);
        if named != Some(sha256(bytes)) {
            round.may_restart();
            return Err(FollowFault::FloorsSwapped);
        }
        let document = FloorsDocument::read(bytes).map_err(FollowFault::Floors)?;
        if document.authority != self.config.authority {
            return Err(FollowFault::Floors(FormatFault::Member("authority")));
        }
        round.floors = Some(document.floors);
        Ok(())
    }

    fn take_trust(&mut self, round: &mut Round, bytes: &[u8], now: u64) -> Result<(), FollowFault> {
        let trust = Trust::read(bytes, self.config.roots.limits()).map_err(FollowFault::Trust)?;
        if trust.authority() != self.config.authority {
            return Err(FollowFault::Trust(FormatFault::Member("authority")));
        }
        round.trust_fetched = true;
        if !round.accepted {
            round.trust_before.get_or_insert_with(|| self.state.trust.clone());
            self.verify_root_statements(round, &trust, now)?;
        }
        self.state.trust.merge(trust);
        Ok(())
    }

    /// Takes a new document, or judges a waiting one again.
    pub(super) fn take_document(
        &mut self,
        round: &mut Round,
        urn: &ContextUrn,
        body: Result<&[u8], FollowFault>,
        now: u64,
    ) {
        match body.and_then(|bytes| self.judge_document(urn, bytes).map(|needs| (needs, bytes))) {
            Ok((None, _)) => round.dirty = true,
            Ok((Some((needs, digest)), bytes)) => {
                let waiting = WaitingDocument { urn: urn.clone(), bytes: bytes.to_vec(), needs, digest };
                round.waiting.push(waiting);
            }
            Err(fault) => self.refuse_document(round, urn, fault, now),
        }
    }

    /// Loads a document; or returns the context that must be loaded before it.
    fn judge_document(
        &mut self,
        urn: &ContextUrn,
        bytes: &[u8],
    ) -> Result<Option<(ContextUrn, Digest)>, FollowFault> {
        let known = self.state.known.get(urn).ok_or(FollowFault::Unasked)?;
        let (context, signer, chain) =
            match judge::document(bytes, known, &self.state.known, self.state.anchors.roots(), &self.config)?
            {
                judge::JudgedDocument::Needs(urn, digest) => return Ok(Some((urn, digest))),
                judge::JudgedDocument::Good(context, signer, chain) => (context, signer, chain),
            };
        self.state.room_for(&context, self.config.limits.max_compiled_bytes)?;
        let known = self.state.known.get_mut(urn).ok_or(FollowFault::Unasked)?;
        known.load(context, &signer);
        self.state.retire();
        let known = self.state.known.get(urn).ok_or(FollowFault::Unasked)?;
        self.state.trust.insert(chain);
        self.memory.write_part(super::persistence::Part::Contexts, &known.digest.hex(), bytes)?;
        Ok(None)
    }

    pub(super) fn refuse_document(
        &mut self,
        round: &mut Round,
        urn: &ContextUrn,
        fault: FollowFault,
        now: u64,
    ) {
        round.dirty = true;
        if matches!(fault, FollowFault::Memory(_)) {
            // The document is good; only its copy on disk is missing.
            return self.reports.add(Some(urn.clone()), fault, None, now);
        }
        let limits = &self.config.limits;
        let pause = if fault.is_looked_up() { limits.relist } else { limits.retry_documents };
        let retry_at = now.saturating_add(pause);
        if let Some(known) = self.state.known.get_mut(urn)
            && !matches!(known.document, Document::Refused { .. })
        {
            let why = Arc::from(fault.to_string());
            known.document = match fault {
                FollowFault::NoRoom { .. } => Document::NoRoom { why },
                _ => Document::Failed { why, retry_at },
            };
        }
        self.reports.add(Some(urn.clone()), fault, None, now);
    }

    /// Refuses a listed context with an invalid entry: reports it, and goes on with the rest.
    pub(super) fn refuse_entry(
        &mut self,
        round: &mut Round,
        listed: &ListedContext,
        bytes: &[u8],
        fault: FollowFault,
        now: u64,
    ) {
        round.incomplete = true;
        round.listings.fails(listed.index);
        let evidence =
            match (&fault, self.state.known.get(&listed.urn).or_else(|| round.published.get(&listed.urn))) {
                (FollowFault::SecondDigest, Some(before)) => {
                    let head = round.candidate.as_ref().map_or(&[][..], |c| &c.bytes);
                    let files = [
                        ("first-entry.json", before.entry.bytes()),
                        ("second-entry.json", bytes),
                        ("head.json", head),
                    ];
                    self.keep(&fault, &files)
                }
                _ => None,
            };
        self.reports.add(Some(listed.urn.clone()), fault, evidence, now);
    }

    /// Skips a missing bundle, with every listed context in it.
    fn skip_bundle(&mut self, round: &mut Round, path: &TilePath, fault: &FollowFault, now: u64) {
        round.incomplete = true;
        let size = round.candidate.as_ref().map_or(0, |c| c.head.head().seq);
        let (lost, remaining): (Vec<_>, Vec<_>) = std::mem::take(&mut round.listings.lines)
            .into_iter()
            .partition(|c| TilePath::entries_holding(c.index, size) == Some(*path));
        round.listings.lines = remaining;
        for listed in lost {
            round.listings.fails(listed.index);
            self.reports.add(Some(listed.urn), fault.clone(), None, now);
        }
    }
}

fn checked_body<'a>(
    want: &FetchTarget,
    request: &Request,
    status: u16,
    body: &'a [u8],
) -> Result<&'a [u8], FollowFault> {
    if status != 200 {
        return Err(FollowFault::HttpStatus { what: want.what(), status });
    }
    if body.len() as u64 > request.max_bytes {
        return Err(FollowFault::TooLarge { what: want.what() });
    }
    Ok(body)
}

/// A tile in the wanted width; a full one in its place is cut.
fn take_tile(round: &mut Round, path: TilePath, bytes: &[u8]) -> Result<(), FollowFault> {
    let sent = if round.full.contains(&path) { path.full() } else { path };
    if bytes.len() != sent.width() as usize * 32 {
        return Err(FollowFault::Bundle(TileFault::Length));
    }
    let bytes = bytes.get(..path.width() as usize * 32).unwrap_or_default();
    round.tiles.insert(path, bytes.to_vec());
    Ok(())
}

/// Keeps the wanted entries of a bundle.
fn take_bundle(round: &mut Round, path: &TilePath, bytes: &[u8]) -> Result<(), FollowFault> {
    let sent = if round.full.contains(path) { path.full() } else { *path };
    let entries = decode_bundle(bytes, sent.width()).map_err(FollowFault::Bundle)?;
    let TilePath::Entries { n, .. } = *path else { return Err(FollowFault::Unasked) };
    let wanted = &round.listings.lines;
    for (index, entry) in (n * u64::from(crate::tiles::TILE_WIDTH)..).zip(entries).take(path.width() as usize)
    {
        if wanted.iter().any(|c| c.index == index) {
            round.entries.insert(index, entry.to_vec());
        }
    }
    Ok(())
}

/// Accepts a shard by the SHA-256 of its list, which the head names; its own signature is for other readers.
fn take_shard(round: &mut Round, at: usize, bytes: &[u8]) -> Result<(), FollowFault> {
    let named = round.candidate.as_ref().and_then(|c| c.head.head().shards.get(at)).cloned();
    let named = named.ok_or(FollowFault::Unasked)?;
    let text = std::str::from_utf8(bytes)
        .map_err(|_| FollowFault::Token(TokenFault::Jws(crate::jws::JwsFault::Serialisation)))?;
    let token = Token::read(text).map_err(FollowFault::Token)?;
    if sha256(token.list()) != named.sha256 {
        return Err(FollowFault::Shard { n: named.n });
    }
    round.shards.insert(named.sha256, Arc::new(token.list().to_vec()));
    Ok(())
}
