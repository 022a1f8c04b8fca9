//! A stream of messages from the agent behind: each is judged as it passes, recorded before it is handed on, and framed anew.
//!
//! As with streams of events, nothing is read ahead, and a caller who leaves takes the agent's call with it. The first message
//! that may not pass ends the call with our status, and the agent's with it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use semgate_contexts::json;
use semgate_inspect::{Delivered, Direction, Facts, Refusal, Sent, StreamState};
use semgate_message::a2a::Operation;
use tokio::time::{Instant, timeout_at};

use super::answer::{Ended, Messages};
use super::carry::answered;
use super::frame::framed;
use super::status::{refused, well};
use crate::forward::{self, Answering, Begun, invalid};
use crate::path::{json_limits, no_audit, unix_now};
use crate::record::{NotRecorded, Outcome, Record, Recorded};
use crate::relay::{LOOK, Of};
use crate::upstream::Lease;

/// One stream on its way.
pub(crate) struct Relay {
    of: Of,
    sent: Sent,
    operation: Operation,
    state: StreamState,
    /// When it was last held against what is live, and under which generation.
    looked: (Instant, u64),
    /// `None` once it is over: dropping it tells the agent.
    from: Option<(Incoming, Lease)>,
    messages: Messages,
    passed: usize,
    idle: Instant,
    ends: Instant,
}

/// What comes next for the caller.
pub(crate) enum Next {
    Message(Bytes),
    End(HeaderMap),
}

impl Relay {
    /// Takes over the answer to a call whose answer is a stream. `waits` is how long all of it may take.
    ///
    /// # Errors
    /// The head is none of an answer, or says how the call ended.
    pub(crate) fn begin(begun: Begun, of: Of, operation: Operation, waits: Duration) -> Result<Self, Ended> {
        let Begun { sent, answering } = begun;
        let Answering { head, body, lease, .. } = answering;
        let limits = &of.lane.shared.limits;
        let messages = Messages::begin(&head, limits.event_bytes)?;
        let now = Instant::now();
        Ok(Self {
            looked: (now, sent.facts().generation),
            state: of.lane.shared.inspector.stream(&sent),
            from: Some((body, lease)),
            passed: 0,
            idle: now + limits.stream_idle,
            ends: now + waits,
            messages,
            operation,
            sent,
            of,
        })
    }

    async fn next(&mut self) -> Next {
        match self.step().await {
            Ok(next) => next,
            Err(ended) => Next::End(self.fail(&ended)),
        }
    }

    async fn step(&mut self) -> Result<Next, Ended> {
        loop {
            if let Some(message) = self.messages.ready()? {
                return Ok(Next::Message(self.message(message)?));
            }
            if self.messages.is_over() {
                if let Some((_, lease)) = self.from.take() {
                    self.of.lane.pool.keep(lease);
                }
                return Ok(Next::End(well()));
            }
            self.more().await?;
        }
    }

    /// Waits for what the agent says next.
    async fn more(&mut self) -> Result<(), Ended> {
        loop {
            self.still()?;
            let Some((body, _)) = &mut self.from else { return Ok(()) };
            let look = (Instant::now() + LOOK).min(self.idle).min(self.ends);
            let Ok(frame) = timeout_at(look, body.frame()).await else { continue };
            let frame = frame.transpose().map_err(|_| invalid("the stream of the agent behind was cut"))?;
            self.idle = Instant::now() + self.of.lane.shared.limits.stream_idle;
            return self.messages.take(frame);
        }
    }

    /// Whether the stream may go on: its time, the caller's certificate, and what it was allowed under.
    fn still(&mut self) -> Result<(), Refusal> {
        let now = Instant::now();
        if now >= self.ends || now >= self.idle {
            return Err(forward::timeout(Delivered::Yes));
        }
        let _ = self.of.identity.peer(unix_now())?;
        let lane = &self.of.lane;
        let inspector = &lane.shared.inspector;
        let generation = inspector.generation().number();
        let (last, under) = self.looked;
        // the end of a status makes no generation, so time alone asks too
        if generation != under || now.duration_since(last) >= LOOK {
            self.looked = (now, generation);
            self.state.still_counts(inspector, &self.sent, &lane.replier, lane.shared.now())?;
        }
        Ok(())
    }

