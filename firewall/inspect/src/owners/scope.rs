//! Which agent a thing is of: ids are that agent's own, whatever address it is reached by.

use crate::Route;
use std::borrow::Cow;

/// The agent that keeps a thing, and the tenant of it where a route has one: ids of two agents, or of two tenants, never meet. Two
/// routes to one receiver share what is owned, whatever their transports and addresses: an agent is who its id says (`docs/design/firewall.md` §3),
/// and what one connection of it told is asked for over another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope<'r>(Cow<'r, str>);

/// No SPIFFE id and no tenant of a configuration holds it.
const BETWEEN: char = '\n';

impl<'r> Scope<'r> {
    /// Of an agent, by its SPIFFE id, and a tenant of it.
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

    /// Its tenant.
    pub fn tenant(&self) -> Option<&str> {
        self.0.split_once(BETWEEN).map(|(_, tenant)| tenant)
    }

    /// The same, to be kept.
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
    /// Whose ids the ids of this route are.
    pub fn scope(&self) -> Scope<'_> {
        Scope::new(&self.receiver, self.tenant.as_deref())
    }
}
