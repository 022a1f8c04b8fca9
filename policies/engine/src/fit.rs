//! Contexts beside policies: a document that would make a policy invalid is left out alone, and the rest goes live.
//!
//! Whoever may publish on a line must not be able to keep the policies of others from being loaded: not by one document or several, not
//! with a lower or a higher version than those that the policies were written for, and not by many lines at once. Each line is held
//! against a policy by itself, beside those alone that the policy names. So what one line says never makes another lose a document.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use cedar_policy::{PolicySet, ResourceConstraint, ValidationMode, Validator};
use semgate_contexts::{Context, ContextUrn, DocumentLimits, Line, Performative, Prefix};
use serde_json::json;

use crate::catalogue::{Catalogue, TypeInfo};
use crate::check::{Texts, is_impossible, policy_in};
use crate::names::namespace;
use crate::parse::Written;
use crate::spaces::After;
use crate::{LeftOut, PolicyFault, PolicyLimits, negotiated_terms};

/// Documents of a line that no policy names among which the least set is sought. Of a line with more, only its highest so many versions are
/// tried one by one, and then all of the line goes.
const MAX_SOUGHT: usize = 32;

/// Lines beside which an open policy may be mistyped that a type without members mistypes too. Beside more lines it is itself the mistake:
/// what every line lacks, none took away.
const MAX_BLAMED: usize = 16;

/// Documents of one step of each of which its own fault is reported.
const MAX_EACH: usize = 64;

/// A catalogue, and the faults that remain beside all contexts.
type Fitted = (Catalogue, Vec<PolicyFault>);

type Contexts = Vec<Arc<Context>>;

struct Fitting<'a> {
    texts: Texts<'a>,
    after: After,
    /// Looks that are left at a line that a policy names.
    tries: Cell<usize>,
    /// Looks that are left at the other lines.
    looks: Cell<usize>,
    /// Policies that fit everything but a document that is live, each with the first such.
    held_by: RefCell<BTreeMap<Arc<str>, ContextUrn>>,
}

/// Types the contexts so that the policies validate. Where they do not, the least goes without which a policy is valid and none is newly
/// invalid. Documents that are live never go.
pub(crate) fn fit(
    texts: Texts<'_>,
    contexts: &[Arc<Context>],
    after: After,
    limits: &PolicyLimits,
) -> Result<Fitted, Vec<PolicyFault>> {
    let (tries, looks) = (Cell::new(limits.max_left_out_tries), Cell::new(limits.max_line_looks));
    let mut fitting = Fitting { texts, after, tries, looks, held_by: RefCell::default() };
    let (mut fitted, mut faults) = fitting.validate(contexts, None)?;
    // a name that two have is nobody's, also where one of the two goes for a policy
    fitting.after.barred.clone_from(&fitted.barred);
    let (mut kept, mut left_out): (Contexts, _) = (contexts.to_vec(), Vec::new());
    kept.sort_by(|a, b| (a.urn().line(), a.urn().version()).cmp(&(b.urn().line(), b.urn().version())));
    while !faults.is_empty() {
        // where no step is left, what is still wrong is the policies' own doing
        let Some(step) = fitting.step(&kept, &invalid(&faults))? else { break };
        left_out.extend(step.gone.iter().map(|context| {
            let why = step.own.get(context.urn()).map_or_else(|| reason(&faults, &step.left.1), invalid_by);
            LeftOut { urn: context.urn().clone(), why }
        }));
        (kept, (fitted, faults)) = (step.without, step.left);
    }
    fitted.left_out.extend(left_out);
    fitted.left_out.sort_by(|a, b| a.urn.cmp(&b.urn));
    for fault in &mut faults {
        if let PolicyFault::Invalid { policy, hint, .. } = fault
            && let Some(urn) = fitting.held_by.borrow().get(policy.as_str())
        {
            *hint = Some(format!(
                "this comes from `{urn}`, which is live and which no policy displaces: write `resource is …` in the scope"
            ));
        }
    }
    Ok((fitted, faults))
}

/// One attempt: the contexts that stay, those that go, and the result.
struct Step {
    without: Contexts,
    gone: Contexts,
    /// The fault beside each of several that go.
    own: BTreeMap<ContextUrn, PolicyFault>,
    left: Fitted,
}

/// Documents to leave out so that a policy fits.
#[derive(Default)]
struct Gone {
    urns: BTreeSet<ContextUrn>,
    /// A document among them that is live, so that none of them goes.
    held_by: Option<ContextUrn>,
}

