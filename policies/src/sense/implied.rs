//! Whether one condition follows from others: by what they say in the same words, else by what members can be where they hold. Only what
//! is proven counts; a condition that cannot be evaluated refuses the message too, so that it counts as one that holds.

use std::collections::{BTreeSet, HashMap};

use cedar_policy::pst::{BinaryOp, Clause, Expr, UnaryOp};
use semgate_contexts::PerformativeSet;

use super::World;
use super::again::Part;
use super::cases;
use super::derived::each_item;
use super::facts::{Where, held_against_truth};
use super::never::Never;
use super::possible::{Known, Looking};
use crate::parse::Written;

/// Bytes of a condition's text that are written in the time of one step.
const BYTES_A_STEP: u64 = 32;

/// What is known where a policy applies.
pub(super) struct Given<'w, 'a> {
    world: &'w World<'a>,
    known: Known,
    /// What its scope leaves.
    pub scope: Where,
    /// And what its conditions leave of that.
    pub there: Where,
    /// What its conditions say, by its text in one form, and whether it is so.
    said: HashMap<String, bool>,
}

impl<'w, 'a> Given<'w, 'a> {
    /// Where these conditions hold; none if they never do.
    pub fn of(clauses: &[Clause], here: Where, world: &'w World<'a>) -> Option<Self> {
        Self::knowing(clauses, here, (world, Known::All))
    }

    /// The same, by so much of what is known now.
    pub fn knowing(clauses: &[Clause], here: Where, (world, known): (&'w World<'a>, Known)) -> Option<Self> {
        let mut given = Self { world, known, scope: here.clone(), there: here, said: HashMap::new() };
        for clause in clauses {
            given.there = Looking::knowing(world, known).behind(clause, &given.there)?;
            match clause {
                Clause::When(condition) => given.learn(condition, true),
                Clause::Unless(condition) => given.learn(condition, false),
            }
        }
        Some(given)
    }

    fn learn(&mut self, expr: &Expr, truth: bool) {
        self.said.extend(says(expr, truth));
        match expr {
            Expr::UnaryOp { op: UnaryOp::Not, expr } => self.learn(expr, !truth),
            Expr::BinaryOp { op, left, right } if splits(*op, truth) => {
                self.learn(left, truth);
                self.learn(right, truth);
            }
            _ => {
                let each = each_item(expr).filter(|(each, all)| *all == truth || each.len() == 1);
                for item in each.iter().flat_map(|(each, _)| each) {
                    self.learn(item, truth);
                }
            }
        }
    }

    /// Whether forbids cover all of a policy of which this is known, for these actions.
    pub fn is_covered(&self, covered: &Written, by: &[&Written], actions: PerformativeSet) -> bool {
        let here = Where { actions, ..self.scope.clone() };
        cases::cover(covered, by, &here, (self.world, self.known))
    }

    /// Whether all of these hold there.
    pub fn all_hold(&self, clauses: &[Clause]) -> bool {
        clauses.iter().all(|clause| match clause {
            Clause::When(condition) => self.proven(condition, true),
            Clause::Unless(condition) => self.proven(condition, false),
        })
    }

    fn proven(&self, expr: &Expr, truth: bool) -> bool {
        let (text, positive) = plain(expr);
        if !self.world.steps().spend(1 + text.len() as u64 / BYTES_A_STEP) {
            return false;
        }
        if self.said.get(&text) == Some(&(positive == truth)) {
            return true;
        }
        let by_parts = match expr {
            Expr::UnaryOp { op: UnaryOp::Not, expr } => self.proven(expr, !truth),
            Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
                if splits(*op, truth) {
                    self.proven(left, truth) && self.proven(right, truth)
                } else {
                    self.proven(left, truth) || self.proven(right, truth)
                }
            }
            _ => each_item(expr).is_some_and(|(each, all)| match all == truth {
                true => each.iter().all(|item| self.proven(item, truth)),
                false => each.iter().any(|item| self.proven(item, truth)),
            }),
        };
        let by_values = || {
            let mut looking = Looking::knowing(self.world, self.known);
            let (yes, no) = looking.values(expr, &self.there).truth();
            // what asks for a member that nothing has is a mistake of its own, and proves nothing
            let is_wrong = looking.never.iter().any(|never| matches!(never, Never::Unknown { .. }));
            !is_wrong && if truth { !no } else { !yes }
        };
        by_parts || by_values()
    }
}

/// Whether these conditions ask for something and for its contrary, in whichever words.
pub(super) fn contradict(clauses: &[Clause], world: &World<'_>) -> bool {
    let mut said = HashMap::new();
    clauses.iter().any(|clause| match clause {
        Clause::When(condition) => contrary(condition, true, world, &mut said),
        Clause::Unless(condition) => contrary(condition, false, world, &mut said),
    })
}

