//! Policies that could do something, and about no message that the routes of a gateway carry: who receives and replies there, by which
//! binding and in which of its versions. One set can be for several gateways, so this is told and no reason to keep a set out.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::PrincipalConstraint;
use cedar_policy::pst::Var;

use super::around::DIRECTIONS;
use super::facts::{End, Where};
use super::possible::Looking;
use super::values::Values;
use super::{World, named, scope};
use crate::check::Texts;
use crate::parse::Written;
use crate::{PolicyFault, Route};

/// What of a route counts.
#[derive(Clone, Copy)]
struct Of {
    ends: bool,
    binding: bool,
}

impl Texts<'_> {
    /// The policies that are about nothing on these routes, by whom they lead to and what is spoken there; of policies past so many looks at one
    /// beside a route nothing is told.
    pub fn off_routes(&self, world: &World<'_>, routes: &[Route], looks: usize) -> Vec<PolicyFault> {
        let mut left = looks;
        let each = self.each().filter(|written| asks(written, world));
        each.filter_map(|written| self.off(written, world, routes, &mut left)).collect()
    }

    fn off(
        &self,
        written: &Written,
        world: &World<'_>,
        routes: &[Route],
        left: &mut usize,
    ) -> Option<PolicyFault> {
        world.steps().begin();
        let start = Where { sender: named(written, world), ..scope(written, world).here() };
        // a protocol that is not spoken at all is no slip of a policy for its methods
        let spoken = |binding: &&str| routes.iter().any(|route| route.binding == *binding);
        if start.of_type.is_some() && !world.bindings(&start, false).iter().any(spoken) {
            return None;
        }
        // what is not looked at any more may be so
        let mut holds = |of: Of| {
            let there = |route: &Route| ways(&start, route, of, world);
            routes.iter().flat_map(there).any(|here| {
                let looked = left.checked_sub(1);
                *left = looked.unwrap_or_default();
                looked.is_none() || Looking::new(world).clauses(&written.judged, &here)
            })
        };
        if holds(Of { ends: true, binding: true }) {
            return None;
        }
        let why = if !holds(Of { ends: false, binding: true }) {
            "no route has a binding, or a version of one, by which this comes"
        } else if !holds(Of { ends: true, binding: false }) {
            "no route leads to anybody who receives this, or replies it"
        } else {
            "no route to anybody who receives this, or replies it, has a binding by which it comes"
        };
        let first = (!written.judged.is_empty()).then_some(0);
        Some(PolicyFault::OffRoutes {
            place: self.place_of_clause(written, first),
            policy: written.id.to_string(),
            why: why.to_owned(),
        })
    }
}

/// Whether a policy asks for anything that a route decides.
fn asks(written: &Written, world: &World<'_>) -> bool {
    let wants = |name: &str| written.reads.context.wants(name);
    if wants("receiver") || wants("binding") || wants("binding_version") {
        return true;
    }
    let here = scope(written, world).here();
    // who replies stands in the scope of what is only ever a reply
    let replies = wants("direction") || world.directions(&here) == ["reply"];
    let names = !matches!(
        written.policy.principal_constraint(),
        PrincipalConstraint::Any | PrincipalConstraint::Is(_)
    ) || written.reads.types.iter().any(|name| name == "Group" || name == "Agent");
    replies && names
}

/// A message as a route carries it, each way.
fn ways(start: &Where, route: &Route, of: Of, world: &World<'_>) -> Vec<Where> {
    let said = |binding: &&'static str| !of.binding || *binding == route.binding;
    let bindings: Vec<&'static str> = world.bindings(start, false).into_iter().filter(said).collect();
    let agent = world.agents().and_then(|agents| agents.position(&route.receiver)).filter(|_| of.ends);
    let mut all = Vec::new();
    for direction in DIRECTIONS.into_iter().filter(|way| world.directions(start).contains(way)) {
        for binding in &bindings {
            let mut here = Where { direction: Some(direction), binding: Some(binding), ..start.clone() };
            if of.binding && !route.versions.is_empty() {
                let versions = Values::Texts(Arc::new(route.versions.clone()));
                here = here.saying((Var::Context, vec!["binding_version".to_owned()]), versions);
            }
            if let Some(agent) = agent {
                let end = if direction == "request" { &mut here.receiver } else { &mut here.sender };
                if end.can_be.as_ref().is_some_and(|all| !all.contains(&agent)) {
                    continue;
                }
                *end = End { can_be: Some(Arc::new(BTreeSet::from([agent]))), named: true };
            }
            all.push(here);
        }
    }
    all
}
