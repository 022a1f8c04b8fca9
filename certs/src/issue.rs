//! Issues certificates: root → issuing → leaves (`docs/spec/certificates.md`), by rcgen.

mod encode;

use crate::{CrlShards, KeyFault, NameFault, SpiffeId, Usage};
pub use encode::Issuer;
pub(crate) use encode::{ca_params, instant, is_self_issued};
use semgate_contexts::{Line, Prefix};
use std::fmt;
use std::net::IpAddr;

/// The reason that a certificate was not issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IssueFault {
    /// The source of randomness failed.
    Randomness,
    /// The times are not ones that a certificate can hold, or the lifetime is zero.
    Times,
    /// The lifetime is longer than the profile allows, or than the issuer lives.
    LifetimeTooLong,
    /// A leaf lacks the names of its usage. A context needs lines; status, feed and log need a tree; an agent needs one
    /// SPIFFE id; a server needs a SPIFFE id or host.
    NamesMissing,
    /// The names are not of the kind that the usage takes.
    NamesOfAnotherUsage,
    /// Two lines that are equal, or differ only in case.
    RepeatedLine,
    /// A host is not one.
    Name(NameFault),
    /// The issuer does not issue leaves of this usage, or not for these lines.
    NotDelegated,
    /// The certificate is not a CA, or its key is another one.
    NotAnIssuer,
    /// The encoder refused.
    Encoding,
    /// The issuer's key did not sign.
    Key(KeyFault),
}

impl fmt::Display for IssueFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IssueFault::Randomness => f.write_str("the source of randomness failed"),
            IssueFault::Times => f.write_str("the times of the certificate are not valid ones"),
            IssueFault::LifetimeTooLong => f.write_str("the lifetime of the certificate is too long"),
            IssueFault::NamesMissing => {
                f.write_str("the certificate has none of the names that its usage needs")
            }
            IssueFault::NamesOfAnotherUsage => f.write_str("the names do not fit the usage"),
            IssueFault::RepeatedLine => f.write_str("two lines are equal or differ only in case"),
            IssueFault::Name(fault) => fault.fmt(f),
            IssueFault::NotDelegated => f.write_str("the issuer was not delegated this usage or line"),
            IssueFault::NotAnIssuer => f.write_str("the certificate and key do not belong to an issuer"),
            IssueFault::Encoding => f.write_str("the certificate could not be encoded"),
            IssueFault::Key(fault) => write!(f, "the issuer's key did not sign: {fault}"),
        }
    }
}

impl std::error::Error for IssueFault {}

/// The kind of leaves that an issuing certificate makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Context, status, feed and log leaves.
    Contexts,
    /// Server and agent leaves.
    Tls,
}

/// The lines of a delegation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineScope {
    /// Every line: the whole tree `contexts.invalid`.
    All,
    /// These lines and those below them (`acme` delegates `acme.logistics` too).
    Trees(Vec<Line>),
}

/// Seconds that new certificates begin in the past, for verifiers whose clocks run behind; never before their issuer, see
/// [`Issuer::begins`].
pub const BACKDATE: u64 = 300;
/// Longest life of a leaf in seconds: 90 days (`docs/spec/certificates.md`).
pub(crate) const MAX_LEAF_LIFETIME: u64 = 90 * 86_400;
/// Longest life of a root or issuing certificate in seconds: ten years with three leap days.
pub(crate) const MAX_CA_LIFETIME: u64 = 3653 * 86_400;

/// A root certificate: CA, keyCertSign and cRLSign, no extended key usage, no constraint.
#[derive(Clone, Debug)]
pub struct RootProfile {
    /// Its common name.
    pub name: String,
    /// First second of validity.
    pub not_before: u64,
    /// Seconds of validity; ten years by [`RootProfile::new`].
    pub lifetime: u64,
}

impl RootProfile {
    /// Ten years from `not_before`.
    pub fn new(name: impl Into<String>, not_before: u64) -> RootProfile {
        RootProfile { name: name.into(), not_before, lifetime: 3652 * 86_400 }
    }
}

/// An issuing certificate: CA with path length 0, keyCertSign and cRLSign, and critical name constraints. It has the extended
/// key usages of its family, since webpki wants them here too.
#[derive(Clone, Debug)]
pub struct IssuingProfile {
    /// Its common name.
    pub name: String,
    /// The kind of leaves that it makes.
    pub family: Family,
    /// The lines delegated to it, for [`Family::Contexts`]. With [`LineScope::Trees`], status, feed and log leaves cover only
    /// these trees.
    pub lines: LineScope,
    /// First second of validity.
    pub not_before: u64,
    /// Seconds of validity; five years by [`IssuingProfile::new`].
    pub lifetime: u64,
}

