//! The unread rest of a request's body: read to its end, or the connection ends with the answer and announces that.
//!
//! An answer that comes before the body (a stranger, no such route, a full disk) leaves bytes of it on the connection. So no further
//! request can follow there (RFC 9112 §9.3). A silent close would leave the caller in doubt about its next request.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame};
use tokio::time::timeout;

use crate::Limits;

/// Bounds on the bytes and the time of reading the rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    bytes: usize,
    within: Duration,
}

impl Bounds {
    /// Bytes of the longest submission, within the time of a body.
    pub fn of(limits: &Limits) -> Self {
        Self { bytes: limits.context_bytes, within: limits.body_timeout }
    }
}

/// A layer: reads the rest of the body, and sets `Connection: close` if its end did not come. Reads nothing if the caller waits for
/// `100-continue`, nor if the body was too slow already.
pub(crate) async fn drain_body(State(bounds): State<Bounds>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let asks = request.headers().contains_key(header::EXPECT);
    let (parts, body) = request.into_parts();
    let shared = Arc::new(Mutex::new(SharedBody { body, ended: false }));
    let lent = Body::new(LentBody(Arc::clone(&shared)));
    let mut answer = next.run(Request::from_parts(parts, lent)).await;
    let mut left = LentBody(shared);
    let slow = answer.status() == StatusCode::REQUEST_TIMEOUT;
    if !left.is_end_stream() && !asks && !slow {
        // the result is checked below
        let _ = timeout(bounds.within, drain_dropped(&mut left, bounds.bytes)).await;
    }
    if !left.is_end_stream() {
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// Reads until the end, a break, or the bound of bytes.
async fn drain_dropped(body: &mut LentBody, mut bytes: usize) {
    while let Some(Ok(frame)) = body.frame().await {
        let Some(left) = bytes.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else { return };
        bytes = left;
    }
}

/// A body, and true once its end was reached.
struct SharedBody {
    body: Body,
    ended: bool,
}

/// A body that the handler reads first, and this layer afterwards.
struct LentBody(Arc<Mutex<SharedBody>>);

impl hyper::body::Body for LentBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let frame = Pin::new(&mut shared.body).poll_frame(cx);
        shared.ended |= matches!(frame, Poll::Ready(None));
        frame
    }

    fn is_end_stream(&self) -> bool {
        let shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shared.ended || shared.body.is_end_stream()
    }
}
