//! One connection to an agent, in either HTTP.

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
use super::streams::{Carried, Place, Streams, Watching};
use crate::executor::OnThisCore;

/// Response headers read at most: a reply brings a few, and none but the named ones pass.
const MAX_HEADERS: usize = 64;
/// Interim heads (1xx) before the head of an answer. 8: servers send one or two, and an agent could go on with them for ever.
const MAX_INTERIM: usize = 8;
/// Bytes read ahead at most while the head of a reply is not complete; in HTTP/2 the most that a head may take.
const MAX_HEAD: u32 = 64 * 1024;
/// HTTP/2: bytes that the agent may send on a stream before we took any: a stream that nobody reads stands still after so many.
const WINDOW: u32 = 256 * 1024;
/// HTTP/2: and on all streams together, so that one that stands still does not hold up the others.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
/// HTTP/2: how often is asked whether a message that the agent does not take may still be said: as often as of a stream.
const LOOK: Duration = Duration::from_millis(250);
/// HTTP/2: how often an agent with open streams is asked whether it is there, and how long it may take to answer.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(20);

/// Which HTTP is spoken with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speak {
    /// One message at a time on a connection.
    Http1,
    /// Many messages on a connection, as many at once as the agent takes.
    Http2,
    /// One request that asks for another protocol.
    Upgrade,
}

/// The sending end.
pub(crate) enum Link {
    /// One message at a time. The connection moves only while the exchange on it is polled.
    One(http1::SendRequest<Carried>, Connection),
    /// Many at once, each with a place.
    Many(Many),
}

/// A sending end of a connection that carries many.
pub(crate) struct Many {
    send: http2::SendRequest<Carried>,
    streams: Rc<Streams>,
    /// Without one nothing is sent.
    place: Option<Rc<Place>>,
}

impl Link {
    /// Begins HTTP on a fresh stream. A task drives HTTP/2 and an upgrade; an exchange of HTTP/1.1 drives its own connection. `freed` is
    /// notified when there may be a place on it.
    pub(super) async fn begin<S>(
        speak: Speak,
        stream: S,
        (freed, core): (&Arc<Notify>, &OnThisCore),
    ) -> hyper::Result<Self>
    where
        S: Read + Write + Send + Unpin + 'static,
    {
        // what goes wrong on the connection reaches the sender of the message that was under way
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
            Speak::Http2 => {
                let streams = Streams::new(Arc::clone(freed));
                let mut builder = http2::Builder::new(Watching(Rc::clone(&streams), core.clone()));
                builder
                    // how many it takes is waited for
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
                // asked for its limit from outside, and gone when it is over
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
                    let over =
                        held.as_mut().is_none_or(|connection| Pin::new(connection).poll(cx).is_ready());
                    if !over {
                        driven.numbered();
                        return Poll::Pending;
                    }
                    *held = None;
                    driven.over();
                    Poll::Ready(())
                }));
                Ok(Self::Many(Many { send, streams, place: None }))
            }
        }
    }

    /// Another sending end of the same connection with a place for one message, where it carries many and has one.
    pub(super) fn placed(&self) -> Option<Self> {
        let Self::Many(many) = self else { return None };
        let place = many.streams.take()?;
        let (send, streams) = (many.send.clone(), Rc::clone(&many.streams));
        Some(Self::Many(Many { send, streams, place: Some(place) }))
    }

    /// Whether the agent said how many messages it takes at once, and that it takes any; where it carries one, it does.
    pub(super) fn takes_any(&self) -> bool {
        match self {
            Self::One(..) => true,
            Self::Many(many) => many.streams.most() > 0,
        }
    }

    /// Whether what is sent now goes out now, and is queued nowhere until another message is answered: the agent may have taken back places.
    pub(super) fn fits(&self) -> bool {
        match self {
            Self::One(..) => true,
            Self::Many(many) => many.place.is_some() && many.streams.fit(),
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

    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::One(link, _) => link.is_closed(),
            Self::Many(many) => many.send.is_closed(),
        }
    }

    /// Sends one message. It is given back with the fault only if nothing of it was written.
    ///
    /// # Errors
    /// What hyper says.
    pub(crate) async fn try_send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<ReplyBody>, TrySendError<Request<Carried>>> {
        let place = self.place();
        self.hand_over(request.map(|body| Carried::new(body, place))).await
    }

    /// The same for as long as it `stands`, which over HTTP/2 is asked again and again while the agent does not take the body: then the
    /// stream is reset, and what waits on it for the agent's flow control is thrown away.
    ///
    /// # Errors
    /// What hyper says, or that it was taken back.
    pub(super) async fn send_while(
        &mut self,
        request: Request<Full<Bytes>>,
        stands: &dyn Fn() -> Result<(), Moved>,
    ) -> Result<Response<ReplyBody>, Unanswered> {
        if matches!(self, Self::One(..)) {
            return Ok(self.try_send(request).await?);
        }
        let (head, body) = request.into_parts();
        let (body, unwritten) = Carried::watched(body, self.place());
        let mut sent = std::pin::pin!(self.hand_over(Request::from_parts(head, body)));
        loop {
            match timeout(LOOK, sent.as_mut()).await {
                Ok(answer) => return Ok(answer?),
                Err(_) if unwritten.is_any() => stands().map_err(|Moved| Unanswered::TakenBack)?,
                Err(_) => return Ok(sent.await?),
            }
        }
    }

    fn place(&self) -> Option<Rc<Place>> {
        match self {
            Self::One(..) => None,
            Self::Many(many) => many.place.clone(),
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

/// The same request, and a count of the interim heads (1xx) that answer it.
fn counted(mut request: Request<Carried>) -> (Request<Carried>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let came = Arc::clone(&count);
    hyper::ext::on_informational(&mut request, move |_| {
        came.fetch_add(1, Ordering::Relaxed);
    });
    (request, count)
}

/// Why a message has no answer.
pub(super) enum Unanswered {
    Fault(Box<TrySendError<Request<Carried>>>),
    /// It does not stand any more, and the agent had not taken all of it.
    TakenBack,
}

impl From<TrySendError<Request<Carried>>> for Unanswered {
    fn from(fault: TrySendError<Request<Carried>>) -> Self {
        Self::Fault(Box::new(fault))
    }
}
