//! Forbids that wider ones cover: leaving one out changes nothing, now and with whatever version, group or time comes. So it is a rule that
//! is accepted and does nothing, and what it was meant to say stands somewhere else.

use std::collections::HashSet;

use semgate_contexts::PerformativeSet;

use super::super::cases::may_err;
use super::super::facts::{End, Where};
use super::super::implied::Given;
use super::super::pieces::has_literal;
use super::super::possible::Known;
use super::super::{World, scope};
use super::{Forbid, Forbids, Who, condition, key};
use crate::PolicyFault;
use crate::check::Texts;
use crate::parse::Written;

/// The forbids that others cover, of which all together can be left out: each is covered by what stays. Of two that say the same the
/// second is told.
pub(super) fn covered(texts: &Texts<'_>, world: &World<'_>, forbids: &Forbids<'_, '_>) -> Vec<PolicyFault> {
    let mut gone: HashSet<&str> = HashSet::new();
    let mut faults = Vec::new();
    for written in texts.each().rev().filter(|written| !written.permits()) {
        world.steps().begin();
        let Some(by) = forbids.wider(written, &gone) else { continue };
        gone.insert(&written.id);
        let named = |forbid: &&Written| format!("`{}` ({})", forbid.id, texts.place_at(forbid, 0));
        let names: Vec<String> = by.iter().map(named).collect();
        let plain = by.iter().all(|forbid| forbid.judged.is_empty());
        let (how, hint) = match plain {
            true => (" without a condition", "remove it"),
            false => ("", "whenever this forbid applies, so does what forbids all of it: remove it"),
        };
        faults.push(PolicyFault::Invalid {
            place: texts.place_at(written, 0),
            policy: written.id.to_string(),
            why: format!("it forbids nothing of its own: {} forbids all of it{how}", names.join(" with ")),
            hint: Some(hint.to_owned()),
        });
    }
    faults.reverse();
    faults
}

impl<'w> Forbids<'w, '_> {
    /// The forbids that together cover a forbid, without those that are gone.
    fn wider(&self, written: &Written, gone: &HashSet<&str>) -> Option<Vec<&'w Written>> {
        // `true` that is written out is meant as it stands; and one that cannot be evaluated refuses more than its condition says
        let says = |clause| has_literal(condition(clause)) || may_err(condition(clause));
        if written.judged.iter().any(says) {
            return None;
        }
        let (who, resource) = key(written)?;
        let scope = scope(written, self.world);
        // what its type takes today, and who is in a group, may be otherwise tomorrow
        let here = Where { actions: scope.asked, sender: End::default(), ..scope.here() };
        let given = Given::knowing(&written.judged, here, (self.world, Known::Said))?;
        let narrowed = given.there.of_type.and_then(|at| self.world.catalogue.types.get(at));
        let of_type = resource.or_else(|| narrowed.map(|info| info.name.clone()));
        let whos = [Who::Everybody, who];
        let whos = if whos[1] == Who::Everybody { &whos[..1] } else { &whos };
        let resources = if of_type.is_some() { vec![None, of_type] } else { vec![None] };
        let keys = whos.iter().flat_map(|who| resources.iter().map(move |of| (who.clone(), of.clone())));
        let found: Vec<_> = keys.filter_map(|key| self.by_key.get(&key)).collect();
        let mut left = given.there.actions;
        let mut by = Vec::new();
        let plain = found.iter().flat_map(|lot| &lot.plain);
        let asking = found.iter().flat_map(|lot| &lot.asking).take_while(|_| self.pairs.get() > 0);
        for forbid in plain.chain(asking) {
            let other = forbid.written;
            // what a refusal tells is something that a forbid does
            let tells = written.notice.is_none() || written.notice == other.notice;
            // one that cannot be evaluated refuses as a fault, and not as a forbid
            let errs = other.judged.iter().any(|clause| may_err(condition(clause)));
            // what stops everything is meant to leave nothing to do
            if !tells || errs || other.id == written.id || gone.contains(&*other.id) || forbid.everything {
                continue;
            }
            let rest = left.iter().filter(|action| !forbid.actions.contains(*action));
            let rest: PerformativeSet = rest.collect();
            if rest.len() == left.len() || !self.holds(forbid, written, &given) {
                continue;
            }
            if is_whole(forbid, given.there.actions) {
                return Some(vec![other]);
            }
            by.push(other);
            left = rest;
            if left.is_empty() {
                return Some(by);
            }
        }
        None
    }
}

fn is_whole(forbid: &Forbid<'_>, actions: PerformativeSet) -> bool {
    actions.iter().all(|action| forbid.actions.contains(action))
}
