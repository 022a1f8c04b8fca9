//! What belongs to one head and changes with it, fetched in one go: the head is the same before and after, so that all of it is of one moment.

use super::{
    Fetch, FetchFault, HEAD_PATH, LogFault, MAX_CHECKPOINT_BYTES, MAX_FLOORS_BYTES, MAX_HEAD_BYTES,
    MAX_TOKEN_BYTES, fetch_head, listing,
};
use crate::follower::FollowerConfig;
use crate::head::VerifiedHead;
use crate::root::Anchors;
use crate::trust::Trust;
use std::collections::BTreeMap;

/// How often it is begun again. An authority that publishes without a pause has a new head some tens of times a second, and all of it takes
/// as many round trips as there are documents and shards: near it one of these fits between two heads, from far away none may.
const TAKES: usize = 32;

/// A source that answers what it was asked while the snapshot was taken as it answered then.
pub(super) struct Snapshot<'a> {
    fetch: &'a mut dyn Fetch,
    held: BTreeMap<String, Result<Vec<u8>, FetchFault>>,
    taking: bool,
}

impl<'a> Snapshot<'a> {
    /// Fetches head, trust document, floors, listing, checkpoint and status tokens until the head stands still meanwhile.
    ///
    /// # Errors
    /// The head, as [`fetch_head`]; [`LogFault::Moving`].
    pub(super) fn take(
        fetch: &'a mut dyn Fetch,
        config: &FollowerConfig,
        now: u64,
    ) -> Result<(Snapshot<'a>, (VerifiedHead, Anchors, Trust)), LogFault> {
        let mut snapshot = Snapshot { fetch, held: BTreeMap::new(), taking: false };
        for _ in 0..TAKES {
            snapshot.held.clear();
            snapshot.taking = true;
            let head = fetch_head(&mut snapshot, config, now)?;
            for shard in &head.0.head().shards {
                for name in [shard.hex(), shard.n.to_string()] {
                    let _ = snapshot.get(&format!("/v1/feed/shards/{name}"), MAX_TOKEN_BYTES as u64);
                }
            }
            let _ = snapshot.get("/v1/floors", MAX_FLOORS_BYTES as u64);
            let _ = snapshot.get("/checkpoint", MAX_CHECKPOINT_BYTES as u64);
            let _ = listing(&mut snapshot);
            snapshot.taking = false;
            let after = snapshot.fetch.get(HEAD_PATH, MAX_HEAD_BYTES as u64);
            if after.is_ok() && snapshot.held.get(HEAD_PATH) == Some(&after) {
                return Ok((snapshot, head));
            }
        }
        Err(LogFault::Moving)
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

    fn by_name(&self) -> bool {
        self.fetch.by_name()
    }
}
