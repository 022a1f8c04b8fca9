//! Conditions of which only a part of the message is known: its type, its line, its performative or its direction.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, EntityUID, Expr, Literal, UnaryOp, Var};
use semgate_contexts::Performative;

use crate::catalogue::TypeInfo;

/// The known part of a message.
#[derive(Clone, Copy, Default)]
pub(crate) struct Known<'m> {
    pub info: Option<&'m TypeInfo>,
    pub action: Option<Performative>,
    pub direction: Option<&'static str>,
}

impl Known<'_> {
    /// Returns true if the known part makes a clause of a policy false.
    pub fn excludes(&self, clauses: &[Clause]) -> bool {
        clauses.iter().any(|clause| match clause {
            Clause::When(expr) => self.holds(expr) == Some(false),
            Clause::Unless(expr) => self.holds(expr) == Some(true),
        })
    }

    /// The value of a condition where the known part decides it.
    fn holds(&self, expr: &Arc<Expr>) -> Option<bool> {
        match &**expr {
            Expr::Literal(Literal::Bool(value)) => Some(*value),
            Expr::UnaryOp { op: UnaryOp::Not, expr } => self.holds(expr).map(|holds| !holds),
            Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
                let decides = *op == BinaryOp::Or;
                let sides = [self.holds(left), self.holds(right)];
                let decided = sides.contains(&Some(decides)).then_some(decides);
                decided.or_else(|| sides.iter().all(Option::is_some).then_some(!decides))
            }
            Expr::BinaryOp { op: op @ (BinaryOp::Eq | BinaryOp::NotEq), left, right } => {
                let same = self.is(left, right).or_else(|| self.is(right, left))?;
                Some(same == (*op == BinaryOp::Eq))
            }
            Expr::BinaryOp { op: BinaryOp::In, left, right } => self.is_one_of(left, right),
            Expr::BinaryOp { op: BinaryOp::Contains, left, right } => self.is_one_of(right, left),
            Expr::Is { expr, entity_type, in_expr: None } if matches!(**expr, Expr::Var(Var::Resource)) => {
                self.info.map(|info| entity_type.to_string() == info.name)
            }
            Expr::IfThenElse { cond, then_expr, else_expr } => match self.holds(cond) {
                Some(true) => self.holds(then_expr),
                Some(false) => self.holds(else_expr),
                None => self.holds(then_expr).filter(|holds| self.holds(else_expr) == Some(*holds)),
            },
            _ => None,
        }
    }

    /// Compares a member of the context record, or the action, with a literal.
    fn is(&self, member: &Expr, literal: &Expr) -> Option<bool> {
        match (member, literal) {
            (Expr::GetAttr { expr, attr }, Expr::Literal(Literal::String(literal))) => {
                let known = match (&**expr, attr.as_str()) {
                    (Expr::Var(Var::Context), "line") => self.info.map(|info| info.line.as_str()),
                    (Expr::Var(Var::Context), "direction") => self.direction,
                    _ => None,
                };
                known.map(|known| known == literal.as_str())
            }
            (Expr::Var(Var::Action), Expr::Literal(Literal::EntityUID(EntityUID { eid, .. }))) => {
                self.action.map(|action| *eid == action.as_str())
            }
            _ => None,
        }
    }

    fn is_one_of(&self, member: &Expr, literals: &Expr) -> Option<bool> {
        let Expr::Set(items) = literals else { return self.is(member, literals) };
        let each: Option<Vec<bool>> = items.iter().map(|item| self.is(member, item)).collect();
        each.map(|each| each.contains(&true))
    }
}

/// Visits every expression within the conditions of a policy.
pub(crate) fn each(clauses: &[Clause], visit: &mut dyn FnMut(&Arc<Expr>)) {
    for clause in clauses {
        let (Clause::When(condition) | Clause::Unless(condition)) = clause;
        within(condition, visit);
    }
}

/// Visits an expression and every expression within it.
pub(crate) fn within(expr: &Arc<Expr>, visit: &mut dyn FnMut(&Arc<Expr>)) {
    visit(expr);
    match &**expr {
        Expr::GetAttr { expr, .. }
        | Expr::HasAttr { expr, .. }
        | Expr::UnaryOp { expr, .. }
        | Expr::Like { expr, .. } => within(expr, visit),
        Expr::BinaryOp { left, right, .. } => [left, right].into_iter().for_each(|side| within(side, visit)),
        Expr::Is { expr, in_expr, .. } => {
            within(expr, visit);
            in_expr.iter().for_each(|parent| within(parent, visit));
        }
        Expr::IfThenElse { cond, then_expr, else_expr } => {
            [cond, then_expr, else_expr].into_iter().for_each(|part| within(part, visit));
        }
        Expr::Set(items) => items.iter().for_each(|item| within(item, visit)),
        Expr::Record(members) => members.values().for_each(|member| within(member, visit)),
        _ => {}
    }
}

/// The member names from the resource to what an expression reads; `None` for anything but such a path.
pub(crate) fn resource_path(expr: &Expr) -> Option<Vec<&str>> {
    match expr {
        Expr::Var(Var::Resource) => Some(Vec::new()),
        Expr::GetAttr { expr, attr } => {
            let mut path = resource_path(expr)?;
            path.push(attr.as_str());
            Some(path)
        }
        _ => None,
    }
}
