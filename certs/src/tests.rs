//! Certificates for tests: good ones by the same profiles as the product, and bad ones that [`crate::Issuer`] would
//! refuse to make, straight from rcgen.

use crate::{CONTEXTS_TREE, ChainLimits, Family, Roots, Usage, dns_of_line, uri_of_line};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CrlDistributionPoint,
    CrlIssuingDistributionPoint, CrlScope, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, NameConstraints, RevocationReason,
    RevokedCertParams, SanType, SerialNumber,
};
use rustls_pki_types::CertificateDer;
use semgate_contexts::{Line, Prefix};
use time::OffsetDateTime;

/// The time at which everything is judged unless a case says otherwise: 2027-01-15T08:00:00Z.
pub(crate) const NOW: u64 = 1_800_000_000;
pub(crate) const DAY: u64 = 86_400;

/// A forged certificate with its key.
pub(crate) struct Forged {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) key: KeyPair,
}

impl Forged {
    pub(crate) fn root(params: CertificateParams) -> Forged {
        let key = KeyPair::generate().unwrap();
        Forged { der: params.self_signed(&key).unwrap().into(), key }
    }

    pub(crate) fn issue(&self, params: &CertificateParams) -> Forged {
        self.issue_for(params, KeyPair::generate().unwrap())
    }

    pub(crate) fn issue_for(&self, params: &CertificateParams, key: KeyPair) -> Forged {
        let issuer = Issuer::from_ca_cert_der(&self.der, &self.key).unwrap();
        Forged { der: params.signed_by(&key, &issuer).unwrap().into(), key }
    }

    /// Signs a revocation list, whatever it says.
    pub(crate) fn crl(&self, list: &List) -> Vec<u8> {
        let point = list.point.clone().map(|uri| CrlIssuingDistributionPoint {
            distribution_point: CrlDistributionPoint { uris: vec![uri] },
            scope: Some(list.scope),
        });
        let revoked = list.serials.iter().map(|serial| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: instant(NOW - 3600),
            reason_code: list.why,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: instant(list.between.0),
            next_update: instant(list.between.1),
            crl_number: SerialNumber::from(list.number),
            issuing_distribution_point: point,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        // rcgen would not sign for an issuer that may not
        let issuer = Issuer::from_ca_cert_der(&self.der, &self.key).unwrap();
        params.signed_by(&issuer).unwrap().der().to_vec()
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots::from_der(vec![self.der.clone()], &ChainLimits::default()).unwrap()
    }
}

/// A revocation list of these serial numbers, from an hour ago for a day.
#[derive(Clone)]
pub(crate) struct List {
    serials: Vec<u64>,
    point: Option<String>,
    scope: CrlScope,
    number: u64,
    between: (u64, u64),
    why: Option<RevocationReason>,
}

impl List {
    pub(crate) fn of(serials: &[u64]) -> List {
        List {
            serials: serials.to_vec(),
            point: None,
            scope: CrlScope::UserCertsOnly,
            number: 1,
            between: (NOW - 3600, NOW + DAY),
            why: None,
        }
    }

    pub(crate) fn at(mut self, uri: &str) -> List {
        self.point = Some(uri.to_owned());
        self
    }

    pub(crate) fn scope(mut self, scope: CrlScope) -> List {
        self.scope = scope;
        self
    }

    pub(crate) fn number(mut self, number: u64) -> List {
        self.number = number;
        self
    }

    pub(crate) fn between(mut self, from: u64, to: u64) -> List {
        self.between = (from, to);
        self
    }

    pub(crate) fn why(mut self, why: RevocationReason) -> List {
        self.why = Some(why);
        self
    }
}

pub(crate) fn line(text: &str) -> Line {
    Line::parse(text).unwrap()
}

pub(crate) fn instant(seconds: u64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(seconds.try_into().unwrap()).unwrap()
}

fn base(name: &str, from: u64, to: u64) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = instant(from);
    params.not_after = instant(to);
    params.use_authority_key_identifier_extension = true;
    params
}

pub(crate) fn root_params() -> CertificateParams {
    let mut params = base("Test root", NOW - 365 * DAY, NOW + 3650 * DAY);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

pub(crate) fn purpose(usage: Usage) -> ExtendedKeyUsagePurpose {
    ExtendedKeyUsagePurpose::Other(usage.oid_parts())
}

pub(crate) fn dns_tree(dns: &str) -> GeneralSubtree {
    GeneralSubtree::DnsName(dns.to_owned())
}

/// An issuing certificate of a family, for these DNS trees.
pub(crate) fn issuing_params(family: Family, trees: &[&str]) -> CertificateParams {
    let mut params = base(&format!("Test issuing {family:?}"), NOW - 300 * DAY, NOW + 1500 * DAY);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.extended_key_usages =
        Usage::ALL.into_iter().filter(|usage| usage.family() == family).map(purpose).collect();
    let trees = trees.iter().map(|tree| dns_tree(tree)).collect();
    params.name_constraints = Some(match family {
        Family::Contexts => NameConstraints { permitted_subtrees: trees, excluded_subtrees: Vec::new() },
        Family::Tls => NameConstraints {
            permitted_subtrees: Vec::new(),
            excluded_subtrees: vec![dns_tree(CONTEXTS_TREE)],
        },
    });
    params
}

pub(crate) fn dns(name: &str) -> SanType {
    SanType::DnsName(name.try_into().unwrap())
}

pub(crate) fn uri(name: &str) -> SanType {
    SanType::URI(name.try_into().unwrap())
}

pub(crate) fn both(text: &str) -> Vec<SanType> {
    let line = line(text);
    vec![dns(&dns_of_line(&line)), uri(&uri_of_line(&Prefix::default(), &line))]
}

/// A leaf by profile, from a day ago for 30 days.
pub(crate) fn leaf_params(usage: Usage, names: Vec<SanType>) -> CertificateParams {
    let mut params = base("Test leaf", NOW - DAY, NOW + 29 * DAY);
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose(usage)];
    params.subject_alt_names = names;
    params
}

/// A root with an issuing certificate for each family.
pub(crate) struct World {
    pub(crate) root: Forged,
    pub(crate) contexts: Forged,
    pub(crate) acme: Forged,
    pub(crate) tls: Forged,
}

impl World {
    pub(crate) fn new() -> World {
        World::under(root_params())
    }

    /// Another root with another name.
    pub(crate) fn other() -> World {
        let mut params = root_params();
        params.distinguished_name.push(DnType::OrganizationName, "Strangers");
        World::under(params)
    }

    fn under(root: CertificateParams) -> World {
        let root = Forged::root(root);
        let contexts = root.issue(&issuing_params(Family::Contexts, &[CONTEXTS_TREE]));
        let acme = root.issue(&issuing_params(Family::Contexts, &["acme.contexts.invalid"]));
        let tls = root.issue(&issuing_params(Family::Tls, &[]));
        World { root, contexts, acme, tls }
    }

    pub(crate) fn issuer(&self, usage: Usage) -> &Forged {
        match usage.family() {
            Family::Contexts => &self.contexts,
            Family::Tls => &self.tls,
        }
    }
}

/// How often a fuzz test tries: `SEMGATE_FUZZ_CASES`, 256 unless set.
pub(crate) fn fuzz_cases() -> proptest::test_runner::Config {
    let cases = std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(256);
    proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() }
}
