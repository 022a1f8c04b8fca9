//! Protocol of a connection with a known peer: HTTP/1.1 behind the guard, or HTTP/2.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use http::HeaderValue;
use http::header::{CONNECTION, UPGRADE};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::TokioTimer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_rustls::server::TlsStream;

use super::{Face, Listener};
use crate::config::Limits;
use crate::pipeline::answer::{Answer, AnswerBody, Carried};
use crate::pipeline::identify::Identity;
use crate::pipeline::receive::unread::Unread;
use crate::pipeline::{self, Request, notify};
use crate::server::account::Connection;
use crate::server::executor::OnThisCore;
use crate::server::framing::frames::{Frames, Requests};
use crate::server::framing::streams::{self, Overdue, Streams};
use crate::server::framing::{Guard, GuardLimits, HeadLimits, Opening, Paced, Serving, Watch, opening};
use crate::server::worker::RouteWorker;

/// Header lines of a request: a long proxy chain adds about twenty.
const HEADERS: usize = 64;
/// HTTP/2: requests open at once on a connection: the minimum that RFC 9113 §6.5.2 advises.
const STREAMS: u32 = 100;
/// HTTP/2: early resets by a caller, and streams with protocol errors, before the connection ends (CVE-2023-44487).
const STREAM_RESETS: usize = 20;
/// HTTP/2: untaken bytes of a connection: most messages in one go.
const STREAM_WINDOW: u32 = 256 * 1024;
/// HTTP/2: pause between pings to a silent caller: well before a router on the path forgets the connection.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// Time that a drain gives a new connection for its first request, which is usually under way.
const FIRST_REQUEST: Duration = Duration::from_secs(1);

/// ALPN of HTTP/2 (RFC 9113 §3.2).
const H2: &[u8] = b"h2";

impl Listener {
    /// Speaks the protocol agreed on in the handshake; without ALPN, HTTP/1.1.
    pub(super) async fn speak_agreed<S>(
        &self,
        stream: TlsStream<S>,
        identity: Rc<Identity>,
        connection: Connection,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        if stream.get_ref().1.alpn_protocol() == Some(H2) {
            return self.http2(stream, BytesMut::new(), identity, connection).await;
        }
        self.http1(stream, BytesMut::new(), identity).await;
    }

