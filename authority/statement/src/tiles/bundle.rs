//! Entry bundles: the entries of one tile, each behind a big-endian 16-bit length.

use super::{TILE_WIDTH, TileFault};

/// The longest entry: the length prefix of tlog-tiles has 16 bits.
pub const MAX_ENTRY_BYTES: usize = 65_535;
/// The longest bundle: 256 entries of the longest kind with their prefixes.
pub const MAX_BUNDLE_BYTES: u64 = 256 * (65_535 + 2);

/// Writes entries in their order. Refuses none, more than 256, an empty entry and one past [`MAX_ENTRY_BYTES`].
pub fn encode_bundle<E: AsRef<[u8]>>(entries: &[E]) -> Result<Vec<u8>, TileFault> {
    if entries.is_empty() || entries.len() > TILE_WIDTH as usize {
        return Err(TileFault::Bundle);
    }
    let mut out = Vec::with_capacity(entries.iter().map(|e| e.as_ref().len() + 2).sum());
    for entry in entries {
        let entry = entry.as_ref();
        let length = u16::try_from(entry.len()).map_err(|_| TileFault::Entry)?;
        if length == 0 {
            return Err(TileFault::Entry);
        }
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(entry);
    }
    Ok(out)
}

/// Reads exactly `width` entries and refuses anything before, between or after them.
pub fn decode_bundle(bytes: &[u8], width: u32) -> Result<Vec<&[u8]>, TileFault> {
    if width == 0 || width > TILE_WIDTH {
        return Err(TileFault::Bundle);
    }
    let mut rest = bytes;
    let mut entries = Vec::with_capacity(width as usize);
    for _ in 0..width {
        let (prefix, after) = rest.split_first_chunk::<2>().ok_or(TileFault::Bundle)?;
        let length = usize::from(u16::from_be_bytes(*prefix));
        if length == 0 {
            return Err(TileFault::Entry);
        }
        let (entry, after) = after.split_at_checked(length).ok_or(TileFault::Bundle)?;
        entries.push(entry);
        rest = after;
    }
    if rest.is_empty() { Ok(entries) } else { Err(TileFault::Bundle) }
}
