//! Conditions as they are evaluated: decimals as whole ten-thousandths, members of the instance in the context record.
//!
//! Cedar keeps a decimal as a 64-bit number of ten-thousandths, but reads each one from text with a regular expression,
//! every time it meets it: 5 µs for an amount and 2 µs for each literal in a policy. And to look at a member of an entity it wants
//! a set of entities with that one in it, which takes 2 µs to make. So `decimal("10000.0")` becomes `100000000`, `.greaterThan(…)`
//! becomes `>`, `resource.amount` becomes `context["resource.amount"]`, and both are handed over so. Strict validation, which ran
//! on the policies as they are written, has made sure that decimals meet only decimals, and no member of the context record has a
//! point in its name, so no verdict changes. A condition that does anything else with `resource` than to ask for its members and
//! its type or to compare it, or with `context` than to ask for members, is left as it is.

use std::sync::Arc;

use cedar_policy::pst::{self, BinaryOp, Clause, Expr, Literal, UnaryOp, Var};
use cedar_policy::{Expression, PolicySet};

use crate::plain::{Plain, member_name};

/// The condition left to ask once the scope holds.
#[derive(Debug)]
pub(crate) enum Condition {
    /// Nothing.
    Always,
    /// An expression for Cedar's evaluator. Members of the instance stand in the context record as `resource.NAME`, decimals as
    /// ten-thousandths.
    Expression {
        expression: Expression,
        /// The same, if it can be known without an evaluator.
        plain: Option<Plain>,
    },
    /// The policy as it is written, for Cedar's authorizer: it holds a form that could not be rewritten.
    Whole(Box<PolicySet>),
}

/// The clauses of a policy as one condition; `None` if it holds a form that is not known here.
pub(crate) fn condition(clauses: &[Clause]) -> Option<Condition> {
    Some(whole(clauses)?.map_or(Condition::Always, |tree| {
        let plain = Plain::of(&tree);
        Condition::Expression { expression: as_expression(Arc::unwrap_or_clone(tree)), plain }
    }))
}

/// A tree as Cedar evaluates it.
pub(crate) fn as_expression(tree: Expr) -> Expression {
    let like = Expression::new_bool(true);
    expression(like.as_ref(), tree)
}

/// Cedar's own type of expressions has no name outside of Cedar; `_like` names it.
fn expression<E>(_like: &E, tree: Expr) -> Expression
where
    Expr: Into<E>,
    Expression: From<E>,
{
    let tree: E = tree.into();
    tree.into()
}

/// All clauses as one; the inner `None` if there is none.
fn whole(clauses: &[Clause]) -> Option<Option<Arc<Expr>>> {
    let mut whole: Option<Arc<Expr>> = None;
    for clause in clauses {
        let next = match clause {
            Clause::When(condition) => map(condition)?,
            Clause::Unless(condition) => Arc::new(Expr::UnaryOp { op: UnaryOp::Not, expr: map(condition)? }),
        };
        whole = Some(match whole {
            None => next,
            Some(left) => Arc::new(Expr::BinaryOp { op: BinaryOp::And, left, right: next }),
        });
    }
    Some(whole)
}

