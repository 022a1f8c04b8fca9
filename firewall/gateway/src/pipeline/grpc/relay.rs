//! A stream of messages from the agent. Each is judged, recorded and reframed before it is forwarded.
//!
//! Nothing is read ahead, and a caller that leaves ends the agent's call. The first refused message ends both calls, the
//! caller's with our status.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use semgate_contexts::json;
use semgate_inspect::{Delivered, Refusal, Written};
use semgate_protocol::a2a::Operation;
use tokio::time::timeout_at;

use super::answer::{Ended, Messages};
use super::carry::answered;
use super::carry::encode;
use super::frame::framed;
use super::status::{refused, well};
use crate::pipeline::forward::{Answering, Begun};
use crate::pipeline::gateway_refusals::{invalid, no_room};
use crate::pipeline::relay::{Course, Of};
use crate::server::account::NoRoom;
use crate::upstream::{Lease, ReplyBody};

/// One relayed stream.
pub(crate) struct Relay {
    course: Course,
    operation: Operation,
    /// `None` once the stream is over; dropping it notifies the agent.
    from: Option<(ReplyBody, Lease)>,
    messages: Messages,
    passed: usize,
}

/// Next output for the caller.
pub(crate) enum Next {
    Message(Bytes),
    End(HeaderMap),
}

impl Relay {
    /// Takes over an answer that is a stream. `waits` limits its total time.
    ///
    /// # Errors
    /// The head is invalid, or states the end of the call.
    pub(crate) fn begin(begun: Begun, of: Of, operation: Operation, waits: Duration) -> Result<Self, Ended> {
        let Begun { sent, answering } = begun;
        let Answering { head, body, lease, .. } = answering;
        let (inspector, limits) = (&of.worker.shared.inspector, &of.worker.shared.limits);
        let messages = Messages::begin(&head, limits.event_bytes)
            .inspect_err(|ended| ended.status.iter().for_each(|_| inspector.declined(&sent)))?;
        Ok(Self {
            course: Course::new(of, sent, lease.met(), waits),
            from: Some((body, lease)),
            passed: 0,
            messages,
            operation,
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
                self.course.of().worker.turns.unit().await;
                return Ok(Next::Message(self.message(message)?));
            }
            if self.messages.is_over() {
                if let Some((_, lease)) = self.from.take() {
                    self.course.of().worker.pool.keep(lease);
                }
                return Ok(Next::End(well()));
            }
            self.more().await?;
        }
    }

    /// Charges the caller with the bytes of an unfinished message.
    fn hold(&self, more: usize) -> Result<(), Refusal> {
        let bytes = self.messages.buffered().saturating_add(more);
        self.course.of().charge.hold_only(bytes).map_err(|NoRoom| no_room(Delivered::Yes))
    }

    /// Waits for the agent's next message or end.
    async fn more(&mut self) -> Result<(), Ended> {
        // forwarded bytes are no longer held
        self.hold(0)?;
        loop {
            self.course.still()?;
            let look = self.course.next_look();
            let Some((body, _)) = &mut self.from else { return Ok(()) };
            let Ok(frame) = timeout_at(look, body.frame()).await else { continue };
            let frame = frame.transpose().map_err(|_| invalid("the upstream agent's stream was cut"))?;
            self.course.answered();
            let came = frame.as_ref().and_then(Frame::data_ref).map_or(0, Bytes::len);
            self.hold(came)?;
            return self.messages.take(frame);
        }
    }

    fn message(&mut self, message: Bytes) -> Result<Bytes, Refusal> {
        let limits = &self.course.of().worker.shared.limits;
        self.passed = self.passed.saturating_add(1);
        if self.passed > crate::pipeline::events::MAX_EVENTS {
            return Err(invalid("the stream has more messages than the limit"));
        }
        let json = json::Limits { max_bytes: limits.event_bytes, ..limits.json() };
        let permit = self.course.judge(answered(self.operation, message, &json)?)?;
        let written = permit.written();
        let bytes = self.course.pass(permit)?;
        // the gateway's own messages are JSON
        let bytes = if written == Written::ByGateway {
            encode(self.operation, &bytes, &json).map_err(|ended| ended.refusal)?
        } else {
            bytes
        };
        Ok(framed(&bytes))
    }

    /// Trailers of a stream that may not continue, or that the agent ended with a failure.
    fn fail(&mut self, ended: &Ended) -> HeaderMap {
        self.from = None;
        if ended.status.is_some() {
            self.course.declined();
        }
        self.course.refused(&ended.refusal);
        refused(&ended.refusal, ended.status, self.course.of().decision)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if self.from.is_some() {
            self.course.abandoned();
        }
    }
}

type Step = Pin<Box<dyn Future<Output = (Box<Relay>, Next)>>>;

/// The relay as an answer's body.
pub(crate) enum Relayed {
    /// No message is requested.
    Resting(Box<Relay>),
    /// The next message is awaited.
    Working(Step),
    /// The end was forwarded.
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
