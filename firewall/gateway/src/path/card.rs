//! The agent card. It is no message, but policies decide on the request, and it leaves a record.

use bytes::Bytes;
use http::HeaderValue;
use semgate_inspect::{Arrived, Delivered, Direction, HeaderClaims, Peer, Refusal, ReplyPermit, Sent};
use semgate_protocol::Call;
use semgate_protocol::a2a::{Operation, Version};

use super::{NotRecorded, Stopped, Way, stopped_reply};
use crate::answer::Answer;
use crate::card::Behind;
use crate::quota;
use crate::reasons::{no_audit, of_read, reply_facts, unspent};
use crate::record::Outcome;

/// Parameters of the request.
const NOTHING: Bytes = Bytes::from_static(b"{}");

impl Way<'_> {
    /// Serves the card if policies permit `GetAgentCard`.
    pub(super) async fn card(&self, peer: &Peer, has: Option<&HeaderValue>) -> Result<Answer, Stopped> {
        let lane = self.lane;
        let shared = &*lane.shared;
        let call = Call::json(Version::V10, Some(Operation::GetAgentCard));
        let arrived = Arrived { call, body: Bytes::new(), judged: NOTHING };
        let headers = HeaderClaims::default();
        let permit = shared.inspector.inspect(&lane.card_route, peer, &headers, arrived, shared.now())?;
        if let Err(NotRecorded) = self.record(Outcome::Allowed, permit.facts().clone()) {
            return Err(unspent(permit, no_audit(Delivered::No)).into());
        }
        lane.metrics.allowed(Direction::Request, self.began.elapsed().as_secs_f64());
        // nothing of the caller's is sent: the gateway asks in its own name, or has asked before
        let (_, sent) = permit.spend();
        lane.metrics.cards.increment(1);
        let behind = Behind { pool: &lane.pool, address: &lane.address, limits: &shared.limits };
        let answer = lane.card.answer(behind, has, self.decision).await;
        let mut answer =
            answer.map_err(|refusal| stopped_reply(of_read(refusal), reply_facts(sent.facts())))?;
        quota::tell(&mut answer, sent.quotas().to_vec());
        Ok(answer)
    }

    /// Replacement for a JSON reply with the extended card, if needed.
    ///
    /// # Errors
    /// `upstream_invalid` for an unsigned card that must be signed.
    pub(super) fn extended(&self, sent: &Sent, permit: &ReplyPermit) -> Result<Option<Bytes>, Refusal> {
        match sent.asked().filter(|asked| asked.operation == Operation::GetExtendedAgentCard) {
            Some(asked) => self.lane.card.extended(permit.body(), asked.form, sent.rpc_id()),
            None => Ok(None),
        }
    }
}
