//! Pieces of a condition that say nothing: one that is true for no message, and a whole that is true for every one. Not judged are
//! what versions to come, and changes of groups, decide as a matter of course, and `true` and `false` that are written out.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal, UnaryOp};

use super::World;
use super::facts::{End, Where};
use super::possible::{Known, Looking};
use super::walk;

/// Characters of a piece that are shown.
const MAX_SHOWN: usize = 100;

/// A piece that says nothing.
#[derive(Debug)]
pub(super) struct Idle<'e> {
    pub piece: &'e Arc<Expr>,
    /// Whether it is so for every message, and not for none.
    pub always: bool,
}

/// The pieces of these conditions that say nothing.
pub(super) fn idle<'e>(clauses: &'e [Clause], here: &Where, world: &World<'_>) -> Vec<Idle<'e>> {
    let mut found = Vec::new();
    let mut looking = Looking::knowing(world, Known::Structure);
    let mut behind = Some(here.clone());
    for clause in clauses {
        let (Clause::When(condition) | Clause::Unless(condition)) = clause;
        if let Some(here) = &behind {
            never(&mut looking, condition, here, &mut found);
            behind = looking.behind(clause, here);
        }
        always(condition, here, world, &mut found);
    }
    found
}

/// Notes the innermost pieces that are never true; whether there is one.
fn never<'e>(
    looking: &mut Looking<'_, '_>,
    expr: &'e Arc<Expr>,
    here: &Where,
    found: &mut Vec<Idle<'e>>,
) -> bool {
    let before = found.len();
    match &**expr {
        Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
            never(looking, left, here, found);
            if let Some(behind) = looking.narrowed(left, *op == BinaryOp::And, here) {
                never(looking, right, &behind, found);
            }
        }
        Expr::UnaryOp { op: UnaryOp::Not, expr } => {
            never(looking, expr, here, found);
        }
        Expr::IfThenElse { cond, .. } => {
            never(looking, cond, here, found);
        }
        _ => {}
    }
    if found.len() == before && !has_literal(expr) && !looking.values(expr, here).truth().0 {
        found.push(Idle { piece: expr, always: false });
    }
    found.len() > before
}

/// Notes a condition, or what stands with `||` in it, that is so whatever a message says.
fn always<'e>(expr: &'e Arc<Expr>, here: &Where, world: &World<'_>, found: &mut Vec<Idle<'e>>) {
    let open = Where {
        of_type: None,
        version: None,
        facts: None,
        sender: End::default(),
        receiver: End::default(),
        ..here.clone()
    };
    let before = found.len();
    if let Expr::BinaryOp { op: BinaryOp::And | BinaryOp::Or, left, right } = &**expr {
        always(left, here, world, found);
        always(right, here, world, found);
    }
    if found.len() > before || has_literal(expr) {
        return;
    }
    if !Looking::knowing(world, Known::Nothing).values(expr, &open).truth().1 {
        found.push(Idle { piece: expr, always: true });
    }
}

/// Whether somebody wrote `true` or `false` in it, which is meant as it stands.
pub(super) fn has_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(Literal::Bool(_)) => true,
        Expr::UnaryOp { op: UnaryOp::Not, expr } => has_literal(expr),
        Expr::BinaryOp { op: BinaryOp::And | BinaryOp::Or, left, right } => {
            has_literal(left) || has_literal(right)
        }
        Expr::IfThenElse { cond, then_expr, else_expr } => {
            [cond, then_expr, else_expr].into_iter().any(|part| has_literal(part))
        }
        _ => false,
    }
}

/// The first variable of a piece, by which it is found in the text.
pub(super) fn first_variable(expr: &Arc<Expr>) -> Option<*const Expr> {
    let mut all = Vec::new();
    variables(expr, &mut all);
    all.first().copied()
}

/// A piece as policies write it.
pub(super) fn shown(expr: &Expr) -> String {
    let text = expr.to_string();
    let mut shown: String = text.chars().take(MAX_SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Every variable in the order of the text.
pub(super) fn variables(expr: &Arc<Expr>, all: &mut Vec<*const Expr>) {
    walk::each(expr, &mut |part| {
        if matches!(&**part, Expr::Var(_)) {
            all.push(Arc::as_ptr(part));
        }
    });
}
