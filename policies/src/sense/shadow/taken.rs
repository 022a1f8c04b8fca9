//! Members that a permit takes out of replies and that no reply which passes has: wherever one is there, a forbid applies.

use cedar_policy::pst::Clause;

use super::super::facts::Where;
use super::super::implied::Given;
use super::super::{World, named, scope, there};
use super::{Forbid, Forbids, Lot, key};
use crate::PolicyFault;
use crate::check::Texts;
use crate::fields::dotted;
use crate::parse::{Written, annotated};
use crate::reads::Reads;

/// The permits whose `@redact` takes nothing out, each with the forbids of which one applies wherever the member is there.
pub(super) fn never_taken(
    texts: &Texts<'_>,
    world: &World<'_>,
    forbids: &Forbids<'_, '_>,
) -> Vec<PolicyFault> {
    let mut faults = Vec::new();
    for written in texts.each().filter(|written| written.permits()) {
        let Some(obligation) = &written.obligation else { continue };
        for path in &*obligation.redact {
            world.steps().begin();
            let Some(by) = forbids.beside(written, path) else { continue };
            let member = dotted(path);
            let named = |by: &&Written| format!("`{}` ({})", by.id, texts.place_at(by, 0));
            let by = by.iter().map(named).collect::<Vec<_>>().join(" with ");
            faults.push(PolicyFault::Invalid {
                place: texts.place_at(written, annotated(texts.text(written), "redact")),
                policy: written.id.to_string(),
                why: format!(
                    "`@redact`: `{member}` is never taken out: {by} forbids each reply of this permit that has it"
                ),
                hint: Some(format!("leave `{member}` out of `@redact`, or let the forbid be about less")),
            });
        }
    }
    faults
}

impl<'w> Forbids<'w, '_> {
    /// The forbids of which one applies wherever this permit does and the member is there.
    fn beside(&self, permit: &Written, path: &[Box<str>]) -> Option<Vec<&'w Written>> {
        let (who, resource) = key(permit)?;
        let here = Where { sender: named(permit, self.world), ..scope(permit, self.world).here() };
        let is_there = there(path);
        let clauses: Vec<Clause> =
            permit.judged.iter().chain(is_there.iter().flat_map(|clauses| clauses.iter())).cloned().collect();
        let given = Given::of(&clauses, here, self.world)?;
        let with = Written { reads: Reads::of(&clauses), judged: clauses.into(), ..permit.clone() };
        let actions = given.there.actions;
        let keys = self.wholes(who, &given.there);
        let keys = keys.iter().flat_map(|who| [None, resource.clone()].map(|of| (who.clone(), of)));
        let found: Vec<&Lot<'w>> = keys.filter_map(|key| self.by_key.get(&key)).collect();
        // one without a condition leaves the permit nothing at all, which is told of it
        let asking = found.iter().flat_map(|lot| &lot.asking);
        let asking: Vec<&Forbid<'w>> =
            asking.filter(|forbid| actions.iter().all(|action| forbid.actions.contains(action))).collect();
        if let Some(one) = asking.iter().find(|forbid| self.holds(forbid, &with, &given)) {
            return Some(vec![one.written]);
        }
        let asking: Vec<&Written> = asking.iter().map(|forbid| forbid.written).collect();
        self.together(&asking, (&with, &given), actions)
    }
}
