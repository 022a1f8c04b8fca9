//! What is there when policies are loaded: types and their versions, agents and their credentials, floors.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use semgate_contexts::Version;

use super::possible::{Values, Where};
use crate::agents::Agents;
use crate::catalogue::{Catalogue, TypeInfo};
use crate::kinds::{Attributes, Kind};
use crate::{Floors, credentials, learnt, reads};

/// What `context.direction` can be.
pub(super) const DIRECTIONS: [&str; 2] = ["reply", "request"];

/// What `context.binding` can be.
pub(super) const BINDINGS: [&str; 3] = ["a2a", "l8", "mcp"];

/// What a member can be, by the names that lead to it.
type Known = HashMap<Vec<String>, Values>;

/// Names and values by which policies are judged.
pub(crate) struct World<'a> {
    pub catalogue: &'a Catalogue,
    /// With their floors; `None` while it is asked which contexts fit.
    agents: Option<(&'a Agents, &'a Floors)>,
    names: HashMap<&'a str, usize>,
    versions: Vec<Vec<Version>>,
    /// Types by a member of theirs that policies do not see, or that holds one.
    unseen: HashMap<&'a str, Vec<usize>>,
    /// Of policies whose resource is open, over all types.
    known: RefCell<Known>,
}

/// What the names that lead from an instance mean in one type.
enum Found<'k> {
    Absent,
    Hidden,
    /// What is there, and whether every instance has it.
    There(&'k Kind, bool),
}

