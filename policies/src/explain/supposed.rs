//! What a forbid comes to once a message is as it is advised to be: said only where it follows from the conditions as they are written.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr};

use super::Against;
use super::changes::{Need, members};
use super::scene::Scene;
use super::truth::{self, Open, Truth};
use crate::parse::Written;

/// A question with the policies near it.
pub(super) struct Seen<'s, 'w> {
    pub scene: &'s Scene,
    pub against: &'s [Against<'w>],
}

impl<'w> Seen<'_, 'w> {
    /// A forbid that does not apply, and would if all of this came out as it is needed.
    pub fn refusing(&self, needs: &[Need<'_>]) -> Option<&'w Written> {
        let touched: BTreeSet<String> = needs.iter().flat_map(|(expr, _)| members(expr)).collect();
        let would = |one: &&Against<'w>| {
            let supposed = Supposed { needs, touched: &touched, scene: self.scene };
            !one.written.permits()
                && one.in_scope()
                && one.truth != Truth::True
                && one.clauses.iter().all(|clause| supposed.clause(clause) == Truth::True)
        };
        self.against.iter().find(would).map(|one| one.written)
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
            _ if members(expr).any(|one| self.touched.contains(&one)) => Truth::Open(Open::default()),
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
