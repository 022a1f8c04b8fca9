//! The listener: TLS 1.3, HTTP/1.1 with keep-alive, every wait and every head bounded.

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
use tokio::time::timeout;
use tokio_rustls::StartHandshake;
use tokio_rustls::server::TlsStream;

use crate::app::App;
use crate::clock::now;
use crate::guard::Caller;

/// Connections at once: some hundred people with six connections of a browser each would be too many for one console.
const CONNECTIONS: usize = 512;
/// Time of a handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Time of a head, and of a kept connection without a request.
const HEAD_TIME: Duration = Duration::from_secs(60);
/// Bytes of a head.
const HEAD_BYTES: usize = 16 * 1024;
/// Time for open requests to end once the console stops.
const GRACE: Duration = Duration::from_secs(5);
/// Pause after an accept that failed for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Bytes of one read before the hello of a client is complete.
const HELLO_READ: usize = 4_096;

/// Serves until `end` resolves, then lets open requests end.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    router: Router,
    end: impl Future<Output = ()>,
) {
    let (slots, graceful) = (Arc::new(Semaphore::new(CONNECTIONS)), GracefulShutdown::new());
    tokio::pin!(end);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &slots) => accepted,
            () = &mut end => break,
        };
        let Some((socket, slot)) = accepted else { continue };
        tokio::spawn(connection(Arc::clone(&app), router.clone(), socket, slot, graceful.watcher()));
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
    app: Arc<App>,
    router: Router,
    socket: TcpStream,
    _slot: OwnedSemaphorePermit,
    watcher: Watcher,
) {
    let _ = socket.set_nodelay(true);
    let materials = app.materials.get();
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
    let router = TowerToHyperService::new(router);
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Caller(peer.clone()));
        hyper::service::Service::call(&router, request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // each request had its answer; how the connection ends does not matter
    let _ = watcher.watch(connection).await;
}

/// Accepts TLS. A peer that speaks anything else reads the reason as an answer of HTTP.
async fn handshake(
    server: &Arc<ServerConfig>,
    mut stream: TcpStream,
) -> Result<TlsStream<TcpStream>, HandshakeFault> {
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
