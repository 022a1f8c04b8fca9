//! Checkpoints that other followers of this authority accepted. An authority that shows two histories to two readers (a split view) signed
//! both with its log key: held side by side they prove it, to anyone.
//!
//! A checkpoint from another follower is believed for nothing: it counts only as what the log key signed. It either continues the accepted
//! one or is continued by it, which tiles prove; else it contradicts it, and from then on nothing of this authority counts.

use super::accept::HEAD;
use super::round::FetchTarget;
use super::state::Tiles;
use super::{FollowFault, Follower};
use crate::checkpoint::{Checkpoint, CheckpointFault};
use crate::tiles::{ProofFault, TilePath, TreeHash, check_consistency};
use std::collections::{BTreeSet, VecDeque};

/// The file that outlives the process once an authority contradicted itself. Its being there is what counts, whatever is in it: only a
/// person removes it.
pub(super) const SPLIT: &str = "split-view.json";
/// Checkpoints that wait for a proof, at most: as many as peers, several times over.
const MAX_WAITING: usize = 64;
/// Checkpoints remembered as agreeing, so that each is proved once: an hour of commits, one a minute.
const MAX_AGREED: usize = 64;

/// How a checkpoint of another follower stands to the accepted one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compared {
    /// They are one, or one is proved to continue the other.
    Agrees,
    /// It takes tiles to tell; the rounds to come will fetch them.
    Waits,
    /// They contradict each other: nothing of this authority counts any more.
    Contradicts,
}

/// The longest time between two looks that counts: more means that the authority was not reached in between.
const LONGEST_LOOK: u64 = 60;

/// A checkpoint that waits for its proof.
#[derive(Debug)]
pub(super) struct WaitingCheckpoint {
    note: String,
    checkpoint: Checkpoint,
    from: String,
    since: u64,
    /// When it was last looked at.
    looked_at: u64,
    /// For how long the authority could have proved it and did not: an outage does not count.
    unproven_for: u64,
    /// Not to be tried before this.
    retry_at: u64,
    /// What the tiles here are of.
    of: (u64, TreeHash),
    tiles: Tiles,
    /// Partial tiles that are gone: the full ones are asked for in their place.
    full: BTreeSet<TilePath>,
}

/// What is known of others.
#[derive(Debug, Default)]
pub(super) struct Others {
    waiting: VecDeque<WaitingCheckpoint>,
    agreed: VecDeque<(u64, TreeHash)>,
    /// Whether the authority contradicted itself.
    pub(super) split: bool,
    /// The record of the contradiction, until it is on disk.
    unwritten: Option<Vec<u8>>,
    /// Whether a checkpoint waits for its proof for longer than it may. It is no evidence: whoever carries the tiles can keep them back.
    pub(super) unproven: bool,
}

impl Others {
    /// Whether nothing of the authority counts.
    pub(super) fn doubted(&self) -> bool {
        self.split || self.unproven
    }

    pub(super) fn agree(&mut self, size: u64, root: TreeHash) {
        if !self.agreed.contains(&(size, root)) {
            self.agreed.push_back((size, root));
        }
        while self.agreed.len() > MAX_AGREED {
            self.agreed.pop_front();
        }
    }
}

impl Follower {
    /// Holds a signed checkpoint that another follower, named `from` for people, accepted against the accepted one. What cannot be told
    /// at once is proved by the next rounds; while an authority that can be reached does not prove one within `max_status_age`, nothing of
    /// it counts.
    ///
    /// Errors: a note that the log key did not sign. Such a one says nothing about the authority.
    pub fn compare(&mut self, note: &str, from: &str, now: u64) -> Result<Compared, CheckpointFault> {
        let checkpoint = Checkpoint::verify(note.as_bytes(), self.state.anchors.log(), &self.config.origin)?;
        if self.others.split {
            return Ok(Compared::Contradicts);
        }
        let theirs = (checkpoint.size, checkpoint.root);
        let mine = self.state.head.as_ref().map(|p| (p.head.checkpoint().size, p.head.checkpoint().root));
        if theirs.0 == 0 || mine == Some(theirs) || self.others.agreed.contains(&theirs) {
            return Ok(Compared::Agrees);
        }
        let known = self.others.waiting.iter().any(|w| w.checkpoint == checkpoint);
        let waiting = WaitingCheckpoint {
            note: note.to_owned(),
            checkpoint,
            from: from.to_owned(),
            since: now,
            looked_at: now,
            unproven_for: 0,
            retry_at: 0,
            of: (0, TreeHash::EMPTY),
            tiles: Tiles::new(),
            full: BTreeSet::new(),
        };
        if mine.is_some_and(|mine| mine.0 == theirs.0) {
            self.split(&waiting, now);
            return Ok(Compared::Contradicts);
        }
        if !known && self.others.waiting.len() < MAX_WAITING {
            self.others.waiting.push_back(waiting);
            self.schedule.hint();
        }
        Ok(Compared::Waits)
    }

