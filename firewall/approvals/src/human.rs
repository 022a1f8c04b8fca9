//! Human Cards (F1-01 to F1-07): people whom agents can address and who can decide.

use std::collections::{BTreeMap, BTreeSet};

use semgate_policies::Approvers;
use serde::{Deserialize, Serialize};

use crate::HumanId;

/// Availability of a person (F1-06).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HumanStatus {
    /// Answers now.
    #[default]
    Available,
    /// Answers later.
    Busy,
    /// Does not answer.
    Offline,
}

/// Profile of a person (F1-03).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name for people.
    pub name: String,
    /// Role.
    #[serde(default)]
    pub role: String,
    /// Time zone, as `UTC-5` or `Europe/Berlin`.
    #[serde(default)]
    pub timezone: String,
}

/// The card of one person: the members of the paper, and who the person is to this gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HumanCard {
    /// The id.
    pub id: HumanId,
    /// The profile.
    pub profile: Profile,
    /// Subjects that the person may be asked about.
    #[serde(default)]
    pub capabilities: BTreeSet<String>,
    /// Addresses by channel. No agent ever sees them.
    #[serde(default)]
    pub endpoints: BTreeMap<String, String>,
    /// Availability at the start; the registry keeps later changes.
    #[serde(default)]
    pub status: HumanStatus,
    /// SPIFFE id of the person's client certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Groups of people.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub groups: BTreeSet<String>,
    /// SPIFFE ids of the agents that this person operates, whose actions the person may not approve.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub operates: BTreeSet<String>,
}

impl HumanCard {
    /// Returns true if the set includes this person.
    pub fn is_in(&self, approvers: &Approvers) -> bool {
        match approvers {
            Approvers::Capability(name) => self.capabilities.contains(name.as_ref()),
            Approvers::Group(name) => self.groups.contains(name.as_ref()),
            Approvers::Human(id) => self.id.as_str() == id.as_ref(),
        }
    }

    /// Returns true if actions of this agent are the person's own.
    pub fn stands_behind(&self, agent: &str) -> bool {
        self.operates.contains(agent) || self.certificate.as_deref() == Some(agent)
    }
}

/// Every card, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HumanRegistry {
    cards: BTreeMap<HumanId, HumanCard>,
}

impl HumanRegistry {
    /// A registry of these cards.
    ///
    /// # Errors
    /// The id of a second card with the same id, certificate, or address at a channel: one proof names one person.
    pub fn new(cards: impl IntoIterator<Item = HumanCard>) -> Result<Self, HumanId> {
        let (mut all, mut proofs) = (BTreeMap::new(), BTreeSet::new());
        for card in cards {
            let addresses =
                card.endpoints.iter().map(|(channel, address)| (channel.clone(), address.clone()));
            let shown = card.certificate.iter().map(|id| (String::new(), id.clone()));
            for proof in addresses.chain(shown) {
                if !proofs.insert(proof) {
                    return Err(card.id);
                }
            }
            let id = card.id.clone();
            if all.insert(id.clone(), card).is_some() {
                return Err(id);
            }
        }
        Ok(Self { cards: all })
    }

    /// The card of this person.
    pub fn get(&self, id: &HumanId) -> Option<&HumanCard> {
        self.cards.get(id)
    }

    /// The card that names this client certificate.
    pub fn by_certificate(&self, spiffe: &str) -> Option<&HumanCard> {
        self.cards.values().find(|card| card.certificate.as_deref() == Some(spiffe))
    }

    /// Every card, by id.
    pub fn cards(&self) -> impl Iterator<Item = &HumanCard> {
        self.cards.values()
    }
}
