//! The role keys: the newest that counts, from the operator or renewed by this authority; and their renewal.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ring::rand::SystemRandom;
use semgate_certs::{
    BACKDATE, Chain, ChainFault, IssueFault, Issuer, KeyPair, LeafProfile, SigningKey, Usage, VerifiedLeaf,
    verify_chain,
};
use semgate_statement::{Anchors, SigningIdentity};

use super::{DAY, Keys, identity};
use crate::config::KeyFiles;
use crate::pkcs11::names_device;
use crate::{Config, RunFault, disk};

/// Remaining lifetime below which the start warns of a role certificate that nobody renews.
const WARN_BEFORE: u64 = 14 * DAY;
/// Shortest leaf that is worth a renewal: below it the issuing certificate is at its end.
const SHORTEST: u64 = 5;

/// A key with its chain, and the end of the chain's validity.
#[derive(Debug)]
pub(crate) struct Role {
    pub identity: SigningIdentity,
    pub leaf: VerifiedLeaf,
}

/// Makes new leaves for the roles.
#[derive(Debug)]
pub(super) struct Renewal {
    issuer: Issuer,
    lifetime: u64,
}

/// The possible files of a role's key.
#[derive(Debug)]
pub(super) struct KeyLocations {
    usage: Usage,
    given: KeyFiles,
    renewed: KeyFiles,
    limit: Duration,
}

impl Renewal {
    pub fn of(config: &Config) -> Result<Option<Self>, RunFault> {
        let Some(lifetime) = config.keys.role_lifetime else { return Ok(None) };
        let (chain, key) = identity(&config.keys.context_issuing, config.limits.signer_timeout)?;
        let issuer = Issuer::from_parts(chain, key)
            .map_err(|e| RunFault::keys(&config.keys.context_issuing.certificate, e))?;
        Ok(Some(Self { issuer, lifetime: lifetime.as_secs() }))
    }

    /// Returns true if new leaves count: the root said nothing against the issuing certificate's key.
    pub fn counts(&self, anchors: &Anchors) -> bool {
        anchors.compromised(&self.issuer.chain().signer_id()).is_none()
    }

    /// Makes a new key and leaf, stored before use; a key in a device stays, and gets a new leaf.
    fn make(&self, places: &KeyLocations, now: u64) -> Result<(Chain, Arc<dyn SigningKey>), RunFault> {
        let refused =
            |what: &dyn std::fmt::Display| RunFault::keys(&places.renewed.certificate, what.to_string());
        let random = &SystemRandom::new();
        let (key, new): (Arc<dyn SigningKey>, _) = if places.is_in_device() {
            (identity(&places.given, places.limit)?.1, None)
        } else {
            let key = KeyPair::generate(random).map_err(|e| refused(&e))?;
            let pem = key.to_pem();
            (key.into(), Some(pem))
        };
        let scope = self.issuer.scope().map_err(|e| refused(&e))?;
        let from = self.issuer.begins(now, BACKDATE.min(self.lifetime / 3));
        let backdate = now.saturating_sub(from);
        let mut lifetime = self.lifetime;
        let chain = loop {
            let profile = LeafProfile::role(places.usage, scope.clone(), from);
            match self.issuer.leaf(&profile.lifetime(lifetime + backdate), key.public(), random) {
                Ok(chain) => break chain,
                // the issuing certificate ends earlier
                Err(IssueFault::LifetimeTooLong) if lifetime / 2 >= SHORTEST => lifetime /= 2,
                Err(fault) => return Err(refused(&fault)),
            }
        };
        disk::make_dir(&disk::parent(&places.renewed.certificate))?;
        if let Some(pem) = new {
            disk::write(&places.renewed.key, pem.as_bytes())?;
        }
        disk::write(&places.renewed.certificate, chain.to_pem().as_bytes())?;
        Ok((chain, key))
    }
}

impl KeyLocations {
    pub fn new(usage: Usage, given: &KeyFiles, dir: PathBuf, limit: Duration) -> Self {
        let file = |end: &str| dir.join(format!("{usage}.{end}"));
        let key = if names_device(&given.key).is_some() { given.key.clone() } else { file("key") };
        let renewed = KeyFiles { certificate: file("pem"), key };
        Self { usage, given: given.clone(), renewed, limit }
    }

    /// Returns true if the key lies in a device, where this authority makes no new one.
    pub fn is_in_device(&self) -> bool {
        names_device(&self.given.key).is_some()
    }

    /// The newest key that counts; else the reason why the operator's key does not.
    fn best(&self, anchors: &Anchors, now: u64) -> Result<Result<Role, ChainFault>, RunFault> {
        let given = role(&self.given, anchors, self.usage, now, self.limit)?;
        if let Err(fault) = &given
            && !is_outlived(*fault)
        {
            // not a key of this role at all: a mistake, which a renewal must not hide
            return Err(RunFault::keys(&self.given.certificate, fault));
        }
        let stored =
            self.renewed.certificate.is_file() && (self.is_in_device() || self.renewed.key.is_file());
        let renewed =
            if stored { role(&self.renewed, anchors, self.usage, now, self.limit).ok() } else { None };
        Ok(match (given, renewed) {
            (Ok(given), Some(Ok(renewed))) if renewed.leaf.not_before() > given.leaf.not_before() => {
                Ok(renewed)
            }
            (Err(_), Some(Ok(renewed))) => Ok(renewed),
            (given, _) => given,
        })
    }