    /// Whether this authority contradicted itself, or does not prove now that it did not: see [`Follower::compare`].
    pub fn is_split(&self) -> Option<Contradicted> {
        self.others.doubted().then(Contradicted::new)
    }

    /// The accepted checkpoint as it was signed, for other followers to compare.
    pub fn checkpoint(&self) -> Option<&str> {
        self.state.head.as_ref().map(|pinned| pinned.head.head().checkpoint.as_str())
    }

    /// The next tile that a comparison needs; none when all that can be told now is told.
    pub(super) fn plan_others(&mut self, now: u64) -> Option<FetchTarget> {
        let mine = self.state.head.as_ref()?.head.checkpoint().clone();
        let mut at = 0;
        while let Some(mut waiting) = self.others.waiting.remove(at) {
            match waiting.judge(&mine, self.config.poll, now) {
                Verdict::Agrees => self.others.agree(waiting.checkpoint.size, waiting.checkpoint.root),
                Verdict::Contradicts => {
                    self.split(&waiting, now);
                    return None;
                }
                Verdict::Needs(path) => {
                    let note = waiting.note.clone();
                    self.others.waiting.insert(at, waiting);
                    return Some(FetchTarget::Other(note, path));
                }
                Verdict::Later => {
                    waiting.look(now);
                    self.others.waiting.insert(at, waiting);
                    at += 1;
                }
            }
        }
        self.doubt(now);
        None
    }

    /// Nothing counts while a checkpoint that the log key signed is not proved in time, and it counts again once all are.
    fn doubt(&mut self, now: u64) {
        let overdue = self.others.waiting.iter().find(|w| w.unproven_for > self.config.max_status_age);
        let other = overdue.map(|w| w.checkpoint.size);
        if other.is_some() == self.others.unproven {
            return;
        }
        self.others.unproven = other.is_some();
        if let (Some(other), Some(had)) = (other, &self.state.head) {
            let fault = FollowFault::Unproven { had: had.head.checkpoint().size, other };
            self.reports.add(None, fault, None, now);
        }
        self.show();
    }

    /// The path that a tile of a comparison is asked for by.
    pub(super) fn other_path(&self, note: &str, path: &TilePath) -> TilePath {
        let waiting = self.others.waiting.iter().find(|w| w.note == note);
        if waiting.is_some_and(|w| w.full.contains(path)) { path.full() } else { *path }
    }

    /// A tile of a comparison. That it cannot be had proves nothing by itself, and ends no round.
    pub(super) fn take_other(&mut self, note: &str, path: TilePath, answer: (u16, &[u8]), now: u64) {
        let retry_at = now.saturating_add(self.config.poll);
        let Some(waiting) = self.others.waiting.iter_mut().find(|w| w.note == note) else { return };
        let (status, body) = answer;
        let requested = if waiting.full.contains(&path) { path.full() } else { path };
        let wanted = path.width() as usize * 32;
        match status {
            200 if body.len() == requested.width() as usize * 32 => {
                waiting.tiles.insert(path, body.get(..wanted).unwrap_or_default().to_vec());
            }
            404 | 410 if requested != path.full() => {
                waiting.full.insert(path);
            }
            _ => waiting.retry_at = retry_at,
        }
    }

    /// Nothing came back for a tile of a comparison: no more of them is asked for before the next poll, and the round goes on. Whoever
    /// carries the tiles may break off each request for one, and the time in which nothing was proved counts all the same.
    pub(super) fn miss_others(&mut self, now: u64) {
        let retry_at = now.saturating_add(self.config.poll.max(1));
        for waiting in &mut self.others.waiting {
            waiting.retry_at = retry_at;
        }
    }

