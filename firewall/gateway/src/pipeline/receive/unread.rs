//! The unread rest of a request's body at the time of the answer. It is read to its end, or the answer closes the connection
//! and says so.
//!
//! An early answer (a limit, an unknown route, a missing right) leaves body bytes on an HTTP/1.1 connection. No further
//! request can follow there (RFC 9112 §9.3). A silent close would leave the caller in doubt about its next request.

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

/// The body of a request, read in place.
pub(crate) struct Unread {
    body: Incoming,
    ended: bool,
    /// True if no request can follow the body.
    broken: bool,
    /// True if unread bytes block the next request.
    in_the_way: bool,
    /// True if the caller waits for permission to send (RFC 9110 §10.1.1).
    asks: bool,
}

impl Unread {
    pub(crate) fn of(parts: &Parts, body: Incoming) -> Self {
        let in_the_way = parts.version < Version::HTTP_2;
        Self { body, ended: false, broken: false, in_the_way, asks: parts.headers.contains_key(EXPECT) }
    }

    /// Reads the rest of the body within the usual limits. Returns true if another request can follow an answer of this
    /// status. It does not wait after a 429, and reads nothing that the caller holds back for permission.
    pub(crate) async fn leaves_nothing(mut self, status: StatusCode, limits: &Limits) -> bool {
        if !self.in_the_way || self.is_end_stream() {
            return true;
        }
        if !self.asks && !self.broken {
            let too_many = status == StatusCode::TOO_MANY_REQUESTS;
            let within = if too_many { Duration::ZERO } else { limits.body_timeout };
            // the end of the body is checked below
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
