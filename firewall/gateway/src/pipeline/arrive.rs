//! A request up to its inspection: charge, head and body.

use std::time::Duration;

use bytes::Bytes;
use http::Version;
use http::request::Parts;
use semgate_contexts::json;
use semgate_inspect::{Arrived, Code, Direction, Peer, Refusal};
use semgate_protocol::{Call, RpcId};

use super::exchange::{Exchange, Stopped};
use crate::clock::unix_now;
use crate::config::Limits;
use crate::pipeline::admit::{self, Admitted, Arrival};
use crate::pipeline::gateway_refusals;
use crate::pipeline::grpc::carry;
use crate::pipeline::mcp;
use crate::pipeline::protocol;
use crate::pipeline::receive::unread::Unread;
use crate::pipeline::receive::{self, Received};
use crate::pipeline::refuse::Manner;
use crate::server::account::{TooMany, TooOften};
use crate::server::framing::Serving;

/// The longest delay of a refused arrival's answer. After a second the caller has not given up yet, and a connection gets at
/// most one such refusal a second.
const PAUSE: Duration = Duration::from_secs(1);

impl Exchange<'_> {
    /// Charges a request to its agent, even with a faulty head, which also costs an answer and a record. A refused arrival is
    /// answered once the next could pass, at most a second later. So an agent past its limit gains no speed.
    pub(crate) fn charge_arrival(&self) -> Result<(), Refusal> {
        let shared = &*self.worker.shared;
        self.identity.enter(&self.charge).map_err(|TooMany| gateway_refusals::too_many())?;
        let Err(TooOften { wait }) = self.identity.account().arrive(shared.now()) else { return Ok(()) };
        self.pause.set(wait.min(PAUSE));
        Err(gateway_refusals::too_often(&shared.accounts.rate(), wait.saturating_sub(self.pause.get())))
    }

    /// Identifies the caller with its credentials, and admits the head.
    pub(super) async fn admit(&self, serving: &Serving, parts: &Parts) -> Result<(Peer, Arrival), Stopped> {
        let shared = &*self.worker.shared;
        if let Some(fault) = serving.fault() {
            // nothing read so far tells the caller's protocol, except for a gRPC call, whose head has frames of its own
            let framed = parts.version == Version::HTTP_2 && matches!(self.manner, Manner::Grpc { .. });
            let manner = if framed { self.manner } else { Manner::Plain };
            return Err(Stopped::from(gateway_refusals::framing(fault)).answered_in(manner));
        }
        let now = unix_now();
        let peer = self.identity.peer(now)?;
        let arrival = admit::admit(&self.worker.rules, parts, &shared.limits)?;
        let peer = self.shows(parts)?.by(peer, now)?;
        if !matches!(arrival, Arrival::Message(_)) {
            self.worker.turns.unit().await;
        }
        Ok((peer, arrival))
    }

    /// Reads the body. Then the caller and its credentials must still count: handshakes, groups and lists are answered without
    /// forwarding.
    pub(super) async fn receive(
        &self,
        admitted: Admitted,
        body: &mut Unread,
        serving: &Serving,
    ) -> Result<Received, Refusal> {
        let room = self.room();
        let receiving = receive::receive(admitted, body, serving, &room);
        let received = self.attended(|| self.bare_facts(Direction::Request), receiving).await?;
        self.still()?;
        Ok(received)
    }

    /// Combines the head and the body of a request.
    pub(super) fn arrived(&self, received: Received) -> Result<(Admitted, Arrived), Refusal> {
        let limits = &self.worker.shared.limits;
        let Received { mut admitted, bytes } = received;
        let call = match std::mem::replace(&mut admitted.call, Ok(Call::l8())) {
            Ok(call) => call,
            Err(refusal) => return Err(refusal.with_rpc_id(rpc_id(&bytes, limits))),
        };
        if let Some(operation) = call.form.grpc() {
            let arrived = carry::arrived(call, operation, &bytes, &limits.json())?;
            return Ok((admitted, arrived));
        }
        if let Some(judged) = call.mcp.as_deref().and_then(|head| mcp::judged(&head.verb)) {
            // over HTTP/2 no header announces a body
            if !bytes.is_empty() {
                return Err(admit::with_body(admit::BODILESS));
            }
            return Ok((admitted, Arrived { call, body: bytes, judged: Bytes::from_static(judged) }));
        }
        let Some(target) = &admitted.target else { return Ok((admitted, Arrived::whole(call, bytes))) };
        if admitted.typed.is_none() && !bytes.is_empty() {
            return Err(Refusal::new(Code::EncodingUnsupported, "the body has no content type")
                .with_hint("send json as `application/a2a+json` or `application/json`"));
        }
        let rules = &self.worker.rules;
        let judged = protocol::http(call.binding).judged(rules, target, &bytes, &limits.json())?;
        Ok((admitted, Arrived { call, body: bytes, judged }))
    }
}

/// Id of a request that its head refuses.
fn rpc_id(bytes: &[u8], limits: &Limits) -> Option<RpcId> {
    semgate_protocol::a2a::rpc_id(&json::read(bytes, &limits.json()).ok()?)
}