impl Fitting<'_> {
    /// Leaves out what one policy does not fit, in as many lines as there are.
    fn step(
        &self,
        kept: &[Arc<Context>],
        before: &BTreeSet<String>,
    ) -> Result<Option<Step>, Vec<PolicyFault>> {
        for written in self.texts.written.iter().filter(|written| before.contains(&*written.id)) {
            let Gone { urns, held_by } = self.gone(kept, written)?;
            if urns.is_empty() {
                continue;
            }
            let goes = |context: &Arc<Context>| urns.contains(context.urn());
            let (gone, without): (Contexts, Contexts) = kept.iter().cloned().partition(goes);
            let left = self.validate(&without, held_by.as_ref().map(|_| before))?;
            let now = invalid(&left.1);
            if now.contains(&*written.id) || !now.is_subset(before) || !finds_its_members(written, &left.0) {
                continue;
            }
            match held_by {
                Some(urn) => drop(self.held_by.borrow_mut().insert(Arc::clone(&written.id), urn)),
                None => {
                    let own = self.each(written, kept, &gone)?;
                    return Ok(Some(Step { without, gone, own, left }));
                }
            }
        }
        Ok(None)
    }

    /// The fault of the policy beside each of several documents by itself: they may lack different things.
    fn each(
        &self,
        written: &Written,
        kept: &[Arc<Context>],
        gone: &[Arc<Context>],
    ) -> Result<BTreeMap<ContextUrn, PolicyFault>, Vec<PolicyFault>> {
        let mut own = BTreeMap::new();
        if gone.len() < 2 || !is_open(written) {
            return Ok(own);
        }
        let base = of_lines(kept, &named_lines(kept, written));
        for context in gone.iter().take(MAX_EACH) {
            let company: Contexts = base.iter().chain([context]).cloned().collect();
            let faults = self.texts.validate_all(&[written], &self.typed(&company));
            // that it matches nothing here is no matter: what it matches may be in another line
            let wrong = |fault: &PolicyFault| matches!(fault, PolicyFault::Invalid { why, .. } if !is_impossible(why));
            let first = faults.map_err(|fault| vec![fault])?.into_iter().find(wrong);
            own.extend(first.map(|fault| (context.urn().clone(), fault)));
        }
        Ok(own)
    }

    /// The documents that would have to go of the lines that a policy names and, of an open one, of all others. None where an open policy is
    /// itself the mistake.
    fn gone(&self, kept: &[Arc<Context>], written: &Written) -> Result<Gone, Vec<PolicyFault>> {
        let (named, mut gone) = (named_lines(kept, written), Gone::default());
        for line in &named {
            let others: BTreeSet<Line> = named.iter().filter(|other| *other != line).cloned().collect();
            let others = without(&of_lines(kept, &others), &gone.urns);
            let of_line = of_lines(kept, &BTreeSet::from([line.clone()]));
            let fits = |rest: &[Arc<Context>]| self.fits(written, &[&others[..], rest].concat());
            if !fits(&of_line)? {
                gone.urns.extend(
                    self.least(&of_line, candidates(&of_line), &self.tries, fits)?.unwrap_or_default(),
                );
            }
        }
        if !is_open(written) {
            return Ok(gone);
        }
        let base = without(&of_lines(kept, &named), &gone.urns);
        let fits = |rest: &[Arc<Context>]| self.is_typed(written, &[&base[..], rest].concat());
        let Some(plain) = plain(kept) else { return Ok(Gone::default()) };
        if !fits(&[])? {
            return Ok(Gone::default());
        }
        let (most, mut lines) = (if fits(&[plain])? { usize::MAX } else { MAX_BLAMED }, 0_usize);
        for of_line in kept.chunk_by(|a, b| a.urn().line() == b.urn().line()) {
            if of_line.first().is_some_and(|context| named.contains(context.urn().line())) {
                continue;
            }
            if !spend(&self.looks) {
                return Ok(Gone::default());
            }
            if fits(of_line)? {
                continue;
            }
            lines += 1;
            if lines > most {
                return Ok(Gone::default());
            }
            match self.least(of_line, ways(of_line), &self.looks, fits)? {
                Some(urns) => gone.urns.extend(urns),
                None => {
                    gone.urns.extend(of_line.iter().map(|context| context.urn().clone()));
                    let live = of_line.iter().find(|context| self.after.live.contains(context.digest()));
                    let Some(live) = live else { return Ok(Gone::default()) };
                    gone.held_by.get_or_insert_with(|| live.urn().clone());
                }
            }
        }
        Ok(gone)
    }

    /// The first of these sets of documents, none of them live, without which the policy fits the line.
    fn least(
        &self,
        of_line: &[Arc<Context>],
        ways: Vec<BTreeSet<ContextUrn>>,
        budget: &Cell<usize>,
        fits: impl Fn(&[Arc<Context>]) -> Result<bool, Vec<PolicyFault>>,
    ) -> Result<Option<BTreeSet<ContextUrn>>, Vec<PolicyFault>> {
        for gone in ways {
            let is_live = |context: &Arc<Context>| self.after.live.contains(context.digest());
            if of_line.iter().any(|context| gone.contains(context.urn()) && is_live(context)) {
                continue;
            }
            if !spend(budget) {
                break;
            }
            if fits(&without(of_line, &gone))? {
                return Ok(Some(gone));
            }
        }
        Ok(None)
    }

    /// Returns true if a policy fits the lines that it names: one with an open scope is typed, any other one is valid.
    fn fits(&self, written: &Written, contexts: &[Arc<Context>]) -> Result<bool, Vec<PolicyFault>> {
        if is_open(written) {
            return self.is_typed(written, contexts);
        }
        let only = BTreeSet::from([written.id.to_string()]);
        Ok(self.validate(contexts, Some(&only))?.1.is_empty())
    }

    /// Returns true unless a policy asks for what is not there, or is of another type. That it could match nothing is another matter: what it
    /// matches may be in another line.
    fn is_typed(&self, written: &Written, contexts: &[Arc<Context>]) -> Result<bool, Vec<PolicyFault>> {
        let catalogue = self.typed(contexts);
        let fault = |why: String| vec![PolicyFault::Schema { why }];
        let set = PolicySet::from_policies([written.policy.clone()]).map_err(|why| fault(why.to_string()))?;
        let schema = catalogue.schema().map_err(|fault| vec![fault])?;
        let result = Validator::new(schema).validate(&set, ValidationMode::Strict);
        let hidden = || self.texts.hidden([written], &catalogue);
        Ok(result.validation_errors().next().is_none() && hidden().is_empty())
    }

    fn typed(&self, contexts: &[Arc<Context>]) -> Catalogue {
        let mut catalogue = Catalogue::build_after(contexts, &self.after);
        catalogue.add_learnt(&negotiated_terms::named(self.texts.written.iter()));
        catalogue
    }

    /// Validates all policies, or these only.
    fn validate(
        &self,
        contexts: &[Arc<Context>],
        only: Option<&BTreeSet<String>>,
    ) -> Result<Fitted, Vec<PolicyFault>> {
        let catalogue = self.typed(contexts);
        let unredactable = self.texts.unredactable(contexts, &catalogue);
        let never_sure = self.texts.never_sure(contexts, &catalogue);
        let chosen = |written: &&Written| only.is_none_or(|ids| ids.contains(&*written.id));
        let policies: Vec<&Written> = self.texts.written.iter().filter(chosen).collect();
        let mut faults = self.texts.validate_all(&policies, &catalogue).map_err(|fault| vec![fault])?;
        let looked_at = |fault: &PolicyFault| {
            only.is_none_or(|ids| policy_in(fault).is_some_and(|policy| ids.contains(policy)))
        };
        faults.extend(unredactable.into_iter().chain(never_sure).filter(looked_at));
        Ok((catalogue, faults))
    }
}

