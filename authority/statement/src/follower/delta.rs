//! Fetches a delta since the accepted head in place of the whole head. The resulting head is judged like any other; on any irregularity the
//! whole head is fetched.

use super::round::FetchTarget;
use super::{Answer, FollowFault, Follower, Request, Round};
use crate::delta::Delta;
use crate::format::FormatFault;
use crate::head::{MAX_HEAD_BYTES, TYPE};
use crate::jws::General;

impl Follower {
    /// The first request of a round.
    pub(super) fn first_want(&self, now: u64) -> FetchTarget {
        match &self.state.head {
            Some(pinned) if self.state.complete && self.schedule.asks_for_deltas(now) => {
                FetchTarget::Delta(pinned.head.head().seq)
            }
            _ => FetchTarget::Head,
        }
    }

    /// Takes a delta; if it leads to no head that verifies, asks for the head.
    pub(super) fn take_delta(
        &mut self,
        round: &mut Round,
        request: &Request,
        answer: Answer,
        now: u64,
    ) -> Result<(), FollowFault> {
        let Answer { status, etag, body } = answer;
        let led = match (status, body.len() as u64 <= request.max_bytes) {
            (200, true) => self.lead(round, &body, etag, now),
            (200, false) => Err(FollowFault::TooLarge { what: "delta" }),
            // an authority without deltas, a mirror, a log that changed too much
            _ => {
                self.schedule.without_deltas(now);
                return Ok(());
            }
        };
        match led {
            Err(fault @ (FollowFault::Delta(_) | FollowFault::TooLarge { .. } | FollowFault::Head(_))) => {
                self.schedule.without_deltas(now);
                round.refused_head = None;
                self.reports.add(None, fault, None, now);
                Ok(())
            }
            led => led,
        }
    }

    fn lead(
        &mut self,
        round: &mut Round,
        bytes: &[u8],
        etag: Option<String>,
        now: u64,
    ) -> Result<(), FollowFault> {
        let Some(had) = &self.state.head else { return Err(FollowFault::Unasked) };
        let delta = Delta::read(bytes).map_err(FollowFault::Delta)?;
        // the chain is that of the head before: after a change of the feed key, the whole head is needed
        let before = General::read(&had.bytes, TYPE, self.state.anchors.roots(), MAX_HEAD_BYTES)
            .map_err(|_| FollowFault::Delta(FormatFault::Member("protected")))?;
        let applied = delta
            .apply(&had.head.head().shards, &self.state.statuses, before.chain())
            .map_err(FollowFault::Delta)?;
        round.shards.extend(applied.shards);
        self.take_head(round, &applied.head, etag, now)
    }
}
