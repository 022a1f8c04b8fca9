//! A request's body, of which something may be left when the answer is made: it is read to its end, or the connection ends with the answer and
//! says so.
//!
//! An answer that comes before the body (a limit, no such route, no right) leaves bytes of it on a connection of HTTP/1.1, so no further
//! request can follow there (RFC 9112 §9.3), and a close without a word leaves the caller in doubt whether its next one was done.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::EXPECT;
use http::request::Parts;
use http::{StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::config::Limits;

/// The body of a request that is read where it lies.
pub(crate) struct Unread {
    body: Incoming,
    ended: bool,
    /// What follows is no request.
    broken: bool,
    /// Whether bytes that nobody reads stand in the way of the next request.
    in_the_way: bool,
    /// Its caller waits to be asked for it (RFC 9110 §10.1.1).
    asks: bool,
}

impl Unread {
    pub(crate) fn of(parts: &Parts, body: Incoming) -> Self {
        let in_the_way = parts.version < Version::HTTP_2;
        Self { body, ended: false, broken: false, in_the_way, asks: parts.headers.contains_key(EXPECT) }
    }

    /// Whether the next request can follow behind an answer of this status: reads the rest, as much and as long of it as of any body. Who sends too
    /// much (429) is not waited for, and nothing is read of a body that its caller waits to be asked for.
    pub(crate) async fn leaves_nothing(mut self, status: StatusCode, limits: &Limits) -> bool {
        if !self.in_the_way || self.is_end_stream() {
            return true;
        }
        if !self.asks && !self.broken {
            let too_many = status == StatusCode::TOO_MANY_REQUESTS;
            let within = if too_many { Duration::ZERO } else { limits.body_timeout };
            // whether the end came is asked below
            let _ = tokio::time::timeout(within, self.read(limits.body_bytes)).await;
        }
        self.is_end_stream()
    }

    async fn read(&mut self, mut bytes: usize) {
        while let Some(Ok(frame)) = self.frame().await {
            let Some(left) = bytes.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else { return };
            bytes = left;
        }
    }
}

impl Body for Unread {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        self.ended |= matches!(frame, Poll::Ready(None));
        self.broken |= matches!(frame, Poll::Ready(Some(Err(_))));
        frame
    }

    fn is_end_stream(&self) -> bool {
        !self.broken && (self.ended || self.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
