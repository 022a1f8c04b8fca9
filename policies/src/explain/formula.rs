//! Conditions as formulas over the parts that Cedar is asked, and what they come to once some of these parts come out otherwise: said
//! only where it follows, whatever else the message is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::slice::from_ref;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, UnaryOp};

use super::scene::Scene;
use super::touched::{Agent, Members};
use super::truth::{self, Open, Truth};
use crate::AgentEntry;
use crate::agents::Agents;
use crate::sense::Together;

/// A condition, with its parts by their numbers.
#[derive(Debug, Clone)]
pub(super) enum Formula {
    Part(usize),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    If(Box<Self>, Box<Self>, Box<Self>),
}

/// A part, and how it would have to come out.
pub(super) type Need = (usize, bool);

/// What Cedar is asked as a whole.
struct Part {
    expr: Arc<Expr>,
    /// What it comes to for the message as it is.
    now: Truth,
    looks_at: Members,
    /// What of the message is another where it comes out otherwise.
    changes: Members,
    may_fail: bool,
}

/// The parts of all conditions, each once.
pub(super) struct Parts<'s> {
    scene: &'s Scene,
    together: Together<'s>,
    agents: &'s Agents,
    all: Vec<Part>,
    numbers: HashMap<String, usize>,
    /// What was asked of needs together, by needs.
    asked: RefCell<HashMap<Vec<Need>, bool>>,
}

/// What is supposed of a message: that these come out as they are needed, and so what is another is.
#[derive(Debug, Clone, Default)]
pub(super) struct Supposed {
    pub needs: Vec<Need>,
    changed: Members,
}

impl<'s> Parts<'s> {
    /// None yet.
    pub fn new(scene: &'s Scene, together: Together<'s>, agents: &'s Agents) -> Self {
        Self { scene, together, agents, all: Vec::new(), numbers: HashMap::new(), asked: RefCell::default() }
    }

    /// A clause as what must hold.
    pub fn clause(&mut self, clause: &Clause) -> Formula {
        match clause {
            Clause::When(expr) => self.formula(expr),
            Clause::Unless(expr) => Formula::Not(Box::new(self.formula(expr))),
        }
    }

    fn formula(&mut self, expr: &Arc<Expr>) -> Formula {
        match &**expr {
            Expr::UnaryOp { op: UnaryOp::Not, expr } => Formula::Not(Box::new(self.formula(expr))),
            Expr::BinaryOp { op: BinaryOp::And, left, right } => {
                Formula::And(Box::new(self.formula(left)), Box::new(self.formula(right)))
            }
            Expr::BinaryOp { op: BinaryOp::Or, left, right } => {
                Formula::Or(Box::new(self.formula(left)), Box::new(self.formula(right)))
            }
            Expr::IfThenElse { cond, then_expr, else_expr } => Formula::If(
                Box::new(self.formula(cond)),
                Box::new(self.formula(then_expr)),
                Box::new(self.formula(else_expr)),
            ),
            // who is in one of several groups is in the first, or in the next
            Expr::BinaryOp { op: BinaryOp::In, left, right } if Agent::of(left).is_some() => {
                let groups = match &**right {
                    Expr::Set(groups) => groups.as_slice(),
                    _ => from_ref(right),
                };
                let one = |group: &Arc<Expr>| {
                    let (left, right) = (Arc::clone(left), Arc::clone(group));
                    self.whole(&Arc::new(Expr::BinaryOp { op: BinaryOp::In, left, right }))
                };
                let each: Vec<Formula> = groups.iter().map(one).collect();
                let or = |left, right| Formula::Or(Box::new(left), Box::new(right));
                each.into_iter().reduce(or).unwrap_or_else(|| self.whole(expr))
            }
            _ => self.whole(expr),
        }
    }

    fn whole(&mut self, expr: &Arc<Expr>) -> Formula {
        let now = truth::truth(expr, self.scene);
        Formula::Part(self.part(expr, now))
    }

    /// All of these.
    pub fn all(formulas: Vec<Formula>) -> Option<Formula> {
        formulas.into_iter().reduce(|left, right| Formula::And(Box::new(left), Box::new(right)))
    }

