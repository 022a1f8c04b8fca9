//! Members that a permit takes out of replies and that no reply which passes has: wherever one is there, a forbid applies.

use cedar_policy::pst::Clause;

use super::super::facts::Where;
use super::super::implied::Given;
use super::super::{World, named, scope, there};
use super::{Forbids, Lot, key};
use crate::PolicyFault;
use crate::check::Texts;
use crate::fields::dotted;
use crate::parse::{Written, annotated};

/// The permits whose `@redact` takes nothing out, each with the forbid that applies wherever the member is there.
pub(super) fn never_taken(
    texts: &Texts<'_>,
    world: &World<'_>,
    forbids: &Forbids<'_, '_>,
) -> Vec<PolicyFault> {
    let mut faults = Vec::new();
    for written in texts.written.iter().filter(|written| written.permits()) {
        let Some(obligation) = &written.obligation else { continue };
        for path in &*obligation.redact {
            world.steps().begin();
            let Some(by) = forbids.beside(written, path) else { continue };
            let member = dotted(path);
            faults.push(PolicyFault::Invalid {
                place: texts.place_at(written, annotated(texts.text(written), "redact")),
                policy: written.id.to_string(),
                why: format!(
                    "`@redact`: `{member}` is never taken out: `{}` ({}) forbids each reply of this permit that has it",
                    by.id,
                    texts.place_at(by, 0)
                ),
                hint: Some(format!("leave `{member}` out of `@redact`, or let the forbid be about less")),
            });
        }
    }
    faults
}

impl<'w> Forbids<'w, '_> {
    /// A forbid that applies wherever this permit does and the member is there.
    fn beside(&self, permit: &Written, path: &[Box<str>]) -> Option<&'w Written> {
        let (who, resource) = key(permit)?;
        let here = Where { sender: named(permit, self.world), ..scope(permit, self.world).here() };
        let is_there = there(path);
        let clauses: Vec<Clause> =
            permit.judged.iter().chain(is_there.iter().flat_map(|clauses| clauses.iter())).cloned().collect();
        let given = Given::of(&clauses, here, self.world)?;
        let actions = given.there.actions;
        let keys = self.wholes(who, &given.there);
        let keys = keys.iter().flat_map(|who| [None, resource.clone()].map(|of| (who.clone(), of)));
        let found: Vec<&Lot<'w>> = keys.filter_map(|key| self.by_key.get(&key)).collect();
        // one without a condition leaves the permit nothing at all, which is told of it
        let mut asking = found.iter().flat_map(|lot| &lot.asking);
        let covers = |forbid: &&super::Forbid<'_>| {
            let left = self.unlike.get();
            self.unlike.set(left.saturating_sub(1));
            left > 0
                && actions.iter().all(|action| forbid.actions.contains(action))
                && given.all_hold(&forbid.written.judged)
        };
        asking.find(covers).map(|forbid| forbid.written)
    }
}
