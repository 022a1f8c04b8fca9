//! Searches for a value that fits all given formulas. The answer is a value, a proof that there is none, or the bound that
//! stopped the search.
//!
//! A value has one type. Under it, formulas split into branches, and a branch into atoms, which the submodules decide for
//! each kind of value. "None" requires a contradiction in every branch; a search that was cut short never answers it. Inner
//! values are searched in the same way. A question that recurs inside itself has no answer there, since the smallest value
//! that answers it would hold a smaller one.

mod arrays;
mod branch;
mod names;
mod numbers;
mod objects;
mod scalars;
mod strings;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::Value;

use super::CompareLimits;
use super::budget::Budget;
use super::formats::Formats;
use super::formula::{Atom, FALSE, Formula, Id, Scalar, TRUE, Vouched};
use super::read::Reader;
use crate::schema::{pointer, types};

/// The reason that stopped a search, in plain words.
pub(super) type Reason = Rc<str>;

/// The answer to one question.
pub(super) type Solution = Result<Rc<Value>, NoValue>;

/// The reason that a question is not answered with a value.
#[derive(Clone, Debug)]
pub(super) enum NoValue {
    /// A value exists but is too large to be written: its location as a JSON Pointer, and its description.
    Described(Rc<Described>),
    /// There is none.
    Nothing,
    /// The search was cut short.
    Unclear(Reason),
}

/// Characters, items or members that a message can hold, however a gateway is configured.
const MOST_IN_A_MESSAGE: u64 = u32::MAX as u64;

/// The description of a value that is too large to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) path: String,
    pub(super) what: String,
}

/// The answer of a search that was cut short.
pub(super) fn unclear(why: impl Into<Reason>) -> Solution {
    Err(NoValue::Unclear(why.into()))
}

/// A value that is proved to exist but is not written.
fn described(what: String) -> NoValue {
    NoValue::Described(Rc::new(Described { path: String::new(), what }))
}

/// A value of so many parts that it is not written; unclear past the size of any message.
fn described_of(count: u64, what: impl Fn(u64) -> String) -> Solution {
    match count {
        0..=MOST_IN_A_MESSAGE => Err(described(what(count))),
        _ => unclear("a bound beyond every message"),
    }
}

/// Returns true if there is such a value, written or not.
pub(super) fn is_there(solution: &Solution) -> bool {
    matches!(solution, Ok(_) | Err(NoValue::Described(_)))
}

impl std::fmt::Display for Described {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.what),
            path => write!(f, "{} at `{path}`", self.what),
        }
    }
}

impl Described {
    /// The same, seen from around the member or item.
    fn inside(&self, segment: &str) -> NoValue {
        let path = pointer(&[segment]) + &self.path;
        NoValue::Described(Rc::new(Described { path, what: self.what.clone() }))
    }
}

/// Alternatives tried in turn. The result is the first value, else a described one, else the first unclear answer, else
/// nothing.
#[derive(Default)]
pub(super) struct Alternatives {
    described: Option<Rc<Described>>,
    unclear: Option<Reason>,
}

impl Alternatives {
    /// Takes the answer of one alternative; returns the value if there is one.
    pub(super) fn take(&mut self, solution: Solution) -> Option<Rc<Value>> {
        match solution {
            Ok(value) => return Some(value),
            Err(NoValue::Described(described)) => drop(self.described.get_or_insert(described)),
            Err(NoValue::Unclear(why)) => drop(self.unclear.get_or_insert(why)),
            Err(NoValue::Nothing) => {}
        }
        None
    }

    /// Returns true if a condition of an alternative has an answer, and takes the reason that it has none.
    pub(super) fn admit(&mut self, solution: Solution) -> bool {
        let there = is_there(&solution);
        if !there {
            self.take(solution);
        }
        there
    }

    pub(super) fn end(self) -> Solution {
        Err(match (self.described, self.unclear) {
            (Some(described), _) => NoValue::Described(described),
            (None, Some(why)) => NoValue::Unclear(why),
            (None, None) => NoValue::Nothing,
        })
    }
}

