//! What is remembered, in a form that outlives the process.

use super::{About, Delivery, Kind, Scope};
use semgate_contexts::{ContextUrn, Digest, Prefix};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing and whose it is, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owned {
    /// The SPIFFE id of the agent that keeps it.
    pub agent: String,
    /// The tenant of that agent, where the route had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// Its id, as the agent wrote it.
    pub id: String,
    /// The SPIFFE id of its owner.
    pub owner: String,
    /// The URN of the context that it was begun under.
    pub context: String,
    /// That context's digest.
    pub digest: String,
    /// Where notifications go, of a [`Kind::Delivery`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Box<Delivery>>,
}

/// Hears of everything that is learnt or forgotten, in that order. It is called while the memory is locked, so it may only put
/// the record aside. A record that gets lost makes a thing unknown to its owner too; it gives it to nobody else before the
/// agent behind names it again.
pub trait Journal: Send + Sync {
    /// This is owned from now on; the last record of a thing tells what it is about.
    fn learnt(&self, owned: &Owned);

    /// This is no longer remembered.
    fn forgotten(&self, owned: &Owned);
}

/// A record cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedFault {
    /// The context is no canonical URN under the prefix in use.
    Context,
    /// The digest is none.
    Digest,
    /// Agent, tenant, id or owner is empty, or longer than 2048 bytes, as long as a SPIFFE id may be.
    Name,
}

impl fmt::Display for OwnedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Context => "the context of a record is no urn in canonical form",
            Self::Digest => "the digest of a record is not `sha-256:` and 64 lowercase hex digits",
            Self::Name => "agent, tenant, id or owner of a record is empty or too long",
        })
    }
}

impl std::error::Error for OwnedFault {}

/// The longest SPIFFE id (SPIFFE-ID §2.3), and longer than any other name in a record.
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

    /// Whose ids its id is one of.
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