    fn message(&mut self, message: Bytes) -> Result<Bytes, Refusal> {
        let lane = Rc::clone(&self.of.lane);
        let limits = &lane.shared.limits;
        self.passed = self.passed.saturating_add(1);
        if self.passed > limits.events {
            return Err(invalid("the stream has more messages than the limit"));
        }
        let json = json::Limits { max_bytes: limits.event_bytes, ..json_limits(limits) };
        let event = answered(self.operation, message, &json)?;
        let inspector = &lane.shared.inspector;
        let now = lane.shared.now();
        let permit = inspector.inspect_event(&self.sent, &mut self.state, &lane.replier, event, now)?;
        if self.record(Outcome::Allowed, permit.facts().clone()).is_err() {
            return Err(no_audit(Delivered::Yes).with_facts(permit.facts().clone()));
        }
        lane.metrics.allowed(Direction::Reply, self.of.began.elapsed().as_secs_f64());
        let (_, bytes) = permit.spend();
        Ok(framed(&bytes))
    }

    fn record(&self, outcome: Outcome, facts: Facts) -> Result<Recorded, NotRecorded> {
        let duration = self.of.began.elapsed().as_micros();
        self.of.lane.shared.audit.record(Record {
            time: unix_now(),
            decision: self.of.decision,
            outcome,
            facts,
            duration_us: u64::try_from(duration).unwrap_or(u64::MAX),
        })
    }

    /// The end of a stream that may not go on, or that the agent ended with a failure.
    fn fail(&mut self, ended: &Ended) -> HeaderMap {
        self.from = None;
        let (of, refusal) = (&self.of, &ended.refusal);
        let known = !refusal.facts().sender.is_empty();
        let facts = if known { refusal.facts().clone() } else { of.facts.clone() };
        let facts = Facts { direction: Direction::Reply, ..facts };
        tracing::info!(
            decision = %of.decision, code = %refusal.code(), route = of.lane.route.name, detail = refusal.detail(),
            "a stream ends: {}", refusal.reason()
        );
        of.lane.metrics.refused(Direction::Reply, refusal.code(), of.began.elapsed().as_secs_f64());
        let _ = self.record(Outcome::Refused(refusal.code()), facts);
        refused(refusal, ended.status, of.decision)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if self.from.is_some() {
            self.of.lane.metrics.abandoned(Direction::Reply);
            let _ = self.record(Outcome::Abandoned, self.of.facts.clone());
        }
    }
}

type Step = Pin<Box<dyn Future<Output = (Box<Relay>, Next)>>>;

/// The relay as the body of an answer.
pub(crate) enum Relayed {
    /// Nothing is asked for.
    Resting(Box<Relay>),
    /// The next message is awaited.
    Working(Step),
    /// The end was handed on.
    Over,
}

impl Body for Relayed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        loop {
            match std::mem::replace(this, Self::Over) {
                Self::Over => return Poll::Ready(None),
                Self::Resting(mut relay) => {
                    *this = Self::Working(Box::pin(async move {
                        let next = relay.next().await;
                        (relay, next)
                    }));
                }
                Self::Working(mut step) => {
                    let Poll::Ready((relay, next)) = step.as_mut().poll(cx) else {
                        *this = Self::Working(step);
                        return Poll::Pending;
                    };
                    return Poll::Ready(Some(Ok(match next {
                        Next::End(trailers) => Frame::trailers(trailers),
                        Next::Message(message) => {
                            *this = Self::Resting(relay);
                            Frame::data(message)
                        }
                    })));
                }
            }
        }
    }
}
