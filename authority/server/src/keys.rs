//! The keys of an authority: loaded and checked at start; context signers are minted for each line on demand.

mod roles;
mod signers;

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ring::rand::SystemRandom;
use semgate_certs::{
    Chain, ChainFault, ChainLimits, CrlStore, KeyPair, PeerRoots, Roots, SigningKey, Suspect, Usage,
    check_own, verify_chain,
};
use semgate_contexts::Prefix;
use semgate_statement::{Anchors, LogKey};

use crate::clock::now;
use crate::config::KeyFiles;
use crate::pkcs11::{Pkcs11Uri, device_key, names_device};
use crate::store::Layout;
use crate::{Config, RunFault};

pub(crate) use roles::Role;
use roles::{KeyLocations, Renewal};
pub(crate) use signers::{Minted, Signer, SignerFault, Signers};

const DAY: u64 = 86_400;

/// A value that is swapped as a whole while others read it.
#[derive(Debug)]
pub(crate) struct Slot<T>(RwLock<Option<Arc<T>>>);

impl<T> Slot<T> {
    fn new(value: Option<Arc<T>>) -> Self {
        Self(RwLock::new(value))
    }

    fn get(&self) -> Option<Arc<T>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, value: Option<Arc<T>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

/// All signing keys, and the trust state that they are checked under. Statements of the root and renewed keys are swapped in while the
/// authority runs.
pub(crate) struct Keys {
    anchors: RwLock<Arc<Anchors>>,
    status: Slot<Role>,
    feed: Slot<Role>,
    renewal: Option<Renewal>,
    feed_places: KeyLocations,
    status_places: KeyLocations,
    pub random: SystemRandom,
}

impl Keys {
    /// Loads the role keys, under the root's statements so far.
    pub fn load(config: &Config, layout: &Layout, anchors: Anchors, now: u64) -> Result<Self, RunFault> {
        let limit = config.limits.signer_timeout;
        let places = |usage, given| KeyLocations::new(usage, given, layout.roles.clone(), limit);
        let keys = Self {
            anchors: RwLock::new(Arc::new(anchors)),
            status: Slot::new(None),
            feed: Slot::new(None),
            renewal: Renewal::of(config)?,
            feed_places: places(Usage::Feed, &config.keys.feed),
            status_places: places(Usage::Status, &config.keys.status),
            random: SystemRandom::new(),
        };
        keys.first_roles(config, now)?;
        Ok(keys)
    }

    /// Loads the role keys for reading only: makes nothing. None if a key does not count.
    pub fn reload(config: &Config, layout: &Layout, anchors: Anchors, now: u64) -> Option<Self> {
        let keys = config.keys.clone();
        let config =
            Config { keys: crate::config::KeysConfig { role_lifetime: None, ..keys }, ..config.clone() };
        Self::load(&config, layout, anchors, now).ok()
    }

