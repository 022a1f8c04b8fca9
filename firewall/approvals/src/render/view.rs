//! A card from the JSON that a gateway serves to people.

use std::sync::Arc;

use semgate_policies::Approval;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::card::{Background, Card};
use crate::{ActionDigest, Hold, HoldId, HoldState, Subject};

impl Card {
    /// Reads the JSON of a hold. Guarantees that the shown action is the one that the digest covers.
    ///
    /// `None` if a member is missing, or if action, canonical form and digest disagree: then nobody should decide it.
    pub fn read(view: &Value) -> Option<Self> {
        let hold = hold(view)?;
        let last_approved = view.get("last_approved").and_then(|last| last.get("canonical")?.as_str());
        Some(Self::new(&hold, Background { last_approved, page: None }))
    }
}

fn hold(view: &Value) -> Option<Hold> {
    let text = |name: &str| view.get(name).and_then(Value::as_str);
    let canonical = text("canonical")?;
    let digest = ActionDigest::parse(text("digest")?)?;
    let subject = match view.get("action").filter(|action| !action.is_null()) {
        Some(action) => Subject::Action(part(action)?),
        None => Subject::Interaction(part(view.get("interaction")?)?),
    };
    let spelt = match &subject {
        Subject::Action(action) => action.canonical(),
        Subject::Interaction(asked) => asked.canonical(),
    };
    if spelt.ok()? != canonical || ActionDigest::of(canonical) != digest {
        return None;
    }
    Some(Hold {
        id: HoldId::parse(text("id")?)?,
        subject,
        urn: text("context_urn").map(Arc::from),
        canonical: canonical.into(),
        digest,
        demands: view.get("demands")?.as_array()?.iter().map(demand).collect::<Option<_>>()?,
        session: None,
        decision_id: text("decision_id").unwrap_or_default().into(),
        generation: 0,
        opened_at: view.get("opened_at")?.as_u64()?,
        expires_at: view.get("expires_at")?.as_u64()?,
        use_by: None,
        state: part::<HoldState>(view.get("state")?)?,
        ended: None,
        decisions: Vec::new(),
        delegations: Vec::new(),
        escalated: 0,
        uses: 0,
    })
}

/// The members of a demand that a card shows.
fn demand(view: &Value) -> Option<Approval> {
    let mut demand = Approval::new(view.get("policy")?.as_str()?, view.get("question")?.as_str()?);
    demand.quorum = part(view.get("quorum")?)?;
    demand.reason = part(view.get("reason")?)?;
    demand.assurance = part(view.get("assurance")?)?;
    Some(demand)
}

fn part<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}
