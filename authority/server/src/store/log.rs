//! The log on disk: C2SP `tlog-tiles` files and one signed checkpoint.
//!
//! **The checkpoint file is the commit record.** An append first writes all its files beside their places, fsynced: documents, entry
//! bundles, hash tiles, checkpoint, head. So a full disk shows before anything has changed. Then it renames in this order, each step
//! durable before the next: documents and tiles, the checkpoint, the head. Nothing is answered before the checkpoint is durable. A crash
//! before it leaves the old log, and a crash after it the new one, whole. Leftovers of one append past the checkpoint were never
//! acknowledged and are set aside, so no two trees of one size are ever signed. More leftovers mean that the checkpoint is older than the
//! log: then nothing is touched and the log does not open. Hash tiles are repaired from the entries. Entries cannot be repaired: if they do
//! not hash to the checkpoint, the log does not open.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use super::leftovers::Leftovers;
use super::pinned_checkpoint::PinnedCheckpoint;
use super::source::Repaired;

use semgate_statement::checkpoint::{Checkpoint, CheckpointFault, LogKey, LogVerifier};
use semgate_statement::tiles::{TILE_WIDTH, TilePath, Tree, TreeHash, decode_bundle, encode_bundle};

use super::last_seen::{LastSeen, TO_DO};
use crate::config::BATCH;
use crate::disk::{Reserve, TempFile};
use crate::{RunFault, disk};

/// The incomplete tiles at the end of a tree, each by the name of its full tile.
pub(crate) type Edge = BTreeMap<TilePath, (u32, Arc<[u8]>)>;

/// Callback for index and bytes of each entry, in order.
pub(crate) type EntryVisitor<'a> = &'a mut dyn FnMut(u64, &[u8]) -> Result<(), RunFault>;

/// A file outside the tree that the checkpoint covers.
struct Stray {
    path: PathBuf,
    /// End of an entry bundle past the checkpoint.
    entries: Option<u64>,
}

/// An open log; the only writer of its directory.
pub(crate) struct Log {
    dir: PathBuf,
    key: LogKey,
    tree: Tree,
    checkpoint: String,
    pub(super) edge: Edge,
}

/// A prepared append that is not written yet.
pub(crate) struct Append {
    tree: Tree,
    checkpoint: String,
    edge: Edge,
    tiles: Vec<(PathBuf, Vec<u8>)>,
    superseded: Vec<TilePath>,
}

impl Append {
    /// The state of the log after the commit.
    pub fn state(&self) -> LogState<'_> {
        LogState {
            size: self.tree.size(),
            root: self.tree.root(),
            checkpoint: &self.checkpoint,
            edge: &self.edge,
        }
    }
}

/// A log at one size, as a head shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogState<'a> {
    /// Entries in the log.
    pub size: u64,
    /// Its root hash.
    pub root: TreeHash,
    /// The signed checkpoint of all entries.
    pub checkpoint: &'a str,
    /// The incomplete tiles at its end.
    pub edge: &'a Edge,
}

/// Findings and repairs from opening a log.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// There was no log: a new one of size 0 was begun.
    pub begun: bool,
    /// Hash tiles that were missing or wrong and were written anew from the entries.
    pub repaired: u64,
    /// Files past the checkpoint, or superseded, that were removed or set aside.
    pub removed: u64,
}

/// Work after the checkpoint is durable, and before any answer.
#[derive(Default)]
pub(crate) struct CommitFiles<'a> {
    /// Files to put into their places.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// The store of the checkpoint kept apart. If it fails, this process must end: a published state that is not kept could be forked by
    /// the next restore.
    pub pinned: Option<&'a mut PinnedCheckpoint>,
    /// Reserved room for the checkpoint kept apart: past the commit point nothing can be refused.
    pub reserve: Option<&'a Reserve>,
}

/// Reason why an append did not happen.
#[derive(Debug)]
pub(crate) enum AppendFault {
    /// Before the commit point: the log on disk is unchanged.
    Before(RunFault),
    /// At the commit point: the new checkpoint may or may not survive a power cut, so this process must end and start again.
    Commit(RunFault),
}