impl IssuingProfile {
    /// Five years from `not_before`, for all lines.
    pub fn new(name: impl Into<String>, family: Family, not_before: u64) -> IssuingProfile {
        IssuingProfile {
            name: name.into(),
            family,
            lines: LineScope::All,
            not_before,
            lifetime: 1826 * 86_400,
        }
    }

    /// The same for some lines only.
    pub fn lines(mut self, lines: LineScope) -> IssuingProfile {
        self.lines = lines;
        self
    }
}

/// The names of a leaf, by its usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeafNames {
    /// Context: exactly these lines, in DNS and in URI form.
    Lines(Vec<Line>),
    /// Status, feed, log: the trees that it speaks for.
    Scope(LineScope),
    /// Agent, policy: its one id. Server: an optional id, DNS hosts and addresses; at least one of all.
    Endpoint {
        /// The SPIFFE id.
        id: Option<SpiffeId>,
        /// DNS host names, without wildcards.
        hosts: Vec<String>,
        /// Addresses.
        addresses: Vec<IpAddr>,
    },
}

/// A leaf certificate.
#[derive(Clone, Debug)]
pub struct LeafProfile {
    /// Its common name, for people; no check reads it.
    pub name: String,
    /// Its usage.
    pub usage: Usage,
    /// A server that also opens connections, such as the gateway: adds clientAuth.
    pub also_client: bool,
    /// Its names.
    pub names: LeafNames,
    /// The prefix of its URIs.
    pub prefix: Prefix,
    /// First second of validity.
    pub not_before: u64,
    /// Seconds of validity, at most 90 days; 30 days by the constructors.
    pub lifetime: u64,
    /// The addresses of its issuer's revocation lists; none: the leaf names no list.
    pub crl: Option<CrlShards>,
}

impl LeafProfile {
    /// A context signer for exactly these lines.
    pub fn context(lines: Vec<Line>, not_before: u64) -> LeafProfile {
        LeafProfile::of(Usage::Context, LeafNames::Lines(lines), not_before)
    }

    /// A status, feed or log signer for these trees.
    pub fn role(usage: Usage, scope: LineScope, not_before: u64) -> LeafProfile {
        LeafProfile::of(usage, LeafNames::Scope(scope), not_before)
    }

    /// A signer of policy sets. It signs for no line. Its name is the tree of all lines, so that only an issuer for every
    /// line may certify it.
    pub fn policy(id: SpiffeId, not_before: u64) -> LeafProfile {
        let names = LeafNames::Endpoint { id: Some(id), hosts: Vec::new(), addresses: Vec::new() };
        LeafProfile::of(Usage::Policy, names, not_before)
    }

    /// A server.
    pub fn server(
        id: Option<SpiffeId>,
        hosts: Vec<String>,
        addresses: Vec<IpAddr>,
        not_before: u64,
    ) -> LeafProfile {
        LeafProfile::of(Usage::Server, LeafNames::Endpoint { id, hosts, addresses }, not_before)
    }

    /// An agent.
    pub fn agent(id: SpiffeId, not_before: u64) -> LeafProfile {
        let names = LeafNames::Endpoint { id: Some(id), hosts: Vec::new(), addresses: Vec::new() };
        LeafProfile::of(Usage::Agent, names, not_before)
    }

    /// The same with another lifetime, in seconds.
    pub fn lifetime(mut self, seconds: u64) -> LeafProfile {
        self.lifetime = seconds;
        self
    }

    /// The same, naming the revocation list that covers it.
    pub fn crl(mut self, shards: CrlShards) -> LeafProfile {
        self.crl = Some(shards);
        self
    }

    /// The same with clientAuth too, for a server that also opens connections.
    pub fn also_client(mut self) -> LeafProfile {
        self.also_client = true;
        self
    }

    pub(crate) fn of(usage: Usage, names: LeafNames, not_before: u64) -> LeafProfile {
        LeafProfile {
            name: format!("Semgate {usage}"),
            usage,
            also_client: false,
            names,
            prefix: Prefix::default(),
            not_before,
            lifetime: 30 * 86_400,
            crl: None,
        }
    }
}

#[cfg(test)]
mod tests;
