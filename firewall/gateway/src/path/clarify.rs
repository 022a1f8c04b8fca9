//! Answers of the gateway in the agent's place, such as clarifications and lists without other callers' items. Both messages
//! leave records, and nothing is forwarded.

use http::{HeaderName, HeaderValue};
use semgate_inspect::{Delivered, Direction, Refusal, ReplyPermit, Sent};
use semgate_protocol::a2a::Operation;

use super::{NotRecorded, Stopped, Way, stopped_reply};
use crate::admit::Admitted;
use crate::answer::{Answer, AnswerBody};
use crate::events::EVENT_STREAM;
use crate::events::{self, Event};
use crate::grpc::answer::Whole;
use crate::grpc::carry::anew;
use crate::grpc::frame::framed;
use crate::grpc::head::MEDIA;
use crate::grpc::status::well;
use crate::quota;
use crate::reasons::no_audit;
use crate::record::Outcome;
use crate::reply;

/// Header of answers that the agent did not give.
pub(super) const SAID_BY: HeaderName = HeaderName::from_static("semgate-said-by");

impl Way<'_> {
    /// Returns the gateway's own answer, in the form of an agent's.
    pub(super) fn clarified(
        &self,
        sent: &Sent,
        reply: ReplyPermit,
        admitted: &Admitted,
    ) -> Result<Answer, Stopped> {
        let lane = self.lane;
        let said = reply.facts().clone();
        let told = |refusal: Refusal| refusal.with_rpc_id(sent.rpc_id().cloned());
        let streams = sent.operation().is_some_and(Operation::streams);
        let json = reply.spend().1;
        let (body, kind) = match sent.asked().and_then(|asked| asked.form.grpc()) {
            Some(operation) => {
                let message = anew(operation, &json, &lane.shared.limits.json());
                let message = message.map_err(|ended| stopped_reply(ended.refusal, said.clone()))?;
                (AnswerBody::Stream(Box::pin(Whole::new(framed(&message), well()))), MEDIA)
            }
            None if streams => {
                let event = events::write(&Event { data: Some(json), ..Event::default() });
                (AnswerBody::from(event), EVENT_STREAM)
            }
            None => (AnswerBody::from(json), "application/json"),
        };
        for (direction, facts) in [(Direction::Request, sent.facts().clone()), (Direction::Reply, said)] {
            if let Err(NotRecorded) = self.record(Outcome::Allowed, facts.clone()) {
                let refusal = told(no_audit(Delivered::No)).with_facts(facts);
                return Err(Stopped { direction, ..Stopped::from(refusal) });
            }
            lane.metrics.allowed(direction, self.began.elapsed().as_secs_f64());
        }
        let echo = admitted.extension.as_ref();
        let mut answer = reply::hand_on(body, kind, echo, None, &lane.address, self.decision);
        quota::tell(&mut answer, sent.quotas().to_vec());
        answer.headers_mut().insert(SAID_BY, HeaderValue::from_static("gateway"));
        Ok(answer)
    }
}
