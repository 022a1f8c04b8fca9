//! `x-embedding` and `references`: a model keeps its space, and a reference vector stays as it is.
//!
//! No content may change its validity by either. But a metric decides what is similar, and policies hold thresholds against reference
//! vectors, so whoever relied on the older version relied on both.

use std::collections::BTreeMap;

use super::verdict::{Part, Role, Verdict};
use crate::document::Context;
use crate::schema::pointer;
use crate::vectors::{ModelName, Space};

/// One part for each model that both name with another space, and one for each reference vector of the older that the newer lacks or
/// changes.
pub(super) fn embeddings(old: &Context, new: &Context) -> Vec<Part> {
    let after: BTreeMap<ModelName, &Space> = new.spaces().map(|space| (space.model, space)).collect();
    let changed = old.spaces().filter_map(|before| {
        let after = after.get(&before.model).filter(|after| **after != before)?;
        let described =
            format!("any vector of `{}`: {} before, {} now", before.model, before.words(), after.words());
        Some(part(&["x-embedding", before.model.as_str()], "the model has another space", described))
    });
    let vectors = new.reference_vectors().texts();
    let moved = old.reference_vectors().texts().into_iter().filter_map(|(name, before)| {
        let reason = match vectors.get(&name) {
            Some(after) if *after == before => return None,
            Some(_) => "the reference vector is another one",
            None => "the reference vector is no longer there",
        };
        let [of, model] = name;
        let described = format!("any vector of `{model}` that a policy compares with the reference `{of}`");
        Some(part(&["references", of, model], reason, described))
    });
    changed.chain(moved).collect()
}

fn part(path: &[&str], reason: &str, described: String) -> Part {
    Part {
        pointer: pointer(path),
        role: Role::Accepts,
        verdict: Verdict::Breaking,
        reason: reason.to_owned(),
        witness: None,
        described: Some(described),
        changes: Vec::new(),
    }
}
