//! Connections to the configured address, and to no other.

use std::fmt;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hyper_util::rt::TokioIo;
use semgate_certs::PeerRoots;
use semgate_certs::tls::HandshakeFault;
use semgate_inspect::Peer;
use semgate_policies::Credentials;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::clock::unix_now;
use crate::config::{Endpoint, Upstream};
use crate::pipeline::identify::Standing;
use crate::server::account::turns::Reading;
use crate::server::executor::OnThisCore;
use crate::server::framing::frames::{Frames, Requests};
use crate::server::materials::{Materials, RouteKey};

use super::link::{Link, Speak};

/// Reason why no connection was opened, for the operator. Outsiders learn only that the agent is unreachable.
#[derive(Debug)]
pub(crate) enum ConnectFault {
    /// The host has no address.
    Lookup(std::io::Error),
    /// Fault of socket or kernel.
    Io(std::io::Error),
    /// Fault of the TLS handshake: an unexpected certificate, or no TLS 1.3.
    Tls(HandshakeFault),
    /// It took too long.
    Timeout,
    /// HTTP failed to start, or the peer refused HTTP/2 where the route requires it.
    Http,
    /// Another message's attempt to open a shared connection failed.
    Shared,
    /// Every permitted connection stayed full until the timeout.
    Full,
}

impl fmt::Display for ConnectFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lookup(why) => write!(f, "the host is not known: {why}"),
            Self::Io(why) => write!(f, "connecting failed: {why}"),
            Self::Tls(why) => write!(f, "the tls handshake failed: {why}"),
            Self::Timeout => f.write_str("connecting took too long"),
            Self::Http => f.write_str("cannot start HTTP in the version of the route"),
            Self::Shared => f.write_str("the connection that another message opened failed"),
            Self::Full => f.write_str("the connections carry as many messages as the agent accepts at once"),
        }
    }
}

impl std::error::Error for ConnectFault {}

impl ConnectFault {
    /// Stable name of the cause: `unknown_host`, `connection_refused`, `unreachable`, `timeout`, `http`, `shared`, `full`, or
    /// that of [`HandshakeFault::reason`].
    pub(crate) fn cause(&self) -> &'static str {
        match self {
            Self::Lookup(_) => "unknown_host",
            Self::Io(why) if why.kind() == ErrorKind::ConnectionRefused => "connection_refused",
            Self::Io(why) if why.kind() == ErrorKind::TimedOut => "timeout",
            Self::Io(_) => "unreachable",
            Self::Tls(fault) => fault.reason(),
            Self::Timeout => "timeout",
            Self::Http => "http",
            Self::Shared => "shared",
            Self::Full => "full",
        }
    }
}

/// Current TLS configurations, and the route that uses them.
#[derive(Clone)]
pub(crate) struct RouteMaterials {
    pub(crate) all: Arc<ArcSwap<Materials>>,
    pub(crate) route: RouteKey,
}

/// Source of a connection's TLS configuration.
#[derive(Clone)]
enum Secure {
    /// No TLS: loopback or a Unix socket.
    No,
    /// A fixed configuration.
    Fixed(Arc<ClientConfig>),
    /// The current configuration of a route.
    Live(RouteMaterials),
}

/// Opens connections to one address.
#[derive(Clone)]
pub(crate) struct Connector {
    endpoint: Endpoint,
    secure: Secure,
    speak: Speak,
    timeout: Duration,
    /// Notified when one of its connections may have a free slot.
    freed: Arc<Notify>,
    core: OnThisCore,
}

/// Identity of a connection's peer when it opened. Without TLS, any peer at the address counts without expiry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Met(Option<Rc<Certified>>);

/// An agent with a certificate.
#[derive(Debug)]
struct Certified {
    standing: Standing,
    /// Credentials in its certificate, read once for each connection.
    holds: Credentials,
}

impl Met {
    /// The configured agent with the credentials of its certificate: the sender of every reply on the connection.
    pub(crate) fn replier(&self, configured: &Peer) -> Peer {
        let holds = self.0.as_ref().map(|met| met.holds.clone());
        holds.map_or_else(|| configured.clone(), |holds| configured.clone().showing(holds))
    }

    /// Returns true if its certificate still counts. Otherwise nothing may be sent to it or accepted from it.
    pub(crate) fn counts(&self, now: u64) -> bool {
        self.0.as_ref().is_none_or(|met| met.standing.still(now).is_ok())
    }
}

/// An open connection.
pub(crate) struct Connected {
    pub(crate) link: Link,
    pub(crate) met: Met,
}

impl Connector {
    /// Connector to the agent of a route.
    pub(crate) fn live(
        upstream: &Upstream,
        materials: RouteMaterials,
        speak: Speak,
        core: OnThisCore,
        timeout: Duration,
    ) -> Self {
        let secure = if upstream.tls { Secure::Live(materials) } else { Secure::No };
        Self { endpoint: upstream.endpoint.clone(), secure, speak, timeout, freed: Arc::default(), core }
    }

