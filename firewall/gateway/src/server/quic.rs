//! QUIC in both directions (RFC 9000), as IAC agents speak it: TLS 1.3 without ALPN, without client certificates and without
//! early data.
//!
//! Each message is a unidirectional stream. Bidirectional streams and datagrams are never accepted.

mod endpoints;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::BbrConfig;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{Connection, Endpoint, IdleTimeout, TransportConfig, VarInt};
use semgate_contexts::Digest;
use tokio::net::lookup_host;
use tokio::sync::oneshot;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
};

use crate::config::{Congestion, IacOptions, Limits};
use crate::fault::RunFault;

pub(crate) use endpoints::Endpoints;

/// Open streams of each side of a connection: each is one message.
const STREAMS: u32 = 100;
/// Bytes in flight on a connection, for which its account pays.
pub(crate) const WINDOW: u32 = 256 * 1024;
/// Connections that wait for a slot, and bytes that one of them may send meanwhile.
const WAITING: usize = 1024;
const WAITING_BYTES: u64 = 16 << 10;
/// Interval of pings to an agent, well below the half minute after which the stock server forgets a silent connection.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// The name that IAC clients ask for, whatever the address.
const NAME: &str = "localhost";

/// The TLS of a listener, with a certificate of its own. Made anew by each load, since IAC clients pin none.
///
/// The key is P-256: IAC clients offer no Ed25519.
///
/// # Errors
/// The system's random source fails.
pub(crate) fn listener_tls() -> Result<Arc<ServerConfig>, RunFault> {
    let fault = |why: &dyn std::fmt::Display| RunFault::Tls { why: why.to_string() };
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(|why| fault(&why))?;
    let named = rcgen::CertificateParams::new([NAME.to_owned()]).map_err(|why| fault(&why))?;
    let certificate = named.self_signed(&key).map_err(|why| fault(&why))?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(|why| fault(&why))?;
    let tls = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .and_then(|tls| tls.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key));
    tls.map(Arc::new).map_err(|why| fault(&why))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Configuration of the listener of a route.
///
/// # Errors
/// TLS without the cipher that QUIC begins with.
pub(crate) fn listening(
    tls: &Arc<ServerConfig>,
    options: &IacOptions,
    limits: &Limits,
) -> Result<quinn::ServerConfig, RunFault> {
    let tls = QuicServerConfig::try_from(Arc::clone(tls)).map_err(|why| RunFault::system("quic", why))?;
    let mut server = quinn::ServerConfig::with_crypto(Arc::new(tls));
    // cores share the port by address, so a connection with a new address would reach another core
    server.migration(false);
    // those that wait for a slot; a hello is one or two packets
    server
        .max_incoming(WAITING)
        .incoming_buffer_size(WAITING_BYTES)
        .incoming_buffer_size_total(WAITING_BYTES << 10);
    server.transport_config(Arc::new(transport(options, limits.idle_timeout, None)?));
    Ok(server)
}

fn transport(
    options: &IacOptions,
    idle: Duration,
    keep_alive: Option<Duration>,
) -> Result<TransportConfig, RunFault> {
    let idle = IdleTimeout::try_from(idle).map_err(|why| RunFault::system("quic", why))?;
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_uni_streams(STREAMS.into())
        .max_concurrent_bidi_streams(0_u32.into())
        .datagram_receive_buffer_size(None)
        .receive_window(WINDOW.into())
        .send_window(WINDOW.into())
        .max_idle_timeout(Some(idle))
        .keep_alive_interval(keep_alive);
    if options.congestion == Congestion::Bbr {
        transport.congestion_controller_factory(Arc::new(BbrConfig::default()));
    }
    Ok(transport)
}

/// Opener of connections to the agent of one route.
#[derive(Clone, Debug)]
pub(crate) struct QuicConnector {
    host: String,
    port: u16,
    client: quinn::ClientConfig,
    timeout: Duration,
}

impl QuicConnector {
    /// An agent on loopback may show any certificate; elsewhere it must be the one of `options`.
    ///
    /// # Errors
    /// [`RunFault::System`] for timeouts that QUIC cannot express.
    pub(crate) fn new(
        host: &str,
        port: u16,
        options: &IacOptions,
        limits: &Limits,
    ) -> Result<Self, RunFault> {
        let fault = |why: &dyn std::fmt::Display| RunFault::system("quic", why);
        let verifier = AgentCertificate { pinned: options.upstream_certificate, provider: provider() };
        let tls = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|why| fault(&why))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        let tls = QuicClientConfig::try_from(tls).map_err(|why| fault(&why))?;
        let mut client = quinn::ClientConfig::new(Arc::new(tls));
        client.transport_config(Arc::new(transport(options, limits.stream_idle, Some(KEEP_ALIVE))?));
        Ok(Self { host: host.to_owned(), port, client, timeout: limits.connect_timeout })
    }

    /// Opens a connection from a socket of its own: a stock server knows its clients by their addresses.
    ///
    /// A handshake that was begun is always finished, since one that fails ends a stock server. After the time of a connection
    /// it goes on without the caller.
    ///
    /// # Errors
    /// Describes the reason for the operator.
    pub(crate) async fn connect(&self) -> Result<Connection, String> {
        let mut known = lookup_host((self.host.as_str(), self.port)).await.map_err(|why| why.to_string())?;
        let address = known.next().ok_or_else(|| "the host is not known".to_owned())?;
        let local: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let endpoint = Endpoint::client(local).map_err(|why| why.to_string())?;
        let connecting = endpoint.connect_with(self.client.clone(), address, NAME);
        let connecting = connecting.map_err(|why| why.to_string())?;
        let (opened, opens) = oneshot::channel();
        tokio::spawn(async move {
            let connection = connecting.await;
            if let Err(Ok(unwanted)) = opened.send(connection) {
                unwanted.close(VarInt::from_u32(0), b"");
            }
            endpoint.wait_idle().await;
        });
        match tokio::time::timeout(self.timeout, opens).await {
            Ok(Ok(connection)) => connection.map_err(|why| why.to_string()),
            Ok(Err(_)) => Err("the runtime ends".to_owned()),
            Err(_) => Err("connecting took too long".to_owned()),
        }
    }
}

/// Accepts the pinned certificate, or any. The handshake proves in either case that the agent has its key.
#[derive(Debug)]
struct AgentCertificate {
    pinned: Option<Digest>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AgentCertificate {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.pinned {
            Some(pinned) if pinned != Digest::of(leaf) => {
                Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC needs TLS 1.3".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
