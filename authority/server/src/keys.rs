//! The keys that an authority holds: loaded and checked at start, context signers minted for each line on demand.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ring::rand::SystemRandom;
use semgate_certs::{
    Chain, ChainFault, ChainLimits, IssueFault, Issuer, KeyPair, LeafProfile, PeerRoots, Roots, Usage,
    VerifiedLeaf, verify_chain,
};
use semgate_contexts::{Line, Prefix};
use semgate_statement::{LogKey, SigningIdentity};

use crate::config::KeyFiles;
use crate::store::Layout;
use crate::{Config, RunFault, disk};

const DAY: u64 = 86_400;
/// Minted signers live as long as DESIGN §3 lets a leaf live.
/// An issuing certificate near its end issues shorter ones.
const SIGNER_LIFETIMES: [u64; 4] = [90 * DAY, 60 * DAY, 45 * DAY, 31 * DAY];
/// Certificates begin a little in the past, for verifiers whose clocks run behind.
const BACKDATE: u64 = 300;
/// A signer with less than this left is replaced before its next use.
const RENEW_BEFORE: u64 = 30 * DAY;

/// A role certificate with less than this left is warned about at start.
const WARN_BEFORE: u64 = 14 * DAY;

/// A key with its chain, and until when the chain is valid.
pub(crate) struct Role {
    pub identity: SigningIdentity,
    pub leaf: VerifiedLeaf,
}

/// Everything that signs, and the roots that it is checked under.
pub(crate) struct Keys {
    pub roots: Roots,
    pub status: Option<Role>,
    pub feed: Role,
    pub random: SystemRandom,
}

impl Keys {
    /// Loads the role keys. A feed key that cannot sign now stops the start; a status key with an expired certificate does not, so that
    /// heads go on, and every act that needs it is refused until it is replaced.
    pub fn load(config: &Config, now: u64) -> Result<Self, RunFault> {
        let roots = roots(&config.roots, &config.prefix)?;
        let feed = role(&config.keys.feed, &roots, Usage::Feed, now)?
            .map_err(|e| RunFault::keys(&config.keys.feed.certificate, e))?;
        let status = match role(&config.keys.status, &roots, Usage::Status, now)? {
            Ok(role) => Some(role),
            Err(fault @ (ChainFault::Expired | ChainFault::NotYetValid)) => {
                let path = config.keys.status.certificate.display();
                tracing::error!(
                    "`{path}`: {fault}; nothing can be revoked and no floor raised until it is replaced"
                );
                None
            }
            Err(fault) => return Err(RunFault::keys(&config.keys.status.certificate, fault)),
        };
        Ok(Self { roots, status, feed, random: SystemRandom::new() })
    }
}

/// The roots of a file, for URNs with this prefix.
pub(crate) fn roots(path: &Path, prefix: &Prefix) -> Result<Roots, RunFault> {
    let roots =
        Roots::from_pem(&text(path)?, &ChainLimits::default()).map_err(|e| RunFault::keys(path, e))?;
    Ok(roots.with_prefix(prefix.clone()))
}

/// The roots of client certificates, under each configured trust domain.
pub(crate) fn peers(config: &Config) -> Result<PeerRoots, RunFault> {
    let roots = roots(&config.tls.client_roots, &config.prefix)?;
    let mut peers = PeerRoots::new();
    for domain in &config.tls.trust_domains {
        peers = peers.with(domain.clone(), roots.clone());
    }
    Ok(peers)
}