impl Log {
    /// Opens or begins the log in `dir`, hands every entry to `each` in order, and checks all of it against the checkpoint. Writes, moves
    /// or removes nothing before it is clear that the checkpoint is not older than `witness` or than the tiles beside it.
    pub fn open(
        dir: &Path,
        key: LogKey,
        witness: &LastSeen,
        leftovers: &Leftovers,
        each: EntryVisitor<'_>,
    ) -> Result<(Self, Recovery), RunFault> {
        let mut recovery = Recovery::default();
        let path = dir.join("checkpoint");
        let stored = read_checkpoint(&path, key.verifier())?;
        witness.judge(&path, stored.as_ref().map(|(checkpoint, _)| checkpoint))?;
        let (checkpoint, note) = match stored {
            Some(found) => {
                // A process killed between the rename and the end of the commit leaves a name that is visible but not durable.
                disk::sync_dir(dir)?;
                found
            }
            None => {
                begin(dir, &path, &key)?;
                recovery.begun = true;
                read_checkpoint(&path, key.verifier())?
                    .ok_or_else(|| RunFault::damaged(&path, "it cannot be read back"))?
            }
        };
        let mut log =
            Self { dir: dir.to_path_buf(), key, tree: Tree::new(), checkpoint: note, edge: Edge::new() };
        let wrong = log.replay(checkpoint.size, each)?;
        if log.tree.root() != checkpoint.root {
            // The hash tiles on disk show which entries changed; they stay as they are.
            let near = wrong.first().map(|(tile, _)| format!("; the first tile that differs is `{tile}`"));
            let what = format!(
                "its {} entries do not hash to the root of the checkpoint{}",
                checkpoint.size,
                near.unwrap_or_default()
            );
            return Err(RunFault::damaged(dir, what));
        }
        let repaired = Repaired { log: &log, wrong: &wrong };
        witness.is_continued_by(&path, checkpoint.size, checkpoint.root, &repaired)?;
        let past = log.beyond_checkpoint(witness)?;
        for (tile, bytes) in &wrong {
            let path = log.path(tile);
            disk::make_dir(&disk::parent(&path))?;
            disk::write(&path, bytes)?;
        }
        recovery.repaired = wrong.len() as u64;
        recovery.removed = log.clear(&past, leftovers)?;
        Ok((log, recovery))
    }

    /// Signs the checkpoint again if the log changed its key: same size and root. Returns true if one of the signing keys is among those
    /// that count; if not, writes nothing.
    pub fn resign(&mut self, counting: &LogVerifier) -> Result<bool, RunFault> {
        let note = self.key.sign(self.size(), self.root()).map_err(|e| unsigned(&self.dir, e))?;
        if Checkpoint::verify(note.as_bytes(), counting, counting.name()).is_err() {
            return Ok(false);
        }
        // others may have signed below
        if !self.checkpoint.starts_with(&note) {
            disk::write(&self.dir.join("checkpoint"), note.as_bytes())?;
            self.checkpoint = note;
        }
        Ok(true)
    }

    /// Reads a log without changing anything: every entry in order, checked against the checkpoint.
    pub fn peek(dir: &Path, key: &LogVerifier, each: EntryVisitor<'_>) -> Result<Checkpoint, RunFault> {
        let path = dir.join("checkpoint");
        let (checkpoint, _) = read_checkpoint(&path, key)?.ok_or_else(|| RunFault::Missing {
            path: path.clone(),
            what: "there is no log here yet; the first `semgate authority run` creates it".to_owned(),
        })?;
        let mut tree = Tree::new();
        let mut index = 0;
        while let Some(bundle) = TilePath::entries_holding(index, checkpoint.size) {
            let bytes = read_bundle(dir, &bundle)?;
            let damaged = |e| RunFault::damaged(&tile_file(dir, &bundle), e);
            let entries = decode_bundle(&bytes, bundle.width()).map_err(damaged)?;
            tree.append(&entries).map_err(damaged)?;
            for entry in entries {
                each(index, entry)?;
                index += 1;
            }
        }
        if tree.root() != checkpoint.root {
            return Err(RunFault::damaged(dir, "its entries do not hash to the root of the checkpoint"));
        }
        Ok(checkpoint)
    }

