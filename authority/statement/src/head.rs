//! The head, which an authority signs regularly even without changes. It binds the size and root of the log, the status shards and the
//! floors together, and limits how long they may be believed.

use crate::checkpoint::{Checkpoint, CheckpointFault, LogVerifier, MAX_CHECKPOINT_BYTES};
use crate::format::{FormatFault, Members, is_name, limits, write};
use crate::jws::{General, JwsFault, SignFault, SigningIdentity};
use crate::status::{BITS, SHARD_ENTRIES, Shard, StatusList};
use ring::rand::SecureRandom;
use semgate_certs::encoding::{from_hex, to_hex};
use semgate_certs::{Roots, Usage, VerifiedLeaf};
use std::fmt;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// `typ` of a head.
pub const TYPE: &str = "head+jws";
/// The media type of heads.
pub const MEDIA_TYPE: &str = "application/jose+json";
/// The largest head accepted: checkpoint, chain, and a shard line for each 65,536 entries (some thousands).
pub const MAX_HEAD_BYTES: usize = 512 * 1024;
/// Seconds that a head may be dated ahead of the reader's clock.
pub const MAX_AHEAD: u64 = 60;

/// A shard as the head names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardRef {
    /// Number of the shard.
    pub n: u64,
    /// Entries that it covers.
    pub entries: u64,
    /// SHA-256 of the inflated list.
    pub sha256: [u8; 32],
}

impl ShardRef {
    /// The reference to this shard.
    pub fn of(shard: &Shard) -> ShardRef {
        ShardRef { n: shard.n, entries: shard.entries, sha256: shard.sha256() }
    }

    /// Lower-case hexadecimal of the hash: the last part of the shard's address.
    pub fn hex(&self) -> String {
        to_hex(self.sha256)
    }
}

/// The shards of a growing status list by name. Only changed shards are hashed again: a statement costs one shard.
#[derive(Clone, Debug, Default)]
pub struct NamedShards(Vec<(ShardRef, Arc<Vec<u8>>)>);

impl NamedShards {
    /// Begins without shards.
    pub fn new() -> NamedShards {
        NamedShards::default()
    }

    /// The shards of this list, with the hashes of known `names`. None if the names are not those of such a list.
    pub fn known(names: &[ShardRef], list: &StatusList) -> Option<NamedShards> {
        let shards = list.shards();
        let fits = |(name, shard): (&ShardRef, &Shard)| (name.n, name.entries) == (shard.n, shard.entries);
        if names.len() != shards.len() || !names.iter().zip(&shards).all(fits) {
            return None;
        }
        Some(NamedShards(names.iter().cloned().zip(shards.into_iter().map(|shard| shard.bytes)).collect()))
    }

    /// Names the shards of this list; returns the changed ones, in order.
    pub fn update(&mut self, list: &StatusList) -> Vec<Shard> {
        let shards = list.shards();
        self.0.truncate(shards.len());
        let mut changed = Vec::new();
        for (at, shard) in shards.into_iter().enumerate() {
            match self.0.get_mut(at) {
                // The same pointer means the same bytes.
                Some((named, bytes))
                    if Arc::ptr_eq(bytes, &shard.bytes) && named.entries == shard.entries =>
                {
                    continue;
                }
                Some(known) => *known = (ShardRef::of(&shard), Arc::clone(&shard.bytes)),
                None => self.0.push((ShardRef::of(&shard), Arc::clone(&shard.bytes))),
            }
            changed.push(shard);
        }
        changed
    }

    /// The references to them.
    pub fn references(&self) -> impl ExactSizeIterator<Item = &ShardRef> {
        self.0.iter().map(|(named, _)| named)
    }
}

/// The payload of a head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// Id of the authority.
    pub authority: String,
    /// Origin of its log.
    pub origin: String,
    /// Size of the log.
    pub seq: u64,
    /// Time of signing.
    pub issued_at: u64,
    /// Expiry.
    pub next_update: u64,
    /// The signed note of the log key for this size.
    pub checkpoint: String,
    /// Status shards, in order; together they cover `seq` entries.
    pub shards: Vec<ShardRef>,
    /// SHA-256 of the floors document.
    pub floors: [u8; 32],
    /// Statements of the root in this prefix of the log. Written as `trust.statements`, and omitted if there are none.
    pub root_statements: u64,
}

