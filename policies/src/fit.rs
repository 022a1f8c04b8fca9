//! Contexts beside policies: a document that would make a policy invalid is left out alone, and the rest goes live.
//!
//! Whoever may publish on a line must not be able to keep the policies of others from being loaded, by one document or by
//! several, nor with a lower or a higher version than the ones that the policies were written for.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use semgate_contexts::{Context, ContextUrn, Digest};

use crate::catalogue::Catalogue;
use crate::check::{Texts, policy_in};
use crate::parse::Written;
use crate::{LeftOut, PolicyFault, PolicyLimits, learnt};

/// A catalogue, and the faults that remain beside all contexts.
type Fitted = (Catalogue, Vec<PolicyFault>);

struct Fitting<'a> {
    texts: Texts<'a>,
    live: &'a HashSet<Digest>,
    tries: usize,
}

/// Types the contexts so that the policies validate. Where they do not, what goes is each time the least without which
/// fewer policies are invalid and none is newly so. Documents whose digest is in `live` never go.
pub(crate) fn fit(
    texts: Texts<'_>,
    contexts: &[Arc<Context>],
    live: &HashSet<Digest>,
    limits: &PolicyLimits,
) -> Result<Fitted, Vec<PolicyFault>> {
    let mut fitting = Fitting { texts, live, tries: limits.max_left_out_tries };
    let (catalogue, at_first) = fitting.validate(contexts, None)?;
    if at_first.is_empty() {
        return Ok((catalogue, at_first));
    }
    let mut kept: Vec<Arc<Context>> = contexts.to_vec();
    kept.sort_by(|a, b| (a.urn().line(), a.urn().version()).cmp(&(b.urn().line(), b.urn().version())));
    let mut left_out = Vec::new();
    let mut faults = at_first.clone();
    while !faults.is_empty() {
        let Some((without, gone, fewer)) = fitting.one_step(&kept, &invalid(&faults))? else {
            return Ok((catalogue, at_first));
        };
        left_out.extend(
            gone.iter().map(|context| LeftOut { urn: context.urn().clone(), why: reason(&faults, &fewer) }),
        );
        (kept, faults) = (without, fewer);
    }
    let (mut catalogue, faults) = fitting.validate(&kept, None)?;
    catalogue.left_out.extend(left_out);
    catalogue.left_out.sort_by(|a, b| a.urn.cmp(&b.urn));
    Ok((catalogue, faults))
}

/// What is kept, what goes, and the faults that are left.
type Step = (Vec<Arc<Context>>, Vec<Arc<Context>>, Vec<PolicyFault>);

impl Fitting<'_> {
    fn one_step(
        &mut self,
        kept: &[Arc<Context>],
        before: &BTreeSet<String>,
    ) -> Result<Option<Step>, Vec<PolicyFault>> {
        for candidate in candidates(kept) {
            let goes = |context: &Arc<Context>| candidate.contains(context.urn());
            let (gone, without): (Vec<_>, Vec<_>) = kept.iter().cloned().partition(goes);
            if gone.iter().any(|context| self.live.contains(context.digest())) {
                continue;
            }
            if self.tries == 0 {
                return Ok(None);
            }
            self.tries -= 1;
            // Only the invalid ones first: they are few.
            let (_, faults) = self.validate(&without, Some(before))?;
            if invalid(&faults).len() == before.len() {
                continue;
            }
            let (_, faults) = self.validate(&without, None)?;
            let now = invalid(&faults);
            if now.is_subset(before) && now.len() < before.len() {
                return Ok(Some((without, gone, faults)));
            }
        }
        Ok(None)
    }

    fn validate(
        &self,
        contexts: &[Arc<Context>],
        only: Option<&BTreeSet<String>>,
    ) -> Result<Fitted, Vec<PolicyFault>> {
        let mut catalogue = Catalogue::build(contexts);
        catalogue.add_learnt(&learnt::named(self.texts.written));
        let unredactable = self.texts.unredactable(contexts, &catalogue);
        let chosen = |written: &&Written| only.is_none_or(|ids| ids.contains(&*written.id));
        let policies: Vec<&Written> = self.texts.written.iter().filter(chosen).collect();
        let mut faults = self.texts.validate_all(&policies, &catalogue).map_err(|fault| vec![fault])?;
        let looked_at = |fault: &PolicyFault| {
            only.is_none_or(|ids| policy_in(fault).is_some_and(|policy| ids.contains(policy)))
        };
        faults.extend(unredactable.into_iter().filter(looked_at));
        Ok((catalogue, faults))
    }
}

/// Does the other go, seen from the one?
type Way<'a> = &'a dyn Fn(&ContextUrn, &ContextUrn) -> bool;

/// What could go, the least first: one document, one major version of a line, all others than one major version, all
/// others than one document; the highest version first.
fn candidates(kept: &[Arc<Context>]) -> Vec<BTreeSet<ContextUrn>> {
    let same_line = |a: &ContextUrn, b: &ContextUrn| a.line() == b.line();
    let same_major =
        |a: &ContextUrn, b: &ContextUrn| same_line(a, b) && a.version().major == b.version().major;
    let ways: [Way<'_>; 4] = [
        &|one, other| one == other,
        &|one, other| same_major(one, other),
        &|one, other| same_line(one, other) && !same_major(one, other),
        &|one, other| same_line(one, other) && one != other,
    ];
    let mut all: Vec<BTreeSet<ContextUrn>> = Vec::new();
    let mut seen = HashSet::new();
    for way in ways {
        for one in kept.iter().rev() {
            let others = kept.iter().map(|context| context.urn()).filter(|other| way(one.urn(), other));
            let gone: BTreeSet<ContextUrn> = others.cloned().collect();
            if !gone.is_empty() && seen.insert(gone.clone()) {
                all.push(gone);
            }
        }
    }
    all
}

fn invalid(faults: &[PolicyFault]) -> BTreeSet<String> {
    faults.iter().filter_map(policy_in).map(str::to_owned).collect()
}

/// The first fault that is gone without it.
fn reason(before: &[PolicyFault], after: &[PolicyFault]) -> String {
    let still = invalid(after);
    let mended = |fault: &&PolicyFault| policy_in(fault).is_some_and(|policy| !still.contains(policy));
    match before.iter().find(mended) {
        Some(fault) => format!("it would make a policy invalid: {fault}"),
        None => "it would make a policy invalid".to_owned(),
    }
}