    /// The key that verifies its checkpoints.
    pub fn verifier(&self) -> &LogVerifier {
        self.key.verifier()
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A copy of the log key, for opening the log again.
    pub fn key_again(&self) -> LogKey {
        self.key.clone()
    }

    /// Entries in the log.
    pub fn size(&self) -> u64 {
        self.tree.size()
    }

    /// Its root hash.
    pub fn root(&self) -> TreeHash {
        self.tree.root()
    }

    /// The signed checkpoint of all entries.
    pub fn checkpoint(&self) -> &str {
        &self.checkpoint
    }

    /// Bytes of the incomplete tiles at its end, which every append rewrites.
    pub fn edge_bytes(&self) -> usize {
        self.edge.values().map(|(_, bytes)| bytes.len()).sum()
    }

    /// The state for a head.
    pub fn state(&self) -> LogState<'_> {
        LogState { size: self.size(), root: self.root(), checkpoint: &self.checkpoint, edge: &self.edge }
    }

    /// The log with these entries appended. Writes nothing.
    pub fn extend(&self, entries: &[Vec<u8>]) -> Result<Append, RunFault> {
        let mut tree = self.tree.clone();
        let wrong = |e: &dyn std::fmt::Display| RunFault::damaged(&self.dir, e);
        let files = tree.append(entries).map_err(|e| wrong(&e))?;
        let checkpoint = self.key.sign(tree.size(), tree.root()).map_err(|e| unsigned(&self.dir, e))?;
        let (mut edge, mut superseded) = (self.edge.clone(), Vec::new());
        let mut tiles = Vec::with_capacity(files.len());
        for file in files {
            let (full, width) = (file.path.full(), file.path.width());
            let old = match width {
                TILE_WIDTH => edge.remove(&full),
                _ => edge.insert(full, (width, file.bytes.as_slice().into())),
            };
            superseded.extend(old.map(|(old, _)| with_width(full, old)));
            tiles.push((self.path(&file.path), file.bytes));
        }
        Ok(Append { tree, checkpoint, edge, tiles, superseded })
    }

    /// Repeats the last signature of the log key, to test that it signs.
    pub fn check_key_signs(&self) -> Result<(), RunFault> {
        self.key.sign(self.size(), self.root()).map(drop).map_err(|e| unsigned(&self.dir, e))
    }

    /// Commits an append: `begun` and `first` go to disk with the tiles before the checkpoint, `after` follows it. All of it is durable
    /// when this returns.
    pub fn commit(
        &mut self,
        append: Append,
        begun: Vec<TempFile>,
        mut first: Vec<(PathBuf, Vec<u8>)>,
        after: CommitFiles<'_>,
    ) -> Result<(), AppendFault> {
        let Append { tree, checkpoint, edge, tiles, superseded } = append;
        for (path, bytes) in tiles {
            disk::make_dir(&disk::parent(&path)).map_err(AppendFault::Before)?;
            first.push((path, bytes));
        }
        let record = [(self.dir.join("checkpoint"), checkpoint.clone().into_bytes())];
        let groups = [first.as_slice(), record.as_slice(), after.files.as_slice()];
        let [first, record, last] = disk::stage(groups).map_err(AppendFault::Before)?;
        first.with(begun).install().map_err(AppendFault::Before)?;
        record.rename().map_err(AppendFault::Before)?.sync().map_err(AppendFault::Commit)?;
        let placed = match after.pinned {
            None => last.install(),
            // the two writes do not wait for each other's disk
            Some(kept) => thread::scope(|scope| {
                let keeping = scope.spawn(|| match after.reserve {
                    Some(reserve) => reserve.lend(|| kept.advance(&checkpoint)),
                    None => kept.advance(&checkpoint),
                });
                let placed = last.install();
                let died =
                    || RunFault::Stopped("a thread died while it saved the separate checkpoint".to_owned());
                placed.and(keeping.join().unwrap_or_else(|_| Err(died())))
            }),
        };
        placed.map_err(AppendFault::Commit)?;
        (self.tree, self.checkpoint, self.edge) = (tree, checkpoint, edge);
        for tile in superseded {
            // A leftover does no harm: the next start removes it.
            let path = self.path(&tile);
            let _ = fs::remove_file(&path);
            if widest(&tile, self.size()) == Some(TILE_WIDTH) {
                let _ = fs::remove_dir(disk::parent(&path));
            }
        }
        Ok(())
    }