    /// The number of a part of which it is known what it comes to now.
    pub fn part(&mut self, expr: &Arc<Expr>, now: Truth) -> usize {
        let next = self.all.len();
        let number = *self.numbers.entry(expr.to_string()).or_insert(next);
        if number == next {
            let (looks_at, may_fail) = (Members::of(expr), truth::may_fail(expr, self.scene));
            let changes = looks_at.clone().with_all_that_changes();
            self.all.push(Part { expr: Arc::clone(expr), now, looks_at, changes, may_fail });
        }
        number
    }

    /// The part with this number.
    pub fn expr(&self, number: usize) -> Option<&Arc<Expr>> {
        self.all.get(number).map(|part| &part.expr)
    }

    /// Whether a part comes out as it is needed already.
    pub fn is_so(&self, (number, wanted): Need) -> bool {
        self.all.get(number).is_some_and(|part| part.now == known(wanted))
    }

    /// The same, or whether it is not known what it comes to.
    pub fn may_be_so(&self, need: Need) -> bool {
        let open = |part: &Part| matches!(part.now, Truth::Open(_));
        self.is_so(need) || self.all.get(need.0).is_some_and(open)
    }

    /// Whether all that one way needs is so wherever all that another one needs is.
    pub fn follow_from(&self, needs: &[Need], supposed: &Supposed) -> bool {
        let follows = |(number, wanted): &Need| {
            self.all.get(*number).and_then(|part| self.follows(*number, part, supposed)) == Some(*wanted)
        };
        needs.iter().all(follows)
    }

    /// Adds what is needed; none where no message is so.
    pub fn supposing(&self, supposed: &Supposed, needs: &[Need]) -> Option<Supposed> {
        let mut next = supposed.clone();
        for need in needs {
            if let (false, Some(part)) = (self.is_so(*need), self.all.get(need.0)) {
                next.changed.add(&part.changes);
            }
            if !next.needs.contains(need) {
                next.needs.push(*need);
            }
        }
        next.needs.sort_unstable();
        self.can_be(next.needs.clone()).then_some(next)
    }

    /// What a formula comes to where this is supposed.
    pub fn truth(&self, formula: &Formula, supposed: &Supposed) -> Truth {
        match formula {
            Formula::Part(number) => self.truth_of(*number, supposed),
            Formula::Not(inner) => self.truth(inner, supposed).not(),
            Formula::And(left, right) => self.truth(left, supposed).and(|| self.truth(right, supposed)),
            Formula::Or(left, right) => self.truth(left, supposed).or(|| self.truth(right, supposed)),
            Formula::If(cond, then, otherwise) => match self.truth(cond, supposed) {
                Truth::True => self.truth(then, supposed),
                Truth::False => self.truth(otherwise, supposed),
                Truth::Open(open) => {
                    truth::either(open, self.truth(then, supposed), self.truth(otherwise, supposed))
                }
                failed @ Truth::Error(_) => failed,
            },
        }
    }

    fn truth_of(&self, number: usize, supposed: &Supposed) -> Truth {
        let Some(part) = self.all.get(number) else { return Truth::Open(Open::default()) };
        match self.follows(number, part, supposed) {
            Some(so) => known(so),
            None if part.looks_at.change_with(&supposed.changed) => {
                Truth::Open(Open { may_fail: part.may_fail, ..Open::default() })
            }
            None => part.now.clone(),
        }
    }

