//! The writing side: the right edge of the tree in memory, and the files that an append writes.

use super::bundle::{decode_bundle, encode_bundle};
use super::prove::TileSource;
use super::{MAX_TREE_SIZE, TILE_WIDTH, TileFault, TilePath, TreeHash};

/// One file that an append writes: write its bytes under its path, whole, before the checkpoint that covers it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TileFile {
    /// Its path.
    pub path: TilePath,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The right edge of a tree: the hashes of the last, incomplete tile of every level and the entries of the last,
/// incomplete bundle. It holds at most 255 hashes a level and 255 entries, whatever the size.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    size: u64,
    levels: Vec<Vec<TreeHash>>,
    tail: Vec<Vec<u8>>,
}

impl Tree {
    /// The empty tree.
    pub fn new() -> Tree {
        Tree::default()
    }

    /// Reads the right edge of a tree of `size` from its tile files.
    ///
    /// Checks nothing against a root: compare [`Tree::root`] with a trusted checkpoint. A file that is missing or of the wrong length is
    /// [`TileFault::Length`] or [`TileFault::Bundle`].
    pub fn load(size: u64, source: &dyn TileSource) -> Result<Tree, TileFault> {
        if size > MAX_TREE_SIZE {
            return Err(TileFault::TooLarge);
        }
        let mut levels = Vec::new();
        let mut count = size;
        let mut level = 0u8;
        while count > 0 {
            let hashes = match edge_tile(level, count) {
                Some(path) => read_hashes(&source.tile(&path).ok_or(TileFault::Length)?, path.width())?,
                None => Vec::new(),
            };
            levels.push(hashes);
            count /= u64::from(TILE_WIDTH);
            level += 1;
        }
        let mut tail = Vec::new();
        let over = size % u64::from(TILE_WIDTH);
        if over > 0 {
            let path = TilePath::entries_holding(size - 1, size).ok_or(TileFault::Bundle)?;
            let bytes = source.tile(&path).ok_or(TileFault::Bundle)?;
            tail = decode_bundle(&bytes, path.width())?.into_iter().map(<[u8]>::to_vec).collect();
        }
        Ok(Tree { size, levels, tail })
    }

    /// Entries in the tree.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root hash (RFC 6962 §2.1); [`TreeHash::EMPTY`] for the empty tree.
    pub fn root(&self) -> TreeHash {
        fold_edge(&self.levels).unwrap_or(TreeHash::EMPTY)
    }

    /// Appends entries and returns every file that this makes or widens: bundles first, then hash tiles from the leaves up. Nothing changes
    /// if an entry is refused.
    pub fn append<E: AsRef<[u8]>>(&mut self, entries: &[E]) -> Result<Vec<TileFile>, TileFault> {
        let added = u64::try_from(entries.len()).map_err(|_| TileFault::TooLarge)?;
        if self.size.saturating_add(added) > MAX_TREE_SIZE {
            return Err(TileFault::TooLarge);
        }
        if entries.iter().any(|e| e.as_ref().is_empty() || e.as_ref().len() > super::MAX_ENTRY_BYTES) {
            return Err(TileFault::Entry);
        }
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let mut bundles = Vec::new();
        let mut tiles = Vec::new();
        for entry in entries {
            self.tail.push(entry.as_ref().to_vec());
            self.push_hash(0, TreeHash::of_leaf(entry.as_ref()), &mut tiles);
            self.size += 1;
            if self.size.is_multiple_of(u64::from(TILE_WIDTH)) {
                bundles.push(self.bundle_file()?);
                self.tail.clear();
            }
        }
        if !self.tail.is_empty() {
            bundles.push(self.bundle_file()?);
        }
        self.partial_tiles(added, &mut tiles);
        bundles.extend(tiles);
        Ok(bundles)
    }

    fn bundle_file(&self) -> Result<TileFile, TileFault> {
        let path = TilePath::entries_holding(self.size - 1, self.size).ok_or(TileFault::Bundle)?;
        Ok(TileFile { path, bytes: encode_bundle(&self.tail)? })
    }

    /// Adds a hash to a level; writes a tile that is now full, and adds its root one level up.
    fn push_hash(&mut self, level: u8, hash: TreeHash, out: &mut Vec<TileFile>) {
        let row = usize::from(level);
        if self.levels.len() <= row {
            self.levels.resize_with(row + 1, Vec::new);
        }
        let Some(hashes) = self.levels.get_mut(row) else { return };
        hashes.push(hash);
        if hashes.len() < TILE_WIDTH as usize {
            return;
        }
        let full = std::mem::take(hashes);
        // self.size is still the size before this leaf, so the tile that this leaf fills is the one it falls in.
        let n = self.size >> (u32::from(super::TILE_HEIGHT) * (u32::from(level) + 1));
        out.push(TileFile {
            path: TilePath::Hashes { level, n, width: TILE_WIDTH },
            bytes: write_hashes(&full),
        });
        if let Some(root) = subtree(&full) {
            self.push_hash(level + 1, root, out);
        }
    }

    /// The incomplete tile of each level that the last `added` entries changed.
    fn partial_tiles(&self, added: u64, out: &mut Vec<TileFile>) {
        for (level, hashes) in (0u8..).zip(&self.levels) {
            let shift = u32::from(super::TILE_HEIGHT) * u32::from(level);
            let changed = self.size >> shift != (self.size - added) >> shift;
            if let (true, Some(path)) = (changed, edge_tile(level, self.size >> shift)) {
                out.push(TileFile { path, bytes: write_hashes(hashes) });
            }
        }
    }
}

/// The incomplete tile at the end of a level of `count` hashes; none if the last one is full.
fn edge_tile(level: u8, count: u64) -> Option<TilePath> {
    let width = u32::try_from(count % u64::from(TILE_WIDTH)).ok()?;
    let n = count / u64::from(TILE_WIDTH);
    (width > 0).then_some(TilePath::Hashes { level, n, width })
}

/// The root of a tree from the incomplete last tile of each level, lowest level first. The hashes of a tile are complete subtrees, and the
/// lower levels together are the last, smaller one. None for no hashes.
pub(super) fn fold_edge(rows: &[Vec<TreeHash>]) -> Option<TreeHash> {
    rows.iter().fold(None, |right, hashes| {
        let mut row = hashes.clone();
        row.extend(right);
        subtree(&row)
    })
}

/// RFC 6962 §2.1 over nodes: all but the last are complete subtrees of one size; none for no nodes.
pub(super) fn subtree(nodes: &[TreeHash]) -> Option<TreeHash> {
    match nodes {
        [] => None,
        [one] => Some(*one),
        more => {
            // The largest power of two smaller than the count.
            let split = 1usize << (usize::BITS - 1 - (more.len() - 1).leading_zeros());
            let (left, right) = more.split_at_checked(split)?;
            Some(TreeHash::of_node(subtree(left)?, subtree(right)?))
        }
    }
}

fn write_hashes(hashes: &[TreeHash]) -> Vec<u8> {
    hashes.iter().flat_map(|h| h.0).collect()
}

pub(super) fn read_hashes(bytes: &[u8], width: u32) -> Result<Vec<TreeHash>, TileFault> {
    let (hashes, rest) = bytes.as_chunks::<32>();
    if !rest.is_empty() || hashes.len() != width as usize {
        return Err(TileFault::Length);
    }
    Ok(hashes.iter().map(|h| TreeHash(*h)).collect())
}
