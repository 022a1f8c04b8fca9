//! A snapshot of the files that change with each head. Fetches first the files that the verified head names and that do not last. Then
//! those of its moment or of a later one, and then the current head.

use super::{
    Fetch, FetchFault, HEAD_PATH, LogFault, MAX_CHECKPOINT_BYTES, MAX_FLOORS_BYTES, MAX_HEAD_BYTES,
    MAX_TOKEN_BYTES, ServedHead, fetch_head, listing, moved,
};
use crate::follower::FollowerConfig;
use std::collections::BTreeMap;

/// Attempts if a status list of the head was gone. An authority keeps those of some hundred heads, which takes seconds to supersede, and
/// the lists that change most are fetched first.
const TAKES: usize = 32;

/// A source that repeats the answers taken for the snapshot.
pub(super) struct Snapshot<'a> {
    fetch: &'a mut dyn Fetch,
    held: BTreeMap<String, Result<Vec<u8>, FetchFault>>,
    taking: bool,
    /// The head served right after all of it.
    pub(super) after: Option<Vec<u8>>,
}

impl<'a> Snapshot<'a> {
    /// Fetches a head and the trust document, then the status lists that the head names. Then checkpoint, floors, listing and status tokens
    /// by number, and the head again.
    ///
    /// # Errors
    /// The head, as for [`fetch_head`]; [`LogFault::Moving`] if its lists were gone in every attempt.
    pub(super) fn take(
        fetch: &'a mut dyn Fetch,
        config: &FollowerConfig,
        now: u64,
    ) -> Result<(Snapshot<'a>, ServedHead), LogFault> {
        let mut snapshot = Snapshot { fetch, held: BTreeMap::new(), taking: false, after: None };
        for _ in 0..TAKES {
            snapshot.held.clear();
            snapshot.taking = true;
            let served = fetch_head(&mut snapshot, config, now)?;
            let shards = &served.head.head().shards;
            // the last one changes with every statement
            let lists: Vec<_> = shards.iter().rev().map(|shard| snapshot.shard(&shard.hex())).collect();
            let gone = lists.iter().any(|list| matches!(list, Err(FetchFault::HttpStatus(404 | 410))));
            if gone && moved(snapshot.fetch, &served.head)? {
                continue;
            }
            let _ = snapshot.get("/checkpoint", MAX_CHECKPOINT_BYTES as u64);
            let _ = snapshot.get("/v1/floors", MAX_FLOORS_BYTES as u64);
            for shard in shards {
                let _ = snapshot.shard(&shard.n.to_string());
            }
            let _ = listing(&mut snapshot);
            snapshot.taking = false;
            snapshot.after = snapshot.look(HEAD_PATH, MAX_HEAD_BYTES as u64).ok();
            return Ok((snapshot, served));
        }
        Err(LogFault::Moving)
    }

    fn shard(&mut self, name: &str) -> Result<Vec<u8>, FetchFault> {
        self.get(&format!("/v1/feed/shards/{name}"), MAX_TOKEN_BYTES as u64)
    }

    /// The source as it is now.
    pub(super) fn past(&mut self) -> &mut dyn Fetch {
        self.fetch
    }
}

impl Fetch for Snapshot<'_> {
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        if let Some(held) = self.held.get(path) {
            return held.clone();
        }
        let got = self.fetch.get(path, max_bytes);
        if self.taking {
            self.held.insert(path.to_owned(), got.clone());
        }
        got
    }

    fn look(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        self.fetch.look(path, max_bytes)
    }

    fn deltas(&mut self, size: u64) -> Vec<u64> {
        self.fetch.deltas(size)
    }

    fn as_of_head(&mut self, path: &str, bytes: &[u8]) {
        self.fetch.as_of_head(path, bytes);
    }

    fn pause(&mut self) {
        self.fetch.pause();
    }

    fn by_name(&self) -> bool {
        self.fetch.by_name()
    }
}

/// A source without storage.
pub(super) struct UncachedFetch<'a>(pub(super) &'a mut dyn Fetch);

impl Fetch for UncachedFetch<'_> {
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        self.0.look(path, max_bytes)
    }
}