    /// What a part comes to by what is needed alone.
    fn follows(&self, number: usize, part: &Part, supposed: &Supposed) -> Option<bool> {
        if let Some((_, wanted)) = supposed.needs.iter().find(|need| need.0 == number) {
            return Some(*wanted);
        }
        if let Some(so) =
            self.entries(&supposed.needs).find_map(|(who, entry)| who.by_entry(&part.expr, entry))
        {
            return Some(so);
        }
        let of_the_same = |need: &&Need| {
            self.all.get(need.0).is_some_and(|other| other.looks_at.change_with(&part.looks_at))
        };
        let needs: Vec<Need> = supposed.needs.iter().filter(of_the_same).copied().collect();
        if needs.is_empty() || part.may_fail {
            return None;
        }
        let with = |wanted| {
            let mut needs = needs.clone();
            needs.push((number, wanted));
            needs.sort_unstable();
            self.can_be(needs)
        };
        match (with(true), with(false)) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        }
    }

    /// Whether some message may be so; what cannot be told, may be.
    fn can_be(&self, needs: Vec<Need>) -> bool {
        let opposed = |(number, wanted): &Need| needs.contains(&(*number, !wanted));
        let barred = |(who, entry): (Agent, &AgentEntry)| {
            let otherwise = |(number, wanted): &Need| {
                self.expr(*number).and_then(|expr| who.by_entry(expr, entry)) == Some(!wanted)
            };
            entry.disabled || needs.iter().any(otherwise)
        };
        if needs.iter().any(opposed) || self.entries(&needs).any(barred) {
            return false;
        }
        if let Some(told) = self.asked.borrow().get(&needs) {
            return *told;
        }
        let clause = |(number, wanted): &Need| {
            let expr = Arc::clone(self.expr(*number)?);
            Some(if *wanted { Clause::When(expr) } else { Clause::Unless(expr) })
        };
        let told = self.together.may_hold(&needs.iter().filter_map(clause).collect());
        self.asked.borrow_mut().insert(needs, told);
        told
    }

    /// The entries of those who sender and receiver are needed to be.
    fn entries<'n>(&'n self, needs: &'n [Need]) -> impl Iterator<Item = (Agent, &'n AgentEntry)> {
        needs.iter().filter(|need| need.1).filter_map(|need| {
            let (who, id) = Agent::named(self.expr(need.0)?)?;
            Some((who, self.agents.at(self.agents.position(id)?)?))
        })
    }

    /// The ways in which a formula comes out as it is wanted, each as what is needed beside what is supposed; as many as `most`.
    pub fn ways(&self, formula: &Formula, wanted: bool, supposed: &Supposed, most: usize) -> Vec<Vec<Need>> {
        match self.truth(formula, supposed) {
            Truth::True if wanted => return vec![Vec::new()],
            Truth::False if !wanted => return vec![Vec::new()],
            _ => {}
        }
        match formula {
            Formula::Part(number) => {
                let part = self.all.get(*number);
                match part.and_then(|part| self.follows(*number, part, supposed)) {
                    Some(_) => Vec::new(),
                    None => vec![vec![(*number, wanted)]],
                }
            }
            Formula::Not(inner) => self.ways(inner, !wanted, supposed, most),
            Formula::And(left, right) if wanted => self.both((left, true), (right, true), supposed, most),
            Formula::Or(left, right) if !wanted => self.both((left, false), (right, false), supposed, most),
            Formula::And(left, right) | Formula::Or(left, right) => {
                let mut ways = self.ways(left, wanted, supposed, most);
                // what could fail has to come out otherwise for the other side to be looked at
                if may_fail(&self.truth(left, supposed)) {
                    ways.extend(self.both((left, !wanted), (right, wanted), supposed, most));
                } else {
                    ways.extend(self.ways(right, wanted, supposed, most));
                }
                ways
            }
            Formula::If(cond, then, otherwise) => {
                let mut ways = self.both((cond, true), (then, wanted), supposed, most);
                ways.extend(self.both((cond, false), (otherwise, wanted), supposed, most));
                ways
            }
        }
    }

    fn both(
        &self,
        (left, of_left): (&Formula, bool),
        (right, of_right): (&Formula, bool),
        supposed: &Supposed,
        most: usize,
    ) -> Vec<Vec<Need>> {
        let mut all = Vec::new();
        for first in self.ways(left, of_left, supposed, most) {
            let Some(then) = self.supposing(supposed, &first) else { continue };
            for second in self.ways(right, of_right, &then, most) {
                if all.len() < most {
                    all.push([first.as_slice(), second.as_slice()].concat());
                }
            }
        }
        all
    }
}

/// Whether nothing is known of what follows.
const fn may_fail(truth: &Truth) -> bool {
    matches!(truth, Truth::Error(_) | Truth::Open(Open { may_fail: true, .. }))
}

/// What comes out so.
pub(super) const fn known(so: bool) -> Truth {
    if so { Truth::True } else { Truth::False }
}
