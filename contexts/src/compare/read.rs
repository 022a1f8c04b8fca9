//! Translates compiled schemas (objects closed, references emitted) to formulas, both asserted and denied.

mod enumerations;
mod keywords;
mod shared_definitions;
mod unevaluated;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::Value;

use super::automata::{Nfa, Pattern};
use super::budget::Budget;
use super::case_collisions;
use super::formula::{Arena, FALSE, Formula, Id, Pair, Scalar, TRUE};
use crate::schema::Casing;
use keywords::Keyword;

/// Parts of a formula that are read, compared or written within one step.
const PARTS_A_STEP: u64 = 8;
/// States of a pattern that are made within one step.
const STATES_A_STEP: u64 = 8;
/// Bytes of a pattern that are parsed within one step.
const BYTES_A_STEP: u64 = 8;

/// The schemas of one side that the validator compiles.
#[derive(Debug)]
pub(super) struct Emitted {
    /// One for each shape of the document.
    pub(super) roots: Vec<Value>,
    pub(super) definitions: BTreeMap<String, Value>,
    pub(super) codes: BTreeMap<String, Vec<String>>,
}

impl Emitted {
    /// Returns true if one schema means the same on both sides, with all that it refers to.
    pub(super) fn leads_to_the_same(&self, other: &Self) -> bool {
        self.definitions == other.definitions && self.codes == other.codes
    }
}

/// A part that may lead back to itself, so it is referred to by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Recursive<'e> {
    /// A definition: side and name.
    Definition(usize, &'e str),
    /// A place under the rule `case`: casing and place.
    CasingNode(usize, usize),
}

/// Reads the schemas of two sides into one arena. If the steps run out first, the formulas do not state the schemas. Nothing
/// is concluded from them then, and nothing is kept.
#[derive(Debug)]
pub(super) struct Reader<'e> {
    pub(super) arena: Arena,
    pub(super) budget: Rc<Budget>,
    sides: [&'e Emitted; 2],
    /// Definitions that are the same on both sides, with all that they lead to.
    shared: BTreeSet<&'e str>,
    /// The parts that formulas refer to by number.
    definitions: Vec<Recursive<'e>>,
    /// Casings by number, those that are equal once.
    casings: Vec<Rc<Casing>>,
    /// The demands of the rule `case` on their places.
    pub(super) cased: HashMap<(usize, usize), Pair>,
    /// The numbers of the parts that formulas refer to.
    numbers: HashMap<Recursive<'e>, usize>,
    read: HashMap<(usize, usize), Pair>,
    pub(super) patterns: Vec<Pattern>,
    known: HashMap<String, usize>,
    codes: HashMap<(usize, String), Rc<BTreeSet<Scalar>>>,
    max_pattern_states: usize,
}

impl<'e> Reader<'e> {
    pub(super) fn new(sides: [&'e Emitted; 2], max_pattern_states: usize, budget: Rc<Budget>) -> Self {
        Reader {
            arena: Arena::new(),
            budget,
            sides,
            shared: shared_definitions::of(sides),
            definitions: Vec::new(),
            casings: Vec::new(),
            cased: HashMap::new(),
            numbers: HashMap::new(),
            read: HashMap::new(),
            patterns: Vec::new(),
            known: HashMap::new(),
            codes: HashMap::new(),
            max_pattern_states,
        }
    }

    /// The number of a pattern of a schema.
    fn pattern(&mut self, pattern: &str) -> usize {
        let most = self.max_pattern_states;
        self.add_pattern(format!("s{pattern}"), || Nfa::of_schema(pattern, most))
    }

    /// The number of a pattern of ours.
    pub(super) fn own_pattern(&mut self, pattern: &str) -> usize {
        let most = self.max_pattern_states;
        self.add_pattern(format!("o{pattern}"), || Nfa::of(pattern, most))
    }

    fn add_pattern(&mut self, key: String, make: impl FnOnce() -> Pattern) -> usize {
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let number = self.patterns.len();
        self.budget.spend(1 + key.len() as u64 / BYTES_A_STEP);
        let pattern = make();
        self.budget.spend(pattern.as_ref().map_or(0, Nfa::size) / STATES_A_STEP);
        self.patterns.push(pattern);
        self.known.insert(key, number);
        number
    }

    /// Returns true if a text matches a pattern; none if the pattern is not followed.
    pub(super) fn matches(&self, number: usize, text: &str) -> Option<bool> {
        self.patterns.get(number)?.as_ref().ok()?.is_in(text, &self.budget)
    }

    /// The formula of the numbered part, asserted or denied.
    pub(super) fn definition(&mut self, number: usize, holds: bool) -> Id {
        let pair = match self.definitions.get(number).copied() {
            Some(Recursive::Definition(side, name)) => {
                let schema = self.sides.get(side).and_then(|emitted| emitted.definitions.get(name));
                schema.map(|schema| self.schema(side, schema))
            }
            Some(Recursive::CasingNode(which, node)) => {
                let casing = self.casings.get(which).cloned();
                casing.map(|casing| case_collisions::of_node(self, which, &casing, node))
            }
            None => None,
        };
        pair.map_or(TRUE, |pair| if holds { pair.0 } else { pair.1 })
    }

    /// The number of a casing.
    pub(super) fn casing(&mut self, casing: &Rc<Casing>) -> usize {
        self.budget.spend(1 + self.casings.len() as u64);
        let known = self.casings.iter().position(|known| known == casing);
        known.unwrap_or_else(|| {
            self.casings.push(Rc::clone(casing));
            self.casings.len().saturating_sub(1)
        })
    }

    /// A place that leads back to itself.
    pub(super) fn casing_node(&mut self, casing: usize, node: usize) -> Pair {
        self.recursive(Recursive::CasingNode(casing, node))
    }

    fn recursive(&mut self, what: Recursive<'e>) -> Pair {
        let fresh = self.definitions.len();
        let number = *self.numbers.entry(what).or_insert(fresh);
        if number == fresh {
            self.definitions.push(what);
        }
        let holds = self.arena.add(Formula::Definition(number, true));
        let fails = self.arena.add(Formula::Definition(number, false));
        self.arena.pair(holds, fails)
    }

    fn reference(&mut self, side: usize, reference: &str) -> Pair {
        let name = reference.strip_prefix("#/$defs/").unwrap_or_default();
        let Some(sides) = self.sides.get(side) else { return (FALSE, TRUE) };
        let Some((name, _)) = sides.definitions.get_key_value(name) else { return (FALSE, TRUE) };
        let side = if self.shared.contains(name.as_str()) { 0 } else { side };
        self.recursive(Recursive::Definition(side, name))
    }

    /// A schema of one side.
    pub(super) fn schema(&mut self, side: usize, schema: &'e Value) -> Pair {
        let map = match schema {
            Value::Bool(false) => return (FALSE, TRUE),
            Value::Object(map) if !map.is_empty() => map,
            _ => return (TRUE, FALSE),
        };
        // schemas are borrowed for as long as this reader lives, so their addresses name them
        let key = (side, std::ptr::from_ref(schema) as usize);
        if let Some(known) = self.read.get(&key) {
            return *known;
        }
        if !self.budget.spend(1 + map.len() as u64) {
            return (TRUE, FALSE);
        }
        let mut parts = Vec::new();
        for (keyword, value) in map {
            self.keyword(Keyword { side, map, name: keyword, value }, &mut parts);
        }
        let pair = self.arena.all(&parts);
        if self.budget.spend(parts.len() as u64 / PARTS_A_STEP) {
            self.read.insert(key, pair);
        }
        pair
    }
}
