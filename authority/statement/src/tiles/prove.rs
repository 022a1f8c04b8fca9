//! The reading side: proofs that a client computes from tiles, each authenticated against the root.
//!
//! `tlog_tiles::TileHashReader` is not used: version 0.2.0 counts the subtrees of the tree instead of their tiles. So it can return a tile
//! below the right edge without comparing it with its parent. A test beside this file (`…a_changed_tile_is_inconsistent`) holds the case.

use super::append::{fold_edge, read_hashes, subtree};
use super::{MAX_TREE_SIZE, TILE_HEIGHT, TILE_WIDTH, TilePath, TreeHash};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

/// A source of tile files: a directory, or the files fetched so far.
pub trait TileSource {
    /// The bytes of one file, or none if it is missing. The bytes need not be trusted.
    fn tile(&self, path: &TilePath) -> Option<Vec<u8>>;
}

impl TileSource for HashMap<TilePath, Vec<u8>> {
    fn tile(&self, path: &TilePath) -> Option<Vec<u8>> {
        self.get(path).cloned()
    }
}

impl TileSource for BTreeMap<TilePath, Vec<u8>> {
    fn tile(&self, path: &TilePath) -> Option<Vec<u8>> {
        self.get(path).cloned()
    }
}

/// Reason why a proof could not be computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProofFault {
    /// These tiles are missing (or have the wrong length): fetch them and ask again. More may follow.
    Missing(Vec<TilePath>),
    /// The tiles do not hash to the root.
    Inconsistent,
    /// The older tree is not a prefix of the newer one: the log was forked.
    NotAPrefix,
    /// An index or a size past the end of the tree, or a tree past [`MAX_TREE_SIZE`].
    OutOfRange,
}

impl fmt::Display for ProofFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProofFault::Missing(tiles) => write!(f, "{} tiles are missing", tiles.len()),
            ProofFault::Inconsistent => f.write_str("tiles do not hash to the root of the checkpoint"),
            ProofFault::NotAPrefix => f.write_str("the older tree is not a prefix of the newer one"),
            ProofFault::OutOfRange => f.write_str("index or size past the end of the tree"),
        }
    }
}

impl std::error::Error for ProofFault {}

/// Guarantees that the tree of `old_size` with `old_root` is a prefix of the tree of `size` with `root`. Computes the old root again from
/// tiles that hash to the new one.
///
/// Errors: [`ProofFault::Missing`] names the tiles to fetch; [`ProofFault::NotAPrefix`] is a fork.
pub fn check_consistency(
    old_size: u64,
    old_root: TreeHash,
    size: u64,
    root: TreeHash,
    source: &dyn TileSource,
) -> Result<(), ProofFault> {
    if old_size > size || size > MAX_TREE_SIZE {
        return Err(ProofFault::OutOfRange);
    }
    if old_size == 0 {
        return if old_root == TreeHash::EMPTY { Ok(()) } else { Err(ProofFault::NotAPrefix) };
    }
    let mut tiles = Authenticated::new(size, root, source);
    // The right edge of the old tree: in each level, the start of one tile of the new tree.
    let edge: Vec<(u8, u64, usize)> = levels(old_size)
        .filter_map(|(level, count)| {
            let width = usize::try_from(count % u64::from(TILE_WIDTH)).ok()?;
            (width > 0).then_some((level, count / u64::from(TILE_WIDTH), width))
        })
        .collect();
    tiles.authenticate(edge.iter().map(|(level, n, _)| (*level, *n)))?;
    let mut rows = Vec::new();
    for (level, n, width) in edge {
        rows.push(tiles.get(level, n)?.get(..width).ok_or(ProofFault::OutOfRange)?.to_vec());
    }
    if fold_edge(&rows) == Some(old_root) { Ok(()) } else { Err(ProofFault::NotAPrefix) }
}

/// The leaf hashes at these indexes of the tree of `size` with `root`, each proved. Compare them with [`TreeHash::of_leaf`] of an entry:
/// equality is an inclusion proof.
pub fn leaf_hashes(
    indexes: &[u64],
    size: u64,
    root: TreeHash,
    source: &dyn TileSource,
) -> Result<Vec<TreeHash>, ProofFault> {
    if size > MAX_TREE_SIZE || indexes.iter().any(|index| *index >= size) {
        return Err(ProofFault::OutOfRange);
    }
    if indexes.is_empty() {
        return Ok(Vec::new());
    }
    let mut tiles = Authenticated::new(size, root, source);
    tiles.authenticate(indexes.iter().map(|index| (0, index / u64::from(TILE_WIDTH))))?;
    let mut leaves = Vec::with_capacity(indexes.len());
    for index in indexes {
        let within = usize::try_from(index % u64::from(TILE_WIDTH)).map_err(|_| ProofFault::OutOfRange)?;
        let tile = tiles.get(0, index / u64::from(TILE_WIDTH))?;
        leaves.push(*tile.get(within).ok_or(ProofFault::OutOfRange)?);
    }
    Ok(leaves)
}

