//! Status lists: two bits for each log entry, as the IETF Token Status List draft packs them, in shards of 65,536.

use crate::sha256::sha256;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

mod changes;

#[cfg(test)]
mod tests;

pub use changes::{Changes, MAX_CHANGES};

/// Entries covered by a full shard: 2^16, so that it inflates to 16 KiB.
pub const SHARD_ENTRIES: u64 = 65_536;
/// Bits for each entry.
pub const BITS: u8 = 2;

/// The status of one log entry. Entries without a publication hold VALID, without meaning.
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

/// The statuses of all entries of a log prefix, by index. Copies share shards until one of them changes. So a clone costs a pointer for
/// each shard, and a change costs one shard.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StatusList {
    shards: Vec<Arc<Vec<u8>>>,
    len: u64,
}

/// One shard of a list: the bytes that are deflated, hashed and signed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Number of the shard: it covers the indexes from `n * 65,536`.
    pub n: u64,
    /// Entries covered, 1 to 65,536.
    pub entries: u64,
    /// Packed statuses, unused bits of the last byte zero. The same pointer means the same bytes.
    pub bytes: Arc<Vec<u8>>,
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

/// The shard and the byte of it that hold the status of an index.
fn shard_and_byte(index: u64) -> Option<(usize, usize)> {
    let within = usize::try_from(index % SHARD_ENTRIES / 4).ok()?;
    Some((usize::try_from(index / SHARD_ENTRIES).ok()?, within))
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

    /// Returns true if it covers none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The status at an index; none past the end.
    pub fn get(&self, index: u64) -> Option<Status> {
        if index >= self.len {
            return None;
        }
        let (shard, within) = shard_and_byte(index)?;
        let byte = self.shards.get(shard)?.get(within)?;
        Some(Status::from_bits(byte >> (2 * (index % 4))))
    }

    /// Adds the status of the next entry.
    pub fn push(&mut self, status: Status) {
        if self.len.is_multiple_of(SHARD_ENTRIES) {
            self.shards.push(Arc::default());
        }
        if self.len.is_multiple_of(4)
            && let Some(last) = self.shards.last_mut()
        {
            Arc::make_mut(last).push(0);
        }
        self.len += 1;
        self.set(self.len - 1, status);
    }

    /// Changes the status at an index; nothing happens past the end.
    pub fn set(&mut self, index: u64, status: Status) {
        if self.get(index).is_none_or(|before| before == status) {
            return;
        }
        let Some((shard, within)) = shard_and_byte(index) else { return };
        let shard = self.shards.get_mut(shard).map(Arc::make_mut);
        if let Some(byte) = shard.and_then(|bytes| bytes.get_mut(within)) {
            let shift = 2 * (index % 4);
            *byte = (*byte & !(3 << shift)) | (status.bits() << shift);
        }
    }

    /// The shards, in order; none for an empty list. Copies no statuses.
    pub fn shards(&self) -> Vec<Shard> {
        (0u64..)
            .zip(&self.shards)
            .map(|(n, bytes)| Shard {
                n,
                entries: (self.len - n * SHARD_ENTRIES).min(SHARD_ENTRIES),
                bytes: Arc::clone(bytes),
            })
            .collect()
    }

    /// Rebuilds a list from shards. Refuses a gap, a shard before the last that is not full, a wrong length, and bits set past the end.
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
            list.shards.push(Arc::clone(&shard.bytes));
            list.len += shard.entries;
        }
        let unused = list.len % 4;
        let end = list.shards.last().and_then(|shard| shard.last());
        if unused != 0 && end.is_some_and(|byte| byte >> (2 * unused) != 0) {
            return None;
        }
        Some(list)
    }

    /// The differences from an `older` list: each index with another status, or new and not VALID, with its status here. Skips shards that
    /// are the same.
    pub fn changed_since(&self, older: &StatusList) -> BTreeMap<u64, Status> {
        let none = Arc::default();
        let mut changed = BTreeMap::new();
        for (n, now) in (0u64..).zip(&self.shards) {
            let had = usize::try_from(n).ok().and_then(|n| older.shards.get(n)).unwrap_or(&none);
            if had == now {
                continue;
            }
            let bytes = (0usize..).zip(now.iter());
            let differ = bytes.filter(|(at, byte)| had.get(*at).copied().unwrap_or_default() != **byte);
            for index in differ.flat_map(|(at, _)| {
                let first = n * SHARD_ENTRIES + at as u64 * 4;
                first..first + 4
            }) {
                let before = older.get(index).unwrap_or(Status::Valid);
                changed.extend(self.get(index).filter(|now| *now != before).map(|now| (index, now)));
            }
        }
        changed
    }

    /// The first index that is INVALID here and not in `newer`: a revocation must stay. Skips shards that are the same.
    pub fn first_unrevoked(&self, newer: &StatusList) -> Option<u64> {
        let none = Arc::default();
        (0u64..).zip(&self.shards).find_map(|(n, had)| {
            let now = usize::try_from(n).ok().and_then(|n| newer.shards.get(n)).unwrap_or(&none);
            if Arc::ptr_eq(had, now) {
                return None;
            }
            let changed = (0usize..).zip(had.iter()).filter(|(at, byte)| now.get(*at) != Some(byte));
            changed.map(|(at, _)| n * SHARD_ENTRIES + at as u64 * 4).find_map(|first| {
                (first..first + 4)
                    .find(|i| self.get(*i) == Some(Status::Invalid) && newer.get(*i) != Some(Status::Invalid))
            })
        })
    }
}
