//! Compares files that name no head with the log, from the verified head to a later one.

use super::pages::is_absent;
use super::prove::with_tiles;
use super::snapshot::UncachedFetch;
use super::window::{Fit, Window};
use super::{
    Check, Fetch, FetchFault, HEAD_PATH, LISTING_PATH, LogFault, MAX_AHEAD, MAX_CHECKPOINT_BYTES,
    MAX_FLOORS_BYTES, MAX_HEAD_BYTES, MAX_TOKEN_BYTES, Replay, Tree, TreeHash, listing, served_head, token,
};
use crate::checkpoint::Checkpoint;
use crate::listing::{Listing, MAX_LISTING_BYTES};
use crate::tiles::{ProofFault, root_of_prefix};
use crate::token::{Token, TokenFault};
use crate::trust::RootEntry;
use std::collections::HashMap;

/// Pauses for a head that covers entries listed already. At a quarter of a second each, longer than a commit with a slow disk and slow
/// witnesses.
const PATIENCE: usize = 32;

/// The served files that name no head.
struct UnanchoredFiles {
    floors: Vec<u8>,
    /// None if it is absent, because the log outgrew it.
    listing: Option<Listing>,
    /// By number; a source without one, such as a mirror, is not at fault.
    tokens: Vec<(u64, Token)>,
    root: Vec<RootEntry>,
}

impl UnanchoredFiles {
    /// The first file that does not fit the window, and how; signs of later entries come last.
    fn misfit(&self, window: &Window) -> Option<(LogFault, Fit)> {
        let tokens = self.tokens.iter().map(|(n, token)| match signed(token, window) {
            Err(fault) => (LogFault::Token { n: *n, fault }, Fit::Never),
            Ok(()) => (LogFault::Shard { n: *n }, window.shard(*n, token.list())),
        });
        let all = [
            (LogFault::RootDiffers, window.root(&self.root)),
            (LogFault::FloorsDiffer, window.floors(&self.floors)),
            (LogFault::ListingDiffers, self.listing.as_ref().map_or(Fit::Within, |it| window.listing(it))),
        ];
        let misfits: Vec<(LogFault, Fit)> =
            all.into_iter().chain(tokens).filter(|(_, fit)| *fit != Fit::Within).collect();
        let never = misfits.iter().position(|(_, fit)| *fit == Fit::Never);
        misfits.into_iter().nth(never.unwrap_or_default())
    }

    /// The fault for a misfit that no later head and no checkpoint explains. A token signed after every known head shows that there is a
    /// later one: then the rest may be on its way. A token that is not newer and does not fit is evidence all the same.
    fn judged(&self, fault: LogFault, window: &Window) -> LogFault {
        let mut newer = false;
        for (n, token) in &self.tokens {
            let fits = window.shard(*n, token.list()) == Fit::Within;
            if signed(token, window).is_err() || !fits && !window.is_before(token, *n) {
                return fault;
            }
            newer |= !fits;
        }
        if newer { LogFault::Unfinished(Box::new(fault)) } else { fault }
    }
}

/// Checks that a signer of the heads signed it.
fn signed(token: &Token, window: &Window) -> Result<(), TokenFault> {
    window.leaves().map(|leaf| token.verify(leaf)).reduce(|one, other| one.or(other)).unwrap_or(Ok(()))
}

impl Check<'_, '_> {
    /// Checks everything that names no head: as of the verified head, or of a later one that a later head proves.
    pub(super) fn check_unanchored(
        &mut self,
        replay: &Replay,
        tree: Tree,
        floors: &[u8],
    ) -> Result<(), LogFault> {
        let checkpoint = self.checkpoint()?;
        let unnamed = self.read()?;
        let mut window = Window::new(self.served, replay.clone(), tree, self.config)?;
        let mut heads = self.fetch.after.take().into_iter();
        let mut known = self.get(HEAD_PATH, MAX_HEAD_BYTES)?;
        let (mut waits, mut looked, mut ahead) = (PATIENCE, false, Some((&checkpoint.0, &checkpoint.1)));
        while let Some((fault, fit)) = unnamed.misfit(&window) {
            let bytes = match heads.next() {
                Some(bytes) => bytes,
                None => {
                    if let Some(longer) =
                        ahead.take().and_then(|(ahead, note)| self.up_to(&window, ahead, note))
                    {
                        window = longer;
                        continue;
                    }
                    match fit {
                        Fit::Ahead if waits > 0 => {
                            waits -= 1;
                            self.fetch.pause();
                        }
                        Fit::Never if !looked => looked = true,
                        _ => return Err(unnamed.judged(fault, &window)),
                    }
                    let Ok(bytes) = self.fetch.look(HEAD_PATH, MAX_HEAD_BYTES as u64) else {
                        return Err(fault);
                    };
                    bytes
                }
            };
            if bytes == known {
                continue;
            }
            let mut looking = UncachedFetch(self.fetch);
            let Ok(later) = served_head(&mut looking, &bytes, self.config, self.now) else {
                return Err(fault);
            };
            window.extend(&mut looking, self.config, &later)?;
            known = bytes;
        }
        self.settle(replay, floors, &unnamed, &checkpoint.0)
    }

