//! Policies that could do something, were it not that all whom they are about never come: disabled, or of a trust domain that a gateway
//! meets nobody of. To switch an agent off must never keep a set from being loaded, so this is told and refused by `policy check` alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::facts::Where;
use super::possible::Looking;
use super::{World, around, named, scope};
use crate::check::Texts;
use crate::parse::Written;
use crate::{AgentEntry, PolicyFault};

impl Texts<'_> {
    /// The policies about nobody who comes; each would be good if somebody did.
    pub fn about_nobody(&self, world: &World<'_>) -> Vec<PolicyFault> {
        let Some(coming) = world.coming() else { return Vec::new() };
        self.each().filter_map(|written| self.nobody(written, world, coming)).collect()
    }

    fn nobody(&self, written: &Written, world: &World<'_>, coming: &BTreeSet<u32>) -> Option<PolicyFault> {
        let fault =
            |place, why: String| PolicyFault::NobodyComes { place, policy: written.id.to_string(), why };
        world.steps().begin();
        if let Some(who) = named(written, world).can_be
            && who.is_disjoint(coming)
        {
            let one = who.first().and_then(|at| world.agents()?.at(*at));
            let why = format!(
                "nobody whom its scope names comes to be judged: {}",
                one.map(why).unwrap_or_default()
            );
            let uid = match written.policy.principal_constraint() {
                cedar_policy::PrincipalConstraint::Eq(uid)
                | cedar_policy::PrincipalConstraint::In(uid)
                | cedar_policy::PrincipalConstraint::IsIn(_, uid) => Some(uid),
                _ => None,
            };
            let place =
                uid.map_or_else(|| self.place_at(written, 0), |uid| self.place_of_name(written, &uid));
            return Some(fault(place, why));
        }
        let asks = written.reads.types.iter().any(|name| name == "Group" || name == "Agent");
        if !asks && !written.reads.principal.wants("credentials") {
            return None;
        }
        let mut here = Where { coming: true, ..scope(written, world).here() };
        if let Some(who) = &mut here.sender.can_be {
            *who = Arc::new(who.intersection(coming).copied().collect());
        }
        let mut all = around(written, &here, world).into_iter();
        let holds = all.any(|here| Looking::new(world).clauses(&written.judged, &here));
        let why = "its condition is true only with agents that never come: disabled ones, or of a trust domain that is not configured";
        (!holds).then(|| fault(self.place_of_clause(written, Some(0)), why.to_owned()))
    }
}

fn why(entry: &AgentEntry) -> String {
    if entry.disabled {
        format!("`{}` is disabled", entry.id)
    } else {
        format!("the trust domain of `{}` is not configured", entry.id)
    }
}
