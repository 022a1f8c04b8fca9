//! Deltas: the newest head without its shards, and the statuses that changed since a head that the reader knows
//! (`docs/spec/head-delta.md`).
//!
//! A delta has no signature of its own. From it and from its own state, a reader rebuilds the newest head, byte for byte. That head is
//! signed, and names every shard by its hash. So a delta leads to signed data, or to nothing.

use crate::format::{FormatFault, Members, limits, write};
use crate::head::{self, Head, HeadFault, MAX_HEAD_BYTES, NamedShards, ShardRef};
use crate::jws::General;
use crate::status::{MAX_CHANGES, SHARD_ENTRIES, Shard, Status, StatusList};
use crate::token::Token;
use semgate_certs::encoding::{from_base64url, to_base64url};
use semgate_certs::{Chain, ChainLimits};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The media type of deltas.
pub const MEDIA_TYPE: &str = "application/json";
/// The longest delta accepted: as many changes as are remembered, at four bytes, in base64, beside a head without shards.
pub const MAX_DELTA_BYTES: usize = 512 * 1024;
/// Entries by which a delta may lengthen a list. Each costs a quarter of a byte before any signature is checked. A million are three months
/// of ten thousand publications a day.
pub const MAX_GROWTH: u64 = 16 * SHARD_ENTRIES;
/// The longest index in base 128: 56 bits, more than a log can hold entries.
const MAX_INDEX_BYTES: usize = 8;

/// The parts of a signed head, without its shards and its chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeadParts {
    /// The payload without shards.
    head: Head,
    protected: String,
    signature: String,
}

impl HeadParts {
    /// Takes a signed head apart. Verifies nothing: only the signer calls this.
    ///
    /// # Errors
    /// The bytes are not a head.
    pub fn of(signed: &[u8]) -> Result<HeadParts, HeadFault> {
        let jws = General::read_within(signed, head::TYPE, &ChainLimits::default(), MAX_HEAD_BYTES)?;
        let mut head = Head::read(jws.unverified_payload())?;
        head.shards.clear();
        Ok(HeadParts { head, protected: jws.protected().to_owned(), signature: jws.signature() })
    }

    /// The deltas that lead to this head with the statuses `now`, by the size where they begin. They begin at its own size, at that of the
    /// log with the statuses `before`, and where each of `older` begins that leads to `before`. Leaves out any that a reader would refuse.
    pub fn onwards(
        &self,
        now: &StatusList,
        before: Option<&StatusList>,
        older: &[Delta],
    ) -> BTreeMap<u64, Vec<u8>> {
        let mut changes = BTreeMap::from([(now.len(), BTreeMap::new())]);
        if let Some(before) = before.filter(|before| before.len() <= now.len()) {
            let fresh = now.changed_since(before);
            for delta in older.iter().filter(|delta| delta.parts.head.seq == before.len()) {
                let indexes = delta.changed.keys().chain(fresh.keys());
                let all = indexes.filter_map(|index| Some((*index, now.get(*index)?))).collect();
                changes.insert(delta.from, all);
            }
            if before.len() < now.len() {
                changes.insert(before.len(), fresh);
            }
        }
        changes
            .into_iter()
            .filter_map(|(from, changed)| Some((from, self.delta(from, changed).ok()?)))
            .collect()
    }

    /// The delta from a log of `from` entries to this head.
    ///
    /// # Errors
    /// There are more changes than a reader takes, or some outside the two sizes.
    pub fn delta(&self, from: u64, changed: BTreeMap<u64, Status>) -> Result<Vec<u8>, FormatFault> {
        Delta { from, changed, parts: self.clone() }.checked()?.to_bytes()
    }
}

/// The statuses of a signed head. `token` returns the status token of a shard; its list must be the named one, and nothing else is
/// verified.
pub fn statuses_of(signed: &[u8], token: impl Fn(&ShardRef) -> Option<Vec<u8>>) -> Option<StatusList> {
    let jws = General::read_within(signed, head::TYPE, &ChainLimits::default(), MAX_HEAD_BYTES).ok()?;
    let head = Head::read(jws.unverified_payload()).ok()?;
    let shard = |named: &ShardRef| {
        let text = String::from_utf8(token(named)?).ok()?;
        let bytes = Arc::new(Token::read(&text).ok()?.list().to_vec());
        let shard = Shard { n: named.n, entries: named.entries, bytes };
        (shard.sha256() == named.sha256).then_some(shard)
    };
    let shards = head.shards.iter().map(shard).collect::<Option<Vec<_>>>()?;
    StatusList::from_shards(&shards).filter(|list| list.len() == head.seq)
}

/// A delta that was read, not verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delta {
    from: u64,
    changed: BTreeMap<u64, Status>,
    parts: HeadParts,
}

/// The result of a delta, not verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The signed head.
    pub head: Vec<u8>,
    /// The changed packed lists, by their SHA-256.
    pub shards: Vec<([u8; 32], Arc<Vec<u8>>)>,
}