/// Reason for refusing a head, as far as the head alone shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeadFault {
    /// The JWS, its chain, or its signature.
    Jws(JwsFault),
    /// The payload is not a head in canonical form.
    Format(FormatFault),
    /// Another authority than the configured one.
    Authority,
    /// Another log origin than the configured one.
    Origin,
    /// The checkpoint.
    Checkpoint(CheckpointFault),
    /// `seq` is not the size in the checkpoint.
    Size,
    /// The shards do not cover the log exactly.
    Shards,
    /// `next_update` is not after `issued_at`, or the lifetime is over `max_status_age`.
    Lifetime,
    /// Issued more than [`MAX_AHEAD`] seconds ahead of now.
    Ahead,
    /// `next_update` has passed already.
    Expired,
}

impl fmt::Display for HeadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeadFault::Jws(fault) => write!(f, "head: {fault}"),
            HeadFault::Format(fault) => write!(f, "head: {fault}"),
            HeadFault::Authority => f.write_str("head of another authority"),
            HeadFault::Origin => f.write_str("head of another log origin"),
            HeadFault::Checkpoint(fault) => write!(f, "head: {fault}"),
            HeadFault::Size => f.write_str("head and its checkpoint disagree on the size of the log"),
            HeadFault::Shards => f.write_str("head whose shards do not cover the log exactly"),
            HeadFault::Lifetime => f.write_str("head that claims a longer life than `max_status_age`"),
            HeadFault::Ahead => f.write_str("head issued more than 60 seconds ahead"),
            HeadFault::Expired => f.write_str("head that has expired already"),
        }
    }
}

impl std::error::Error for HeadFault {}

impl From<JwsFault> for HeadFault {
    fn from(fault: JwsFault) -> Self {
        HeadFault::Jws(fault)
    }
}

impl From<FormatFault> for HeadFault {
    fn from(fault: FormatFault) -> Self {
        HeadFault::Format(fault)
    }
}

impl Head {
    /// Canonical payload bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatFault> {
        let shards: Vec<_> = self
            .shards
            .iter()
            .map(|s| serde_json::json!({"n": s.n, "entries": s.entries, "bits": BITS, "sha256": s.hex()}))
            .collect();
        let mut head = serde_json::json!({
            "authority": self.authority,
            "checkpoint": self.checkpoint,
            "floors": {"sha256": to_hex(self.floors)},
            "issued_at": self.issued_at,
            "next_update": self.next_update,
            "origin": self.origin,
            "seq": self.seq,
            "shards": shards,
        });
        if let (true, Some(members)) = (self.root_statements > 0, head.as_object_mut()) {
            members.insert("trust".to_owned(), serde_json::json!({"statements": self.root_statements}));
        }
        write(&head)
    }

    /// Reads canonical payload bytes.
    pub fn read(bytes: &[u8]) -> Result<Head, FormatFault> {
        let json = semgate_contexts::json::read(bytes, &limits(MAX_HEAD_BYTES))?;
        let names =
            ["authority", "checkpoint", "floors", "issued_at", "next_update", "origin", "seq", "shards"];
        let m = Members::closed(&json, &names, &["trust"])?;
        let root_statements = match m.get("trust") {
            Ok(trust) => Members::closed(trust, &["statements"], &[])?.integer("statements")?,
            Err(_) => 0,
        };
        let floors = Members::closed(m.get("floors")?, &["sha256"], &[])?;
        let mut shards = Vec::new();
        for item in m.list("shards")? {
            let s = Members::closed(item, &["n", "entries", "bits", "sha256"], &[])?;
            if s.integer("bits")? != u64::from(BITS) {
                return Err(FormatFault::Member("bits"));
            }
            let sha256 = s.parsed("sha256", hash)?;
            shards.push(ShardRef { n: s.integer("n")?, entries: s.integer("entries")?, sha256 });
        }
        let name = |text: &str| is_name(text).then(|| text.to_owned());
        let note = |text: &str| (text.len() <= MAX_CHECKPOINT_BYTES).then(|| text.to_owned());
        let head = Head {
            authority: m.parsed("authority", name)?,
            origin: m.parsed("origin", name)?,
            seq: m.integer("seq")?,
            issued_at: m.integer("issued_at")?,
            next_update: m.integer("next_update")?,
            checkpoint: m.parsed("checkpoint", note)?,
            shards,
            floors: floors.parsed("sha256", hash)?,
            root_statements,
        };
        if head.to_bytes()? != bytes {
            return Err(FormatFault::NotCanonical);
        }
        Ok(head)
    }

    /// Signs the head with the feed key; returns a general JWS in canonical form.
    pub fn sign(&self, identity: &SigningIdentity, random: &dyn SecureRandom) -> Result<Vec<u8>, SignFault> {
        General::sign(&self.to_bytes()?, TYPE, identity, random)
    }

    /// Checks that the shards cover exactly the indexes below `seq`, in order and without gaps.
    fn shards_cover(&self) -> Result<(), HeadFault> {
        let mut left = self.seq;
        for (n, shard) in (0u64..).zip(&self.shards) {
            if shard.n != n || shard.entries != left.min(SHARD_ENTRIES) || left == 0 {
                return Err(HeadFault::Shards);
            }
            left -= shard.entries;
        }
        if left == 0 { Ok(()) } else { Err(HeadFault::Shards) }
    }
}

