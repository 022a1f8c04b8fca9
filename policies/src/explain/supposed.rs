//! What a forbid comes to once a message is as it is advised to be: said only where it follows from the conditions as they are written.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr};

use super::Against;
use super::changes::{Need, looks_at};
use super::scene::Scene;
use super::truth::{self, Open, Truth};
use crate::parse::Written;

/// A question with the policies about what is said.
#[derive(Clone, Copy)]
pub(super) struct Seen<'s, 'w> {
    pub scene: &'s Scene,
    pub against: &'s [Against<'w>],
    /// What of the message is another already, by what else is told.
    pub changed: &'s BTreeSet<String>,
}

impl<'s, 'w> Seen<'s, 'w> {
    /// A policy that does not stop the message, and would if all of this came out as it is needed and the message were in the scope of
    /// this permit; these members are others then.
    pub fn refusing(
        &self,
        permit: Option<&Against<'_>>,
        needs: &[Need<'_>],
        touched: &BTreeSet<String>,
    ) -> Option<&'w Written> {
        let would = self.would(permit, needs, touched).into_iter();
        would.filter(|(_, truth)| *truth == Truth::True).map(|(one, _)| one.written).next()
    }

    /// Those of which that cannot be said, and that could.
    pub fn staying(
        &self,
        permit: Option<&Against<'_>>,
        needs: &[Need<'_>],
        touched: &BTreeSet<String>,
    ) -> impl Iterator<Item = &'s Against<'w>> {
        let would = self.would(permit, needs, touched).into_iter();
        would.filter(|(_, truth)| matches!(truth, Truth::Open(_))).map(|(one, _)| one)
    }

    fn would(
        &self,
        permit: Option<&Against<'_>>,
        needs: &[Need<'_>],
        touched: &BTreeSet<String>,
    ) -> Vec<(&'s Against<'w>, Truth)> {
        let supposed = Supposed { needs, touched, scene: self.scene };
        let another = |one: &&Against<'w>| {
            let itself = permit.is_some_and(|permit| permit.written.id == one.written.id);
            let comes = one.in_scope() || permit.is_some_and(|permit| one.reaches(permit));
            one.written.stops() && !one.stops() && !itself && comes
        };
        let holds = |one: &Against<'w>| {
            one.clauses.iter().fold(Truth::True, |so_far, clause| so_far.and(|| supposed.clause(clause)))
        };
        self.against.iter().filter(another).map(|one| (one, holds(one))).collect()
    }
}

/// What is supposed of a question: that these come out as they are needed, and so the members that they look at are others.
struct Supposed<'s> {
    needs: &'s [Need<'s>],
    touched: &'s BTreeSet<String>,
    scene: &'s Scene,
}

impl Supposed<'_> {
    fn clause(&self, clause: &Clause) -> Truth {
        match clause {
            Clause::When(expr) => self.truth(expr),
            Clause::Unless(expr) => self.truth(expr).not(),
        }
    }

    fn truth(&self, expr: &Arc<Expr>) -> Truth {
        if let Some(truth) = self.needs.iter().find_map(|need| self.follows(*need, expr)) {
            return truth;
        }
        match &**expr {
            Expr::BinaryOp { op: BinaryOp::And, left, right } => self.truth(left).and(|| self.truth(right)),
            Expr::BinaryOp { op: BinaryOp::Or, left, right } => self.truth(left).or(|| self.truth(right)),
            Expr::UnaryOp { op: cedar_policy::pst::UnaryOp::Not, expr } => self.truth(expr).not(),
            _ if looks_at(expr, self.touched) => Truth::Open(Open::default()),
            _ => truth::truth(expr, self.scene),
        }
    }

    /// What an expression comes to by this need alone: it is the same one, or asks for a member that is to be a literal.
    fn follows(&self, (need, wanted): Need<'_>, expr: &Arc<Expr>) -> Option<Truth> {
        if need == expr {
            return Some(if wanted { Truth::True } else { Truth::False });
        }
        let Expr::BinaryOp { op: op @ (BinaryOp::Eq | BinaryOp::NotEq), left: member, right: value } =
            &**need
        else {
            return None;
        };
        if wanted != (*op == BinaryOp::Eq) || !matches!(**value, Expr::Literal(_)) {
            return None;
        }
        let asked = match &**expr {
            Expr::BinaryOp { op, left, right } if left == member && is_fixed(right) => {
                Expr::BinaryOp { op: *op, left: Arc::clone(value), right: Arc::clone(right) }
            }
            Expr::BinaryOp { op, left, right } if right == member && is_fixed(left) => {
                Expr::BinaryOp { op: *op, left: Arc::clone(left), right: Arc::clone(value) }
            }
            Expr::Like { expr, pattern } if expr == member => {
                Expr::Like { expr: Arc::clone(value), pattern: pattern.clone() }
            }
            Expr::HasAttr { expr, attrs } if attrs.len() == 1 => match &**member {
                Expr::GetAttr { expr: of, attr } if of == expr && attr == attrs.first() => {
                    return Some(Truth::True);
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(self.scene.ask(&Arc::new(asked)))
    }
}

/// Whether an expression is a value, whatever the message is.
fn is_fixed(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) => true,
        Expr::Set(items) => items.iter().all(|item| is_fixed(item)),
        _ => false,
    }
}
