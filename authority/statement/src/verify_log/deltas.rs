//! Checks deltas: each one found must lead from the statuses of its size, as in the log, to a signed head (`docs/spec/head-delta.md`).
//! Followers are safe without this; operators of mirrors learn of a damaged one.

use super::{Check, Fetch, FetchFault, HeadRules, LogFault, VerifiedHead};
use crate::delta::{Delta, MAX_DELTA_BYTES};
use crate::entry::Entry;
use crate::format::FormatFault;
use crate::head::{HeadFault, MAX_HEAD_BYTES, ShardRef, TYPE};
use crate::jws::General;
use crate::replay::Replay;
use crate::status::StatusList;
use std::fmt;

#[cfg(test)]
mod tests;

/// Reason why a delta leads nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeltaFault {
    /// Longer than [`MAX_DELTA_BYTES`].
    TooLarge,
    /// It begins past the end of the served log.
    PastEnd,
    /// It cannot be read, or does not begin where its name says.
    Format(FormatFault),
    /// It does not lead to a signed head.
    Head(HeadFault),
    /// It leads to an older head than the served one.
    Older,
    /// It leads to another head of the served size, with other content.
    Contradicts,
}

impl fmt::Display for DeltaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeltaFault::TooLarge => f.write_str("longer than its limit"),
            DeltaFault::PastEnd => f.write_str("begins past the end of the log that is served"),
            DeltaFault::Format(fault) => write!(f, "{fault}"),
            DeltaFault::Head(fault) => write!(f, "leads to no signed head: {fault}"),
            DeltaFault::Older => f.write_str("leads to an older head than the one that is served"),
            DeltaFault::Contradicts => f.write_str("leads to a head that contradicts the one that is served"),
        }
    }
}

impl std::error::Error for DeltaFault {}

impl Check<'_, '_> {
    /// Returns the number of deltas found. Entries are the head's, verified and replayed.
    pub(super) fn deltas(&mut self, entries: &[Vec<u8>]) -> Result<u64, LogFault> {
        let mut sizes = self.fetch.deltas(self.served.head.head().seq);
        sizes.sort_unstable();
        sizes.dedup();
        let mut replay = Replay::new();
        for (_, chain) in self.served.trust.chains() {
            replay.introduce(chain);
        }
        let (mut checked, mut entries) = (0, (0u64..).zip(entries));
        for from in sizes {
            for (index, bytes) in
                entries.by_ref().take(usize::try_from(from - replay.size()).unwrap_or(usize::MAX))
            {
                let entry = Entry::read(bytes, &self.config.prefix)
                    .map_err(|fault| LogFault::Statement { index, fault })?;
                replay.apply(&entry).map_err(|fault| LogFault::Replay { index, fault })?;
            }
            checked += u64::from(self.delta(from, replay.statuses())?);
        }
        Ok(checked)
    }

    /// Returns true if there is a valid delta from this size, with the statuses that the log has then.
    fn delta(&mut self, from: u64, list: &StatusList) -> Result<bool, LogFault> {
        let path = format!("/v1/feed/deltas/{from}");
        let wrong = |fault| LogFault::Delta { from, fault };
        let bytes = match self.fetch.look(&path, MAX_DELTA_BYTES as u64) {
            Ok(bytes) => bytes,
            // gone meanwhile, or forgotten: readers take the whole head
            Err(FetchFault::HttpStatus(_)) => return Ok(false),
            Err(FetchFault::TooLarge) => return Err(wrong(DeltaFault::TooLarge)),
            Err(fault) => return Err(LogFault::Fetch { path, fault }),
        };
        if list.len() < from {
            return Err(wrong(DeltaFault::PastEnd));
        }
        let ours = self.get(super::HEAD_PATH, MAX_HEAD_BYTES)?;
        let led = lead(&bytes, list, &ours, self.served.anchors.roots());
        let led = led.map_err(|fault| wrong(DeltaFault::Format(fault)))?;
        if led != ours {
            self.other_head(&led, wrong)?;
        }
        Ok(true)
    }

    /// Checks a head other than the verified one: a later one, because of an addition or a renewal meanwhile.
    fn other_head(&mut self, bytes: &[u8], wrong: impl Fn(DeltaFault) -> LogFault) -> Result<(), LogFault> {
        let (served, config) = (self.served, self.config);
        let (authority, origin) = (config.authority.as_str(), config.origin.as_str());
        let by = &served.newest;
        let rules = HeadRules { roots: by.roots(), authority, origin, log: by.log() };
        let head = VerifiedHead::verify(bytes, &rules, self.now);
        let head = head.map_err(|fault| wrong(DeltaFault::Head(fault)))?;
        let (theirs, ours) = (head.head(), served.head.head());
        if theirs.seq < ours.seq || theirs.issued_at < ours.issued_at {
            return Err(wrong(DeltaFault::Older));
        }
        let (size, root) = (theirs.seq, head.checkpoint().root);
        if size == ours.seq {
            return head.agrees_with(&served.head).map_err(|_| wrong(DeltaFault::Contradicts));
        }
        match self.root_before(ours.seq, size, root)? {
            Some(root) if root == served.head.checkpoint().root => Ok(()),
            _ => Err(LogFault::LaterDiffers { size }),
        }
    }
}

/// The head that it leads to from these statuses, for a reader with a head by the signer of `known`.
fn lead(
    bytes: &[u8],
    list: &StatusList,
    known: &[u8],
    roots: &semgate_certs::Roots,
) -> Result<Vec<u8>, FormatFault> {
    let delta = Delta::read(bytes)?;
    let known = General::read(known, TYPE, roots, MAX_HEAD_BYTES);
    let known = known.map_err(|_| FormatFault::Member("protected"))?;
    let shards: Vec<ShardRef> = list.shards().iter().map(ShardRef::of).collect();
    Ok(delta.apply(&shards, list, known.chain())?.head)
}
