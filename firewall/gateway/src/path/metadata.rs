//! Authorization in MCP on its way: what a server demands of a caller, and its metadata, which are nobody's message and yet a question that
//! policies are asked about and that leaves a record.

use bytes::Bytes;
use http::HeaderValue;
use semgate_inspect::{Arrived, Delivered, Direction, HeaderClaims, Peer, Refusal};
use semgate_message::Call;
use semgate_message::mcp::{Head, Operation, Version};

use super::{NotRecorded, Stopped, Way, stopped_reply};
use crate::answer::Answer;
use crate::authorize::Demand;
use crate::card::conditional;
use crate::forward::Begun;
use crate::reasons::{no_audit, of_read, reply_facts, unspent};
use crate::record::Outcome;

/// What is judged: what a server is and takes is `server/discover`, and where its tokens are to be had is a part of that.
const DISCOVERY: &[u8] = br#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

impl Way<'_> {
    /// The metadata of the protected resource at this path, to whom policies permit `Discover`.
    pub(super) async fn metadata(
        &self,
        peer: &Peer,
        of: &str,
        has: Option<&HeaderValue>,
    ) -> Result<Answer, Stopped> {
        let lane = self.lane;
        let shared = &*lane.shared;
        let head = Head {
            version: Some(Version::V2026_07_28.as_str().to_owned()),
            method: Some(Operation::Discover.method().to_owned()),
            ..Head::default()
        };
        let judged = Bytes::from_static(DISCOVERY);
        let arrived = Arrived { call: Call::mcp(head), body: Bytes::new(), judged };
        let headers = HeaderClaims::default();
        // the id is ours: a problem document answers
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

    /// What the head of an answer demands of the caller; its next proof's nonce where the answer may go on.
    ///
    /// # Errors
    /// `authorization_required`, and `upstream_invalid` for a demand that cannot be read.
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