    /// Connector to an address with a fixed configuration. Only a plain local one needs none.
    pub(crate) fn fixed(upstream: &Upstream, tls: Option<Arc<ClientConfig>>, timeout: Duration) -> Self {
        let secure = tls.filter(|_| upstream.tls).map_or(Secure::No, Secure::Fixed);
        let freed = Arc::default();
        Self {
            endpoint: upstream.endpoint.clone(),
            secure,
            speak: Speak::Http1,
            timeout,
            freed,
            core: OnThisCore::Aside,
        }
    }

    /// Connector to the same address for one request that asks for another protocol.
    pub(super) fn upgrading(&self) -> Self {
        Self { speak: Speak::Upgrade, ..self.clone() }
    }

    /// Notified when one of its connections may have a free slot.
    pub(super) fn freed(&self) -> &Notify {
        &self.freed
    }

    /// HTTP version of its connections.
    pub(crate) fn speak(&self) -> Speak {
        self.speak
    }

    /// Opens a connection that is ready for a message. Over HTTP/2, the agent has stated its number of streams.
    ///
    /// # Errors
    /// [`ConnectFault`].
    pub(crate) async fn connect(&self) -> Result<Connected, ConnectFault> {
        tokio::time::timeout(self.timeout, self.open()).await.unwrap_or(Err(ConnectFault::Timeout))
    }

    async fn open(&self) -> Result<Connected, ConnectFault> {
        match &self.endpoint {
            // no HTTP is spoken there
            Endpoint::Quic(..) => Err(ConnectFault::Http),
            Endpoint::Unix(path) => {
                let stream = self.core.reading(UnixStream::connect(path).await.map_err(ConnectFault::Io)?);
                Ok(Connected { link: self.begin(stream).await?, met: Met::default() })
            }
            Endpoint::Tcp(host, port) => {
                let known = lookup_host((host.as_str(), *port)).await.map_err(ConnectFault::Lookup)?;
                let known: Vec<SocketAddr> = known.collect();
                let stream = TcpStream::connect(known.as_slice()).await.map_err(ConnectFault::Io)?;
                // a message is one write; Nagle's algorithm would only add delay
                let _ = stream.set_nodelay(true);
                let stream = self.core.reading(stream);
                match &self.secure {
                    Secure::No => Ok(Connected { link: self.begin(stream).await?, met: Met::default() }),
                    Secure::Fixed(tls) => {
                        let stream = handshake(tls, host, stream).await?;
                        Ok(Connected { link: self.begin(stream).await?, met: Met::default() })
                    }
                    Secure::Live(materials) => self.agent(materials, host, stream).await,
                }
            }
        }
    }

    async fn begin<S>(&self, stream: S) -> Result<Link, ConnectFault>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let begun = match self.speak {
            Speak::Http2 => {
                let stream = Frames::new(stream, Requests::Go, b"");
                Link::begin(self.speak, TokioIo::new(stream), &self.freed, &self.core).await
            }
            Speak::Http1 | Speak::Upgrade => {
                Link::begin(self.speak, TokioIo::new(stream), &self.freed, &self.core).await
            }
        };
        let link = begun.map_err(|_| ConnectFault::Http)?;
        loop {
            let freed = self.freed.notified();
            if link.takes_any() {
                return Ok(link);
            }
            if link.is_closed() {
                return Err(ConnectFault::Http);
            }
            freed.await;
        }
    }

    /// Reads the agent's identity and expiry again. The handshake has verified that it is the route's receiver.
    async fn agent(
        &self,
        materials: &RouteMaterials,
        host: &str,
        stream: Reading<TcpStream>,
    ) -> Result<Connected, ConnectFault> {
        let none =
            || ConnectFault::Tls(HandshakeFault::other("there is no tls configuration for this route"));
        let tls = materials.all.load().upstreams.get(&materials.route).cloned().ok_or_else(none)?;
        let stream = handshake(&tls, host, stream).await?;
        let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let standing =
            Standing::begin(PeerRoots::identify_server, Arc::clone(&materials.all), shown, unix_now());
        let (peer, standing) = standing.map_err(|why| ConnectFault::Tls(why.into()))?;
        let holds = Peer::certified(&peer).credentials().clone();
        if self.speak == Speak::Http2 && stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(ConnectFault::Http);
        }
        Ok(Connected {
            met: Met(Some(Rc::new(Certified { standing, holds }))),
            link: self.begin(stream).await?,
        })
    }
}

async fn handshake(
    tls: &Arc<ClientConfig>,
    host: &str,
    stream: Reading<TcpStream>,
) -> Result<TlsStream<Reading<TcpStream>>, ConnectFault> {
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|why| ConnectFault::Tls(HandshakeFault::other(why)))?;
    let connected = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
    connected.map_err(|why| ConnectFault::Tls(HandshakeFault::of(&why)))
}
