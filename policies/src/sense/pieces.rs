//! Pieces of a condition that say nothing: one that is true for no message, and a whole that is true for every one. Not judged are
//! what versions to come, and changes of groups, decide as a matter of course, and `true` and `false` that are written out.
//!
//! A version to come may take further actions. So what holds only since no version takes an action today is no fault: it says something
//! once one does, and until then it keeps nothing away that was meant to pass. That somebody asks for an action which nothing takes is one.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal, UnaryOp, Var};
use semgate_contexts::PerformativeSet;

use super::World;
use super::facts::{End, Where};
use super::possible::{Known, Looking};
use super::{walk, why};

/// Characters of a piece that are shown.
const MAX_SHOWN: usize = 100;

/// A piece that says nothing.
#[derive(Debug)]
pub(super) struct Idle<'e> {
    pub piece: &'e Arc<Expr>,
    /// Whether it is so for every message, and not for none.
    pub always: bool,
    /// Whether the policy is for what is true of it.
    wanted: bool,
    /// Why it is true for none, in words.
    pub because: Option<String>,
}

/// The pieces of these conditions that say nothing. `asked` are the actions that the scope leaves open, whichever its type takes today.
pub(super) fn idle<'e>(
    clauses: &'e [Clause],
    here: &Where,
    asked: PerformativeSet,
    world: &World<'_>,
) -> Vec<Idle<'e>> {
    let open = Where { actions: asked, ..here.clone() };
    let mut found = nevers(clauses, &open, world);
    if found.is_empty() && asked != here.actions && ask_for_actions(clauses) {
        found = nevers(clauses, here, world);
        // what keeps away an action that nothing takes keeps it away once something does
        found.retain(|idle| idle.wanted);
    }
    for clause in clauses {
        let (Clause::When(condition) | Clause::Unless(condition)) = clause;
        always(condition, None, &open, world, &mut found);
    }
    found
}

/// Whether they look at the action.
fn ask_for_actions(clauses: &[Clause]) -> bool {
    let mut found = false;
    for clause in clauses {
        let (Clause::When(condition) | Clause::Unless(condition)) = clause;
        walk::each(condition, &mut |part| found |= matches!(&**part, Expr::Var(Var::Action)));
    }
    found
}

/// The innermost pieces that are never true.
fn nevers<'e>(clauses: &'e [Clause], here: &Where, world: &World<'_>) -> Vec<Idle<'e>> {
    let mut found = Vec::new();
    let mut looking = Looking::knowing(world, Known::Structure);
    let mut behind = Some(here.clone());
    for clause in clauses {
        let Some(here) = &behind else { break };
        let (Clause::When(condition) | Clause::Unless(condition)) = clause;
        let wanted = matches!(clause, Clause::When(_));
        never(&mut looking, condition, (None, wanted), here, &mut found);
        behind = looking.behind(clause, here);
    }
    found
}

/// Notes the innermost pieces that are never true; whether there is one. A row of the same operator is looked at as a whole, and its
/// beginnings where the whole is never true: `of` is the row that it is in. `wanted` says whether the policy is for what is true of it, and not
/// for what is not.
fn never<'e>(
    looking: &mut Looking<'_, '_>,
    expr: &'e Arc<Expr>,
    (of, wanted): (Option<BinaryOp>, bool),
    here: &Where,
    found: &mut Vec<Idle<'e>>,
) -> bool {
    let before = found.len();
    let row = row(expr);
    match &**expr {
        Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
            never(looking, left, (row, wanted), here, found);
            if let Some(behind) = looking.narrowed(left, *op == BinaryOp::And, here) {
                never(looking, right, (row, wanted), &behind, found);
            }
        }
        Expr::UnaryOp { op: UnaryOp::Not, expr } => {
            never(looking, expr, (None, !wanted), here, found);
        }
        Expr::IfThenElse { cond, .. } => {
            never(looking, cond, (None, true), here, found);
        }
        _ => {}
    }
    let in_row = of.is_some() && row == of;
    let mut is_never = |expr: &Arc<Expr>| {
        !has_literal(expr) && (!looking.values(expr, here).truth().0 || !looking.row_again(expr, here))
    };
    if found.len() == before && !in_row && is_never(expr) {
        let piece = first_of(expr, is_never);
        let can = |clauses: &[Clause], here: &Where| {
            Looking::knowing(looking.world, Known::Structure).clauses(clauses, here)
        };
        let because = why::of_piece(piece, (here, looking.world), can);
        found.push(Idle { piece, always: false, wanted, because });
    }
    found.len() > before
}

/// The operator of `&&` or `||`, if no `true` or `false` is written out in it.
fn row(expr: &Expr) -> Option<BinaryOp> {
    match expr {
        Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), .. } if !has_literal(expr) => Some(*op),
        _ => None,
    }
}

/// The shortest beginning of a row that is so.
fn first_of(expr: &Arc<Expr>, mut is_so: impl FnMut(&Arc<Expr>) -> bool) -> &Arc<Expr> {
    let mut piece = expr;
    while let Expr::BinaryOp { left, .. } = &**piece
        && row(piece).is_some()
        && row(left) == row(piece)
        && is_so(left)
    {
        piece = left;
    }
    piece
}

/// Notes a condition, or what stands with `||` in it, that is so whatever a message says.
fn always<'e>(
    expr: &'e Arc<Expr>,
    of: Option<BinaryOp>,
    here: &Where,
    world: &World<'_>,
    found: &mut Vec<Idle<'e>>,
) {
    let before = found.len();
    let row = row(expr);
    if let Expr::BinaryOp { op: BinaryOp::And | BinaryOp::Or, left, right } = &**expr {
        always(left, row, here, world, found);
        always(right, row, here, world, found);
    }
    if found.len() > before || has_literal(expr) || (of.is_some() && row == of) {
        return;
    }
    let open = Where {
        of_type: None,
        version: None,
        facts: None,
        sender: End::default(),
        receiver: End::default(),
        ..here.clone()
    };
    let is_always = |expr: &Arc<Expr>| !Looking::knowing(world, Known::Nothing).values(expr, &open).truth().1;
    if is_always(expr) {
        found.push(Idle { piece: first_of(expr, is_always), always: true, wanted: true, because: None });
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
