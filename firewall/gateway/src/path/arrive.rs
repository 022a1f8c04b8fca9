//! Combination of a request's head and body, and refusal of unsupported push configurations.

use bytes::Bytes;
use semgate_contexts::json;
use semgate_inspect::{Arrived, Code, Facts, Permit, Refusal};
use semgate_protocol::{Call, Form, RpcId};

use super::Way;
use crate::admit::{self, Admitted};
use crate::config::Limits;
use crate::grpc::carry;
use crate::mcp;
use crate::reasons::unspent;
use crate::receive::Received;
use crate::refuse;

/// Part of each push-configuration operation's name.
const PUSH_CONFIGURATION: &str = "TaskPushNotificationConfig";

impl Way<'_> {
    /// Combines the head and the body of a request.
    pub(super) fn arrived(&self, received: Received) -> Result<(Admitted, Arrived), Refusal> {
        let limits = &self.lane.shared.limits;
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
        let judged = target.judged(&bytes, &limits.json())?;
        Ok((admitted, Arrived { call, body: bytes, judged }))
    }

    /// Refuses a request about a push configuration on a route without them, with the protocol's own error. This comes before
    /// any ownership check.
    pub(super) fn push(
        &self,
        asked: Result<Permit, Refusal>,
        form: Form,
        body: &[u8],
    ) -> Result<Permit, Refusal> {
        let about = |facts: &Facts| facts.concepts.iter().any(|name| name.contains(PUSH_CONFIGURATION));
        match asked {
            _ if self.lane.door.push => asked,
            Ok(permit) if about(permit.facts()) => Err(unspent(permit, refuse::no_push())),
            Err(why) if why.code() == Code::NotFound && names_push(form, body, &self.lane.shared.limits) => {
                let (id, facts) = (why.rpc_id().cloned(), why.facts().clone());
                Err(refuse::no_push().with_rpc_id(id).with_facts(facts))
            }
            other => other,
        }
    }
}

/// Returns true if a refused request is about a push configuration.
fn names_push(form: Form, body: &[u8], limits: &Limits) -> bool {
    let method = |json: &json::Json<'_>| {
        let method = json.as_object()?.get("method")?.as_str()?;
        Some(method.to_ascii_lowercase().contains("pushnotificationconfig"))
    };
    match form.operation() {
        Some(operation) => operation.as_str().contains(PUSH_CONFIGURATION),
        None if form.is_json_rpc() => {
            json::read(body, &limits.json()).ok().as_ref().and_then(method) == Some(true)
        }
        None => false,
    }
}

/// Id of a request that its head refuses.
fn rpc_id(bytes: &[u8], limits: &Limits) -> Option<RpcId> {
    semgate_protocol::a2a::rpc_id(&json::read(bytes, &limits.json()).ok()?)
}
