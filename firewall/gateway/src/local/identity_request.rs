//! The documents of a delegate. They are no messages, but policies decide on the request, and it leaves a record.

use bytes::Bytes;
use http::HeaderValue;
use semgate_inspect::{Arrived, Delivered, Direction, HeaderClaims, Peer};
use semgate_protocol::Call;

use super::identity_card::About;
use crate::local::card::AgentConnection;
use crate::pipeline::answer::Answer;
use crate::pipeline::exchange::{Exchange, Stopped, stopped_reply};
use crate::pipeline::gateway_refusals::{no_audit, of_read, reply_facts, unspent};
use crate::pipeline::quota;
use crate::pipeline::record::{NotRecorded, Outcome};

/// Parameters of the request.
const NOTHING: Bytes = Bytes::from_static(b"{}");

impl Exchange<'_> {
    /// Serves a document of the delegate if policies permit to read it.
    pub(crate) async fn identity(
        &self,
        peer: &Peer,
        about: About,
        has: Option<&HeaderValue>,
    ) -> Result<Answer, Stopped> {
        let worker = self.worker;
        let shared = &*worker.shared;
        let call = match about {
            About::Identity => Call::ldp_identity(),
            About::Capabilities => Call::ldp_capabilities(),
        };
        let arrived = Arrived { call, body: Bytes::new(), judged: NOTHING };
        let headers = HeaderClaims::default();
        let permit = shared.inspector.inspect(&worker.route, peer, &headers, arrived, shared.now())?;
        let Some(identity) = &worker.identity else {
            return Err(unspent(permit, crate::pipeline::admit::unsupported("post a message to `/`")).into());
        };
        if let Err(NotRecorded) = self.record(Outcome::Allowed, permit.facts().clone()) {
            return Err(unspent(permit, no_audit(Delivered::No)).into());
        }
        worker.metrics.allowed(Direction::Request, self.began.elapsed().as_secs_f64());
        // nothing of the caller's is sent: the gateway asks in its own name, or has asked before
        let (_, sent) = permit.spend();
        worker.metrics.cards.increment(1);
        let connection =
            AgentConnection { pool: &worker.pool, address: &worker.address, limits: &shared.limits };
        let answer = identity.answer(connection, about, has, self.decision).await;
        let mut answer =
            answer.map_err(|refusal| stopped_reply(of_read(refusal), reply_facts(sent.facts())))?;
        quota::tell(&mut answer, sent.quotas().to_vec());
        Ok(answer)
    }
}
