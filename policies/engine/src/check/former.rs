//! Names that the running generation knew and `entities.json` no longer declares.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, UnaryOp};
use cedar_policy::{Effect, EntityUid, Policy, PrincipalConstraint};

use crate::agents::{Agents, Declared};
use crate::partial::within;

/// The agents of the running generation, for the reload of a set.
#[derive(Clone, Copy)]
pub(crate) struct Former<'a> {
    pub agents: &'a Agents,
    /// The set is the one that is live: a change of contexts takes down no live set.
    pub unchanged: bool,
}

impl Former<'_> {
    /// Returns true if a set may go on naming this. An agent without an entry is denied everything. A group or credential may go where
    /// that permits nobody more: `narrows` says so of the policy, or all who had it are gone.
    pub fn tolerates(&self, kind: Declared, name: &str, now: &Agents, narrows: bool) -> bool {
        self.agents.declares(kind, name)
            && (self.unchanged
                || kind == Declared::Agent
                || narrows
                || self.agents.has_only_gone(kind, name, now))
    }
}

/// Returns true if a policy permits no more once a name means nobody. Tests for the name are false then, so a permit may ask for it, and a
/// forbid may except it. `mentions` finds the name in an expression.
pub(crate) fn narrows(policy: &Policy, clauses: &[Clause], mentions: &dyn Fn(&Expr) -> bool) -> bool {
    let permits = policy.effect() == Effect::Permit;
    clauses.iter().all(|clause| match clause {
        Clause::When(condition) => only(condition, permits, mentions),
        Clause::Unless(condition) => only(condition, !permits, mentions),
    })
}

/// Returns true if the scope of a policy asks for this principal.
pub(crate) fn is_in_scope(policy: &Policy, uid: &EntityUid) -> bool {
    match policy.principal_constraint() {
        PrincipalConstraint::In(named)
        | PrincipalConstraint::Eq(named)
        | PrincipalConstraint::IsIn(_, named) => named == *uid,
        _ => false,
    }
}

/// Returns true if every test for the name stands as it is (`plain`), or if every one is negated.
fn only(expr: &Arc<Expr>, plain: bool, mentions: &dyn Fn(&Expr) -> bool) -> bool {
    match &**expr {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => only(expr, !plain, mentions),
        Expr::BinaryOp { op: BinaryOp::And | BinaryOp::Or, left, right } => {
            [left, right].into_iter().all(|side| only(side, plain, mentions))
        }
        Expr::BinaryOp {
            op: BinaryOp::In | BinaryOp::Contains | BinaryOp::ContainsAny | BinaryOp::ContainsAll,
            ..
        } => plain || !holds(expr, mentions),
        Expr::IfThenElse { cond, then_expr, else_expr } => {
            !holds(cond, mentions)
                && [then_expr, else_expr].into_iter().all(|part| only(part, plain, mentions))
        }
        _ => !holds(expr, mentions),
    }
}

fn holds(expr: &Arc<Expr>, mentions: &dyn Fn(&Expr) -> bool) -> bool {
    let mut held = false;
    within(expr, &mut |one| held |= mentions(one));
    held
}
