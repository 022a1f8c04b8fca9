//! Files served after the verified head that name no head: floors, listing, status tokens by number, statements of the root. Each must
//! match the log at a size from that head to a later one. The entries between are fetched, hashed to the later root, and replayed.

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

/// The relation of a served file to the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// It fits a size within the window.
    Within,
    /// It shows entries past the window.
    Ahead,
    /// It fits no size of the window.
    Never,
}

/// The log from the verified head to a later one.
#[derive(Clone)]
pub(super) struct Window {
    /// Statuses at the verified head.
    base: StatusList,
    /// Contexts published by then.
    published: u64,
    tree: Tree,
    replay: Replay,
    /// Further statuses that each index had.
    statuses: BTreeMap<u64, Vec<Status>>,
    /// Every floors document.
    floors: Vec<Vec<u8>>,
    /// Every statement of the root.
    root: Vec<RootEntry>,
    /// The signers of heads and tokens.
    leaves: Vec<VerifiedLeaf>,
    /// Issue time of the newest of these heads.
    issued_at: u64,
}

impl Window {
    /// A window with the verified head alone.
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

    /// Extends to a later head, whose entries must hash to its root and continue this log. An earlier head changes nothing.
    ///
    /// # Errors
    /// [`LogFault::LaterDiffers`], an invalid entry, or a failed fetch.
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

    /// Extends to a signed checkpoint, under the served keys: its entries belong to the log, whatever head is served. After an error the
    /// window must not be used.
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

    /// Judges the bytes of `/v1/floors`.
    pub(super) fn floors(&self, served: &[u8]) -> Fit {
        if self.floors.iter().any(|ours| ours == served) { Fit::Within } else { Fit::Never }
    }

    /// Judges a listing: everything published by the verified head, and some later publications; each with a status that it had.
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

    /// Judges the list of a status token by number.
    pub(super) fn shard(&self, n: u64, list: &[u8]) -> Fit {
        let first = n.saturating_mul(SHARD_ENTRIES);
        let entries = |size: u64| size.saturating_sub(first).min(SHARD_ENTRIES);
        let bytes = list.len() as u64;
        if bytes < shard_bytes(entries(self.base.len())) || bytes > shard_bytes(SHARD_ENTRIES) {
            return Fit::Never;
        }
        let (within, past): (Vec<_>, Vec<_>) = statuses(n, list).partition(|(index, _)| *index < self.size());
        // spare bits of the last byte belong to no entry
        let ahead =
            bytes > shard_bytes(entries(self.size())) || past.iter().any(|(_, of)| *of != Status::Valid);
        match within.into_iter().all(|(index, status)| self.had(index, status)) {
            false => Fit::Never,
            true if ahead => Fit::Ahead,
            true => Fit::Within,
        }
    }

    /// Returns true if a token was signed after every known head, or in the second of the newest, and lifts no permanent status. Its list
    /// may then belong to a log that goes on.
    pub(super) fn is_before(&self, token: &Token, n: u64) -> bool {
        let statuses_by_index: BTreeMap<u64, Status> = statuses(n, token.list()).collect();
        let first = n.saturating_mul(SHARD_ENTRIES);
        let mut revoked = (first..self.size().min(first.saturating_add(SHARD_ENTRIES)))
            .filter(|index| self.replay.statuses().get(*index) == Some(Status::Invalid));
        let all_revoked = revoked.all(|index| statuses_by_index.get(&index) == Some(&Status::Invalid));
        token.claims().iat >= self.issued_at && all_revoked
    }

    /// Judges statements of the root, in order: all up to the verified head, and some later ones.
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

    /// The signers of the heads.
    pub(super) fn leaves(&self) -> impl Iterator<Item = &VerifiedLeaf> {
        self.leaves.iter()
    }
}

/// The statuses in the bytes of a list, by index; the last byte may have spare bits.
fn statuses(n: u64, list: &[u8]) -> impl Iterator<Item = (u64, Status)> {
    let bits = |byte: &u8| [*byte, byte >> 2, byte >> 4, byte >> 6].map(Status::from_bits);
    (n.saturating_mul(SHARD_ENTRIES)..).zip(list.iter().flat_map(bits))
}
