//! Tools pinned by the contexts of a generation, with their forms.

use super::pin::pins;
use semgate_contexts::{Context, ContextUrn};
use std::collections::HashMap;

/// Every pinned tool of all available contexts, by its exact name.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    of: HashMap<Box<str>, Vec<Signed>>,
    shared: bool,
}

/// Sorted digests of a tool's forms in one context.
#[derive(Debug)]
struct Signed {
    urn: ContextUrn,
    forms: Vec<Box<str>>,
}

impl Forms {
    pub(crate) fn of<'c>(contexts: impl Iterator<Item = &'c Context>) -> Self {
        let mut of = HashMap::<Box<str>, Vec<Signed>>::new();
        for context in contexts {
            for (tool, pinned) in context.terms().filter_map(pins) {
                let mut forms: Vec<Box<str>> = pinned.forms().iter().map(|form| Box::from(*form)).collect();
                forms.sort_unstable();
                of.entry(tool.into()).or_default().push(Signed { urn: context.urn().clone(), forms });
            }
        }
        let differ =
            |signed: &Vec<Signed>| signed.iter().zip(signed.iter().skip(1)).any(|(a, b)| a.forms != b.forms);
        let shared = of.values().any(differ);
        Self { of, shared }
    }

    /// Returns true if a context pins a tool of this name.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.of.contains_key(tool)
    }

    /// Returns true if two contexts pin one tool in different forms.
    pub(crate) fn shared(&self) -> bool {
        self.shared
    }

    /// Returns true if another of these contexts pins the tool in other forms than this one.
    pub(crate) fn differ(&self, tool: &str, urn: &ContextUrn, among: impl Fn(&ContextUrn) -> bool) -> bool {
        let Some(signed) = self.of.get(tool).filter(|_| self.shared) else { return false };
        let own = || signed.iter().filter(|one| one.urn == *urn);
        let other = |one: &&Signed| one.urn != *urn && among(&one.urn);
        signed.iter().filter(other).any(|other| own().any(|own| own.forms != other.forms))
    }
}
