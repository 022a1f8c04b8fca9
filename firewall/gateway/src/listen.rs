//! Sockets: one set of listeners for each core, so that a connection lives and dies on the core that took it.

mod speak;

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use socket2::{Domain, Protocol as Transport, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::agents::Agents;
use crate::clock::unix_now;
use crate::config::Listen;
use crate::fault::RunFault;
use crate::identify::Identity;
use crate::lane::Lane;
use crate::materials::Materials;

/// Connections that wait in the kernel while the accepting core is busy.
const BACKLOG: i32 = 1024;

/// After an accept that failed for want of descriptors: trying again at once would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// One route as it really listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundRoute {
    /// The route's name.
    pub name: String,
    /// The address, with the port that was taken.
    pub listen: Listen,
    /// The URL for callers: `https://…/` (`http://…/` for a plain listener, the configured `public_url` if there is one);
    /// for a Unix socket `unix:…`.
    pub url: String,
}

/// A bound listener of one core, not yet part of a runtime.
pub(crate) enum Bound {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

/// Binds `listen` once for each core. Returns the address with the port that was taken.
///
/// # Errors
/// [`RunFault::Bind`].
pub(crate) fn bind(listen: &Listen, cores: usize) -> Result<(Vec<Bound>, Listen), RunFault> {
    let fault = |why: std::io::Error| RunFault::Bind { address: listen.to_string(), why: why.to_string() };
    let mut all = Vec::with_capacity(cores);
    match listen {
        Listen::Tcp(address) => {
            let mut address = *address;
            alone(address).map_err(fault)?;
            for _ in 0..cores {
                let listener = tcp(address).map_err(fault)?;
                address = listener.local_addr().map_err(fault)?;
                all.push(Bound::Tcp(listener));
            }
            Ok((all, Listen::Tcp(address)))
        }
        Listen::Unix(path) => {
            let listener = unix(path).map_err(fault)?;
            for _ in 1..cores {
                all.push(Bound::Unix(listener.try_clone().map_err(fault)?));
            }
            all.push(Bound::Unix(listener));
            Ok((all, listen.clone()))
        }
    }
}

/// Refuses an address that somebody listens at: cores share theirs, and the kernel would share it with another gateway of this user too, so that
/// chance decided whose policies judge a message.
fn alone(address: std::net::SocketAddr) -> std::io::Result<()> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Transport::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())
}

fn tcp(address: std::net::SocketAddr) -> std::io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Transport::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Only an old socket is removed, never a file of another kind.
fn unix(path: &Path) -> std::io::Result<std::os::unix::net::UnixListener> {
    if let Ok(old) = std::fs::symlink_metadata(path)
        && old.file_type().is_socket()
    {
        std::fs::remove_file(path)?;
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Who may speak on a listener.
#[derive(Clone)]
pub(crate) enum Entrance {
    /// TLS with client certificates; renewed on SIGHUP.
    Tls(Arc<ArcSwap<Materials>>),
    /// Plain, and everyone is this one sender.
    Plain(Rc<Identity>),
}

/// Whose requests a listener takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// Callers', for the agent behind.
    Callers,
    /// The agent's own, which leave (push notifications).
    Agent,
}

/// One listener of one core.
pub(crate) struct Listener {
    pub(crate) face: Face,
    pub(crate) lane: Rc<Lane>,
    pub(crate) entrance: Entrance,
    /// Connections of this listener on this core.
    pub(crate) slots: Arc<Semaphore>,
    /// And those of each agent among them.
    pub(crate) agents: Rc<Agents>,
    /// Turns true when the gateway drains.
    pub(crate) stop: watch::Receiver<bool>,
}

impl Listener {
    /// Takes connections until the gateway drains.
    ///
    /// # Errors
    /// The socket cannot be used by the runtime.
    pub(crate) async fn run(self: Rc<Self>, bound: Bound) -> std::io::Result<()> {
        match bound {
            Bound::Tcp(listener) => {
                let listener = TcpListener::from_std(listener)?;
                let next = async || {
                    let (stream, _) = listener.accept().await?;
                    let _ = stream.set_nodelay(true);
                    Ok(stream)
                };
                self.take_each(next).await;
            }
            Bound::Unix(listener) => {
                let listener = UnixListener::from_std(listener)?;
                self.take_each(async || listener.accept().await.map(|(stream, _)| stream)).await;
            }
        }
        Ok(())
    }

    /// One connection after the other, each with its slot, until the gateway drains.
    async fn take_each<S>(self: &Rc<Self>, next: impl AsyncFn() -> std::io::Result<S>)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let mut stop = self.stop.clone();
        loop {
            let slot = Arc::clone(&self.slots).acquire_owned().await;
            let accepted = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => return,
                accepted = next() => accepted,
            };
            match accepted {
                Ok(stream) => self.take(stream, slot),
                Err(why) => self.rest(&why).await,
            }
        }
    }

    async fn rest(&self, why: &std::io::Error) {
        self.lane.metrics.connection("not_accepted");
        tracing::warn!(%why, route = self.lane.route.name, "a connection could not be accepted");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }

    /// A connection gets a task of its own; `slot` is given back when it ends.
    fn take<S, P>(self: &Rc<Self>, stream: S, slot: P)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
        P: 'static,
    {
        let this = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let _slot = slot;
            match &this.entrance {
                Entrance::Plain(identity) => this.speak_either(stream, Rc::clone(identity)).await,
                Entrance::Tls(materials) => {
                    this.secure(materials, stream).await;
                }
            }
        });
    }

    /// The TLS handshake, and who it was with.
    async fn secure<S>(&self, materials: &Arc<ArcSwap<Materials>>, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let Some(server) = materials.load().server.clone() else { return };
        let accept = TlsAcceptor::from(server).accept(stream);
        let limit = self.lane.shared.limits.handshake_timeout;
        let stream = match tokio::time::timeout(limit, accept).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(why)) => {
                tracing::debug!(%why, route = self.lane.route.name, "a handshake failed");
                return self.lane.metrics.connection("handshake_failed");
            }
            Err(_) => return self.lane.metrics.connection("handshake_timeout"),
        };
        let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
        match Identity::certified(materials, shown, unix_now()) {
            Ok(identity) => {
                // a plain listener has one agent only, who may have every place
                let Ok(_place) = self.agents.enter(identity.key()) else {
                    tracing::info!(
                        sender = identity.id(),
                        route = self.lane.route.name,
                        "an agent has too many connections, its newest is closed"
                    );
                    return self.lane.metrics.connection("too_many");
                };
                self.speak_agreed(stream, Rc::new(identity)).await;
            }
            Err(why) => {
                tracing::info!(%why, route = self.lane.route.name, "a peer was not identified");
                self.lane.metrics.connection("not_identified");
            }
        }
    }
}
