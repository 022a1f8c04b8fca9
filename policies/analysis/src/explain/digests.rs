//! Conditions that the digest of a value decides: whether it is there, and whether it is the one that a policy names.
//!
//! Two texts, or two truths, are the same if their digests are. A number can be written in several ways, so another digest than that of the
//! usual one says nothing.

use std::collections::BTreeMap;

use cedar_policy::pst::{BinaryOp, Expr, Literal, Var};
use semgate_contexts::Digest;
use serde_json::Value;

use super::truth::Truth;

/// The value of a condition about one member of the instance; `None` where its digest does not decide it.
pub(super) fn by_digest(expr: &Expr, digests: &BTreeMap<String, Digest>) -> Option<Truth> {
    let truth = |holds: bool| if holds { Truth::True } else { Truth::False };
    match expr {
        Expr::HasAttr { expr, attrs } if is_resource(expr) && attrs.len() == 1 => {
            digests.get(attrs.first().as_str()).map(|digest| truth(*digest != nothing()))
        }
        Expr::BinaryOp { op: op @ (BinaryOp::Eq | BinaryOp::NotEq), left, right } => {
            let same = same(left, right, digests).or_else(|| same(right, left, digests))?;
            Some(truth(same == (*op == BinaryOp::Eq)))
        }
        Expr::BinaryOp { op: BinaryOp::Contains, left, right } => {
            let Expr::Set(items) = &**left else { return None };
            let each: Vec<Option<bool>> = items.iter().map(|item| same(right, item, digests)).collect();
            if each.contains(&Some(true)) {
                return Some(Truth::True);
            }
            each.iter().all(Option::is_some).then_some(Truth::False)
        }
        _ => None,
    }
}

/// Returns true if the value of a member is this literal.
fn same(member: &Expr, literal: &Expr, digests: &BTreeMap<String, Digest>) -> Option<bool> {
    let Expr::GetAttr { expr, attr } = member else { return None };
    let digest = digests.get(attr.as_str()).filter(|digest| is_resource(expr) && **digest != nothing())?;
    let Expr::Literal(literal) = literal else { return None };
    let value = match literal {
        Literal::Bool(value) => Value::from(*value),
        Literal::String(text) => Value::from(text.to_string()),
        Literal::Long(number) => return (*digest == of(&Value::from(*number))).then_some(true),
        _ => return None,
    };
    Some(*digest == of(&value))
}

/// The digest of what is not there: policies see `null` as absent.
pub(super) fn nothing() -> Digest {
    of(&Value::Null)
}

/// The digest that a record keeps of a value.
fn of(value: &Value) -> Digest {
    Digest::of(value.to_string().as_bytes())
}

fn is_resource(expr: &Expr) -> bool {
    matches!(expr, Expr::Var(Var::Resource))
}
