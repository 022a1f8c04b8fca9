//! Certificates, keys and roots, read from their files. Renewed files count for new connections within seconds.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use ring::rand::SystemRandom;
use semgate_certs::tls::{
    ClientAuth, DefaultTimeProvider, ExpectedServer, ServerConfig, ServerTrust, client_config, server_config,
};
use semgate_certs::{Chain, ChainLimits, KeyPair, PeerRoots, Roots, SpiffeId};
use tokio_rustls::TlsConnector;

use crate::config::{Config, IdentityFiles};
use crate::fault::RunFault;

/// All that is read from files.
pub(crate) struct Materials {
    /// The TLS of the pages: a client certificate is asked for, not demanded.
    pub(crate) server: Arc<ServerConfig>,
    /// Verifies certificates of people.
    pub(crate) people: Arc<PeerRoots>,
    /// Connects to the authority, with the identity of the console.
    pub(crate) authority: TlsConnector,
    /// Connects to each gateway, in the order of the configuration; `None` for one on plain HTTP alone.
    pub(crate) gateways: Vec<Option<TlsConnector>>,
}

impl Materials {
    /// Reads the files.
    ///
    /// # Errors
    /// A file cannot be read, or a key does not belong to its certificate.
    pub(crate) fn read(config: &Config) -> Result<Self, RunFault> {
        let roots = read_roots(&config.people_roots)?;
        let ids = config.persons.iter().filter_map(|person| SpiffeId::parse(&person.id).ok());
        let people = ids.fold(PeerRoots::new(), |all, id| all.with(id.trust_domain().clone(), roots.clone()));
        let people = Arc::new(people);
        let shown = Identity::read(&config.tls)?;
        let clients = ClientAuth::Optional(Arc::clone(&people));
        let server = server_config(&shown.chain, &shown.key, clients, Arc::new(DefaultTimeProvider))
            .map_err(|why| RunFault::file(&config.tls.certificate, why))?;
        let identity = Identity::read(&config.identity)?;
        let connector = |file: &Path| connector(file, &identity, &config.identity.certificate);
        let authority = connector(&config.authority.roots)?;
        let of_gateway = |roots: Option<&PathBuf>| roots.map(|file| connector(file)).transpose();
        let gateways = config.gateways.iter().map(|gateway| of_gateway(gateway.roots.as_ref()));
        Ok(Self {
            server: Arc::new(server),
            people,
            authority,
            gateways: gateways.collect::<Result<_, _>>()?,
        })
    }
}

fn connector(roots: &Path, identity: &Identity, certificate: &Path) -> Result<TlsConnector, RunFault> {
    let trust = ServerTrust { roots: read_roots(roots)?, expected: ExpectedServer::Named };
    let made = client_config(trust, Some((&identity.chain, &identity.key)), Arc::new(DefaultTimeProvider));
    Ok(TlsConnector::from(Arc::new(made.map_err(|why| RunFault::file(certificate, why))?)))
}

fn read_text(path: &Path) -> Result<String, RunFault> {
    std::fs::read_to_string(path).map_err(|why| RunFault::file(path, why))
}

fn read_roots(path: &Path) -> Result<Roots, RunFault> {
    Roots::from_pem(&read_text(path)?, &ChainLimits::default()).map_err(|why| RunFault::file(path, why))
}

/// A certificate chain with the key of its leaf.
struct Identity {
    chain: Chain,
    key: KeyPair,
}

impl Identity {
    fn read(files: &IdentityFiles) -> Result<Self, RunFault> {
        let chain = Chain::from_pem(&read_text(&files.certificate)?, &ChainLimits::default())
            .map_err(|why| RunFault::file(&files.certificate, why))?;
        let key = KeyPair::from_pem(&read_text(&files.key)?, &SystemRandom::new())
            .map_err(|why| RunFault::file(&files.key, why))?;
        Ok(Self { chain, key })
    }
}

/// The materials in use, and the state of their files when they were read.
pub(crate) struct Current {
    files: Vec<PathBuf>,
    in_use: RwLock<Arc<Materials>>,
    seen: RwLock<Vec<Option<SystemTime>>>,
}

impl Current {
    /// Reads the files.
    ///
    /// # Errors
    /// As [`Materials::read`].
    pub(crate) fn open(config: &Config) -> Result<Self, RunFault> {
        let fixed = [
            &config.tls.certificate,
            &config.tls.key,
            &config.identity.certificate,
            &config.identity.key,
            &config.people_roots,
            &config.authority.roots,
        ];
        let of_gateways = config.gateways.iter().filter_map(|gateway| gateway.roots.as_ref());
        let files: Vec<PathBuf> = fixed.into_iter().chain(of_gateways).cloned().collect();
        let seen = RwLock::new(times(&files));
        Ok(Self { files, in_use: RwLock::new(Arc::new(Materials::read(config)?)), seen })
    }

    /// The materials for a new connection.
    pub(crate) fn get(&self) -> Arc<Materials> {
        Arc::clone(&self.in_use.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes up changed files. Files that cannot be used are reported once, and those in use go on.
    pub(crate) fn refresh(&self, config: &Config) {
        let now = times(&self.files);
        let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        if *seen == now {
            return;
        }
        *seen = now;
        match Materials::read(config) {
            Ok(read) => {
                *self.in_use.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(read);
                tracing::info!("the console uses new certificates");
            }
            Err(why) => tracing::error!(%why, "changed certificates cannot be used; the old ones go on"),
        }
    }
}

fn times(files: &[PathBuf]) -> Vec<Option<SystemTime>> {
    files.iter().map(|file| std::fs::metadata(file).and_then(|data| data.modified()).ok()).collect()
}
