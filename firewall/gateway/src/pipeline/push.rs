//! Push configurations in transit. The agent sees an address of the push lane, and the configuration's owner sees the
//! target. A rewritten message is judged like a new one.

use bytes::Bytes;
use semgate_contexts::json;
use semgate_inspect::{Arrived, Code, Delivered, Delivery, Peer, Permit, Refusal, ReplyPermit, Sent};
use semgate_protocol::Call;
use semgate_protocol::a2a::{Operation, PushTarget, PushTargets, Version, grpc};

use crate::pipeline::admit::Admitted;
use crate::pipeline::exchange::Exchange;
use crate::pipeline::gateway_refusals::invalid;
use crate::pipeline::gateway_refusals::unspent;
use crate::pipeline::grpc::carry;
use crate::pipeline::grpc::carry::answered;
use crate::upstream::egress;

/// Concept of a request that sets a configuration.
const CREATE: &str = "CreateTaskPushNotificationConfig";

impl Exchange<'_> {
    /// The request for the agent: the push lane's address replaces the target, which must be on the list and is kept here.
    ///
    /// # Errors
    /// `target_refused`, and any refusal of the rewritten request.
    pub(crate) fn redirected(&self, permit: Permit, admitted: &Admitted) -> Result<Permit, Refusal> {
        let body = &permit.body().clone();
        let sets = permit.facts().concepts.iter().any(|name| name.contains(CREATE));
        let (Some(egress), Some(operation), true) = (&self.worker.egress, permit.operation(), sets) else {
            return Ok(permit);
        };
        let call = permit.call().clone();
        match self.rewritten(&call, operation, admitted, body, egress) {
            Ok((arrived, token, target)) => {
                let inspector = &self.worker.shared.inspector;
                let mut permit = inspector.rewrite(permit, arrived, self.worker.shared.now())?;
                let PushTarget { url, token: shown, authentication } = target;
                let old = call.version == Version::V03;
                let (task, config, until) = (None, None, None);
                // the inspector knows the task, the route and the lock
                let route = String::new();
                let delivery =
                    Delivery { url, token: shown, authentication, old, task, config, until, route };
                inspector.deliver(&mut permit, &token, delivery);
                Ok(permit)
            }
            Err(refusal) => Err(unspent(permit, refusal)),
        }
    }

    fn rewritten(
        &self,
        call: &Call,
        operation: Operation,
        admitted: &Admitted,
        body: &Bytes,
        egress: &egress::Egress,
    ) -> Result<(Arrived, String, PushTarget), Refusal> {
        let limits = self.worker.shared.limits.json();
        let fault = |why: String| {
            Refusal::new(Code::Malformed, "the gateway cannot rewrite the push configuration")
                .with_detail(why)
        };
        let of_call = |message: &[u8], operation| {
            grpc::request(operation, message, &grpc::Limits::of(&limits)).map(Bytes::from)
        };
        let text = match call.form.grpc() {
            Some(operation) => of_call(body, operation).map_err(|why| fault(why.to_string()))?,
            None => body.clone(),
        };
        let json = json::read(&text, &limits).map_err(|why| fault(why.to_string()))?;
        let configurations = PushTargets::in_request(&json, call.form, operation, call.version);
        let target = configurations.targets().into_iter().next().flatten();
        let target = target.ok_or_else(|| fault("it has no target".to_owned()))?;
        egress.out.targets.listed(&target.url).map_err(|_| egress::refused())?;
        let token = egress.token()?;
        let address = PushTarget { url: egress.address(&token), token: None, authentication: None };
        let body = Bytes::from(configurations.rewritten(&[Some(address)]));
        let arrived = match (call.form.grpc(), &admitted.target) {
            (Some(operation), _) => {
                let json = json::read(&body, &limits).map_err(|why| fault(why.to_string()))?;
                let message = grpc::write_request(operation, &json).map_err(|why| fault(why.to_string()))?;
                let judged = of_call(&message, operation).map_err(|why| fault(why.to_string()))?;
                Arrived { call: call.clone(), body: message.into(), judged }
            }
            (_, Some(target)) => Arrived { call: call.clone(), judged: target.judged(&body, &limits)?, body },
            (_, None) => Arrived::whole(call.clone(), body),
        };
        Ok((arrived, token, target))
    }

    /// An answer with push configurations, for their owner: with the owner's targets, and in a list without unknown
    /// configurations. `judged` holds the judged bytes if the transport has no JSON.
    ///
    /// # Errors
    /// `upstream_invalid` for an address not given to the agent; `not_found` for an unknown or forgotten configuration. Also
    /// any refusal of the rewritten answer.
    pub(crate) fn restored(
        &self,
        sent: &Sent,
        replier: &Peer,
        permit: ReplyPermit,
        judged: Option<&Bytes>,
    ) -> Result<ReplyPermit, Refusal> {
        let worker = self.worker;
        let (Some(egress), Some(asked)) = (&worker.egress, sent.asked()) else { return Ok(permit) };
        let operation = asked.operation;
        let answers = [
            Operation::CreateTaskPushNotificationConfig,
            Operation::GetTaskPushNotificationConfig,
            Operation::ListTaskPushNotificationConfigs,
        ];
        if !answers.contains(&operation) {
            return Ok(permit);
        }
        let bytes = permit.body().clone();
        let limits = &worker.shared.limits;
        let limits = json::Limits { max_bytes: limits.reply_bytes, ..limits.json() };
        let fault = |why: String| invalid("the gateway cannot rewrite the answer").with_detail(why);
        let json = json::read(judged.unwrap_or(&bytes), &limits).map_err(|why| fault(why.to_string()))?;
        let configurations = PushTargets::in_answer(&json, asked.form, operation, asked.version);
        let known = |answered: Option<PushTarget>| {
            let delivery = worker.shared.inspector.delivery(sent, egress.token_of(&answered?.url)?)?;
            let Delivery { url, token, authentication, .. } = Delivery::clone(&delivery);
            Some(PushTarget { url, token, authentication })
        };
        let targets: Vec<Option<PushTarget>> = configurations.targets().into_iter().map(known).collect();
        if targets.contains(&None) {
            match operation {
                Operation::ListTaskPushNotificationConfigs => {}
                Operation::GetTaskPushNotificationConfig => {
                    return Err(forgotten().with_rpc_id(sent.rpc_id().cloned()));
                }
                _ => {
                    return Err(invalid("the upstream agent answered with another address than it received")
                        .with_rpc_id(sent.rpc_id().cloned()));
                }
            }
        }
        let body = Bytes::from(configurations.rewritten(&targets));
        let (inspector, now) = (&worker.shared.inspector, worker.shared.now());
        if let Some(operation) = asked.form.grpc() {
            let message = carry::encode(operation, &body, &limits).map_err(|ended| ended.refusal)?;
            let reply = answered(operation, message, &limits)?;
            return inspector.rewrite_reply(permit, sent, replier, reply, now);
        }
        inspector.rewrite_reply(permit, sent, replier, body, now)
    }
}

/// Refusal of a configuration that bypassed the gateway or was forgotten. Nothing is delivered for it.
fn forgotten() -> Refusal {
    Refusal::new(Code::NotFound, "there is no task or conversation with this id")
        .with_hint("set the push configuration again")
        .with_detail("the agent returned a push configuration that the gateway does not know")
        .with_delivered(Delivered::Yes)
}