/// The log key; it must be named after the origin.
pub(crate) fn log_key(config: &Config) -> Result<LogKey, RunFault> {
    let path = &config.keys.log;
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

/// A chain and its key.
pub(crate) fn pair(files: &KeyFiles) -> Result<(Chain, KeyPair), RunFault> {
    let chain = Chain::from_pem(&text(&files.certificate)?, &ChainLimits::default())
        .map_err(|e| RunFault::keys(&files.certificate, e))?;
    warn_if_open(&files.key);
    let key = KeyPair::from_pem(&text(&files.key)?, &SystemRandom::new())
        .map_err(|e| RunFault::keys(&files.key, e))?;
    Ok((chain, key))
}

/// A key that others on the machine can read is said, not refused: the operator may have a reason.
fn warn_if_open(path: &Path) {
    let mode = std::fs::metadata(path).map(|m| m.permissions().mode() & 0o077);
    if mode.is_ok_and(|open| open != 0) {
        tracing::warn!("`{}` can be read by others than its owner", path.display());
    }
}

fn role(
    files: &KeyFiles,
    roots: &Roots,
    usage: Usage,
    now: u64,
) -> Result<Result<Role, ChainFault>, RunFault> {
    let (chain, key) = pair(files)?;
    let leaf = match verify_chain(&chain, roots, usage, now) {
        Ok(leaf) => leaf,
        Err(fault) => return Ok(Err(fault)),
    };
    if leaf.public_key() != key.public() {
        return Err(RunFault::keys(&files.key, "it is not the key of the certificate beside it"));
    }
    if leaf.not_after() < now.saturating_add(WARN_BEFORE) {
        let days = leaf.not_after().saturating_sub(now) / DAY;
        tracing::warn!("`{}` expires in {days} days", files.certificate.display());
    }
    Ok(Ok(Role { identity: SigningIdentity::new(key, chain), leaf }))
}

fn text(path: &Path) -> Result<String, RunFault> {
    std::fs::read_to_string(path).map_err(RunFault::io("reading", path))
}

/// Why no signer can be had for a line.
#[derive(Debug)]
pub(crate) enum SignerFault {
    /// The issuing certificate was not delegated the line, or has expired.
    NotDelegated(String),
    /// The signer could not be stored; nothing is signed with a key that a restart would not know.
    Storage(RunFault),
}

/// Mints context signers: one leaf for each line, by the issuing certificate for contexts.
pub(crate) struct Signers {
    dir: PathBuf,
    issuer: Issuer,
    roots: Roots,
    prefix: Prefix,
    known: Mutex<HashMap<Line, (Arc<SigningIdentity>, u64)>>,
}

impl Signers {
    /// With the issuing certificate of the configuration.
    pub fn load(config: &Config, layout: &Layout, roots: Roots) -> Result<Self, RunFault> {
        let (chain, key) = pair(&config.keys.context_issuing)?;
        let issuer = Issuer::from_parts(chain, key)
            .map_err(|e| RunFault::keys(&config.keys.context_issuing.certificate, e))?;
        let prefix = config.prefix.clone();
        Ok(Self { dir: layout.signers.clone(), issuer, roots, prefix, known: Mutex::default() })
    }

    /// The signer of a line: the stored one while it has a month left, else a new one, stored before it is used.
    pub fn of(&self, line: &Line, now: u64) -> Result<Arc<SigningIdentity>, SignerFault> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((identity, until)) = known.get(line)
            && *until > now.saturating_add(RENEW_BEFORE)
        {
            return Ok(Arc::clone(identity));
        }
        let found = match self.stored(line, now) {
            Some(found) => found,
            None => self.mint(line, now)?,
        };
        known.insert(line.clone(), found.clone());
        Ok(found.0)
    }

    /// The stored signer, if it is whole and good for a month; anything else about it is a reason to mint a new one.
    fn stored(&self, line: &Line, now: u64) -> Option<(Arc<SigningIdentity>, u64)> {
        let (certificate, key) = self.files(line);
        let (chain, key) = pair(&KeyFiles { certificate, key }).ok()?;
        let leaf = verify_chain(&chain, &self.roots, Usage::Context, now).ok()?;
        let good = leaf.public_key() == key.public()
            && leaf.allows_line(line).is_ok()
            && leaf.not_after() > now.saturating_add(RENEW_BEFORE);
        good.then(|| (Arc::new(SigningIdentity::new(key, chain)), leaf.not_after()))
    }

    fn mint(&self, line: &Line, now: u64) -> Result<(Arc<SigningIdentity>, u64), SignerFault> {
        let random = &SystemRandom::new();
        let refused = |what: &dyn std::fmt::Display| SignerFault::NotDelegated(what.to_string());
        let key = KeyPair::generate(random).map_err(|e| refused(&e))?;
        let from = now.saturating_sub(BACKDATE);
        let issued = SIGNER_LIFETIMES.into_iter().map(|lifetime| {
            let mut profile = LeafProfile::context(vec![line.clone()], from).lifetime(lifetime);
            profile.prefix = self.prefix.clone();
            self.issuer.leaf(&profile, key.public(), random)
        });
        let mut last = IssueFault::LifetimeTooLong;
        let mut chain = None;
        for one in issued {
            match one {
                Ok(made) => chain = Some(made),
                Err(IssueFault::LifetimeTooLong) => continue,
                Err(fault) => last = fault,
            }
            break;
        }
        let chain = chain.ok_or_else(|| refused(&last))?;
        let leaf = verify_chain(&chain, &self.roots, Usage::Context, now).map_err(|e| refused(&e))?;
        leaf.allows_line(line).map_err(|e| refused(&e))?;
        let (certificate_file, key_file) = self.files(line);
        disk::write(&key_file, key.to_pem().as_bytes()).map_err(SignerFault::Storage)?;
        disk::write(&certificate_file, chain.to_pem().as_bytes()).map_err(SignerFault::Storage)?;
        tracing::info!("minted a context signer for line `{}`", line.as_str());
        Ok((Arc::new(SigningIdentity::new(key, chain)), leaf.not_after()))
    }

    fn files(&self, line: &Line) -> (PathBuf, PathBuf) {
        (self.dir.join(format!("{}.pem", line.as_str())), self.dir.join(format!("{}.key", line.as_str())))
    }
}