impl<'a> World<'a> {
    /// What the contexts alone say.
    pub fn of_contexts(catalogue: &'a Catalogue) -> Self {
        let types = || catalogue.types.iter().enumerate();
        let mut unseen: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, info) in types() {
            for (name, member) in &info.attributes.members {
                if member.kind.as_ref().is_none_or(hides) {
                    unseen.entry(name).or_default().push(at);
                }
            }
        }
        Self {
            catalogue,
            agents: None,
            names: types().map(|(at, info)| (info.name.as_str(), at)).collect(),
            versions: catalogue.versions(),
            unseen,
            known: RefCell::default(),
        }
    }

    /// And with agents and floors.
    pub fn new(catalogue: &'a Catalogue, agents: &'a Agents, floors: &'a Floors) -> Self {
        Self { agents: Some((agents, floors)), ..Self::of_contexts(catalogue) }
    }

    /// The agents, where they are known.
    pub fn agents(&self) -> Option<&'a Agents> {
        self.agents.map(|(agents, _)| agents)
    }

    /// The type of this name.
    pub fn of_name(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    fn info(&self, of_type: usize) -> Option<&'a TypeInfo> {
        self.catalogue.types.get(of_type)
    }

    /// The versions that a type is of, lowest first.
    pub fn versions(&self, of_type: usize) -> &[Version] {
        self.versions.get(of_type).map_or(&[], Vec::as_slice)
    }

    /// The floor of a type's line.
    pub fn floor(&self, of_type: usize) -> Option<Version> {
        let info = self.info(of_type).filter(|info| !learnt::is_learnt(info))?;
        self.agents?.1.get(&info.line).copied()
    }

    /// Every credential that somebody has, or that is declared.
    pub fn credentials(&self) -> impl Iterator<Item = &str> {
        self.agents.into_iter().flat_map(|(agents, _)| agents.credentials().iter().map(String::as_str))
    }

    /// Whether somebody has a credential, or may show it.
    pub fn held(&self, name: &str) -> bool {
        credentials::is_shown(name)
            || self.agents.is_none_or(|(agents, _)| agents.credentials().contains(name))
    }

    /// Whether a policy that reads these could ask for something that it does not see.
    pub fn may_ask_unseen(&self, reads: &reads::Attributes) -> bool {
        reads.all || reads.names.iter().any(|name| self.unseen.contains_key(name.as_str()))
    }

    /// What a member of the context record can be.
    pub fn circumstance(&self, member: &str, here: Where) -> Values {
        let texts =
            |all: &[&str]| Values::Texts(Arc::new(all.iter().map(|text| (*text).to_owned()).collect()));
        let number = |of: &dyn Fn(&Version) -> u32, one: Option<u32>| match (one, here.of_type) {
            (Some(one), _) => Values::number(i64::from(one)),
            (None, Some(of_type)) => {
                let all: BTreeSet<i64> =
                    self.versions(of_type).iter().map(|version| i64::from(of(version))).collect();
                Values::Numbers(all.into())
            }
            (None, None) => Values::Any,
        };
        match member {
            "direction" => texts(here.direction.as_ref().map_or(&DIRECTIONS, std::slice::from_ref)),
            "binding" => texts(here.binding.as_ref().map_or(&BINDINGS, std::slice::from_ref)),
            "major" => number(&|version| version.major, here.version.map(|(major, _)| major)),
            "minor" => number(&|version| version.minor, here.version.map(|(_, minor)| minor)),
            _ => Values::Any,
        }
    }

    /// What a member can be.
    pub fn member(&self, path: &[String], here: Where) -> Values {
        if let Some(of_type) = here.of_type {
            return self.info(of_type).map_or(Values::Any, |info| match find(&info.attributes, path) {
                Found::There(kind, _) => of_kind(kind),
                Found::Absent | Found::Hidden => Values::Any,
            });
        }
        if let Some(known) = self.known.borrow().get(path) {
            return known.clone();
        }
        let mut all: Option<Values> = None;
        for info in &self.catalogue.types {
            let one = match find(&info.attributes, path) {
                Found::Absent => continue,
                Found::Hidden => Values::Any,
                Found::There(kind, _) => of_kind(kind),
            };
            all = Some(all.map_or_else(|| one.clone(), |all| all.or(&one)));
        }
        let known = all.unwrap_or(Values::Any);
        self.known.borrow_mut().insert(path.to_vec(), known.clone());
        known
    }

    /// What a set can hold.
    pub fn items(&self, path: &[String], here: Where) -> Values {
        let info = here.of_type.and_then(|of_type| self.info(of_type));
        match info.map(|info| find(&info.attributes, path)) {
            Some(Found::There(Kind::Set(items), _)) => of_kind(items),
            _ => Values::Any,
        }
    }

    /// A type that has the member and does not show it.
    pub fn hidden(&self, path: &[String], here: Where) -> Option<usize> {
        let hides = |at: &usize| {
            self.info(*at).is_some_and(|info| {
                !info.performatives.and(here.actions).is_empty()
                    && matches!(find(&info.attributes, path), Found::Hidden)
            })
        };
        match here.of_type {
            Some(of_type) => Some(of_type).filter(|at| hides(at)),
            None => self.unseen.get(path.first()?.as_str())?.iter().copied().find(|at| hides(at)),
        }
    }

    /// Whether no instance has the member.
    pub fn absent(&self, path: &[String], here: Where) -> bool {
        let info = here.of_type.and_then(|at| self.info(at));
        info.is_some_and(|info| matches!(find(&info.attributes, path), Found::Absent))
    }

    /// Whether every instance has it.
    pub fn present(&self, path: &[String], here: Where) -> bool {
        let info = here.of_type.and_then(|at| self.info(at));
        info.is_some_and(|info| matches!(find(&info.attributes, path), Found::There(_, true)))
    }
}

/// What a value of a kind can be, where that is known.
fn of_kind(kind: &Kind) -> Values {
    match kind {
        Kind::String(Some(values)) => Values::Texts(Arc::clone(values)),
        Kind::Long(numbers) => Values::Numbers(numbers.clone()),
        Kind::Decimal(numbers) => Values::Decimals(numbers.clone()),
        _ => Values::Any,
    }
}

/// Whether a part of it is not shown.
fn hides(kind: &Kind) -> bool {
    match kind {
        Kind::Record(members) => {
            members.members.values().any(|member| member.kind.as_ref().is_none_or(hides))
        }
        _ => false,
    }
}

fn find<'k>(attributes: &'k Attributes, path: &[String]) -> Found<'k> {
    let mut members = attributes;
    let mut sure = true;
    for (at, name) in path.iter().enumerate() {
        let Some(member) = members.members.get(name) else { return Found::Absent };
        let Some(kind) = &member.kind else { return Found::Hidden };
        sure &= member.required;
        if at + 1 == path.len() {
            return Found::There(kind, sure);
        }
        match kind {
            Kind::Record(inner) => members = inner,
            _ => return Found::Absent,
        }
    }
    Found::Absent
}
