//! The public address: TLS 1.3, one HTTP/1.1 connection a task, every wait bounded.

use std::sync::Arc;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use semgate_certs::tls::reason;
use semgate_certs::{Peer, PeerRoots};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use super::patient::Patient;
use super::tls::Tls;
use crate::Limits;
use crate::clock::now;
use crate::metrics::Metrics;

/// Who is at the other end, put into every request of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub Option<Arc<Peer>>);

/// What a connection needs.
pub(crate) struct Listening {
    pub tls: Arc<Tls>,
    pub router: Router,
    pub limits: Limits,
    pub metrics: Arc<Metrics>,
}

/// Accepts until `stopping`, then lets connections end for as long as the limits grant.
pub(crate) async fn serve(listener: TcpListener, listening: Listening, mut stopping: watch::Receiver<bool>) {
    let listening = Arc::new(listening);
    let places = Arc::new(Semaphore::new(listening.limits.connections));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.wait_for(|stop| *stop) => break,
        };
        let Ok((socket, _)) = accepted else {
            // Out of file descriptors, mostly: spinning would make it worse.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => {
                tokio::spawn(connection(Arc::clone(&listening), socket, place, graceful.watcher()));
            }
            Err(_) => listening.metrics.count("semgate_authority_connections_refused_total", &[]),
        }
    }
    drop(listener);
    if timeout(listening.limits.grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("connections were still open after the grace and are cut");
    }
}

async fn connection(
    listening: Arc<Listening>,
    socket: TcpStream,
    _place: OwnedSemaphorePermit,
    watcher: Watcher,
) {
    let limits = &listening.limits;
    let _ = socket.set_nodelay(true);
    let socket = Patient::new(socket, limits.write_timeout);
    let shown = listening.tls.now();
    let stream = match timeout(limits.handshake_timeout, shown.acceptor.accept(socket)).await {
        Ok(Ok(stream)) => stream,
        failed => {
            // a certificate that was refused is what an operator will be asked about
            let reason = match &failed {
                Ok(Err(why)) => why.get_ref().and_then(|why| why.downcast_ref()).map_or("closed", reason),
                _ => "timeout",
            };
            let labels = [("reason", reason.to_owned())];
            listening.metrics.count("semgate_authority_handshakes_failed_total", &labels);
            return;
        }
    };
    let certificates = stream.get_ref().1.peer_certificates().map(<[_]>::to_vec).unwrap_or_default();
    let identify = move |peers: Option<&Arc<PeerRoots>>| {
        let peers = peers.filter(|_| !certificates.is_empty());
        Caller(peers.and_then(|peers| peers.identify(&certificates, now()).ok().map(Arc::new)))
    };
    let caller = identify(shown.peers.as_ref());
    let router = TowerToHyperService::new(listening.router.clone());
    let tls = Arc::clone(&listening.tls);
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        // a connection may outlive what its certificate was worth when it began
        let again = shown.looked_up && caller.0.is_some();
        let caller = if again { identify(tls.now().peers.as_ref()) } else { caller.clone() };
        request.extensions_mut().insert(caller);
        hyper::service::Service::call(&router, request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_header_size(limits.header_bytes)
        .max_buf_size(limits.header_bytes.max(8192))
        .serve_connection(TokioIo::new(stream), service);
    // How a connection ends is its own business; what went wrong with a request was answered in it.
    let _ = watcher.watch(connection).await;
}
