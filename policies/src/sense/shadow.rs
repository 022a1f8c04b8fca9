//! Permits that a forbid without a condition covers: they permit nothing.

use std::collections::HashMap;

use cedar_policy::PrincipalConstraint;
use semgate_contexts::PerformativeSet;

use super::{Scope, World, scope};
use crate::PolicyFault;
use crate::agents::Agents;
use crate::check::Texts;
use crate::parse::Written;

/// Whom a scope names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Who {
    Everybody,
    Agent(String),
    Group(String),
}

/// Who, and which type (any, if none).
type Key = (Who, Option<String>);

/// Forbids of one key: the first that covers all actions comes first.
#[derive(Default)]
struct Covered<'w> {
    actions: PerformativeSet,
    by: Vec<(&'w Written, PerformativeSet)>,
}

/// The permits that can never permit. Each looks at a handful of keys, however many policies there are.
pub(super) fn shadowed(texts: &Texts<'_>, world: &World<'_>) -> Vec<PolicyFault> {
    let mut forbids: HashMap<Key, Covered<'_>> = HashMap::new();
    for written in texts.written.iter().filter(|written| !written.permits() && written.clauses.is_empty()) {
        let Some((who, resource)) = key(written) else { continue };
        let actions = scope(written, world).actions;
        let covered = forbids.entry((who, resource)).or_default();
        covered.actions = covered.actions.iter().chain(actions.iter()).collect();
        covered.by.push((written, actions));
    }
    if forbids.is_empty() {
        return Vec::new();
    }
    let permits = texts.written.iter().filter(|written| written.permits());
    permits
        .filter_map(|written| {
            let by = covering(written, scope(written, world), &forbids, world.agents())?;
            let names: Vec<String> = by.iter().map(|forbid| format!("`{}`", forbid.id)).collect();
            Some(PolicyFault::Invalid {
                place: texts.place_at(written, 0),
                policy: written.id.to_string(),
                why: format!(
                    "it permits nothing: {} forbids all of it without a condition",
                    names.join(" with ")
                ),
                hint: None,
            })
        })
        .collect()
}

/// The forbids that together cover a permit.
fn covering<'w>(
    permit: &Written,
    scope: Scope,
    forbids: &HashMap<Key, Covered<'w>>,
    agents: Option<&Agents>,
) -> Option<Vec<&'w Written>> {
    let (who, resource) = key(permit)?;
    let mut wholes = vec![Who::Everybody];
    if let Who::Agent(id) = &who {
        let groups = agents.and_then(|agents| agents.at(agents.position(id)?)).map(|entry| &entry.groups);
        wholes.extend(groups.into_iter().flatten().cloned().map(Who::Group));
    }
    if who != Who::Everybody {
        wholes.push(who);
    }
    let resources = if resource.is_some() { vec![None, resource] } else { vec![None] };
    let keys = wholes.iter().flat_map(|who| resources.iter().map(move |of| (who.clone(), of.clone())));
    let found: Vec<&Covered<'w>> = keys.filter_map(|key| forbids.get(&key)).collect();
    let all: PerformativeSet = found.iter().flat_map(|covered| covered.actions.iter()).collect();
    let missing = scope.actions.iter().any(|action| !all.contains(action));
    if missing || scope.actions.is_empty() {
        return None;
    }
    let mut left = scope.actions;
    let mut by = Vec::new();
    let whole = |actions: &PerformativeSet| scope.actions.iter().all(|action| actions.contains(action));
    let each = || found.iter().flat_map(|covered| &covered.by);
    if let Some((one, _)) = each().find(|(_, actions)| whole(actions)) {
        return Some(vec![*one]);
    }
    for (forbid, actions) in each() {
        let rest: PerformativeSet = left.iter().filter(|action| !actions.contains(*action)).collect();
        if rest.len() < left.len() {
            by.push(*forbid);
            left = rest;
        }
    }
    Some(by)
}

/// `None` for a scope that names what nobody can be, which is a fault of its own.
fn key(written: &Written) -> Option<Key> {
    use cedar_policy::ResourceConstraint::{Any, Is};
    let who = match written.policy.principal_constraint() {
        PrincipalConstraint::Any => Who::Everybody,
        PrincipalConstraint::Is(name) if name.to_string() == "Agent" => Who::Everybody,
        PrincipalConstraint::Eq(uid) | PrincipalConstraint::In(uid) | PrincipalConstraint::IsIn(_, uid) => {
            let id = uid.id().unescaped().to_owned();
            match uid.type_name().to_string().as_str() {
                "Agent" => Who::Agent(id),
                "Group" => Who::Group(id),
                _ => return None,
            }
        }
        PrincipalConstraint::Is(_) => return None,
    };
    match written.policy.resource_constraint() {
        Any => Some((who, None)),
        Is(name) => Some((who, Some(name.to_string()))),
        _ => None,
    }
}
