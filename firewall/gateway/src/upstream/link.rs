//! One connection to an agent, in either HTTP.

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioTimer;

use crate::executor::OnThisCore;

/// Response headers read at most: a reply brings a few, and none but the named ones pass.
const MAX_HEADERS: usize = 64;
/// Bytes read ahead at most while the head of a reply is not complete; in HTTP/2 the most that a head may take.
const MAX_HEAD: u32 = 64 * 1024;
/// HTTP/2: bytes that the agent may send on a stream before we took any: a stream that nobody reads stands still after so many.
const WINDOW: u32 = 256 * 1024;
/// HTTP/2: and on all streams together, so that one that stands still does not hold up the others.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
/// HTTP/2: how often an agent with open streams is asked whether it is there, and how long it may take to answer.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(20);

/// Which HTTP is spoken with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speak {
    /// One message at a time on a connection.
    Http1,
    /// All messages of a core on one connection.
    Http2,
    /// One request that asks for another protocol.
    Upgrade,
}

/// The sending end.
pub(crate) enum Link {
    /// One message at a time.
    One(http1::SendRequest<Full<Bytes>>),
    /// Many at once.
    Many(http2::SendRequest<Full<Bytes>>),
}

impl Link {
    /// Begins HTTP on a fresh stream, and a task that drives it for as long as it lasts.
    pub(super) async fn begin<S>(speak: Speak, stream: S) -> hyper::Result<Self>
    where
        S: Read + Write + Send + Unpin + 'static,
    {
        // what goes wrong on the connection reaches the sender of the message that was under way
        match speak {
            Speak::Upgrade => {
                let mut builder = http1::Builder::new();
                builder.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD as usize);
                let (link, connection) = builder.handshake(stream).await?;
                tokio::task::spawn_local(async move { drop(connection.with_upgrades().await) });
                Ok(Self::One(link))
            }
            Speak::Http1 => {
                let mut builder = http1::Builder::new();
                builder.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD as usize);
                let (link, connection) = builder.handshake(stream).await?;
                tokio::task::spawn_local(async move { drop(connection.await) });
                Ok(Self::One(link))
            }
            Speak::Http2 => {
                let mut builder = http2::Builder::new(OnThisCore);
                builder
                    .timer(TokioTimer::new())
                    .max_header_list_size(MAX_HEAD)
                    .initial_stream_window_size(WINDOW)
                    .initial_connection_window_size(CONNECTION_WINDOW)
                    .adaptive_window(false)
                    .keep_alive_interval(PING)
                    .keep_alive_timeout(PONG)
                    .keep_alive_while_idle(false);
                let (link, connection) = builder.handshake(stream).await?;
                tokio::task::spawn_local(async move { drop(connection.await) });
                Ok(Self::Many(link))
            }
        }
    }

    /// Another sending end of the same connection, where it carries many.
    pub(super) fn shared(&self) -> Option<Self> {
        match self {
            Self::One(_) => None,
            Self::Many(link) => Some(Self::Many(link.clone())),
        }
    }

    pub(super) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        match self {
            Self::One(link) => link.poll_ready(cx),
            Self::Many(link) => link.poll_ready(cx),
        }
    }

    /// Waits until the next message may be sent.
    ///
    /// # Errors
    /// The connection is closed.
    pub(crate) async fn ready(&mut self) -> hyper::Result<()> {
        std::future::poll_fn(|cx| self.poll_ready(cx)).await
    }

    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::One(link) => link.is_closed(),
            Self::Many(link) => link.is_closed(),
        }
    }

    /// Sends one message. It is given back with the fault only if nothing of it was written.
    ///
    /// # Errors
    /// What hyper says.
    pub(crate) async fn try_send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
        match self {
            Self::One(link) => link.try_send_request(request).await,
            Self::Many(link) => link.try_send_request(request).await,
        }
    }
}
