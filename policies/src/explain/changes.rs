//! What would have to be otherwise: said only where it follows from the policies as they are written.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, EntityUID, Expr, Literal, UnaryOp, Var};

use super::Against;
use super::scene::Scene;
use super::scope::Fit;
use super::truth::{self, Truth};

/// What a denied message would need: every forbid that applies passed by, and one permit.
pub(super) fn to_pass(against: &[Against<'_>], scene: &Scene) -> Vec<String> {
    let mut all = Vec::new();
    for one in against.iter().filter(|one| !one.written.permits() && one.truth == Truth::True) {
        let ways: Vec<String> = one.clauses.iter().map(|clause| avoid(clause, scene)).collect();
        let ways = if ways.is_empty() { "it has no condition".to_owned() } else { ways.join("; or ") };
        all.push(format!("so that `{}` does not apply: {ways}", one.written.id));
    }
    let mut permits = against.iter().filter(|one| one.written.permits());
    if permits.clone().any(|one| one.truth == Truth::True) {
        return all;
    }
    if permits.clone().next().is_none() {
        all.push("a permit for it would have to be written: none is near".to_owned());
    }
    all.extend(permits.by_ref().map(|one| {
        let scope = one.scope.iter().filter_map(Fit::wish).map(str::to_owned);
        let unmet = |clause: &&Clause| truth::of_clause(clause, scene) != Truth::True;
        let clauses = one.clauses.iter().filter(unmet).map(|clause| meet(clause, scene));
        let needs: Vec<String> = scope.chain(clauses).collect();
        format!("so that `{}` applies: {}", one.written.id, needs.join("; and "))
    }));
    all
}

fn avoid(clause: &Clause, scene: &Scene) -> String {
    match clause {
        Clause::When(expr) => wish(expr, false, scene),
        Clause::Unless(expr) => wish(expr, true, scene),
    }
}

fn meet(clause: &Clause, scene: &Scene) -> String {
    match clause {
        Clause::When(expr) => wish(expr, true, scene),
        Clause::Unless(expr) => wish(expr, false, scene),
    }
}

/// In words, what makes an expression come out as wanted. What does so already is left out where all of several are needed.
fn wish(expr: &Arc<Expr>, wanted: bool, scene: &Scene) -> String {
    match &**expr {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => wish(expr, !wanted, scene),
        Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
            let all_needed = (*op == BinaryOp::And) == wanted;
            let is_so = |side: &Arc<Expr>| {
                truth::truth(side, scene) == if wanted { Truth::True } else { Truth::False }
            };
            let sides: Vec<String> = [left, right]
                .into_iter()
                .filter(|side| !(all_needed && is_so(side)))
                .map(|side| wish(side, wanted, scene))
                .collect();
            sides.join(if all_needed { " and " } else { " or " })
        }
        Expr::BinaryOp { op, left, right } => {
            compared(*op, left, right, wanted).unwrap_or_else(|| plainly(expr, wanted))
        }
        Expr::Is { expr: of, in_expr: Some(group), .. } => {
            member(of, group, wanted).unwrap_or_else(|| plainly(expr, wanted))
        }
        _ => plainly(expr, wanted),
    }
}

fn plainly(expr: &Expr, wanted: bool) -> String {
    format!("`{expr}` would have to be {wanted}")
}

fn compared(op: BinaryOp, left: &Expr, right: &Expr, wanted: bool) -> Option<String> {
    match op {
        BinaryOp::Contains => {
            let (whose, Expr::Literal(Literal::String(name))) = (credentials_of(left)?, right) else {
                return None;
            };
            let would = if wanted { "would have to hold" } else { "must not hold" };
            return Some(format!("{whose} {would} the credential `{name}`"));
        }
        BinaryOp::In => return member(left, right, wanted),
        _ => {}
    }
    let (what, than) = (named(left)?, literal(right)?);
    let relation = match (op, wanted) {
        (BinaryOp::Eq, true) | (BinaryOp::NotEq, false) => "would have to be",
        (BinaryOp::Eq, false) | (BinaryOp::NotEq, true) => "would have to be other than",
        (BinaryOp::Greater | BinaryOp::DecimalGreater, true)
        | (BinaryOp::LessEq | BinaryOp::DecimalLessEq, false) => "would have to be more than",
        (BinaryOp::Greater | BinaryOp::DecimalGreater, false)
        | (BinaryOp::LessEq | BinaryOp::DecimalLessEq, true) => "would have to be at most",
        (BinaryOp::Less | BinaryOp::DecimalLessThan, true)
        | (BinaryOp::GreaterEq | BinaryOp::DecimalGreaterEq, false) => "would have to be less than",
        (BinaryOp::Less | BinaryOp::DecimalLessThan, false)
        | (BinaryOp::GreaterEq | BinaryOp::DecimalGreaterEq, true) => "would have to be at least",
        _ => return None,
    };
    Some(format!("`{what}` {relation} {than}"))
}

fn member(left: &Expr, right: &Expr, wanted: bool) -> Option<String> {
    let who = agent(left)?;
    let Expr::Literal(Literal::EntityUID(EntityUID { ty, eid })) = right else { return None };
    let would = if wanted { "would have to be" } else { "must not be" };
    Some(match ty.to_string().as_str() {
        "Group" => format!("{who} {would} in the group `{eid}`"),
        _ => format!("{who} {would} `{eid}`"),
    })
}

fn agent(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::Var(Var::Principal) => Some("the sender"),
        Expr::GetAttr { expr, attr } if attr == "receiver" && matches!(&**expr, Expr::Var(Var::Context)) => {
            Some("the receiver")
        }
        _ => None,
    }
}

fn credentials_of(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::GetAttr { expr, attr } if attr == "credentials" => agent(expr),
        _ => None,
    }
}

/// A member as policies write it.
fn named(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Var(Var::Resource) => Some("resource".to_owned()),
        Expr::Var(Var::Context) => Some("context".to_owned()),
        Expr::GetAttr { expr, attr } => Some(format!("{}.{attr}", named(expr)?)),
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Literal(Literal::Long(number)) => Some(number.to_string()),
        Expr::Literal(Literal::String(text)) => Some(format!("`{text}`")),
        Expr::Literal(Literal::Bool(value)) => Some(value.to_string()),
        Expr::UnaryOp { op: UnaryOp::Decimal | UnaryOp::Datetime | UnaryOp::Duration, expr } => match &**expr
        {
            Expr::Literal(Literal::String(text)) => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    }
}
