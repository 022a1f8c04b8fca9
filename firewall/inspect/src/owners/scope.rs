//! Scope of ids: ids belong to one agent, whatever its address.

use crate::Route;
use std::borrow::Cow;

/// The agent that keeps a thing, and its tenant if the route has one. Ids of two agents, or of two tenants,
/// never meet.
///
/// Routes to one receiver share ownership, whatever their transports and addresses. An agent is identified by
/// its id, so one connection may ask about things from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope<'r>(Cow<'r, str>);

/// Separator that no SPIFFE id and no configured tenant contains.
const BETWEEN: char = '\n';

impl<'r> Scope<'r> {
    /// The scope of an agent, by its SPIFFE id, and of its tenant.
    pub fn new(agent: &'r str, tenant: Option<&str>) -> Self {
        Self(match tenant {
            None => Cow::Borrowed(agent),
            Some(tenant) => Cow::Owned(format!("{agent}{BETWEEN}{tenant}")),
        })
    }

    /// The agent.
    pub fn agent(&self) -> &str {
        self.0.split(BETWEEN).next().unwrap_or_default()
    }

    /// The tenant.
    pub fn tenant(&self) -> Option<&str> {
        self.0.split_once(BETWEEN).map(|(_, tenant)| tenant)
    }

    /// An owned copy.
    pub(crate) fn kept(&self) -> Scope<'static> {
        Scope(Cow::Owned(self.0.clone().into_owned()))
    }

    pub(super) fn key(&self) -> &str {
        &self.0
    }

    pub(super) const fn of_key(key: &'r str) -> Self {
        Self(Cow::Borrowed(key))
    }
}

impl Route {
    /// The scope of this route's ids.
    pub fn scope(&self) -> Scope<'_> {
        Scope::new(&self.receiver, self.tenant.as_deref())
    }
}