/// Takes one from a budget; false where nothing is left.
fn spend(budget: &Cell<usize>) -> bool {
    let left = budget.get();
    budget.set(left.saturating_sub(1));
    left > 0
}

fn is_open(written: &Written) -> bool {
    !matches!(written.policy.resource_constraint(), ResourceConstraint::Is(_))
}

/// Returns true if every member that an open policy asks for is somewhere.
fn finds_its_members(written: &Written, catalogue: &Catalogue) -> bool {
    let has = |name: &String, info: &TypeInfo| {
        info.attributes.members.get(name).is_some_and(|member| member.kind.is_some())
    };
    let mut names = written.reads.resource.names.iter();
    !is_open(written) || names.all(|name| catalogue.types.iter().any(|info| has(name, info)))
}

/// The lines whose types a policy mentions, in its scope or its conditions, also by a name that no type has.
fn named_lines(kept: &[Arc<Context>], written: &Written) -> BTreeSet<Line> {
    let mut names: Vec<String> = written.reads.types.iter().map(ToString::to_string).collect();
    if let ResourceConstraint::Is(name) = written.policy.resource_constraint() {
        names.push(name.to_string());
    }
    let is_named = |line: &Line| {
        let space = namespace(line) + "::";
        names.iter().any(|name| name.starts_with(&space))
    };
    let mut lines: Vec<&Line> = kept.iter().map(|context| context.urn().line()).collect();
    lines.dedup();
    lines.into_iter().filter(|line| is_named(line)).cloned().collect()
}

