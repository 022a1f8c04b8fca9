//! `GET /v1/feed/stream`: server-sent events (WHATWG HTML §9.2). Event `head` repeats the current head; comments keep the line open.
//!
//! Push is a hint: a follower that misses an event polls the head, and its safety comes from `next_update` alone (DESIGN §3). So nothing
//! is queued: a follower that reads slowly finds the newest head next, and one that does not read at all is dropped by its socket.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, header};
use hyper::body::{Body as HttpBody, Frame};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use crate::publish::Published;

/// Answers with the stream. `place` is the follower's place among the bounded number of them.
pub(crate) fn follow(
    heads: watch::Receiver<Arc<Published>>,
    stopping: watch::Receiver<bool>,
    heartbeat: Duration,
    place: OwnedSemaphorePermit,
) -> Response {
    let (to, from) = mpsc::channel(1);
    tokio::spawn(tell(heads, stopping, heartbeat, to, place));
    let mut answer = Response::new(Body::new(Events(from)));
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

async fn tell(
    mut heads: watch::Receiver<Arc<Published>>,
    mut stopping: watch::Receiver<bool>,
    heartbeat: Duration,
    to: mpsc::Sender<Bytes>,
    _place: OwnedSemaphorePermit,
) {
    let mut next = event(&heads.borrow_and_update());
    loop {
        if to.send(next).await.is_err() {
            return;
        }
        next = tokio::select! {
            changed = heads.changed() => match changed {
                Ok(()) => event(&heads.borrow_and_update()),
                Err(_) => return,
            },
            () = tokio::time::sleep(heartbeat) => Bytes::from_static(b": still here\n\n"),
            () = to.closed() => return,
            _ = stopping.changed() => return,
        };
    }
}

fn event(published: &Published) -> Bytes {
    let mut text = format!("event: head\nid: {}\n", published.size);
    for line in String::from_utf8_lossy(&published.head.bytes).lines() {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text.into()
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
