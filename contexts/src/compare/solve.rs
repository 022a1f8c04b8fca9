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
use crate::schema::types;

/// What stopped a search, in plain words.
pub(super) type Why = Rc<str>;

/// The answer to one question.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// Such a value.
    Value(Rc<Value>),
    /// There is none.
    Nothing,
    /// It was not found out.
    Unclear(Why),
}

/// Ways that are tried one after the other: the first value, else what was unclear, else nothing.
#[derive(Default)]
pub(super) struct Ways {
    unclear: Option<Why>,
}

impl Ways {
    /// Takes the answer of one way; answers the value if there is one.
    pub(super) fn take(&mut self, found: Found) -> Option<Found> {
        match found {
            Found::Value(_) => Some(found),
            Found::Nothing => None,
            Found::Unclear(why) => {
                self.unclear.get_or_insert(why);
                None
            }
        }
    }

    pub(super) fn end(self) -> Found {
        self.unclear.map_or(Found::Nothing, Found::Unclear)
    }
}

/// The steps that a comparison may take are used up.
pub(super) const SPENT: &str = "the limit of steps";

/// The types, in the order in which witnesses are looked for.
const TYPES: [u8; 6] =
    [types::OBJECT, types::STRING, types::NUMBER, types::BOOLEAN, types::NULL, types::ARRAY];

/// Answers questions about one pair of schemas and remembers the answers.
pub(super) struct Solver<'e> {
    pub(super) reader: Reader<'e>,
    pub(super) budget: Budget,
    formats: Rc<Formats>,
    limits: CompareLimits,
    known: HashMap<Vec<Id>, Found>,
    /// Questions that are being answered, outermost first.
    open: Vec<Vec<Id>>,
    /// The outermost open question on which an answer rests that is being worked out.
    rests_on: usize,
    /// Choices inside one another.
    nested: usize,
    /// Steps that are left for all questions, those of the present one among them.
    left: u64,
    /// What the present question began with.
    filled: u64,
}

/// Choices inside one another that the stack of a comparison holds.
const MOST_NESTED: usize = 2_000;

impl<'e> Solver<'e> {
    pub(super) fn new(reader: Reader<'e>, formats: Rc<Formats>, limits: CompareLimits) -> Self {
        let filled = limits.max_steps.min(limits.max_total_steps);
        let budget = Budget::new(filled);
        Solver {
            reader,
            budget,
            formats,
            limits,
            known: HashMap::new(),
            open: Vec::new(),
            rests_on: usize::MAX,
            nested: 0,
            left: limits.max_total_steps,
            filled,
        }
    }

    /// Gives the next questions as many steps as the first.
    pub(super) fn refill(&mut self) {
        self.left = self.left.saturating_sub(self.filled.saturating_sub(self.budget.left()));
        self.filled = self.limits.max_steps.min(self.left);
        self.budget = Budget::new(self.filled);
    }

    /// A value of which all of these hold.
    pub(super) fn find(&mut self, formulas: &[Id]) -> Found {
        let question: BTreeSet<Id> = formulas.iter().copied().filter(|id| *id != TRUE).collect();
        let clash = |id: &Id| self.reader.arena.opposite(*id).is_some_and(|other| question.contains(&other));
        if question.contains(&FALSE) || question.iter().any(clash) {
            return Found::Nothing;
        }
        let question: Vec<Id> = question.into_iter().collect();
        if let Some(known) = self.known.get(&question) {
            return known.clone();
        }
        if let Some(depth) = self.open.iter().position(|open| *open == question) {
            self.rests_on = self.rests_on.min(depth);
            return Found::Nothing;
        }
        if !self.budget.spend(1 + question.len() as u64) {
            return Found::Unclear(SPENT.into());
        }
        if self.open.len() >= self.limits.max_depth {
            return Found::Unclear("values nested deeper than a message".into());
        }
        self.answer(question)
    }

    fn answer(&mut self, question: Vec<Id>) -> Found {
        let depth = self.open.len();
        let before = std::mem::replace(&mut self.rests_on, usize::MAX);
        self.open.push(question.clone());
        let mut ways = Ways::default();
        let found = TYPES.iter().find_map(|kind| {
            let found = self.of_type(&question, *kind);
            ways.take(found)
        });
        let found = found.unwrap_or_else(|| ways.end());
        self.open.pop();
        // that there is nothing, if it rests on an outer question that is still open, holds only inside that one
        let alone = self.rests_on >= depth || matches!(found, Found::Value(_));
        if alone && !(matches!(found, Found::Unclear(_)) && self.budget.spent_out()) {
            self.known.insert(question, found.clone());
        }
        self.rests_on = if alone { before } else { before.min(self.rests_on) };
        found
    }

    /// Decides the atoms of a branch.
    fn decide(&mut self, kind: u8, atoms: &[Rc<Formula>]) -> Found {
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
enum Under {
    True,
    False,
    Open,
}

fn under(formula: &Formula, kind: u8) -> Under {
    match formula {
        Formula::True => Under::True,
        Formula::False => Under::False,
        Formula::Atom(Atom::Types(mask), _) => match mask & kind {
            0 => Under::False,
            // of numbers, integers alone may be meant
            some if some == kind => Under::True,
            _ => Under::Open,
        },
        Formula::Atom(Atom::In(values), _) if !values.iter().any(|value| scalars::is_of(value, kind)) => {
            Under::False
        }
        Formula::Atom(Atom::NotIn(values), _) if !values.iter().any(|value| scalars::is_of(value, kind)) => {
            Under::True
        }
        Formula::Atom(atom, otherwise) => {
            let speaks = match atom.kind() {
                Kind::Any => true,
                Kind::Number => kind == types::NUMBER,
                Kind::String => kind == types::STRING,
                Kind::Array => kind == types::ARRAY,
                Kind::Object => kind == types::OBJECT,
            };
            match (speaks, otherwise) {
                (true, _) => Under::Open,
                (false, true) => Under::True,
                (false, false) => Under::False,
            }
        }
        // all members of what has none; some member of what has none
        Formula::Unevaluated(_, _, all) if kind != types::OBJECT => {
            if *all {
                Under::True
            } else {
                Under::False
            }
        }
        _ => Under::Open,
    }
}

/// What is left to decide of members for which parts vouch.
#[derive(Clone)]
struct Rest {
    vouched: Vouched,
    is: Id,
    all: bool,
}

/// Members by name with what is asked of them.
type Demands = BTreeMap<String, Vec<Id>>;
