//! Arithmetic: what a sum, a product or a distance in time can be, and what a bound of one says of the member in it. Where it could pass
//! what fits into 64 bits nothing is said of it, since it errs there.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Expr, Literal, UnaryOp, Var};

use super::derived::computed;
use super::facts::Where;
use super::members::path_of;
use super::possible::{Known, Looking};
use super::values::{Values, length, moment, negative, only};
use crate::moments::SECOND;
use crate::numbers::Numbers;

impl Looking<'_, '_> {
    /// What `+`, `-`, `*`, `offset` and `durationSince` come to.
    pub(super) fn sum(&mut self, op: BinaryOp, left: &Arc<Expr>, right: &Arc<Expr>, here: &Where) -> Values {
        let (a, b) = (self.values(left, here), self.values(right, here));
        if let Some(more) = self.beside_itself(left, right, here) {
            match op {
                BinaryOp::Sub => return Values::Numbers(more),
                BinaryOp::DurationSince => return Values::Moments(more),
                _ => {}
            }
        }
        if !self.known.follows() {
            return Values::Any;
        }
        let none_over = |numbers: Option<Numbers>| numbers.map(Values::Moments);
        let found = match (op, &a, &b) {
            (BinaryOp::DurationSince, ..) if is_end(left) && is_now(right) => {
                Numbers::multiples(SECOND, (SECOND, i64::MAX)).map(Values::Moments)
            }
            (BinaryOp::DurationSince, ..) if is_now(left) && is_end(right) => {
                Numbers::multiples(SECOND, (i64::MIN, -SECOND)).map(Values::Moments)
            }
            (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, Values::Numbers(a), Values::Numbers(b)) => {
                combined(op, a, b).map(Values::Numbers)
            }
            (BinaryOp::Offset, Values::Moments(a), Values::Moments(b)) => {
                none_over(combined(BinaryOp::Add, a, b))
            }
            (BinaryOp::DurationSince, Values::Moments(a), Values::Moments(b)) => {
                none_over(combined(BinaryOp::Sub, a, b))
            }
            _ => None,
        };
        let found = found.unwrap_or(Values::Any);
        // what conditions before say of the same
        let text = || computed(&Expr::BinaryOp { op, left: Arc::clone(left), right: Arc::clone(right) });
        match here.facts.as_ref().and_then(|_| text()).and_then(|(var, path)| here.said(&var, &path)) {
            Some(said) => found.and(said).unwrap_or(found),
            None => found,
        }
    }

    /// What `-` makes of a number.
    pub(super) fn negated(&mut self, of: &Arc<Expr>, here: &Where) -> Values {
        match self.values(of, here) {
            Values::Numbers(numbers) if self.known.follows() => {
                let nothing = Numbers::Between(0, 0);
                combined(BinaryOp::Sub, &nothing, &numbers).map_or(Values::Any, Values::Numbers)
            }
            _ => Values::Any,
        }
    }

    /// The end of a session beside the clock: it is told only while it is to come (`docs/policy.md`, the context record). That a part says
    /// so again is no mistake.
    pub(super) fn ends(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Values> {
        let later = match () {
            () if self.known != Known::All => return None,
            () if is_end(left) && is_now(right) => true,
            () if is_now(left) && is_end(right) => false,
            () => return None,
        };
        Some(match op {
            BinaryOp::Less | BinaryOp::LessEq => only(!later),
            BinaryOp::Greater | BinaryOp::GreaterEq => only(later),
            _ => only(false),
        })
    }
}

/// The questions about ambiguous parameters are among the concepts of a message, so that there are no more of them.
pub(super) fn counted(known: Known, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Values> {
    let is = |expr: &Expr, score: &str| {
        path_of(expr).is_some_and(|(var, path)| var == Var::Context && path == ["scores", score])
    };
    let first = match () {
        () if !known.is_full() => return None,
        () if is(left, "ambiguous") && is(right, "concepts") => true,
        () if is(left, "concepts") && is(right, "ambiguous") => false,
        () => return None,
    };
    match (op, first) {
        (BinaryOp::Greater, true) | (BinaryOp::Less, false) => Some(only(false)),
        (BinaryOp::LessEq, true) | (BinaryOp::GreaterEq, false) => Some(only(true)),
        _ => None,
    }
}

/// Every result of numbers of the one and of the other; none if one may not fit.
pub(super) fn combined(op: BinaryOp, a: &Numbers, b: &Numbers) -> Option<Numbers> {
    let ((low, high), (from, to)) = (a.ends(), b.ends());
    let wide = |number: i64| i128::from(number);
    let results = [(low, from), (low, to), (high, from), (high, to)].map(|(a, b)| match op {
        BinaryOp::Add => wide(a) + wide(b),
        BinaryOp::Sub => wide(a) - wide(b),
        _ => wide(a) * wide(b),
    });
    let least = i64::try_from(*results.iter().min()?).ok()?;
    let most = i64::try_from(*results.iter().max()?).ok()?;
    Some(Numbers::Between(least, most))
}

/// The member of which an expression is a constant number more.
pub(super) fn shifted(expr: &Expr) -> Option<((Var, Vec<String>), i64)> {
    let (of, more) = moved_by(expr)?;
    Some((path_of(of)?, more))
}

/// What an expression is a constant number more than.
pub(super) fn moved_by(expr: &Expr) -> Option<(&Expr, i64)> {
    let Expr::BinaryOp { op, left, right } = expr else { return None };
    Some(match op {
        BinaryOp::Add => match number(right) {
            Some(more) => (left, more),
            None => (right, number(left)?),
        },
        BinaryOp::Sub => (left, number(right)?.checked_neg()?),
        BinaryOp::Offset => (left, written_length(right)?),
        BinaryOp::DurationSince => (left, written_moment(right)?.checked_neg()?),
        _ => return None,
    })
}

/// What a member is where so much more than it is one of these.
pub(super) fn less(values: &Values, shift: i64) -> Values {
    let moved = |numbers: &Numbers| {
        let (low, high) = numbers.ends();
        Numbers::Between(low.saturating_sub(shift), high.saturating_sub(shift))
    };
    match values {
        Values::Numbers(numbers) => Values::Numbers(moved(numbers)),
        Values::Moments(numbers) => Values::Moments(moved(numbers)),
        _ => Values::Any,
    }
}

fn is_end(expr: &Expr) -> bool {
    path_of(expr).is_some_and(|(var, path)| var == Var::Context && path == ["session", "expires"])
}

fn is_now(expr: &Expr) -> bool {
    path_of(expr).is_some_and(|(var, path)| var == Var::Context && path == ["now"])
}

fn number(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(Literal::Long(number)) => Some(*number),
        Expr::UnaryOp { op: UnaryOp::Neg, expr } => negative(expr),
        _ => None,
    }
}

fn written_length(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::UnaryOp { op: UnaryOp::Duration, expr } => length(expr),
        _ => None,
    }
}

fn written_moment(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::UnaryOp { op: UnaryOp::Datetime, expr } => moment(expr),
        _ => None,
    }
}
