//! Names of tile files, as in C2SP `tlog-tiles`.

use super::{MAX_TREE_SIZE, TILE_HEIGHT, TILE_WIDTH, TileFault};
use std::fmt;

/// The name of one file of the log. Its text form is the path under the log's address, with a leading slash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TilePath {
    /// `/tile/<level>/<N>[.p/<W>]`: hashes of one level.
    Hashes {
        /// Tile level, 0 for leaf hashes; at most 7.
        level: u8,
        /// Number of the tile within its level.
        n: u64,
        /// Hashes in it, 1 to 256.
        width: u32,
    },
    /// `/tile/entries/<N>[.p/<W>]`: the entries themselves.
    Entries {
        /// Number of the bundle.
        n: u64,
        /// Entries in it, 1 to 256.
        width: u32,
    },
}

impl TilePath {
    /// The hash tile of one level and number, as wide as a tree of `size` makes it; none if the tree has no such tile.
    pub fn hashes_in(level: u8, n: u64, size: u64) -> Option<TilePath> {
        let shift = u32::from(level) * u32::from(TILE_HEIGHT);
        let width = width_in(n, size.checked_shr(shift)?)?;
        Some(TilePath::Hashes { level, n, width })
    }

    /// The bundle that holds entry `index`, as wide as a tree of `size` makes it; none past the end.
    pub fn entries_holding(index: u64, size: u64) -> Option<TilePath> {
        if index >= size {
            return None;
        }
        let n = index / u64::from(TILE_WIDTH);
        Some(TilePath::Entries { n, width: width_in(n, size)? })
    }

    /// Hashes or entries in this file, 1 to 256.
    pub fn width(&self) -> u32 {
        match self {
            TilePath::Hashes { width, .. } | TilePath::Entries { width, .. } => *width,
        }
    }

    /// The full tile that a partial one grows into: a log may delete a partial tile once the full one exists.
    pub fn full(&self) -> TilePath {
        match *self {
            TilePath::Hashes { level, n, .. } => TilePath::Hashes { level, n, width: TILE_WIDTH },
            TilePath::Entries { n, .. } => TilePath::Entries { n, width: TILE_WIDTH },
        }
    }

    /// Reads a path such as `/tile/0/x001/234.p/5`. Refuses every spelling but the canonical one.
    pub fn parse(path: &str) -> Result<TilePath, TileFault> {
        // The longest canonical path below MAX_TREE_SIZE is 41 characters.
        if path.len() > 48 {
            return Err(TileFault::Path);
        }
        let rest = path.strip_prefix("/tile/").ok_or(TileFault::Path)?;
        let (kind, rest) = rest.split_once('/').ok_or(TileFault::Path)?;
        let (number, width) = match rest.split_once(".p/") {
            Some((number, width)) => (number, width.parse::<u32>().map_err(|_| TileFault::Path)?),
            None => (rest, TILE_WIDTH),
        };
        let n = parse_number(number)?;
        if width == 0 || width > TILE_WIDTH || n > MAX_TREE_SIZE {
            return Err(TileFault::Path);
        }
        let tile = if kind == "entries" {
            TilePath::Entries { n, width }
        } else {
            let level = kind.parse::<u8>().map_err(|_| TileFault::Path)?;
            if level > 7 {
                return Err(TileFault::Path);
            }
            TilePath::Hashes { level, n, width }
        };
        // One spelling only: writing it back must give the same text.
        if tile.to_string() == path { Ok(tile) } else { Err(TileFault::Path) }
    }
}

impl fmt::Display for TilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = match self {
            TilePath::Hashes { level, n, .. } => {
                write!(f, "/tile/{level}/")?;
                *n
            }
            TilePath::Entries { n, .. } => {
                f.write_str("/tile/entries/")?;
                *n
            }
        };
        write_number(f, n / 1000)?;
        write!(f, "{:03}", n % 1000)?;
        if self.width() == TILE_WIDTH { Ok(()) } else { write!(f, ".p/{}", self.width()) }
    }
}

/// Three digits at a time, all but the last with an `x` before them.
fn write_number(f: &mut fmt::Formatter<'_>, n: u64) -> fmt::Result {
    if n == 0 {
        return Ok(());
    }
    write_number(f, n / 1000)?;
    write!(f, "x{:03}/", n % 1000)
}

fn parse_number(text: &str) -> Result<u64, TileFault> {
    let mut n = 0u64;
    for part in text.split('/') {
        let digits = part.strip_prefix('x').unwrap_or(part);
        if digits.len() != 3 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(TileFault::Path);
        }
        let part = digits.parse::<u64>().map_err(|_| TileFault::Path)?;
        n = n.checked_mul(1000).and_then(|n| n.checked_add(part)).ok_or(TileFault::Path)?;
    }
    Ok(n)
}

/// Items of tile `n` when its level holds `count` of them.
fn width_in(n: u64, count: u64) -> Option<u32> {
    let start = n.checked_mul(u64::from(TILE_WIDTH))?;
    let left = count.checked_sub(start)?;
    match u32::try_from(left.min(u64::from(TILE_WIDTH))) {
        Ok(0) | Err(_) => None,
        Ok(width) => Some(width),
    }
}
