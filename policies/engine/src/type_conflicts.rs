//! Versions beside one another, whatever the policies are: which of them gateways could not type, and so would refuse every message of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use semgate_contexts::{Context, Line, TermKind};
use serde_json::{Value, json};

use crate::LeftOut;
use crate::catalogue::{Catalogue, attributes};
use crate::kinds::Attributes;
use crate::spaces::Holder;

/// A part of two versions of which policies cannot have one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// JSON Pointer into the newer document: `/concepts/NAME`, `/tasks/NAME/parameters`, `/tasks/NAME/results`.
    pub pointer: String,
    /// The member, with its type in each version.
    pub what: String,
}

impl Clash {
    /// As JSON (`docs/spec/compatibility.md`).
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({ "pointer": self.pointer, "what": self.what })
    }
}

/// Conflicts of two versions in one major version, where policies have one type for each part; the first member of each part. Two versions
/// may be compatible and still conflict: a string that may also be a number is not a string to policies.
#[must_use]
pub fn clashes(old: &Context, new: &Context) -> Vec<Clash> {
    if old.digest() == new.digest() {
        return Vec::new();
    }
    let before: BTreeMap<&str, Attributes> = {
        let document = old.bundled();
        old.shapes().map(|shape| (shape.name(), attributes(&document, shape))).collect()
    };
    let document = new.bundled();
    let mut resolved = Vec::new();
    for term in new.terms() {
        for (location, shape) in term.shapes().enumerate() {
            let Some(own) = before.get(shape.name()) else { continue };
            let Err(conflict) = own.merge(&attributes(&document, shape)) else { continue };
            let pointer = match (term.kind(), location) {
                (TermKind::Concept, _) => format!("/concepts/{}", term.name()),
                (TermKind::Task, 0) => format!("/tasks/{}/parameters", term.name()),
                (TermKind::Task, _) => format!("/tasks/{}/results", term.name()),
            };
            resolved.push(Clash { pointer, what: conflict.to_string() });
        }
    }
    resolved
}

/// The lines that could have a namespace which a line with these majors could have too: `shop.v2` and major 2 of `shop` where its majors
/// disagree ([`untyped`] says whether they do).
#[must_use]
pub fn namesakes(line: &Line, majors: &BTreeSet<u32>) -> Vec<Line> {
    let own = match Holder::line(line) {
        Some(Holder::Line { parent, .. }) => Some(parent),
        _ => None,
    };
    own.into_iter().chain(majors.iter().filter_map(|major| Holder::line_beside(line, *major))).collect()
}

/// The contexts, of the new one and those beside it, that gateways leave out once the new one is there, and would not without it: with no
/// policy at all, so that every gateway which knows them refuses every message of theirs (`policy_error`). Of the same name and version as
/// the new one, none counts.
#[must_use]
pub fn untyped(new: &Arc<Context>, beside: &[Arc<Context>]) -> Vec<LeftOut> {
    let others: Vec<Arc<Context>> = beside.iter().filter(|other| other.urn() != new.urn()).cloned().collect();
    let with: Vec<Arc<Context>> = others.iter().chain(std::iter::once(new)).cloned().collect();
    let mut resolved = Catalogue::build(&with).left_out.clone();
    if !resolved.is_empty() {
        let before = Catalogue::build(&others).left_out.clone();
        resolved.retain(|one| !before.iter().any(|other| other.urn == one.urn));
    }
    resolved
}
