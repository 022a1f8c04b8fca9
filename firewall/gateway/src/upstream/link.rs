//! One connection to an agent, in either HTTP version.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioTimer;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::Moved;
use super::drive::{Connection, ReplyBody};
use super::streams::{Carried, StreamSlot, Streams, Watching};
use crate::server::executor::OnThisCore;

/// Maximum response headers: a reply has few, and only the named ones pass.
const MAX_HEADERS: usize = 64;
/// Interim heads (1xx) before the head of an answer. 8: servers send one or two, but an agent could send them for ever.
const MAX_INTERIM: usize = 8;
/// Maximum bytes read ahead of a complete reply head; in HTTP/2, of a head.
const MAX_HEAD: u32 = 64 * 1024;
/// HTTP/2: bytes that the agent may send on a stream ahead of the reader. An unread stream stops after this number.
const WINDOW: u32 = 256 * 1024;
/// HTTP/2: the same for all streams together, so that a stopped stream does not block the others.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
/// HTTP/2: interval between checks of a message that the agent does not take, as for a stream.
const LOOK: Duration = Duration::from_millis(250);
/// HTTP/2: interval of pings to an agent with open streams, and maximum time for the answer.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(20);

/// HTTP version for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speak {
    /// One message at a time on a connection.
    Http1,
    /// As many messages at once on a connection as the agent allows.
    Http2,
    /// One request that asks for another protocol.
    Upgrade,
}

/// Sending end of a connection.
pub(crate) enum Link {
    /// One message at a time. The connection moves only while its exchange is polled.
    One(http1::SendRequest<Carried>, Connection),
    /// Many messages at once, each with a slot.
    Many(Many),
}

/// Sending end of a connection for many messages.
pub(crate) struct Many {
    send: http2::SendRequest<Carried>,
    streams: Rc<Streams>,
    /// StreamSlot for a message; without one nothing is sent.
    slot: Option<Rc<StreamSlot>>,
}

