//! Can what a `@redact` names be taken out? Judged against every version of the type, since any of them may be said.
//!
//! A member is taken out whole and nothing is put in its place, so a reply without it fits its schema only where no version
//! requires it.

use std::sync::Arc;

use cedar_policy::ResourceConstraint;
use semgate_contexts::{Context, FieldType};

use crate::annotations::REQUESTS_TOO;
use crate::catalogue::Catalogue;
use crate::check::Texts;
use crate::fields::dotted;
use crate::negotiated_terms;
use crate::parse::{Written, annotated};
use crate::partial::Known;
use crate::suggest::did_you_mean;
use crate::{FieldPath, PolicyFault};

/// Lines without redaction: the vocabularies of protocols, on which others build, and learnt terms, which are one value.
const NEVER: [&str; 3] = ["a2a", "mcp", negotiated_terms::SPACE];

/// The finding of one version about a member.
#[derive(Debug, PartialEq, Eq)]
enum Finding {
    Optional,
    Required,
    /// There is none of this name; the names that are there.
    Absent(Vec<String>),
    /// Something on the way is a union, or has no members that a schema names.
    Hidden(String),
}

impl Texts<'_> {
    /// Members that a `@redact` names and that no reply has, or that every reply of some version must have; and a `@redact` of what may be
    /// a request.
    pub fn unredactable(&self, contexts: &[Arc<Context>], catalogue: &Catalogue) -> Vec<PolicyFault> {
        let redacting =
            self.written.iter().filter_map(|written| Some((written, written.obligation.as_ref()?)));
        let mut faults = Vec::new();
        for (written, obligation) in redacting.filter(|(_, obligation)| !obligation.redact.is_empty()) {
            let request = Known { direction: Some("request"), ..Known::default() };
            if !request.excludes(&written.clauses) {
                faults.push(self.wrong(written, REQUESTS_TOO.to_owned(), None));
                continue;
            }
            for path in &obligation.redact {
                faults.extend(self.unfit(written, path, contexts, catalogue));
            }
        }
        faults
    }

    fn unfit(
        &self,
        written: &Written,
        path: &FieldPath,
        contexts: &[Arc<Context>],
        catalogue: &Catalogue,
    ) -> Option<PolicyFault> {
        let ResourceConstraint::Is(of_type) = written.policy.resource_constraint() else { return None };
        let of_type = of_type.to_string();
        if let Some(space) =
            of_type.split_once("::").map(|(space, _)| space).filter(|space| NEVER.contains(space))
        {
            return Some(self.wrong(written, format!("messages of `{space}` cannot be redacted"), None));
        }
        let (mut optional, mut absent) = (false, None);
        for (context, fields) in versions(&of_type, contexts, catalogue) {
            match find(fields, path) {
                Finding::Optional => optional = true,
                Finding::Absent(names) => absent = Some(names),
                Finding::Required => {
                    let why = format!(
                        "`{}` is required in {}, and a reply without it would violate the schema",
                        dotted(path),
                        context.urn()
                    );
                    return Some(self.wrong(
                        written,
                        why,
                        Some("forbid the reply, or redact a member that may be absent".to_owned()),
                    ));
                }
                Finding::Hidden(name) => {
                    let why = format!("what `{name}` holds in {} has no known members", context.urn());
                    return Some(self.wrong(written, why, Some(format!("redact all of `{name}`"))));
                }
            }
        }
        // a type that no context has is a fault of the scope, and told as one
        let names = absent.filter(|_| !optional)?;
        let last = path.last().map(|name| &**name).unwrap_or_default();
        let hint = did_you_mean(last, names.iter().map(String::as_str));
        Some(self.wrong(written, format!("`{of_type}` has no member `{}`", dotted(path)), hint))
    }

    fn wrong(&self, written: &Written, why: String, hint: Option<String>) -> PolicyFault {
        PolicyFault::Invalid {
            location: self.location_at(written, annotated(self.text(written), "redact")),
            policy: written.id.to_string(),
            why: format!("`@redact`: {why}"),
            hint,
        }
    }
}

/// The members of every version of a type.
pub(crate) fn versions<'c>(
    of_type: &str,
    contexts: &'c [Arc<Context>],
    catalogue: &Catalogue,
) -> Vec<(&'c Context, &'c FieldType)> {
    let is = |context: &Context, shape: &str| {
        let resolved =
            catalogue.shape(context.digest(), shape).and_then(|shape| catalogue.types.get(shape.of_type));
        resolved.is_some_and(|info| info.name == of_type)
    };
    let shapes = contexts.iter().flat_map(|context| context.shapes().map(move |shape| (&**context, shape)));
    shapes
        .filter(|(context, shape)| is(context, shape.name()))
        .map(|(context, shape)| (context, shape.fields()))
        .collect()
}

/// Follows a path; arrays stand for their items.
fn find(fields: &FieldType, path: &[Box<str>]) -> Finding {
    let mut here = fields;
    let mut last: Option<&str> = None;
    for (level, name) in path.iter().enumerate() {
        while let FieldType::Array(items) = here {
            here = items;
        }
        let FieldType::Record(members) = here else {
            return Finding::Hidden(last.unwrap_or_default().to_owned());
        };
        let Some(field) = members.get(&**name) else {
            return Finding::Absent(members.keys().cloned().collect());
        };
        if level + 1 == path.len() {
            return if field.required { Finding::Required } else { Finding::Optional };
        }
        (here, last) = (&field.kind, Some(&**name));
    }
    Finding::Absent(Vec::new())
}