    /// Detects the protocol by the first bytes, since a plain connection negotiates nothing.
    pub(super) async fn speak_either<S>(&self, mut stream: S, identity: Rc<Identity>, connection: Connection)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let mut course = self.worker.course.clone();
        let limits = guard_limits(&self.worker.shared.limits);
        let first = tokio::select! {
            biased;
            first = opening(&mut stream, &limits) => first,
            // no request has arrived yet
            () = async { course.drains().await; tokio::time::sleep(FIRST_REQUEST).await } => return,
        };
        match first {
            Opening::Http1(first) => self.http1(stream, first, identity).await,
            Opening::Http2(first) => self.http2(stream, first, identity, connection).await,
            Opening::Silent => self.worker.metrics.connection("silent"),
        }
    }

    /// Speaks HTTP/1.1 behind the guard, until either side ends.
    async fn http1<S>(&self, stream: S, first: BytesMut, identity: Rc<Identity>)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        self.worker.metrics.connection("begun");
        let watch = Rc::new(Watch::default());
        let mut limits = guard_limits(&self.worker.shared.limits);
        limits.head.websocket = self.worker.rules.websocket;
        let guard = Guard::new(stream, first, limits, Rc::clone(&watch));
        let (worker, face) = (Rc::clone(&self.worker), self.face);
        let service = {
            let (watch, identity) = (Rc::clone(&watch), Rc::clone(&identity));
            service_fn(move |request| {
                let serving = watch.begin();
                let answer = serve(face, Rc::clone(&worker), Rc::clone(&identity), serving, request);
                Box::pin(async move { Ok::<_, Infallible>(answer.await) })
            })
        };
        let _open = Open::count(self.worker.metrics.open.clone());
        if self.worker.rules.websocket {
            return self.http1_or_socket(guard, service, watch, identity).await;
        }
        let connection = http1_builder(&self.worker.shared.limits).serve_connection(guard, service);
        let mut connection = std::pin::pin!(connection);
        let mut course = self.worker.course.clone();
        tokio::select! {
            biased;
            _ = connection.as_mut() => {}
            () = course.drains() => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    _ = connection => {}
                    () = course.cut() => {}
                }
            }
        }
    }

    /// Speaks HTTP/1.1 in the same way. After an answer that opens a WebSocket, the connection speaks that.
    async fn http1_or_socket<S, V, F>(
        &self,
        guard: Guard<S>,
        service: V,
        watch: Rc<Watch>,
        identity: Rc<Identity>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
        V: HttpService<Incoming, ResBody = AnswerBody, Error = Infallible, Future = F> + Unpin,
        F: Future<Output = Result<Answer, Infallible>> + Unpin,
    {
        let mut connection = http1_builder(&self.worker.shared.limits).serve_connection(guard, service);
        let (mut course, mut end) = (self.worker.course.clone(), self.worker.course.clone());
        let mut stopping = false;
        loop {
            tokio::select! {
                biased;
                ended = poll_fn(|cx| connection.poll_without_shutdown(cx)) => match ended {
                    Ok(()) => break,
                    Err(_) => return,
                },
                () = end.cut(), if stopping => return,
                () = course.drains(), if !stopping => {
                    stopping = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
            }
        }
        let Some(agreed) = watch.agreed() else {
            let _ = connection.await;
            return;
        };
        let parts = connection.into_parts();
        let (stream, rest) = parts.io.into_parts();
        let mut first = BytesMut::from(&parts.read_buf[..]);
        first.extend_from_slice(&rest);
        let stream = Paced::new(stream, first, self.worker.shared.limits.write_timeout);
        agreed.speak(Rc::clone(&self.worker), identity, stream).await;
    }

    /// Speaks HTTP/2 until either side ends, the connection is idle, or an answer is not taken. A drain sends GOAWAY and
    /// waits for open streams.
    async fn http2<S>(&self, stream: S, first: BytesMut, identity: Rc<Identity>, connection: Connection)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let limits = &self.worker.shared.limits;
        // maximum that all its streams may send before any of it is taken
        if connection.buffer(STREAM_WINDOW as usize).is_err() {
            return self.worker.metrics.connection("too_many");
        }
        self.worker.metrics.connection("begun_h2");
        let core = OnThisCore::InTurns(Rc::clone(&self.worker.turns), Arc::clone(identity.account().agent()));
        let head = guard_limits(limits).head;
        let (worker, face) = (Rc::clone(&self.worker), self.face);
        let open = Streams::new();
        let service = {
            let open = Rc::clone(&open);
            service_fn(move |request: http::Request<hyper::body::Incoming>| {
                let slot = open.begin();
                let (parts, body) = request.into_parts();
                let serving = Serving::stream(streams::head(&parts, &head).err());
                let request = http::Request::from_parts(parts, body);
                let answer = serve(face, Rc::clone(&worker), Rc::clone(&identity), serving, request);
                async move { Ok::<_, Infallible>(answer.await.map(|body| Carried::new(body, slot))) }
            })
        };
        let _counted = Open::count(self.worker.metrics.open.clone());
        let stream = Frames::new(stream, Requests::Come, &first);
        let paced = Paced::new(stream, first, limits.write_timeout);
        let connection = http2_builder(limits, core).serve_connection(paced, service);
        let mut connection = std::pin::pin!(connection);
        let (mut course, mut end) = (self.worker.course.clone(), self.worker.course.clone());
        let look = limits.idle_timeout.min(limits.write_timeout) / 4;
        let mut ending: Option<Instant> = None;
        loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => {
                    if ended.is_err_and(|fault| is_flood(&fault)) {
                        self.worker.metrics.connection("too_many_frames");
                    }
                    return;
                }
                () = end.cut(), if ending.is_some() => return,
                () = course.drains(), if ending.is_none() => {}
                () = tokio::time::sleep(look) => match open.overdue(limits.idle_timeout, limits.write_timeout) {
                    Some(Overdue::Stalled) => return self.worker.metrics.connection("stalled"),
                    // GOAWAY was sent, no stream is open, and the peer has not closed: it may ignore the farewell
                    _ if ending.is_some_and(|since| since.elapsed() > limits.write_timeout) && open.count() == 0 => return,
                    Some(Overdue::Idle) if ending.is_none() => {}
                    _ => continue,
                },
            }
            ending = Some(Instant::now());
            connection.as_mut().graceful_shutdown();
        }
    }
}

