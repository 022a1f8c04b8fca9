//! The addresses off loopback: TLS 1.3 but for probes, one HTTP/1.1 connection a task, every wait bounded, every connection charged
//! to an account.

use std::sync::Arc;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustls_pki_types::CertificateDer;
use semgate_certs::tls::{HandshakeFault, Hello, HelloFault, handshake_line};
use semgate_certs::{Peer, PeerRoots};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::StartHandshake;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;

use super::tls::{ServerIdentity, Tls};
use super::write_timeout::WriteTimeout;
use crate::Limits;
use crate::account::{Accounts, Charge, Handshake, Owner};
use crate::clock::now;
use crate::config::{HANDSHAKE_TIMEOUT, HEADER_BYTES};
use crate::metrics::Metrics;

/// The peer at the other end, put into every request of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The identity that its certificate verified; none without one that counts now.
    pub peer: Option<Arc<Peer>>,
    /// The account that the connection is charged to.
    pub owner: Owner,
}

/// The parts that a connection needs.
pub(crate) struct Listening {
    /// The TLS identity; none for plain HTTP.
    pub tls: Option<Arc<Tls>>,
    pub router: Router,
    pub limits: Limits,
    pub accounts: Arc<Accounts>,
    pub metrics: Arc<Metrics>,
}

impl Listening {
    fn refused(&self, why: &'static str) {
        let labels = [("reason", why.to_owned())];
        self.metrics.count("semgate_authority_connections_refused_total", &labels);
    }
}

/// Accepts until `stopping`, then lets connections end for as long as the limits grant.
pub(crate) async fn serve(listener: TcpListener, listening: Listening, mut stopping: watch::Receiver<bool>) {
    let listening = Arc::new(listening);
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.wait_for(|stop| *stop) => break,
        };
        let Ok((socket, from)) = accepted else {
            // Mostly out of file descriptors: spinning would make it worse.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let handshake = listening.accounts.begin(from.ip());
        tokio::spawn(connection(Arc::clone(&listening), socket, handshake, graceful.watcher()));
    }
    drop(listener);
    if timeout(listening.limits.grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("connections were still open after the grace period and are cut");
    }
}

async fn connection(
    listening: Arc<Listening>,
    socket: TcpStream,
    mut handshake: Handshake,
    watcher: Watcher,
) {
    let Some(tls) = &listening.tls else {
        let _ = socket.set_nodelay(true);
        let stream = WriteTimeout::new(socket, listening.limits.write_timeout);
        return match handshake.finish(None) {
            Ok(charge) => respond(&listening, stream, Known::default(), charge, watcher).await,
            Err(excess) => listening.refused(excess.as_str()),
        };
    };
    let shown = tls.current();
    let secured = tokio::select! {
        secured = secure(&listening, &shown, socket) => secured,
        () = handshake.displaced() => return listening.refused("handshakes"),
    };
    let Some(stream) = secured else { return };
    let certificates = stream.get_ref().1.peer_certificates().map(<[_]>::to_vec).unwrap_or_default();
    let peer = identify(&certificates, shown.peers.as_deref());
    match handshake.finish(peer.as_ref().map(|peer| peer.id().as_str())) {
        Ok(charge) => {
            let known = Known { certificates, peer, looked_up: shown.looked_up };
            respond(&listening, stream, known, charge, watcher).await;
        }
        // closed at once: an answer would cost more than the handshake did
        Err(excess) => listening.refused(excess.as_str()),
    }
}

/// The TLS handshake within its time. A failed one is counted by its reason, because operators are asked about refused certificates.
async fn secure(
    listening: &Listening,
    shown: &ServerIdentity,
    socket: TcpStream,
) -> Option<TlsStream<WriteTimeout<TcpStream>>> {
    let limits = &listening.limits;
    let _ = socket.set_nodelay(true);
    let peer = socket.peer_addr();
    let socket = WriteTimeout::new(socket, limits.write_timeout);
    let why = match timeout(HANDSHAKE_TIMEOUT, accept(&shown.server, socket)).await {
        Ok(Ok(stream)) => return Some(stream),
        Ok(Err(why)) => why,
        Err(_) => HandshakeFault::timeout(),
    };
    let reason = why.reason();
    let labels = [("reason", reason.to_owned())];
    listening.metrics.count("semgate_authority_handshakes_failed_total", &labels);
    if why.is_notable()
        && let Some(suppressed) = handshake_line(now())
    {
        let peer = peer.map(|peer| peer.to_string()).unwrap_or_default();
        tracing::warn!(peer, reason, %why, suppressed, "a tls handshake failed");
    }
    None
}

/// Bytes of one read before the hello of a client is complete: most hellos in one go.
const HELLO_READ: usize = 4096;

/// Accepts TLS. A peer that speaks anything else reads the reason as an answer of HTTP.
async fn accept<S>(server: &Arc<ServerConfig>, mut stream: S) -> Result<TlsStream<S>, HandshakeFault>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
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

/// The certificates of a connection, and the identity that they had when it began.
#[derive(Default)]
struct Known {
    certificates: Vec<CertificateDer<'static>>,
    peer: Option<Arc<Peer>>,
    /// True if the certificates are checked against revocation lists.
    looked_up: bool,
}

fn identify(certificates: &[CertificateDer<'_>], peers: Option<&PeerRoots>) -> Option<Arc<Peer>> {
    let peers = peers.filter(|_| !certificates.is_empty())?;
    peers.identify(certificates, now()).ok().map(Arc::new)
}

/// Answers the requests of one connection, and holds its charge meanwhile.
async fn respond<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    listening: &Listening,
    stream: S,
    known: Known,
    charge: Charge,
    watcher: Watcher,
) {
    let limits = &listening.limits;
    let owner = charge.owner().clone();
    let router = TowerToHyperService::new(listening.router.clone());
    let tls = listening.tls.clone();
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        // the certificate may have been revoked since the connection began
        let peer = match &tls {
            Some(tls) if known.looked_up && known.peer.is_some() => {
                identify(&known.certificates, tls.current().peers.as_deref())
            }
            _ => known.peer.clone(),
        };
        request.extensions_mut().insert(Caller { peer, owner: owner.clone() });
        hyper::service::Service::call(&router, request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_header_size(HEADER_BYTES)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // How a connection ends does not matter; each request had its answer.
    let _ = watcher.watch(connection).await;
    drop(charge);
}
