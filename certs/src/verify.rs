//! The check of a chain: rustls-webpki, then the points that it leaves open.

use crate::chain::Root;
use crate::chain_fault::fault_of;
use crate::extensions::Role;
use crate::key::ALGORITHMS;
use crate::key_id::issuing_keys;
use crate::leaf;
use crate::read::{Facts, Presence};
use crate::{Chain, ChainFault, Crls, Family, KeyId, Roots, Thumbprint, Usage, VerifiedLeaf};
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use std::sync::Arc;
use std::time::Duration;
use webpki::{
    EndEntityCert, ExpirationPolicy, KeyUsage, RevocationCheckDepth, RevocationOptionsBuilder,
    UnknownStatusPolicy, VerifiedPath,
};

/// Checks that `chain` ends at one of `roots`, and that its leaf may be used for `usage`, at the time `at`. Times are seconds
/// since the Unix epoch; `notBefore` and `notAfter` are inclusive (RFC 5280 §4.1.2.5).
///
/// webpki builds the path and checks signatures, validity, roles, path length, name constraints and extended key usage. Every
/// issuing certificate of the contexts family must hold that usage too. Then this crate checks the rest:
/// - no issuer is revoked, and the root's own validity and path length hold
/// - issuers may sign certificates and serve one family only
/// - a leaf of the contexts family holds one usage and lives for 90 days at most
/// - the names are those of the usage
///
/// # Errors
/// The [`ChainFault`] of the first check that fails.
pub fn verify_chain(chain: &Chain, roots: &Roots, usage: Usage, at: u64) -> Result<VerifiedLeaf, ChainFault> {
    let limits = roots.limits();
    let (leaf_der, others) = chain.certificates().split_first().ok_or(ChainFault::Malformed)?;
    if chain.certificates().len() > limits.max_certificates {
        return Err(ChainFault::TooLong);
    }
    let facts = Facts::read(leaf_der, limits)?;
    for der in others {
        Facts::check_form(der, limits)?;
    }
    let end = EndEntityCert::try_from(leaf_der).map_err(|error| fault_of(&error))?;
    let looked_up = roots.crls.as_ref().map(|store| CrlLookup {
        crls: store.current(),
        named: facts.list,
        keys: issuing_keys(leaf_der, others.iter().chain(roots.certificates())),
    });
    let search = PathSearch { end: &end, others, crls: looked_up.as_ref(), usage, at };
    let path = search.path(roots)?;
    if looked_up.is_some_and(|of| of.crls.unsharded_list_holds(end.serial(), &of.keys)) {
        return Err(ChainFault::Revoked);
    }
    check_listed(&path, roots)?;
    let (mut issuers, mut keys) = (Vec::new(), Vec::new());
    let (mut not_before, mut not_after) = (facts.not_before, facts.not_after);
    for certificate in path.issuers {
        if roots.revoked.contains(&Thumbprint::of(&certificate)) {
            return Err(ChainFault::IssuerRevoked);
        }
        let issuer = Facts::read(&certificate, limits)?;
        check_issuer(&issuer, usage.family())?;
        not_before = not_before.max(issuer.not_before);
        not_after = not_after.min(issuer.not_after);
        keys.push(KeyId::of(&issuer.spki));
        issuers.push(issuer.marks);
    }
    if roots.revoked.contains(&path.root.thumbprint) {
        return Err(ChainFault::IssuerRevoked);
    }
    if path.root.path_length.is_some_and(|most| issuers.len() > most as usize) {
        return Err(ChainFault::PathLength);
    }
    let window = not_before.max(path.root.not_before)..=not_after.min(path.root.not_after);
    let marks = facts.marks.within(issuers.iter());
    let leaf = leaf::check(facts, chain.leaf(), usage, roots, window)?;
    Ok(leaf.marked(marks).vouched_by(keys.into_iter()))
}

/// Under a trust list, the certificate right below the root must be listed. So a root key alone cannot add one.
fn check_listed(path: &Path<'_>, roots: &Roots) -> Result<(), ChainFault> {
    let Some(listed) = &roots.only else { return Ok(()) };
    let below = path.issuers.last().map(|certificate| Thumbprint::of(certificate));
    match below.is_some_and(|below| listed.contains(&below)) {
        true => Ok(()),
        false => Err(ChainFault::IssuerNotListed),
    }
}

