//! TLS configurations: TLS 1.3 only, ring given explicitly, ALPN `http/1.1`, no session resumption.
//!
//! A resumed session would skip the certificate check, and so outlive the certificate; therefore servers send no
//! tickets and clients keep none.

use crate::{Chain, KeyPair, PeerRoots, Roots, SpiffeId};
pub use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
pub use rustls::{ClientConfig, ServerConfig};
use std::fmt;
use std::sync::Arc;

/// What a server asks of its clients.
#[derive(Clone, Debug)]
pub enum ClientAuth {
    /// Every client shows a certificate that [`PeerRoots::identify`] accepts.
    Required(Arc<PeerRoots>),
    /// A client may show none; one that it shows must be accepted.
    Optional(Arc<PeerRoots>),
    /// No certificate is asked for.
    None,
}

/// What a client asks of a server.
#[derive(Clone, Debug)]
pub struct ServerTrust {
    /// The roots that the server's chain must end at.
    pub roots: Roots,
    /// The SPIFFE id that the server must have, besides a name that fits the one dialled.
    pub expected: Option<SpiffeId>,
}

/// Why a configuration cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The configuration of a server that shows `chain`.
pub fn server_config(
    _chain: &Chain,
    _key: &KeyPair,
    _clients: ClientAuth,
    _clock: Arc<dyn TimeProvider>,
) -> Result<ServerConfig, TlsFault> {
    todo!()
}

/// The configuration of a client that shows `identity`, if it has one.
pub fn client_config(
    _trust: ServerTrust,
    _identity: Option<(&Chain, &KeyPair)>,
    _clock: Arc<dyn TimeProvider>,
) -> Result<ClientConfig, TlsFault> {
    todo!()
}
