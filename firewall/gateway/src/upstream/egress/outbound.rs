//! The one way to addresses that others name: an allow-list, and TLS under configured roots.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::target::Targets;
use crate::fault::RunFault;

/// Permitted targets and the TLS settings towards them.
pub(crate) struct Outbound {
    pub(crate) targets: Targets,
    /// `None` if no target uses TLS.
    pub(super) tls: Option<Arc<ClientConfig>>,
}

impl Outbound {
    /// # Errors
    /// Unreadable or invalid roots.
    pub(crate) fn new(targets: Targets, roots: Option<&Path>) -> Result<Self, RunFault> {
        Ok(Self { targets, tls: roots.map(client).transpose()? })
    }
}

/// TLS settings for targets: TLS 1.3, with certificates under the configured roots and for the URL's host. The gateway
/// presents no certificate.
fn client(roots: &Path) -> Result<Arc<ClientConfig>, RunFault> {
    let fault = |why: &dyn fmt::Display| RunFault::File {
        path: roots.to_owned(),
        what: "roots of egress targets",
        why: why.to_string(),
    };
    let pem = std::fs::read(roots).map_err(|why| fault(&why))?;
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|why| fault(&why))?;
        // system stores hold hundreds of roots; one that this library cannot read does not stop the start
        if let Err(why) = store.add(certificate) {
            tracing::debug!(%why, path = %roots.display(), "a root is left out");
        }
    }
    if store.is_empty() {
        return Err(fault(&"it holds no root"));
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(&[&TLS13]).map_err(|why| fault(&why))?;
    let mut client = builder.with_root_certificates(store).with_no_client_auth();
    client.alpn_protocols = vec![b"http/1.1".to_vec()];
    client.resumption = Resumption::disabled();
    client.enable_early_data = false;
    Ok(Arc::new(client))
}
