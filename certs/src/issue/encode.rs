//! Profiles into DER, by rcgen.

use super::{
    Family, IssueFault, IssuingProfile, LeafNames, LeafProfile, LineScope, MAX_CA_LIFETIME,
    MAX_LEAF_LIFETIME, RootProfile,
};
use crate::extensions::Role;
use crate::key::signature_der;
use crate::names::{SubtreeRelation, line_of_dns, relation_to_subtree};
use crate::read::{Facts, Purpose};
use crate::{
    CONTEXTS_TREE, Chain, ChainLimits, KeyFault, NameFault, PublicKey, SignatureAlgorithm, SigningKey, Usage,
    dns_of_line, uri_of_line,
};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, KeyUsagePurpose, NameConstraints, SanType, SerialNumber,
};
use ring::rand::SecureRandom;
use rustls_pki_types::{CertificateDer, DnsName};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use time::OffsetDateTime;

/// A CA certificate with its key: a root or an issuing certificate.
#[derive(Debug)]
pub struct Issuer {
    chain: Chain,
    key: Arc<dyn SigningKey>,
    pub(crate) facts: Facts,
}

impl Issuer {
    /// A new self-signed root.
    ///
    /// # Errors
    /// [`IssueFault::Times`], [`IssueFault::LifetimeTooLong`], [`IssueFault::Randomness`], [`IssueFault::Encoding`].
    pub fn root(
        profile: &RootProfile,
        key: impl Into<Arc<dyn SigningKey>>,
        random: &dyn SecureRandom,
    ) -> Result<Issuer, IssueFault> {
        let key = key.into();
        let mut params =
            params(&profile.name, profile.not_before, profile.lifetime, MAX_CA_LIFETIME, random)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let signer = Signer::new(key.as_ref(), random);
        let certificate = params.self_signed(&signer).map_err(|_| signer.fault())?;
        Issuer::from_parts(chain_of(vec![certificate.into()])?, key)
    }

    /// A new issuing certificate below this root.
    ///
    /// # Errors
    /// [`IssueFault::NotAnIssuer`] if this is not a root; [`IssueFault::NamesMissing`] for a delegation of no lines;
    /// [`IssueFault::LifetimeTooLong`] if it would outlive the root; else as [`Issuer::root`].
    pub fn issuing(
        &self,
        profile: &IssuingProfile,
        key: impl Into<Arc<dyn SigningKey>>,
        random: &dyn SecureRandom,
    ) -> Result<Issuer, IssueFault> {
        if matches!(self.facts.role, Role::Issuer { path_length: Some(0), .. }) {
            return Err(IssueFault::NotAnIssuer);
        }
        self.check_times(profile.not_before, profile.lifetime)?;
        let key = key.into();
        let mut params =
            params(&profile.name, profile.not_before, profile.lifetime, MAX_CA_LIFETIME, random)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.extended_key_usages =
            Usage::ALL.into_iter().filter(|usage| usage.family() == profile.family).map(purpose).collect();
        params.name_constraints = Some(constraints(profile)?);
        let certificate = self.sign(&params, key.public(), random)?;
        let above = self.chain.certificates().iter().filter(|der| !is_self_issued(der));
        let chain = std::iter::once(certificate).chain(above.cloned()).collect();
        Issuer::from_parts(chain_of(chain)?, key)
    }