    /// The trust state from the root's statements so far.
    pub fn anchors(&self) -> Arc<Anchors> {
        Arc::clone(&self.anchors.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes up a statement of the root: chains are judged by it from now on, and keys that no longer count are replaced. Returns the
    /// usages of the replaced keys.
    pub fn adopt_anchors(&self, anchors: Anchors, now: u64) -> Vec<Usage> {
        *self.anchors.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(anchors);
        self.renew(now)
    }

    /// Returns true if a role whose key no longer counts gets a new one automatically, by an issuing certificate that still counts. A key
    /// in a device keeps its key pair and gets a new certificate, so a compromised one needs a person.
    pub fn renews(&self, usage: Usage, anchors: &Anchors) -> bool {
        let places = if usage == Usage::Feed { &self.feed_places } else { &self.status_places };
        !places.is_in_device() && self.renewal.as_ref().is_some_and(|renewal| renewal.counts(anchors))
    }

    /// The chains of the role keys in use.
    pub fn chains(&self) -> Vec<Chain> {
        let roles = [self.feed.get(), self.status.get()];
        roles.into_iter().flatten().map(|role| role.identity.chain.clone()).collect()
    }

    /// The key of heads and shards.
    pub fn feed(&self) -> Result<Arc<Role>, RunFault> {
        self.feed.get().ok_or_else(|| RunFault::Stopped("there is no feed key".to_owned()))
    }

    /// Reason why signatures of the feed key do not count now: the time of its certificate, or a statement of the root.
    pub fn feed_fault(&self, now: u64) -> Option<ChainFault> {
        let (feed, anchors) = (self.feed.get()?, self.anchors());
        match anchors.compromised(feed.leaf.signer_id()) {
            Some(_) => Some(ChainFault::IssuerRevoked),
            None => verify_chain(&feed.identity.chain, anchors.roots(), Usage::Feed, now).err(),
        }
    }

    /// The key of status statements; none while its certificate does not count.
    pub fn status(&self) -> Option<Arc<Role>> {
        self.status.get()
    }
}

/// The trust state of the configuration, before any statement of the root. This authority's chains count below its roots even before the
/// first trust list of a split root; followers are stricter.
pub(crate) fn configured(config: &Config) -> Result<Anchors, RunFault> {
    let roots = roots(&config.roots, &config.prefix)?;
    let log = log_key(config)?;
    let (name, origin) = (&config.authority, &config.origin);
    Ok(Anchors::of_authority(name, origin, &roots, config.root_threshold as u64, log.verifier()))
}

/// The roots of a file, for URNs with this prefix.
pub(crate) fn roots(path: &Path, prefix: &Prefix) -> Result<Roots, RunFault> {
    let roots =
        Roots::from_pem(&text(path)?, &ChainLimits::default()).map_err(|e| RunFault::keys(path, e))?;
    Ok(roots.with_prefix(prefix.clone()))
}

/// The roots of client certificates. Refuses the certificate of a root key if the root is split: the holder of that one key could certify
/// any publisher.
pub(crate) fn client_roots(config: &Config) -> Result<Roots, RunFault> {
    let clients = roots(&config.tls.client_roots, &config.prefix)?;
    if config.root_threshold > 1 && has_key_of(&clients, &roots(&config.roots, &config.prefix)?) {
        let needed = config.root_threshold;
        return Err(RunFault::keys(
            &config.tls.client_roots,
            format_args!(
                "one root key in it can certify any publisher, although it takes {needed} to speak for the root: name only the issuing certificate for TLS as `tls.client_roots` (`offline/tls-issuing.pem` of `init`)"
            ),
        ));
    }
    Ok(clients)
}

/// Warns of the same if a trust list split the root: a submitted list must not keep its authority from starting.
pub(crate) fn warn_of_root_keys(config: &Config, anchors: &Anchors) {
    let split = anchors.threshold() > 1;
    if split && client_roots(config).is_ok_and(|clients| has_key_of(&clients, anchors.roots())) {
        tracing::warn!(
            "`{}` holds a root key, which alone can certify any publisher, although it takes {} to speak for the root",
            config.tls.client_roots.display(),
            anchors.threshold()
        );
    }
}

/// Returns true if both sets share a key, whoever certified it.
fn has_key_of(these: &Roots, others: &Roots) -> bool {
    let others: Vec<_> = others.certificates().filter_map(Suspect::key_of).collect();
    these.certificates().filter_map(Suspect::key_of).any(|key| others.contains(&key))
}

/// Client verification under each configured trust domain, with these revocation lists, if any.
pub(crate) fn peers(config: &Config, roots: Roots, crls: Option<Arc<CrlStore>>) -> PeerRoots {
    let roots = match crls {
        Some(crls) => roots.with_crls(crls),
        None => roots,
    };
    let mut peers = PeerRoots::new();
    for domain in config.tls.trust_domains.iter().flatten() {
        peers = peers.with(domain.clone(), roots.clone());
    }
    peers
}

/// The log key, with those that also sign while it changes; each must be named after the origin.
pub(crate) fn log_key(config: &Config) -> Result<LogKey, RunFault> {
    let mut key = one_log_key(config, &config.keys.log.key)?;
    for also in &config.keys.log.also {
        let other = one_log_key(config, also)?;
        key = key.with_second_key(other).map_err(|e| RunFault::keys(also, e))?;
    }
    Ok(key)
}

fn one_log_key(config: &Config, path: &Path) -> Result<LogKey, RunFault> {
    if let Some(uri) = names_device(path) {
        let key = device(uri, path, config.limits.signer_timeout)?;
        return LogKey::of_key(&config.origin, key).map_err(|e| RunFault::keys(path, e));
    }
    warn_if_open(path);
    let key = LogKey::from_text(&text(path)?).map_err(|e| RunFault::keys(path, e))?;
    if key.verifier().name() != config.origin {
        return Err(RunFault::keys(
            path,
            format_args!("it is the key of another log than `{}`", config.origin),
        ));
    }
    Ok(key)
}

/// A chain.
pub(crate) fn chain(path: &Path) -> Result<Chain, RunFault> {
    Chain::from_pem(&text(path)?, &ChainLimits::default()).map_err(|e| RunFault::keys(path, e))
}

/// A chain and its key, from a file or a device.
pub(crate) fn identity(files: &KeyFiles, limit: Duration) -> Result<(Chain, Arc<dyn SigningKey>), RunFault> {
    match names_device(&files.key) {
        Some(uri) => Ok((chain(&files.certificate)?, device(uri, &files.key, limit)?)),
        None => pair(files).map(|(chain, key)| (chain, key.into())),
    }
}

fn device(uri: &str, path: &Path, limit: Duration) -> Result<Arc<dyn SigningKey>, RunFault> {
    let uri = Pkcs11Uri::parse(uri).map_err(|e| RunFault::keys(path, e))?;
    device_key(&uri, limit).map_err(|e| RunFault::keys(path, e))
}

/// A chain and its key from a file.
pub(crate) fn pair(files: &KeyFiles) -> Result<(Chain, KeyPair), RunFault> {
    let chain = chain(&files.certificate)?;
    warn_if_open(&files.key);
    let key = KeyPair::from_pem(&text(&files.key)?, &SystemRandom::new())
        .map_err(|e| RunFault::keys(&files.key, e))?;
    Ok((chain, key))
}

/// The chain that a listener shows, and its key. Refuses a certificate that has ended, is of another usage, or has no name for the
/// address.
pub(crate) fn shown_pair(files: &KeyFiles, listen: SocketAddr) -> Result<(Chain, KeyPair), RunFault> {
    let (chain, key) = pair(files)?;
    check_own(&chain, &[Usage::Server], &[listen.ip()], now())
        .map_err(|why| RunFault::keys(&files.certificate, why))?;
    Ok((chain, key))
}

/// Warns of a key that others on the machine can read. It is not refused: the operator may have a reason.
fn warn_if_open(path: &Path) {
    let mode = std::fs::metadata(path).map(|m| m.permissions().mode() & 0o077);
    if mode.is_ok_and(|open| open != 0) {
        tracing::warn!("`{}` is readable by users other than its owner", path.display());
    }
}

fn text(path: &Path) -> Result<String, RunFault> {
    std::fs::read_to_string(path).map_err(RunFault::io("reading", path))
}
