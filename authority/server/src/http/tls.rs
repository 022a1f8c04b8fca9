//! The TLS identity that connections are answered with. Its files are looked at again and again: leaves live for 90 days at most, an authority for
//! longer. What is new is for new connections; a pair that cannot be used is said, and the one in use goes on.

mod crls;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use semgate_certs::{PeerRoots, Roots};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::clock::now;
use crate::metrics::Metrics;
use crate::{Config, RunFault, keys};

use crls::ClientCrls;

/// How often the files are looked at: whoever renewed a certificate sees it taken within a second or two.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What one connection is answered with.
pub(crate) struct ServerIdentity {
    pub acceptor: TlsAcceptor,
    /// Whose certificates say who they are; nobody's without this.
    pub peers: Option<Arc<PeerRoots>>,
    /// Whether certificates are looked up in revocation lists.
    pub looked_up: bool,
}

/// The newest of it.
pub(crate) struct Tls(RwLock<Arc<ServerIdentity>>);

impl Tls {
    /// With this.
    pub fn new(shown: ServerIdentity) -> Self {
        Self(RwLock::new(Arc::new(shown)))
    }

    /// What a new connection is answered with.
    pub fn current(&self) -> Arc<ServerIdentity> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, shown: ServerIdentity) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(shown);
    }
}

/// The files behind it, and what was seen of them.
pub(crate) struct Files {
    config: Config,
    crls: Option<ClientCrls>,
    /// Those of clients, as they were taken last: lists are verified under these, whatever the file says by now.
    roots: Roots,
    seen: Vec<(PathBuf, Mark)>,
    /// They could not be used as they are: read again at each look, since a disk may fail once.
    again: bool,
}

/// What became of the files since the last look.
enum FileChange {
    /// Nothing that is new.
    Same,
    /// What connections are answered with from now on.
    Taken(ServerIdentity),
    /// They changed, and cannot be used.
    Refused(RunFault),
}

impl Files {
    /// Reads certificate, key, the roots of clients and the revocation lists that these are looked up in.
    ///
    /// # Errors
    /// A file that cannot be read, or a pair that does not belong together; a directory of lists that cannot be listed.
    pub fn open(config: &Config) -> Result<(Self, ServerIdentity), RunFault> {
        let mut crls = ClientCrls::of(config)?;
        let seen = marks(config);
        let (shown, roots) = load(config, crls.as_ref())?;
        if let Some(crls) = &mut crls {
            crls.refresh(&roots, true, now(), None);
        }
        Ok((Self { config: config.clone(), crls, roots, seen, again: false }, shown))
    }

    /// What changed since the last look: lists are in use from now on, under new roots once these are taken; the rest is given back. What
    /// could not be used is tried again each time, and told once.
    fn check(&mut self, metrics: &Metrics) -> FileChange {
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

fn load(config: &Config, crls: Option<&ClientCrls>) -> Result<(ServerIdentity, Roots), RunFault> {
    let (chain, key) = keys::pair(&config.tls.server)?;
    let roots = keys::client_roots(config)?;
    let peers = Arc::new(keys::peers(config, roots.clone(), crls.map(ClientCrls::store)));
    let clients = semgate_certs::tls::ClientAuth::Optional(Arc::clone(&peers));
    let clock = Arc::new(semgate_certs::tls::DefaultTimeProvider);
    let made = semgate_certs::tls::server_config(&chain, &key, clients, clock)
        .map_err(|e| RunFault::keys(&config.tls.server.certificate, e))?;
    let acceptor = TlsAcceptor::from(Arc::new(made));
    Ok((ServerIdentity { acceptor, peers: Some(peers), looked_up: crls.is_some() }, roots))
}

/// What tells a file that was written or replaced.
type Mark = Option<(u64, u64, SystemTime)>;

fn mark(path: &Path) -> Mark {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.modified().ok()?))
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
            let looked = files.check(&counted);
            (files, looked)
        });
        let Ok((back, looked)) = looked.await else {
            tracing::error!("the tls files are not looked at any more");
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
                tracing::info!("took up the changed tls files for new connections");
            }
            FileChange::Refused(fault) => {
                count("refused");
                tracing::error!("the changed tls files are not taken up, the ones before go on: {fault}");
            }
        }
    }
}
