//! Verified lists: the newest edition of each, by the key of its issuer. Nothing that another party made is kept, or raises
//! the number that the next edition must have.

use super::{CrlEntry, CrlFault, Crls, MAX_CRL_BYTES};
use crate::extensions::Role;
use crate::key_id::IssuerCertificate;
use crate::read::{CrlName, Facts, read_crl};
use crate::{KeyId, Roots, Thumbprint, pem};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::SectionKind;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use webpki::{CertRevocationList, OwnedCertRevocationList};

#[cfg(test)]
mod tests;

/// Bounds of the lists kept for one set of roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrlLimits {
    /// Issuing certificates beside the roots. 16: a handful of issuers, each with its successor.
    pub issuers: usize,
    /// Lists of all issuers together. [`MAX_CRLS`](super::MAX_CRLS): the most that a verifier holds.
    pub lists: usize,
    /// Bytes of all lists together. 64 MiB: some two million revoked certificates.
    pub bytes: usize,
}

impl Default for CrlLimits {
    fn default() -> Self {
        CrlLimits { issuers: 16, lists: super::MAX_CRLS, bytes: 64 << 20 }
    }
}

/// The result of an offered list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrlOutcome {
    /// It is kept from now on, under this name, which is the same for all editions of the list.
    Newer(KeyId),
    /// The kept edition is as new.
    Known,
    /// It is its issuer's but begins later; the kept edition applies until then.
    Early,
}

/// The verified lists of the issuers under some roots, and the certificates of these issuers. Each list is verified by its
/// issuer's key before it is kept.
#[derive(Debug, Default)]
pub struct VerifiedCrls {
    limits: CrlLimits,
    /// The issuers beside the roots, which come first.
    issuers: Vec<CrlSigner>,
    lists: BTreeMap<Slot, VerifiedCrl>,
    known: BTreeSet<Thumbprint>,
    bytes: usize,
    dropped: u64,
}

impl CrlOutcome {
    /// Returns true if the kept lists changed.
    pub fn is_newer(self) -> bool {
        matches!(self, CrlOutcome::Newer(_))
    }
}

/// The key that signs a list, and the list's distribution point.
type Slot = (KeyId, Vec<u8>);

#[derive(Debug)]
struct VerifiedCrl {
    der: Vec<u8>,
    name: CrlName,
    list: Arc<CertRevocationList<'static>>,
}

#[derive(Clone, Debug)]
struct CrlSigner {
    der: CertificateDer<'static>,
    key: KeyId,
    root: bool,
}

impl VerifiedCrls {
    /// No lists yet, and no issuer that may sign any.
    pub fn new(limits: CrlLimits) -> VerifiedCrls {
        VerifiedCrls { limits, ..VerifiedCrls::default() }
    }

    /// Sets the issuers whose lists count from now on. They are the roots, and the issuers among the known and the `offered`
    /// certificates (PEM). A root, or another of them, must have certified each as an issuer, and it must not have expired at
    /// `at`. One that begins later counts too, since a slow clock must not cost its lists; none of its leaves counts before
    /// it begins.
    ///
    /// Offered certificates need no trust: one that the roots did not certify has no effect, and neither has a text that is
    /// no PEM. Lists of a key that no longer counts are dropped. Returns true if there is a key that could not sign before.
    /// Its lists kept elsewhere then go to [`VerifiedCrls::recall`] before any list is offered.
    pub fn set_issuers(&mut self, roots: &Roots, offered: &str, at: u64) -> bool {
        let before: BTreeSet<KeyId> = self.issuers.iter().map(|one| one.key).collect();
        let known = self.issuers.iter().filter(|one| !one.root).map(|one| one.der.clone());
        let offered = pem::sections(offered, SectionKind::Certificate, roots.limits().max_pem_bytes);
        let offered = offered.unwrap_or_default().into_iter().take(self.limits.issuers);
        let mut pool: Vec<_> = known.chain(offered.map(CertificateDer::from)).collect();
        let mut signers: Vec<CrlSigner> = Vec::new();
        for der in roots.certificates() {
            signers.extend(signer(der, roots, at, true));
        }
        let most = signers.len() + self.limits.issuers;
        loop {
            let next = pool.iter().position(|der| signers.iter().any(|above| certified(der, above)));
            let Some(next) = next else { break };
            let der = pool.swap_remove(next);
            let same = signers.iter().any(|one| one.der == der);
            if !same && signers.len() < most {
                signers.extend(signer(&der, roots, at, false));
            }
        }
        self.issuers = signers;
        let keys: BTreeSet<KeyId> = self.issuers.iter().map(|one| one.key).collect();
        let gone: Vec<Slot> = self.lists.keys().filter(|(key, _)| !keys.contains(key)).cloned().collect();
        gone.iter().for_each(|slot| self.drop_list(slot));
        !keys.is_subset(&before)
    }

    /// Takes a list that one of the issuers signed, unless the edition that is kept is as new.
    ///
    /// # Errors
    /// [`CrlFault::TooLarge`], [`CrlFault::Malformed`]; [`CrlFault::Issuer`] if no permitted signer has its issuer's name;
    /// [`CrlFault::Signature`] if none of those signed it; [`CrlFault::Full`] past the limits, where expired lists take no
    /// room. The kept lists stay unchanged then.
    pub fn offer(&mut self, der: &[u8], at: u64) -> Result<CrlOutcome, CrlFault> {
        self.admit(der, at, false)
    }

