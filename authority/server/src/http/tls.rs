//! The TLS identity of the public address. Its files are checked again and again: leaves live for 90 days at most, an authority for longer.
//! A new identity applies to new connections. A pair that cannot be used is logged, and the one in use goes on.

mod crls;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use semgate_certs::{CertificateSummary, PeerRoots, Roots, check_own};
use tokio::sync::watch;
use tokio_rustls::rustls::ServerConfig;

use crate::clock::now;
use crate::metrics::Metrics;
use crate::{Config, RunFault, keys};

use crls::ClientCrls;

/// Interval between looks at the files: a renewed certificate is in use within a second or two.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Seconds of a day.
const DAY: u64 = 86_400;

/// The TLS identity shown on one connection.
pub(crate) struct ServerIdentity {
    pub server: Arc<ServerConfig>,
    /// Verifies client certificates; without it every peer is anonymous.
    pub peers: Option<Arc<PeerRoots>>,
    /// True if certificates are checked against revocation lists.
    pub looked_up: bool,
}

/// The current identity.
pub(crate) struct Tls(RwLock<Arc<ServerIdentity>>);

impl Tls {
    /// Begins with this identity.
    pub fn new(shown: ServerIdentity) -> Self {
        Self(RwLock::new(Arc::new(shown)))
    }

    /// The identity for a new connection.
    pub fn current(&self) -> Arc<ServerIdentity> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, shown: ServerIdentity) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(shown);
    }
}

/// The files behind it, with their last seen state.
pub(crate) struct Files {
    config: Config,
    crls: Option<ClientCrls>,
    /// The client roots in use: lists are verified under these, whatever the file holds by now.
    roots: Roots,
    seen: Vec<(PathBuf, Mark)>,
    /// Day of the last warning that the certificate ends soon.
    warned: Option<u64>,
    /// True if the files could not be used: they are read again at each look, since a disk may fail once.
    again: bool,
}

/// The result of a look at the files.
enum FileChange {
    /// Nothing new.
    Same,
    /// The new identity for connections.
    Taken(ServerIdentity),
    /// The files changed, and cannot be used.
    Refused(RunFault),
}

impl Files {
    /// Reads certificate, key, client roots and revocation lists.
    ///
    /// # Errors
    /// A file cannot be read, a pair does not belong together, or a directory of lists cannot be listed.
    pub fn open(config: &Config) -> Result<(Self, ServerIdentity), RunFault> {
        let mut crls = ClientCrls::of(config)?;
        let seen = marks(config);
        let (shown, roots) = load(config, crls.as_ref())?;
        if let Some(crls) = &mut crls {
            crls.refresh(&roots, true, now(), None);
        }
        Ok((Self { config: config.clone(), crls, roots, seen, warned: None, again: false }, shown))
    }

    /// Looks for changes since the last look. Revocation lists take effect at once, under new roots once these are taken; a new identity is
    /// returned. A file that could not be used is tried again each time, and reported once.
    fn check(&mut self, metrics: &Metrics) -> FileChange {
        self.warn_of_ends();
        let marks = marks(&self.config);
        let changed = marks != self.seen;
        self.seen = marks;
        let loaded = (changed || self.again).then(|| load(&self.config, self.crls.as_ref()));
        let looked = match loaded {
            None => FileChange::Same,
            Some(Ok((shown, roots))) => {
                (self.roots, self.again) = (roots, false);
                FileChange::Taken(shown)
            }
            Some(Err(fault)) => {
                self.again = true;
                if changed { FileChange::Refused(fault) } else { FileChange::Same }
            }
        };
        if let Some(crls) = &mut self.crls {
            crls.refresh(&self.roots, matches!(looked, FileChange::Taken(_)), now(), Some(metrics));
        }
        looked
    }
}

impl Files {
    /// Warns once a day of certificates that end soon.
    fn warn_of_ends(&mut self) {
        let day = now() / DAY;
        if self.warned.replace(day) != Some(day) {
            for what in ending(&self.config, now()) {
                tracing::warn!(certificate = what, "a certificate of the authority ends soon");
            }
        }
    }
}

/// The chain of the public address; empty if it cannot be read.
pub(crate) fn shown_chain(config: &Config) -> Vec<CertificateSummary> {
    let chain = keys::chain(&config.tls.certificate);
    chain
        .and_then(|chain| {
            check_own(&chain, &[], &[], now()).map_err(|why| RunFault::keys(&config.tls.certificate, why))
        })
        .unwrap_or_default()
}

/// Certificates of the public address that end soon, one line each.
pub(crate) fn ending(config: &Config, at: u64) -> Vec<String> {
    let file = config.tls.certificate.display();
    let soon = shown_chain(config).into_iter().filter(|one| one.ends_soon(at));
    soon.map(|one| format!("`{file}`: `{}` ends in {} days: renew it", one.subject, one.days_left(at)))
        .collect()
}

fn load(config: &Config, crls: Option<&ClientCrls>) -> Result<(ServerIdentity, Roots), RunFault> {
    let (chain, key) = keys::shown_pair(&config.tls.server(), config.listen)?;
    let roots = keys::client_roots(config)?;
    let peers = Arc::new(keys::peers(config, roots.clone(), crls.map(ClientCrls::store)));
    let clients = semgate_certs::tls::ClientAuth::Optional(Arc::clone(&peers));
    let clock = Arc::new(semgate_certs::tls::DefaultTimeProvider);
    let made = semgate_certs::tls::server_config(&chain, &key, clients, clock)
        .map_err(|e| RunFault::keys(&config.tls.certificate, e))?;
    Ok((ServerIdentity { server: Arc::new(made), peers: Some(peers), looked_up: crls.is_some() }, roots))
}

/// The mark by which a written or replaced file is noticed.
type Mark = Option<(u64, u64, SystemTime)>;

fn mark(path: &Path) -> Mark {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.modified().ok()?))
}

fn marks(config: &Config) -> Vec<(PathBuf, Mark)> {
    let files = [&config.tls.certificate, &config.tls.key, &config.tls.client_roots];
    files.into_iter().map(|path| (path.clone(), mark(path))).collect()
}

/// Takes up changes until `stopping`. A certificate replaced before its key is refused once; both are taken when the key is there.
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
            let looked = files.check(&counted);
            (files, looked)
        });
        let Ok((back, looked)) = looked.await else {
            tracing::error!("the authority no longer watches the tls files");
            return;
        };
        files = back;
        let count = |result: &str| {
            metrics.count("semgate_authority_tls_reloads_total", &[("result", result.to_owned())]);
        };
        match looked {
            FileChange::Same => {}
            FileChange::Taken(shown) => {
                tls.set(shown);
                count("taken");
                tracing::info!("new connections use the changed tls files");
            }
            FileChange::Refused(fault) => {
                count("refused");
                tracing::error!("cannot use the changed tls files; the old ones stay in use: {fault}");
            }
        }
    }
}