fn of_lines(kept: &[Arc<Context>], lines: &BTreeSet<Line>) -> Contexts {
    kept.iter().filter(|context| lines.contains(context.urn().line())).cloned().collect()
}

fn without(contexts: &[Arc<Context>], gone: &BTreeSet<ContextUrn>) -> Contexts {
    contexts.iter().filter(|context| !gone.contains(context.urn())).cloned().collect()
}

/// The sets of versions that could go from a line that no policy names: the smallest first, the whole line last.
fn ways(of_line: &[Arc<Context>]) -> Vec<BTreeSet<ContextUrn>> {
    let mut ways = if of_line.len() <= MAX_SOUGHT {
        candidates(of_line)
    } else {
        let highest = of_line.iter().rev().take(MAX_SOUGHT);
        highest.map(|context| BTreeSet::from([context.urn().clone()])).collect()
    };
    ways.push(of_line.iter().map(|context| context.urn().clone()).collect());
    ways
}

/// The sets of versions that could go from a line, the smallest first: one document, one major version, all but one major version, all but
/// one document; the highest version first.
fn candidates(of_line: &[Arc<Context>]) -> Vec<BTreeSet<ContextUrn>> {
    /// Returns true if the other goes, seen from the one.
    type Goes<'a> = &'a dyn Fn(&ContextUrn, &ContextUrn) -> bool;
    let same_major = |a: &ContextUrn, b: &ContextUrn| a.version().major == b.version().major;
    let kinds: [Goes<'_>; 4] = [
        &|one, other| one == other,
        &|one, other| same_major(one, other),
        &|one, other| !same_major(one, other),
        &|one, other| one != other,
    ];
    let (mut all, mut seen) = (Vec::new(), HashSet::new());
    for goes in kinds {
        for one in of_line.iter().rev() {
            let others = of_line.iter().map(|context| context.urn()).filter(|other| goes(one.urn(), other));
            let gone: BTreeSet<ContextUrn> = others.cloned().collect();
            if !gone.is_empty() && seen.insert(gone.clone()) {
                all.push(gone);
            }
        }
    }
    all
}

/// A context of a line that is not held, with one concept without members under every performative.
fn plain(kept: &[Arc<Context>]) -> Option<Arc<Context>> {
    let is_held = |name: &String| {
        Line::parse(name).is_ok_and(|line| kept.iter().any(|context| *context.urn().line() == line))
    };
    let name = (0..=kept.len()).map(|number| format!("plain{number}")).find(|name| !is_held(name))?;
    let taken: Vec<&str> = Performative::ALL.iter().map(|one| one.as_str()).collect();
    let concept =
        json!({"type": "object", "properties": {}, "additionalProperties": false, "x-performatives": taken});
    let document = json!({"context": format!("urn:contexts:{name}:v1.0"), "concepts": {"plain": concept}});
    let bytes = document.to_string().into_bytes();
    Context::check(&bytes, &Prefix::default(), &DocumentLimits::default()).ok().map(Arc::new)
}

fn invalid(faults: &[PolicyFault]) -> BTreeSet<String> {
    faults.iter().filter_map(policy_in).map(str::to_owned).collect()
}

/// The first fault that is gone without what goes.
fn reason(before: &[PolicyFault], after: &[PolicyFault]) -> String {
    let still = invalid(after);
    let mended = |fault: &&PolicyFault| policy_in(fault).is_some_and(|policy| !still.contains(policy));
    before.iter().find(mended).map_or_else(|| "it would make a policy invalid".to_owned(), invalid_by)
}

fn invalid_by(fault: &PolicyFault) -> String {
    format!("it would make a policy invalid: {fault}")
}
