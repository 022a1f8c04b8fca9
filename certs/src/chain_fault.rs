//! Reasons that a chain is refused.

use std::fmt;

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
    /// The issuing certificate below the root is not in the verifier's list ([`Roots::with_only`](crate::Roots::with_only)).
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
            ChainFault::NotPermittedByNameConstraints => "a name is outside the delegation of an issuer",
            ChainFault::BadNameConstraints => "a leaf has name constraints, or they hold no subtree",
            ChainFault::IssuerRevoked => "an issuing certificate or root is revoked",
            ChainFault::IssuerNotListed => "the issuing certificate is not in the trust list",
            ChainFault::Revoked => "the certificate is revoked by its issuer",
            ChainFault::RevocationUnknown => "no revocation list covers the certificate",
            ChainFault::CrlExpired => "the revocation list of the issuer has expired",
            ChainFault::CrlInvalid => "the revocation list comes from another issuer",
            ChainFault::PathLength => "the chain is longer than an issuer allows",
            ChainFault::WrongRole => "a certificate is used in another role",
            ChainFault::BadSignature => "a signature of the chain is not valid",
            ChainFault::UnsupportedAlgorithm => "a key or signature algorithm of the chain is not accepted",
            ChainFault::UnknownCriticalExtension => "a critical extension is not understood",
            ChainFault::Malformed => "a certificate of the chain is malformed",
            ChainFault::TooLong => "the chain is larger than the limits",
            ChainFault::LifetimeTooLong => "the certificate is valid for more than 90 days",
            ChainFault::Names => "the names of the certificate do not fit its usage",
            ChainFault::NamesDisagree => "the dns and uri names of the certificate disagree",
            ChainFault::Wildcard => "the certificate has a wildcard name",
        })
    }
}

impl std::error::Error for ChainFault {}

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
