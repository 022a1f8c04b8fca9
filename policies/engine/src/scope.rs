//! Lookup of policies by scope: principal, action and resource.
//!
//! A scope is one key for the principal (`principal`, `is`, `==`, `in`, `is … in`), one for the resource and a list of actions.
//! The keys of an entity are those that its uid, its type and its ancestors make, so the policies found are exactly those
//! whose scope is true: no other one could apply, or err, and of these only the conditions are left to be asked. The tables hold
//! each policy once for each action that its scope names, whatever the number of entities, and a look-up costs the number of
//! keys that hold (two and two for each group), whatever the number of policies.

use std::collections::{BTreeMap, HashMap};

use cedar_policy::{
    ActionConstraint, EntityTypeName, EntityUid, Policy, PrincipalConstraint, ResourceConstraint,
};

use crate::wants::Wants;

/// The key that one side of a scope asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// Anything.
    Open,
    /// `is T`
    Is(EntityTypeName),
    /// `== U`
    Eq(EntityUid),
    /// `in U`: the entity itself or a descendant of it.
    In(EntityUid),
    /// `is T in U`
    IsIn(EntityTypeName, EntityUid),
    /// Not of Cedar: what nobody signed (F0-31), which an open `forbid` reaches and an open `permit` does not.
    Unsigned,
}

impl Key {
    /// The key of the principal in the scope.
    pub fn of_principal(policy: &Policy) -> Self {
        match policy.principal_constraint() {
            PrincipalConstraint::Any => Self::Open,
            PrincipalConstraint::Is(name) => Self::Is(name),
            PrincipalConstraint::Eq(uid) => Self::Eq(uid),
            PrincipalConstraint::In(uid) => Self::In(uid),
            PrincipalConstraint::IsIn(name, uid) => Self::IsIn(name, uid),
        }
    }

    /// The key of the resource in the scope.
    pub fn of_resource(policy: &Policy) -> Self {
        match policy.resource_constraint() {
            ResourceConstraint::Any => Self::Open,
            ResourceConstraint::Is(name) => Self::Is(name),
            ResourceConstraint::Eq(uid) => Self::Eq(uid),
            ResourceConstraint::In(uid) => Self::In(uid),
            ResourceConstraint::IsIn(name, uid) => Self::IsIn(name, uid),
        }
    }

    /// Every key that holds for an entity with these ancestors, of any degree.
    pub fn holding(uid: &EntityUid, ancestors: impl IntoIterator<Item = EntityUid>) -> Vec<Self> {
        let of_type = uid.type_name();
        let mut keys = vec![Self::Open, Self::Is(of_type.clone()), Self::Eq(uid.clone())];
        for above in std::iter::once(uid.clone()).chain(ancestors) {
            keys.push(Self::In(above.clone()));
            keys.push(Self::IsIn(of_type.clone(), above));
        }
        keys
    }
}

/// A scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    pub principal: Key,
    pub resource: Key,
    action: ActionConstraint,
}

impl Scope {
    /// The scope of a policy; that of a linked template with its slots filled.
    pub fn of(policy: &Policy) -> Self {
        Self {
            principal: Key::of_principal(policy),
            resource: Key::of_resource(policy),
            action: policy.action_constraint(),
        }
    }

    /// Returns true if it holds for an action.
    pub fn takes(&self, action: &Action) -> bool {
        match &self.action {
            ActionConstraint::Any => true,
            ActionConstraint::Eq(uid) => *uid == action.uid,
            ActionConstraint::In(uids) => {
                uids.iter().any(|uid| *uid == action.uid || action.ancestors.contains(uid))
            }
        }
    }
}

/// An action, and the groups of actions above it.
#[derive(Debug, Clone)]
pub(crate) struct Action {
    pub uid: EntityUid,
    pub ancestors: Vec<EntityUid>,
}

/// The policies of one cell that share their actions.
#[derive(Debug)]
pub(crate) struct Lot {
    /// A bit for each action, by position.
    actions: u64,
    /// Positions of the policies.
    pub rules: Box<[u32]>,
    /// The inputs of their conditions, together.
    pub wants: Wants,
}

