//! Status lists: two bits for each log entry, as the IETF Token Status List draft packs them, in shards of 65,536.

use crate::encoding::sha256;
use std::fmt;

#[cfg(test)]
mod tests;

/// Entries covered by a full shard: 2^16, so that a full one inflates to 16 KiB.
pub const SHARD_ENTRIES: u64 = 65_536;
/// Bits for each entry.
pub const BITS: u8 = 2;

/// The status of one log entry. Entries that publish nothing hold VALID and mean nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// 0: counts.
    Valid,
    /// 1: revoked, for ever.
    Invalid,
    /// 2: does not count for now.
    Suspended,
    /// 3: counts, but nothing new should select it.
    Deprecated,
}

impl Status {
    /// The status of these two bits.
    pub fn from_bits(bits: u8) -> Status {
        match bits & 3 {
            0 => Status::Valid,
            1 => Status::Invalid,
            2 => Status::Suspended,
            _ => Status::Deprecated,
        }
    }

    /// Its two bits.
    pub fn bits(self) -> u8 {
        match self {
            Status::Valid => 0,
            Status::Invalid => 1,
            Status::Suspended => 2,
            Status::Deprecated => 3,
        }
    }

    /// `valid`, `invalid`, `suspended` or `deprecated`, as listings write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Valid => "valid",
            Status::Invalid => "invalid",
            Status::Suspended => "suspended",
            Status::Deprecated => "deprecated",
        }
    }

    /// The status with exactly this name.
    pub fn parse(name: &str) -> Option<Status> {
        (0..4).map(Status::from_bits).find(|status| status.as_str() == name)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The statuses of all entries of a log prefix, by index.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StatusList {
    packed: Vec<u8>,
    len: u64,
}

/// One shard of a list: the bytes that are deflated, hashed and signed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Number of the shard: it covers the indexes from `n * 65,536`.
    pub n: u64,
    /// Entries covered, 1 to 65,536.
    pub entries: u64,
    /// Packed statuses, unused bits of the last byte zero.
    pub bytes: Vec<u8>,
}

impl Shard {
    /// SHA-256 of the packed bytes: the shard's name.
    pub fn sha256(&self) -> [u8; 32] {
        sha256(&self.bytes)
    }
}

/// Bytes of a shard that covers `entries`.
pub fn shard_bytes(entries: u64) -> u64 {
    entries.div_ceil(4)
}

impl StatusList {
    /// A list of no entries.
    pub fn new() -> StatusList {
        StatusList::default()
    }

    /// Entries covered.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it covers none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The status at an index; none past the end.
    pub fn get(&self, index: u64) -> Option<Status> {
        if index >= self.len {
            return None;
        }
        let byte = self.packed.get(usize::try_from(index / 4).ok()?)?;
        Some(Status::from_bits(byte >> (2 * (index % 4))))
    }

    /// Adds the status of the next entry.
    pub fn push(&mut self, status: Status) {
        if self.len.is_multiple_of(4) {
            self.packed.push(0);
        }
        self.len += 1;
        self.set(self.len - 1, status);
    }

    /// Changes the status at an index; nothing happens past the end.
    pub fn set(&mut self, index: u64, status: Status) {
        if index >= self.len {
            return;
        }
        let byte = usize::try_from(index / 4).ok().and_then(|at| self.packed.get_mut(at));
        if let Some(byte) = byte {
            let shift = 2 * (index % 4);
            *byte = (*byte & !(3 << shift)) | (status.bits() << shift);
        }
    }

    /// The shards, in order; none for an empty list.
    pub fn shards(&self) -> Vec<Shard> {
        let full = usize::try_from(SHARD_ENTRIES / 4).unwrap_or(usize::MAX);
        (0u64..)
            .zip(self.packed.chunks(full))
            .map(|(n, bytes)| Shard {
                n,
                entries: (self.len - n * SHARD_ENTRIES).min(SHARD_ENTRIES),
                bytes: bytes.to_vec(),
            })
            .collect()
    }

    /// Puts shards back together. Refuses a gap, a shard that is not full before the last, a wrong length, and bits
    /// set past the end.
    pub fn from_shards(shards: &[Shard]) -> Option<StatusList> {
        let mut list = StatusList::new();
        for (n, shard) in (0u64..).zip(shards) {
            let last = usize::try_from(n).ok()? + 1 == shards.len();
            let fits = if last {
                (1..=SHARD_ENTRIES).contains(&shard.entries)
            } else {
                shard.entries == SHARD_ENTRIES
            };
            if shard.n != n || !fits || shard.bytes.len() as u64 != shard_bytes(shard.entries) {
                return None;
            }
            list.packed.extend_from_slice(&shard.bytes);
            list.len += shard.entries;
        }
        let unused = list.len % 4;
        if unused != 0 && list.packed.last().is_some_and(|byte| byte >> (2 * unused) != 0) {
            return None;
        }
        Some(list)
    }

    /// The first index that is INVALID here and something else in `newer`: what was revoked must stay so.
    pub fn first_unrevoked(&self, newer: &StatusList) -> Option<u64> {
        (0..self.len)
            .find(|i| self.get(*i) == Some(Status::Invalid) && newer.get(*i) != Some(Status::Invalid))
    }
}
