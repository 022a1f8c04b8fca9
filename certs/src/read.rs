//! Facts read from one certificate, beyond those that webpki reads.

use crate::extensions::{self, Role, SigningUse};
use crate::oids::text_of;
use crate::{ANY_POLICY, ChainFault, ChainLimits, Family, STANDARD_USAGES, Usage};
use std::collections::BTreeSet;
use std::net::IpAddr;
use x509_parser::certificate::X509Certificate;
use x509_parser::der_parser::oid::Oid;
use x509_parser::extensions::{ExtendedKeyUsage, GeneralName, ParsedExtension};
use x509_parser::oid_registry::{
    OID_X509_EXT_CERTIFICATE_POLICIES, OID_X509_EXT_CRL_DISTRIBUTION_POINTS,
    OID_X509_EXT_ISSUER_DISTRIBUTION_POINT,
};
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;

/// A name of the subject (RFC 5280 §4.2.1.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Dns(String),
    Uri(String),
    Address(IpAddr),
    /// Any other kind, or one that is not well formed.
    Other,
}

/// One extended key usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Ours(Usage),
    Foreign,
}

impl Purpose {
    pub(crate) fn is_of(self, family: Family) -> Option<Usage> {
        match self {
            Purpose::Ours(usage) if usage.family() == family => Some(usage),
            _ => None,
        }
    }
}

/// The presence of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Yes,
    No,
}

/// The facts of one certificate.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) not_before: u64,
    pub(crate) not_after: u64,
    pub(crate) role: Role,
    pub(crate) purposes: Vec<Purpose>,
    pub(crate) names: Vec<Name>,
    /// Permitted dNSName subtrees, `None` if DNS names are not constrained so.
    pub(crate) permitted: Option<Vec<String>>,
    pub(crate) spki: Vec<u8>,
    /// The presence of a named revocation list.
    pub(crate) list: Presence,
    pub(crate) marks: Marks,
}

/// Attributes of a certificate beyond those judged here, as text of their object identifiers. Attributes without one are left
/// out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Extended key usages that are neither ours nor of RFC 5280 §4.2.1.12; `None` where the certificate limits no usage.
    usages: Option<Vec<String>>,
    /// Certificate policies (RFC 5280 §4.2.1.4).
    policies: Vec<String>,
}

impl Marks {
    /// The attributes of a leaf that every issuing certificate of its path permits. The issuer must not be barred from the
    /// usage, or must have the policy itself. As `eku:1.2.3` and `policy:1.2.3`, sorted, each once.
    pub(crate) fn within<'m>(&self, issuers: impl Iterator<Item = &'m Marks> + Clone) -> Vec<String> {
        let usable = |oid: &String| {
            issuers.clone().all(|issuer| issuer.usages.as_ref().is_none_or(|usages| usages.contains(oid)))
        };
        let handed = |oid: &String| {
            *oid != ANY_POLICY
                && issuers
                    .clone()
                    .all(|issuer| issuer.policies.iter().any(|own| own == oid || own == ANY_POLICY))
        };
        let usages = self.usages.iter().flatten().filter(|oid| usable(oid)).map(|oid| format!("eku:{oid}"));
        let policies = self.policies.iter().filter(|oid| handed(oid)).map(|oid| format!("policy:{oid}"));
        let all: BTreeSet<String> = usages.chain(policies).collect();
        all.into_iter().collect()
    }
}

impl Facts {
    /// The facts of a certificate to be trusted: within the limits, and without an extension that refuses it.
    pub(crate) fn read(der: &[u8], limits: &ChainLimits) -> Result<Facts, ChainFault> {
        let certificate = parsed(der, limits)?;
        let facts = Facts::of(&certificate, limits)?;
        extensions::check(&certificate, facts.role)?;
        Ok(facts)
    }

    /// Checks the bounds and form of a certificate that may turn out to be in no path. Its extensions are judged in a path.
    pub(crate) fn check_form(der: &[u8], limits: &ChainLimits) -> Result<(), ChainFault> {
        Facts::of(&parsed(der, limits)?, limits).map(|_| ())
    }