    /// The window up to the served checkpoint, if that is of a longer log. In a mirror with a cut-short copy, the checkpoint is ahead of
    /// the head. None if it proves no more, or cannot be followed.
    fn up_to(&mut self, window: &Window, checkpoint: &Checkpoint, note: &[u8]) -> Option<Window> {
        let latest = self.now.saturating_add(MAX_AHEAD);
        let seen = std::str::from_utf8(note).is_ok_and(|note| self.config.quorum.judge(note, latest).is_ok());
        if checkpoint.size <= window.size() || !seen {
            return None;
        }
        let mut longer = window.clone();
        let mut looking = UncachedFetch(self.fetch);
        longer.extend_to(&mut looking, self.config, checkpoint, self.served).ok()?;
        Some(longer)
    }

    fn read(&mut self) -> Result<UnanchoredFiles, LogFault> {
        let floors = self.get("/v1/floors", MAX_FLOORS_BYTES)?;
        let listing = match listing(self.fetch) {
            Ok(bytes) => {
                Some(Listing::read(&bytes, &self.config.prefix).map_err(|_| LogFault::ListingDiffers)?)
            }
            Err(fault) if is_absent(&fault) => None,
            Err(fault) => return Err(fault),
        };
        let mut tokens = Vec::new();
        for shard in &self.served.head.head().shards {
            let path = by_number(shard.n);
            match self.fetch.get(&path, MAX_TOKEN_BYTES as u64) {
                Ok(bytes) => tokens.push((shard.n, token(shard.n, bytes)?)),
                Err(FetchFault::HttpStatus(404)) => {}
                Err(fault) => return Err(LogFault::Fetch { path, fault }),
            }
        }
        Ok(UnanchoredFiles { floors, listing, tokens, root: self.served.trust.root().to_vec() })
    }

    /// Fetches `/checkpoint`. It may be newer than the head, but never older or of another history. For a newer one, its tiles show that it
    /// continues the head's.
    fn checkpoint(&mut self) -> Result<(Checkpoint, Vec<u8>), LogFault> {
        let bytes = self.get("/checkpoint", MAX_CHECKPOINT_BYTES)?;
        let by = |log| Checkpoint::verify(&bytes, log, &self.config.origin);
        let checkpoint = by(self.served.anchors.log()).or_else(|_| by(self.served.newest.log()));
        let checkpoint = checkpoint.map_err(LogFault::Checkpoint)?;
        let ours = self.served.head.checkpoint();
        let root = match checkpoint.size {
            size if size < ours.size => None,
            size if size == ours.size => Some(checkpoint.root),
            size => self.root_before(ours.size, size, checkpoint.root)?,
        };
        if root == Some(ours.root) { Ok((checkpoint, bytes)) } else { Err(LogFault::CheckpointDiffers) }
    }

    /// The root of the first `old` entries of a larger tree; none if its tiles do not hash to its root.
    pub(super) fn root_before(
        &mut self,
        old: u64,
        size: u64,
        root: TreeHash,
    ) -> Result<Option<TreeHash>, LogFault> {
        let (mut looking, mut tiles) = (UncachedFetch(self.fetch), HashMap::new());
        match with_tiles(&mut looking, &mut tiles, |tiles| match root_of_prefix(old, size, root, tiles) {
            Err(missing @ ProofFault::Missing(_)) => Err(missing),
            other => Ok(other.ok()),
        }) {
            Err(LogFault::TileDiffers { .. }) => Ok(None),
            other => other,
        }
    }

    /// Reports the files as of the head if something later was served, for callers that store all files of one moment.
    fn settle(
        &mut self,
        replay: &Replay,
        floors: &[u8],
        unnamed: &UnanchoredFiles,
        checkpoint: &Checkpoint,
    ) -> Result<(), LogFault> {
        let head = self.served.head.head();
        if checkpoint.size != head.seq {
            self.fetch.as_of_head("/checkpoint", head.checkpoint.as_bytes());
        }
        if unnamed.floors != floors {
            self.fetch.as_of_head("/v1/floors", floors);
        }
        let listing = replay.listing();
        if unnamed.listing.as_ref() != Some(&listing) {
            let bytes = listing.to_bytes().map_err(|_| LogFault::ListingDiffers)?;
            // readers take no longer one; they use the pages
            if bytes.len() <= MAX_LISTING_BYTES {
                self.fetch.as_of_head(LISTING_PATH, &bytes);
            }
        }
        if unnamed.root.len() > self.served.rooted().len() {
            let mut trust = self.served.trust.clone();
            trust.set_root(self.served.rooted().to_vec());
            self.fetch.as_of_head("/v1/trust", &trust.to_bytes().map_err(LogFault::Trust)?);
        }
        let lists = replay.statuses().shards();
        for (list, named) in lists.iter().zip(&head.shards) {
            let newer = |(n, token): &(u64, Token)| *n == list.n && token.list() != list.bytes.as_slice();
            if unnamed.tokens.iter().any(newer) {
                let bytes = self.get(&format!("/v1/feed/shards/{}", named.hex()), MAX_TOKEN_BYTES)?;
                self.fetch.as_of_head(&by_number(list.n), &bytes);
            }
        }
        Ok(())
    }
}

fn by_number(n: u64) -> String {
    format!("/v1/feed/shards/{n}")
}
