//! Persistent form of the ownership memory.

use super::{About, Delivery, Kind, Scope};
use semgate_contexts::{ContextUrn, Digest, Prefix};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One owned thing as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owned {
    /// SPIFFE id of the agent that keeps the thing.
    pub agent: String,
    /// Tenant of that agent, if the route has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Kind of the thing.
    pub kind: Kind,
    /// Id of the thing, as the agent wrote it.
    pub id: String,
    /// SPIFFE id of the owner.
    pub owner: String,
    /// URN of the context that the thing was begun under.
    pub context: String,
    /// Digest of the context.
    pub digest: String,
    /// Delivery target of a [`Kind::Delivery`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Box<Delivery>>,
}

/// Receiver of all changes, in order.
///
/// It is called under the memory's lock, so it may only queue the record. A lost record makes a thing unknown
/// to its owner. No other agent gets it before the upstream agent names it again.
pub trait Journal: Send + Sync {
    /// Records an owned thing. The last record of a thing holds its current context.
    fn learnt(&self, owned: &Owned);

    /// Records a forgotten thing.
    fn forgotten(&self, owned: &Owned);
}

/// Reason why a record is not readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedFault {
    /// The context is not a canonical URN under the prefix in use.
    Context,
    /// The digest is malformed.
    Digest,
    /// Agent, tenant, id or owner is empty, or longer than 2048 bytes, the maximum of a SPIFFE id.
    Name,
}

impl fmt::Display for OwnedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Context => "the context of a record is not a urn in canonical form",
            Self::Digest => "the digest of a record is not `sha-256:` and 64 lowercase hex digits",
            Self::Name => "agent, tenant, id or owner of a record is empty or too long",
        })
    }
}

impl std::error::Error for OwnedFault {}

/// Maximum bytes of a name: that of a SPIFFE id (SPIFFE-ID §2.3), longer than any other name in a record.
const MAX_NAME: usize = 2_048;

impl Owned {
    pub(super) fn of(scope: &Scope<'_>, kind: Kind, id: &str, owner: &str, about: &About) -> Self {
        Self {
            agent: scope.agent().to_owned(),
            tenant: scope.tenant().map(str::to_owned),
            kind,
            id: id.to_owned(),
            owner: owner.to_owned(),
            context: about.urn.to_string(),
            digest: about.digest.to_string(),
            delivery: None,
        }
    }

    /// The agent and tenant whose id this is.
    pub fn scope(&self) -> Scope<'_> {
        Scope::new(&self.agent, self.tenant.as_deref())
    }

    pub(super) fn about(&self, prefix: &Prefix) -> Result<About, OwnedFault> {
        let tenant = self.tenant.as_ref().unwrap_or(&self.id);
        let names = [&self.agent, tenant, &self.id, &self.owner];
        if names.iter().any(|name| name.is_empty() || name.len() > MAX_NAME || name.contains('\n')) {
            return Err(OwnedFault::Name);
        }
        let urn = ContextUrn::parse(&self.context, prefix).map_err(|_| OwnedFault::Context)?;
        let digest = Digest::parse(&self.digest).map_err(|_| OwnedFault::Digest)?;
        Ok(About { urn, digest })
    }
}