    pub(crate) fn of(certificate: &X509Certificate<'_>, limits: &ChainLimits) -> Result<Facts, ChainFault> {
        let validity = certificate.validity();
        Ok(Facts {
            not_before: seconds(validity.not_before.timestamp())?,
            not_after: seconds(validity.not_after.timestamp())?,
            role: role(certificate)?,
            purposes: purposes(certificate)?,
            names: names(certificate, limits)?,
            permitted: permitted(certificate)?,
            spki: certificate.public_key().raw.to_vec(),
            list: match certificate.get_extension_unique(&OID_X509_EXT_CRL_DISTRIBUTION_POINTS) {
                Ok(Some(_)) => Presence::Yes,
                Ok(None) => Presence::No,
                Err(_) => return Err(ChainFault::Malformed),
            },
            marks: marks(certificate, limits)?,
        })
    }

    pub(crate) fn uris(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter_map(|name| match name {
            Name::Uri(uri) => Some(uri.as_str()),
            _ => None,
        })
    }

    pub(crate) fn dns(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter_map(|name| match name {
            Name::Dns(dns) => Some(dns.as_str()),
            _ => None,
        })
    }
}

/// Reads a certificate within the limits; refuses bytes after it.
pub(crate) fn parsed<'d>(der: &'d [u8], limits: &ChainLimits) -> Result<X509Certificate<'d>, ChainFault> {
    if der.len() > limits.max_certificate_bytes {
        return Err(ChainFault::TooLong);
    }
    let (rest, certificate) = X509Certificate::from_der(der).map_err(|_| ChainFault::Malformed)?;
    if rest.is_empty() { Ok(certificate) } else { Err(ChainFault::Malformed) }
}

fn seconds(timestamp: i64) -> Result<u64, ChainFault> {
    u64::try_from(timestamp).map_err(|_| ChainFault::Malformed)
}

fn role(certificate: &X509Certificate<'_>) -> Result<Role, ChainFault> {
    let basic = certificate.basic_constraints().map_err(|_| ChainFault::Malformed)?;
    let usage = certificate.key_usage().map_err(|_| ChainFault::Malformed)?;
    let usage = usage.map(|extension| extension.value);
    let may_sign = usage.is_some_and(|usage| usage.key_cert_sign());
    Ok(match basic.map(|extension| extension.value) {
        Some(basic) if basic.ca => Role::Issuer { path_length: basic.path_len_constraint, may_sign },
        _ if may_sign => Role::Leaf { signs: SigningUse::Certificates },
        _ => Role::Leaf {
            signs: match usage.map(|usage| usage.digital_signature()) {
                Some(true) => SigningUse::Yes,
                Some(false) => SigningUse::No,
                None => SigningUse::Unsaid,
            },
        },
    })
}

fn purposes(certificate: &X509Certificate<'_>) -> Result<Vec<Purpose>, ChainFault> {
    let Some(extension) = certificate.extended_key_usage().map_err(|_| ChainFault::Malformed)? else {
        return Ok(Vec::new());
    };
    let ExtendedKeyUsage {
        any,
        server_auth,
        client_auth,
        code_signing,
        email_protection,
        time_stamping,
        ocsp_signing,
        other,
    } = extension.value;
    let mut purposes = Vec::new();
    for (present, purpose) in [
        (*any, Purpose::Foreign),
        (*server_auth, Purpose::Ours(Usage::Server)),
        (*client_auth, Purpose::Ours(Usage::Agent)),
        (*code_signing, Purpose::Foreign),
        (*email_protection, Purpose::Foreign),
        (*time_stamping, Purpose::Foreign),
        (*ocsp_signing, Purpose::Foreign),
    ] {
        if present {
            purposes.push(purpose);
        }
    }
    purposes.extend(other.iter().map(|oid| {
        let ours = Usage::ALL.into_iter().find(|usage| usage.oid_der() == oid.as_bytes());
        ours.map_or(Purpose::Foreign, Purpose::Ours)
    }));
    Ok(purposes)
}

