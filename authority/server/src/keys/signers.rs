//! Context signers: one leaf for each line, by the issuing certificate for contexts.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ring::rand::SystemRandom;
use semgate_certs::{
    BACKDATE, Chain, ChainFault, IssueFault, Issuer, KeyFault, KeyPair, LeafProfile, Usage, VerifiedLeaf,
    verify_chain,
};
use semgate_contexts::{Line, Prefix};
use semgate_statement::{Anchors, SigningIdentity};

use super::{DAY, Keys, identity, pair};
use crate::config::KeyFiles;
use crate::store::Layout;
use crate::{Config, RunFault};

/// Lifetimes of minted signers, the longest first. An issuing certificate near its end issues shorter ones.
const SIGNER_LIFETIMES: [u64; 4] = [90 * DAY, 60 * DAY, 45 * DAY, 31 * DAY];
/// Remaining lifetime below which a signer is replaced before its next use.
const RENEW_BEFORE: u64 = 30 * DAY;

/// Reason why a line has no signer.
#[derive(Debug)]
pub(crate) enum SignerFault {
    /// The issuing certificate was not delegated the line.
    NotDelegated(String),
    /// The issuing certificate makes no leaf that counts now, by its times or by a statement of the root.
    Issuing(String),
    /// The issuing key did not sign now.
    Unsigned(KeyFault),
}

/// Checks that a signer's chain is valid now under the root's statements, and that its key is not compromised.
fn counts(chain: &Chain, anchors: &Anchors, now: u64) -> Result<VerifiedLeaf, ChainFault> {
    match anchors.compromised(&chain.signer_id()) {
        Some(_) => Err(ChainFault::IssuerRevoked),
        None => verify_chain(chain, anchors.roots(), Usage::Context, now),
    }
}

/// Mints context signers: one leaf for each line, by the issuing certificate for contexts.
pub(crate) struct Signers {
    dir: PathBuf,
    issuer: Issuer,
    keys: Arc<Keys>,
    prefix: Prefix,
    known: Mutex<HashMap<Line, CachedSigner>>,
    /// Signers with a publication under way; each lives as long as a request names it.
    minted: Mutex<HashMap<Line, Weak<Minted>>>,
}

/// A signer of a line.
#[derive(Debug, Clone)]
pub(crate) struct Signer {
    /// The key and its chain.
    pub identity: Arc<SigningIdentity>,
    /// The files of a new signer. They are written with the publication that it signs, so a refused publication leaves nothing.
    pub minted: Option<Arc<Minted>>,
}

/// A signer that is not stored yet. Concurrent publications of one line share it.
pub(crate) struct Minted {
    identity: Arc<SigningIdentity>,
    until: u64,
    files: [(PathBuf, Vec<u8>); 2],
}

impl Minted {
    /// The key and the chain, each with its file.
    pub fn files(&self) -> &[(PathBuf, Vec<u8>)] {
        &self.files
    }
}

impl fmt::Debug for Minted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // keeps the key out of every log
        f.debug_struct("Minted").field("until", &self.until).finish_non_exhaustive()
    }
}

/// A signer that counts, with the second of the check and the trust state.
struct CachedSigner {
    identity: Arc<SigningIdentity>,
    until: u64,
    seen: (u64, Arc<Anchors>),
}

impl CachedSigner {
    /// Returns true if the verdict still counts. A new one costs five signature checks, and the same few signers are used again and again.
    fn counts_still(&self, now: u64, anchors: &Arc<Anchors>) -> bool {
        self.seen.0 == now && Arc::ptr_eq(&self.seen.1, anchors)
    }
}

impl Signers {
    /// Loads the issuing certificate of the configuration.
    pub fn load(config: &Config, layout: &Layout, keys: Arc<Keys>) -> Result<Self, RunFault> {
        let (chain, key) = identity(&config.keys.context_issuing, config.limits.signer_timeout)?;
        let issuer = Issuer::from_parts(chain, key)
            .map_err(|e| RunFault::keys(&config.keys.context_issuing.certificate, e))?;
        let prefix = config.prefix.clone();
        Ok(Self {
            dir: layout.signers.clone(),
            issuer,
            keys,
            prefix,
            known: Mutex::default(),
            minted: Mutex::default(),
        })
    }

