//! The documents of a delegate: its card and its manifest. Policies decide on the request and on the document, and the request
//! leaves a record.

use bytes::Bytes;
use http::HeaderValue;
use semgate_inspect::{Arrived, Delivered, Direction, HeaderClaims, Peer, Refusal};
use semgate_protocol::ldp::{self, Endpoint};
use semgate_protocol::{Call, Form};

use crate::local::card::conditional;
use crate::pipeline::answer::Answer;
use crate::pipeline::exchange::{Exchange, Stopped, stopped_reply};
use crate::pipeline::forward;
use crate::pipeline::gateway_refusals::{no_audit, of_read, reply_facts, unreachable, unspent};
use crate::pipeline::quota;
use crate::pipeline::record::{NotRecorded, Outcome};
use crate::server::worker::RouteWorker;
use crate::upstream::Allowed;

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
        let stopped = |refusal: Refusal| stopped_reply(of_read(refusal), reply_facts(sent.facts()));
        if !identity.is_compared() {
            let theirs = self.delegates_card().await.map_err(stopped)?;
            identity.compare(&theirs).map_err(stopped)?;
        }
        let body = identity.document(document);
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
    /// The delegate's own card, which the gateway asks for in its own name. Empty for an answer without one.
    async fn delegates_card(&self) -> Result<Bytes, Refusal> {
        let RouteWorker { pool, address, shared, .. } = &**self.worker;
        let lease = pool.lease().await.map_err(|fault| unreachable(&fault))?;
        let path = format!("{}{}", address.path().trim_end_matches('/'), Endpoint::Identity.path());
        let request = address.card_request(&path);
        let (head, body) = forward::exchange(pool, lease, request, &shared.limits, Allowed::ALWAYS).await?;
        Ok(if head.status == 200 { body } else { Bytes::new() })
    }
}