    pub(super) fn path(&self, tile: &TilePath) -> PathBuf {
        tile_file(&self.dir, tile)
    }

    /// Reads the bundles and rebuilds the tree; returns the files that are missing or wrong on disk.
    fn replay(&mut self, size: u64, each: EntryVisitor<'_>) -> Result<Vec<(TilePath, Vec<u8>)>, RunFault> {
        let mut wrong = Vec::new();
        let mut index = 0;
        while let Some(bundle) = TilePath::entries_holding(index, size) {
            let path = self.path(&bundle);
            let bytes = match disk::read(&path)? {
                Some(bytes) => bytes,
                None => return Err(without_its_bundle(&self.dir, &bundle)),
            };
            let entries = decode_bundle(&bytes, bundle.width()).map_err(|e| RunFault::damaged(&path, e))?;
            for file in self.tree.append(&entries).map_err(|e| RunFault::damaged(&path, e))? {
                let key = file.path.full();
                if file.path.width() < TILE_WIDTH {
                    self.edge.insert(key, (file.path.width(), file.bytes.into()));
                    continue;
                }
                self.edge.remove(&key);
                if disk::read(&self.path(&file.path))?.as_ref() != Some(&file.bytes) {
                    wrong.push((file.path, file.bytes));
                }
            }
            for entry in entries {
                each(index, entry)?;
                index += 1;
            }
        }
        for (full, (width, bytes)) in &self.edge {
            let tile = with_width(*full, *width);
            if disk::read(&self.path(&tile))?.as_deref() != Some(bytes) {
                wrong.push((tile, bytes.to_vec()));
            }
        }
        Ok(wrong)
    }

    /// Every file below `tile/` outside this tree. Refuses if they are more than one cut-short append.
    fn beyond_checkpoint(&self, witness: &LastSeen) -> Result<Vec<Stray>, RunFault> {
        let mut past = Vec::new();
        let mut dirs = vec![self.dir.join("tile")];
        while let Some(dir) = dirs.pop() {
            for name in disk::list(&dir)? {
                let path = dir.join(&name);
                if path.is_dir() {
                    dirs.push(path);
                    continue;
                }
                let relative = path.strip_prefix(&self.dir).map(|p| format!("/{}", p.display()));
                let tile = relative.ok().and_then(|text| TilePath::parse(&text).ok());
                if tile.is_some_and(|tile| self.holds(&tile)) {
                    continue;
                }
                let entries = match tile {
                    Some(TilePath::Entries { n, width }) => {
                        let until = n.saturating_mul(u64::from(TILE_WIDTH)).saturating_add(u64::from(width));
                        (until > self.size()).then_some(until)
                    }
                    _ => None,
                };
                past.push(Stray { path, entries });
            }
        }
        for stray in &past {
            let Some(until) = stray.entries else { continue };
            witness.explains(&stray.path)?;
            if until - self.size() > BATCH as u64 {
                let what = format!(
                    "there are entries up to {until}, more than one append past the {} of the checkpoint; {TO_DO}",
                    self.size()
                );
                return Err(RunFault::damaged(&stray.path, what));
            }
        }
        Ok(past)
    }

    /// Sets entries without a checkpoint aside, and removes derived files: hash tiles, superseded and half-written files.
    fn clear(&self, past: &[Stray], leftovers: &Leftovers) -> Result<u64, RunFault> {
        let entries: Vec<&Path> =
            past.iter().filter(|s| s.entries.is_some()).map(|s| s.path.as_path()).collect();
        leftovers.take(&entries)?;
        for stray in past.iter().filter(|stray| stray.entries.is_none()) {
            fs::remove_file(&stray.path).map_err(RunFault::io("removing", &stray.path))?;
        }
        Ok(past.len() as u64)
    }

