//! Finding people (F1-07).

use serde::Serialize;

use crate::{HumanCard, HumanId, HumanRegistry, HumanStatus};

/// The people of one answer: a team, and few enough to read.
const MAX_LISTED: usize = 256;

/// All that an agent learns about a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedHuman {
    /// The id.
    pub id: HumanId,
    /// The role of the profile.
    pub role: String,
    /// The availability of the moment.
    pub status: HumanStatus,
}

/// People with a capability, at a status, in the order of their ids: at most 256. An absent condition holds for everybody.
pub fn find(
    registry: &HumanRegistry,
    status_of: impl Fn(&HumanCard) -> HumanStatus,
    capability: Option<&str>,
    status: Option<HumanStatus>,
) -> Vec<ListedHuman> {
    let able = |card: &&HumanCard| capability.is_none_or(|name| card.capabilities.contains(name));
    let listed = registry.cards().filter(able).map(|card| ListedHuman {
        id: card.id.clone(),
        role: card.profile.role.clone(),
        status: status_of(card),
    });
    listed.filter(|human| status.is_none_or(|status| status == human.status)).take(MAX_LISTED).collect()
}
