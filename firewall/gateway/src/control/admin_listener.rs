//! Listeners of the admin and the probe address. A connection carries one request within a few seconds, and few are open at
//! once, so that strangers at an open probe address cost the gateway little. A stream of verdicts has bounds of its own.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::http::StatusCode;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::admin_slots::{AdminSlots, ConnectionSlot};
use crate::clock::unix_now;
use crate::fault::RunFault;
use crate::server::materials::Materials;

/// Bytes of a head: far more than a probe sends, and what hyper needs at least.
const HEAD_BYTES: usize = 8 * 1024;
/// Pause after an accept that failed for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Callers of an address.
pub(crate) enum Callers {
    /// Everyone who reaches it, over plain HTTP.
    Everyone,
    /// Over TLS, the holders of certificates with one of these ids.
    Certified { materials: Arc<ArcSwap<Materials>>, ids: Vec<String> },
    /// Over TLS, everyone. The pages judge the certificate, if one is shown.
    People { materials: Arc<ArcSwap<Materials>> },
}

/// SPIFFE id of the certificate that a caller showed, as an extension of the request.
#[derive(Clone, Debug)]
pub(crate) struct Shown(pub(crate) Option<String>);

/// One bound address and its pages.
pub(crate) struct AdminListener {
    socket: std::net::TcpListener,
    address: SocketAddr,
    pages: Pages,
}

/// The pages of one address.
struct Pages {
    router: Router,
    callers: Callers,
}

impl AdminListener {
    /// Pages at a bound address.
    ///
    /// # Errors
    /// The address of the socket cannot be read.
    pub(crate) fn new(
        socket: std::net::TcpListener,
        callers: Callers,
        router: impl FnOnce(SocketAddr) -> Router,
    ) -> Result<Self, RunFault> {
        let address = socket.local_addr().map_err(|why| RunFault::system("admin", why))?;
        Ok(Self { socket, address, pages: Pages { router: router(address), callers } })
    }

    /// The address with its actual port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves in a task of the current `LocalSet`, which ends with its thread.
    ///
    /// # Errors
    /// The runtime cannot use the socket.
    pub(crate) fn spawn(self) -> Result<(), RunFault> {
        let listener = TcpListener::from_std(self.socket).map_err(|why| RunFault::system("admin", why))?;
        tokio::task::spawn_local(Rc::new(self.pages).run(listener));
        Ok(())
    }
}

impl Pages {
    async fn run(self: Rc<Self>, listener: TcpListener) {
        let slots = AdminSlots::new();
        loop {
            let Some(slot) = slots.connection().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => drop(tokio::task::spawn_local(Rc::clone(&self).serve(stream, slot))),
                Err(why) => {
                    tracing::warn!(%why, "a connection to an admin address could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn serve(self: Rc<Self>, stream: TcpStream, slot: ConnectionSlot) {
        let router = self.router.clone().layer(Extension(slot.clone()));
        let whole = async {
            match &self.callers {
                Callers::Everyone => answer(stream, router).await,
                Callers::Certified { materials, ids } => secured(stream, router, materials, ids).await,
                Callers::People { materials } => people(stream, router, materials).await,
            }
        };
        slot.bound(whole).await;
    }
}

/// Serves one request of a person or a chat service.
async fn people(stream: TcpStream, router: Router, materials: &ArcSwap<Materials>) {
    let materials = materials.load_full();
    let Some(server) = &materials.people else { return };
    let stream = match TlsAcceptor::from(Arc::clone(server)).accept(stream).await {
        Ok(stream) => stream,
        Err(why) => return tracing::debug!(%why, "a handshake at the address for people failed"),
    };
    let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let peer = materials.peers.identify(shown, unix_now()).ok();
    let shown = Shown(peer.map(|peer| peer.id().as_str().to_owned()));
    answer(stream, router.layer(Extension(shown))).await;
}

/// Answers a caller with a certificate.
async fn secured(stream: TcpStream, router: Router, materials: &ArcSwap<Materials>, ids: &[String]) {
    let materials = materials.load_full();
    let Some(server) = &materials.server else { return };
    let mut server = ServerConfig::clone(server);
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    let stream = match TlsAcceptor::from(Arc::new(server)).accept(stream).await {
        Ok(stream) => stream,
        Err(why) => return tracing::debug!(%why, "a handshake at the admin address failed"),
    };
    let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let peer = materials.peers.identify(shown, unix_now());
    let named = peer.is_ok_and(|peer| ids.iter().any(|id| id == peer.id().as_str()));
    let router = if named { router } else { refusal() };
    answer(stream, router).await;
}

/// Answers callers whose certificate names nobody in `admin.ids`.
fn refusal() -> Router {
    Router::new()
        .fallback(|| async { (StatusCode::FORBIDDEN, "the id of your certificate is not in `admin.ids`\n") })
}

/// Answers one request.
async fn answer<S: AsyncRead + AsyncWrite + Unpin + 'static>(stream: S, router: Router) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).keep_alive(false).max_buf_size(HEAD_BYTES);
    // each request had its answer; how the connection ends does not matter
    let _ = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).await;
}