    /// As [`VerifiedCrls::offer`], for a list that was kept before. It is kept even if it begins later, since it began once by
    /// this clock. It applies from its beginning, and no older edition replaces it before. So a clock that went back lets
    /// nobody in.
    ///
    /// # Errors
    /// As [`VerifiedCrls::offer`].
    pub fn recall(&mut self, der: &[u8], at: u64) -> Result<CrlOutcome, CrlFault> {
        self.admit(der, at, true)
    }

    fn admit(&mut self, der: &[u8], at: u64, before: bool) -> Result<CrlOutcome, CrlFault> {
        if der.len() > MAX_CRL_BYTES {
            return Err(CrlFault::TooLarge);
        }
        let print = Thumbprint::of(der);
        if self.known.contains(&print) {
            return Ok(CrlOutcome::Known);
        }
        let read = read_crl(der).ok_or(CrlFault::Malformed)?;
        let name = CrlName::of(&read).ok_or(CrlFault::Malformed)?;
        let key = self.signed_by(&name, read.tbs_cert_list.as_ref(), &read.signature_value.data)?;
        let list = OwnedCertRevocationList::from_der(der).map_err(|_| CrlFault::Malformed)?;
        if name.this_update > at && !before {
            return Ok(CrlOutcome::Early);
        }
        let slot = (key, name.point.clone());
        let name_of_place = slot_id(&slot);
        if self.lists.get(&slot).is_some_and(|kept| kept.name.number >= name.number) {
            return Ok(CrlOutcome::Known);
        }
        self.make_room(&slot, der.len(), at)?;
        if let Some(before) = self.lists.remove(&slot) {
            self.known.remove(&Thumbprint::of(&before.der));
            self.bytes -= before.der.len();
        }
        self.bytes += der.len();
        self.known.insert(print);
        let list = Arc::new(CertRevocationList::from(list));
        self.lists.insert(slot, VerifiedCrl { der: der.to_vec(), name, list });
        Ok(CrlOutcome::Newer(name_of_place))
    }

    /// The key of the issuer that signed it: it bears the name, may sign lists, and verifies the signature.
    fn signed_by(&self, name: &CrlName, message: &[u8], signature: &[u8]) -> Result<KeyId, CrlFault> {
        let mut fault = CrlFault::Issuer;
        for issuer in &self.issuers {
            let Some(stated) =
                IssuerCertificate::read(&issuer.der).filter(|stated| stated.is_named(&name.issuer))
            else {
                continue;
            };
            if stated.may_sign_lists() && stated.verify_signature(message, signature).is_some() {
                return Ok(issuer.key);
            }
            fault = CrlFault::Signature;
        }
        Err(fault)
    }

    /// Drops expired lists to make room, those that ended first first.
    fn make_room(&mut self, slot: &Slot, more: usize, at: u64) -> Result<(), CrlFault> {
        let old = self.lists.get(slot).map_or(0, |kept| kept.der.len());
        let new = usize::from(!self.lists.contains_key(slot));
        while self.bytes - old + more > self.limits.bytes || self.lists.len() + new > self.limits.lists {
            let others = self.lists.iter().filter(|(of, kept)| *of != slot && kept.name.next_update < at);
            let first = others.min_by_key(|(_, kept)| kept.name.next_update).map(|(of, _)| of.clone());
            self.drop_list(&first.ok_or(CrlFault::Full)?);
        }
        Ok(())
    }

    fn drop_list(&mut self, slot: &Slot) {
        if let Some(removed) = self.lists.remove(slot) {
            self.known.remove(&Thumbprint::of(&removed.der));
            self.bytes -= removed.der.len();
            self.dropped += 1;
        }
    }

    /// The number of lists dropped so far, with their issuer or for lack of room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The lists as verifiers take them, without reading them again.
    pub fn crls(&self) -> Crls {
        let held = |((key, _), kept): (&Slot, &VerifiedCrl)| CrlEntry {
            this_update: kept.name.this_update,
            next_update: kept.name.next_update,
            key: Some(*key),
            list: Arc::clone(&kept.list),
        };
        Crls(self.lists.iter().map(held).collect())
    }

    /// The certificates of issuers beside the roots, PEM.
    pub fn issuers(&self) -> String {
        let issuers = self.issuers.iter().filter(|one| !one.root);
        issuers.map(|one| pem::write("CERTIFICATE", &one.der)).collect()
    }

    /// The names in use, as in [`CrlOutcome::Newer`].
    pub fn slot_ids(&self) -> impl Iterator<Item = KeyId> {
        self.lists.keys().map(slot_id)
    }
}

fn slot_id((key, point): &Slot) -> KeyId {
    KeyId::of(&[key.as_bytes(), point.as_slice()].concat())
}

fn signer(der: &CertificateDer<'static>, roots: &Roots, at: u64, root: bool) -> Option<CrlSigner> {
    let facts = Facts::read(der, roots.limits()).ok()?;
    let issues = matches!(facts.role, Role::Issuer { may_sign: true, .. });
    (at <= facts.not_after && issues).then(|| CrlSigner {
        der: der.clone(),
        key: KeyId::of(&facts.spki),
        root,
    })
}

fn certified(der: &CertificateDer<'static>, above: &CrlSigner) -> bool {
    let (below, above) = (IssuerCertificate::read(der), IssuerCertificate::read(&above.der));
    below.zip(above).is_some_and(|(below, above)| above.verify_certificate(below.certificate()).is_some())
}
