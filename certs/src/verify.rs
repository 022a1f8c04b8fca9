//! The check of a chain: rustls-webpki, then the points that it leaves open.

use crate::chain::Root;
use crate::key_id::issuing_keys;
use crate::leaf;
use crate::read::{Facts, Presence, Role};
use crate::{Chain, Crls, Family, KeyId, Roots, Thumbprint, Usage, VerifiedLeaf};
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use webpki::{
    EndEntityCert, ExpirationPolicy, KeyUsage, RevocationCheckDepth, RevocationOptionsBuilder,
    UnknownStatusPolicy, VerifiedPath,
};

/// Signatures that a chain may carry. No RSA: none of ours uses it, and fewer algorithms leave fewer attacks.
pub(crate) const ALGORITHMS: &[&dyn SignatureVerificationAlgorithm] = &[
    webpki::ring::ECDSA_P256_SHA256,
    webpki::ring::ECDSA_P256_SHA384,
    webpki::ring::ECDSA_P384_SHA256,
    webpki::ring::ECDSA_P384_SHA384,
    webpki::ring::ED25519,
];

/// The reason that a chain was refused. Each is one line of `docs/spec/certificates.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChainFault {
    /// A certificate of the chain, or its root, was no longer valid at the time asked for.
    Expired,
    /// A certificate of the chain, or its root, was not yet valid at the time asked for.
    NotYetValid,
    /// The chain does not end at a configured root.
    UnknownIssuer,
    /// The leaf or an issuer lacks the usage asked for.
    WrongUsage,
    /// The leaf holds another usage beside the one asked for.
    UsageNotAlone,
    /// An issuing certificate serves both the contexts and the TLS family.
    FamiliesMixed,
    /// A name lies outside the delegation of an issuer.
    NotPermittedByNameConstraints,
    /// Name constraints in a leaf, or without a subtree.
    BadNameConstraints,
    /// An issuing certificate or root that the verifier knows as revoked.
    IssuerRevoked,
    /// The issuing certificate below the root is not in the verifier's list ([`Roots::with_only`]).
    IssuerNotListed,
    /// The leaf is on its issuer's revocation list.
    Revoked,
    /// No available revocation list covers the leaf.
    RevocationUnknown,
    /// The revocation list that covers the leaf has expired.
    CrlExpired,
    /// The revocation list that covers the leaf is not its issuer's.
    CrlInvalid,
    /// More issuing certificates than an issuer allows below it.
    PathLength,
    /// A CA certificate in the place of a leaf, a leaf in the place of a CA, or an issuer that may not sign certificates.
    WrongRole,
    /// A signature does not fit.
    BadSignature,
    /// A key or signature algorithm that is not accepted.
    UnsupportedAlgorithm,
    /// A critical extension that is not understood.
    UnknownCriticalExtension,
    /// Not a DER X.509 v3 certificate of our profile.
    Malformed,
    /// More certificates, bytes or names than the limits allow.
    TooLong,
    /// A leaf of the contexts family that lives for more than 90 days.
    LifetimeTooLong,
    /// The names of the leaf are not those of its usage: none, of another kind, or outside `contexts.invalid`.
    Names,
    /// The DNS form and the URI form of the lines differ.
    NamesDisagree,
    /// A wildcard name.
    Wildcard,
}

impl ChainFault {
    /// A short stable name for records and specifications, such as `expired`.
    pub fn as_str(self) -> &'static str {
        match self {
            ChainFault::Expired => "expired",
            ChainFault::NotYetValid => "not_yet_valid",
            ChainFault::UnknownIssuer => "unknown_issuer",
            ChainFault::WrongUsage => "wrong_usage",
            ChainFault::UsageNotAlone => "usage_not_alone",
            ChainFault::FamiliesMixed => "families_mixed",
            ChainFault::NotPermittedByNameConstraints => "name_constraints",
            ChainFault::BadNameConstraints => "bad_name_constraints",
            ChainFault::IssuerRevoked => "issuer_revoked",
            ChainFault::IssuerNotListed => "issuer_not_listed",
            ChainFault::Revoked => "revoked",
            ChainFault::RevocationUnknown => "revocation_unknown",
            ChainFault::CrlExpired => "crl_expired",
            ChainFault::CrlInvalid => "crl_invalid",
            ChainFault::PathLength => "path_length",
            ChainFault::WrongRole => "wrong_role",
            ChainFault::BadSignature => "bad_signature",
            ChainFault::UnsupportedAlgorithm => "unsupported_algorithm",
            ChainFault::UnknownCriticalExtension => "unknown_critical_extension",
            ChainFault::Malformed => "malformed",
            ChainFault::TooLong => "too_long",
            ChainFault::LifetimeTooLong => "lifetime_too_long",
            ChainFault::Names => "names",
            ChainFault::NamesDisagree => "names_disagree",
            ChainFault::Wildcard => "wildcard",
        }
    }
}

