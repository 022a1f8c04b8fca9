//! Answers of the gateway: a whole body, or a body that arrives in pieces.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};

use crate::server::account::Charge;
use crate::server::framing::Serving;
use crate::server::framing::streams::OpenStream;

/// Every answer of the gateway.
pub(crate) type Answer = Response<AnswerBody>;

/// A body that arrives in pieces. Dropping it ends its source, so a caller that leaves also ends the agent's work. It
/// requests the next piece only after the last one was taken, so it holds at most one.
pub(crate) type Flow = Pin<Box<dyn Body<Data = Bytes, Error = io::Error>>>;

/// The body of an answer.
pub(crate) enum AnswerBody {
    /// The whole body, and the request's charge until the body is taken.
    Whole { body: Full<Bytes>, _charge: Option<Charge> },
    /// A body in pieces.
    Stream(Flow),
}

impl AnswerBody {
    /// Keeps the request in flight until the body ends or is dropped. Keeps the connection busy for the length of a stream.
    pub(crate) fn holding(self, serving: Serving, charge: Charge) -> Self {
        match self {
            Self::Whole { body, .. } => Self::Whole { body, _charge: Some(charge) },
            Self::Stream(flow) => {
                Self::Stream(Box::pin(Holding { flow, _serving: serving, _charge: charge }))
            }
        }
    }
}

/// Drops the body of an answer but keeps its length in the head (RFC 9110 §9.3.2).
pub(crate) fn head_of(answer: Answer) -> Answer {
    let (mut parts, body) = answer.into_parts();
    if parts.status != StatusCode::NOT_MODIFIED
        && let Some(length) = body.size_hint().exact()
    {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    Response::from_parts(parts, AnswerBody::from(Bytes::new()))
}

struct Holding {
    flow: Flow,
    _serving: Serving,
    _charge: Charge,
}

impl Body for Holding {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.get_mut().flow.as_mut().poll_frame(cx)
    }
}

impl From<Bytes> for AnswerBody {
    fn from(bytes: Bytes) -> Self {
        Self::Whole { body: Full::new(bytes), _charge: None }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            Self::Whole { body, .. } => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
            Self::Stream(flow) => flow.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole { body, .. } => body.is_end_stream(),
            Self::Stream(flow) => flow.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { body, .. } => body.size_hint(),
            Self::Stream(flow) => flow.size_hint(),
        }
    }
}

/// Number of bytes handed to an HTTP/2 connection at a time. hyper takes a whole piece as soon as the caller's window opens
/// by one byte. With a larger piece, a stalled caller could hold an answer in memory without the timer noticing.
const PIECE: usize = 16 * 1024;

/// A body on an HTTP/2 connection. Reports when a piece was handed over and when it was taken.
pub(crate) struct Carried {
    body: AnswerBody,
    rest: Bytes,
    open: OpenStream,
}

impl Carried {
    pub(crate) fn new(body: AnswerBody, open: OpenStream) -> Self {
        Self { body, rest: Bytes::new(), open }
    }
}

impl Body for Carried {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            let frame = match Pin::new(&mut this.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => frame,
                other => {
                    this.open.taken();
                    return other;
                }
            };
            match frame.into_data() {
                Ok(data) => this.rest = data,
                Err(trailers) => {
                    this.open.given();
                    return Poll::Ready(Some(Ok(trailers)));
                }
            }
        }
        this.open.given();
        let size = this.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(this.rest.split_to(size)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let inner = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(rest));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}
