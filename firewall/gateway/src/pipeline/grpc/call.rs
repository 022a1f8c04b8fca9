//! Answer to a gRPC call: one message or a stream, and the final status.

use std::time::Duration;

use bytes::Bytes;
use semgate_contexts::json;
use semgate_inspect::{Delivered, Direction, Facts, Written};
use semgate_protocol::Call;
use semgate_protocol::a2a::Operation;

use crate::config::Limits;
use crate::pipeline::answer::{Answer, AnswerBody};
use crate::pipeline::exchange::{Exchange, Stopped, stopped_reply};
use crate::pipeline::forward::{Answering, Begun};
use crate::pipeline::gateway_refusals::no_audit;
use crate::pipeline::gateway_refusals::{self};
use crate::pipeline::grpc::answer::{Ended, Messages, Whole};
use crate::pipeline::grpc::carry::answered;
use crate::pipeline::grpc::carry::encode;
use crate::pipeline::grpc::frame::framed;
use crate::pipeline::grpc::head::MEDIA;
use crate::pipeline::grpc::relay::{Relay, Relayed};
use crate::pipeline::grpc::status::well;
use crate::pipeline::record::Outcome;
use crate::pipeline::refuse::Manner;
use crate::pipeline::reply::Stamp;

/// Time to wait for the answer to a call: the route's limit, or the caller's if lower.
pub(crate) fn waits(limits: &Limits, call: &Call, caller: Option<Duration>) -> Duration {
    let streams = call.operation().is_some_and(Operation::streams);
    let ours = if streams { limits.stream_time } else { limits.upstream_timeout };
    caller.map_or(ours, |caller| caller.min(ours))
}

impl Exchange<'_> {
    /// Continues after the head of an answer.
    pub(crate) async fn called(
        &self,
        operation: Operation,
        begun: Begun,
        facts: Facts,
        waits: Duration,
        stamp: &Stamp<'_>,
    ) -> Result<Answer, Stopped> {
        let body = if operation.streams() {
            let relay = Relay::begin(begun, self.of(facts.clone()), operation, waits);
            relay.map(|relay| AnswerBody::Stream(Box::pin(Relayed::Resting(Box::new(relay)))))
        } else {
            let one = self.one(operation, begun, waits);
            let message = self.attended(|| facts.clone(), one).await;
            message.map(|message| AnswerBody::Stream(Box::pin(Whole::new(framed(&message), well()))))
        };
        match body {
            Ok(body) => Ok(stamp.pieces(body, MEDIA)),
            Err(Ended { refusal, status }) => {
                let manner = status.map(|status| Manner::Grpc { agent: Some(status) });
                Err(Stopped { manner, ..stopped_reply(refusal, facts) })
            }
        }
    }

    /// The only message of an answer, judged and recorded.
    async fn one(&self, operation: Operation, begun: Begun, waits: Duration) -> Result<Bytes, Ended> {
        let worker = self.worker;
        let limits = &worker.shared.limits;
        let Begun { sent, answering } = begun;
        let Answering { head, body, lease, deadline, .. } = answering;
        let replier = lease.met().replier(&worker.replier);
        let deadline = deadline.min(tokio::time::Instant::from_std(self.began) + waits);
        let declined = |ended: &Ended| {
            if ended.status.is_some() {
                worker.shared.inspector.declined(&sent);
            }
        };
        let read = Messages::begin(&head, limits.reply_bytes).inspect_err(declined)?.only(body, &self.charge);
        let message = match tokio::time::timeout_at(deadline, read).await {
            Ok(message) => message.inspect_err(declined)?,
            // the agent sent a head, so it has the message
            Err(_) => return Err(gateway_refusals::timeout(Delivered::Yes).into()),
        };
        worker.pool.keep(lease);
        worker.turns.unit().await;
        self.hears()?;
        let json = json::Limits { max_bytes: limits.reply_bytes, ..limits.json() };
        let reply = answered(operation, message, &json)?;
        let now = worker.shared.now();
        let judged = reply.judged.clone();
        let permit = worker.shared.inspector.inspect_reply(&sent, &replier, 200, reply, now)?;
        let permit = self.restored(&sent, &replier, permit, Some(&judged))?;
        let written = permit.written();
        let card = match operation {
            Operation::GetExtendedAgentCard => {
                // the gateway's own messages are JSON
                let json = if written == Written::ByGateway { permit.body() } else { &judged };
                worker.card.extended(json, Call::grpc(operation).form, None)?
            }
            _ => None,
        };
        if self.record(Outcome::Allowed, permit.facts().clone()).is_err() {
            return Err(no_audit(Delivered::Yes).into());
        }
        worker.metrics.allowed(Direction::Reply, self.began.elapsed().as_secs_f64());
        let (_, bytes) = permit.spend();
        if let Some(card) = card {
            return encode(operation, &without_old(&card), &json);
        }
        if written == Written::ByGateway { encode(operation, &bytes, &json) } else { Ok(bytes) }
    }
}

/// A card without the members of 0.3, which do not exist in the protocol's messages.
fn without_old(card: &[u8]) -> Vec<u8> {
    let Ok(serde_json::Value::Object(mut card)) = serde_json::from_slice(card) else { return card.to_vec() };
    for member in
        ["url", "preferredTransport", "protocolVersion", "supportsAuthenticatedExtendedCard", "security"]
    {
        card.remove(member);
    }
    serde_json::Value::Object(card).to_string().into_bytes()
}
