//! The scope of a policy against a question, one part at a time. It follows Cedar's own reading of the policy, not the index; tests hold
//! the two against each other.

use cedar_policy::{ActionConstraint, EntityUid, PrincipalConstraint, ResourceConstraint};
use semgate_contexts::Performative;
use semgate_policies::{AgentEntry, ConceptType, ParsedPolicy};

/// True if a part of a scope holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It does.
    Yes,
    /// It does not, and what would have to be so.
    No(String),
}

impl Fit {
    fn of(holds: bool, wish: impl FnOnce() -> String) -> Self {
        if holds { Self::Yes } else { Self::No(wish()) }
    }

    /// The condition that would have to hold.
    pub fn wish(&self) -> Option<&str> {
        match self {
            Self::Yes => None,
            Self::No(wish) => Some(wish),
        }
    }
}

/// Returns true if the scope is about this type at all.
pub(crate) fn resource(parsed: &ParsedPolicy, concept: ConceptType<'_>) -> Fit {
    let name = match parsed.policy.resource_constraint() {
        // what nobody signed passes only by a permit that names it; every forbid holds for it
        ResourceConstraint::Any => {
            let holds = !(concept.is_learnt() && parsed.permits());
            return Fit::of(holds, || "the policy would have to name the learnt term".to_owned());
        }
        ResourceConstraint::Is(name) => name.to_string(),
        // an instance has no name and is in nothing
        ResourceConstraint::IsIn(..) | ResourceConstraint::In(_) | ResourceConstraint::Eq(_) => String::new(),
    };
    Fit::of(name == concept.name(), || format!("it would have to be a `{name}`"))
}

/// Returns true if the scope is about this performative.
pub(crate) fn action(parsed: &ParsedPolicy, performative: Performative) -> Fit {
    let is = |uid: &EntityUid| uid.id().unescaped() == performative.as_str();
    let fits = match parsed.policy.action_constraint() {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(uid) => is(&uid),
        ActionConstraint::In(uids) => uids.iter().any(is),
    };
    Fit::of(fits, || performatives(parsed).unwrap_or_default())
}

/// The performatives that the scope is about, as what would have to be so; none where it leaves them open.
pub(crate) fn performatives(parsed: &ParsedPolicy) -> Option<String> {
    let name = |uid: &EntityUid| format!("`{}`", uid.id().unescaped());
    match parsed.policy.action_constraint() {
        ActionConstraint::Any => None,
        ActionConstraint::Eq(uid) => Some(format!("the performative would have to be {}", name(&uid))),
        ActionConstraint::In(uids) => {
            let names: Vec<String> = uids.iter().map(name).collect();
            Some(format!("the performative would have to be one of {}", names.join(", ")))
        }
    }
}

/// Returns true if the scope is about this sender.
pub(crate) fn principal(parsed: &ParsedPolicy, id: &str, entry: Option<&AgentEntry>) -> Fit {
    let within = |uid: &EntityUid| {
        let name = uid.id().unescaped();
        match uid.type_name().to_string().as_str() {
            "Group" => {
                Fit::of(entry.is_some_and(|entry| entry.groups.iter().any(|group| group == name)), || {
                    format!("the sender would have to be in the group `{name}`")
                })
            }
            _ => Fit::of(name == id, || format!("the sender would have to be `{name}`")),
        }
    };
    match parsed.policy.principal_constraint() {
        PrincipalConstraint::Any => Fit::Yes,
        PrincipalConstraint::Is(name) | PrincipalConstraint::IsIn(name, _) if name.to_string() != "Agent" => {
            Fit::No(format!("the sender would have to be a `{name}`"))
        }
        PrincipalConstraint::Is(_) => Fit::Yes,
        PrincipalConstraint::Eq(uid) => {
            let name = uid.id().unescaped();
            Fit::of(name == id, || format!("the sender would have to be `{name}`"))
        }
        PrincipalConstraint::In(uid) | PrincipalConstraint::IsIn(_, uid) => within(&uid),
    }
}