    /// A new leaf over `subject`. Returns the leaf, then this issuer's chain, without the root.
    ///
    /// # Errors
    /// [`IssueFault::NotDelegated`] for a usage or line that this issuer was not delegated; the other faults name the fault
    /// of the profile.
    pub fn leaf(
        &self,
        profile: &LeafProfile,
        subject: &PublicKey,
        random: &dyn SecureRandom,
    ) -> Result<Chain, IssueFault> {
        if !self.facts.purposes.contains(&Purpose::Ours(profile.usage)) {
            return Err(IssueFault::NotDelegated);
        }
        self.check_times(profile.not_before, profile.lifetime)?;
        let mut params =
            params(&profile.name, profile.not_before, profile.lifetime, MAX_LEAF_LIFETIME, random)?;
        // Writes `CA:FALSE`, and with it the subject key identifier.
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose(profile.usage)];
        if profile.also_client && profile.usage == Usage::Server {
            params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        }
        params.subject_alt_names = names(profile)?;
        self.check_delegated(&params.subject_alt_names)?;
        if let (Some(shards), Some(serial)) = (&profile.crl, &params.serial_number) {
            params.crl_distribution_points = vec![shards.point(serial.as_ref())];
        }
        let certificate = self.sign(&params, subject, random)?;
        let above = self.chain.certificates().iter().filter(|der| !is_self_issued(der));
        chain_of(std::iter::once(certificate).chain(above.cloned()).collect())
    }

    /// An issuer from its stored certificate (first of `chain`) and key.
    ///
    /// # Errors
    /// [`IssueFault::NotAnIssuer`] for a key that is not the certificate's and a certificate that is not a CA.
    pub fn from_parts(chain: Chain, key: impl Into<Arc<dyn SigningKey>>) -> Result<Issuer, IssueFault> {
        let key = key.into();
        let facts =
            Facts::read(chain.leaf(), &ChainLimits::default()).map_err(|_| IssueFault::NotAnIssuer)?;
        match facts.role {
            Role::Issuer { may_sign: true, .. } if facts.spki == key.public().spki() => {
                Ok(Issuer { chain, key, facts })
            }
            _ => Err(IssueFault::NotAnIssuer),
        }
    }

    /// The issuer's own certificate first, then those above it without the root. For a root: the root alone.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The issuer's key.
    pub fn key(&self) -> &Arc<dyn SigningKey> {
        &self.key
    }

    /// The lines of its delegation, which are its permitted names.
    ///
    /// # Errors
    /// [`IssueFault::NotDelegated`] if its constraints are not lines.
    pub fn scope(&self) -> Result<LineScope, IssueFault> {
        match &self.facts.permitted {
            None => Ok(LineScope::All),
            Some(trees) if trees.iter().any(|tree| tree == CONTEXTS_TREE) => Ok(LineScope::All),
            Some(trees) => {
                let lines = trees.iter().map(|tree| line_of_dns(tree)).collect::<Result<_, _>>();
                lines.map(LineScope::Trees).map_err(|_| IssueFault::NotDelegated)
            }
        }
    }

    /// The beginning of a certificate that this issuer makes at `now`: `backdate` seconds ago, but never before the issuer's
    /// own. It is later than `now` if the issuer's own begins later.
    pub fn begins(&self, now: u64, backdate: u64) -> u64 {
        now.saturating_sub(backdate).max(self.facts.not_before)
    }

    /// The last second at which the issuer's certificate is valid; no leaf of it lives longer.
    pub fn not_after(&self) -> u64 {
        self.facts.not_after
    }

    /// Refuses times beyond the issuer's: a leaf that outlives its issuer would suddenly be refused.
    pub(crate) fn check_times(&self, not_before: u64, lifetime: u64) -> Result<(), IssueFault> {
        if not_before < self.facts.not_before {
            return Err(IssueFault::Times);
        }
        match not_before.checked_add(lifetime) {
            Some(end) if end <= self.facts.not_after => Ok(()),
            Some(_) => Err(IssueFault::LifetimeTooLong),
            None => Err(IssueFault::Times),
        }
    }

    fn check_delegated(&self, names: &[SanType]) -> Result<(), IssueFault> {
        let Some(permitted) = &self.facts.permitted else { return Ok(()) };
        let inside = |dns: &str| {
            permitted.iter().any(|tree| relation_to_subtree(dns, tree) == SubtreeRelation::Inside)
        };
        let outside = names.iter().any(|name| match name {
            SanType::DnsName(dns) => !inside(dns.as_str()),
            _ => false,
        });
        if outside { Err(IssueFault::NotDelegated) } else { Ok(()) }
    }

    pub(crate) fn sign(
        &self,
        params: &CertificateParams,
        subject: &PublicKey,
        random: &dyn SecureRandom,
    ) -> Result<CertificateDer<'static>, IssueFault> {
        let signer = Signer::new(self.key.as_ref(), random);
        let own = CertificateDer::from(self.chain.leaf());
        let issuer = rcgen::Issuer::from_ca_cert_der(&own, &signer).map_err(|_| IssueFault::NotAnIssuer)?;
        let certificate = params.signed_by(&Subject(subject), &issuer).map_err(|_| signer.fault())?;
        Ok(certificate.into())
    }
}

impl Issuer {
    pub(crate) fn sign_crl(
        &self,
        params: &CertificateRevocationListParams,
        random: &dyn SecureRandom,
    ) -> Result<Vec<u8>, IssueFault> {
        let signer = Signer::new(self.key.as_ref(), random);
        let own = CertificateDer::from(self.chain.leaf());
        let issuer = rcgen::Issuer::from_ca_cert_der(&own, &signer).map_err(|_| IssueFault::NotAnIssuer)?;
        Ok(params.signed_by(&issuer).map_err(|_| signer.fault())?.der().to_vec())
    }
}

