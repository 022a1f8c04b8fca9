//! Many faults of one cause, told once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cedar_policy::{ActionConstraint, PrincipalConstraint, ResourceConstraint};

use crate::catalogue::Catalogue;
use crate::check::{Texts, place_in, policy_in, unknown_type};
use crate::parse::{Written, place};
use crate::{Place, PolicyFault};

/// A set without a `permit` lets nothing pass, whatever its forbids say, so none of them does anything. One that says in so many words
/// that everything is forbidden means it.
pub(crate) fn no_permit(texts: Texts<'_>) -> Option<PolicyFault> {
    let first = texts.written.first()?;
    if texts.written.iter().any(|written| written.permits() || is_everything(written)) {
        return None;
    }
    let (file, text) = texts.file(first);
    Some(PolicyFault::NoPermit { place: place(file, text, first.start) })
}

/// Whether its scope is open and nothing else is asked.
pub(crate) fn is_everything(written: &Written) -> bool {
    let policy = &written.policy;
    written.clauses.is_empty()
        && matches!(policy.principal_constraint(), PrincipalConstraint::Any)
        && matches!(policy.action_constraint(), ActionConstraint::Any)
        && matches!(policy.resource_constraint(), ResourceConstraint::Any)
}

/// What is said of a member of a message whose type is open.
const OPEN: &str = "any entity type that `resource` can be here";

/// What does not fit, with the members that nothing has: of those is not said again what only follows from them.
pub(crate) fn told(
    unfit: Vec<PolicyFault>,
    unknown: Vec<PolicyFault>,
    catalogue: &Catalogue,
) -> Vec<PolicyFault> {
    // of what a type has that is not known, nothing is known either
    let apart: HashSet<String> = unfit
        .iter()
        .filter(|fault| unknown_space(fault, catalogue).is_some())
        .filter_map(|fault| policy_in(fault).map(str::to_owned))
        .collect();
    let is_of_it = |fault: &PolicyFault| match fault {
        PolicyFault::Invalid { policy, why, .. } => apart.contains(policy) && why.contains(OPEN),
        _ => false,
    };
    let unfit: Vec<PolicyFault> = unfit.into_iter().filter(|fault| !is_of_it(fault)).collect();
    let unknown: Vec<PolicyFault> = unknown.into_iter().filter(|fault| !is_of_it(fault)).collect();
    let unfit = once_for_each_line(unfit, catalogue);
    let follows = |fault: &PolicyFault| {
        unknown.iter().any(|first| match (first, fault) {
            (
                PolicyFault::Invalid { place: a, policy: one, why: says, .. },
                PolicyFault::Invalid { place: b, policy: other, why, .. },
            ) => {
                let member = says.split('`').nth(1).unwrap_or_default();
                let asked = why.strip_prefix("attribute `").and_then(|rest| rest.split('`').next());
                let same = asked.and_then(|path| path.rsplit('.').next()) == Some(member);
                one == other && ((a == b && same) || why.ends_with("true for no message"))
            }
            _ => false,
        })
    };
    let mut all = once_for_all_types(unfit.into_iter().filter(|fault| !follows(fault)).collect());
    all.extend(unknown);
    all
}

/// Types of a name space that no context has are told once for all policies that speak of them: so it is for each line before the
/// contexts are known. What only follows from that in the same policies is not told.
fn once_for_each_line(faults: Vec<PolicyFault>, catalogue: &Catalogue) -> Vec<PolicyFault> {
    let mut lines: BTreeMap<String, (Place, BTreeSet<String>)> = BTreeMap::new();
    let mut about: BTreeSet<String> = BTreeSet::new();
    for fault in &faults {
        if let (Some(space), Some(place), Some(policy)) =
            (unknown_space(fault, catalogue), place_in(fault), policy_in(fault))
        {
            let (first, policies) = lines.entry(space).or_insert_with(|| (place.clone(), BTreeSet::new()));
            *first = place.clone().min(first.clone());
            policies.insert(policy.to_owned());
            about.insert(policy.to_owned());
        }
    }
    let follows = |fault: &PolicyFault| {
        let why = match fault {
            PolicyFault::Invalid { why, .. } => why,
            _ => return false,
        };
        // without any type an open resource can be nothing either
        let follows = catalogue.types.is_empty() && !about.is_empty();
        why.ends_with("for no message")
            && (follows || policy_in(fault).is_some_and(|policy| about.contains(policy)))
    };
    let mut rest: Vec<PolicyFault> = faults
        .into_iter()
        .filter(|fault| unknown_space(fault, catalogue).is_none() && !follows(fault))
        .collect();
    rest.extend(lines.into_iter().map(|(space, (place, policies))| PolicyFault::UnknownLine {
        place,
        space,
        policies: policies.len(),
    }));
    rest
}

