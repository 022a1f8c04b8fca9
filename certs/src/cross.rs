//! Cross-certificates (RFC 5280 §3.2, F0-50): a root of ours certifies the issuing key of another authority, for some lines
//! and a limited time. Stock verifiers then hold its context signers to these lines, whatever the other authority signs.

use crate::extensions::Role;
use crate::read::{Facts, Purpose};
use crate::{
    Chain, ChainFault, ChainLimits, IssueFault, Issuer, PublicKey, RootKey, Roots, SignatureAlgorithm,
    Thumbprint, Usage, VerifiedLeaf, dns_of_line, verify_chain,
};
use rcgen::string::{Ia5String, PrintableString};
use rcgen::{BasicConstraints, DistinguishedName, DnType, DnValue, GeneralSubtree, IsCa, KeyIdMethod};
use rcgen::{KeyUsagePurpose, NameConstraints};
use ring::rand::SecureRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1, ED25519, UnparsedPublicKey, VerificationAlgorithm};
use rustls_pki_types::CertificateDer;
use semgate_contexts::Line;
use std::collections::BTreeSet;
use std::fmt;
use x509_parser::asn1_rs::Tag;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer;

#[cfg(test)]
mod tests;

/// The reason that a certificate is no cross-certificate for the given lines and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CrossFault {
    /// It cannot be read, or is larger than the limit.
    Malformed,
    /// It is no CA that may sign certificates, or it permits CAs below it (its path length is not 0).
    Role,
    /// Its one extended key usage is not that of contexts.
    Usage,
    /// Its permitted names are not exactly those of the lines, or it constrains names further.
    Lines,
    /// It ends before the required time.
    Ends,
    /// No root key signed it.
    Signature,
}

impl CrossFault {
    /// A short stable name, such as `cross_lines`.
    pub fn as_str(self) -> &'static str {
        match self {
            CrossFault::Malformed => "cross_malformed",
            CrossFault::Role => "cross_role",
            CrossFault::Usage => "cross_usage",
            CrossFault::Lines => "cross_lines",
            CrossFault::Ends => "cross_ends",
            CrossFault::Signature => "cross_signature",
        }
    }
}

impl fmt::Display for CrossFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CrossFault::Malformed => "a cross-certificate cannot be read",
            CrossFault::Role => "a cross-certificate may issue more than leaves",
            CrossFault::Usage => "a cross-certificate is for more than signers of contexts",
            CrossFault::Lines => "a cross-certificate does not permit exactly the lines",
            CrossFault::Ends => "a cross-certificate ends before the recognition",
            CrossFault::Signature => "a cross-certificate is signed by no root key",
        })
    }
}

impl std::error::Error for CrossFault {}

/// A checked cross-certificate: a root key signed it, it issues leaves for contexts alone, and it permits exactly the lines
/// it was checked for. Only [`CrossCertificate::check`] makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossCertificate {
    der: CertificateDer<'static>,
    thumbprint: Thumbprint,
    not_before: u64,
    not_after: u64,
}

impl CrossCertificate {
    /// Checks one: signed by one of `keys`, for exactly these lines (and those below them), valid until `until` at least.
    ///
    /// # Errors
    /// The [`CrossFault`] of the first of these that does not hold.
    pub fn check(
        der: &CertificateDer<'static>,
        keys: &[RootKey],
        lines: &[Line],
        until: u64,
        limits: &ChainLimits,
    ) -> Result<CrossCertificate, CrossFault> {
        let facts = Facts::read(der, limits).map_err(|_| CrossFault::Malformed)?;
        let Role::Issuer { path_length: Some(0), may_sign: true } = facts.role else {
            return Err(CrossFault::Role);
        };
        if facts.purposes != [Purpose::Ours(Usage::Context)] {
            return Err(CrossFault::Usage);
        }
        let (_, certificate) = X509Certificate::from_der(der).map_err(|_| CrossFault::Malformed)?;
        let wanted: BTreeSet<String> = lines.iter().map(dns_of_line).collect();
        if permitted(&certificate)? != wanted || wanted.is_empty() {
            return Err(CrossFault::Lines);
        }
        if facts.not_after < until {
            return Err(CrossFault::Ends);
        }
        keys.iter().find_map(|key| signed_by(&certificate, key)).ok_or(CrossFault::Signature)?;
        Ok(CrossCertificate {
            der: der.clone(),
            thumbprint: Thumbprint::of(der),
            not_before: facts.not_before,
            not_after: facts.not_after,
        })
    }

    /// Its `x5t#S256`.
    pub fn thumbprint(&self) -> Thumbprint {
        self.thumbprint
    }

    /// Verifies that a context signer of the other authority counts below `roots` by this certificate. It judges the chain of
    /// its leaf and this certificate alone, at the first second at which both are valid. The time at which the signer may
    /// sign is set by its own authority's rules.
    ///
    /// # Errors
    /// As [`verify_chain`]: a name outside the lines is [`ChainFault::NotPermittedByNameConstraints`]; a leaf by another
    /// issuer, [`ChainFault::UnknownIssuer`] or [`ChainFault::BadSignature`]; one that ended before this began,
    /// [`ChainFault::Expired`].
    pub fn leaf(&self, chain: &Chain, roots: &Roots) -> Result<VerifiedLeaf, ChainFault> {
        let leaf = chain.certificates().first().ok_or(ChainFault::Malformed)?;
        let facts = Facts::read(leaf, roots.limits())?;
        let at = facts.not_before.max(self.not_before);
        if at > facts.not_after.min(self.not_after) {
            return Err(ChainFault::Expired);
        }
        let through = Chain::from_der(vec![leaf.clone(), self.der.clone()], roots.limits());
        let through = through.map_err(|_| ChainFault::TooLong)?;
        // revocation lists of ours do not cover the leaves of others
        let roots = Roots { crls: None, ..roots.clone().with_only([self.thumbprint]) };
        verify_chain(&through, &roots, Usage::Context, at)
    }
}