/// The parameters that all issuers' certificates share; the caller names the subject.
pub(crate) fn ca_params(
    not_before: u64,
    lifetime: u64,
    random: &dyn SecureRandom,
) -> Result<CertificateParams, IssueFault> {
    params("", not_before, lifetime, MAX_CA_LIFETIME, random)
}

/// The parameters that all certificates share: version 3, a random serial of 16 bytes, key identifiers, bounded times.
fn params(
    name: &str,
    not_before: u64,
    lifetime: u64,
    longest: u64,
    random: &dyn SecureRandom,
) -> Result<CertificateParams, IssueFault> {
    if lifetime == 0 {
        return Err(IssueFault::Times);
    }
    if lifetime > longest {
        return Err(IssueFault::LifetimeTooLong);
    }
    let mut params = CertificateParams::default();
    params.not_before = instant(Some(not_before))?;
    params.not_after = instant(not_before.checked_add(lifetime))?;
    let mut serial = [0; 16];
    random.fill(&mut serial).map_err(|_| IssueFault::Randomness)?;
    if let Some(first) = serial.first_mut() {
        // Positive and of one length (RFC 5280 §4.1.2.2).
        *first = *first & 0x7f | 0x40;
    }
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

pub(crate) fn instant(seconds: Option<u64>) -> Result<OffsetDateTime, IssueFault> {
    let seconds = seconds.and_then(|seconds| i64::try_from(seconds).ok()).ok_or(IssueFault::Times)?;
    // `time` ends at the year 9999 and so does GeneralizedTime.
    OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| IssueFault::Times)
}

fn purpose(usage: Usage) -> ExtendedKeyUsagePurpose {
    match usage {
        Usage::Server => ExtendedKeyUsagePurpose::ServerAuth,
        Usage::Agent => ExtendedKeyUsagePurpose::ClientAuth,
        Usage::Context | Usage::Status | Usage::Feed | Usage::Log | Usage::Policy => {
            ExtendedKeyUsagePurpose::Other(usage.oid_parts())
        }
    }
}

/// Contexts: permitted trees. TLS: the contexts tree is excluded. A trust domain cannot be written as a constraint, since
/// webpki knows no URI constraints; roots keep trust domains apart.
fn constraints(profile: &IssuingProfile) -> Result<NameConstraints, IssueFault> {
    let tree = |dns: String| GeneralSubtree::DnsName(dns);
    let (permitted_subtrees, excluded_subtrees) = match (profile.family, &profile.lines) {
        (Family::Contexts, scope) => (trees(scope)?.into_iter().map(tree).collect(), Vec::new()),
        (Family::Tls, LineScope::All) => (Vec::new(), vec![tree(CONTEXTS_TREE.to_owned())]),
        (Family::Tls, LineScope::Trees(_)) => return Err(IssueFault::NamesOfAnotherUsage),
    };
    Ok(NameConstraints { permitted_subtrees, excluded_subtrees })
}

fn trees(scope: &LineScope) -> Result<BTreeSet<String>, IssueFault> {
    match scope {
        LineScope::All => Ok(BTreeSet::from([CONTEXTS_TREE.to_owned()])),
        LineScope::Trees(lines) if lines.is_empty() => Err(IssueFault::NamesMissing),
        LineScope::Trees(lines) => Ok(lines.iter().map(dns_of_line).collect()),
    }
}

