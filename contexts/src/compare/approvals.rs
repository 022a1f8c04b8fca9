//! `x-require-approval`: a newer version must ask a person wherever the older one did.
//!
//! No content changes its validity by it, but whoever relied on the older version relied on the person.

use std::collections::BTreeSet;

use super::verdict::{Part, Role, Verdict};
use crate::document::Context;
use crate::schema::pointer;
use crate::term::TermKind;

/// One part for each task of both that requires approval in one of them, by name. A task that one of them lacks is judged by its schemas
/// alone.
pub(super) fn approvals(old: &Context, new: &Context) -> Vec<Part> {
    let names: BTreeSet<&str> = old.terms().map(|term| term.name()).collect();
    names.into_iter().filter_map(|name| approval(name, old, new)).collect()
}

fn approval(name: &str, old: &Context, new: &Context) -> Option<Part> {
    let task = |context: &'_ Context| context.term(name).is_some_and(|term| term.kind() == TermKind::Task);
    if !task(old) || !task(new) {
        return None;
    }
    let [before, after] =
        [old, new].map(|context| context.term(name).and_then(|term| term.requires_approval()));
    let (verdict, reason, described) = match (before, after) {
        (None, None) => return None,
        (Some(before), Some(after)) if before == after => (Verdict::Compatible, "it is unchanged", None),
        (Some(_), Some(_)) => (Verdict::Compatible, "it asks a person in other words", None),
        (None, Some(_)) => (
            Verdict::Compatible,
            "a person must approve each request now; the schema takes what it took",
            None,
        ),
        (Some(_), None) => {
            let described =
                format!("any request of `{name}`, which no person has to approve in the newer version");
            (
                Verdict::Breaking,
                "the older version requires a person's approval, and the newer one does not",
                Some(described),
            )
        }
    };
    Some(Part {
        pointer: pointer(&["tasks", name, "x-require-approval"]),
        role: Role::Accepts,
        verdict,
        reason: reason.to_owned(),
        witness: None,
        described,
        changes: Vec::new(),
    })
}
