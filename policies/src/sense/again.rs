//! Conditions once more from behind: a part is looked at with what those before it say, and here also with what those behind it say, so that
//! what is never true as `a && b` is never true as `b && a`.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, UnaryOp};

use super::facts::Where;
use super::possible::{Known, Looking};

/// A part of conditions, and whether it has to be so.
#[derive(Clone)]
pub(super) struct Part<'e> {
    pub expr: &'e Arc<Expr>,
    pub truth: bool,
}

impl Part<'_> {
    /// The same as a condition.
    pub fn clause(&self) -> Clause {
        let condition = Arc::clone(self.expr);
        if self.truth { Clause::When(condition) } else { Clause::Unless(condition) }
    }
}

/// The parts that all have to be so where these conditions hold, in their order.
pub(super) fn parts(clauses: &[Clause]) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for clause in clauses {
        match clause {
            Clause::When(condition) => split(condition, true, &mut parts),
            Clause::Unless(condition) => split(condition, false, &mut parts),
        }
    }
    parts
}

/// The parts that all have to be so where an expression is true, or false.
pub(super) fn split<'e>(expr: &'e Arc<Expr>, truth: bool, parts: &mut Vec<Part<'e>>) {
    match &**expr {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => split(expr, !truth, parts),
        Expr::BinaryOp { op: BinaryOp::And, left, right } if truth => {
            split(left, truth, parts);
            split(right, truth, parts);
        }
        Expr::BinaryOp { op: BinaryOp::Or, left, right } if !truth => {
            split(left, truth, parts);
            split(right, truth, parts);
        }
        _ => parts.push(Part { expr, truth }),
    }
}

impl Looking<'_, '_> {
    /// Whether all of these can still be so, the last one first, where all of them are known to be.
    pub(super) fn again(&mut self, parts: &[Part<'_>], there: Where) -> bool {
        if parts.len() < 2 {
            return true;
        }
        // what they ask for was noted when they were looked at first
        let mut looking = Self::knowing(self.world, self.known);
        self.world.steps().once_more(|| {
            looking.in_row(parts.iter().rev(), there.clone()).is_some()
                && !(self.known == Known::All && self.world.is_memberless(&there))
        })
    }

    /// What is so once all of these are, each with what those before it say; none if they never are.
    pub(super) fn in_row<'p, 'e: 'p>(
        &mut self,
        mut parts: impl Iterator<Item = &'p Part<'e>>,
        here: Where,
    ) -> Option<Where> {
        parts.try_fold(here, |there, part| {
            let (yes, no) = self.values(part.expr, &there).truth();
            if if part.truth { yes } else { no } {
                self.narrowed(part.expr, part.truth, &there)
            } else {
                None
            }
        })
    }

    /// The same of the parts of one side of `||`.
    pub(super) fn row_again(&mut self, side: &Arc<Expr>, here: &Where) -> bool {
        let mut parts = Vec::new();
        split(side, true, &mut parts);
        if parts.len() < 2 {
            return true;
        }
        let there = Self::knowing(self.world, self.known).narrowed(side, true, here);
        there.is_none_or(|there| self.again(&parts, there))
    }
}
