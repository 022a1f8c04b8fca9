//! The log on files: hash tiles and entry bundles in the C2SP `tlog-tiles` format, height 8.
//!
//! - [`TilePath`]: the name of one file, `/tile/<level>/<N>[.p/<W>]` or `/tile/entries/<N>[.p/<W>]`.
//! - [`Tree`]: the right edge of a tree; says which files an append writes, and the root.
//! - [`check_consistency`], [`leaf_hashes`]: proofs that a client computes from tiles alone, every tile authenticated.
//! - [`inclusion_proof`], [`consistency_proof`] and their checks: proofs as lists of hashes, for readers without tiles.
//!
//! Hashes are those of RFC 6962 §2.1; the hash arithmetic is `tlog_tiles`.

mod append;
mod bundle;
mod path;
mod proof;
mod prove;

#[cfg(test)]
mod tests;

pub use append::{TileFile, Tree};
pub use bundle::{MAX_BUNDLE_BYTES, MAX_ENTRY_BYTES, decode_bundle, encode_bundle};
pub use path::TilePath;
pub use proof::{
    MAX_PROOF_HASHES, check_consistency_proof, check_inclusion, consistency_proof, inclusion_proof,
    root_of_prefix,
};
pub use prove::{ProofFault, TileSource, check_consistency, leaf_hashes};

use std::fmt;

/// Hashes in a full tile, and entries in a full bundle: 2^8 (tlog-tiles fixes height 8).
pub const TILE_WIDTH: u32 = 256;
/// Height of a tile in tree levels.
pub const TILE_HEIGHT: u8 = 8;
/// The largest tree read or written: 2^40 entries, far past any log of contexts. No index arithmetic of the tile crate overflows below it.
pub const MAX_TREE_SIZE: u64 = 1 << 40;

/// The hash of a leaf, an inner node or a whole tree (RFC 6962 §2.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TreeHash(pub [u8; 32]);

impl TreeHash {
    /// The root of the empty tree: SHA-256 of nothing.
    pub const EMPTY: TreeHash = TreeHash(tlog_tiles::EMPTY_HASH.0);

    /// The hash of one log entry: `SHA-256(0x00 || entry)`.
    pub fn of_leaf(entry: &[u8]) -> TreeHash {
        TreeHash(tlog_tiles::record_hash(entry).0)
    }

    /// The hash of an inner node: `SHA-256(0x01 || left || right)`.
    pub(crate) fn of_node(left: TreeHash, right: TreeHash) -> TreeHash {
        TreeHash(tlog_tiles::node_hash(tlog_tiles::Hash(left.0), tlog_tiles::Hash(right.0)).0)
    }
}

impl fmt::Display for TreeHash {
    /// Standard base64, as a checkpoint writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&semgate_certs::encoding::to_base64(self.0))
    }
}

impl fmt::Debug for TreeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TreeHash({self})")
    }
}

/// Reason for refusing tile bytes or a tile name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TileFault {
    /// The path is not the canonical name of a tile.
    Path,
    /// A hash tile whose length is not 32 bytes for each hash of its width.
    Length,
    /// An entry bundle whose length prefixes do not add up to its width and its end.
    Bundle,
    /// An entry longer than 65,535 bytes, or empty.
    Entry,
    /// A tree past [`MAX_TREE_SIZE`].
    TooLarge,
}

impl fmt::Display for TileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TileFault::Path => "not the name of a tile",
            TileFault::Length => "hash tile of the wrong length",
            TileFault::Bundle => "entry bundle whose lengths do not add up",
            TileFault::Entry => "log entry that is empty or longer than 65,535 bytes",
            TileFault::TooLarge => "tree larger than the limit of this log format",
        })
    }
}

impl std::error::Error for TileFault {}