/// A reader's rules for heads, which never come from the feed.
#[derive(Clone, Debug)]
pub struct HeadRules<'a> {
    /// Roots of the authority's own chains.
    pub roots: &'a Roots,
    /// The authority's id.
    pub authority: &'a str,
    /// The origin of its log.
    pub origin: &'a str,
    /// The log key.
    pub log: &'a LogVerifier,
}

/// A head with checked signature, chain, names, checkpoint and shard cover. Times and history are judged separately.
#[derive(Clone, Debug)]
pub struct VerifiedHead {
    head: Head,
    checkpoint: Checkpoint,
    leaf: VerifiedLeaf,
}

impl VerifiedHead {
    /// Verifies a head, with its chain judged for [`Usage::Feed`] at `at`.
    pub fn verify(bytes: &[u8], rules: &HeadRules<'_>, at: u64) -> Result<VerifiedHead, HeadFault> {
        let jws = General::read(bytes, TYPE, rules.roots, MAX_HEAD_BYTES)?;
        let (payload, leaf) = jws.verify(rules.roots, Usage::Feed, at)?;
        let head = Head::read(&payload)?;
        if head.authority != rules.authority {
            return Err(HeadFault::Authority);
        }
        if head.origin != rules.origin {
            return Err(HeadFault::Origin);
        }
        let checkpoint = Checkpoint::verify(head.checkpoint.as_bytes(), rules.log, rules.origin)
            .map_err(HeadFault::Checkpoint)?;
        if checkpoint.size != head.seq {
            return Err(HeadFault::Size);
        }
        head.shards_cover()?;
        if head.next_update <= head.issued_at {
            return Err(HeadFault::Lifetime);
        }
        Ok(VerifiedHead { head, checkpoint, leaf })
    }

    /// Checks its times against the reader's clock: lifetime at most `max_status_age`, issued at most [`MAX_AHEAD`] ahead, not expired. All
    /// in seconds.
    pub fn check_times(&self, now: u64, max_status_age: u64) -> Result<(), HeadFault> {
        if self.head.next_update - self.head.issued_at > max_status_age {
            return Err(HeadFault::Lifetime);
        }
        if self.head.issued_at > now.saturating_add(MAX_AHEAD) {
            return Err(HeadFault::Ahead);
        }
        if now >= self.head.next_update {
            return Err(HeadFault::Expired);
        }
        Ok(())
    }

    /// The payload.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The verified checkpoint.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The feed leaf, which signs the shard tokens too.
    pub fn leaf(&self) -> &VerifiedLeaf {
        &self.leaf
    }

    /// Guarantees that two heads of one size agree in everything but times and signatures. Otherwise they are an equivocation: keep both.
    pub fn agrees_with(&self, other: &VerifiedHead) -> Result<(), Contradiction> {
        let (a, b) = (&self.head, &other.head);
        let counters = |head: &Head| (head.seq, head.floors, head.root_statements);
        let same = (&a.authority, &a.origin, &a.shards, counters(a), self.checkpoint.root)
            == (&b.authority, &b.origin, &b.shards, counters(b), other.checkpoint.root);
        if same { Ok(()) } else { Err(Contradiction) }
    }
}

/// Proof that two heads contradict each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contradiction;

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("two heads of one size contradict each other")
    }
}

impl std::error::Error for Contradiction {}

/// Reads 64 lower-case hexadecimal digits.
fn hash(text: &str) -> Option<[u8; 32]> {
    from_hex(text)?.try_into().ok()
}