/// Formulas of a question that are looked up within one step.
const ASKED_A_STEP: u64 = 2;
/// Characters of a text that are looked at within one step.
const CHARACTERS_A_STEP: u64 = 16;
/// Names, rules or atoms that are put in order or copied within one step.
const COPIED_A_STEP: u64 = 4;

/// The types, in the order in which witnesses are looked for.
const TYPES: [u8; 6] =
    [types::OBJECT, types::STRING, types::NUMBER, types::BOOLEAN, types::NULL, types::ARRAY];

/// Answers questions about one pair of schemas and remembers the answers.
pub(super) struct Solver<'e> {
    pub(super) reader: Reader<'e>,
    pub(super) budget: Rc<Budget>,
    formats: Rc<Formats>,
    limits: CompareLimits,
    known: HashMap<Vec<Id>, Solution>,
    /// Questions that are being answered, outermost first.
    open: Vec<Vec<Id>>,
    /// The outermost open question on which the answer in work depends.
    rests_on: usize,
    /// Choices inside one another.
    nested: usize,
    /// The matches of names and texts by pattern: the same ones recur at every choice.
    matched: HashMap<usize, HashMap<String, Option<bool>>>,
}

/// Choices inside one another that the stack of a comparison holds.
const MOST_NESTED: usize = 2_000;

impl<'e> Solver<'e> {
    pub(super) fn new(
        reader: Reader<'e>,
        formats: Rc<Formats>,
        limits: CompareLimits,
        budget: Rc<Budget>,
    ) -> Self {
        Solver {
            reader,
            budget,
            formats,
            limits,
            known: HashMap::new(),
            open: Vec::new(),
            rests_on: usize::MAX,
            nested: 0,
            matched: HashMap::new(),
        }
    }

    /// The answer to a whole question. It never answers "nothing" once the steps ran out, since unread or untried parts may
    /// say otherwise.
    pub(super) fn ask(&mut self, formulas: &[Id]) -> Solution {
        match self.find(formulas) {
            Err(NoValue::Nothing | NoValue::Described(_)) if self.budget.spent_out() => Err(self.spent()),
            answer => answer,
        }
    }

    /// The answer once the steps or the time are used up.
    fn spent(&self) -> NoValue {
        NoValue::Unclear(self.budget.reason().into())
    }

    /// Takes steps. Returns the final answer as an error if none are left.
    fn charge(&self, steps: u64) -> Result<(), NoValue> {
        if self.budget.spend(steps) { Ok(()) } else { Err(self.spent()) }
    }

    /// Returns true if a text matches a pattern. None if the pattern is not followed or no steps are left. Answers are kept.
    fn matches(&mut self, number: usize, text: &str) -> Option<bool> {
        if !self.budget.spend(1 + text.len() as u64 / CHARACTERS_A_STEP) {
            return None;
        }
        if let Some(known) = self.matched.get(&number).and_then(|texts| texts.get(text)) {
            return *known;
        }
        let is = self.reader.matches(number, text);
        if !self.budget.spent_out() {
            self.matched.entry(number).or_default().insert(text.to_owned(), is);
        }
        is
    }

