//! The extensions that a certificate may carry, the certificates they may stand in, and those that may be critical (RFC 5280
//! §4.2).

use crate::ChainFault;
use x509_parser::asn1_rs::{Any, FromDer, Sequence};
use x509_parser::certificate::X509Certificate;
use x509_parser::der_parser::oid::Oid;
use x509_parser::oid_registry::{
    OID_X509_EXT_BASIC_CONSTRAINTS, OID_X509_EXT_CRL_DISTRIBUTION_POINTS, OID_X509_EXT_EXTENDED_KEY_USAGE,
    OID_X509_EXT_INHIBIT_ANY_POLICY, OID_X509_EXT_KEY_USAGE, OID_X509_EXT_NAME_CONSTRAINTS,
    OID_X509_EXT_POLICY_CONSTRAINTS, OID_X509_EXT_SUBJECT_ALT_NAME,
};

/// The role that the certificate states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A CA; `may_sign` by keyCertSign, which must be written (RFC 5280 §4.2.1.3).
    Issuer { path_length: Option<u32>, may_sign: bool },
    /// A leaf; `signs` by digitalSignature.
    Leaf { signs: SigningUse },
}

/// The permission to sign in the key usage of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SigningUse {
    /// digitalSignature.
    Yes,
    /// A key usage without digitalSignature.
    No,
    /// No key usage at all.
    Unsaid,
    /// keyCertSign, which a leaf must not have.
    Certificates,
}

/// The rule for one extension.
#[derive(Clone, Copy)]
enum Rule {
    /// Processed: in any certificate, critical or not.
    Processed,
    /// Processed, and meaningful in an issuer or root alone.
    OfIssuers,
    /// Any other: ignored, and so never critical. This covers the key identifiers, which RFC 5280 §4.2.1.1 and §4.2.1.2 keep
    /// from being critical, and extensions that nobody knows.
    Ignored,
    /// A limit on policies that is not processed: refused, because marks would exceed it. It must be critical (RFC 5280
    /// §4.2.1.11, §4.2.1.14).
    Unprocessed,
}

/// Every extension whose rule is not [`Rule::Ignored`].
const RULES: [(Oid<'static>, Rule); 8] = [
    (OID_X509_EXT_KEY_USAGE, Rule::Processed),
    (OID_X509_EXT_SUBJECT_ALT_NAME, Rule::Processed),
    (OID_X509_EXT_BASIC_CONSTRAINTS, Rule::Processed),
    (OID_X509_EXT_CRL_DISTRIBUTION_POINTS, Rule::Processed),
    (OID_X509_EXT_EXTENDED_KEY_USAGE, Rule::Processed),
    (OID_X509_EXT_NAME_CONSTRAINTS, Rule::OfIssuers),
    (OID_X509_EXT_POLICY_CONSTRAINTS, Rule::Unprocessed),
    (OID_X509_EXT_INHIBIT_ANY_POLICY, Rule::Unprocessed),
];

/// Checks all extensions of a certificate of this role: each at most once, critical only if processed, and only where
/// allowed.
///
/// # Errors
/// [`ChainFault::UnknownCriticalExtension`]; [`ChainFault::BadNameConstraints`] in a leaf or without a subtree;
/// [`ChainFault::Malformed`] for a repeated extension and for a limit on policies that is not critical.
pub(crate) fn check(certificate: &X509Certificate<'_>, role: Role) -> Result<(), ChainFault> {
    certificate.extensions_map().map_err(|_| ChainFault::Malformed)?;
    for extension in certificate.extensions() {
        let rule =
            RULES.iter().find(|(oid, _)| *oid == extension.oid).map_or(Rule::Ignored, |(_, rule)| *rule);
        match (rule, role) {
            (Rule::Unprocessed, _) if !extension.critical => return Err(ChainFault::Malformed),
            (Rule::Unprocessed | Rule::Ignored, _) if extension.critical => {
                return Err(ChainFault::UnknownCriticalExtension);
            }
            (Rule::OfIssuers, Role::Leaf { .. }) => return Err(ChainFault::BadNameConstraints),
            (Rule::OfIssuers, Role::Issuer { .. }) => {
                subtrees(extension.value).ok_or(ChainFault::BadNameConstraints)?
            }
            (Rule::Processed | Rule::Ignored | Rule::Unprocessed, _) => {}
        }
    }
    Ok(())
}

/// Verifies that name constraints hold at least one list of subtrees, and that no list is empty (RFC 5280 §4.2.1.10).
fn subtrees(value: &[u8]) -> Option<()> {
    let (rest, constraints) = Sequence::from_der(value).ok()?;
    let mut lists: &[u8] = &constraints.content;
    if !rest.is_empty() || lists.is_empty() {
        return None;
    }
    while !lists.is_empty() {
        let (rest, list) = Any::from_der(lists).ok()?;
        if list.data.is_empty() {
            return None;
        }
        lists = rest;
    }
    Some(())
}