/// Returns true if the peer exceeded its allowance of frames.
fn is_flood(fault: &hyper::Error) -> bool {
    let mut source: Option<&dyn Error> = fault.source();
    while let Some(fault) = source {
        let io = fault.downcast_ref::<io::Error>();
        if io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionAborted) {
            return true;
        }
        source = fault.source();
    }
    false
}

/// Removes an offer of HTTP/2 from an HTTP/1.1 head. The guard passed only a complete offer; it is neither accepted nor
/// forwarded.
fn pass_over_offer(parts: &mut http::request::Parts) {
    if parts.headers.get(UPGRADE).is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"h2c")) {
        parts.headers.remove(UPGRADE);
        parts.headers.remove("http2-settings");
    }
}

/// Serves one request according to its kind.
async fn serve(
    face: Face,
    worker: Rc<RouteWorker>,
    identity: Rc<Identity>,
    serving: Serving,
    request: http::Request<hyper::body::Incoming>,
) -> Answer {
    let shared = Arc::clone(&worker.shared);
    let (mut parts, body) = request.into_parts();
    pass_over_offer(&mut parts);
    let mut body = Unread::of(&parts, body);
    let request = Request { parts: &parts, body: &mut body };
    let mut answer = match face {
        Face::Callers => pipeline::serve(worker, identity, serving, request).await,
        Face::Agent => Box::pin(notify::notified(worker, identity, serving, request)).await,
    };
    if !answer.headers().contains_key(CONNECTION)
        && !body.leaves_nothing(answer.status(), &shared.limits).await
    {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

fn guard_limits(limits: &Limits) -> GuardLimits {
    GuardLimits {
        head: HeadLimits { max_bytes: limits.header_bytes, max_headers: HEADERS, websocket: false },
        header_timeout: limits.header_timeout,
        idle_timeout: limits.idle_timeout,
        write_timeout: limits.write_timeout,
    }
}

fn http1_builder(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .keep_alive(true)
        .half_close(false)
        .max_headers(HEADERS)
        // the guard bounds the head; hyper must be able to hold one, and needs 8 KiB at least
        .max_buf_size(limits.header_bytes.saturating_add(16 * 1024))
        // the guard bounds the time, and answers
        .header_read_timeout(None);
    builder
}

fn http2_builder(limits: &Limits, core: OnThisCore) -> http2::Builder<OnThisCore> {
    let mut builder = http2::Builder::new(core);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_pending_accept_reset_streams(STREAM_RESETS)
        .max_local_error_reset_streams(STREAM_RESETS)
        .initial_stream_window_size(STREAM_WINDOW)
        // for all streams of a connection together: the number charged to the agent's account
        .initial_connection_window_size(STREAM_WINDOW)
        .adaptive_window(false)
        .max_frame_size(16 * 1024)
        // the gateway refuses a slightly larger head with a decision id; h2 refuses a far larger one with 431
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX).saturating_mul(2))
        .max_send_buf_size(64 * 1024)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(limits.write_timeout);
    builder
}

/// Counts a connection while it is open.
pub(super) struct Open(metrics::Gauge);

impl Open {
    pub(super) fn count(gauge: metrics::Gauge) -> Self {
        gauge.increment(1.0);
        Self(gauge)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}
