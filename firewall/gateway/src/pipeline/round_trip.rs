//! The way of a ready permit to the agent and back: forward → reply → record.

use http::HeaderValue;
use semgate_inspect::{Delivered, Direction, Facts, Refusal};
use semgate_protocol::a2a::Operation;

use super::exchange::{Exchange, Stopped, stopped_reply};
use super::ready::Ready;
use crate::pipeline::admit::Admitted;
use crate::pipeline::answer::{Answer, AnswerBody};
use crate::pipeline::authorize::Demand;
use crate::pipeline::events::lines;
use crate::pipeline::forward::{self, Begun, Returned};
use crate::pipeline::gateway_refusals::{no_audit, reply_facts};
use crate::pipeline::grpc::call;
use crate::pipeline::mcp;
use crate::pipeline::record::Outcome;
use crate::pipeline::relay::{self, Framing, Of, Opened, Relay, Relayed};
use crate::pipeline::reply::{self, Stamp};
use crate::pipeline::upstream_head::UpstreamHead;

/// An answer whose head was read.
enum Answered {
    Whole(Returned),
    Stream(Begun, Framing),
}

/// Head members of the agent's answer that the caller gets if the answer passes.
#[derive(Default)]
struct Offered {
    /// MCP: the session that the answer opens.
    session: Option<HeaderValue>,
    /// The agent's demand, or its nonce for the next proof of a token's key.
    demand: Demand,
}

impl Offered {
    fn tell(self, mut answer: Answer) -> Answer {
        self.demand.tell(&mut answer);
        if let Some(session) = self.session {
            answer.headers_mut().insert(mcp::SESSION, session);
        }
        answer
    }
}

