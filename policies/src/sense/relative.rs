//! A member beside itself: as it is, moved by what is written out, or cut off to its day. What they have to do with each other is known,
//! whatever the member is. Where arithmetic leaves its range it errs, so that the condition is not true there either.

use cedar_policy::pst::{BinaryOp, Expr, UnaryOp, Var};

use super::facts::Where;
use super::members::path_of;
use super::possible::{Known, Looking, is_same_member};
use super::sums::moved_by;
use super::values::{Values, compare, equal, itself, only};
use crate::moments::DAY;
use crate::numbers::Numbers;

/// A member, and from where to where something is beyond it.
type Beyond = ((Var, Vec<String>), (i64, i64));

impl Looking<'_, '_> {
    /// What a comparison of a member with itself comes to.
    pub(super) fn with_itself(
        &self,
        op: BinaryOp,
        (left, right): (&Expr, &Expr),
        here: &Where,
    ) -> Option<Values> {
        if is_same_member(left, right) {
            return Some(match op {
                BinaryOp::Eq | BinaryOp::In => only(true),
                _ => itself(op),
            });
        }
        let (one, other) = self.both(left, right, here)?;
        let moments = |(low, high)| Values::Moments(Numbers::Between(low, high));
        let (one, other) = (moments(one), moments(other));
        Some(match op {
            BinaryOp::Eq => {
                let (yes, no) = equal(&one, &other);
                Values::Bool { yes, no }
            }
            BinaryOp::Less | BinaryOp::LessEq | BinaryOp::Greater | BinaryOp::GreaterEq => {
                compare(op, &one, &other)
            }
            _ => return None,
        })
    }

    /// How much more a member is than itself: what their difference, or distance in time, comes to.
    pub(super) fn beside_itself(&self, left: &Expr, right: &Expr, here: &Where) -> Option<Numbers> {
        let ((low, high), (from, to)) = self.both(left, right, here)?;
        Some(Numbers::Between(low.checked_sub(to)?, high.checked_sub(from)?))
    }

    /// How far beyond one member both are.
    fn both(&self, left: &Expr, right: &Expr, here: &Where) -> Option<((i64, i64), (i64, i64))> {
        if self.known == Known::Nothing {
            return None;
        }
        let (member, one) = self.beyond(left, here)?;
        let (same, other) = self.beyond(right, here)?;
        (member == same).then_some((one, other))
    }

    fn beyond(&self, expr: &Expr, here: &Where) -> Option<Beyond> {
        if let Some((of, more)) = moved_by(expr) {
            let (member, (low, high)) = self.beyond(of, here)?;
            return Some((member, (low.checked_add(more)?, high.checked_add(more)?)));
        }
        match expr {
            Expr::UnaryOp { op: UnaryOp::ToDate, expr: of } => {
                let (member, (low, high)) = self.beyond(of, here)?;
                let known = self.known_of(&member.0, &member.1, here);
                let days = matches!(&known, Values::Moments(all) if all.are_multiples(DAY));
                // the midnight before, or it itself
                let back = if days && low % DAY == 0 && low == high { 0 } else { DAY - 1 };
                Some((member, (low.checked_sub(back)?, high)))
            }
            Expr::Var(_) => None,
            _ => Some((path_of(expr)?, (0, 0))),
        }
    }
}