/// The name space of a type that no context has, if it has no type at all and none was meant that there is.
fn unknown_space(fault: &PolicyFault, catalogue: &Catalogue) -> Option<String> {
    let PolicyFault::Invalid { why, .. } = fault else { return None };
    let name = why.strip_prefix("unrecognized entity type `")?.split('`').next()?;
    let (mut space, _) = name.rsplit_once("::")?;
    if let Some((line, version)) = space.rsplit_once("::")
        && version.strip_prefix('v').is_some_and(|number| number.parse::<u32>().is_ok())
    {
        space = line;
    }
    let within = format!("{space}::");
    let known = catalogue.types.iter().any(|info| info.name.starts_with(&within));
    (!known && unknown_type(name, catalogue).is_none()).then(|| space.to_owned())
}

/// A member of an open `resource` that many types lack, or need not have, is told once, with what is to be done about it.
fn once_for_all_types(faults: Vec<PolicyFault>) -> Vec<PolicyFault> {
    type Key = (Place, String, String);
    let mut found: HashMap<Key, (usize, usize)> = HashMap::new();
    for (key, lacks) in faults.iter().filter_map(lacking) {
        let (lack, optional) = found.entry(key).or_default();
        *if lacks { lack } else { optional } += 1;
    }
    let mut told = HashSet::new();
    let once = |fault: PolicyFault| {
        let Some((key, _)) = lacking(&fault) else { return Some(fault) };
        let (lack, optional) = found.get(&key).copied().unwrap_or_default();
        if lack + optional < 2 {
            return Some(fault);
        }
        let (place, policy, member) = key.clone();
        let how_many = match (lack, optional) {
            (0, optional) => format!("{optional} may be without it"),
            (lack, 0) => format!("{lack} lack it"),
            (lack, optional) => format!("{lack} lack it, {optional} may be without it"),
        };
        told.insert(key).then(|| PolicyFault::Invalid {
            place,
            policy,
            why: format!(
                "attribute `{member}` is not on every entity type that `resource` can be: {how_many}"
            ),
            hint: Some(format!(
                "write `resource is …` in the scope, or ask `resource has {member} &&` first"
            )),
        })
    };
    faults.into_iter().filter_map(once).collect()
}

/// The member that a type lacks (or may be without) by this fault, with its place and policy.
fn lacking(fault: &PolicyFault) -> Option<((Place, String, String), bool)> {
    let PolicyFault::Invalid { place, policy, why, .. } = fault else { return None };
    let of_type = |rest: &str| rest.split_once("` on entity type `").map(|(member, _)| member.to_owned());
    let (member, lacks) = match why.strip_prefix("attribute `") {
        Some(rest) if why.ends_with("` not found") => (of_type(rest)?, true),
        _ => {
            let rest = why.strip_prefix("unable to guarantee safety of access to optional attribute `")?;
            (of_type(rest)?, false)
        }
    };
    Some(((place.clone(), policy.clone(), member), lacks))
}

/// What a policy does nothing beside, with the versions of its line that are left out: with one of them it might do something.
pub(crate) fn beside_left_out(fault: PolicyFault, texts: Texts<'_>, catalogue: &Catalogue) -> PolicyFault {
    let left = |policy: &str| {
        let written = texts.written.iter().find(|written| &*written.id == policy)?;
        let ResourceConstraint::Is(name) = written.policy.resource_constraint() else { return None };
        let name = name.to_string();
        let line = &catalogue.types.iter().find(|info| info.name == name)?.line;
        catalogue.left_out.iter().find(|left| left.urn.line() == line)
    };
    match fault {
        PolicyFault::Invalid { place, policy, why, hint } if !catalogue.left_out.is_empty() => {
            let left = left(&policy).map(ToString::to_string);
            let said = |hint: &String| hint.contains("is left out");
            let hint = match (hint, left) {
                (Some(hint), Some(left)) if !said(&hint) => Some(format!("{hint}; {left}")),
                (None, left) => left,
                (hint, _) => hint,
            };
            PolicyFault::Invalid { place, policy, why, hint }
        }
        other => other,
    }
}
