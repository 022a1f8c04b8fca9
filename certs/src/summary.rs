//! One certificate for people, and the demands on a process's own certificates.

use crate::extensions::Role;
use crate::names::{CONTEXTS_TREE, line_of_dns, line_of_uri};
use crate::read::{Facts, Name, Purpose, parsed};
use crate::{
    Chain, ChainFault, ChainLimits, CrlShards, LeafNames, LeafProfile, LineScope, SpiffeId, Thumbprint, Usage,
};
use semgate_contexts::Prefix;
use std::fmt;
use std::net::IpAddr;
use x509_parser::extensions::{DistributionPointName, GeneralName, ParsedExtension};

/// Seconds of a day.
const DAY: u64 = 86_400;
/// A certificate ends soon from here on, if a third of its life is longer: 30 days.
const SOON: u64 = 30 * DAY;

/// Facts of one certificate. Nothing is verified.
#[derive(Clone, Debug)]
pub struct CertificateSummary {
    /// The distinguished name of its subject.
    pub subject: String,
    /// The distinguished name of its issuer.
    pub issuer: String,
    /// Its serial number, hexadecimal.
    pub serial: String,
    /// True for a root or issuing certificate.
    pub is_ca: bool,
    /// Its usages among ours.
    pub usages: Vec<Usage>,
    /// DNS names.
    pub hosts: Vec<String>,
    /// URIs, SPIFFE ids included.
    pub uris: Vec<String>,
    /// IP addresses.
    pub addresses: Vec<IpAddr>,
    /// First second of validity.
    pub not_before: u64,
    /// Last second of validity.
    pub not_after: u64,
    /// `x5t#S256`.
    pub thumbprint: Thumbprint,
    /// The common name of its subject.
    name: Option<String>,
    /// The list that revokes it, if it names one in the form of [`CrlShards`].
    crl: Option<CrlShards>,
}

impl CertificateSummary {
    /// Reads a DER certificate.
    ///
    /// # Errors
    /// [`ChainFault::Malformed`], [`ChainFault::TooLong`].
    pub fn read(der: &[u8]) -> Result<CertificateSummary, ChainFault> {
        let limits = ChainLimits::default();
        let certificate = parsed(der, &limits)?;
        let facts = Facts::of(&certificate, &limits)?;
        let ours = |purpose: &Purpose| match purpose {
            Purpose::Ours(usage) => Some(*usage),
            Purpose::Foreign => None,
        };
        let address = |name: &Name| match name {
            Name::Address(address) => Some(*address),
            _ => None,
        };
        let points =
            certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
                ParsedExtension::CRLDistributionPoints(points) => points.points.first(),
                _ => None,
            });
        let url = points.and_then(|point| match point.distribution_point.as_ref()? {
            DistributionPointName::FullName(names) => names.iter().find_map(|name| match name {
                GeneralName::URI(url) => Some(*url),
                _ => None,
            }),
            DistributionPointName::NameRelativeToCRLIssuer(_) => None,
        });
        Ok(CertificateSummary {
            subject: certificate.subject().to_string(),
            issuer: certificate.issuer().to_string(),
            serial: certificate.raw_serial().iter().map(|byte| format!("{byte:02x}")).collect(),
            is_ca: matches!(facts.role, Role::Issuer { .. }),
            usages: facts.purposes.iter().filter_map(ours).collect(),
            hosts: facts.dns().map(str::to_owned).collect(),
            uris: facts.uris().map(str::to_owned).collect(),
            addresses: facts.names.iter().filter_map(address).collect(),
            not_before: facts.not_before,
            not_after: facts.not_after,
            thumbprint: Thumbprint::of(der),
            name: certificate
                .subject()
                .iter_common_name()
                .next()
                .and_then(|name| name.as_str().ok())
                .map(str::to_owned),
            crl: url.and_then(CrlShards::of_point),
        })
    }

    /// The SPIFFE id, if its one URI is one.
    pub fn spiffe(&self) -> Option<SpiffeId> {
        match self.uris.as_slice() {
            [uri] => SpiffeId::parse(uri).ok(),
            _ => None,
        }
    }

    /// Whole days until its end at `at`; 0 once it ended.
    pub fn days_left(&self, at: u64) -> u64 {
        self.not_after.saturating_sub(at) / DAY
    }

    /// True from the last third of its life on, and never more than 30 days before its end.
    pub fn ends_soon(&self, at: u64) -> bool {
        let third = self.not_after.saturating_sub(self.not_before) / 3;
        self.not_after.saturating_sub(at) < third.min(SOON)
    }

    /// True if a client that dials this address may accept the certificate. That needs the address itself or a host name,
    /// which may lead there; `localhost` leads to loopback alone. An unspecified address takes every name.
    pub fn names_address(&self, address: IpAddr) -> bool {
        let leads = |host: &String| address.is_loopback() || !host.eq_ignore_ascii_case("localhost");
        address.is_unspecified()
            || self.addresses.iter().any(|own| own.to_canonical() == address.to_canonical())
            || self.hosts.iter().any(leads)
    }

    /// The profile of a leaf that replaces this one from `not_before` on: common name, usage, names, lifetime and revocation list stay.
    ///
    /// # Errors
    /// [`ChainFault::WrongRole`] for a CA, [`ChainFault::WrongUsage`] for a leaf of none of our usages, and
    /// [`ChainFault::Names`] for names that our profiles do not write.
    pub fn renewed(&self, prefix: &Prefix, not_before: u64) -> Result<LeafProfile, ChainFault> {
        if self.is_ca {
            return Err(ChainFault::WrongRole);
        }
        let usage = match self.usages.as_slice() {
            [Usage::Server, Usage::Agent] => Usage::Server,
            [usage] => *usage,
            _ => return Err(ChainFault::WrongUsage),
        };
        let all = self.hosts.iter().any(|host| host == CONTEXTS_TREE);
        let names = match usage {
            Usage::Context => {
                let lines = self.uris.iter().map(|uri| line_of_uri(prefix, uri)).collect::<Option<_>>();
                LeafNames::Lines(lines.ok_or(ChainFault::Names)?)
            }
            Usage::Status | Usage::Feed | Usage::Log if all => LeafNames::Scope(LineScope::All),
            Usage::Status | Usage::Feed | Usage::Log => {
                let lines = self.hosts.iter().map(|host| line_of_dns(host)).collect::<Result<_, _>>();
                LeafNames::Scope(LineScope::Trees(lines.map_err(|_| ChainFault::Names)?))
            }
            Usage::Policy => {
                LeafNames::Endpoint { id: self.spiffe(), hosts: Vec::new(), addresses: Vec::new() }
            }
            Usage::Server | Usage::Agent => LeafNames::Endpoint {
                id: self.spiffe(),
                hosts: self.hosts.clone(),
                addresses: self.addresses.clone(),
            },
        };
        let lifetime = self.not_after.saturating_sub(self.not_before);
        let profile = LeafProfile::of(usage, names, not_before).lifetime(lifetime);
        let profile = if self.usages.len() > 1 { profile.also_client() } else { profile };
        let name = self.name.clone().unwrap_or_else(|| profile.name.clone());
        Ok(LeafProfile { name, prefix: prefix.clone(), crl: self.crl.clone(), ..profile })
    }
}

