//! Concepts that two agents settled between themselves (F0-31): no context defines them and nobody signed them. A policy that names
//! `learnt::NAME` makes the type; without one there is none, and nothing of that name is ever permitted.

use std::collections::{BTreeMap, BTreeSet};

use cedar_policy::ResourceConstraint;
use semgate_contexts::{Line, Performative};

use crate::kinds::{Attribute, Attributes, Kind};
use crate::names::type_name;
use crate::parse::Written;

/// The namespace, and the label that no line may begin with for policies.
pub(crate) const SPACE: &str = "learnt";

/// The one member of every learnt concept that policies see: one of the codes that were settled.
pub(crate) const VALUE: &str = "value";

/// The performatives of learnt terms: those that inform or answer, none that asks for an act (`docs/spec/clarification.md`).
pub(crate) const PERFORMATIVES: [Performative; 3] =
    [Performative::Inform, Performative::Publish, Performative::Agree];

/// The Cedar name of a learnt concept.
pub(crate) fn full_name(concept: &str) -> String {
    format!("{SPACE}::{}", type_name(concept))
}

/// Returns true if policies would take types of the line for learnt ones.
pub(crate) fn is_reserved(line: &Line) -> bool {
    line.labels().next() == Some(SPACE)
}

/// The names of the types that the scope of some permit has, without the namespace.
pub(crate) fn named<'w>(policies: impl Iterator<Item = &'w Written>) -> BTreeSet<String> {
    let of = |policy: &'w Written| match policy.policy.resource_constraint() {
        ResourceConstraint::Is(name) | ResourceConstraint::IsIn(name, _) if policy.permits() => {
            let name = name.to_string();
            let own = name.strip_prefix(SPACE)?.strip_prefix("::")?;
            (!own.contains("::")).then(|| own.to_owned())
        }
        _ => None,
    };
    policies.filter_map(of).collect()
}

/// Members of a learnt concept that policies see.
pub(crate) fn attributes() -> Attributes {
    let value = Attribute { kind: Some(Kind::String), required: true, nullable: false };
    Attributes { members: BTreeMap::from([(VALUE.to_owned(), value)]), open: false }
}
