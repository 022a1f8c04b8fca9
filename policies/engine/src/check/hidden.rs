//! Members that a policy asks for with `has` and that policies do not see.
//!
//! Cedar answers `resource has m` with false for a member without a type. A version that hides a member would so silence a `forbid`.

use std::collections::BTreeSet;

use cedar_policy::pst::{Expr, Var};

use super::{Texts, candidates};
use crate::PolicyFault;
use crate::catalogue::Catalogue;
use crate::kinds::{Attributes, Kind};
use crate::parse::Written;
use crate::partial::{each, resource_path, within};

/// The reason for which policies do not see a member.
pub(super) const HINT: &str =
    "a number needs a `multipleOf` that is a multiple of 0.0001, and any other member one type";

/// A `has` on the message.
struct Asked {
    /// The member that is asked, where it is reached by names alone.
    owner: Option<Vec<String>>,
    /// The names that it is asked for.
    names: Vec<String>,
}

impl Texts<'_> {
    /// The hidden members that these policies ask for.
    pub fn hidden<'w>(
        &self,
        policies: impl IntoIterator<Item = &'w Written>,
        catalogue: &Catalogue,
    ) -> Vec<PolicyFault> {
        let mut hidden = BTreeSet::new();
        catalogue.types.iter().for_each(|info| hidden_names(&info.attributes, &mut hidden));
        if hidden.is_empty() {
            return Vec::new();
        }
        let mut faults = Vec::new();
        for written in policies {
            let mut asked = asked(written);
            asked.retain(|one| one.names.iter().any(|name| hidden.contains(name.as_str())));
            if asked.is_empty() {
                continue;
            }
            for info in candidates(written, catalogue) {
                let hides = |one: &&Asked| one.is_hidden_in(&info.attributes);
                if let Some(member) = asked.iter().find(hides).and_then(|one| one.names.last()) {
                    let at = self.location_of(written, &["has", member]);
                    let why = format!("`{member}` of `{}` is not visible to policies", info.name);
                    faults.push(self.invalid(written, at, why, Some(HINT.to_owned())));
                    break;
                }
            }
        }
        faults
    }
}

impl Asked {
    fn is_hidden_in(&self, attributes: &Attributes) -> bool {
        match &self.owner {
            Some(owner) => leads_to_hidden(attributes, owner.iter().chain(&self.names)),
            // an owner that a detour leads to may be any part of the message
            None => {
                let mut hidden = BTreeSet::new();
                hidden_names(attributes, &mut hidden);
                self.names.iter().any(|name| hidden.contains(name.as_str()))
            }
        }
    }
}

fn asked(written: &Written) -> Vec<Asked> {
    let mut all = Vec::new();
    each(&written.clauses, &mut |expr| {
        let Expr::HasAttr { expr: owner, attrs } = &**expr else { return };
        let mut of_message = false;
        within(owner, &mut |part| of_message |= matches!(**part, Expr::Var(Var::Resource)));
        if of_message {
            let owned = |path: Vec<&str>| path.into_iter().map(str::to_owned).collect();
            let names = attrs.iter().map(ToString::to_string).collect();
            all.push(Asked { owner: resource_path(owner).map(owned), names });
        }
    });
    all
}

/// Returns true if a path leads to, or through, a member that policies do not see.
fn leads_to_hidden<'p>(attributes: &Attributes, mut path: impl Iterator<Item = &'p String>) -> bool {
    let Some(member) = path.next().and_then(|name| attributes.members.get(name)) else { return false };
    match &member.kind {
        None => true,
        Some(kind) => kind.inner().is_some_and(|inner| leads_to_hidden(inner, path)),
    }
}

/// The names of all hidden members, at any depth.
fn hidden_names<'c>(attributes: &'c Attributes, names: &mut BTreeSet<&'c str>) {
    for (name, member) in &attributes.members {
        match &member.kind {
            None => drop(names.insert(name)),
            Some(kind) => record(kind).into_iter().for_each(|inner| hidden_names(inner, names)),
        }
    }
}

fn record(kind: &Kind) -> Option<&Attributes> {
    match kind {
        Kind::Set(items) => record(items),
        other => other.inner(),
    }
}
