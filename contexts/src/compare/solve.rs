//! Is there a value of which all of these formulas hold? A value, a proof that there is none, or what stopped the search.
//!
//! A value has one type; under it formulas fall apart into branches, and a branch into atoms, which the rooms below decide for each kind
//! of value. "None" is only said when every branch ends in a contradiction; a search that was cut short anywhere never says it.
//! Values inside are asked for in the same way. A question that comes up again inside itself has no answer there: the smallest value
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
use super::formula::{Atom, FALSE, Formula, Id, Kind, TRUE, Vouched};
use super::read::Reader;
use crate::schema::{pointer, types};

/// What stopped a search, in plain words.
pub(super) type Reason = Rc<str>;

/// The answer to one question.
#[derive(Clone, Debug)]
pub(super) enum Solution {
    /// Such a value.
    Value(Rc<Value>),
    /// There is one, and it is too large to be written: where in the value, as a JSON Pointer, and what stands there.
    Described(Rc<Described>),
    /// There is none.
    Nothing,
    /// It was not found out.
    Unclear(Reason),
}

/// Characters, items or members that a message can hold, however a gateway is configured.
const MOST_IN_A_MESSAGE: u64 = u32::MAX as u64;

/// What stands in a value that is too large to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) path: String,
    pub(super) what: String,
}

impl Solution {
    /// A value of so many parts that it is not written; unclear past what any message holds.
    fn described_of(count: u64, what: impl Fn(u64) -> String) -> Solution {
        match count {
            0..=MOST_IN_A_MESSAGE => Solution::described(what(count)),
            _ => Solution::Unclear("a bound past every message".into()),
        }
    }

    /// A value that is shown to be and is not written.
    fn described(what: String) -> Solution {
        Solution::Described(Rc::new(Described { path: String::new(), what }))
    }

    /// Whether there is such a value, written or not.
    pub(super) fn is_there(&self) -> bool {
        matches!(self, Solution::Value(_) | Solution::Described(_))
    }
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
    fn inside(&self, segment: &str) -> Solution {
        let path = pointer(&[segment]) + &self.path;
        Solution::Described(Rc::new(Described { path, what: self.what.clone() }))
    }
}

/// Ways that are tried one after the other: the first value, else one that is described, else what was unclear, else nothing.
#[derive(Default)]
pub(super) struct Alternatives {
    described: Option<Rc<Described>>,
    unclear: Option<Reason>,
}

impl Alternatives {
    /// Takes the answer of one way; answers the value if there is one.
    pub(super) fn take(&mut self, solution: Solution) -> Option<Solution> {
        match solution {
            Solution::Value(_) => Some(solution),
            Solution::Described(described) => {
                self.described.get_or_insert(described);
                None
            }
            Solution::Nothing => None,
            Solution::Unclear(why) => {
                self.unclear.get_or_insert(why);
                None
            }
        }
    }

    pub(super) fn end(self) -> Solution {
        match (self.described, self.unclear) {
            (Some(described), _) => Solution::Described(described),
            (None, Some(why)) => Solution::Unclear(why),
            (None, None) => Solution::Nothing,
        }
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
    /// The outermost open question on which an answer rests that is being worked out.
    rests_on: usize,
    /// Choices inside one another.
    nested: usize,
    /// Whether names and texts match patterns, by pattern: the same ones are asked for at every choice.
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

    /// The answer to a whole question. Where the steps ran out, that there is nothing is not shown: what was read without steps, or not tried,
    /// may say otherwise.
    pub(super) fn ask(&mut self, formulas: &[Id]) -> Solution {
        match self.find(formulas) {
            Solution::Nothing | Solution::Described(_) if self.budget.spent_out() => self.spent(),
            found => found,
        }
    }

    /// That the steps, or the time, are used up.
    fn spent(&self) -> Solution {
        Solution::Unclear(self.budget.reason().into())
    }

    /// Takes steps; what to answer where there are none left.
    fn charge(&self, steps: u64) -> Result<(), Solution> {
        if self.budget.spend(steps) { Ok(()) } else { Err(self.spent()) }
    }

    /// Whether a text matches a pattern; none if the pattern is not followed, or there are no steps left. The answers are kept.
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

    /// A copy of a value for a witness. It takes a step for each value in it, and a witness of more than a message holds is none.
    fn copied(&self, value: &Value, room: &mut u64) -> Result<Value, Solution> {
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
        match room.checked_sub(size) {
            Some(left) => *room = left,
            None => return Err(Solution::described(format!("more than {} values", self.limits.max_values))),
        }
        Ok(value.clone())
    }

    /// A value of which all of these hold.
    pub(super) fn find(&mut self, formulas: &[Id]) -> Solution {
        // also for what is known: the same is asked at every choice
        if let Err(spent) = self.charge(1 + formulas.len() as u64 / ASKED_A_STEP) {
            return spent;
        }
        let question: BTreeSet<Id> = formulas.iter().copied().filter(|id| *id != TRUE).collect();
        let clash = |id: &Id| self.reader.arena.opposite(*id).is_some_and(|other| question.contains(&other));
        if question.contains(&FALSE) || question.iter().any(clash) {
            return Solution::Nothing;
        }
        let question: Vec<Id> = question.into_iter().collect();
        if let Some(known) = self.known.get(&question) {
            return known.clone();
        }
        if let Some(depth) = self.open.iter().position(|open| *open == question) {
            self.rests_on = self.rests_on.min(depth);
            return Solution::Nothing;
        }
        if let Err(spent) = self.charge(1 + question.len() as u64) {
            return spent;
        }
        if self.open.len() >= self.limits.max_depth {
            return Solution::Unclear("values nested deeper than a message".into());
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
        let solution = solution.unwrap_or_else(|| ways.end());
        self.open.pop();
        // that there is nothing, if it rests on an outer question that is still open, holds only inside that one
        let alone = self.rests_on >= depth || solution.is_there();
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
            types::BOOLEAN => self.boolean(&atoms),
            _ => self.null(&atoms),
        }
    }
}

/// What a formula comes to under one type of value.
enum Truth {
    True,
    False,
    Open,
}

fn truth_for(formula: &Formula, kind: u8) -> Truth {
    match formula {
        Formula::True => Truth::True,
        Formula::False => Truth::False,
        Formula::Atom(Atom::Types(mask), _) => match mask & kind {
            0 => Truth::False,
            // of numbers, integers alone may be meant
            some if some == kind => Truth::True,
            _ => Truth::Open,
        },
        Formula::Atom(Atom::In(values), _) if !scalars::has_of(values, kind) => Truth::False,
        Formula::Atom(Atom::NotIn(values), _) if !scalars::has_of(values, kind) => Truth::True,
        Formula::Atom(atom, otherwise) => {
            let speaks = match atom.kind() {
                Kind::Any => true,
                Kind::Number => kind == types::NUMBER,
                Kind::String => kind == types::STRING,
                Kind::Array => kind == types::ARRAY,
                Kind::Object => kind == types::OBJECT,
            };
            match (speaks, otherwise) {
                (true, _) => Truth::Open,
                (false, true) => Truth::True,
                (false, false) => Truth::False,
            }
        }
        // all members of what has none; some member of what has none
        Formula::Unevaluated(_, _, all) if kind != types::OBJECT => {
            if *all {
                Truth::True
            } else {
                Truth::False
            }
        }
        _ => Truth::Open,
    }
}

/// What is left to decide of members for which parts vouch.
#[derive(Clone)]
struct UnevaluatedRest {
    vouched: Vouched,
    is: Id,
    all: bool,
}

/// Members by name with what is asked of them.
type Demands = BTreeMap<String, Vec<Id>>;
