//! What was served after the head that is verified and names no head: floors, listing, status tokens by number, statements of the root. Each
//! must be what the log says at a size from that head to a later one, whose entries are fetched, hashed to its root, and replayed.

use super::{Fetch, LogFault, ServedHead, Tree, entries_from};
use crate::checkpoint::Checkpoint;
use crate::entry::Entry;
use crate::follower::FollowerConfig;
use crate::listing::Listing;
use crate::replay::Replay;
use crate::statement::Statement;
use crate::status::{SHARD_ENTRIES, Status, StatusList, shard_bytes};
use crate::token::Token;
use crate::trust::RootEntry;
use semgate_certs::VerifiedLeaf;
use std::collections::BTreeMap;

/// How something that was served stands to the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// It is of the window.
    Within,
    /// It tells of entries past the window.
    Ahead,
    /// It is of no size of the window.
    Never,
}

/// The log from the head that is verified to a later one.
#[derive(Clone)]
pub(super) struct Window {
    /// Statuses as of the head that is verified.
    base: StatusList,
    /// Contexts that were published by then.
    published: u64,
    tree: Tree,
    replay: Replay,
    /// What each index was besides.
    statuses: BTreeMap<u64, Vec<Status>>,
    /// Every floors document.
    floors: Vec<Vec<u8>>,
    /// Every statement of the root.
    root: Vec<RootEntry>,
    /// Who signs heads and tokens.
    leaves: Vec<VerifiedLeaf>,
    /// When the newest of these heads was issued.
    issued_at: u64,
}

impl Window {
    /// The head that is verified alone.
    pub(super) fn new(
        served: &ServedHead,
        replay: Replay,
        tree: Tree,
        config: &FollowerConfig,
    ) -> Result<Window, LogFault> {
        let mut window = Window {
            base: replay.statuses().clone(),
            published: replay.published_count(),
            tree,
            replay,
            statuses: BTreeMap::new(),
            floors: Vec::new(),
            root: served.rooted().to_vec(),
            leaves: vec![served.head.leaf().clone()],
            issued_at: served.head.head().issued_at,
        };
        window.note_floors(config)?;
        Ok(window)
    }

    /// Entries up to its end.
    pub(super) fn size(&self) -> u64 {
        self.tree.size()
    }

    /// Goes on to a later head, whose entries must hash to its root and follow what is here. One of an earlier log changes nothing.
    ///
    /// # Errors
    /// [`LogFault::LaterDiffers`], an entry that does not hold, or what cannot be fetched.
    pub(super) fn extend(
        &mut self,
        fetch: &mut dyn Fetch,
        config: &FollowerConfig,
        later: &ServedHead,
    ) -> Result<(), LogFault> {
        if later.head.checkpoint().size < self.size() {
            return Ok(());
        }
        self.extend_to(fetch, config, later.head.checkpoint(), later)?;
        self.leaves.push(later.head.leaf().clone());
        self.issued_at = self.issued_at.max(later.head.head().issued_at);
        Ok(())
    }

    /// Goes on to a checkpoint that the log signed, under the keys of what was served: its entries are of the log, whatever head is
    /// served. After an error nothing of it may be used.
    ///
    /// # Errors
    /// As [`Window::extend`].
    pub(super) fn extend_to(
        &mut self,
        fetch: &mut dyn Fetch,
        config: &FollowerConfig,
        checkpoint: &Checkpoint,
        by: &ServedHead,
    ) -> Result<(), LogFault> {
        let from = self.size();
        let differs = LogFault::LaterDiffers { size: checkpoint.size };
        let entries = entries_from(fetch, from, checkpoint.size)?;
        let mut tree = self.tree.clone();
        tree.append(&entries).map_err(|fault| LogFault::Tile { path: "/tile/entries".to_owned(), fault })?;
        if tree.size() != checkpoint.size || tree.root() != checkpoint.root {
            return Err(differs);
        }
        for (_, chain) in by.trust.chains() {
            self.replay.introduce(chain);
        }
        for (index, bytes) in (from..).zip(&entries) {
            let wrong = |fault| LogFault::Statement { index, fault };
            let entry = Entry::read(bytes, &config.prefix).map_err(wrong)?;
            match entry.unverified() {
                Statement::Root(_) => self.root.push(RootEntry::of(index, &entry)),
                _ => entry.verify(&by.trust, by.anchors.roots()).map(drop).map_err(wrong)?,
            }
            self.apply(index, &entry, config)?;
        }
        self.tree = tree;
        Ok(())
    }

    fn apply(&mut self, index: u64, entry: &Entry, config: &FollowerConfig) -> Result<(), LogFault> {
        let before = self.replay.statuses().clone();
        self.replay.apply(entry).map_err(|fault| LogFault::Replay { index, fault })?;
        for (of, status) in self.replay.statuses().changed_since(&before) {
            self.statuses.entry(of).or_default().push(status);
        }
        if matches!(entry.unverified(), Statement::Floor { .. } | Statement::Root(_)) {
            self.note_floors(config)?;
        }
        Ok(())
    }

