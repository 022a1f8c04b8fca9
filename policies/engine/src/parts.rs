//! Strict validation of many policies over many types, at a cost that does not grow with their product.
//!
//! Cedar looks at a policy once for each (action, type) of a schema, so ten thousand policies over a thousand contexts are a
//! hundred million looks. Nearly all of them say the same: where the scope names one type, its condition is not looked at beside
//! any other; where the scope is open, two types whose members that the condition names are of the same kinds give the same
//! answer. So each policy is validated against a part of the schema that holds, with their own actions, every type that its
//! scope can match, or one of each such group of alike types, and the name of every other type that it mentions. A policy with a
//! fault in its part is validated again against the whole schema, which has the last word; one that uses the instance as a value
//! always is. Which policies are valid is therefore the same as with the whole schema for all, which is put together only where it is
//! needed: that of a thousand contexts takes a tenth of a second.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cedar_policy::{PolicySet, ResourceConstraint, Schema, ValidationMode, Validator};
use semgate_contexts::{Performative, PerformativeSet};

use crate::catalogue::{Catalogue, TypeInfo};
use crate::check::{Texts, in_order, policy_in};
use crate::kinds::Kind;
use crate::parse::Written;
use crate::{PolicyFault, pace};

/// Policies with a fault that are validated against the whole schema, for the sake of its words; a set with more of them is
/// mended from the first on.
const SAID_IN_FULL: usize = 64;

/// The types that the policies of a part are validated beside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum TypeScope {
    /// The types of one line.
    Line(String),
    /// One of each group of types that are alike in these members.
    Alike(BTreeSet<String>, BTreeSet<String>),
    Everything,
}

struct Part<'w> {
    scope: TypeScope,
    policies: Vec<&'w Written>,
}

impl Texts<'_> {
    /// The faults that are found with the whole schema.
    ///
    /// # Errors
    /// A schema that is needed is not one.
    pub fn validate_all(
        &self,
        policies: &[&Written],
        catalogue: &Catalogue,
    ) -> Result<Vec<PolicyFault>, PolicyFault> {
        let parts = parts(policies, catalogue);
        let names: HashMap<&str, usize> =
            catalogue.types.iter().enumerate().map(|(at, info)| (info.name.as_str(), at)).collect();
        let mut faults = Vec::new();
        for part in parts {
            faults.extend(self.validate_part(&part, catalogue, &names)?);
        }
        // What Cedar does not look for does not depend on the part.
        let mut faults = self.in_full(policies, faults, catalogue)?;
        faults.extend(self.hidden(policies.iter().copied(), catalogue));
        in_order(&mut faults);
        Ok(faults)
    }

    fn validate_part(
        &self,
        part: &Part<'_>,
        catalogue: &Catalogue,
        names: &HashMap<&str, usize>,
    ) -> Result<Vec<PolicyFault>, PolicyFault> {
        let scope = match &part.scope {
            TypeScope::Everything => {
                return self.validate_each(&part.policies, catalogue.schema()?, catalogue);
            }
            TypeScope::Line(line) => of_line(line, catalogue),
            TypeScope::Alike(members, types) => alike(members, types, catalogue),
        };
        let mentioned = part.policies.iter().flat_map(|written| &written.reads.types);
        let mentioned = mentioned.filter_map(|name| names.get(name.as_str()).copied());
        let also: BTreeSet<usize> = mentioned.filter(|at| !scope.contains(at)).collect();
        let full = scope.iter().filter_map(|at| catalogue.types.get(*at)).cloned();
        let bare = also.iter().filter_map(|at| catalogue.types.get(*at)).cloned();
        let bare = bare.map(|info| TypeInfo { performatives: PerformativeSet::EMPTY, ..info });
        let small = Catalogue::of_types(full.chain(bare).collect());
        self.validate_each(&part.policies, small.schema()?, catalogue)
    }

    /// The faults of each policy. Cedar validates a policy by itself, so policies are handed over one by one, with a yield before each.
    fn validate_each(
        &self,
        policies: &[&Written],
        schema: Schema,
        catalogue: &Catalogue,
    ) -> Result<Vec<PolicyFault>, PolicyFault> {
        let (mut faults, validator) = (Vec::new(), Validator::new(schema));
        for written in policies {
            pace::rest();
            let set = PolicySet::from_policies([written.policy.clone()])
                .map_err(|e| PolicyFault::Schema { why: e.to_string() })?;
            let result = validator.validate(&set, ValidationMode::Strict);
            faults.extend(self.validated(written, &result, catalogue));
        }
        Ok(faults)
    }

    /// The same faults in the words that the whole schema gives them, those of the first policies.
    fn in_full(
        &self,
        policies: &[&Written],
        faults: Vec<PolicyFault>,
        catalogue: &Catalogue,
    ) -> Result<Vec<PolicyFault>, PolicyFault> {
        let wrong: BTreeSet<&str> = faults.iter().filter_map(policy_in).collect();
        let again = policies.iter().filter(|written| wrong.contains(&*written.id));
        let again: BTreeMap<&str, &Written> =
            again.take(SAID_IN_FULL).map(|written| (&*written.id, *written)).collect();
        if again.is_empty() {
            return Ok(faults);
        }
        let again_all: Vec<&Written> = again.values().copied().collect();
        let mut full = self.validate_each(&again_all, catalogue.schema()?, catalogue)?;
        let stated = |fault: &PolicyFault| policy_in(fault).is_some_and(|policy| again.contains_key(policy));
        full.extend(faults.iter().filter(|fault| !stated(fault)).cloned());
        Ok(full)
    }
}

