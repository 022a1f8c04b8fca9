//! Decimals as whole ten-thousandths, for evaluation only.
//!
//! Cedar keeps a decimal as a 64-bit number of ten-thousandths, but reads each one from text with a regular expression,
//! every time it meets it: 5 µs for an amount and 2 µs for each literal in a policy, more than all the rest of a
//! decision. So where every policy of a bucket can be rewritten, `decimal("10000.0")` becomes `100000000`,
//! `.greaterThan(…)` becomes `>`, and the amount is handed over in ten-thousandths. Strict validation, which ran on the
//! policies as they are written, has made sure that decimals meet only decimals, so no verdict changes.

use std::sync::Arc;

use cedar_policy::Policy;
use cedar_policy::pst::{self, BinaryOp, Clause, Expr, Literal, UnaryOp};

/// The policy with decimals as ten-thousandths; `None` if it holds a form that is not known here.
pub(crate) fn scaled(policy: &Policy) -> Option<Policy> {
    let body = match policy.to_pst().ok()? {
        pst::Policy::Static(body) => body.body().clone(),
        _ => return None,
    };
    let clauses = body.clauses().iter().map(clause).collect::<Option<Vec<_>>>()?;
    if clauses == *body.clauses() {
        return Some(policy.clone());
    }
    let rewritten = pst::StaticPolicy::try_from(body.try_with_clauses(clauses).ok()?).ok()?;
    let rewritten = Policy::from_pst(pst::Policy::Static(rewritten)).ok()?;
    Some(rewritten.new_id(policy.id().clone()))
}

fn clause(clause: &Clause) -> Option<Clause> {
    Some(match clause {
        Clause::When(condition) => Clause::When(map(condition)?),
        Clause::Unless(condition) => Clause::Unless(map(condition)?),
    })
}

fn map(expr: &Arc<Expr>) -> Option<Arc<Expr>> {
    Some(Arc::new(match &**expr {
        Expr::Literal(_) | Expr::Var(_) => return Some(Arc::clone(expr)),
        Expr::UnaryOp { op: UnaryOp::Decimal, expr } => match &**expr {
            Expr::Literal(Literal::String(text)) => Expr::Literal(Literal::Long(ten_thousandths(text)?)),
            _ => return None,
        },
        Expr::UnaryOp { op, expr } => Expr::UnaryOp { op: *op, expr: map(expr)? },
        Expr::BinaryOp { op, left, right } => {
            Expr::BinaryOp { op: operator(*op), left: map(left)?, right: map(right)? }
        }
        Expr::GetAttr { expr, attr } => Expr::GetAttr { expr: map(expr)?, attr: attr.clone() },
        Expr::HasAttr { expr, attrs } => Expr::HasAttr { expr: map(expr)?, attrs: attrs.clone() },
        Expr::Like { expr, pattern } => Expr::Like { expr: map(expr)?, pattern: pattern.clone() },
        Expr::Is { expr, entity_type, in_expr } => Expr::Is {
            expr: map(expr)?,
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

const fn operator(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::DecimalLessThan => BinaryOp::Less,
        BinaryOp::DecimalLessEq => BinaryOp::LessEq,
        BinaryOp::DecimalGreater => BinaryOp::Greater,
        BinaryOp::DecimalGreaterEq => BinaryOp::GreaterEq,
        other => other,
    }
}

/// What Cedar's `decimal` makes of a literal: digits, a point, one to four digits.
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
mod tests {
    use super::{scaled, ten_thousandths};

    #[test]
    fn literals_are_read_as_cedar_reads_them() {
        for (text, expected) in [
            ("0.0", Some(0)),
            ("-0.5", Some(-5_000)),
            ("10000.0", Some(100_000_000)),
            ("007.0001", Some(70_001)),
            ("922337203685477.5807", Some(i64::MAX)),
            ("-922337203685477.5808", Some(i64::MIN)),
            ("922337203685477.5808", None),
            ("1", None),
            ("1.", None),
            (".5", None),
            ("1.00001", None),
            ("+1.0", None),
            ("1e3.0", None),
        ] {
            assert_eq!(ten_thousandths(text), expected, "{text}");
            let literal = format!("decimal(\"{text}\")").parse().unwrap();
            let cedar = cedar_policy::eval_expression(&request(), &cedar_policy::Entities::empty(), &literal);
            assert_eq!(cedar.is_ok(), expected.is_some(), "{text}");
        }
    }

    fn request() -> cedar_policy::Request {
        let uid = |text: &str| text.parse().unwrap();
        let context = cedar_policy::Context::empty();
        cedar_policy::Request::new(uid("A::\"a\""), uid("Action::\"a\""), uid("A::\"a\""), context, None)
            .unwrap()
    }

    #[test]
    fn every_form_that_a_policy_can_hold_is_rewritten_and_the_rest_stays() {
        let text = r#"forbid (principal in Group::"g", action == Action::"INFORM", resource is a::b)
            when { if resource.x.greaterThan(decimal("1.5")) && !(resource has y) then [resource.x] == [decimal("-0.5")]
                   else {d: decimal("2.0")}.d.lessThanOrEqual(resource["x"]) || resource.s like "a*" }
            unless { principal is Agent in Group::"h" || resource.x.lessThan(decimal("1.0")) ||
                     resource.x.greaterThanOrEqual(decimal("3.0")) || -(context.major) + 1 > 2 };"#;
        let expected = r#"forbid (principal in Group::"g", action == Action::"INFORM", resource is a::b)
            when { if resource.x > 15000 && !(resource has y) then [resource.x] == [-5000]
                   else {d: 20000}.d <= resource["x"] || resource.s like "a*" }
            unless { principal is Agent in Group::"h" || resource.x < 10000 ||
                     resource.x >= 30000 || -(context.major) + 1 > 2 };"#;
        let rewritten = scaled(&text.parse().unwrap()).unwrap();
        let expected: cedar_policy::Policy = expected.parse().unwrap();
        assert_eq!(rewritten.to_pst().unwrap().body().clauses(), expected.to_pst().unwrap().body().clauses());
        assert_eq!(rewritten.principal_constraint(), expected.principal_constraint());
        assert_eq!(rewritten.action_constraint(), expected.action_constraint());
        assert_eq!(rewritten.resource_constraint(), expected.resource_constraint());
        assert_eq!(rewritten.effect(), expected.effect());
    }
}
