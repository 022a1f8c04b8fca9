//! Inclusion and consistency proofs as lists of hashes (RFC 6962 §2.1.1 and §2.1.2), for readers without tiles. They are made from tiles
//! authenticated against the root, and checked with roots alone.

use super::append::subtree;
use super::prove::{Authenticated, ProofFault, TileSource};
use super::{MAX_TREE_SIZE, TILE_HEIGHT, TILE_WIDTH, TreeHash};
use tlog_tiles::{Hash, check_record, check_tree};

/// Hashes in a proof, at most: one for each level of a tree of 2^63, the bound of C2SP `tlog-witness`.
pub const MAX_PROOF_HASHES: usize = 63;

/// Leaves from the first of the pair up to, but without, the second.
type Range = (u64, u64);

/// The hashes that lead from the leaf at `index` to `root`, the leaf's sibling first.
///
/// Errors: as for [`super::leaf_hashes`].
pub fn inclusion_proof(
    index: u64,
    size: u64,
    root: TreeHash,
    source: &dyn TileSource,
) -> Result<Vec<TreeHash>, ProofFault> {
    if index >= size || size > MAX_TREE_SIZE {
        return Err(ProofFault::OutOfRange);
    }
    hashes(&inclusion_ranges(index, size), size, root, source)
}

/// A proof that the tree of `old` entries is a prefix of the one of `size` with `root`. No hashes for the empty tree and for equal trees.
///
/// Errors: as for [`super::leaf_hashes`].
pub fn consistency_proof(
    old: u64,
    size: u64,
    root: TreeHash,
    source: &dyn TileSource,
) -> Result<Vec<TreeHash>, ProofFault> {
    if old > size || size > MAX_TREE_SIZE {
        return Err(ProofFault::OutOfRange);
    }
    if old == 0 || old == size {
        return Ok(Vec::new());
    }
    hashes(&consistency_ranges(old, size), size, root, source)
}

/// The root of the first `old` entries of a tree, from tiles that hash to its root.
///
/// Errors: as for [`super::leaf_hashes`].
pub fn root_of_prefix(
    old: u64,
    size: u64,
    root: TreeHash,
    source: &dyn TileSource,
) -> Result<TreeHash, ProofFault> {
    match old {
        0 => Ok(TreeHash::EMPTY),
        _ if old > size || size > MAX_TREE_SIZE => Err(ProofFault::OutOfRange),
        _ => hashes(&[(0, old)], size, root, source)?.first().copied().ok_or(ProofFault::Inconsistent),
    }
}

/// Checks that an entry whose leaf hash is `leaf` is at `index` of the tree of `size` with `root`.
///
/// Errors: [`ProofFault::OutOfRange`], or [`ProofFault::Inconsistent`] for an invalid proof or an extra hash.
pub fn check_inclusion(
    index: u64,
    size: u64,
    root: TreeHash,
    leaf: TreeHash,
    proof: &[TreeHash],
) -> Result<(), ProofFault> {
    if index >= size || size > MAX_TREE_SIZE || proof.len() > MAX_PROOF_HASHES {
        return Err(ProofFault::OutOfRange);
    }
    check_record(&foreign(proof), size, Hash(root.0), index, Hash(leaf.0))
        .map_err(|_| ProofFault::Inconsistent)
}

/// Checks that the tree of `old` entries with `old_root` is a prefix of the one of `size` with `root`.
///
/// Errors: [`ProofFault::OutOfRange`]; [`ProofFault::NotAPrefix`] for different roots of one size (0 included);
/// [`ProofFault::Inconsistent`] for an invalid proof or an extra hash.
pub fn check_consistency_proof(
    old: u64,
    old_root: TreeHash,
    size: u64,
    root: TreeHash,
    proof: &[TreeHash],
) -> Result<(), ProofFault> {
    if old > size || size > MAX_TREE_SIZE || proof.len() > MAX_PROOF_HASHES {
        return Err(ProofFault::OutOfRange);
    }
    if (old == 0 && old_root != TreeHash::EMPTY) || (old == size && old_root != root) {
        return Err(ProofFault::NotAPrefix);
    }
    if old == 0 || old == size {
        return if proof.is_empty() { Ok(()) } else { Err(ProofFault::Inconsistent) };
    }
    check_tree(&foreign(proof), size, Hash(root.0), old, Hash(old_root.0))
        .map_err(|_| ProofFault::Inconsistent)
}

