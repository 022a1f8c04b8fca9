//! The reading side: proofs that a client computes for itself from tiles, each tile authenticated against the root.

use super::{MAX_TREE_SIZE, TILE_HEIGHT, TilePath, TreeHash};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use tlog_tiles::{Hash, HashReader as _, Tile, TileHashReader, TileReader};

/// Where tile files come from: a directory, or what was fetched so far.
pub trait TileSource {
    /// The bytes of one file, or none if it is not here. The bytes need not be trusted.
    fn tile(&self, path: &TilePath) -> Option<Vec<u8>>;
}

impl TileSource for HashMap<TilePath, Vec<u8>> {
    fn tile(&self, path: &TilePath) -> Option<Vec<u8>> {
        self.get(path).cloned()
    }
}

impl TileSource for std::collections::BTreeMap<TilePath, Vec<u8>> {
    fn tile(&self, path: &TilePath) -> Option<Vec<u8>> {
        self.get(path).cloned()
    }
}

/// Why a proof could not be computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProofFault {
    /// These tiles are not here yet (or have the wrong length): fetch them and ask again.
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

/// Guarantees that the tree of `old_size` with `old_root` is a prefix of the tree of `size` with `root`: the old root
/// is computed anew from tiles that hash to the new one.
///
/// Errors: [`ProofFault::Missing`] names what to fetch; [`ProofFault::NotAPrefix`] is a fork.
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
    let needed = tlog_tiles::sub_tree_index(0, old_size, Vec::new());
    let hashes = read(&needed, size, root, source)?;
    // The subtrees of the old tree, largest first; folded from the right they are its root.
    let folded = hashes.into_iter().rev().reduce(|right, left| TreeHash::of_node(left, right));
    if folded == Some(old_root) { Ok(()) } else { Err(ProofFault::NotAPrefix) }
}

/// The leaf hashes at these indexes of the tree of `size` with `root`, each proved to be in it. Compare them with
/// [`TreeHash::of_leaf`] of an entry: equality is an inclusion proof.
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
    let needed: Vec<u64> = indexes.iter().map(|index| tlog_tiles::stored_hash_index(0, *index)).collect();
    read(&needed, size, root, source)
}

fn read(
    stored: &[u64],
    size: u64,
    root: TreeHash,
    source: &dyn TileSource,
) -> Result<Vec<TreeHash>, ProofFault> {
    if size == 0 {
        // The tile reader indexes into the subtrees of the tree, and the empty one has none.
        return if stored.is_empty() { Ok(Vec::new()) } else { Err(ProofFault::OutOfRange) };
    }
    let reader = Reader { source, missing: RefCell::new(Vec::new()) };
    let found = TileHashReader::new(size, Hash(root.0), &reader).read_hashes(stored);
    match found {
        Ok(hashes) => Ok(hashes.into_iter().map(|h| TreeHash(h.0)).collect()),
        Err(_) => {
            let missing = reader.missing.into_inner();
            Err(if missing.is_empty() { ProofFault::Inconsistent } else { ProofFault::Missing(missing) })
        }
    }
}

struct Reader<'a> {
    source: &'a dyn TileSource,
    missing: RefCell<Vec<TilePath>>,
}

impl TileReader for Reader<'_> {
    fn height(&self) -> u8 {
        TILE_HEIGHT
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, tlog_tiles::Error> {
        let mut data = Vec::with_capacity(tiles.len());
        for tile in tiles {
            let path = TilePath::Hashes { level: tile.level(), n: tile.level_index(), width: tile.width() };
            match self.source.tile(&path) {
                Some(bytes) if bytes.len() == tile.width() as usize * 32 => data.push(bytes),
                _ => self.missing.borrow_mut().push(path),
            }
        }
        if self.missing.borrow().is_empty() { Ok(data) } else { Err(tlog_tiles::Error::InvalidTile) }
    }

    fn save_tiles(&self, _tiles: &[Tile], _data: &[Vec<u8>]) {}
}
