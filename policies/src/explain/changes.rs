//! What would have to be otherwise: said only where it follows from the policies as they are written.

use cedar_policy::{ActionConstraint, PrincipalConstraint};

use super::Against;
use super::formula::{Formula, Parts};
use super::scene::Scene;
use super::scope::Fit;
use super::telling::Telling;
use super::truth::Truth;
use super::ways::{self, Bounds, Held};
use crate::agents::Agents;
use crate::parse::Written;
use crate::sense::{self, Together};

/// What a message that does not pass would need: all of `all`, and one of `one_of` where there is any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToPass {
    /// Needed together.
    pub all: Vec<String>,
    /// Alternatives, each enough by itself. Never one alone, which would be one of `all`.
    pub one_of: Vec<String>,
    /// Whether there may be more alternatives than are told.
    pub more: bool,
}

impl ToPass {
    /// True where nothing is said: it passes, or no single policy is near.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty() && self.one_of.is_empty()
    }

    /// This alone.
    pub(super) fn just(what: &str) -> Self {
        Self { all: vec![what.to_owned()], ..Self::default() }
    }

    /// What is needed beside any of these permits, each with what it needs to apply; those that need the same are told together.
    pub(super) fn with_permits<'w>(mut self, permits: impl Iterator<Item = (&'w Written, String)>) -> Self {
        let ways = folded(permits);
        if ways.is_empty() {
            self.all.push("a permit for it would have to be written: none is near".to_owned());
        }
        let applies =
            |(ids, needs): &(Vec<&str>, String)| format!("so that {} applies: {needs}", listed(ids, "or"));
        self.or_one_of(ways.iter().map(applies).collect());
        self
    }

    /// One of these is needed too.
    fn or_one_of(&mut self, mut ways: Vec<String>) {
        if ways.len() == 1 {
            self.all.append(&mut ways);
        } else {
            self.one_of = ways;
        }
    }
}

/// What is said of a permit that would apply and that asks a human.
pub(super) const ASKS: &str =
    "; but it asks a human, and nobody can be asked yet: it would have to be without `@approve`";

/// What a message that does not pass would need: every forbid that applies passed by, and every permit that asks a human, and one permit that
/// asks nobody.
pub(super) fn to_pass<'s>(
    against: &[Against<'_>],
    scene: &'s Scene,
    (together, agents): (Together<'s>, &'s Agents),
    bounds: Bounds,
) -> ToPass {
    let mut parts = Parts::new(scene, together, agents);
    let held: Vec<Held<'_>> = against.iter().map(|one| held(one, &mut parts)).collect();
    let found = ways::ways(&parts, &held, bounds);
    Telling { parts: &parts, held: &held, most: bounds.told() }.told(found)
}

/// A policy with its scope and its clauses as formulas.
fn held<'w>(one: &Against<'w>, parts: &mut Parts<'_>) -> Held<'w> {
    let [sender, action, _] = &one.scope;
    let who = match one.written.policy.principal_constraint() {
        PrincipalConstraint::Eq(uid) => Some(format!("principal == {uid}")),
        PrincipalConstraint::In(uid) | PrincipalConstraint::IsIn(_, uid) => {
            Some(format!("principal in {uid}"))
        }
        PrincipalConstraint::Any | PrincipalConstraint::Is(_) => None,
    };
    let what = match one.written.policy.action_constraint() {
        ActionConstraint::Any => None,
        ActionConstraint::Eq(uid) => Some(format!("action == {uid}")),
        ActionConstraint::In(uids) => {
            let uids: Vec<String> = uids.iter().map(ToString::to_string).collect();
            Some(format!("action in [{}]", uids.join(", ")))
        }
    };
    let fits = |fit: &Fit| if *fit == Fit::Yes { Truth::True } else { Truth::False };
    // what is in a message is told before whose it is
    let clauses: Vec<Formula> = one.clauses.iter().map(|clause| parts.clause(clause)).collect();
    let mut asks = Vec::new();
    for (text, fit) in [(who, sender), (what, action)] {
        if let Some(expr) = text.and_then(|text| sense::condition(&text)) {
            asks.push(Formula::Part(parts.part(&expr, fits(fit))));
        }
    }
    asks.extend(clauses);
    let asks = Parts::all(asks);
    Held { written: one.written, asks, near: one.is_near(), now: one.truth.clone() }
}

/// Policies of which the same is to be said, in the order in which they come first.
fn folded<'w>(each: impl Iterator<Item = (&'w Written, String)>) -> Vec<(Vec<&'w str>, String)> {
    let mut all: Vec<(Vec<&str>, String)> = Vec::new();
    for (written, said) in each {
        match all.iter_mut().find(|(_, same)| *same == said) {
            Some((ids, _)) => ids.push(&written.id),
            None => all.push((vec![&*written.id], said)),
        }
    }
    all
}

pub(super) fn listed(ids: &[&str], word: &str) -> String {
    let quoted: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    match quoted.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} {word} {last}", before.join(", ")),
        _ => quoted.concat(),
    }
}
