//! Conditions as they are judged: what can be written in several ways that mean the same stands in one, so that it is looked at in one
//! place. Who sender and receiver are and what they do is asked with `in`: `principal is Agent in Group::"g"` is
//! `principal in Group::"g"`, since nobody but agents sends, and `[Agent::"a"].contains(principal)` is `principal in [Agent::"a"]`, since
//! nothing is in an agent but itself. What is evaluated, explained and counted is what was written; faults name
//! the form that is judged.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal, UnaryOp, Var};

/// These conditions as they are judged. Their variables stay in their order, by which they are found in the text.
pub(crate) fn judged(clauses: &Arc<[Clause]>) -> Arc<[Clause]> {
    let one = |clause: &Clause| match clause {
        Clause::When(condition) => Clause::When(form(condition)),
        Clause::Unless(condition) => Clause::Unless(form(condition)),
    };
    clauses.iter().map(one).collect()
}

fn form(expr: &Arc<Expr>) -> Arc<Expr> {
    let formed = match &**expr {
        Expr::UnaryOp { op: op @ UnaryOp::Not, expr } => Expr::UnaryOp { op: *op, expr: form(expr) },
        Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
            Expr::BinaryOp { op: *op, left: form(left), right: form(right) }
        }
        Expr::IfThenElse { cond, then_expr, else_expr } => {
            Expr::IfThenElse { cond: form(cond), then_expr: form(then_expr), else_expr: form(else_expr) }
        }
        Expr::Is { expr: who, entity_type, in_expr: Some(parent) }
            if is_agent(who) && entity_type.to_string() == "Agent" =>
        {
            within(who, parent)
        }
        Expr::BinaryOp { op: BinaryOp::Contains, left, right } => match &**left {
            Expr::Set(items) if is_agent(right) && items.iter().all(|item| is_of(item, "Agent")) => {
                within(right, left)
            }
            Expr::Set(items)
                if matches!(**right, Expr::Var(Var::Action))
                    && items.iter().all(|item| is_of(item, "Action")) =>
            {
                within(right, left)
            }
            _ => return Arc::clone(expr),
        },
        _ => return Arc::clone(expr),
    };
    Arc::new(formed)
}

fn within(who: &Arc<Expr>, of: &Arc<Expr>) -> Expr {
    Expr::BinaryOp { op: BinaryOp::In, left: Arc::clone(who), right: Arc::clone(of) }
}

/// Whether it is the sender or the receiver.
fn is_agent(expr: &Expr) -> bool {
    match expr {
        Expr::Var(Var::Principal) => true,
        Expr::GetAttr { expr, attr } => matches!(**expr, Expr::Var(Var::Context)) && attr == "receiver",
        _ => false,
    }
}

fn is_of(item: &Expr, kind: &str) -> bool {
    matches!(item, Expr::Literal(Literal::EntityUID(uid)) if uid.ty.to_string() == kind)
}
