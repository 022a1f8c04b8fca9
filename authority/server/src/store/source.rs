//! The log as a source of tiles, for the proofs that the authority itself needs.

use std::fs;

use semgate_statement::tiles::{TilePath, TileSource};

use super::log::{Log, cut, with_width};

impl TileSource for Log {
    /// Any tile in the width that the log has; partial ones are in memory.
    fn tile(&self, tile: &TilePath) -> Option<Vec<u8>> {
        match self.edge.get(&tile.full()) {
            Some((width, bytes)) if tile.width() <= *width => {
                cut(&with_width(*tile, *width), bytes, tile.width())
            }
            Some(_) => None,
            None => cut(&tile.full(), &fs::read(self.path(&tile.full())).ok()?, tile.width()),
        }
    }
}

/// A log with some hash tiles missing or wrong on disk.
pub(super) struct Repaired<'a> {
    pub log: &'a Log,
    pub wrong: &'a [(TilePath, Vec<u8>)],
}

impl TileSource for Repaired<'_> {
    fn tile(&self, tile: &TilePath) -> Option<Vec<u8>> {
        match self.wrong.iter().find(|(wrong, _)| wrong == tile) {
            Some((_, bytes)) => Some(bytes.clone()),
            None => self.log.tile(tile),
        }
    }
}
