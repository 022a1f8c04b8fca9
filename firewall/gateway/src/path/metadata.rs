//! MCP authorization in transit: a server's demand to a caller, and the server's metadata. The metadata are no message, but
//! policies decide on the request, and it leaves a record.

use bytes::Bytes;
use http::HeaderValue;
use semgate_inspect::{Arrived, Delivered, Direction, HeaderClaims, Peer, Refusal};
use semgate_protocol::Call;
use semgate_protocol::mcp::{Head, Operation, Revision};

use super::{NotRecorded, Stopped, Way, stopped_reply};
use crate::answer::Answer;
use crate::authorize::Demand;
use crate::card::conditional;
use crate::forward::Begun;
use crate::reasons::{no_audit, of_read, reply_facts, unspent};
use crate::record::Outcome;

/// Message for inspection that stands for a metadata request. `server/discover` describes a server, and the source of its
/// tokens is part of that.
const DISCOVERY: &[u8] = br#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

impl Way<'_> {
    /// Serves the metadata of the protected resource at this path, if policies permit `Discover`.
    pub(super) async fn metadata(
        &self,
        peer: &Peer,
        of: &str,
        has: Option<&HeaderValue>,
    ) -> Result<Answer, Stopped> {
        let lane = self.lane;
        let shared = &*lane.shared;
        let head = Head {
            version: Some(Revision::V2026_07_28.as_str().to_owned()),
            method: Some(Operation::Discover.method().to_owned()),
            ..Head::default()
        };
        let judged = Bytes::from_static(DISCOVERY);
        let arrived = Arrived { call: Call::mcp(head), body: Bytes::new(), judged };
        let headers = HeaderClaims::default();
        // the id is the gateway's, so a problem document is the answer
        let asked = shared.inspector.inspect(&lane.route, peer, &headers, arrived, shared.now());
        let permit = asked.map_err(|refusal| refusal.with_rpc_id(None))?;
        if let Err(NotRecorded) = self.record(Outcome::Allowed, permit.facts().clone()) {
            return Err(unspent(permit, no_audit(Delivered::No)).with_rpc_id(None).into());
        }
        lane.metrics.allowed(Direction::Request, self.began.elapsed().as_secs_f64());
        // nothing of the caller's is sent: the gateway asks in its own name
        let (_, sent) = permit.spend();
        let Some(authorization) = &lane.authorization else {
            return Err(crate::admit::unsupported("post a message to `/`").into());
        };
        let facts = || reply_facts(sent.facts());
        let asking = authorization.metadata((&lane.pool, &lane.address), of);
        match self.attended(facts, asking).await {
            Ok(body) => Ok(conditional(body, has, self.decision)),
            Err(refusal) => Err(stopped_reply(of_read(refusal), facts())),
        }
    }

    /// Reads the demand in an answer's head, or the nonce for the next proof if the answer may pass.
    ///
    /// # Errors
    /// `authorization_required`; `upstream_invalid` for an invalid demand.
    pub(super) fn demanded(&self, begun: &Begun, demand: &mut Demand) -> Result<(), Refusal> {
        let Some(authorization) = &self.lane.authorization else { return Ok(()) };
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