/// The same of parts that have to be so, or not.
pub(super) fn opposed(parts: &[Part<'_>], world: &World<'_>) -> bool {
    let mut said = HashMap::new();
    parts.iter().any(|part| contrary(part.expr, part.truth, world, &mut said))
}

fn contrary(expr: &Expr, truth: bool, world: &World<'_>, said: &mut HashMap<String, bool>) -> bool {
    match expr {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => contrary(expr, !truth, world, said),
        Expr::BinaryOp { op, left, right } if splits(*op, truth) => {
            contrary(left, truth, world, said) || contrary(right, truth, world, said)
        }
        _ => {
            let each = each_item(expr).filter(|(each, all)| *all == truth || each.len() == 1);
            if each.is_some_and(|(each, _)| each.iter().any(|item| contrary(item, truth, world, said))) {
                return true;
            }
            says(expr, truth).into_iter().any(|(text, so)| {
                world.steps().spend(1 + text.len() as u64 / BYTES_A_STEP)
                    && said.insert(text, so).is_some_and(|before| before != so)
            })
        }
    }
}

/// Whether two questions say the same, or one the contrary of the other; none if neither is seen.
pub(super) fn alike(left: &Expr, right: &Expr, world: &World<'_>) -> Option<bool> {
    let ((one, so), (other, also)) = (plain(left), plain(right));
    let steps = 1 + (one.len() + other.len()) as u64 / BYTES_A_STEP;
    (world.steps().spend(steps) && one == other).then_some(so == also)
}

/// Whether the whole is so exactly where both sides are.
const fn splits(op: BinaryOp, truth: bool) -> bool {
    matches!((op, truth), (BinaryOp::And, true) | (BinaryOp::Or, false))
}

/// What a condition that is so, or not, says in the forms of [`plain`]: what is below something is neither that nor above it.
fn says(expr: &Expr, truth: bool) -> Vec<(String, bool)> {
    let (text, positive) = plain(expr);
    let so = positive == truth;
    let mut said = vec![(text, so)];
    if let (Some((left, right)), true) = (compared(expr), so) {
        let [equal, below, above] = [equal(&left, &right), below(&left, &right), below(&right, &left)];
        let others = [equal, below, above].into_iter();
        let others: Vec<String> = others.filter(|other| said.iter().all(|(text, _)| text != other)).collect();
        said.extend(others.into_iter().map(|other| (other, false)));
    }
    said
}

/// The two sides of a comparison.
fn compared(expr: &Expr) -> Option<(String, String)> {
    match expr {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => compared(expr),
        Expr::BinaryOp { op, left, right } if is_plain(*op) => Some((text(left), text(right))),
        _ => None,
    }
}

fn equal(left: &str, right: &str) -> String {
    let mut sides = [left, right];
    sides.sort_unstable();
    sides.join(" == ")
}

fn below(left: &str, right: &str) -> String {
    format!("{left} < {right}")
}

/// The text of a condition in one form for what is written in several, and whether it says that, or the contrary.
fn plain(expr: &Expr) -> (String, bool) {
    use BinaryOp::{
        DecimalGreater, DecimalGreaterEq, DecimalLessEq, DecimalLessThan, Eq, Greater, GreaterEq, Less,
        LessEq, NotEq,
    };
    if let Some((asked, so)) = held_against_truth(expr) {
        let (text, positive) = plain(asked);
        return (text, positive == so);
    }
    match expr {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => {
            let (text, positive) = plain(expr);
            (text, !positive)
        }
        Expr::BinaryOp { op: op @ (Eq | NotEq), left, right } => {
            (equal(&text(left), &text(right)), *op == Eq)
        }
        Expr::BinaryOp { op, left, right } => {
            let (below, above, positive) = match op {
                Less | DecimalLessThan => (left, right, true),
                Greater | DecimalGreater => (right, left, true),
                LessEq | DecimalLessEq => (right, left, false),
                GreaterEq | DecimalGreaterEq => (left, right, false),
                _ => return (text(expr), true),
            };
            (self::below(&text(below), &text(above)), positive)
        }
        _ => (text(expr), true),
    }
}

fn text(expr: &Expr) -> String {
    match expr {
        Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), .. } => {
            let mut parts = BTreeSet::new();
            flat(expr, *op, &mut parts);
            let parts: Vec<String> = parts.into_iter().collect();
            format!("({})", parts.join(if *op == BinaryOp::And { " && " } else { " || " }))
        }
        Expr::BinaryOp { op, .. } if is_plain(*op) => signed(expr),
        Expr::UnaryOp { op: UnaryOp::Not, .. } => signed(expr),
        Expr::BinaryOp { op, left, right } => format!("{op}({}, {})", text(left), text(right)),
        Expr::Set(items) => {
            let items: BTreeSet<String> = items.iter().map(|item| text(item)).collect();
            format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Whether [`plain`] has one form for it.
const fn is_plain(op: BinaryOp) -> bool {
    use BinaryOp::{
        DecimalGreater, DecimalGreaterEq, DecimalLessEq, DecimalLessThan, Eq, Greater, GreaterEq, Less,
        LessEq, NotEq,
    };
    matches!(
        op,
        Eq | NotEq
            | Less
            | LessEq
            | Greater
            | GreaterEq
            | DecimalLessThan
            | DecimalLessEq
            | DecimalGreater
            | DecimalGreaterEq
    )
}

fn signed(expr: &Expr) -> String {
    let (text, positive) = plain(expr);
    if positive { format!("({text})") } else { format!("!({text})") }
}

fn flat(expr: &Expr, of: BinaryOp, parts: &mut BTreeSet<String>) {
    match expr {
        Expr::BinaryOp { op, left, right } if *op == of => {
            flat(left, of, parts);
            flat(right, of, parts);
        }
        other => drop(parts.insert(text(other))),
    }
}
