//! TLS configurations: TLS 1.3 only, ring given explicitly, ALPN `http/1.1`, no session resumption.
//!
//! A resumed session would skip the certificate check, and so outlive the certificate. So servers send no tickets and clients
//! keep none.

mod handshake_fault;
mod hello;
mod verifiers;

use crate::{Chain, KeyPair, PeerRoots, Roots, SpiffeId};
pub use handshake_fault::{HandshakeFault, handshake_line};
pub use hello::{Hello, HelloFault};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::NoServerSessionStorage;
pub use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::version::TLS13;
pub use rustls::{ClientConfig, ServerConfig};
use std::fmt;
use std::sync::Arc;

/// The certificate that a server demands of its clients.
#[derive(Clone, Debug)]
pub enum ClientAuth {
    /// Every client shows a certificate that [`PeerRoots::identify`] accepts.
    Required(Arc<PeerRoots>),
    /// A client may show none; one that it shows must be accepted.
    Optional(Arc<PeerRoots>),
    /// No certificate is asked for.
    None,
}

/// The identity that a client expects of a server. The chain must end at the given roots in every case.
#[derive(Clone, Debug)]
pub enum ExpectedServer {
    /// A server whose certificate names the host or address dialled.
    Named,
    /// A server with exactly this SPIFFE id and any host: for agents, whose certificates often name no host.
    Id(SpiffeId),
    /// Both.
    NamedWithId(SpiffeId),
}

/// The demands of a client on a server.
#[derive(Clone, Debug)]
pub struct ServerTrust {
    /// The roots that the server's chain must end at.
    pub roots: Roots,
    /// The expected identity of the server.
    pub expected: ExpectedServer,
}

/// The reason that a configuration cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TlsFault {
    /// Certificate and key do not belong together, or rustls refuses them.
    Identity,
    /// The provider cannot do TLS 1.3.
    Provider,
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TlsFault::Identity => "certificate and key do not belong together",
            TlsFault::Provider => "the cryptographic provider cannot do tls 1.3",
        })
    }
}

impl std::error::Error for TlsFault {}

/// The one ALPN protocol that is spoken. HTTP/2 joins here.
const ALPN: &[u8] = b"http/1.1";

/// The configuration of a server that shows `chain`.
///
/// # Errors
/// [`TlsFault::Identity`] if `key` is not the leaf's.
pub fn server_config(
    chain: &Chain,
    key: &KeyPair,
    clients: ClientAuth,
    clock: Arc<dyn TimeProvider>,
) -> Result<ServerConfig, TlsFault> {
    let provider = provider();
    let builder = ServerConfig::builder_with_details(Arc::clone(&provider), clock)
        .with_protocol_versions(&[&TLS13])
        .map_err(|_| TlsFault::Provider)?;
    let builder = match clients {
        ClientAuth::Required(roots) => {
            builder.with_client_cert_verifier(Arc::new(verifiers::Clients::required(roots, &provider)))
        }
        ClientAuth::Optional(roots) => {
            builder.with_client_cert_verifier(Arc::new(verifiers::Clients::optional(roots, &provider)))
        }
        ClientAuth::None => builder.with_no_client_auth(),
    };
    let mut config = builder
        .with_single_cert(chain.certificates().to_vec(), private_key(key))
        .map_err(|_| TlsFault::Identity)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_early_data_size = 0;
    Ok(config)
}

/// The configuration of a client that shows `identity`, if it has one.
///
/// # Errors
/// [`TlsFault::Identity`] if the key is not the leaf's.
pub fn client_config(
    trust: ServerTrust,
    identity: Option<(&Chain, &KeyPair)>,
    clock: Arc<dyn TimeProvider>,
) -> Result<ClientConfig, TlsFault> {
    let provider = provider();
    let verifier = Arc::new(verifiers::Servers::new(trust, &provider));
    // `dangerous` because the verifier is ours: it is `verify_chain`, the same that judges everything else.
    let builder = ClientConfig::builder_with_details(provider, clock)
        .with_protocol_versions(&[&TLS13])
        .map_err(|_| TlsFault::Provider)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match identity {
        Some((chain, key)) => builder
            .with_client_auth_cert(chain.certificates().to_vec(), private_key(key))
            .map_err(|_| TlsFault::Identity)?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_early_data = false;
    Ok(config)
}

/// The provider ring, named here and nowhere taken from a process default.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn private_key(key: &KeyPair) -> PrivateKeyDer<'static> {
    PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.pkcs8().to_vec()))
}

#[cfg(test)]
mod tests;
