//! Sockets: a set of listeners for each core, so that a connection stays on the core that accepted it.

mod signed;
mod speak;

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use semgate_certs::tls::{HandshakeFault, Hello, HelloFault, handshake_line};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::StartHandshake;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;

use crate::clock::unix_now;
use crate::config::Listen;
use crate::pipeline::identify::{Identity, Unidentified};
use crate::server::account::Connection;
use crate::server::materials::Materials;
use crate::server::sockets::ListeningSocket;
use crate::server::worker::RouteWorker;

pub(crate) use signed::SignedEntrance;

/// Bytes that a connection holds at its start: buffers of TLS and of a head.
const BUFFERS: usize = 64 * 1024;

/// Pause after an accept that failed for lack of descriptors, since an immediate retry would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// One route with its bound address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundRoute {
    /// Name of the route.
    pub name: String,
    /// Address with the actual port.
    pub listen: Listen,
    /// URL for callers: `https://…/`, or `http://…/` for a plain listener, or the configured `public_url`. For a Unix socket
    /// `unix:…`.
    pub url: String,
}

/// Admission of peers to a listener.
#[derive(Clone)]
pub(crate) enum Entrance {
    /// TLS with client certificates; SIGHUP reloads them.
    Tls(Arc<ArcSwap<Materials>>),
    /// Plain; every peer is this one sender.
    Plain(Rc<Identity>),
    /// Messages are signed; a connection identifies nobody.
    Signed(Rc<SignedEntrance>),
}

/// Kind of requests on a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// Callers' requests to the agent.
    Callers,
    /// The agent's own push notifications.
    Agent,
}

/// One listener of one core.
pub(crate) struct Listener {
    pub(crate) face: Face,
    pub(crate) worker: Rc<RouteWorker>,
    pub(crate) entrance: Entrance,
    /// Connection slots of this listener on this core.
    pub(crate) slots: Arc<Semaphore>,
}

impl Listener {
    /// Accepts connections until the route drains.
    ///
    /// # Errors
    /// The runtime cannot use the socket.
    pub(crate) async fn run(self: Rc<Self>, bound: ListeningSocket) -> std::io::Result<()> {
        match bound {
            ListeningSocket::Udp(socket) => self.run_quic(socket).await?,
            ListeningSocket::Tcp(listener) => {
                let listener = TcpListener::from_std(listener)?;
                let next = async || {
                    let (stream, peer) = listener.accept().await?;
                    let _ = stream.set_nodelay(true);
                    Ok((stream, Origin { account: stranger(peer.ip()), peer: peer.to_string() }))
                };
                self.take_each(next).await;
            }
            ListeningSocket::Unix(listener) => {
                let listener = UnixListener::from_std(listener)?;
                let local = || Origin { account: "unix socket".into(), peer: "unix socket".to_owned() };
                let next = async || listener.accept().await.map(|(stream, _)| (stream, local()));
                self.take_each(next).await;
            }
        }
        Ok(())
    }

