//! The gateway's own certificate for authorities, which reserve places for verified peers.

use std::sync::Arc;

use tokio_rustls::rustls::SignatureScheme;
use tokio_rustls::rustls::client::ResolvesClientCert;
use tokio_rustls::rustls::crypto::ring::sign::any_supported_type;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::sign::CertifiedKey;

use crate::config::IdentityFiles;
use crate::server::pem_files::identity;

/// Presents the certificate in the files when a connection begins, so that a renewed one needs no restart. If the files are
/// unusable, it presents none, and the authority treats the gateway as a stranger.
#[derive(Debug)]
pub(super) struct Presented(pub(super) IdentityFiles);

impl Presented {
    fn read(&self) -> Option<CertifiedKey> {
        let (chain, key) = identity(&self.0)
            .inspect_err(|why| tracing::warn!(%why, "no certificate is shown to the authority"))
            .ok()?;
        let der = PrivateKeyDer::from_pem_slice(key.to_pem().as_bytes()).ok()?;
        Some(CertifiedKey::new(chain.certificates().to_vec(), any_supported_type(&der).ok()?))
    }
}

impl ResolvesClientCert for Presented {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.read().map(Arc::new)
    }

    fn has_certs(&self) -> bool {
        true
    }
}