    /// Keeps both checkpoints as evidence and lets nothing of this authority count from now on, also after a restart.
    fn split(&mut self, other: &WaitingCheckpoint, now: u64) {
        let Some(had) = self.state.head.clone() else { return };
        let (size, theirs) = (had.head.checkpoint().size, other.checkpoint.size);
        let fault = FollowFault::SplitView { had: size, other: theirs };
        let files = [
            (HEAD, had.bytes.as_slice()),
            ("accepted-checkpoint.txt", had.head.head().checkpoint.as_bytes()),
            ("other-checkpoint.txt", other.note.as_bytes()),
        ];
        let evidence = self.keep(&fault, &files);
        let marker = serde_json::json!({
            "at": now, "from": other.from, "accepted": had.head.head().checkpoint, "other": other.note,
        });
        let complete = self.memory.begin();
        self.memory.spend_reserve();
        self.others.split = true;
        self.others.unwritten = crate::format::write(&marker).ok();
        self.others.waiting.clear();
        self.reports.add(None, fault, evidence, now);
        let written =
            self.remember_split().and_then(|()| if complete { Ok(self.memory.done()?) } else { Ok(()) });
        if let Err(fault) = written {
            self.unwritten(fault, now);
        }
        self.show();
    }

    /// Writes the contradiction that is not on disk yet.
    pub(super) fn remember_split(&mut self) -> Result<(), FollowFault> {
        if let Some(marker) = &self.others.unwritten {
            self.memory.write(SPLIT, marker)?;
            self.others.unwritten = None;
        }
        Ok(())
    }

    /// What was contradicted before the restart stays so, whatever is in the file, and also if it cannot be read.
    pub(super) fn recover_split(&mut self, now: u64) {
        if !matches!(self.memory.read(SPLIT, usize::MAX >> 1), Ok(None)) {
            self.others.split = true;
            let size = self.state.head.as_ref().map_or(0, |pinned| pinned.head.head().seq);
            self.reports.add(None, FollowFault::SplitView { had: size, other: 0 }, None, now);
        }
    }
}

/// That an authority contradicted itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contradicted(());

impl Contradicted {
    pub(crate) fn new() -> Contradicted {
        Contradicted(())
    }
}

enum Verdict {
    Agrees,
    Contradicts,
    Needs(TilePath),
    Later,
}

impl WaitingCheckpoint {
    /// Counts the time since the last look, which was a round that reached the authority, as one in which it could have been proved.
    fn look(&mut self, now: u64) -> u64 {
        let since = now.saturating_sub(self.looked_at).min(LONGEST_LOOK);
        self.looked_at = now;
        self.unproven_for = self.unproven_for.saturating_add(since);
        self.unproven_for
    }

    fn judge(&mut self, mine: &Checkpoint, poll: u64, now: u64) -> Verdict {
        let theirs = &self.checkpoint;
        if theirs.size == mine.size {
            return if theirs.root == mine.root { Verdict::Agrees } else { Verdict::Contradicts };
        }
        // A larger log is most likely only ahead: the next head brings it here.
        if theirs.size > mine.size && now < self.since.saturating_add(poll.saturating_mul(3)) {
            return Verdict::Later;
        }
        let (old, new) = if theirs.size < mine.size { (theirs, mine) } else { (mine, theirs) };
        if self.of != (new.size, new.root) {
            self.of = (new.size, new.root);
            self.tiles.clear();
            self.full.clear();
        }
        match check_consistency(old.size, old.root, new.size, new.root, &self.tiles) {
            Ok(()) => Verdict::Agrees,
            // Both are signed by the log key, and the tiles hash to the larger one.
            Err(ProofFault::NotAPrefix) => Verdict::Contradicts,
            Err(ProofFault::Missing(tiles)) if now >= self.retry_at => match tiles.first() {
                Some(path) => Verdict::Needs(*path),
                None => Verdict::Later,
            },
            Err(ProofFault::Missing(_)) => Verdict::Later,
            Err(_) => {
                self.tiles.clear();
                self.retry_at = now.saturating_add(poll);
                Verdict::Later
            }
        }
    }
}
