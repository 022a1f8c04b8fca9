//! In words, what makes an expression come out as it is wanted.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, EntityUID, Expr, Literal, UnaryOp, Var};

use super::touched::{Agent, credentials_of};

/// An expression, and how it would have to come out.
type Need<'e> = (&'e Arc<Expr>, bool);

/// What one expression without `&&`, `||` and `!` around it would have to come out as; `stays` where it does already.
pub(super) fn wish(expr: &Expr, wanted: bool, stays: bool) -> String {
    let be = if stays { "stay" } else { "be" };
    let said = match expr {
        Expr::BinaryOp { op, left, right } => compared(*op, left, right, (wanted, be)),
        Expr::Is { expr: of, in_expr: Some(group), .. } => member(of, group, (wanted, be)),
        _ => None,
    };
    said.unwrap_or_else(|| format!("`{expr}` would have to {be} {wanted}"))
}

/// What conditions ask for to be met, all of it, whatever the message is but for what is known of it.
pub(super) fn conditions(clauses: &[Clause], known: impl Fn(&Arc<Expr>) -> Option<bool>) -> Vec<String> {
    let mut needs = Vec::new();
    for clause in clauses {
        let need = match clause {
            Clause::When(expr) => (expr, true),
            Clause::Unless(expr) => (expr, false),
        };
        flat(need, true, &mut needs);
    }
    needs.retain(|(expr, wanted)| known(expr) != Some(*wanted));
    needs.iter().map(|need| if needs.len() > 1 { grouped(*need) } else { nested(*need).0 }).collect()
}

/// With brackets where it is of several parts.
fn grouped(need: Need<'_>) -> String {
    match nested(need) {
        (words, true) => format!("({words})"),
        (words, false) => words,
    }
}

/// In words, and whether these are several with `and` or `or` between.
fn nested(need: Need<'_>) -> (String, bool) {
    for (all, between) in [(false, " or "), (true, " and ")] {
        let mut parts = Vec::new();
        flat(need, all, &mut parts);
        if parts.len() > 1 {
            return (parts.iter().map(|part| grouped(*part)).collect::<Vec<_>>().join(between), true);
        }
        if let [(expr, wanted)] = parts.as_slice()
            && all
        {
            return (wish(expr, *wanted, false), false);
        }
    }
    (wish(need.0, need.1, false), false)
}

/// Takes a need apart into those of which all are needed, or of which one is enough.
fn flat<'e>((expr, wanted): Need<'e>, all: bool, into: &mut Vec<Need<'e>>) {
    match &**expr {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => flat((expr, !wanted), all, into),
        Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right }
            if ((*op == BinaryOp::And) == wanted) == all =>
        {
            flat((left, wanted), all, into);
            flat((right, wanted), all, into);
        }
        _ => into.push((expr, wanted)),
    }
}

fn compared(op: BinaryOp, left: &Expr, right: &Expr, (wanted, be): (bool, &str)) -> Option<String> {
    match op {
        BinaryOp::Contains => {
            let (whose, Expr::Literal(Literal::String(name))) = (credentials_of(left)?, right) else {
                return None;
            };
            let would = if wanted { "would have to hold" } else { "must not hold" };
            return Some(format!("{} {would} the credential `{name}`", whose.name()));
        }
        BinaryOp::In => return member(left, right, (wanted, be)),
        BinaryOp::Eq => {
            if let Some(said) = member(left, right, (wanted, be)) {
                return Some(said);
            }
        }
        _ => {}
    }
    let (what, than) = (named(left)?, literal(right)?);
    let relation = match (op, wanted) {
        (BinaryOp::Eq, true) | (BinaryOp::NotEq, false) => "",
        (BinaryOp::Eq, false) | (BinaryOp::NotEq, true) => "other than ",
        (BinaryOp::Greater | BinaryOp::DecimalGreater, true)
        | (BinaryOp::LessEq | BinaryOp::DecimalLessEq, false) => "more than ",
        (BinaryOp::Greater | BinaryOp::DecimalGreater, false)
        | (BinaryOp::LessEq | BinaryOp::DecimalLessEq, true) => "at most ",
        (BinaryOp::Less | BinaryOp::DecimalLessThan, true)
        | (BinaryOp::GreaterEq | BinaryOp::DecimalGreaterEq, false) => "less than ",
        (BinaryOp::Less | BinaryOp::DecimalLessThan, false)
        | (BinaryOp::GreaterEq | BinaryOp::DecimalGreaterEq, true) => "at least ",
        _ => return None,
    };
    Some(format!("`{what}` would have to {be} {relation}{than}"))
}

/// Who somebody is, or what is done.
fn member(left: &Expr, right: &Expr, (wanted, be): (bool, &str)) -> Option<String> {
    let would = if wanted { format!("would have to {be}") } else { "must not be".to_owned() };
    if matches!(left, Expr::Var(Var::Action)) {
        let names: Option<Vec<String>> = match right {
            Expr::Set(items) => items.iter().map(|item| Some(entity(item)?.eid.to_string())).collect(),
            _ => Some(vec![entity(right)?.eid.to_string()]),
        };
        let names: Vec<String> = names?.iter().map(|name| format!("`{name}`")).collect();
        let one_of = if names.len() > 1 { "one of " } else { "" };
        return Some(format!("the performative {would} {one_of}{}", names.join(", ")));
    }
    let who = Agent::of(left)?.name();
    let EntityUID { ty, eid } = entity(right)?;
    Some(match ty.to_string().as_str() {
        "Group" => format!("{who} {would} in the group `{eid}`"),
        _ => format!("{who} {would} `{eid}`"),
    })
}

fn entity(expr: &Expr) -> Option<&EntityUID> {
    match expr {
        Expr::Literal(Literal::EntityUID(uid)) => Some(uid),
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