    fn holds(&self, tile: &TilePath) -> bool {
        widest(tile, self.size()) == Some(tile.width())
    }
}

fn tile_file(dir: &Path, tile: &TilePath) -> PathBuf {
    dir.join(tile.to_string().trim_start_matches('/'))
}

/// The fault for a missing last bundle of the checkpoint. It is removed only once the checkpoint of a wider one is durable, so a wider one
/// in its place was acknowledged.
fn without_its_bundle(dir: &Path, bundle: &TilePath) -> RunFault {
    match read_bundle(dir, bundle) {
        Ok(_) => RunFault::damaged(
            &dir.join("checkpoint"),
            format_args!(
                "it is older than the entries: `{bundle}` was replaced by a wider one; serving it would be a rollback; {TO_DO}"
            ),
        ),
        Err(fault) => fault,
    }
}

/// The bundle of this exact width, or the beginning of a wider one.
fn read_bundle(dir: &Path, bundle: &TilePath) -> Result<Vec<u8>, RunFault> {
    let path = tile_file(dir, bundle);
    if let Some(bytes) = disk::read(&path)? {
        return Ok(bytes);
    }
    for width in (bundle.width() + 1..=TILE_WIDTH).rev() {
        let wider = with_width(bundle.full(), width);
        if let Some(bytes) = disk::read(&tile_file(dir, &wider))? {
            return cut(&wider, &bytes, bundle.width())
                .ok_or_else(|| RunFault::damaged(&path, "it is missing"));
        }
    }
    Err(RunFault::damaged(&path, "it is missing, and nothing else holds its entries"))
}

/// Width of the named tile in a tree of `size`; none if the tree has no such tile.
pub(crate) fn widest(tile: &TilePath, size: u64) -> Option<u32> {
    let widest = match *tile {
        TilePath::Hashes { level, n, .. } => TilePath::hashes_in(level, n, size),
        TilePath::Entries { n, .. } => TilePath::entries_holding(n.checked_mul(u64::from(TILE_WIDTH))?, size),
    };
    widest.map(|tile| tile.width())
}

/// The first `width` items of a tile; none if it is not a tile of at least that width.
pub(crate) fn cut(tile: &TilePath, bytes: &[u8], width: u32) -> Option<Vec<u8>> {
    match tile {
        TilePath::Hashes { .. } => bytes.get(..width as usize * 32).map(<[u8]>::to_vec),
        TilePath::Entries { .. } => {
            let entries = decode_bundle(bytes, tile.width()).ok()?;
            encode_bundle(entries.get(..width as usize)?).ok()
        }
    }
}

pub(crate) fn with_width(tile: TilePath, width: u32) -> TilePath {
    match tile {
        TilePath::Hashes { level, n, .. } => TilePath::Hashes { level, n, width },
        TilePath::Entries { n, .. } => TilePath::Entries { n, width },
    }
}

fn read_checkpoint(path: &Path, key: &LogVerifier) -> Result<Option<(Checkpoint, String)>, RunFault> {
    let Some(bytes) = disk::read(path)? else { return Ok(None) };
    let checkpoint = Checkpoint::verify(&bytes, key, key.name()).map_err(|e| RunFault::damaged(path, e))?;
    let note = String::from_utf8(bytes).map_err(|e| RunFault::damaged(path, e))?;
    Ok(Some((checkpoint, note)))
}

/// Begins a new log, which has no files at all: tiles without a checkpoint are a log that lost its commit record.
fn begin(dir: &Path, path: &Path, key: &LogKey) -> Result<(), RunFault> {
    if !disk::list(&dir.join("tile"))?.is_empty() {
        let what = "it is missing although there are tiles; restore it from a backup or from what followers saw last";
        return Err(RunFault::damaged(path, what));
    }
    let note = key.sign(0, TreeHash::EMPTY).map_err(|e| unsigned(path, e))?;
    disk::write(path, note.as_bytes())
}

/// A log key that does not sign now is no fault of the files.
fn unsigned(path: &Path, fault: CheckpointFault) -> RunFault {
    match fault {
        CheckpointFault::Signer(fault) => RunFault::Signer { role: "log", fault },
        fault => RunFault::damaged(path, fault),
    }
}
