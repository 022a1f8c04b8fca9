//! Can a `@confidence` be met? Judged against every version of the type: some version must have the member as a number.
//!
//! A message of a version without it always asks, since an absent member meets no floor.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cedar_policy::ResourceConstraint;
use semgate_contexts::{Context, FieldType};

use crate::FieldPath;
use crate::PolicyFault;
use crate::catalogue::Catalogue;
use crate::check::Texts;
use crate::fields::dotted;
use crate::negotiated_terms;
use crate::parse::{Written, annotated};
use crate::redactable::versions;
use crate::suggest::did_you_mean;

/// Members at the top of instances that a `@confidence` of a set reads, by type.
#[derive(Debug, Default)]
pub(crate) struct ConfidenceMembers(BTreeMap<String, BTreeSet<Box<str>>>);

impl ConfidenceMembers {
    /// Those of these policies.
    pub fn of(written: &[Written]) -> Self {
        let mut members = Self::default();
        for written in written {
            let floor = written.obligation.as_ref().and_then(|one| one.when.confidence.as_ref());
            let Some(top) = floor.and_then(|floor| floor.path.first()) else { continue };
            let ResourceConstraint::Is(of_type) = written.policy.resource_constraint() else { continue };
            members.0.entry(of_type.to_string()).or_default().insert(top.clone());
        }
        members
    }

    /// Returns true if one reads this member of this type.
    pub fn has(&self, of_type: &str, member: &str) -> bool {
        self.0.get(of_type).is_some_and(|members| members.contains(member))
    }
}

/// The finding of one version about a member.
#[derive(Debug, PartialEq, Eq)]
enum Member {
    Number,
    /// It has another type.
    NoNumber,
    /// There is none of this name; the names that are there.
    Absent(Vec<String>),
}

impl Texts<'_> {
    /// Members that a `@confidence` names and that no version of the type has as a number.
    pub fn never_sure(&self, contexts: &[Arc<Context>], catalogue: &Catalogue) -> Vec<PolicyFault> {
        let floor = |written: &Written| {
            let floor = written.obligation.as_ref()?.when.confidence.as_ref()?;
            self.never_met(written, &floor.path, contexts, catalogue)
        };
        self.written.iter().filter_map(floor).collect()
    }

    fn never_met(
        &self,
        written: &Written,
        path: &FieldPath,
        contexts: &[Arc<Context>],
        catalogue: &Catalogue,
    ) -> Option<PolicyFault> {
        let ResourceConstraint::Is(of_type) = written.policy.resource_constraint() else { return None };
        let of_type = of_type.to_string();
        if of_type.split("::").next() == Some(negotiated_terms::SPACE) {
            return Some(self.unmet(written, "a settled name has no members".to_owned(), None));
        }
        let mut first = None;
        for (context, fields) in versions(&of_type, contexts, catalogue) {
            match member(fields, path) {
                Member::Number => return None,
                other => first = first.or(Some((context, other))),
            }
        }
        // a type that no context has is a fault of the scope, and reported as one
        let (why, hint) = match first? {
            (context, Member::NoNumber) => {
                let why = format!("`{}` is no number in {}", dotted(path), context.urn());
                (why, Some("name a member of type `number` or `integer`".to_owned()))
            }
            (_, Member::Absent(names)) => {
                let last = path.last().map(|name| &**name).unwrap_or_default();
                let why = format!("`{of_type}` has no member `{}`", dotted(path));
                (why, did_you_mean(last, names.iter().map(String::as_str)))
            }
            (_, Member::Number) => return None,
        };
        Some(self.unmet(written, why, hint))
    }

    fn unmet(&self, written: &Written, why: String, hint: Option<String>) -> PolicyFault {
        PolicyFault::Invalid {
            location: self.location_at(written, annotated(self.text(written), "confidence")),
            policy: written.id.to_string(),
            why: format!("`@confidence`: {why}"),
            hint,
        }
    }
}

/// Follows a path; arrays stand for their items.
fn member(fields: &FieldType, path: &[Box<str>]) -> Member {
    let mut here = items(fields);
    for name in path {
        let FieldType::Record(members) = here else { return Member::Absent(Vec::new()) };
        let Some(field) = members.get(&**name) else {
            return Member::Absent(members.keys().cloned().collect());
        };
        here = items(&field.kind);
    }
    match here {
        FieldType::Integer | FieldType::Decimal | FieldType::OtherNumber => Member::Number,
        _ => Member::NoNumber,
    }
}

/// The type of a value, or of the items of an array.
fn items(kind: &FieldType) -> &FieldType {
    match kind.present() {
        FieldType::Array(inner) => items(inner),
        other => other,
    }
}
