//! Read access for the offline analysis of a policy set: each policy with its position, and the Cedar types of contexts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cedar_policy::pst::Clause;
use cedar_policy::{Effect, Policy, ResourceConstraint};
use semgate_contexts::{Context, Digest, Performative};
use serde_json::Value;

use crate::catalogue::Catalogue;
use crate::parse::{location, parse};
use crate::partial::Known;
use crate::{
    AgentEntry, ConceptType, Location, Obligation, PolicyFault, PolicyLimits, PolicySource, agents::Agents,
    negotiated_terms, policy_text,
};

/// One policy of a set.
#[derive(Debug, Clone)]
pub struct ParsedPolicy {
    /// `file#id`.
    pub id: Arc<str>,
    /// Its first character.
    pub location: Location,
    /// The policy; its Cedar id is `id`.
    pub policy: Policy,
    /// Its conditions, in their order.
    pub clauses: Arc<[Clause]>,
    /// The beginning of each clause.
    pub clause_locations: Vec<Location>,
    /// The obligation of a permit that has one.
    pub obligation: Option<Arc<Obligation>>,
}

impl ParsedPolicy {
    /// True for a `permit`.
    #[must_use]
    pub fn permits(&self) -> bool {
        self.policy.effect() == Effect::Permit
    }

    /// True for a permit with `@approve`, whatever triggers it.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.obligation.as_ref().is_some_and(|obligation| obligation.approve.is_some())
    }

    /// True if its conditions exclude every message of a concept, or of a concept and a performative.
    #[must_use]
    pub fn excludes(&self, concept: ConceptType<'_>, action: Option<Performative>) -> bool {
        Known { info: Some(concept.info), action, direction: None }.excludes(&self.clauses)
    }
}

/// Parses a set. Guarantees nothing about how its policies fit any contexts.
///
/// # Errors
/// Every fault of syntax, annotation or `entities.json`.
pub fn parse_set(
    source: &PolicySource,
    limits: &PolicyLimits,
) -> Result<(Vec<ParsedPolicy>, Vec<AgentEntry>), Vec<PolicyFault>> {
    let agents = Agents::read(&source.entities, limits)?.entries().to_vec();
    let policies = parse(&source.files, limits)?.into_iter().filter_map(|written| {
        let (file, text) = source.files.get(written.file)?;
        let own = policy_text::of(text.get(written.start..).unwrap_or_default());
        let at = |offset: usize| location(file, text, written.start + offset);
        Some(ParsedPolicy {
            id: written.id,
            location: at(0),
            policy: written.policy,
            clause_locations: policy_text::clauses(&own).into_iter().map(at).collect(),
            clauses: written.clauses,
            obligation: written.obligation,
        })
    });
    Ok((policies.collect(), agents))
}

/// The Cedar schema of contexts, and the type that each shape has in it.
#[derive(Debug)]
pub struct ContextTypes {
    schema: Value,
    names: BTreeMap<(Digest, String), String>,
}

impl ContextTypes {
    /// Types these contexts, and the learnt concepts that these policies name.
    #[must_use]
    pub fn of(contexts: &[Arc<Context>], policies: &[ParsedPolicy]) -> Self {
        let mut catalogue = Catalogue::build(contexts);
        let named = policies.iter().filter_map(|parsed| match parsed.policy.resource_constraint() {
            ResourceConstraint::Is(name) => {
                let name = name.to_string();
                name.strip_prefix(negotiated_terms::SPACE)?.strip_prefix("::").map(str::to_owned)
            }
            _ => None,
        });
        catalogue.add_learnt(&named.filter(|name| !name.contains("::")).collect::<BTreeSet<_>>());
        let mut names = BTreeMap::new();
        for context in contexts {
            for shape in context.shapes() {
                let shape_info = catalogue.shape(context.digest(), shape.name());
                if let Some(info) = shape_info.and_then(|one| catalogue.types.get(one.of_type)) {
                    names.insert((*context.digest(), shape.name().to_owned()), info.name.clone());
                }
            }
        }
        Self { schema: catalogue.schema_json(), names }
    }

    /// The schema in Cedar's JSON form.
    #[must_use]
    pub const fn schema(&self) -> &Value {
        &self.schema
    }

    /// The full Cedar name of a shape; none where the context is left out.
    #[must_use]
    pub fn name(&self, context: &Context, shape: &str) -> Option<&str> {
        self.names.get(&(*context.digest(), shape.to_owned())).map(String::as_str)
    }
}