fn parts<'w>(policies: &[&'w Written], catalogue: &Catalogue) -> Vec<Part<'w>> {
    let lines: HashMap<&str, &str> =
        catalogue.types.iter().map(|info| (info.name.as_str(), info.line.as_str())).collect();
    let mut parts: BTreeMap<TypeScope, Vec<&'w Written>> = BTreeMap::new();
    for written in policies {
        let scope = match written.policy.resource_constraint() {
            ResourceConstraint::Is(name) => match lines.get(name.to_string().as_str()) {
                Some(line) => TypeScope::Line((*line).to_owned()),
                None => TypeScope::Everything,
            },
            ResourceConstraint::Any if !written.reads.resource.all => {
                TypeScope::Alike(written.reads.resource.names.clone(), written.reads.types.clone())
            }
            _ => TypeScope::Everything,
        };
        parts.entry(scope).or_default().push(written);
    }
    parts.into_iter().map(|(scope, policies)| Part { scope, policies }).collect()
}

fn of_line(line: &str, catalogue: &Catalogue) -> BTreeSet<usize> {
    let types = catalogue.types.iter().enumerate();
    types.filter(|(_, info)| info.line.as_str() == line).map(|(at, _)| at).collect()
}

/// The features by which a condition on these members could tell two types apart.
type Look<'c> = (Vec<Performative>, Vec<Option<(&'c Kind, bool)>>);

/// The first of each group of types that look the same, and every type that is mentioned.
fn alike(members: &BTreeSet<String>, types: &BTreeSet<String>, catalogue: &Catalogue) -> BTreeSet<usize> {
    let mut groups: Vec<(Look<'_>, usize)> = Vec::new();
    let mut chosen = BTreeSet::new();
    for (at, info) in catalogue.types.iter().enumerate() {
        if types.contains(&info.name) {
            chosen.insert(at);
            continue;
        }
        let seen = |name: &String| {
            let attribute = info.attributes.members.get(name)?;
            Some((attribute.kind.as_ref()?, attribute.required))
        };
        let look: Look<'_> = (info.performatives.iter().collect(), members.iter().map(seen).collect());
        if !groups.iter().any(|(known, _)| *known == look) {
            groups.push((look, at));
        }
    }
    chosen.extend(groups.into_iter().map(|(_, at)| at));
    chosen
}