    /// Makes a new key if the authority renews and `held` is due. It is due if it does not count, has a third of its life left, or outlives
    /// three times the configured lifetime. `None` keeps the held key.
    pub fn next(
        &self,
        held: Option<&Role>,
        renewal: Option<&Renewal>,
        anchors: &Anchors,
        now: u64,
    ) -> Result<Option<Role>, RunFault> {
        let Some(renewal) = renewal else { return Ok(None) };
        if held.is_some_and(|role| is_good(role, anchors, renewal.lifetime, now).is_ok()) {
            return Ok(None);
        }
        let (chain, key) = renewal.make(self, now)?;
        let leaf = verify_chain(&chain, own_roots(anchors), self.usage, now)
            .map_err(|e| RunFault::keys(&self.renewed.certificate, e))?;
        tracing::info!("renewed the {} key: {}", self.usage, chain.thumbprint());
        Ok(Some(Role { identity: SigningIdentity::new(key, chain), leaf }))
    }
}

/// Returns true for faults that a good key gets with time, or by a statement of the root.
fn is_outlived(fault: ChainFault) -> bool {
    use ChainFault::{Expired, IssuerNotListed, IssuerRevoked, NotYetValid};
    matches!(fault, Expired | NotYetValid | IssuerRevoked | IssuerNotListed)
}

/// Marks a held key as due for replacement.
struct Due;

fn is_good(role: &Role, anchors: &Anchors, lifetime: u64, now: u64) -> Result<(), Due> {
    let leaf = &role.leaf;
    let life = leaf.not_after().saturating_sub(leaf.not_before());
    let left = leaf.not_after().saturating_sub(now);
    let short = life <= lifetime.saturating_mul(3);
    let counts = anchors.compromised(leaf.signer_id()).is_none()
        && verify_chain(&role.identity.chain, own_roots(anchors), leaf.usage(), now).is_ok();
    if counts && short && left > life / 3 { Ok(()) } else { Err(Due) }
}

fn own_roots(anchors: &Anchors) -> &semgate_certs::Roots {
    anchors.roots()
}

fn role(
    files: &KeyFiles,
    anchors: &Anchors,
    usage: Usage,
    now: u64,
    limit: Duration,
) -> Result<Result<Role, ChainFault>, RunFault> {
    let (chain, key) = identity(files, limit)?;
    let leaf = match verify_chain(&chain, own_roots(anchors), usage, now) {
        Ok(leaf) => leaf,
        Err(fault) => return Ok(Err(fault)),
    };
    if leaf.public_key() != key.public() {
        return Err(RunFault::keys(&files.key, "it is not the key of the configured certificate"));
    }
    if anchors.compromised(leaf.signer_id()).is_some() {
        return Ok(Err(ChainFault::IssuerRevoked));
    }
    Ok(Ok(Role { identity: SigningIdentity::new(key, chain), leaf }))
}

impl Keys {
    /// The role keys at start. A feed key that cannot sign now stops the start, unless it can be renewed. A status key with an expired
    /// certificate does not, so that heads go on; acts that need it are refused until it is replaced.
    pub(super) fn first_roles(&self, config: &Config, now: u64) -> Result<(), RunFault> {
        let anchors = self.anchors();
        let renewal = self.renewal.as_ref();
        let feed = self.feed_places.best(&anchors, now)?;
        let feed = match self.feed_places.next(feed.as_ref().ok(), renewal, &anchors, now)? {
            Some(renewed) => renewed,
            None => feed.map_err(|e| RunFault::keys(&config.keys.feed.certificate, e))?,
        };
        let status = self.status_places.best(&anchors, now)?;
        let status = match (self.status_places.next(status.as_ref().ok(), renewal, &anchors, now)?, status) {
            (Some(renewed), _) => Some(renewed),
            (None, Ok(role)) => Some(role),
            (None, Err(fault @ (ChainFault::Expired | ChainFault::NotYetValid))) => {
                let path = config.keys.status.certificate.display();
                tracing::error!(
                    "`{path}`: {fault}; nothing can be revoked and no floor raised until it is replaced"
                );
                None
            }
            (None, Err(fault)) => return Err(RunFault::keys(&config.keys.status.certificate, fault)),
        };
        for role in [Some(&feed), status.as_ref()].into_iter().flatten() {
            if renewal.is_none() && role.leaf.not_after() < now.saturating_add(WARN_BEFORE) {
                let days = role.leaf.not_after().saturating_sub(now) / DAY;
                tracing::warn!("the {} certificate expires in {days} days", role.leaf.usage());
            }
        }
        self.feed.set(Some(Arc::new(feed)));
        self.status.set(status.map(Arc::new));
        Ok(())
    }

    /// Renews the keys that are due, and returns their usages. A failure is logged and tried again; the held key goes on while it counts.
    pub fn renew(&self, now: u64) -> Vec<Usage> {
        let anchors = self.anchors();
        let mut done = Vec::new();
        for (places, slot) in [(&self.feed_places, &self.feed), (&self.status_places, &self.status)] {
            let held = slot.get();
            match places.next(held.as_deref(), self.renewal.as_ref(), &anchors, now) {
                Ok(Some(renewed)) => {
                    slot.set(Some(Arc::new(renewed)));
                    done.push(places.usage);
                }
                Ok(None) => {}
                Err(fault) => tracing::error!("the {} key could not be renewed: {fault}", places.usage),
            }
        }
        done
    }
}
