//! `GET /v1/feed/stream`: server-sent events (WHATWG HTML §9.2). Event `head` repeats the current head; comments keep the line open.
//!
//! Push is a hint. A follower that misses an event polls the head, and its safety rests on `next_update` alone. So nothing is queued: every
//! follower holds a pointer to the event of the newest head. A slow reader skips to the newest head; the socket drops one that does not
//! read at all. A head replaces all before it, so a returning follower gets the current one at once.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use hyper::body::{Body as HttpBody, Frame};
use tokio::sync::{mpsc, watch};

use crate::account::Charge;
use crate::metrics::Metrics;
use crate::publish::Published;

/// The header with the last event that a returning follower saw.
static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Milliseconds before followers reconnect: the least, and the range over which the followers of one authority spread.
const COME_BACK: (u64, u64) = (1_000, 4_000);

/// One follower of the stream.
pub(super) struct Follower {
    pub heads: watch::Receiver<Arc<Published>>,
    pub stopping: watch::Receiver<bool>,
    /// The longest silence.
    pub heartbeat: Duration,
    /// The stream, charged to the account of its owner.
    pub charge: Charge,
    /// A unique number that spreads the moments of reconnecting.
    pub number: u64,
}

/// Counts a follower that claims to have seen a larger log: another one was served under this name, or an older one is served now. It may
/// lie, so it is only counted.
pub(super) fn look_back(headers: &HeaderMap, size: u64, metrics: &Metrics) {
    let seen = headers.get(&LAST_EVENT_ID).and_then(|id| id.to_str().ok()?.parse::<u64>().ok());
    if seen.is_some_and(|seen| seen > size) {
        metrics.count("semgate_authority_followers_ahead_total", &[]);
        tracing::debug!("a follower reports that it saw more than the {size} entries of this log");
    }
}

/// Answers with the stream.
pub(super) fn follow(follower: Follower) -> Response {
    let (to, from) = mpsc::channel(1);
    tokio::spawn(send_events(follower, to));
    let mut answer = Response::new(Body::new(Events(from)));
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

async fn send_events(follower: Follower, to: mpsc::Sender<Bytes>) {
    let Follower { mut heads, mut stopping, heartbeat, charge: _charge, number } = follower;
    let (least, spread) = COME_BACK;
    let wait = least + number.wrapping_mul(0x9e37_79b9) % spread;
    if to.send(format!("retry: {wait}\n\n").into()).await.is_err() {
        return;
    }
    let mut next = heads.borrow_and_update().event.clone();
    loop {
        if to.send(next).await.is_err() {
            return;
        }
        next = tokio::select! {
            changed = heads.changed() => match changed {
                Ok(()) => heads.borrow_and_update().event.clone(),
                Err(_) => return,
            },
            () = tokio::time::sleep(heartbeat) => Bytes::from_static(b": still here\n\n"),
            () = to.closed() => return,
            _ = stopping.changed() => return,
        };
    }
}

struct Events(mpsc::Receiver<Bytes>);

impl HttpBody for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
    }
}
