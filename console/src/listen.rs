//! The listener: TLS 1.3, HTTP/1.1 with keep-alive, every wait and every head bounded.
//!
//! A stranger is a peer without the certificate of a person. Strangers have slots of their own, one request a connection, and a
//! bound on its whole life, so that they cannot take the slots of people.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use semgate_certs::tls::{HandshakeFault, Hello, HelloFault, ServerConfig, handshake_line};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::StartHandshake;
use tokio_rustls::server::TlsStream;

use crate::app::App;
use crate::clock::now;
use crate::guard::Caller;
use crate::write_timeout::WriteTimeout;

/// Connections at once of people with their certificates, and as many of strangers: some forty browsers of six each.
const CONNECTIONS: usize = 256;
/// Handshakes at once; only their end shows who the peer is.
const HANDSHAKES: usize = 128;
/// Whole time of a connection of a stranger: an act, and the pages around it.
const STRANGER_TIME: Duration = Duration::from_secs(60);
/// Time that a write may wait for a peer that does not read.
const WRITE_TIME: Duration = Duration::from_secs(20);
/// Time of a handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Time of a head, and of a kept connection without a request.
const HEAD_TIME: Duration = Duration::from_secs(60);
/// Time of a head of a stranger.
const STRANGER_HEAD_TIME: Duration = Duration::from_secs(10);
/// Bytes of a head.
const HEAD_BYTES: usize = 16 * 1024;
/// Time for open requests to end once the console stops.
const GRACE: Duration = Duration::from_secs(5);
/// Pause after an accept that failed for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Bytes of one read before the hello of a client is complete.
const HELLO_READ: usize = 4_096;

/// The parts that connections share.
struct Shared {
    app: Arc<App>,
    router: Router,
    people: Arc<Semaphore>,
    strangers: Arc<Semaphore>,
}

impl Shared {
    fn new(app: Arc<App>, router: Router) -> Self {
        let slots = || Arc::new(Semaphore::new(CONNECTIONS));
        Self { app, router, people: slots(), strangers: slots() }
    }

    /// A slot for a peer of this kind; `None` if all are in use.
    fn slot(&self, is_person: bool) -> Option<OwnedSemaphorePermit> {
        let slots = if is_person { &self.people } else { &self.strangers };
        Arc::clone(slots).try_acquire_owned().ok()
    }
}

/// Serves until `end` resolves, then lets open requests end.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    router: Router,
    end: impl Future<Output = ()>,
) {
    let (handshakes, graceful) = (Arc::new(Semaphore::new(HANDSHAKES)), GracefulShutdown::new());
    let shared = Arc::new(Shared::new(app, router));
    tokio::pin!(end);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &handshakes) => accepted,
            () = &mut end => break,
        };
        let Some((socket, slot)) = accepted else { continue };
        tokio::spawn(connection(Arc::clone(&shared), socket, slot, graceful.watcher()));
    }
    drop(listener);
    if timeout(GRACE, graceful.shutdown()).await.is_err() {
        tracing::warn!("connections were still open after the grace period and are cut");
    }
}

async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((socket, _)) => Some((socket, slot)),
        Err(why) => {
            tracing::warn!(%why, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

async fn connection(
    shared: Arc<Shared>,
    socket: TcpStream,
    handshaking: OwnedSemaphorePermit,
    watcher: Watcher,
) {
    let begun = Instant::now();
    let _ = socket.set_nodelay(true);
    let materials = shared.app.materials.get();
    let socket = WriteTimeout::new(socket, WRITE_TIME);
    let stream = match timeout(HANDSHAKE_TIME, handshake(&materials.server, socket)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(why)) => return failed(&why),
        Err(_) => return failed(&HandshakeFault::timeout()),
    };
    let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let peer = match shown.is_empty() {
        true => None,
        false => materials.people.identify(shown, now()).ok().map(Arc::new),
    };
    let is_person = peer.as_ref().is_some_and(|peer| shared.app.person(peer.id()).is_some());
    let Some(_slot) = shared.slot(is_person) else { return full(is_person) };
    drop(handshaking);
    let router = TowerToHyperService::new(shared.router.clone());
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Caller(peer.clone()));
        hyper::service::Service::call(&router, request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(is_person)
        .header_read_timeout(if is_person { HEAD_TIME } else { STRANGER_HEAD_TIME })
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let served = watcher.watch(connection);
    // each request had its answer; how the connection ends does not matter
    if is_person {
        let _ = served.await;
    } else {
        let _ = timeout_at(begun + STRANGER_TIME, served).await;
    }
}

/// Accepts TLS. A peer that speaks anything else reads the reason as an answer of HTTP.
async fn handshake(
    server: &Arc<ServerConfig>,
    mut stream: WriteTimeout<TcpStream>,
) -> Result<TlsStream<WriteTimeout<TcpStream>>, HandshakeFault> {
    let mut hello = Hello::default();
    let mut bytes = Vec::with_capacity(HELLO_READ);
    loop {
        bytes.clear();
        stream.read_buf(&mut bytes).await.map_err(|why| HandshakeFault::of(&why))?;
        match hello.take(&bytes) {
            Ok(None) => {}
            Ok(Some(accepted)) => {
                let start = StartHandshake::from_parts(accepted, stream);
                return start.into_stream(Arc::clone(server)).await.map_err(|why| HandshakeFault::of(&why));
            }
            Err(HelloFault { fault, answer }) => {
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
                return Err(fault);
            }
        }
    }
}

fn failed(why: &HandshakeFault) {
    if why.is_notable()
        && let Some(suppressed) = handshake_line(now())
    {
        tracing::warn!(reason = why.reason(), %why, suppressed, "a tls handshake failed");
    }
}

fn full(is_person: bool) {
    if let Some(suppressed) = handshake_line(now()) {
        tracing::warn!(is_person, suppressed, "a connection was cut: all of its kind are in use");
    }
}

#[cfg(test)]
mod tests;