    /// A copy of a value for a witness. It takes one step for each value in it. Refuses a witness larger than a message.
    fn copied(&self, value: &Value, room: &mut u64) -> Result<Value, NoValue> {
        let mut size = 0;
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            size += 1;
            match value {
                Value::Array(items) => open.extend(items),
                Value::Object(members) => open.extend(members.values()),
                Value::String(text) => {
                    self.charge(text.len() as u64 / CHARACTERS_A_STEP)?;
                }
                _ => {}
            }
        }
        self.charge(size)?;
        let full = || described(format!("more than {} values", self.limits.max_values));
        *room = room.checked_sub(size).ok_or_else(full)?;
        Ok(value.clone())
    }

    /// A value that fits all of these.
    pub(super) fn find(&mut self, formulas: &[Id]) -> Solution {
        // also for known answers: the same question recurs at every choice
        self.charge(1 + formulas.len() as u64 / ASKED_A_STEP)?;
        let question: BTreeSet<Id> = formulas.iter().copied().filter(|id| *id != TRUE).collect();
        let clash = |id: &Id| self.reader.arena.opposite(*id).is_some_and(|other| question.contains(&other));
        if question.contains(&FALSE) || question.iter().any(clash) {
            return Err(NoValue::Nothing);
        }
        let question: Vec<Id> = question.into_iter().collect();
        if let Some(known) = self.known.get(&question) {
            return known.clone();
        }
        if let Some(depth) = self.open.iter().position(|open| *open == question) {
            self.rests_on = self.rests_on.min(depth);
            return Err(NoValue::Nothing);
        }
        self.charge(1 + question.len() as u64)?;
        if self.open.len() >= self.limits.max_depth {
            return unclear("values nested deeper than a message");
        }
        self.answer(question)
    }

    fn answer(&mut self, question: Vec<Id>) -> Solution {
        let depth = self.open.len();
        let before = std::mem::replace(&mut self.rests_on, usize::MAX);
        self.open.push(question.clone());
        let mut ways = Alternatives::default();
        let solution = TYPES.iter().find_map(|kind| {
            let solution = self.of_type(&question, *kind);
            ways.take(solution)
        });
        let solution = solution.map_or_else(|| ways.end(), Ok);
        self.open.pop();
        // an answer of "nothing" that depends on an open outer question holds only inside that question
        let alone = self.rests_on >= depth || is_there(&solution);
        if alone && !self.budget.spent_out() {
            self.known.insert(question, solution.clone());
        }
        self.rests_on = if alone { before } else { before.min(self.rests_on) };
        solution
    }

    /// Decides the atoms of a branch.
    fn decide(&mut self, kind: u8, atoms: &[Rc<Formula>]) -> Solution {
        let atoms: Vec<&Atom> = atoms
            .iter()
            .filter_map(|formula| match &**formula {
                Formula::Atom(atom, _) => Some(atom),
                _ => None,
            })
            .collect();
        match kind {
            types::OBJECT => self.object(&atoms),
            types::ARRAY => self.array(&atoms),
            types::STRING => self.string(&atoms),
            types::NUMBER => self.number(&atoms),
            types::BOOLEAN => {
                let values = [true, false].map(|value| (Scalar::Bool(value), Value::Bool(value)));
                scalars::one_of_few(&atoms, &values)
            }
            _ => scalars::one_of_few(&atoms, &[(Scalar::Null, Value::Null)]),
        }
    }
}

/// The value of a formula under one type; none if the type does not decide it.
fn truth_for(formula: &Formula, kind: u8) -> Option<bool> {
    match formula {
        Formula::True => Some(true),
        Formula::False => Some(false),
        Formula::Atom(Atom::Types(mask), _) => match mask & kind {
            0 => Some(false),
            // of the numbers, perhaps integers alone
            some => (some == kind).then_some(true),
        },
        Formula::Atom(Atom::In(values), _) if !scalars::has_of(values, kind) => Some(false),
        Formula::Atom(Atom::NotIn(values), _) if !scalars::has_of(values, kind) => Some(true),
        Formula::Atom(atom, otherwise) => (atom.types() & kind == 0).then_some(*otherwise),
        // all members of a value that has none; some member of a value that has none
        Formula::Unevaluated(_, _, all) => (kind != types::OBJECT).then_some(*all),
        Formula::And(_) | Formula::Or(_) | Formula::Definition(..) => None,
    }
}

/// Undecided members for which parts vouch.
#[derive(Clone)]
struct UnevaluatedRest {
    vouched: Vouched,
    is: Id,
    all: bool,
}

/// Members by name, with the demands on them.
type Demands = BTreeMap<String, Vec<Id>>;