impl Delta {
    /// The size of the log where it begins.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// Reads canonical bytes, at most [`MAX_DELTA_BYTES`].
    ///
    /// # Errors
    /// Malformed bytes, or an index that is repeated, out of order, in another spelling or past the head. More than [`MAX_CHANGES`]
    /// indexes. A head that names shards or is of a smaller log.
    pub fn read(bytes: &[u8]) -> Result<Delta, FormatFault> {
        let json = semgate_contexts::json::read(bytes, &limits(MAX_DELTA_BYTES))?;
        let members = Members::closed(&json, &["changed", "from", "head", "protected", "signature"], &[])?;
        let names = ["deprecated", "invalid", "suspended", "valid"];
        let lists = Members::closed(members.get("changed")?, &[], &names)?;
        let mut changed = BTreeMap::new();
        for status in (0..4).map(Status::from_bits) {
            let Ok(list) = lists.text(status.as_str()) else { continue };
            let indexes = from_base64url(list).as_deref().and_then(read_indexes);
            for index in indexes.ok_or(FormatFault::Member("changed"))? {
                if changed.insert(index, status).is_some() {
                    return Err(FormatFault::Member("changed"));
                }
            }
        }
        let parts = HeadParts {
            head: Head::read(members.text("head")?.as_bytes())?,
            protected: members.text("protected")?.to_owned(),
            signature: members.text("signature")?.to_owned(),
        };
        let delta = Delta { from: members.integer("from")?, changed, parts }.checked()?;
        if delta.to_bytes()? != bytes {
            return Err(FormatFault::NotCanonical);
        }
        Ok(delta)
    }

    fn checked(self) -> Result<Delta, FormatFault> {
        let head = &self.parts.head;
        if !head.shards.is_empty() || head.seq < self.from {
            return Err(FormatFault::Member("head"));
        }
        let past = self.changed.last_key_value().is_some_and(|(last, _)| *last >= head.seq);
        if past || self.changed.len() > MAX_CHANGES {
            return Err(FormatFault::Member("changed"));
        }
        Ok(self)
    }

    fn to_bytes(&self) -> Result<Vec<u8>, FormatFault> {
        let mut changed = serde_json::Map::new();
        for status in (0..4).map(Status::from_bits) {
            let indexes = self.changed.iter().filter(|(_, to)| **to == status).map(|(index, _)| *index);
            let bytes = write_indexes(indexes);
            if !bytes.is_empty() {
                changed.insert(status.as_str().to_owned(), to_base64url(&bytes).into());
            }
        }
        let head = String::from_utf8(self.parts.head.to_bytes()?).map_err(|_| FormatFault::Unwritable)?;
        write(&json!({
            "changed": changed,
            "from": self.from,
            "head": head,
            "protected": self.parts.protected,
            "signature": self.parts.signature,
        }))
    }

    /// The resulting head and lists, from the shards and the list of the log where it begins, and the chain of the head's signer.
    ///
    /// # Errors
    /// The delta begins at another size, or grows the list by more than [`MAX_GROWTH`].
    pub fn apply(
        &self,
        known: &[ShardRef],
        list: &StatusList,
        chain: &Chain,
    ) -> Result<Applied, FormatFault> {
        let size = self.parts.head.seq;
        if list.len() != self.from || size - self.from > MAX_GROWTH {
            return Err(FormatFault::Member("from"));
        }
        let mut named = NamedShards::known(known, list).ok_or(FormatFault::Member("from"))?;
        let mut list = list.clone();
        while list.len() < size {
            list.push(Status::Valid);
        }
        for (index, status) in &self.changed {
            list.set(*index, *status);
        }
        let changed = named.update(&list);
        let head = Head { shards: named.references().cloned().collect(), ..self.parts.head.clone() };
        let of = |n: u64| head.shards.get(usize::try_from(n).ok()?);
        let shards =
            changed.iter().filter_map(|it| Some((of(it.n)?.sha256, Arc::clone(&it.bytes)))).collect();
        let (protected, signature) = (&self.parts.protected, &self.parts.signature);
        Ok(Applied { head: General::put_together(&head.to_bytes()?, protected, signature, chain)?, shards })
    }
}

/// Rising indexes as differences in base 128: the first index, then the gap to each next one. Lowest digit first; the high bit is set on
/// all but the last digit.
fn write_indexes(indexes: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut next = 0;
    for index in indexes {
        let mut gap = index - next;
        next = index + 1;
        while gap >= 0x80 {
            bytes.push((gap & 0x7f) as u8 | 0x80);
            gap >>= 7;
        }
        bytes.push(gap as u8);
    }
    bytes
}

/// The indexes in these bytes, at least one, each in canonical spelling.
fn read_indexes(mut bytes: &[u8]) -> Option<Vec<u64>> {
    let mut indexes = Vec::new();
    let mut next = 0u64;
    while !bytes.is_empty() {
        let (gap, rest) = read_number(bytes)?;
        let index = next.checked_add(gap)?;
        indexes.push(index);
        (next, bytes) = (index.checked_add(1)?, rest);
    }
    (!indexes.is_empty()).then_some(indexes)
}

fn read_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate().take(MAX_INDEX_BYTES) {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            let minimal = at == 0 || *byte != 0;
            return minimal.then_some((number, bytes.get(at + 1..)?));
        }
    }
    None
}