/// The lists and keys for the lookup of a leaf.
struct CrlLookup {
    crls: Arc<Crls>,
    /// The presence of a revocation list named in the leaf.
    named: Presence,
    /// The keys that its issuer may have.
    keys: Vec<KeyId>,
}

/// A path that webpki found: the issuing certificates and the root.
struct Path<'a> {
    issuers: Vec<CertificateDer<'static>>,
    root: &'a Root,
}

/// A search for a path from a leaf to a root.
struct PathSearch<'a> {
    end: &'a EndEntityCert<'a>,
    others: &'a [CertificateDer<'static>],
    crls: Option<&'a CrlLookup>,
    usage: Usage,
    at: u64,
}

impl PathSearch<'_> {
    fn path<'r>(&self, roots: &'r Roots) -> Result<Path<'r>, ChainFault> {
        // webpki ignores the validity of a root, so only those valid now are offered.
        let (valid, invalid): (Vec<&Root>, Vec<&Root>) =
            roots.roots.iter().partition(|root| (root.not_before..=root.not_after).contains(&self.at));
        let path = self.path_to(&valid);
        if invalid.is_empty() || !matches!(path, Err(ChainFault::UnknownIssuer)) {
            return path;
        }
        // If an excluded root would fit, report its fault.
        match self.path_to(&invalid) {
            Ok(path) if self.at < path.root.not_before => Err(ChainFault::NotYetValid),
            Ok(_) => Err(ChainFault::Expired),
            Err(fault) => Err(fault),
        }
    }

    fn path_to<'r>(&self, roots: &[&'r Root]) -> Result<Path<'r>, ChainFault> {
        let anchors: Vec<TrustAnchor<'_>> = roots.iter().map(|root| borrowed(&root.anchor)).collect();
        let time = UnixTime::since_unix_epoch(Duration::from_secs(self.at));
        let required = match self.usage.family() {
            Family::Contexts => KeyUsage::required(self.usage.oid_der()),
            // Issuers of other people's TLS identities often name no usage; the leaf must, see `leaf::check`.
            Family::Tls => KeyUsage::required_if_present(self.usage.oid_der()),
        };
        let lists = self.crls.map(|of| of.crls.lists(self.at, of.named, &of.keys)).unwrap_or_default();
        let revocation = match (self.crls, RevocationOptionsBuilder::new(&lists)) {
            (None, _) => None,
            // it would have to be looked up in lists, and there is none
            (Some(_), Err(_)) => return Err(ChainFault::RevocationUnknown),
            (Some(_), Ok(builder)) => Some(
                builder
                    .with_depth(RevocationCheckDepth::EndEntity)
                    .with_status_policy(UnknownStatusPolicy::Deny)
                    .with_expiration_policy(ExpirationPolicy::Enforce)
                    .build(),
            ),
        };
        let path =
            self.end.verify_for_usage(ALGORITHMS, &anchors, self.others, time, required, revocation, None);
        let path: VerifiedPath<'_> = path.map_err(|error| fault_of(&error))?;
        let issuers = path.intermediate_certificates().map(|issuer| issuer.der().into_owned()).collect();
        // Of two roots with one name and key, the one that lives longer counts.
        let same = roots.iter().filter(|root| &root.anchor == path.anchor());
        let root = same.max_by_key(|root| root.not_after).ok_or(ChainFault::UnknownIssuer)?;
        Ok(Path { issuers, root })
    }
}

fn borrowed<'a>(anchor: &'a TrustAnchor<'static>) -> TrustAnchor<'a> {
    TrustAnchor {
        subject: anchor.subject.as_ref().into(),
        subject_public_key_info: anchor.subject_public_key_info.as_ref().into(),
        name_constraints: anchor.name_constraints.as_ref().map(|der| der.as_ref().into()),
    }
}

/// Checks the key usage and family of an issuer, which webpki does not read.
fn check_issuer(issuer: &Facts, family: Family) -> Result<(), ChainFault> {
    let Role::Issuer { may_sign: true, .. } = issuer.role else { return Err(ChainFault::WrongRole) };
    let mixed = match family {
        Family::Contexts => issuer.purposes.iter().any(|purpose| purpose.is_of(Family::Contexts).is_none()),
        Family::Tls => issuer.purposes.iter().any(|purpose| purpose.is_of(Family::Contexts).is_some()),
    };
    if mixed { Err(ChainFault::FamiliesMixed) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