fn marks(certificate: &X509Certificate<'_>, limits: &ChainLimits) -> Result<Marks, ChainFault> {
    let extension = certificate.extended_key_usage().map_err(|_| ChainFault::Malformed)?;
    let ours = |oid: &&Oid<'_>| Usage::ALL.into_iter().any(|usage| usage.oid_der() == oid.as_bytes());
    // an issuer with anyExtendedKeyUsage is barred from no usage
    let usages = extension.filter(|extension| !extension.value.any).map(|extension| {
        let others = extension.value.other.iter().filter(|oid| !ours(oid));
        let named = others.filter_map(|oid| text_of(oid.as_bytes()));
        named.filter(|oid| !STANDARD_USAGES.contains(&oid.as_str())).collect::<Vec<_>>()
    });
    let extension = certificate.get_extension_unique(&OID_X509_EXT_CERTIFICATE_POLICIES);
    let extension = extension.map_err(|_| ChainFault::Malformed)?;
    let policies: Vec<String> = match extension.map(|extension| extension.parsed_extension()) {
        Some(ParsedExtension::CertificatePolicies(all)) => {
            all.iter().filter_map(|policy| text_of(policy.policy_id.as_bytes())).collect()
        }
        _ => Vec::new(),
    };
    if usages.as_ref().map_or(0, Vec::len) + policies.len() > limits.max_names {
        return Err(ChainFault::TooLong);
    }
    Ok(Marks { usages, policies })
}

fn names(certificate: &X509Certificate<'_>, limits: &ChainLimits) -> Result<Vec<Name>, ChainFault> {
    let Some(extension) = certificate.subject_alternative_name().map_err(|_| ChainFault::Malformed)? else {
        return Ok(Vec::new());
    };
    let names = &extension.value.general_names;
    if names.len() > limits.max_names {
        return Err(ChainFault::TooLong);
    }
    Ok(names
        .iter()
        .map(|name| match name {
            GeneralName::DNSName(dns) => Name::Dns((*dns).to_owned()),
            GeneralName::URI(uri) => Name::Uri((*uri).to_owned()),
            GeneralName::IPAddress(bytes) => address(bytes).map_or(Name::Other, Name::Address),
            _ => Name::Other,
        })
        .collect())
}

/// An address of 4 or 16 bytes.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

fn permitted(certificate: &X509Certificate<'_>) -> Result<Option<Vec<String>>, ChainFault> {
    let Some(extension) = certificate.name_constraints().map_err(|_| ChainFault::Malformed)? else {
        return Ok(None);
    };
    let Some(subtrees) = &extension.value.permitted_subtrees else { return Ok(None) };
    let dns: Vec<String> = subtrees
        .iter()
        .filter_map(|subtree| match &subtree.base {
            GeneralName::DNSName(dns) => Some((*dns).to_owned()),
            _ => None,
        })
        .collect();
    Ok(if dns.is_empty() { None } else { Some(dns) })
}

/// The serial number of a certificate, big-endian without leading zeros.
pub(crate) fn serial_of(der: &[u8]) -> Result<Vec<u8>, ChainFault> {
    let (_, certificate) = X509Certificate::from_der(der).map_err(|_| ChainFault::Malformed)?;
    let raw = certificate.raw_serial();
    let zeros = raw.iter().take_while(|byte| **byte == 0).count();
    Ok(raw.get(zeros..).unwrap_or_default().to_vec())
}

/// The identity of a revocation list among others. Nothing is verified.
#[derive(Debug)]
pub(crate) struct CrlName {
    /// The name of its issuer, DER.
    pub(crate) issuer: Vec<u8>,
    /// Its distribution point as in the extension; empty for a list of the whole issuer.
    pub(crate) point: Vec<u8>,
    /// Its edition (RFC 5280 §5.2.3).
    pub(crate) number: u64,
    pub(crate) this_update: u64,
    /// The time until which it counts; 0 if it states none.
    pub(crate) next_update: u64,
}

/// Reads a revocation list; refuses bytes behind it.
pub(crate) fn read_crl(der: &[u8]) -> Option<CertificateRevocationList<'_>> {
    let (rest, list) = CertificateRevocationList::from_der(der).ok()?;
    rest.is_empty().then_some(list)
}

impl CrlName {
    /// The identity of a revocation list among others.
    pub(crate) fn of(list: &CertificateRevocationList<'_>) -> Option<CrlName> {
        let point = list.extensions().iter().find(|one| one.oid == OID_X509_EXT_ISSUER_DISTRIBUTION_POINT);
        Some(CrlName {
            issuer: list.issuer().as_raw().to_vec(),
            point: point.map(|one| one.value.to_vec()).unwrap_or_default(),
            number: list.crl_number().and_then(|number| u64::try_from(number).ok())?,
            this_update: seconds(list.last_update().timestamp()).ok()?,
            next_update: list.next_update().and_then(|end| seconds(end.timestamp()).ok()).unwrap_or(0),
        })
    }

    pub(crate) fn read(der: &[u8]) -> Option<CrlName> {
        CrlName::of(&read_crl(der)?)
    }
}
