//! Answers of the gateway in the agent's place, such as clarifications and lists without other callers' items. Both messages
//! leave records, and nothing is forwarded.

use http::{HeaderName, HeaderValue};
use semgate_inspect::{Delivered, Direction, Refusal, ReplyPermit, Sent};
use semgate_protocol::a2a::Operation;

use crate::pipeline::admit::Admitted;
use crate::pipeline::answer::{Answer, AnswerBody};
use crate::pipeline::events::EVENT_STREAM;
use crate::pipeline::events::{self, Event};
use crate::pipeline::exchange::{Exchange, Stopped, stopped_reply};
use crate::pipeline::gateway_refusals::no_audit;
use crate::pipeline::grpc::answer::Whole;
use crate::pipeline::grpc::carry::encode;
use crate::pipeline::grpc::frame::framed;
use crate::pipeline::grpc::head::MEDIA;
use crate::pipeline::grpc::status::well;
use crate::pipeline::quota;
use crate::pipeline::record::NotRecorded;
use crate::pipeline::record::Outcome;

/// Header of answers that the agent did not give.
pub(crate) const STATED_BY: HeaderName = HeaderName::from_static("semgate-said-by");

impl Exchange<'_> {
    /// Returns the gateway's own answer, in the form of an agent's.
    pub(crate) fn clarified(
        &self,
        sent: &Sent,
        reply: ReplyPermit,
        admitted: &Admitted,
    ) -> Result<Answer, Stopped> {
        let worker = self.worker;
        let reply_facts = reply.facts().clone();
        let for_request = |refusal: Refusal| refusal.with_rpc_id(sent.rpc_id().cloned());
        let streams = sent.operation().is_some_and(Operation::streams);
        let json = reply.spend().1;
        let (body, kind) = match sent.asked().and_then(|asked| asked.form.grpc()) {
            Some(operation) => {
                let message = encode(operation, &json, &worker.shared.limits.json());
                let message = message.map_err(|ended| stopped_reply(ended.refusal, reply_facts.clone()))?;
                (AnswerBody::Stream(Box::pin(Whole::new(framed(&message), well()))), MEDIA)
            }
            None if streams => {
                let event = events::write(&Event { data: Some(json), ..Event::default() });
                (AnswerBody::from(event), EVENT_STREAM)
            }
            None => (AnswerBody::from(json), "application/json"),
        };
        for (direction, facts) in
            [(Direction::Request, sent.facts().clone()), (Direction::Reply, reply_facts)]
        {
            if let Err(NotRecorded) = self.record(Outcome::Allowed, facts.clone()) {
                let refusal = for_request(no_audit(Delivered::No)).with_facts(facts);
                return Err(Stopped { direction, ..Stopped::from(refusal) });
            }
            worker.metrics.allowed(direction, self.began.elapsed().as_secs_f64());
        }
        let mut answer = self.stamp(admitted).pieces(body, kind);
        quota::tell(&mut answer, sent.quotas().to_vec());
        answer.headers_mut().insert(STATED_BY, HeaderValue::from_static("gateway"));
        Ok(answer)
    }
}