/// The reason that a process cannot use its own certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnFault {
    /// A certificate of the chain cannot be read.
    Unreadable(ChainFault),
    /// A certificate of the chain is not valid yet.
    NotYetValid(String),
    /// A certificate of the chain has ended, this many days ago.
    Expired(String, u64),
    /// The leaf lacks a usage that the configuration needs.
    Usage(Usage),
    /// The leaf has no name for a listen address.
    Address(IpAddr),
}

impl fmt::Display for OwnFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OwnFault::Unreadable(fault) => fault.fmt(f),
            OwnFault::NotYetValid(subject) => write!(f, "`{subject}` is not valid yet"),
            OwnFault::Expired(subject, 0) => write!(f, "`{subject}` has expired today"),
            OwnFault::Expired(subject, days) => write!(f, "`{subject}` has expired {days} days ago"),
            OwnFault::Usage(usage) => write!(f, "it lacks the usage `{usage}`"),
            OwnFault::Address(address) => {
                write!(f, "it names neither the listen address `{address}` nor a host that could lead there")
            }
        }
    }
}

impl std::error::Error for OwnFault {}

/// Checks a process's own chain at `at`: its times, the usages of its leaf, and a name for each listen address. Returns the
/// certificates of the chain, leaf first. Does not verify the chain: its roots are the peers'.
///
/// # Errors
/// [`OwnFault`].
pub fn check_own(
    chain: &Chain,
    usages: &[Usage],
    listens: &[IpAddr],
    at: u64,
) -> Result<Vec<CertificateSummary>, OwnFault> {
    let read = chain.certificates().iter().map(|der| CertificateSummary::read(der));
    let all = read.collect::<Result<Vec<_>, _>>().map_err(OwnFault::Unreadable)?;
    for one in &all {
        if at < one.not_before {
            return Err(OwnFault::NotYetValid(one.subject.clone()));
        }
        if at > one.not_after {
            return Err(OwnFault::Expired(one.subject.clone(), (at - one.not_after) / DAY));
        }
    }
    let leaf = all.first().ok_or(OwnFault::Unreadable(ChainFault::Malformed))?;
    if let Some(missing) = usages.iter().find(|usage| !leaf.usages.contains(usage)) {
        return Err(OwnFault::Usage(*missing));
    }
    if let Some(address) = listens.iter().find(|address| !leaf.names_address(**address)) {
        return Err(OwnFault::Address(*address));
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
