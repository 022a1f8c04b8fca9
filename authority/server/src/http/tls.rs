//! The TLS identity that connections are answered with. Its files are looked at again and again: leaves live for 90 days at most, an authority for
//! longer. What is new is for new connections; a pair that cannot be used is said, and the one in use goes on.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use semgate_certs::PeerRoots;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::metrics::Metrics;
use crate::{Config, RunFault, keys};

/// How often the files are looked at: whoever renewed a certificate sees it taken within a second or two.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What one connection is answered with.
pub(crate) struct Shown {
    pub acceptor: TlsAcceptor,
    /// Whose certificates say who they are; nobody's without this.
    pub peers: Option<Arc<PeerRoots>>,
}

/// The newest of it.
pub(crate) struct Tls(RwLock<Arc<Shown>>);

impl Tls {
    /// With this.
    pub fn new(shown: Shown) -> Self {
        Self(RwLock::new(Arc::new(shown)))
    }

    /// What a new connection is answered with.
    pub fn now(&self) -> Arc<Shown> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, shown: Shown) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(shown);
    }
}

/// Reads certificate, key and the roots of clients.
///
/// # Errors
/// A file that cannot be read, or a pair that does not belong together.
pub(crate) fn load(config: &Config) -> Result<Shown, RunFault> {
    let (chain, key) = keys::pair(&config.tls.server)?;
    let peers = Arc::new(keys::peers(config)?);
    let clients = semgate_certs::tls::ClientAuth::Optional(Arc::clone(&peers));
    let clock = Arc::new(semgate_certs::tls::DefaultTimeProvider);
    let made = semgate_certs::tls::server_config(&chain, &key, clients, clock)
        .map_err(|e| RunFault::keys(&config.tls.server.certificate, e))?;
    Ok(Shown { acceptor: TlsAcceptor::from(Arc::new(made)), peers: Some(peers) })
}

/// What tells a file that was written or replaced.
type Mark = Option<(u64, u64, SystemTime)>;

fn mark(path: &Path) -> Mark {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    Some((found.ino(), found.len(), found.modified().ok()?))
}

fn marks(config: &Config) -> Vec<(PathBuf, Mark)> {
    let files = [&config.tls.server.certificate, &config.tls.server.key, &config.tls.client_roots];
    files.into_iter().map(|path| (path.clone(), mark(path))).collect()
}

/// Takes up what changes until `stopping`. A certificate that was replaced before its key is refused once, and both are taken when the key is
/// there.
pub(crate) async fn renew(
    tls: Arc<Tls>,
    config: Config,
    metrics: Arc<Metrics>,
    mut stopping: watch::Receiver<bool>,
) {
    let config = Arc::new(config);
    let mut seen = marks(&config);
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = stopping.wait_for(|stop| *stop) => return,
        }
        let (files, before) = (Arc::clone(&config), seen.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let now = marks(&files);
            let loaded = (now != before).then(|| load(&files));
            (now, loaded)
        });
        let Ok((now, loaded)) = looked.await else { continue };
        seen = now;
        let count = |result: &str| {
            metrics.count("semgate_authority_tls_reloads_total", &[("result", result.to_owned())]);
        };
        match loaded {
            None => {}
            Some(Ok(shown)) => {
                tls.set(shown);
                count("taken");
                tracing::info!("took up the changed tls files for new connections");
            }
            Some(Err(fault)) => {
                count("refused");
                tracing::error!("the changed tls files are not taken up, the ones before go on: {fault}");
            }
        }
    }
}
