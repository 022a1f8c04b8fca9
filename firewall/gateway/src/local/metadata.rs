//! MCP authorization in transit: a server's demand to a caller, and the server's metadata. The metadata are no message, but
//! policies decide on the request, and it leaves a record.

use bytes::Bytes;
use http::HeaderValue;
use semgate_inspect::{Arrived, Delivered, Direction, HeaderClaims, Peer, Refusal};
use semgate_protocol::Call;
use semgate_protocol::mcp::{Head, Operation, Revision};

use crate::local::card::conditional;
use crate::pipeline::answer::Answer;
use crate::pipeline::authorize::Demand;
use crate::pipeline::exchange::{Exchange, Stopped, stopped_reply};
use crate::pipeline::forward::Begun;
use crate::pipeline::gateway_refusals::{no_audit, of_read, reply_facts, unspent};
use crate::pipeline::record::NotRecorded;
use crate::pipeline::record::Outcome;

/// Message for inspection that stands for a metadata request. `server/discover` describes a server, and the source of its
/// tokens is part of that.
const DISCOVERY: &[u8] = br#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

impl Exchange<'_> {
    /// Serves the metadata of the protected resource at this path, if policies permit `Discover`.
    pub(crate) async fn metadata(
        &self,
        peer: &Peer,
        of: &str,
        has: Option<&HeaderValue>,
    ) -> Result<Answer, Stopped> {
        let worker = self.worker;
        let shared = &*worker.shared;
        let head = Head {
            version: Some(Revision::V2026_07_28.as_str().to_owned()),
            method: Some(Operation::Discover.method().to_owned()),
            ..Head::default()
        };
        let judged = Bytes::from_static(DISCOVERY);
        let arrived = Arrived { call: Call::mcp(head), body: Bytes::new(), judged };
        let headers = HeaderClaims::default();
        // the id is the gateway's, so a problem document is the answer
        let asked = shared.inspector.inspect(&worker.route, peer, &headers, arrived, shared.now());
        let permit = asked.map_err(|refusal| refusal.with_rpc_id(None))?;
        if let Err(NotRecorded) = self.record(Outcome::Allowed, permit.facts().clone()) {
            return Err(unspent(permit, no_audit(Delivered::No)).with_rpc_id(None).into());
        }
        worker.metrics.allowed(Direction::Request, self.began.elapsed().as_secs_f64());
        // nothing of the caller's is sent: the gateway asks in its own name
        let (_, sent) = permit.spend();
        let Some(authorization) = &worker.authorization else {
            return Err(crate::pipeline::admit::unsupported("post a message to `/`").into());
        };
        let facts = || reply_facts(sent.facts());
        let asking = authorization.metadata((&worker.pool, &worker.address), of);
        match self.attended(facts, asking).await {
            Ok(body) => Ok(conditional(body, has, self.decision)),
            Err(refusal) => Err(stopped_reply(of_read(refusal), facts())),
        }
    }

    /// Reads the demand in an answer's head, or the nonce for the next proof if the answer may pass.
    ///
    /// # Errors
    /// `authorization_required`; `upstream_invalid` for an invalid demand.
    pub(crate) fn demanded(&self, begun: &Begun, demand: &mut Demand) -> Result<(), Refusal> {
        let Some(authorization) = &self.worker.authorization else { return Ok(()) };
        let head = &begun.answering.head;
        let of = |refusal: Refusal| refusal.with_rpc_id(begun.sent.rpc_id().cloned());
        if let Some(made) = authorization.demand(head).map_err(of)? {
            *demand = made;
            return Err(of(Refusal::demanded(head.status.as_u16())));
        }
        *demand = authorization.nonce(head);
        Ok(())
    }
}
