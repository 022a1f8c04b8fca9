//! Contexts beside policies: a document that would make a policy invalid is left out alone, and the rest goes live.
//!
//! Whoever may publish on a line must not be able to keep the policies of others from being loaded, by one document or by
//! several, nor with a lower or a higher version than the ones that the policies were written for, nor by many lines at once.

mod lines;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use cedar_policy::{PolicySet, ResourceConstraint, ValidationMode, Validator};
use semgate_contexts::{Context, ContextUrn, Line};

use crate::catalogue::Catalogue;
use crate::check::{Texts, policy_in};
use crate::names::namespace;
use crate::parse::Written;
use crate::spaces::After;
use crate::{LeftOut, PolicyFault, PolicyLimits, learnt};

/// A catalogue, and the faults that remain beside all contexts.
type Fitted = (Catalogue, Vec<PolicyFault>);

struct Fitting<'a> {
    texts: Texts<'a>,
    after: After,
    tries: usize,
    /// Looks that are left at one line beside one policy.
    looks: Cell<usize>,
    /// Policies that are typed beside everything but a document which is live, each with the first such.
    held_by: RefCell<BTreeMap<Arc<str>, ContextUrn>>,
}

/// Types the contexts so that the policies validate. Where they do not, what goes is each time the least without which
/// fewer policies are invalid, or one about every type by fewer lines, and none is newly so. Documents that are live never go.
pub(crate) fn fit(
    texts: Texts<'_>,
    contexts: &[Arc<Context>],
    after: After,
    limits: &PolicyLimits,
) -> Result<Fitted, Vec<PolicyFault>> {
    let (tries, looks) = (limits.max_left_out_tries, Cell::new(limits.max_line_looks));
    let mut fitting = Fitting { texts, after, tries, looks, held_by: RefCell::default() };
    let (catalogue, at_first) = fitting.validate(contexts, None)?;
    // a name that two have is nobody's, also where one of the two goes for a policy
    fitting.after.barred.clone_from(&catalogue.barred);
    if at_first.is_empty() {
        return Ok((catalogue, at_first));
    }
    let mut kept: Vec<Arc<Context>> = contexts.to_vec();
    kept.sort_by(|a, b| (a.urn().line(), a.urn().version()).cmp(&(b.urn().line(), b.urn().version())));
    let (mut fitted, mut faults, mut left_out) = (catalogue, at_first, Vec::new());
    while !faults.is_empty() {
        // where no step is left, what is still wrong is the policies' own doing, and that alone is told
        let Some(Step { without, gone, own, left: (typed, fewer) }) =
            fitting.one_step(&kept, &invalid(&faults))?
        else {
            break;
        };
        left_out.extend(gone.iter().map(|context| {
            let why = own.get(context.urn()).map_or_else(|| reason(&faults, &fewer), invalid_by);
            LeftOut { urn: context.urn().clone(), why }
        }));
        (kept, fitted, faults) = (without, typed, fewer);
    }
    fitted.left_out.extend(left_out);
    fitted.left_out.sort_by(|a, b| a.urn.cmp(&b.urn));
    tell_what_is_live(&mut faults, &fitting.held_by.borrow());
    Ok((fitted, faults))
}

/// Whoever publishes may have done so in order that such a policy does not fit; so what it does not fit is named, with a way out.
fn tell_what_is_live(faults: &mut [PolicyFault], held_by: &BTreeMap<Arc<str>, ContextUrn>) {
    for fault in faults {
        if let PolicyFault::Invalid { policy, hint, .. } = fault
            && let Some(urn) = held_by.get(policy.as_str())
        {
            *hint = Some(format!(
                "that is so beside `{urn}`, which is live and is not left out for a policy: write `resource is …` in the scope"
            ));
        }
    }
}

/// What is kept, what goes, and what comes of the rest.
struct Step {
    without: Vec<Arc<Context>>,
    gone: Vec<Arc<Context>>,
    /// What is wrong beside each of several that go, where that can be told.
    own: BTreeMap<ContextUrn, PolicyFault>,
    left: Fitted,
}

impl<'a> Fitting<'a> {
    fn one_step(
        &mut self,
        kept: &[Arc<Context>],
        before: &BTreeSet<String>,
    ) -> Result<Option<Step>, Vec<PolicyFault>> {
        if let Some(step) = self.line_by_line(kept, before)? {
            return Ok(Some(step));
        }
        let blamed = self.at_fault(kept, before)?;
        for candidate in candidates(kept, &blamed) {
            let goes = |context: &Arc<Context>| candidate.contains(context.urn());
            let (gone, without): (Vec<_>, Vec<_>) = kept.iter().cloned().partition(goes);
            if gone.iter().any(|context| self.after.live.contains(context.digest())) {
                continue;
            }
            if self.tries == 0 {
                return Ok(None);
            }
            self.tries -= 1;
            // Only the invalid ones first: they are few.
            let (_, faults) = self.validate(&without, Some(before))?;
            let fewer = invalid(&faults).len() < before.len();
            let line = gone.first().map(|context| context.urn().line());
            if !fewer && !self.mends(line.and_then(|line| blamed.get_key_value(line)), &without)? {
                continue;
            }
            let left = self.validate(&without, None)?;
            let now = invalid(&left.1);
            if now.is_subset(before) && (!fewer || now.len() < before.len()) {
                return Ok(Some(Step { without, gone, own: BTreeMap::new(), left }));
            }
        }
        Ok(None)
    }

