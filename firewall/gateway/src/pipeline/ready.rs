//! Inspection of a request, and all that its permit needs before it is spent.

use semgate_approvals::Used;
use semgate_contexts::json;
use semgate_inspect::{Arrived, Code, Delivered, Direction, Facts, HeaderClaims, Peer, Permit, Refusal};
use semgate_protocol::Form;

use super::exchange::{Exchange, Stopped};
use crate::config::Limits;
use crate::pipeline::admit::Admitted;
use crate::pipeline::gateway_refusals::{self, no_audit, unspent};
use crate::pipeline::record::{NotRecorded, Outcome, Recorded};
use crate::pipeline::refuse;
use crate::upstream::Lease;

/// Part of each push-configuration operation's name.
const PUSH_CONFIGURATION: &str = "TaskPushNotificationConfig";

/// A recorded permit with a connection to the agent.
pub(crate) struct Ready {
    pub(crate) permit: Permit,
    /// Proof that the approval of people, if it needed one, is used up.
    _used: Option<Used>,
    _recorded: Recorded,
    pub(crate) lease: Lease,
}

impl Exchange<'_> {
    /// Runs the inspector's stages. A call that needs a newer tool list is judged after the gateway read the list.
    pub(super) async fn inspect(
        &self,
        peer: &Peer,
        admitted: &Admitted,
        arrived: Arrived,
    ) -> Result<Permit, Stopped> {
        let (shared, route) = (&self.worker.shared, &self.worker.route);
        let l9_context: Vec<&str> = admitted.l9_context.iter().map(String::as_str).collect();
        let headers = HeaderClaims { l9_context: &l9_context };
        let (form, body) = (arrived.call.form, arrived.body.clone());
        let again = shared.inspector.may_ask_for_tools(route).then(|| arrived.clone());
        let judged = match (again, shared.inspector.inspect(route, peer, &headers, arrived, shared.now())) {
            (Some(again), Err(refusal)) => Ok(Box::pin(self.listed(peer, admitted, again, refusal)).await?),
            (_, judged) => judged,
        };
        let judged = match judged {
            Err(refusal) if refusal.code() == Code::ApprovalRequired => {
                Ok(Box::pin(self.ask(peer, refusal)).await?)
            }
            judged => judged,
        };
        Ok(self.without_push(judged, form, &body)?)
    }

    /// Prepares forwarding: a connection, a currently valid permit, and its record.
    pub(crate) async fn ready(&self, permit: Permit) -> Result<Ready, Stopped> {
        let shared = &self.worker.shared;
        // its questions are counted: if the caller leaves before the record of the permit, that is recorded
        let leased = self.attended(|| permit.facts().clone(), self.worker.pool.lease()).await;
        let lease = match leased {
            Ok(lease) => lease,
            Err(fault) => return Err(unspent(permit, gateway_refusals::unreachable(&fault)).into()),
        };
        // the body and the connection may have taken a while: the current state decides
        let renewed = match self.still() {
            Ok(()) => shared.inspector.renew(permit, shared.now()),
            Err(refusal) => Err(unspent(permit, refusal)),
        };
        let permit = match renewed {
            Ok(permit) => permit,
            Err(refusal) => {
                self.worker.pool.keep(lease);
                return Err(refusal.into());
            }
        };
        let used = match self.use_approval(&permit).await {
            Ok(used) => used,
            Err(refusal) => {
                self.worker.pool.keep(lease);
                return Err(unspent(permit, refusal).into());
            }
        };
        let recorded = match self.record(Outcome::Allowed, permit.facts().clone()) {
            Ok(recorded) => recorded,
            Err(NotRecorded) => {
                self.worker.pool.keep(lease);
                return Err(unspent(permit, no_audit(Delivered::No)).into());
            }
        };
        self.worker.metrics.allowed(Direction::Request, self.began.elapsed().as_secs_f64());
        Ok(Ready { permit, _used: used, _recorded: recorded, lease })
    }

    /// Refuses a request about a push configuration on a route without them, with the protocol's own error. This comes before
    /// any ownership check.
    fn without_push(
        &self,
        asked: Result<Permit, Refusal>,
        form: Form,
        body: &[u8],
    ) -> Result<Permit, Refusal> {
        let about = |facts: &Facts| facts.concepts.iter().any(|name| name.contains(PUSH_CONFIGURATION));
        match asked {
            _ if self.worker.rules.push => asked,
            Ok(permit) if about(permit.facts()) => Err(unspent(permit, refuse::no_push())),
            Err(why)
                if why.code() == Code::NotFound && names_push(form, body, &self.worker.shared.limits) =>
            {
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
