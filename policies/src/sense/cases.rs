//! Conditions case by case: whether several can be so together, looked at with one alternative of `||` and `if` after another. So what forbids
//! leave between them is held against what a policy asks for: where nothing is left, they cover it.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal, UnaryOp};

use super::again::{Part, parts, split};
use super::facts::Where;
use super::implied;
use super::never::Never;
use super::pieces::has_literal;
use super::possible::{Known, Looking};
use super::{World, each_way, versions, walk};
use crate::parse::Written;

impl Looking<'_, '_> {
    /// Whether the parts of conditions can be so together, where they have alternatives. `true` and `false` that are written out are meant as they
    /// stand, and what may fail to be evaluated does something where it does.
    pub(super) fn case_by_case(&mut self, parts: &[Part<'_>], here: &Where) -> bool {
        let as_it_stands = |part: &Part<'_>| has_literal(part.expr) || may_err(part.expr);
        if !parts.iter().any(|part| alternatives(part).is_some()) || parts.iter().any(as_it_stands) {
            return true;
        }
        // what they ask for was noted when they were looked at as they stand
        let mut looking = Self::knowing(self.world, self.known);
        self.world.steps().once_more(|| looking.together(parts, here))
    }

    /// Whether all of these can be so together. What is not looked at can be.
    fn together(&mut self, parts: &[Part<'_>], here: &Where) -> bool {
        if self.world.steps().are_spent() {
            return true;
        }
        let Some(mut there) = self.in_row(parts.iter(), here.clone()) else { return false };
        // what one of them says of the line counts for all, as far as what is loaded does
        if let Some(about) = here.about(&there).filter(|_| !self.known.is_bare()) {
            match self.in_row(parts.iter(), about) {
                Some(behind) => there = behind,
                None => return false,
            }
        }
        if !self.again(parts, there) || implied::opposed(parts, self.world) {
            return false;
        }
        let mut each = parts.iter().enumerate();
        let Some((at, cases)) = each.find_map(|(at, part)| Some((at, alternatives(part)?))) else {
            return true;
        };
        let (before, behind) = (parts.get(..at).unwrap_or_default(), parts.get(at + 1..).unwrap_or_default());
        cases.iter().any(|case| self.together(&[before, case, behind].concat(), here))
    }
}

/// The two ways in which a part can be so, if it is made of such: what is evaluated second is asked only where the first says so.
pub(super) fn alternatives<'e>(part: &Part<'e>) -> Option<[Vec<Part<'e>>; 2]> {
    let of = |all: &[(&'e Arc<Expr>, bool)]| {
        let mut parts = Vec::new();
        all.iter().for_each(|(expr, truth)| split(expr, *truth, &mut parts));
        parts
    };
    let expr: &'e Arc<Expr> = part.expr;
    match (&**expr, part.truth) {
        (Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right }, truth)
            if (*op == BinaryOp::Or) == truth =>
        {
            Some([of(&[(left, truth)]), of(&[(left, !truth), (right, truth)])])
        }
        (Expr::IfThenElse { cond, then_expr, else_expr }, truth) => {
            Some([of(&[(cond, true), (then_expr, truth)]), of(&[(cond, false), (else_expr, truth)])])
        }
        _ => None,
    }
}

/// Whether some of these forbids refuses wherever a policy applies, for what is known `here`: there is nothing of the policy that all of them
/// leave. One that cannot be evaluated refuses too.
pub(super) fn cover(
    covered: &Written,
    by: &[&Written],
    here: &Where,
    (world, known): (&World<'_>, Known),
) -> bool {
    let wholes: Vec<Arc<Expr>> = by.iter().filter_map(|forbid| whole(&forbid.judged)).collect();
    let own = parts(&covered.judged);
    let mut left = own.clone();
    wholes.iter().for_each(|whole| split(whole, false, &mut left));
    let all = by.iter().copied().chain([covered]);
    let reads = |name: &str| all.clone().any(|one| one.reads.context.wants(name));
    // each version by what it has of its own, where they are told apart and what one has today counts
    let apart = known == Known::All && (reads("major") || reads("minor"));
    let each = if apart { versions::each(here, world) } else { vec![here.clone()] };
    let places: Vec<Where> = each.iter().flat_map(|here| each_way(reads, here, world)).collect();
    let can = |parts: &[Part<'_>]| {
        places.iter().any(|here| {
            let mut looking = Looking::knowing(world, known);
            // what asks for a member that nothing has is a mistake of its own, and proves nothing
            looking.together(parts, here)
                || looking.never.iter().any(|never| matches!(never, Never::Unknown { .. }))
        })
    };
    world.steps().case_by_case(|| can(&own) && !can(&left))
}

/// All of these conditions as one; none if there are none.
fn whole(clauses: &[Clause]) -> Option<Arc<Expr>> {
    let one = |clause: &Clause| match clause {
        Clause::When(condition) => Arc::clone(condition),
        Clause::Unless(condition) => {
            Arc::new(Expr::UnaryOp { op: UnaryOp::Not, expr: Arc::clone(condition) })
        }
    };
    let and = |left, right| Arc::new(Expr::BinaryOp { op: BinaryOp::And, left, right });
    clauses.iter().map(one).reduce(and)
}

/// Whether evaluating it can fail although it is typed: by arithmetic that leaves its range.
pub(super) fn may_err(expr: &Arc<Expr>) -> bool {
    let mut found = false;
    let mut see = |part: &Expr| {
        found |= match part {
            Expr::UnaryOp { op: UnaryOp::Neg, expr } => !matches!(**expr, Expr::Literal(Literal::Long(_))),
            Expr::UnaryOp { op: UnaryOp::ToDate, .. } => true,
            Expr::BinaryOp { op, .. } => matches!(
                op,
                BinaryOp::Add
                    | BinaryOp::Sub
                    | BinaryOp::Mul
                    | BinaryOp::Offset
                    | BinaryOp::DurationSince
                    | BinaryOp::GetTag
            ),
            _ => false,
        };
    };
    walk::each(expr, &mut |part| see(part));
    found
}