impl Exchange<'_> {
    /// Spends the permit, and answers with the agent's judged reply.
    pub(super) async fn round_trip(&self, ready: Ready, admitted: &Admitted) -> Result<Answer, Stopped> {
        let worker = self.worker;
        let notice = ready.permit.notice().cloned();
        let stamp = Stamp { notice: notice.as_ref(), ..self.stamp(admitted) };
        let call = ready.permit.call().clone();
        let mut buffer = [0; 26];
        let head = UpstreamHead {
            identity: self.identity,
            l9_context: admitted.l9_context.first().map(String::as_str),
            extension: admitted.extension.as_ref(),
            call: &call,
            target: admitted.target.as_ref(),
            typed: admitted.typed,
            credentials: &admitted.credentials,
            waits: call::waits(&worker.shared.limits, &call, admitted.waits),
            events: admitted.events,
            decision: self.decision.text(&mut buffer),
            trace: &self.trace,
            resealed: None,
        };
        let facts = reply_facts(ready.permit.facts());
        let forwarded = forward::forward(ready, worker, &head, self.shown());
        if let Some(operation) = call.form.grpc() {
            let begun = self.attended(|| facts.clone(), forwarded).await;
            let begun = begun.map_err(|refusal| stopped_reply(refusal, facts.clone()))?;
            return Box::pin(self.called(operation, begun, facts, head.waits, &stamp)).await;
        }
        let mut offered = Offered::default();
        let answered = self.attended(|| facts.clone(), async {
            self.answered(forwarded.await?, admitted.events, &mut offered).await
        });
        match answered.await {
            Ok(Answered::Stream(begun, framing)) => {
                Box::pin(self.relay(begun, framing, facts, offered, &stamp)).await
            }
            Ok(Answered::Whole(returned)) => {
                self.attended(|| facts.clone(), worker.turns.unit()).await;
                self.hand_back(returned, facts, offered, &stamp)
            }
            Err(refusal) => Err(Stopped { demand: offered.demand, ..stopped_reply(refusal, facts) }),
        }
    }

    /// Reads an answer whole, unless it is a stream. `offered` is filled from its head.
    async fn answered(
        &self,
        mut begun: Begun,
        events: bool,
        offered: &mut Offered,
    ) -> Result<Answered, Refusal> {
        let worker = self.worker;
        self.demanded(&begun, &mut offered.demand)?;
        mcp::stands(&worker.shared.inspector, &begun.sent, begun.answering.head.status)?;
        offered.session = mcp::opened(&begun.sent, &begun.answering.head.headers)?;
        let streams =
            begun.sent.operation().is_some_and(Operation::streams) || begun.sent.mcp().is_some() || events;
        if let Some(framing) = self.framing(&mut begun, streams).await? {
            return Ok(Answered::Stream(begun, framing));
        }
        let success = begun.answering.head.status.is_success();
        Ok(Answered::Whole(match success && begun.sent.is_unanswered() {
            true => forward::unread(begun, worker, self.identity),
            false => forward::whole(begun, worker, &self.charge).await?,
        }))
    }

    /// Judges and records a whole reply, and answers with it.
    fn hand_back(
        &self,
        returned: Returned,
        facts: Facts,
        offered: Offered,
        stamp: &Stamp<'_>,
    ) -> Result<Answer, Stopped> {
        let worker = self.worker;
        let inspector = &worker.shared.inspector;
        let judged = reply::judge(inspector, returned, &worker.replier, self.hears(), worker.shared.now())
            .and_then(|(sent, passed)| {
                mcp::own(inspector, &sent, offered.session.as_ref())
                    .map_err(|refusal| refusal.with_facts(passed.permit.facts().clone()))?;
                Ok((sent, passed))
            });
        let stopped = |refusal| stopped_reply(refusal, facts.clone());
        let (sent, mut passed) = judged.map_err(stopped)?;
        passed.permit = self.restored(&sent, &passed.replier, passed.permit, None).map_err(stopped)?;
        let card = self.extended(&sent, &passed.permit).map_err(stopped)?;
        if sent.ends_session() {
            inspector.end_session(&sent);
        }
        if self.record(Outcome::Allowed, passed.permit.facts().clone()).is_err() {
            let facts = passed.permit.facts().clone();
            let refusal = no_audit(Delivered::Yes).with_rpc_id(sent.rpc_id().cloned());
            return Err(stopped_reply(refusal, facts));
        }
        worker.metrics.allowed(Direction::Reply, self.began.elapsed().as_secs_f64());
        Ok(offered.tell(stamp.whole(passed, card)))
    }

    /// Framing of an answer that is a stream; `None` for one reply.
    ///
    /// # Errors
    /// Same as for reading a reply.
    async fn framing(&self, begun: &mut Begun, streams: bool) -> Result<Option<Framing>, Refusal> {
        if streams && relay::is_stream(&begun.answering) {
            return Ok(Some(Framing::Events));
        }
        let asked = begun.sent.mcp().is_some_and(|asked| asked.rpc_id.is_some());
        if !asked || !self.worker.mcp.json_lines {
            return Ok(None);
        }
        let several = lines::are_several(&mut begun.answering, &self.worker.shared.limits).await;
        let several = several.map_err(|refusal| refusal.with_rpc_id(begun.sent.rpc_id().cloned()))?;
        Ok(several.then_some(Framing::Lines))
    }

    /// Relays a stream: its head goes out at once, and each event is judged as it passes. If its head opens a session, the
    /// answer in it is judged first.
    async fn relay(
        &self,
        begun: Begun,
        framing: Framing,
        facts: Facts,
        mut offered: Offered,
        stamp: &Stamp<'_>,
    ) -> Result<Answer, Stopped> {
        let of = Of { opens: offered.session.clone(), ..self.of(facts.clone()) };
        let mut relay = Relay::begin(begun, framing, of).map_err(|refusal| stopped_reply(refusal, facts))?;
        if offered.session.is_some() && relay.until_answered().await != Opened::Yes {
            offered.session = None;
        }
        let kind = relay.kind();
        let body = AnswerBody::Stream(Box::pin(Relayed::Resting(Box::new(relay))));
        Ok(offered.tell(stamp.pieces(body, kind)))
    }
}
