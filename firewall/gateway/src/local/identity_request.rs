//! The documents of a delegate: its card and its manifest. Policies decide on the request and on the document, and the request
//! leaves a record.

use bytes::Bytes;
use http::HeaderValue;
use semgate_inspect::{Arrived, Delivered, Direction, HeaderClaims, Peer, Refusal};
use semgate_protocol::{Call, Form, ldp};

use crate::local::card::{AgentConnection, conditional};
use crate::pipeline::answer::Answer;
use crate::pipeline::exchange::{Exchange, Stopped, stopped_reply};
use crate::pipeline::gateway_refusals::{no_audit, of_read, reply_facts, unspent};
use crate::pipeline::quota;
use crate::pipeline::record::{NotRecorded, Outcome};

impl Exchange<'_> {
    /// Serves a document of the delegate if policies permit to read it, and the delegate to state it.
    pub(crate) async fn document(
        &self,
        peer: &Peer,
        call: Call,
        has: Option<&HeaderValue>,
    ) -> Result<Answer, Stopped> {
        let worker = self.worker;
        let shared = &*worker.shared;
        let (Some(identity), Form::Ldp(document)) = (&worker.identity, call.form) else {
            return Err(crate::pipeline::admit::unsupported("post a message to `/`").into());
        };
        let judged = Bytes::from_static(ldp::NO_BODY);
        let arrived = Arrived { call, body: Bytes::new(), judged };
        let headers = HeaderClaims::default();
        let permit = shared.inspector.inspect(&worker.route, peer, &headers, arrived, shared.now())?;
        if let Err(NotRecorded) = self.record(Outcome::Allowed, permit.facts().clone()) {
            return Err(unspent(permit, no_audit(Delivered::No)).into());
        }
        worker.metrics.allowed(Direction::Request, self.began.elapsed().as_secs_f64());
        // nothing of the caller's is sent: the gateway asks in its own name, or has asked before
        let (_, sent) = permit.spend();
        worker.metrics.cards.increment(1);
        let connection =
            AgentConnection { pool: &worker.pool, address: &worker.address, limits: &shared.limits };
        let stopped = |refusal: Refusal| stopped_reply(of_read(refusal), reply_facts(sent.facts()));
        let body = identity.document(connection, document).await.map_err(stopped)?;
        let judged = shared.inspector.inspect_reply(&sent, &worker.replier, 200, body, shared.now());
        let permit = judged.map_err(stopped)?;
        if let Err(NotRecorded) = self.record(Outcome::Allowed, permit.facts().clone()) {
            return Err(stopped(no_audit(Delivered::No)));
        }
        worker.metrics.allowed(Direction::Reply, self.began.elapsed().as_secs_f64());
        let mut answer = conditional(permit.spend().1, has, self.decision);
        quota::tell(&mut answer, sent.quotas().to_vec());
        Ok(answer)
    }
}