    /// The signer of a line: the stored one while it has a month left, else a new one, stored with the publication that it signs.
    pub fn of(&self, line: &Line, now: u64) -> Result<Signer, SignerFault> {
        let anchors = self.keys.anchors();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(one) = known.get_mut(line)
            && one.until > now.saturating_add(RENEW_BEFORE)
            && (one.counts_still(now, &anchors) || counts(&one.identity.chain, &anchors, now).is_ok())
        {
            one.seen = (now, anchors);
            return Ok(Signer { identity: Arc::clone(&one.identity), minted: None });
        }
        let Some((identity, until)) = self.stored(line, &anchors, now) else {
            return self.mint_once(line, &anchors, now);
        };
        known.insert(
            line.clone(),
            CachedSigner { identity: Arc::clone(&identity), until, seen: (now, anchors) },
        );
        Ok(Signer { identity, minted: None })
    }

    /// The new signer of a line with a publication under way, or another new one.
    fn mint_once(&self, line: &Line, anchors: &Anchors, now: u64) -> Result<Signer, SignerFault> {
        let mut minted = self.minted.lock().unwrap_or_else(PoisonError::into_inner);
        minted.retain(|_, one| one.strong_count() > 0);
        let good = minted.get(line).and_then(Weak::upgrade).filter(|one| {
            one.until > now.saturating_add(RENEW_BEFORE) && counts(&one.identity.chain, anchors, now).is_ok()
        });
        let one = match good {
            Some(one) => one,
            None => Arc::new(self.mint(line, anchors, now)?),
        };
        minted.insert(line.clone(), Arc::downgrade(&one));
        Ok(Signer { identity: Arc::clone(&one.identity), minted: Some(one) })
    }

    /// The stored signer, if it is whole and good for a month; any other state leads to a new one.
    fn stored(&self, line: &Line, anchors: &Anchors, now: u64) -> Option<(Arc<SigningIdentity>, u64)> {
        let (certificate, key) = self.files(line);
        let (chain, key) = pair(&KeyFiles { certificate, key }).ok()?;
        let leaf = counts(&chain, anchors, now).ok()?;
        let good = leaf.public_key() == key.public()
            && leaf.allows_line(line).is_ok()
            && leaf.not_after() > now.saturating_add(RENEW_BEFORE);
        good.then(|| (Arc::new(SigningIdentity::new(key, chain)), leaf.not_after()))
    }

    fn mint(&self, line: &Line, anchors: &Anchors, now: u64) -> Result<Minted, SignerFault> {
        let random = &SystemRandom::new();
        let refused = |what: &dyn std::fmt::Display| SignerFault::Issuing(what.to_string());
        let undelegated = |what: &dyn std::fmt::Display| SignerFault::NotDelegated(what.to_string());
        let key = KeyPair::generate(random).map_err(|e| refused(&e))?;
        let from = self.issuer.begins(now, BACKDATE);
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
        let chain = chain.ok_or_else(|| match last {
            IssueFault::Key(fault) => SignerFault::Unsigned(fault),
            last @ IssueFault::NotDelegated => undelegated(&last),
            last => refused(&last),
        })?;
        let leaf = counts(&chain, anchors, now).map_err(|e| match e {
            ChainFault::NotPermittedByNameConstraints => undelegated(&e),
            e => refused(&e),
        })?;
        leaf.allows_line(line).map_err(|e| undelegated(&e))?;
        let (certificate_file, key_file) = self.files(line);
        let files =
            [(key_file, key.to_pem().as_bytes().to_vec()), (certificate_file, chain.to_pem().into_bytes())];
        tracing::info!("minted a context signer for line `{}`", line.as_str());
        Ok(Minted { identity: Arc::new(SigningIdentity::new(key, chain)), until: leaf.not_after(), files })
    }

    fn files(&self, line: &Line) -> (PathBuf, PathBuf) {
        (self.dir.join(format!("{}.pem", line.as_str())), self.dir.join(format!("{}.key", line.as_str())))
    }
}