    /// Accepts one connection after another, each with its slot, until the route drains.
    async fn take_each<S>(self: &Rc<Self>, next: impl AsyncFn() -> std::io::Result<(S, Origin)>)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let mut course = self.worker.course.clone();
        loop {
            let Ok(slot) = Arc::clone(&self.slots).acquire_owned().await else { return };
            let accepted = tokio::select! {
                biased;
                () = course.drains() => return,
                accepted = next() => accepted,
            };
            match accepted {
                Ok((stream, from)) => self.take(stream, from, slot),
                Err(why) => self.rest(&why).await,
            }
        }
    }

    async fn rest(&self, why: &std::io::Error) {
        self.worker.metrics.connection("not_accepted");
        tracing::warn!(%why, route = self.worker.route.name, "a connection could not be accepted");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }

    /// Serves a connection as a task in its agent's turns. The end of the connection releases `slot`. Until a TLS handshake
    /// identifies the agent, the work is charged to the remote address.
    fn take<S>(self: &Rc<Self>, stream: S, from: Origin, slot: OwnedSemaphorePermit)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let this = Rc::clone(self);
        let turns = Rc::clone(&self.worker.turns);
        let stream = turns.reading(stream);
        match &self.entrance {
            Entrance::Plain(identity) => {
                let identity = Rc::clone(identity);
                let Some(connection) = self.admit_connection(&identity) else { return };
                turns.spawn(&Arc::clone(identity.account().agent()), async move {
                    let _slot = slot;
                    this.speak_either(stream, identity, connection).await;
                });
            }
            Entrance::Signed(entrance) => self.take_guest(stream, from, Rc::clone(entrance), slot),
            Entrance::Tls(materials) => {
                let materials = Arc::clone(materials);
                let accounts = &self.worker.shared.accounts;
                let reserved = accounts
                    .of(&from.account, self.worker.shared.now())
                    .ok()
                    .and_then(|all| all.connect(0).ok());
                let Some(reserved) = reserved else { return self.worker.metrics.connection("too_many") };
                turns.spawn(&from.account, async move {
                    let secured = this.secure(&materials, stream, &from.peer).await;
                    drop(reserved);
                    let Some((stream, identity)) = secured else { return };
                    let Some(connection) = this.admit_connection(&identity) else { return };
                    let turns = Rc::clone(&this.worker.turns);
                    turns.spawn(&Arc::clone(identity.account().agent()), async move {
                        let _slot = slot;
                        this.speak_agreed(stream, identity, connection).await;
                    });
                });
            }
        }
    }

    /// Charges a connection to its agent. `None` if the agent has reached its limit.
    fn admit_connection(&self, identity: &Identity) -> Option<Connection> {
        let connection = identity.connect(BUFFERS).ok();
        if connection.is_none() {
            // a line for each would let an agent past its limit fill the log; the metric counts them
            tracing::debug!(
                sender = identity.id(),
                route = self.worker.route.name,
                "an agent has too many connections, its newest is closed"
            );
            self.worker.metrics.connection("too_many");
        }
        connection
    }

    /// Performs the TLS handshake and identifies the peer.
    async fn secure<S>(
        &self,
        materials: &Arc<ArcSwap<Materials>>,
        stream: S,
        peer: &str,
    ) -> Option<(TlsStream<S>, Rc<Identity>)>
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let shared = &self.worker.shared;
        let server = materials.load().server.clone()?;
        self.worker.turns.unit().await;
        let accept = accept(server, stream);
        let stream = match tokio::time::timeout(shared.limits.handshake_timeout, accept).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(why)) => return self.failed("handshake_failed", peer, &why),
            Err(_) => return self.failed("handshake_timeout", peer, &HandshakeFault::timeout()),
        };
        let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
        match Identity::certified(materials, shown, &shared.accounts, shared.now()) {
            Ok(identity) => Some((stream, Rc::new(identity))),
            Err(Unidentified::Peer(why)) => self.failed("not_identified", peer, &why.into()),
            Err(why) => self.failed("not_identified", peer, &HandshakeFault::other(why)),
        }
    }

    /// Counts a failed handshake, and logs it within the limit of the process.
    fn failed<T>(&self, outcome: &'static str, peer: &str, why: &HandshakeFault) -> Option<T> {
        self.worker.metrics.connection(outcome);
        self.worker.metrics.handshake_failed(why.reason());
        if why.is_notable()
            && let Some(suppressed) = handshake_line(unix_now())
        {
            let (route, reason) = (self.worker.route.name.as_str(), why.reason());
            tracing::warn!(peer, route, reason, %why, suppressed, "a tls handshake failed");
        }
        None
    }
}

/// Bytes of one read before the hello of a client is complete: most hellos in one go.
const HELLO_READ: usize = 4096;

/// Accepts TLS. A peer that speaks anything else reads the reason as an answer of HTTP.
async fn accept<S>(server: Arc<ServerConfig>, mut stream: S) -> Result<TlsStream<S>, HandshakeFault>
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
                return start.into_stream(server).await.map_err(|why| HandshakeFault::of(&why));
            }
            Err(HelloFault { fault, answer }) => {
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
                return Err(fault);
            }
        }
    }
}

/// Source of a connection.
struct Origin {
    /// Account that its handshake is charged to.
    account: Arc<str>,
    /// Address of the peer, for the log.
    peer: String,
}

/// Account name of an unidentified peer: its address, or for IPv6 the 64-bit network of one host.
fn stranger(address: IpAddr) -> Arc<str> {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("address {address}").into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("network {a:x}:{b:x}:{c:x}:{d:x}").into()
        }
    }
}