fn map(expr: &Arc<Expr>) -> Option<Arc<Expr>> {
    Some(Arc::new(match &**expr {
        Expr::Literal(_) | Expr::Var(Var::Principal | Var::Action) => return Some(Arc::clone(expr)),
        Expr::UnaryOp { op: UnaryOp::Decimal, expr } => match &**expr {
            Expr::Literal(Literal::String(text)) => Expr::Literal(Literal::Long(ten_thousandths(text)?)),
            _ => return None,
        },
        Expr::UnaryOp { op, expr } => Expr::UnaryOp { op: *op, expr: map(expr)? },
        Expr::BinaryOp { op: op @ (BinaryOp::Eq | BinaryOp::NotEq | BinaryOp::In), left, right } => {
            Expr::BinaryOp { op: *op, left: itself(left)?, right: itself(right)? }
        }
        Expr::BinaryOp { op, left, right } => {
            Expr::BinaryOp { op: operator(*op), left: map(left)?, right: map(right)? }
        }
        Expr::GetAttr { expr, attr } => match &**expr {
            Expr::Var(Var::Resource) => Expr::GetAttr { expr: context(), attr: member_name(attr).into() },
            Expr::Var(Var::Context) => Expr::GetAttr { expr: Arc::clone(expr), attr: attr.clone() },
            _ => Expr::GetAttr { expr: map(expr)?, attr: attr.clone() },
        },
        Expr::HasAttr { .. } => has(expr)?,
        Expr::Like { expr, pattern } => Expr::Like { expr: map(expr)?, pattern: pattern.clone() },
        Expr::Is { expr, entity_type, in_expr } => Expr::Is {
            expr: itself(expr)?,
            entity_type: entity_type.clone(),
            in_expr: match in_expr {
                Some(parent) => Some(map(parent)?),
                None => None,
            },
        },
        Expr::IfThenElse { cond, then_expr, else_expr } => {
            Expr::IfThenElse { cond: map(cond)?, then_expr: map(then_expr)?, else_expr: map(else_expr)? }
        }
        Expr::Set(items) => Expr::Set(items.iter().map(map).collect::<Option<_>>()?),
        Expr::Record(members) => Expr::Record(
            members.iter().map(|(name, value)| Some((name.clone(), map(value)?))).collect::<Option<_>>()?,
        ),
        _ => return None,
    }))
}

fn context() -> Arc<Expr> {
    Arc::new(Expr::Var(Var::Context))
}

/// An operand that may be the instance itself: its name and its type are the same without its members.
fn itself(expr: &Arc<Expr>) -> Option<Arc<Expr>> {
    if matches!(**expr, Expr::Var(Var::Resource)) { Some(Arc::clone(expr)) } else { map(expr) }
}

fn has(expr: &Arc<Expr>) -> Option<Expr> {
    let Expr::HasAttr { expr: of, attrs } = &**expr else { return None };
    let mut attrs = attrs.clone();
    match &**of {
        Expr::Var(Var::Context) => Some(Expr::HasAttr { expr: Arc::clone(of), attrs }),
        Expr::Var(Var::Resource) => {
            let own = pst::SmolStr::from(member_name(attrs.first()));
            let rest = attrs.tail.clone();
            attrs.head = own.clone();
            attrs.tail.clear();
            let here = Expr::HasAttr { expr: context(), attrs: attrs.clone() };
            let mut rest = rest.into_iter();
            let Some(second) = rest.next() else { return Some(here) };
            attrs.head = second;
            attrs.tail = rest.collect();
            let inner = Expr::GetAttr { expr: context(), attr: own };
            let within = Expr::HasAttr { expr: Arc::new(inner), attrs };
            Some(Expr::BinaryOp { op: BinaryOp::And, left: Arc::new(here), right: Arc::new(within) })
        }
        _ => Some(Expr::HasAttr { expr: map(of)?, attrs }),
    }
}

const fn operator(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::DecimalLessThan => BinaryOp::Less,
        BinaryOp::DecimalLessEq => BinaryOp::LessEq,
        BinaryOp::DecimalGreater => BinaryOp::Greater,
        BinaryOp::DecimalGreaterEq => BinaryOp::GreaterEq,
        other => other,
    }
}

/// The value of a literal of Cedar's `decimal`: digits, a point, one to four digits.
fn ten_thousandths(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.')?;
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !plain(whole) || !plain(fraction) || fraction.len() > 4 {
        return None;
    }
    let whole: i128 = whole.parse().ok()?;
    let fraction: i128 = format!("{fraction:0<4}").parse().ok()?;
    let size = whole.checked_mul(10_000)?.checked_add(fraction)?;
    i64::try_from(if negative { -size } else { size }).ok()
}

#[cfg(test)]
mod tests;