/// The DNS trees that it permits. Refuses constraints of any other kind, which express no lines.
fn permitted(certificate: &X509Certificate<'_>) -> Result<BTreeSet<String>, CrossFault> {
    let constraints = certificate.name_constraints().map_err(|_| CrossFault::Malformed)?;
    let constraints = constraints.filter(|one| one.critical).ok_or(CrossFault::Lines)?.value;
    if constraints.excluded_subtrees.as_ref().is_some_and(|all| !all.is_empty()) {
        return Err(CrossFault::Lines);
    }
    let trees = constraints.permitted_subtrees.iter().flatten().map(|tree| match &tree.base {
        GeneralName::DNSName(dns) => Ok((*dns).to_owned()),
        _ => Err(CrossFault::Lines),
    });
    trees.collect()
}

/// Verifies that this root key signed it, and that it names this root as its issuer.
fn signed_by(certificate: &X509Certificate<'_>, root: &RootKey) -> Option<()> {
    let (_, above) = X509Certificate::from_der(root.der()).ok()?;
    if above.subject().as_raw() != certificate.issuer().as_raw() {
        return None;
    }
    let algorithm: &'static dyn VerificationAlgorithm = match root.key().algorithm() {
        SignatureAlgorithm::Es256 => &ECDSA_P256_SHA256_ASN1,
        SignatureAlgorithm::Ed25519 => &ED25519,
    };
    let key = UnparsedPublicKey::new(algorithm, root.key().raw());
    key.verify(certificate.tbs_certificate.as_ref(), certificate.signature_value.data.as_ref()).ok()
}

impl Issuer {
    /// Certifies the issuing key of another authority for these lines and those below them, until `not_after`. The
    /// certificate is for context signers alone, with path length 0, so that no CA can stand below it. It has the other
    /// certificate's subject and key. It begins where that one begins (or this root, if later), so that earlier signatures
    /// count too.
    ///
    /// # Errors
    /// [`IssueFault::NotAnIssuer`] if this is no root, or the other no issuer of contexts with a key of P-256 or Ed25519;
    /// [`IssueFault::NamesMissing`] without a line; [`IssueFault::RepeatedLine`]; [`IssueFault::LifetimeTooLong`] past the
    /// end of either; [`IssueFault::Encoding`] for a subject that cannot be encoded identically.
    pub fn cross(
        &self,
        other: &CertificateDer<'static>,
        lines: &[Line],
        not_after: u64,
        random: &dyn SecureRandom,
    ) -> Result<CertificateDer<'static>, IssueFault> {
        let facts = Facts::read(other, &ChainLimits::default()).map_err(|_| IssueFault::NotAnIssuer)?;
        let issues = facts.purposes.contains(&Purpose::Ours(Usage::Context));
        let Role::Issuer { may_sign: true, .. } = facts.role else { return Err(IssueFault::NotAnIssuer) };
        let subject = PublicKey::from_spki(&facts.spki).map_err(|_| IssueFault::NotAnIssuer)?;
        if !issues || matches!(self.facts.role, Role::Issuer { path_length: Some(0), .. }) {
            return Err(IssueFault::NotAnIssuer);
        }
        let trees: BTreeSet<String> = lines.iter().map(dns_of_line).collect();
        match (trees.len(), lines.len()) {
            (0, _) => return Err(IssueFault::NamesMissing),
            (once, all) if once != all => return Err(IssueFault::RepeatedLine),
            _ => {}
        }
        if not_after > facts.not_after {
            return Err(IssueFault::LifetimeTooLong);
        }
        let not_before = facts.not_before.max(self.facts.not_before);
        let lifetime = not_after.checked_sub(not_before).ok_or(IssueFault::Times)?;
        self.check_times(not_before, lifetime)?;
        let mut params = crate::issue::ca_params(not_before, lifetime, random)?;
        let (name, key_id) = subject_of(other).ok_or(IssueFault::Encoding)?;
        params.distinguished_name = name;
        if let Some(id) = key_id {
            params.key_identifier_method = KeyIdMethod::PreSpecified(id);
        }
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::Other(Usage::Context.oid_parts())];
        let permitted_subtrees = trees.into_iter().map(GeneralSubtree::DnsName).collect();
        params.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() });
        let made = self.sign(&params, &subject, random)?;
        // leaves find their issuer by the bytes of its name
        if raw_subject(&made) == raw_subject(other) { Ok(made) } else { Err(IssueFault::Encoding) }
    }
}

fn raw_subject(der: &[u8]) -> Option<Vec<u8>> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Some(certificate.subject().as_raw().to_vec())
}

/// Subject and key identifier of a certificate, to be encoded again.
fn subject_of(der: &[u8]) -> Option<(DistinguishedName, Option<Vec<u8>>)> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let mut name = DistinguishedName::new();
    for attribute in certificate.subject().iter_attributes() {
        let oid: Vec<u64> = attribute.attr_type().iter()?.collect();
        let text = attribute.as_str().ok()?;
        let value = match attribute.attr_value().tag() {
            Tag::Utf8String => DnValue::Utf8String(text.to_owned()),
            Tag::PrintableString => DnValue::PrintableString(PrintableString::try_from(text).ok()?),
            Tag::Ia5String => DnValue::Ia5String(Ia5String::try_from(text).ok()?),
            _ => return None,
        };
        name.push(DnType::from_oid(&oid), value);
    }
    let id = certificate.extensions().iter().find_map(|one| match one.parsed_extension() {
        ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
        _ => None,
    });
    Some((name, id))
}
