//! Splits formulas into branches of atoms.

use std::collections::HashSet;
use std::rc::Rc;

use super::super::formula::{Atom, Formula, Id, Part, Scope};
use super::{Alternatives, MOST_NESTED, NoValue, Solution, Solver, UnevaluatedRest, truth_for, unclear};
use crate::schema::types;

/// One branch: the formulas taken to hold so far, and those still to be split.
#[derive(Clone, Default)]
struct Branch {
    taken: HashSet<Id>,
    atoms: Vec<Rc<Formula>>,
    choices: Vec<Rc<Formula>>,
    rests: Vec<UnevaluatedRest>,
}

/// Parts of a choice that are looked at within one step: each is a look into two tables.
const PARTS_A_STEP: u64 = 8;

/// Formulas copied within one step: a table of numbers is copied in one piece.
const TAKEN_A_STEP: u64 = 32;

impl Branch {
    /// Steps that a copy takes.
    fn size(&self) -> u64 {
        let rests = self.rests.iter().map(|rest| rest.vouched.size()).sum::<u64>();
        1 + self.taken.len() as u64 / TAKEN_A_STEP
            + (self.atoms.len() + self.choices.len()) as u64 / PARTS_A_STEP
            + rests
    }
}

/// The number of formulas in a choice, or in a conjunction.
fn width(choice: &Formula) -> u64 {
    if let Formula::Or(parts) | Formula::And(parts) = choice { parts.len() as u64 } else { 0 }
}