    fn note_floors(&mut self, config: &FollowerConfig) -> Result<(), LogFault> {
        let document = self.replay.floors_document(&config.authority);
        self.floors.push(document.to_bytes().map_err(|_| LogFault::FloorsDiffer)?);
        Ok(())
    }

    fn had(&self, index: u64, status: Status) -> bool {
        let at_first = self.base.get(index).unwrap_or(Status::Valid);
        index < self.size()
            && (at_first == status || self.statuses.get(&index).is_some_and(|had| had.contains(&status)))
    }

    /// Bytes of `/v1/floors`.
    pub(super) fn floors(&self, served: &[u8]) -> Fit {
        if self.floors.iter().any(|ours| ours == served) { Fit::Within } else { Fit::Never }
    }

    /// All that was published by the head that is verified, and of what came after some; each with a status that it had.
    pub(super) fn listing(&self, served: &Listing) -> Fit {
        let known = served.contexts.iter().filter(|one| one.index < self.base.len()).count() as u64;
        let rising = served.contexts.windows(2).all(|pair| match pair {
            [one, next] => one.index < next.index,
            _ => true,
        });
        if known != self.published || !rising {
            return Fit::Never;
        }
        let fits = |one: &crate::listing::ListedContext| {
            let published = self.replay.published(&one.urn);
            published.is_some_and(|it| it.index == one.index && it.digest == one.digest)
                && self.had(one.index, one.status)
        };
        let (within, ahead): (Vec<_>, Vec<_>) =
            served.contexts.iter().partition(|one| one.index < self.size());
        match within.into_iter().all(fits) {
            false => Fit::Never,
            true if ahead.is_empty() => Fit::Within,
            true => Fit::Ahead,
        }
    }

    /// The list of a status token by number.
    pub(super) fn shard(&self, n: u64, list: &[u8]) -> Fit {
        let first = n.saturating_mul(SHARD_ENTRIES);
        let entries = |size: u64| size.saturating_sub(first).min(SHARD_ENTRIES);
        let bytes = list.len() as u64;
        if bytes < shard_bytes(entries(self.base.len())) || bytes > shard_bytes(SHARD_ENTRIES) {
            return Fit::Never;
        }
        let (within, past): (Vec<_>, Vec<_>) = statuses(n, list).partition(|(index, _)| *index < self.size());
        // what the last byte has to spare is nobody's status
        let ahead =
            bytes > shard_bytes(entries(self.size())) || past.iter().any(|(_, of)| *of != Status::Valid);
        match within.into_iter().all(|(index, status)| self.had(index, status)) {
            false => Fit::Never,
            true if ahead => Fit::Ahead,
            true => Fit::Within,
        }
    }

    /// Whether a token was signed after every head that is known, or in the second of the newest, and takes back nothing that is for ever: then its list, whatever it says
    /// besides, may be of a log that goes on.
    pub(super) fn is_before(&self, token: &Token, n: u64) -> bool {
        let statuses_by_index: BTreeMap<u64, Status> = statuses(n, token.list()).collect();
        let first = n.saturating_mul(SHARD_ENTRIES);
        let mut revoked = (first..self.size().min(first.saturating_add(SHARD_ENTRIES)))
            .filter(|index| self.replay.statuses().get(*index) == Some(Status::Invalid));
        let all_revoked = revoked.all(|index| statuses_by_index.get(&index) == Some(&Status::Invalid));
        token.claims().iat >= self.issued_at && all_revoked
    }

    /// Statements of the root, in their order: all by the head that is verified, and of those after it some.
    pub(super) fn root(&self, served: &[RootEntry]) -> Fit {
        let known = self.root.iter().filter(|root| root.index < self.base.len()).count();
        if served.len() < known {
            return Fit::Never;
        }
        let same = self.root.iter().zip(served).all(|(ours, theirs)| ours == theirs);
        match (same, served.len() > self.root.len()) {
            (false, _) => Fit::Never,
            (true, true) if served.get(self.root.len()).is_some_and(|next| next.index < self.size()) => {
                Fit::Never
            }
            (true, true) => Fit::Ahead,
            (true, false) => Fit::Within,
        }
    }

    /// Who signed the heads.
    pub(super) fn leaves(&self) -> impl Iterator<Item = &VerifiedLeaf> {
        self.leaves.iter()
    }
}

/// What the bytes of a list say, by index; the last byte may have some to spare.
fn statuses(n: u64, list: &[u8]) -> impl Iterator<Item = (u64, Status)> {
    let bits = |byte: &u8| [*byte, byte >> 2, byte >> 4, byte >> 6].map(Status::from_bits);
    (n.saturating_mul(SHARD_ENTRIES)..).zip(list.iter().flat_map(bits))
}