fn foreign(proof: &[TreeHash]) -> Vec<Hash> {
    proof.iter().map(|hash| Hash(hash.0)).collect()
}

/// The largest power of two below `count`, which is at least 2.
fn split(count: u64) -> u64 {
    1 << (u64::BITS - 1 - (count - 1).leading_zeros())
}

/// RFC 6962 §2.1.1, PATH(m, D[n]), without recursion.
fn inclusion_ranges(index: u64, size: u64) -> Vec<Range> {
    let (mut low, mut high, mut ranges) = (0, size, Vec::new());
    while high - low > 1 {
        let middle = low + split(high - low);
        if index < middle {
            ranges.push((middle, high));
            high = middle;
        } else {
            ranges.push((low, middle));
            low = middle;
        }
    }
    ranges.reverse();
    ranges
}

/// RFC 6962 §2.1.2, PROOF(m, D[n]), without recursion; `old` is neither 0 nor `size`.
fn consistency_ranges(old: u64, size: u64) -> Vec<Range> {
    let (mut low, mut high, mut ranges) = (0, size, Vec::new());
    // SUBPROOF's flag: true while the current part begins where the older tree does.
    let mut at_old_start = true;
    while old != high {
        let middle = low + split(high - low);
        if old <= middle {
            ranges.push((middle, high));
            high = middle;
        } else {
            ranges.push((low, middle));
            low = middle;
            at_old_start = false;
        }
    }
    if !at_old_start {
        ranges.push((low, high));
    }
    ranges.reverse();
    ranges
}

/// The hash of each range, from authenticated tiles.
fn hashes(
    ranges: &[Range],
    size: u64,
    root: TreeHash,
    source: &dyn TileSource,
) -> Result<Vec<TreeHash>, ProofFault> {
    let mut nodes = Vec::new();
    for (low, high) in ranges {
        complete(*low, *high, &mut nodes);
    }
    let mut tiles = Authenticated::new(size, root, source);
    tiles.authenticate(nodes.iter().map(|node| (node.level, node.tile)))?;
    ranges.iter().map(|(low, high)| hash(*low, *high, &tiles)).collect()
}

/// A complete, aligned subtree: some neighbouring hashes of one tile.
struct Node {
    level: u8,
    tile: u64,
    first: u64,
    count: u64,
}

/// The node of a range; none if it is not a complete, aligned subtree.
fn node(low: u64, high: u64) -> Option<Node> {
    let leaves = high - low;
    if !leaves.is_power_of_two() || !low.is_multiple_of(leaves) {
        return None;
    }
    let level = u8::try_from(leaves.trailing_zeros()).ok()? / TILE_HEIGHT;
    let shift = u32::from(level) * u32::from(TILE_HEIGHT);
    let at = low >> shift;
    let width = u64::from(TILE_WIDTH);
    Some(Node { level, tile: at / width, first: at % width, count: leaves >> shift })
}

/// The complete subtrees of a range.
fn complete(low: u64, high: u64, out: &mut Vec<Node>) {
    match node(low, high) {
        Some(node) => out.push(node),
        None => {
            let middle = low + split(high - low);
            complete(low, middle, out);
            complete(middle, high, out);
        }
    }
}

fn hash(low: u64, high: u64, tiles: &Authenticated<'_>) -> Result<TreeHash, ProofFault> {
    let Some(node) = node(low, high) else {
        let middle = low + split(high - low);
        return Ok(TreeHash::of_node(hash(low, middle, tiles)?, hash(middle, high, tiles)?));
    };
    let row = tiles.get(node.level, node.tile)?;
    let range = usize::try_from(node.first).ok().zip(usize::try_from(node.first + node.count).ok());
    let part = range.and_then(|(first, end)| row.get(first..end)).ok_or(ProofFault::OutOfRange)?;
    subtree(part).ok_or(ProofFault::OutOfRange)
}