impl Link {
    /// Starts HTTP on a fresh stream. A task drives HTTP/2 and an upgrade; an HTTP/1.1 exchange drives its own connection.
    /// `freed` is notified when a slot may be free.
    pub(super) async fn begin<S>(
        speak: Speak,
        stream: S,
        freed: &Arc<Notify>,
        core: &OnThisCore,
    ) -> hyper::Result<Self>
    where
        S: Read + Write + Send + Unpin + 'static,
    {
        // the sender of the current message gets a fault of the connection
        match speak {
            Speak::Upgrade => {
                let mut builder = http1::Builder::new();
                builder.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD as usize);
                let (link, connection) = builder.handshake(stream).await?;
                core.spawn(async move { drop(connection.with_upgrades().await) });
                Ok(Self::One(link, Connection::elsewhere()))
            }
            Speak::Http1 => {
                let mut builder = http1::Builder::new();
                builder.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD as usize);
                let (link, connection) = builder.handshake(stream).await?;
                Ok(Self::One(link, Connection::new(connection)))
            }
            Speak::Http2 => Self::many(stream, freed, core).await,
        }
    }

    async fn many<S>(stream: S, freed: &Arc<Notify>, core: &OnThisCore) -> hyper::Result<Self>
    where
        S: Read + Write + Send + Unpin + 'static,
    {
        let streams = Streams::new(Arc::clone(freed));
        let mut builder = http2::Builder::new(Watching(Rc::clone(&streams), core.clone()));
        builder
            // no message goes out before the agent states its maximum
            .initial_max_send_streams(0)
            .timer(TokioTimer::new())
            .max_header_list_size(MAX_HEAD)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .adaptive_window(false)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PONG)
            .keep_alive_while_idle(false);
        let (send, connection) = builder.handshake(stream).await?;
        // other code asks it for its limit; it is removed once it is over
        let connection = Rc::new(RefCell::new(Some(connection)));
        let asked = Rc::clone(&connection);
        let most = move || {
            let most = asked.try_borrow().ok()?.as_ref()?.current_max_send_streams();
            Some(most)
        };
        streams.begun(Box::new(move || most().unwrap_or_default()));
        let driven = Rc::clone(&streams);
        core.spawn(std::future::poll_fn(move |cx| {
            let mut held = connection.borrow_mut();
            let over = held.as_mut().is_none_or(|connection| Pin::new(connection).poll(cx).is_ready());
            if !over {
                driven.numbered();
                return Poll::Pending;
            }
            *held = None;
            driven.over();
            Poll::Ready(())
        }));
        Ok(Self::Many(Many { send, streams, slot: None }))
    }

    /// A sending end of the same connection with a slot for one message, if there is one.
    pub(super) fn placed(&self) -> Option<Self> {
        let Self::Many(many) = self else { return None };
        let slot = many.streams.take()?;
        let (send, streams) = (many.send.clone(), Rc::clone(&many.streams));
        Some(Self::Many(Many { send, streams, slot: Some(slot) }))
    }

    /// Returns true if the agent has stated a positive number of streams. HTTP/1.1 always takes one message.
    pub(super) fn takes_any(&self) -> bool {
        match self {
            Self::One(..) => true,
            Self::Many(many) => many.streams.most() > 0,
        }
    }

    /// Returns true if a message would go out now without waiting for another's end. The agent may have lowered its maximum.
    pub(super) fn fits(&self) -> bool {
        match self {
            Self::One(..) => true,
            Self::Many(many) => many.slot.is_some() && many.streams.fit(),
        }
    }

    pub(super) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        match self {
            Self::One(link, connection) => {
                connection.drive(cx);
                link.poll_ready(cx)
            }
            Self::Many(many) => many.send.poll_ready(cx),
        }
    }

    /// Waits until the next message may be sent.
    ///
    /// # Errors
    /// The connection is closed.
    pub(crate) async fn ready(&mut self) -> hyper::Result<()> {
        std::future::poll_fn(|cx| self.poll_ready(cx)).await
    }

    /// Watches the idle connection for this time. A peer that refuses our certificate ends it after the handshake (RFC 8446 §4.4.2.4).
    ///
    /// # Errors
    /// The peer ended it.
    pub(crate) async fn settle(&mut self, time: Duration) -> hyper::Result<()> {
        let ended = std::future::poll_fn(|cx| match self.poll_ready(cx) {
            Poll::Ready(Err(why)) => Poll::Ready(why),
            _ => Poll::Pending,
        });
        timeout(time, ended).await.map_or(Ok(()), Err)
    }

    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::One(link, _) => link.is_closed(),
            Self::Many(many) => many.send.is_closed(),
        }
    }

    /// Sends one message. The fault returns it only if none of it was written.
    ///
    /// # Errors
    /// Error of hyper.
    pub(crate) async fn try_send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<ReplyBody>, TrySendError<Request<Carried>>> {
        let slot = self.slot();
        self.hand_over(request.map(|body| Carried::new(body, slot))).await
    }

    /// Sends one message while it `stands`. Over HTTP/2 this is checked periodically while the agent does not take the body.
    /// If the check fails, the stream is reset, and the bytes waiting for flow control are dropped.
    ///
    /// # Errors
    /// Error of hyper, or a withdrawn message.
    pub(super) async fn send_while(
        &mut self,
        request: Request<Full<Bytes>>,
        stands: &dyn Fn() -> Result<(), Moved>,
    ) -> Result<Response<ReplyBody>, Unanswered> {
        if matches!(self, Self::One(..)) {
            return Ok(self.try_send(request).await?);
        }
        let (head, body) = request.into_parts();
        let (body, unwritten) = Carried::watched(body, self.slot());
        let mut sent = std::pin::pin!(self.hand_over(Request::from_parts(head, body)));
        loop {
            match timeout(LOOK, sent.as_mut()).await {
                Ok(answer) => return Ok(answer?),
                Err(_) if unwritten.is_any() => stands().map_err(|Moved| Unanswered::TakenBack)?,
                Err(_) => return Ok(sent.await?),
            }
        }
    }

    fn slot(&self) -> Option<Rc<StreamSlot>> {
        match self {
            Self::One(..) => None,
            Self::Many(many) => many.slot.clone(),
        }
    }

    async fn hand_over(
        &mut self,
        request: Request<Carried>,
    ) -> Result<Response<ReplyBody>, TrySendError<Request<Carried>>> {
        match self {
            Self::One(link, connection) => {
                let (request, interim) = counted(request);
                let mut sent = std::pin::pin!(link.try_send_request(request));
                let response = std::future::poll_fn(|cx| {
                    connection.drive(cx);
                    if interim.load(Ordering::Relaxed) > MAX_INTERIM {
                        connection.end();
                    }
                    sent.as_mut().poll(cx)
                });
                Ok(response.await?.map(|body| ReplyBody::new(body, connection.clone())))
            }
            Self::Many(many) => {
                let sent = many.send.try_send_request(request);
                many.streams.handed();
                Ok(sent.await?.map(|body| ReplyBody::new(body, Connection::elsewhere())))
            }
        }
    }
}

/// Counts the interim heads (1xx) that answer a request.
fn counted(mut request: Request<Carried>) -> (Request<Carried>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let came = Arc::clone(&count);
    hyper::ext::on_informational(&mut request, move |_| {
        came.fetch_add(1, Ordering::Relaxed);
    });
    (request, count)
}

/// Reason for a message without an answer.
pub(super) enum Unanswered {
    Fault(Box<TrySendError<Request<Carried>>>),
    /// The permission ended before the agent had taken the whole message.
    TakenBack,
}

impl From<TrySendError<Request<Carried>>> for Unanswered {
    fn from(fault: TrySendError<Request<Carried>>) -> Self {
        Self::Fault(Box::new(fault))
    }
}