fn names(profile: &LeafProfile) -> Result<Vec<SanType>, IssueFault> {
    match (profile.usage, &profile.names) {
        (Usage::Context, LeafNames::Lines(lines)) => {
            let dns: BTreeSet<String> = lines.iter().map(dns_of_line).collect();
            if lines.is_empty() {
                return Err(IssueFault::NamesMissing);
            }
            if dns.len() != lines.len() {
                return Err(IssueFault::RepeatedLine);
            }
            let uris = lines.iter().map(|line| uri_of_line(&profile.prefix, line));
            dns.into_iter().map(dns_name).chain(uris.map(uri_name)).collect()
        }
        (Usage::Status | Usage::Feed | Usage::Log, LeafNames::Scope(scope)) => {
            trees(scope)?.into_iter().map(dns_name).collect()
        }
        (Usage::Policy, LeafNames::Endpoint { id: Some(id), hosts, addresses })
            if hosts.is_empty() && addresses.is_empty() =>
        {
            Ok(vec![dns_name(CONTEXTS_TREE.to_owned())?, uri_name(id.as_str().to_owned())?])
        }
        (Usage::Agent, LeafNames::Endpoint { id: None, .. }) => Err(IssueFault::NamesMissing),
        (Usage::Agent | Usage::Server, LeafNames::Endpoint { id, hosts, addresses }) => {
            let id = id.iter().map(|id| uri_name(id.as_str().to_owned()));
            let hosts = hosts.iter().map(|host| host_name(host));
            let addresses = addresses.iter().map(|address: &IpAddr| Ok(SanType::IpAddress(*address)));
            let names: Vec<SanType> = id.chain(hosts).chain(addresses).collect::<Result<_, _>>()?;
            if names.is_empty() { Err(IssueFault::NamesMissing) } else { Ok(names) }
        }
        _ => Err(IssueFault::NamesOfAnotherUsage),
    }
}

fn dns_name(name: String) -> Result<SanType, IssueFault> {
    name.try_into().map(SanType::DnsName).map_err(|_| IssueFault::Name(NameFault::NotAHost))
}

fn uri_name(name: String) -> Result<SanType, IssueFault> {
    name.try_into().map(SanType::URI).map_err(|_| IssueFault::Encoding)
}

fn host_name(host: &str) -> Result<SanType, IssueFault> {
    if host.contains('*') {
        return Err(IssueFault::Name(NameFault::Wildcard));
    }
    let valid = DnsName::try_from(host).map_err(|_| IssueFault::Name(NameFault::NotAHost))?;
    if host.ends_with('.') || relation_to_subtree(valid.as_ref(), CONTEXTS_TREE) == SubtreeRelation::Inside {
        return Err(IssueFault::Name(NameFault::NotAHost));
    }
    dns_name(host.to_ascii_lowercase())
}

fn chain_of(certificates: Vec<CertificateDer<'static>>) -> Result<Chain, IssueFault> {
    Chain::from_der(certificates, &ChainLimits::default()).map_err(|_| IssueFault::Encoding)
}

/// Returns true for roots, which stay out of chains: verifiers have them already.
pub(crate) fn is_self_issued(der: &CertificateDer<'_>) -> bool {
    x509_parser::parse_x509_certificate(der)
        .is_ok_and(|(_, certificate)| certificate.subject().as_raw() == certificate.issuer().as_raw())
}

/// Signs certificates with the caller's key and randomness, where rcgen's own key pair would draw its own.
struct Signer<'a> {
    key: &'a dyn SigningKey,
    random: &'a dyn SecureRandom,
    fault: Cell<Option<KeyFault>>,
}

impl<'a> Signer<'a> {
    fn new(key: &'a dyn SigningKey, random: &'a dyn SecureRandom) -> Signer<'a> {
        Signer { key, random, fault: Cell::new(None) }
    }

    /// The reason that the encoder failed: the key, or the encoding.
    fn fault(&self) -> IssueFault {
        match self.fault.get() {
            Some(KeyFault::Randomness) => IssueFault::Randomness,
            Some(fault) => IssueFault::Key(fault),
            None => IssueFault::Encoding,
        }
    }
}

impl rcgen::PublicKeyData for Signer<'_> {
    fn der_bytes(&self) -> &[u8] {
        self.key.public().raw()
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        algorithm_of(self.key.public())
    }
}

impl rcgen::SigningKey for Signer<'_> {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signature = self.key.sign(self.random, message).map_err(|fault| {
            self.fault.set(Some(fault));
            rcgen::Error::RingUnspecified
        })?;
        Ok(match self.key.public().algorithm() {
            SignatureAlgorithm::Es256 => signature_der(&signature),
            SignatureAlgorithm::Ed25519 => signature.to_vec(),
        })
    }
}

struct Subject<'a>(&'a PublicKey);

impl rcgen::PublicKeyData for Subject<'_> {
    fn der_bytes(&self) -> &[u8] {
        self.0.raw()
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        algorithm_of(self.0)
    }
}

fn algorithm_of(key: &PublicKey) -> &'static rcgen::SignatureAlgorithm {
    match key.algorithm() {
        SignatureAlgorithm::Es256 => &rcgen::PKCS_ECDSA_P256_SHA256,
        SignatureAlgorithm::Ed25519 => &rcgen::PKCS_ED25519,
    }
}