impl Solver<'_> {
    /// A value of one type that fits all of these.
    pub(super) fn of_type(&mut self, formulas: &[Id], kind: u8) -> Solution {
        let mut branch = Branch::default();
        if !self.take(&mut branch, formulas.to_vec(), kind) {
            return Err(NoValue::Nothing);
        }
        self.explore(branch, kind)
    }

    /// Takes formulas into a branch; false if they contradict it.
    fn take(&mut self, branch: &mut Branch, mut open: Vec<Id>, kind: u8) -> bool {
        while let Some(id) = open.pop() {
            // callers of a branch that is not taken whole look at the steps first
            if !self.budget.spend(1) {
                break;
            }
            if !branch.taken.insert(id) {
                continue;
            }
            if self.reader.arena.opposite(id).is_some_and(|other| branch.taken.contains(&other)) {
                return false;
            }
            let formula = self.reader.arena.get(id);
            match (truth_for(&formula, kind), &*formula) {
                (Some(true), _) => {}
                (Some(false), _) => return false,
                (None, Formula::And(parts)) => open.extend(parts),
                (None, Formula::Or(_)) => branch.choices.push(formula),
                (None, Formula::Definition(number, holds)) => {
                    open.push(self.reader.definition(*number, *holds));
                }
                (None, Formula::Unevaluated(vouched, is, all)) => {
                    self.budget.spend(vouched.size());
                    branch.rests.push(UnevaluatedRest { vouched: (**vouched).clone(), is: *is, all: *all });
                }
                (None, _) => branch.atoms.push(formula),
            }
        }
        true
    }

    /// The alternatives of a choice that are left in a branch; none if it holds already.
    fn ways(&self, branch: &Branch, choice: &Formula, kind: u8) -> Option<Vec<Id>> {
        let Formula::Or(parts) = choice else { return None };
        let mut left = Vec::new();
        for part in parts {
            if branch.taken.contains(part) {
                return None;
            }
            if self.reader.arena.opposite(*part).is_some_and(|other| branch.taken.contains(&other)) {
                continue;
            }
            let formula = self.reader.arena.get(*part);
            if let Formula::And(_) = &*formula {
                self.budget.spend(width(&formula) / PARTS_A_STEP);
            }
            match truth_for(&formula, kind) {
                Some(true) => return None,
                Some(false) => {}
                None if self.is_out(branch, &formula, kind) => {}
                None => left.push(*part),
            }
        }
        Some(left)
    }

    /// Returns true if a conjunction holds something that cannot hold in the branch.
    fn is_out(&self, branch: &Branch, formula: &Formula, kind: u8) -> bool {
        let Formula::And(parts) = formula else { return false };
        parts.iter().any(|part| {
            truth_for(&self.reader.arena.get(*part), kind) == Some(false)
                || self.reader.arena.opposite(*part).is_some_and(|other| branch.taken.contains(&other))
        })
    }

    fn explore(&mut self, branch: Branch, kind: u8) -> Solution {
        if self.nested >= MOST_NESTED {
            return unclear("choices nested too deeply");
        }
        self.nested += 1;
        let solution = self.explore_on(branch, kind);
        self.nested -= 1;
        solution
    }

    fn explore_on(&mut self, mut branch: Branch, kind: u8) -> Solution {
        loop {
            self.charge(1 + branch.choices.len() as u64)?;
            let mut forced = Vec::new();
            let mut narrowest: Option<Vec<Id>> = None;
            let mut choices = Vec::new();
            for choice in std::mem::take(&mut branch.choices) {
                self.budget.spend(1 + width(&choice) / PARTS_A_STEP);
                let Some(ways) = self.ways(&branch, &choice, kind) else { continue };
                match ways.as_slice() {
                    [] => return Err(NoValue::Nothing),
                    [only] => forced.push(*only),
                    _ => {
                        if narrowest.as_ref().is_none_or(|known| ways.len() < known.len()) {
                            narrowest = Some(ways);
                        }
                        choices.push(choice);
                    }
                }
            }
            branch.choices = choices;
            if !forced.is_empty() {
                if !self.take(&mut branch, forced, kind) {
                    return Err(NoValue::Nothing);
                }
                continue;
            }
            return match narrowest {
                Some(ways) => self.choose(&branch, &ways, kind),
                None => self.settle(branch, kind),
            };
        }
    }

    fn choose(&mut self, branch: &Branch, ways: &[Id], kind: u8) -> Solution {
        // a branch that contradicts itself already is not split further
        if kind == types::OBJECT
            && branch.choices.len() > 1
            && matches!(self.decide(kind, &branch.atoms), Err(NoValue::Nothing))
        {
            return Err(NoValue::Nothing);
        }
        let mut tried = Alternatives::default();
        for choice in ways {
            self.charge(branch.size())?;
            let mut branch = branch.clone();
            if !self.take(&mut branch, vec![*choice], kind) {
                continue;
            }
            if let Some(value) = tried.take(self.explore(branch, kind)) {
                return Ok(value);
            }
        }
        tried.end()
    }

    /// Decides a branch whose only open choices are the parts that vouch for members.
    fn settle(&mut self, mut branch: Branch, kind: u8) -> Solution {
        let Some(mut rest) = branch.rests.pop() else { return self.decide(kind, &branch.atoms) };
        while let Some(part) = rest.vouched.parts.pop() {
            self.charge(1 + part.vouched.size())?;
            if rest.vouched.covers(&part.vouched) || self.is_settled(&branch, &part, &mut rest) {
                continue;
            }
            return self.split(&branch, rest, part, kind);
        }
        let scope = Scope { within: None, names: rest.vouched.names, patterns: rest.vouched.patterns };
        match (rest.vouched.all, rest.all) {
            (true, true) => {}
            (true, false) => return Err(NoValue::Nothing),
            (false, true) => branch.atoms.push(Rc::new(Formula::Atom(Atom::Every(scope, rest.is), true))),
            (false, false) => {
                branch.atoms.push(Rc::new(Formula::Atom(Atom::SomeMember(scope, rest.is), false)))
            }
        }
        self.settle(branch, kind)
    }

    /// Returns true if it is already known if a part holds.
    fn is_settled(&self, branch: &Branch, part: &Part, rest: &mut UnevaluatedRest) -> bool {
        if branch.taken.contains(&part.holds) {
            rest.vouched.take(part.vouched.clone());
            return true;
        }
        branch.taken.contains(&part.fails)
    }

    fn split(&mut self, branch: &Branch, rest: UnevaluatedRest, part: Part, kind: u8) -> Solution {
        let mut tried = Alternatives::default();
        for holds in [true, false] {
            self.charge(8 + branch.size() + rest.vouched.size() + part.vouched.size())?;
            let (mut branch, mut rest) = (branch.clone(), rest.clone());
            let taken = if holds {
                rest.vouched.take(part.vouched.clone());
                part.holds
            } else {
                part.fails
            };
            branch.rests.push(rest);
            if !self.take(&mut branch, vec![taken], kind) {
                continue;
            }
            if matches!(self.decide(kind, &branch.atoms), Err(NoValue::Nothing)) {
                continue;
            }
            if let Some(value) = tried.take(self.explore(branch, kind)) {
                return Ok(value);
            }
        }
        tried.end()
    }
}
