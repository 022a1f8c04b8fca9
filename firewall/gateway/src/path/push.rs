//! Push configurations on their way: the agent behind is told an address of the egress lane, and the configuration's owner the target.
//! Both are named transformations (`docs/design/firewall.md` §1): what is written anew is judged as a new message.

use bytes::Bytes;
use semgate_contexts::json;
use semgate_inspect::{Arrived, Code, Delivered, Delivery, Peer, Permit, Refusal, ReplyPermit, Sent};
use semgate_message::a2a::{Operation, PushTarget, PushTargets, Version, grpc};
use semgate_message::{Call, Form};

use super::Way;
use crate::admit::Admitted;
use crate::egress;
use crate::grpc::carry;
use crate::grpc::carry::answered;
use crate::reasons::invalid;
use crate::reasons::unspent;

/// The concept of a configuration that a request sets.
const CREATE: &str = "CreateTaskPushNotificationConfig";

impl Way<'_> {
    /// The request as the agent behind is told it: a target on the list is kept here, and the lane's address takes its place.
    ///
    /// # Errors
    /// `target_refused`; and whatever stops the request that was written anew.
    pub(super) fn redirected(
        &self,
        permit: Permit,
        admitted: &Admitted,
        body: &Bytes,
    ) -> Result<Permit, Refusal> {
        let sets = permit.facts().concepts.iter().any(|name| name.contains(CREATE));
        let (Some(egress), Some(operation), true) = (&self.lane.egress, permit.operation(), sets) else {
            return Ok(permit);
        };
        let call = permit.call().clone();
        match self.anew(&call, operation, admitted, body, egress) {
            Ok((arrived, token, target)) => {
                let inspector = &self.lane.shared.inspector;
                let mut permit = inspector.anew(permit, arrived, self.lane.shared.now())?;
                let PushTarget { url, token: shown, authentication } = target;
                let old = call.version == Version::V03;
                let (task, config, until) = (None, None, None);
                // the inspector knows about which task, on which route, and whether under a lock
                let route = String::new();
                let delivery =
                    Delivery { url, token: shown, authentication, old, task, config, until, route };
                inspector.deliver(&mut permit, &token, delivery);
                Ok(permit)
            }
            Err(refusal) => Err(unspent(permit, refusal)),
        }
    }

    fn anew(
        &self,
        call: &Call,
        operation: Operation,
        admitted: &Admitted,
        body: &Bytes,
        egress: &egress::Egress,
    ) -> Result<(Arrived, String, PushTarget), Refusal> {
        let limits = self.lane.shared.limits.json();
        let fault = |why: String| {
            Refusal::new(Code::Malformed, "the push configuration cannot be written as the gateway has to")
                .with_detail(why)
        };
        let of_call = |message: &[u8], operation| {
            grpc::request(operation, message, &grpc::Limits::of(&limits)).map(Bytes::from)
        };
        let text = match call.form {
            Form::Grpc(operation) => of_call(body, operation).map_err(|why| fault(why.to_string()))?,
            _ => body.clone(),
        };
        let json = json::read(&text, &limits).map_err(|why| fault(why.to_string()))?;
        let found = PushTargets::asked(&json, call.form, operation, call.version);
        let target = found.targets().into_iter().next().flatten();
        let target = target.ok_or_else(|| fault("it has no target".to_owned()))?;
        egress.targets.listed(&target.url).map_err(|_| egress::refused())?;
        let token = egress.token()?;
        let told = PushTarget { url: egress.address(&token), token: None, authentication: None };
        let anew = Bytes::from(found.anew(&[Some(told)]));
        let arrived = match (call.form, &admitted.target) {
            (Form::Grpc(operation), _) => {
                let json = json::read(&anew, &limits).map_err(|why| fault(why.to_string()))?;
                let message = grpc::write_request(operation, &json).map_err(|why| fault(why.to_string()))?;
                let judged = of_call(&message, operation).map_err(|why| fault(why.to_string()))?;
                Arrived { call: call.clone(), body: message.into(), judged }
            }
            (_, Some(target)) => {
                Arrived { call: call.clone(), judged: target.judged(&anew, &limits)?, body: anew }
            }
            (_, None) => Arrived::whole(call.clone(), anew),
        };
        Ok((arrived, token, target))
    }

    /// An answer that tells push configurations, as their owner is told them: with its own targets, and in a list without those that
    /// the gateway does not know. `judged` is what was judged where the transport carries no JSON.
    ///
    /// # Errors
    /// `upstream_invalid` for an answer with another address than the agent was told, `not_found` for a configuration that the gateway
    /// does not know (any more); and whatever stops the answer that was written anew.
    pub(super) fn restored(
        &self,
        (sent, replier): (&Sent, &Peer),
        permit: ReplyPermit,
        judged: Option<&Bytes>,
    ) -> Result<ReplyPermit, Refusal> {
        let lane = self.lane;
        let (Some(egress), Some(asked)) = (&lane.egress, sent.asked()) else { return Ok(permit) };
        let operation = asked.operation;
        let told = [
            Operation::CreateTaskPushNotificationConfig,
            Operation::GetTaskPushNotificationConfig,
            Operation::ListTaskPushNotificationConfigs,
        ];
        if !told.contains(&operation) {
            return Ok(permit);
        }
        let bytes = permit.body().clone();
        let limits = &lane.shared.limits;
        let limits = json::Limits { max_bytes: limits.reply_bytes, ..limits.json() };
        let fault =
            |why: String| invalid("the answer cannot be written as the gateway has to").with_detail(why);
        let json = json::read(judged.unwrap_or(&bytes), &limits).map_err(|why| fault(why.to_string()))?;
        let found = PushTargets::told(&json, asked.form, operation, asked.version);
        let known = |told: Option<PushTarget>| {
            let delivery = lane.shared.inspector.delivery(sent, egress.token_of(&told?.url)?)?;
            let Delivery { url, token, authentication, .. } = Delivery::clone(&delivery);
            Some(PushTarget { url, token, authentication })
        };
        let targets: Vec<Option<PushTarget>> = found.targets().into_iter().map(known).collect();
        if targets.contains(&None) {
            match operation {
                Operation::ListTaskPushNotificationConfigs => {}
                Operation::GetTaskPushNotificationConfig => {
                    return Err(forgotten().with_rpc_id(sent.rpc_id().cloned()));
                }
                _ => {
                    return Err(invalid("the agent behind answered with another address than it was told")
                        .with_rpc_id(sent.rpc_id().cloned()));
                }
            }
        }
        let anew = Bytes::from(found.anew(&targets));
        let (inspector, now) = (&lane.shared.inspector, lane.shared.now());
        if let Form::Grpc(operation) = asked.form {
            let message = carry::anew(operation, &anew, &limits).map_err(|ended| ended.refusal)?;
            let reply = answered(operation, message, &limits)?;
            return inspector.reply_anew(permit, sent, replier, reply, now);
        }
        inspector.reply_anew(permit, sent, replier, anew, now)
    }
}

/// It was set past the gateway, or so long ago that the gateway forgot it: nothing is delivered for it.
fn forgotten() -> Refusal {
    Refusal::new(Code::NotFound, "there is no task or conversation of this id")
        .with_hint("set the push configuration again")
        .with_detail("the agent told a push configuration that the gateway does not know")
        .with_delivered(Delivered::Yes)
}