impl fmt::Display for ChainFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChainFault::Expired => "a certificate of the chain has expired",
            ChainFault::NotYetValid => "a certificate of the chain is not valid yet",
            ChainFault::UnknownIssuer => "the chain does not end at a configured root",
            ChainFault::WrongUsage => "the certificate is not for this usage",
            ChainFault::UsageNotAlone => "the certificate holds more than its one usage",
            ChainFault::FamiliesMixed => "an issuing certificate serves both contexts and connections",
            ChainFault::NotPermittedByNameConstraints => "a name lies outside what an issuer was delegated",
            ChainFault::BadNameConstraints => "a leaf has name constraints, or they hold no subtree",
            ChainFault::IssuerRevoked => "an issuing certificate or root is revoked",
            ChainFault::IssuerNotListed => "the issuing certificate is not in the trust list",
            ChainFault::Revoked => "the certificate is revoked by its issuer",
            ChainFault::RevocationUnknown => "no revocation list speaks for the certificate",
            ChainFault::CrlExpired => "the revocation list of the issuer has expired",
            ChainFault::CrlInvalid => "the revocation list is not the issuer's",
            ChainFault::PathLength => "the chain is longer than an issuer allows",
            ChainFault::WrongRole => "a certificate stands in the place of another role",
            ChainFault::BadSignature => "a signature of the chain does not fit",
            ChainFault::UnsupportedAlgorithm => "a key or signature algorithm of the chain is not accepted",
            ChainFault::UnknownCriticalExtension => "a critical extension is not understood",
            ChainFault::Malformed => "a certificate of the chain is malformed",
            ChainFault::TooLong => "the chain is larger than the limits",
            ChainFault::LifetimeTooLong => "the certificate lives for more than 90 days",
            ChainFault::Names => "the names of the certificate are not those of its usage",
            ChainFault::NamesDisagree => "the dns and uri names of the certificate disagree",
            ChainFault::Wildcard => "the certificate has a wildcard name",
        })
    }
}

impl std::error::Error for ChainFault {}

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
    let path = build_path(&end, others, roots, (usage, looked_up.as_ref()), at)?;
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
    let window = (not_before.max(path.root.not_before), not_after.min(path.root.not_after));
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

fn build_path<'a>(
    end: &EndEntityCert<'_>,
    others: &[CertificateDer<'static>],
    roots: &'a Roots,
    (usage, crls): (Usage, Option<&CrlLookup>),
    at: u64,
) -> Result<Path<'a>, ChainFault> {
    // webpki ignores the validity of a root, so only those valid now are offered.
    let (valid, invalid): (Vec<&Root>, Vec<&Root>) =
        roots.roots.iter().partition(|root| (root.not_before..=root.not_after).contains(&at));
    let path = try_roots(end, others, &valid, crls, usage, at);
    if invalid.is_empty() || !matches!(path, Err(ChainFault::UnknownIssuer)) {
        return path;
    }
    // If an excluded root would fit, report its fault.
    match try_roots(end, others, &invalid, crls, usage, at) {
        Ok(path) if at < path.root.not_before => Err(ChainFault::NotYetValid),
        Ok(_) => Err(ChainFault::Expired),
        Err(fault) => Err(fault),
    }
}

fn try_roots<'a>(
    end: &EndEntityCert<'_>,
    others: &[CertificateDer<'static>],
    roots: &[&'a Root],
    crls: Option<&CrlLookup>,
    usage: Usage,
    at: u64,
) -> Result<Path<'a>, ChainFault> {
    let anchors: Vec<TrustAnchor<'_>> = roots.iter().map(|root| borrowed(&root.anchor)).collect();
    let time = UnixTime::since_unix_epoch(Duration::from_secs(at));
    let required = match usage.family() {
        Family::Contexts => KeyUsage::required(usage.oid_der()),
        // Issuers of other people's TLS identities often name no usage; the leaf must, see `leaf::check`.
        Family::Tls => KeyUsage::required_if_present(usage.oid_der()),
    };
    let lists = crls.map(|of| of.crls.lists(at, of.named, &of.keys)).unwrap_or_default();
    let revocation = match (crls, RevocationOptionsBuilder::new(&lists)) {
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
    let path = end.verify_for_usage(ALGORITHMS, &anchors, others, time, required, revocation, None);
    let path: VerifiedPath<'_> = path.map_err(|error| fault_of(&error))?;
    let issuers = path.intermediate_certificates().map(|issuer| issuer.der().into_owned()).collect();
    // Of two roots with one name and key, the one that lives longer counts.
    let same = roots.iter().filter(|root| &root.anchor == path.anchor());
    let root = same.max_by_key(|root| root.not_after).ok_or(ChainFault::UnknownIssuer)?;
    Ok(Path { issuers, root })
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

/// webpki's errors as ours. `webpki::Error` may grow; a new error counts as malformed.
pub(crate) fn fault_of(error: &webpki::Error) -> ChainFault {
    use webpki::Error;
    match error {
        Error::CertExpired { .. } => ChainFault::Expired,
        Error::CertNotValidYet { .. } => ChainFault::NotYetValid,
        Error::UnknownIssuer => ChainFault::UnknownIssuer,
        Error::RequiredEkuNotFoundContext(_) | Error::EmptyEkuExtension => ChainFault::WrongUsage,
        Error::NameConstraintViolation => ChainFault::NotPermittedByNameConstraints,
        Error::CertRevoked => ChainFault::Revoked,
        Error::UnknownRevocationStatus => ChainFault::RevocationUnknown,
        Error::CrlExpired { .. } => ChainFault::CrlExpired,
        Error::InvalidCrlSignatureForPublicKey | Error::IssuerNotCrlSigner => ChainFault::CrlInvalid,
        Error::PathLenConstraintViolated => ChainFault::PathLength,
        Error::CaUsedAsEndEntity | Error::EndEntityUsedAsCa => ChainFault::WrongRole,
        Error::InvalidSignatureForPublicKey => ChainFault::BadSignature,
        Error::UnsupportedSignatureAlgorithmContext(_)
        | Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => ChainFault::UnsupportedAlgorithm,
        Error::UnsupportedCriticalExtension => ChainFault::UnknownCriticalExtension,
        Error::MaximumNameConstraintComparisonsExceeded
        | Error::MaximumPathBuildCallsExceeded
        | Error::MaximumPathDepthExceeded
        | Error::MaximumSignatureChecksExceeded => ChainFault::TooLong,
        _ => ChainFault::Malformed,
    }
}

#[cfg(test)]
mod tests;