    /// Whether a policy about every type, mistyped by a line, no longer is: by others it may be still, which further steps mend.
    fn mends(
        &self,
        blamed: Option<(&Line, &Vec<&Written>)>,
        without: &[Arc<Context>],
    ) -> Result<bool, Vec<PolicyFault>> {
        let Some((line, policies)) = blamed else { return Ok(false) };
        for written in policies {
            let mut beside = named_lines(without, written);
            beside.insert(line.clone());
            if self.is_mistyped(written, &of_lines(without, &beside))? == Mistyped::No {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The lines of which some document could be why a policy is invalid: those whose types it is about, and of one that is about every
    /// type, with it, those beside which it is mistyped. Each line is typed by itself: all together cost about as much as one look at the
    /// whole.
    fn at_fault(
        &self,
        kept: &[Arc<Context>],
        before: &BTreeSet<String>,
    ) -> Result<Blamed<'a>, Vec<PolicyFault>> {
        let mut all = Blamed::new();
        for written in self.texts.written.iter().filter(|written| before.contains(&*written.id)) {
            let named = named_lines(kept, written);
            if is_open(written) {
                for line in self.mistyped_by(kept, written, &named)? {
                    all.entry(line).or_default().push(written);
                }
            }
            for line in named {
                all.entry(line).or_default();
            }
        }
        Ok(all)
    }

    /// The lines beside which a policy about every type is mistyped; none if it is without any, or beside more than documents are to
    /// blame for.
    fn mistyped_by(
        &self,
        kept: &[Arc<Context>],
        written: &Written,
        named: &BTreeSet<Line>,
    ) -> Result<Vec<Line>, Vec<PolicyFault>> {
        let base: Vec<Arc<Context>> = of_lines(kept, named);
        if self.is_mistyped(written, &base)? == Mistyped::Yes {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for of_line in kept.chunk_by(|a, b| a.urn().line() == b.urn().line()) {
            let Some(line) = of_line.first().map(|context| context.urn().line()) else { continue };
            if named.contains(line) {
                continue;
            }
            let beside: Vec<Arc<Context>> = base.iter().chain(of_line).cloned().collect();
            if self.is_mistyped(written, &beside)? == Mistyped::Yes {
                found.push(line.clone());
            }
            if found.len() > MAX_BLAMED {
                return Ok(Vec::new());
            }
        }
        Ok(found)
    }

    /// Whether a policy asks for what is not there, or is of another type. That it could match nothing is another matter: what it matches
    /// may be in another line.
    fn is_mistyped(
        &self,
        written: &Written,
        contexts: &[Arc<Context>],
    ) -> Result<Mistyped, Vec<PolicyFault>> {
        let catalogue = self.typed(contexts);
        let fault = |why: String| vec![PolicyFault::Schema { why }];
        let set = PolicySet::from_policies([written.policy.clone()]).map_err(|why| fault(why.to_string()))?;
        let schema = catalogue.schema().map_err(|fault| vec![fault])?;
        let result = Validator::new(schema).validate(&set, ValidationMode::Strict);
        let hidden = || self.texts.hidden([written], &catalogue);
        let any = result.validation_errors().next().is_some() || !hidden().is_empty();
        Ok(if any { Mistyped::Yes } else { Mistyped::No })
    }

    fn typed(&self, contexts: &[Arc<Context>]) -> Catalogue {
        let mut catalogue = Catalogue::build_after(contexts, &self.after);
        catalogue.add_learnt(&learnt::named(self.texts.written.iter()));
        catalogue
    }

    fn validate(
        &self,
        contexts: &[Arc<Context>],
        only: Option<&BTreeSet<String>>,
    ) -> Result<Fitted, Vec<PolicyFault>> {
        let catalogue = self.typed(contexts);
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

/// Lines that may be to blame, each with the policies about every type that are mistyped by it.
type Blamed<'w> = BTreeMap<Line, Vec<&'w Written>>;

/// A policy that is mistyped also by what has no members, and beside more lines than these, is itself the mistake: what every line lacks,
/// none took away.
const MAX_BLAMED: usize = 16;

/// Whether a policy is about every type.
fn is_open(written: &Written) -> bool {
    !matches!(written.policy.resource_constraint(), ResourceConstraint::Is(_))
}

/// Whether a policy does not fit the types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistyped {
    Yes,
    No,
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

fn of_lines(kept: &[Arc<Context>], lines: &BTreeSet<Line>) -> Vec<Arc<Context>> {
    kept.iter().filter(|context| lines.contains(context.urn().line())).cloned().collect()
}

/// Does the other go, seen from the one?
type Way<'a> = &'a dyn Fn(&ContextUrn, &ContextUrn) -> bool;

/// What of these lines could go, the least first: one document, one major version of a line, all others than one major version, all
/// others than one document; the highest version first.
fn candidates(kept: &[Arc<Context>], lines: &Blamed<'_>) -> Vec<BTreeSet<ContextUrn>> {
    let kept: Vec<&Arc<Context>> =
        kept.iter().filter(|context| lines.contains_key(context.urn().line())).collect();
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
        Some(fault) => invalid_by(fault),
        None => "it would make a policy invalid".to_owned(),
    }
}

fn invalid_by(fault: &PolicyFault) -> String {
    format!("it would make a policy invalid: {fault}")
}
