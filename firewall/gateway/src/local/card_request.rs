//! The agent card. It is no message, but policies decide on the request, and it leaves a record.

use bytes::Bytes;
use http::HeaderValue;
use semgate_inspect::{Arrived, Delivered, Direction, HeaderClaims, Peer, Refusal, ReplyPermit, Sent};
use semgate_protocol::Call;
use semgate_protocol::a2a::{Operation, Version};

use crate::local::card::AgentConnection;
use crate::pipeline::answer::Answer;
use crate::pipeline::exchange::{Exchange, Stopped, stopped_reply};
use crate::pipeline::gateway_refusals::{no_audit, of_read, reply_facts, unspent};
use crate::pipeline::quota;
use crate::pipeline::record::NotRecorded;
use crate::pipeline::record::Outcome;

/// Parameters of the request.
const NOTHING: Bytes = Bytes::from_static(b"{}");

impl Exchange<'_> {
    /// Serves the card if policies permit `GetAgentCard`.
    pub(crate) async fn card(&self, peer: &Peer, has: Option<&HeaderValue>) -> Result<Answer, Stopped> {
        let worker = self.worker;
        let shared = &*worker.shared;
        let call = Call::json(Version::V10, Some(Operation::GetAgentCard));
        let arrived = Arrived { call, body: Bytes::new(), judged: NOTHING };
        let headers = HeaderClaims::default();
        let permit = shared.inspector.inspect(&worker.card_route, peer, &headers, arrived, shared.now())?;
        if let Err(NotRecorded) = self.record(Outcome::Allowed, permit.facts().clone()) {
            return Err(unspent(permit, no_audit(Delivered::No)).into());
        }
        worker.metrics.allowed(Direction::Request, self.began.elapsed().as_secs_f64());
        // nothing of the caller's is sent: the gateway asks in its own name, or has asked before
        let (_, sent) = permit.spend();
        worker.metrics.cards.increment(1);
        let connection =
            AgentConnection { pool: &worker.pool, address: &worker.address, limits: &shared.limits };
        let answer = worker.card.answer(connection, has, self.decision).await;
        let mut answer =
            answer.map_err(|refusal| stopped_reply(of_read(refusal), reply_facts(sent.facts())))?;
        quota::tell(&mut answer, sent.quotas().to_vec());
        Ok(answer)
    }

    /// Replacement for a JSON reply with the extended card, if needed.
    ///
    /// # Errors
    /// `upstream_invalid` for an unsigned card that must be signed.
    pub(crate) fn extended(&self, sent: &Sent, permit: &ReplyPermit) -> Result<Option<Bytes>, Refusal> {
        match sent.asked().filter(|asked| asked.operation == Operation::GetExtendedAgentCard) {
            Some(asked) => self.worker.card.extended(permit.body(), asked.form, sent.rpc_id()),
            None => Ok(None),
        }
    }
}
