//! A stream of messages from the agent behind: each is judged as it passes, recorded before it is handed on, and framed anew.
//!
//! As with streams of events, nothing is read ahead, and a caller who leaves takes the agent's call with it. The first message
//! that may not pass ends the call with our status, and the agent's with it.

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
use semgate_message::a2a::Operation;
use tokio::time::timeout_at;

use super::answer::{Ended, Messages};
use super::carry::anew;
use super::carry::answered;
use super::frame::framed;
use super::status::{refused, well};
use crate::account::NoRoom;
use crate::forward::{Answering, Begun};
use crate::reasons::{invalid, no_room};
use crate::relay::{Course, Of};
use crate::upstream::{Lease, ReplyBody};

/// One stream on its way.
pub(crate) struct Relay {
    course: Course,
    operation: Operation,
    /// `None` once it is over: dropping it tells the agent.
    from: Option<(ReplyBody, Lease)>,
    messages: Messages,
    passed: usize,
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
        let (inspector, limits) = (&of.lane.shared.inspector, &of.lane.shared.limits);
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
                self.course.of().lane.turns.unit().await;
                return Ok(Next::Message(self.message(message)?));
            }
            if self.messages.is_over() {
                if let Some((_, lease)) = self.from.take() {
                    self.course.of().lane.pool.keep(lease);
                }
                return Ok(Next::End(well()));
            }
            self.more().await?;
        }
    }

    /// Charges the caller with what is read of a message that is not whole.
    fn hold(&self, more: usize) -> Result<(), Refusal> {
        let bytes = self.messages.buffered().saturating_add(more);
        self.course.of().charge.hold_only(bytes).map_err(|NoRoom| no_room(Delivered::Yes))
    }

    /// Waits for what the agent says next.
    async fn more(&mut self) -> Result<(), Ended> {
        // what was handed on is held no more
        self.hold(0)?;
        loop {
            self.course.still()?;
            let look = self.course.next_look();
            let Some((body, _)) = &mut self.from else { return Ok(()) };
            let Ok(frame) = timeout_at(look, body.frame()).await else { continue };
            let frame = frame.transpose().map_err(|_| invalid("the stream of the agent behind was cut"))?;
            self.course.heard();
            let came = frame.as_ref().and_then(Frame::data_ref).map_or(0, Bytes::len);
            self.hold(came)?;
            return self.messages.take(frame);
        }
    }

    fn message(&mut self, message: Bytes) -> Result<Bytes, Refusal> {
        let limits = &self.course.of().lane.shared.limits;
        self.passed = self.passed.saturating_add(1);
        if self.passed > limits.events {
            return Err(invalid("the stream has more messages than the limit"));
        }
        let json = json::Limits { max_bytes: limits.event_bytes, ..limits.json() };
        let permit = self.course.judge(answered(self.operation, message, &json)?)?;
        let written = permit.written();
        let bytes = self.course.pass(permit)?;
        // what the gateway wrote itself is JSON
        let bytes = if written == Written::Anew {
            anew(self.operation, &bytes, &json).map_err(|ended| ended.refusal)?
        } else {
            bytes
        };
        Ok(framed(&bytes))
    }

    /// The end of a stream that may not go on, or that the agent ended with a failure.
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
