//! The TLS identity that connections are answered with. Its files are looked at again and again: leaves live for 90 days at most, an authority for
//! longer. What is new is for new connections; a pair that cannot be used is said, and the one in use goes on.

mod crls;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use semgate_certs::PeerRoots;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::clock::now;
use crate::metrics::Metrics;
use crate::{Config, RunFault, keys};

use crls::ClientCrls;

/// How often the files are looked at: whoever renewed a certificate sees it taken within a second or two.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What one connection is answered with.
pub(crate) struct Shown {
    pub acceptor: TlsAcceptor,
    /// Whose certificates say who they are; nobody's without this.
    pub peers: Option<Arc<PeerRoots>>,
    /// Whether certificates are looked up in revocation lists.
    pub looked_up: bool,
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

/// The files behind it, and what was seen of them.
pub(crate) struct Files {
    config: Config,
    crls: Option<ClientCrls>,
    seen: Vec<(PathBuf, Mark)>,
}

impl Files {
    /// Reads certificate, key, the roots of clients and the revocation lists that these are looked up in.
    ///
    /// # Errors
    /// A file that cannot be read, or a pair that does not belong together; a directory of lists that cannot be listed.
    pub fn open(config: &Config) -> Result<(Self, Shown), RunFault> {
        let crls = ClientCrls::of(config)?;
        let mut files = Self { config: config.clone(), crls, seen: marks(config) };
        files.look_up(true, None)?;
        let shown = files.load()?;
        Ok((files, shown))
    }

    fn load(&self) -> Result<Shown, RunFault> {
        let config = &self.config;
        let (chain, key) = keys::pair(&config.tls.server)?;
        let peers = Arc::new(keys::peers(config, self.crls.as_ref().map(ClientCrls::store))?);
        let clients = semgate_certs::tls::ClientAuth::Optional(Arc::clone(&peers));
        let clock = Arc::new(semgate_certs::tls::DefaultTimeProvider);
        let made = semgate_certs::tls::server_config(&chain, &key, clients, clock)
            .map_err(|e| RunFault::keys(&config.tls.server.certificate, e))?;
        let looked_up = self.crls.is_some();
        Ok(Shown { acceptor: TlsAcceptor::from(Arc::new(made)), peers: Some(peers), looked_up })
    }

    fn look_up(&mut self, anew: bool, metrics: Option<&Metrics>) -> Result<(), RunFault> {
        let Some(crls) = &mut self.crls else { return Ok(()) };
        crls.look(&keys::client_roots(&self.config)?, anew, now(), metrics);
        Ok(())
    }

    /// What changed since the last look: lists are in use from now on, the rest is given back.
    fn look(&mut self, metrics: &Metrics) -> Option<Result<Shown, RunFault>> {
        let now = marks(&self.config);
        let changed = now != self.seen;
        self.seen = now;
        let looked_up = self.look_up(changed, Some(metrics));
        changed.then(|| looked_up.and_then(|()| self.load()))
    }
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
    mut files: Files,
    metrics: Arc<Metrics>,
    mut stopping: watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = stopping.wait_for(|stop| *stop) => return,
        }
        let counted = Arc::clone(&metrics);
        let looked = tokio::task::spawn_blocking(move || {
            let loaded = files.look(&counted);
            (files, loaded)
        });
        let Ok((back, loaded)) = looked.await else {
            tracing::error!("the tls files are not looked at any more");
            return;
        };
        files = back;
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
