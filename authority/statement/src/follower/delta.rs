//! What changed since the accepted head, asked for in place of the head: what it leads to is judged like a head that was fetched whole, and
//! anything odd is answered by fetching it whole.

use super::round::FetchTarget;
use super::{Answer, FollowFault, Follower, Request, Round};
use crate::delta::Delta;
use crate::format::FormatFault;
use crate::head::{MAX_HEAD_BYTES, TYPE};
use crate::jws::General;

impl Follower {
    /// What a round asks for first.
    pub(super) fn first_want(&self, now: u64) -> FetchTarget {
        match &self.state.head {
            Some(pinned) if self.state.complete && self.schedule.asks_for_deltas(now) => {
                FetchTarget::Delta(pinned.head.head().seq)
            }
            _ => FetchTarget::Head,
        }
    }

    /// Takes what changed; if that leads to no head that verifies, the head is asked for.
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
        // the chain is that of the head before: who signs heads by another key now is asked for the whole
        let before = General::read(&had.bytes, TYPE, self.state.anchors.roots(), MAX_HEAD_BYTES)
            .map_err(|_| FollowFault::Delta(FormatFault::Member("protected")))?;
        let applied = delta
            .apply(&had.head.head().shards, &self.state.statuses, before.chain())
            .map_err(FollowFault::Delta)?;
        round.shards.extend(applied.shards);
        self.take_head(round, &applied.head, etag, now)
    }
}
