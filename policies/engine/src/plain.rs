//! Conditions that compare members of the instance with values, and ask nothing else: `resource.amount > 10000`.
//!
//! Most policies about values are of this form, and to make a request for Cedar's evaluator costs ten times what the comparison does. Only
//! what Cedar itself does without a choice stands here: `==` and `<` of 64-bit numbers, `==` of strings, `has`, and `!`, `&&` and `||` from
//! left to right. Whatever is not plain when it is asked (a member that is not there, or of another type) is left to Cedar, which knows what
//! to say of it.

use cedar_policy::pst::{BinaryOp, Expr, Literal, UnaryOp, Var};
use semgate_contexts::json::{Json, Object};

use crate::convert;
use crate::kinds::{Attributes, Kind};

/// Before the name in the context record of a member of the instance.
const INSTANCE: &str = "resource.";

/// The name in the context record of a member of the instance.
pub(crate) fn member_name(name: &str) -> String {
    format!("{INSTANCE}{name}")
}

/// The member of the instance that has this name in the context record, if it is one.
pub(crate) fn of_instance(member: &str) -> Option<&str> {
    member.strip_prefix(INSTANCE)
}

/// A condition of this form, as [`rewrite`](crate::rewrite) makes it: members of the instance in the context record, decimals as ten-thousandths.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    Has(String),
    Compare { member: String, by: By, with: With },
    Not(Box<Plain>),
    And(Box<Plain>, Box<Plain>),
    Or(Box<Plain>, Box<Plain>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum With {
    /// Or ten-thousandths, where the member is a decimal.
    Long(i64),
    /// For [`By::Equal`] and [`By::Unequal`] alone: strings have no order in Cedar.
    Text(String),
}

impl Plain {
    /// The condition, if it is of this form.
    pub fn of(tree: &Expr) -> Option<Self> {
        let both = |left: &Expr, right: &Expr| Some((Box::new(Self::of(left)?), Box::new(Self::of(right)?)));
        match tree {
            Expr::HasAttr { expr, attrs } if attrs.tail.is_empty() => {
                Some(Self::Has(name(expr, attrs.first())?))
            }
            Expr::UnaryOp { op: UnaryOp::Not, expr } => Some(Self::Not(Box::new(Self::of(expr)?))),
            Expr::BinaryOp { op: BinaryOp::And, left, right } => {
                both(left, right).map(|(left, right)| Self::And(left, right))
            }
            Expr::BinaryOp { op: BinaryOp::Or, left, right } => {
                both(left, right).map(|(left, right)| Self::Or(left, right))
            }
            Expr::BinaryOp { op, left, right } => {
                let (member, literal, by) = match (member(left), member(right)) {
                    (Some(member), None) => (member, right, By::of(*op)?),
                    (None, Some(member)) => (member, left, By::of(*op)?.turned()),
                    _ => return None,
                };
                let with = match &**literal {
                    Expr::Literal(Literal::Long(number)) => With::Long(*number),
                    Expr::Literal(Literal::String(text)) if matches!(by, By::Equal | By::Unequal) => {
                        With::Text(text.to_string())
                    }
                    _ => return None,
                };
                Some(Self::Compare { member, by, with })
            }
            _ => None,
        }
    }

    /// Returns true if it holds of an instance of this shape; `None` where Cedar is to be asked.
    pub fn holds(&self, shape: &Attributes, object: &Object<'_>, without: Option<&str>) -> Option<bool> {
        let of = |plain: &Self| plain.holds(shape, object, without);
        match self {
            Self::Has(member) => Some(convert::seen(shape, member, object, without).is_some()),
            Self::Not(plain) => of(plain).map(|holds| !holds),
            Self::And(left, right) => {
                if of(left)? {
                    of(right)
                } else {
                    Some(false)
                }
            }
            Self::Or(left, right) => {
                if of(left)? {
                    Some(true)
                } else {
                    of(right)
                }
            }
            Self::Compare { member, by, with } => {
                let (kind, value) = convert::seen(shape, member, object, without)?;
                match (kind, value, with) {
                    (Kind::Long, Json::Number(number), With::Long(with)) => {
                        number.as_i64_exact().map(|number| by.holds(&number, with))
                    }
                    (Kind::Decimal, Json::Number(number), With::Long(with)) => {
                        number.to_decimal4().ok().map(|number| by.holds(&number, with))
                    }
                    (Kind::String, Json::String(text), With::Text(with)) => {
                        Some(by.holds::<str>(text.as_ref(), with))
                    }
                    _ => None,
                }
            }
        }
    }
}

impl By {
    const fn of(op: BinaryOp) -> Option<Self> {
        Some(match op {
            BinaryOp::Eq => Self::Equal,
            BinaryOp::NotEq => Self::Unequal,
            BinaryOp::Less => Self::Less,
            BinaryOp::LessEq => Self::LessOrEqual,
            BinaryOp::Greater => Self::Greater,
            BinaryOp::GreaterEq => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The same with the operands in the other order.
    const fn turned(self) -> Self {
        match self {
            Self::Equal | Self::Unequal => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    fn holds<T: Ord + ?Sized>(self, left: &T, right: &T) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Unequal => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}

fn member(expr: &Expr) -> Option<String> {
    let Expr::GetAttr { expr, attr } = expr else { return None };
    name(expr, attr)
}

/// The member of the instance that this member of the context record is.
fn name(of: &Expr, attr: &str) -> Option<String> {
    matches!(of, Expr::Var(Var::Context)).then(|| of_instance(attr).map(str::to_owned))?
}

#[cfg(test)]
mod tests;
