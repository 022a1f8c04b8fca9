//! Every part of a condition, in the order of its text.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr};

/// Shows each part to `see`: the whole before its parts, and those as they are written.
pub(super) fn each(expr: &Arc<Expr>, see: &mut impl FnMut(&Arc<Expr>)) {
    see(expr);
    match &**expr {
        Expr::GetAttr { expr, .. }
        | Expr::HasAttr { expr, .. }
        | Expr::UnaryOp { expr, .. }
        | Expr::Like { expr, .. } => each(expr, see),
        Expr::BinaryOp { left, right, .. } => {
            each(left, see);
            each(right, see);
        }
        Expr::Is { expr, in_expr, .. } => {
            each(expr, see);
            in_expr.iter().for_each(|parent| each(parent, see));
        }
        Expr::IfThenElse { cond, then_expr, else_expr } => {
            [cond, then_expr, else_expr].into_iter().for_each(|part| each(part, see));
        }
        Expr::Set(items) => items.iter().for_each(|item| each(item, see)),
        Expr::Record(members) => members.values().for_each(|member| each(member, see)),
        _ => {}
    }
}

/// Shows each operation of two sides that stands in these conditions.
pub(super) fn of_two(clauses: &[Clause], mut see: impl FnMut(BinaryOp, &Arc<Expr>, &Arc<Expr>)) {
    for clause in clauses {
        let (Clause::When(condition) | Clause::Unless(condition)) = clause;
        each(condition, &mut |part| {
            if let Expr::BinaryOp { op, left, right } = &**part {
                see(*op, left, right);
            }
        });
    }
}