/// The lots of one principal key, beside one resource key.
type Cell = (u32, Box<[Lot]>);

/// The tables.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    principals: HashMap<Key, u32>,
    resources: HashMap<Key, u32>,
    /// By resource key; sorted by principal key.
    cells: Vec<Box<[Cell]>>,
}

/// Entered policies by resource key, principal key and actions.
type Entered = BTreeMap<(u32, u32, u64), (Vec<u32>, Wants)>;

/// At most this many actions can be told apart; there are eleven performatives.
pub(crate) const MAX_ACTIONS: usize = 64;

impl Scopes {
    /// Enters every policy; one that takes none of the actions is entered nowhere.
    pub fn build<'r>(
        rules: impl IntoIterator<Item = (&'r Scope, Wants, &'r [Key])>,
        actions: &[Action],
    ) -> Self {
        let mut scopes = Self::default();
        let mut entered = Entered::new();
        for (position, (scope, wants, more)) in (0_u32..).zip(rules) {
            let takes = |(_, action): &(u32, &Action)| scope.takes(action);
            let actions = (0_u32..).zip(actions.iter().take(MAX_ACTIONS)).filter(takes);
            let actions = actions.fold(0_u64, |set, (bit, _)| set | 1 << bit);
            if actions == 0 {
                continue;
            }
            let principal = number(&mut scopes.principals, &scope.principal);
            for resource in std::iter::once(&scope.resource).chain(more) {
                let resource = number(&mut scopes.resources, resource);
                let (lot, joined) = entered.entry((resource, principal, actions)).or_default();
                lot.push(position);
                *joined = joined.and(wants);
            }
        }
        scopes.lay(entered);
        scopes
    }

    fn lay(&mut self, entered: Entered) {
        let mut cells: Vec<Vec<(u32, Vec<Lot>)>> = Vec::new();
        cells.resize_with(self.resources.len(), Vec::new);
        for ((resource, principal, actions), (rules, wants)) in entered {
            let lot = Lot { actions, rules: rules.into(), wants };
            let Some(row) = cells.get_mut(resource as usize) else { continue };
            match row.last_mut() {
                Some((last, lots)) if *last == principal => lots.push(lot),
                _ => row.push((principal, vec![lot])),
            }
        }
        let closed = |(principal, lots): (u32, Vec<Lot>)| (principal, lots.into_boxed_slice());
        self.cells = cells.into_iter().map(|row| row.into_iter().map(closed).collect()).collect();
    }

    /// The keys that some policy has for its principal, by number, sorted.
    pub fn principal_keys(&self, keys: &[Key]) -> Box<[u32]> {
        known(&self.principals, keys)
    }

    /// The same for the resource.
    pub fn resource_keys(&self, keys: &[Key]) -> Box<[u32]> {
        known(&self.resources, keys)
    }

    /// The lots whose scope holds for an entity of whom these principal keys hold, for the action at this position and a resource
    /// of which these resource keys hold.
    pub fn find<'s>(
        &'s self,
        principal: &[u32],
        action: usize,
        resource: &[u32],
        resolved: &mut Vec<&'s Lot>,
    ) {
        let bit = u32::try_from(action).ok().and_then(|action| 1_u64.checked_shl(action)).unwrap_or_default();
        for key in resource {
            let Some(row) = self.cells.get(*key as usize) else { continue };
            for own in principal {
                let Ok(at) = row.binary_search_by_key(own, |(principal, _)| *principal) else { continue };
                let lots = row.get(at).into_iter().flat_map(|(_, lots)| lots);
                resolved.extend(lots.filter(|lot| lot.actions & bit != 0));
            }
        }
    }
}

fn number(numbers: &mut HashMap<Key, u32>, key: &Key) -> u32 {
    if let Some(number) = numbers.get(key) {
        return *number;
    }
    let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    numbers.insert(key.clone(), next);
    next
}

fn known(numbers: &HashMap<Key, u32>, keys: &[Key]) -> Box<[u32]> {
    let mut resolved: Vec<u32> = keys.iter().filter_map(|key| numbers.get(key).copied()).collect();
    resolved.sort_unstable();
    resolved.dedup();
    resolved.into()
}