/// Levels of tiles in a tree, each with the number of its hashes.
fn levels(size: u64) -> impl Iterator<Item = (u8, u64)> {
    (0u8..8)
        .map(move |level| (level, size >> (u32::from(TILE_HEIGHT) * u32::from(level))))
        .filter(|(_, n)| *n > 0)
}

/// Tiles of one tree that were proved to belong to it.
pub(super) struct Authenticated<'a> {
    size: u64,
    root: TreeHash,
    source: &'a dyn TileSource,
    proved: BTreeMap<(u8, u64), Vec<TreeHash>>,
    missing: Vec<TilePath>,
}

impl<'a> Authenticated<'a> {
    pub(super) fn new(size: u64, root: TreeHash, source: &'a dyn TileSource) -> Authenticated<'a> {
        Authenticated { size, root, source, proved: BTreeMap::new(), missing: Vec::new() }
    }

    /// Proves the right edge against the root, then each wanted tile against its parent, from the top down.
    pub(super) fn authenticate(&mut self, wanted: impl Iterator<Item = (u8, u64)>) -> Result<(), ProofFault> {
        let mut needed: BTreeSet<(u8, u64)> = BTreeSet::new();
        for (level, n) in wanted {
            let mut at = (level, n);
            // A full tile is proved by its parent; every tile above the edge has one.
            while needed.insert(at) && self.path(at.0, at.1)?.width() == TILE_WIDTH {
                at = (at.0 + 1, at.1 / u64::from(TILE_WIDTH));
            }
        }
        let edge = self.read_edge()?;
        let mut read = Vec::new();
        for at in needed.into_iter().rev() {
            if !edge.iter().any(|(there, _)| *there == at) {
                read.push((at, self.read(at.0, at.1)?));
            }
        }
        if !self.missing.is_empty() {
            return Err(ProofFault::Missing(std::mem::take(&mut self.missing)));
        }
        let rows: Vec<Vec<TreeHash>> = edge.iter().map(|(_, hashes)| hashes.clone()).collect();
        if fold_edge(&rows) != Some(self.root) {
            return Err(ProofFault::Inconsistent);
        }
        self.proved.extend(edge);
        for (at, hashes) in read {
            let parent = self.get(at.0 + 1, at.1 / u64::from(TILE_WIDTH))?;
            let within = usize::try_from(at.1 % u64::from(TILE_WIDTH)).map_err(|_| ProofFault::OutOfRange)?;
            if subtree(&hashes) != parent.get(within).copied() {
                return Err(ProofFault::Inconsistent);
            }
            self.proved.insert(at, hashes);
        }
        Ok(())
    }

    /// The incomplete last tile of each level, lowest first: together they give the root, which proves them all.
    #[expect(
        clippy::type_complexity,
        reason = "tiles by level and number, taken apart at once by the callers"
    )]
    fn read_edge(&mut self) -> Result<Vec<((u8, u64), Vec<TreeHash>)>, ProofFault> {
        let mut rows = Vec::new();
        for (level, count) in levels(self.size) {
            if count % u64::from(TILE_WIDTH) != 0 {
                let n = count / u64::from(TILE_WIDTH);
                rows.push(((level, n), self.read(level, n)?));
            }
        }
        Ok(rows)
    }

    fn path(&self, level: u8, n: u64) -> Result<TilePath, ProofFault> {
        TilePath::hashes_in(level, n, self.size).ok_or(ProofFault::OutOfRange)
    }

    /// An unproved tile; empty, and noted as missing, if it is absent.
    fn read(&mut self, level: u8, n: u64) -> Result<Vec<TreeHash>, ProofFault> {
        let path = self.path(level, n)?;
        let hashes = self.source.tile(&path).and_then(|bytes| read_hashes(&bytes, path.width()).ok());
        if hashes.is_none() {
            self.missing.push(path);
        }
        Ok(hashes.unwrap_or_default())
    }

    /// The hashes of a proved tile.
    pub(super) fn get(&self, level: u8, n: u64) -> Result<&[TreeHash], ProofFault> {
        self.proved.get(&(level, n)).map(Vec::as_slice).ok_or(ProofFault::Inconsistent)
    }
}
