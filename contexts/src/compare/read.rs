//! Translates compiled schemas (objects closed, references emitted) to formulas, both asserted and denied.

mod enumerations;
mod shared_definitions;
mod unevaluated;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::automata::Pattern;
use super::budget::Budget;
use super::case_collisions;
use super::decimal::Decimal;
use super::formula::{Arena, Atom, Bound, FALSE, Formula, Id, Scalar, Scope, TRUE};
use crate::json;
use crate::schema::{Casing, FORMATS, types};

/// The most branches of a `oneOf` that are compared in pairs: five hundred formulas at most.
const MOST_PAIRED: usize = 32;

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

/// A formula and its denial.
pub(super) type Pair = (Id, Id);

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
        self.add_pattern(format!("s{pattern}"), || Pattern::of_schema(pattern, most))
    }

    /// The number of a pattern of ours.
    pub(super) fn own_pattern(&mut self, pattern: &str) -> usize {
        let most = self.max_pattern_states;
        self.add_pattern(format!("o{pattern}"), || Pattern::of(pattern, most))
    }

    fn add_pattern(&mut self, key: String, make: impl FnOnce() -> Pattern) -> usize {
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let number = self.patterns.len();
        self.budget.spend(1 + key.len() as u64 / BYTES_A_STEP);
        let pattern = make();
        self.budget.spend(pattern.states() / STATES_A_STEP);
        self.patterns.push(pattern);
        self.known.insert(key, number);
        number
    }

    /// Returns true if a text matches a pattern; none if the pattern is not followed.
    pub(super) fn matches(&self, number: usize, text: &str) -> Option<bool> {
        self.patterns.get(number)?.is_in(text, &self.budget)
    }

    /// The formula of the numbered part, asserted or denied.
    pub(super) fn definition(&mut self, number: usize, holds: bool) -> Id {
        let pair = match self.definitions.get(number) {
            Some(Recursive::Definition(side, name)) => {
                let side = *side;
                let schema = self.sides.get(side).and_then(|emitted| emitted.definitions.get(*name));
                schema.map(|schema| self.schema(side, schema))
            }
            Some(Recursive::CasingNode(which, place)) => {
                let (which, node) = (*which, *place);
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
            self.keyword(side, map, keyword, value, &mut parts);
        }
        let holds = self.arena.and(parts.iter().map(|part| part.0));
        let fails = self.arena.or(parts.iter().map(|part| part.1));
        let pair = if parts.len() == 1 { (holds, fails) } else { self.arena.pair(holds, fails) };
        if self.budget.spend(parts.len() as u64 / PARTS_A_STEP) {
            self.read.insert(key, pair);
        }
        pair
    }

    fn keyword(
        &mut self,
        side: usize,
        map: &'e Map<String, Value>,
        keyword: &str,
        value: &'e Value,
        parts: &mut Vec<Pair>,
    ) {
        match keyword {
            "type" => {
                let mask = types::keyword(value);
                parts.push(self.arena.atoms(Atom::Types(mask), Atom::Types(types::ALL & !mask)));
            }
            "enum" => {
                let values: Vec<&Value> = value.as_array().into_iter().flatten().collect();
                parts.push(self.one_of(&values));
            }
            "const" => parts.push(self.one_of(&[value])),
            "$ref" => parts.push(self.reference(side, value.as_str().unwrap_or_default())),
            "not" => {
                let (holds, fails) = self.schema(side, value);
                parts.push((fails, holds));
            }
            "allOf" => {
                for part in value.as_array().into_iter().flatten() {
                    parts.push(self.schema(side, part));
                }
            }
            "anyOf" => {
                let branches = self.list(side, value);
                let holds = self.arena.or(branches.iter().map(|branch| branch.0));
                let fails = self.arena.and(branches.iter().map(|branch| branch.1));
                parts.push(self.arena.pair(holds, fails));
            }
            "oneOf" => {
                let branches = self.list(side, value);
                parts.push(self.exactly_one(&branches));
            }
            "if" => parts.push(self.condition(side, map, value)),
            _ => self.assertion(side, map, keyword, value, parts),
        }
    }

    fn assertion(
        &mut self,
        side: usize,
        map: &'e Map<String, Value>,
        keyword: &str,
        value: &'e Value,
        parts: &mut Vec<Pair>,
    ) {
        let count = || value.as_u64().unwrap_or_default();
        let bound = || Bound::new(value.as_f64().unwrap_or_default());
        let pair = match keyword {
            "minimum" => (Atom::Least(bound(), false), Atom::Most(bound(), true)),
            "exclusiveMinimum" => (Atom::Least(bound(), true), Atom::Most(bound(), false)),
            "maximum" => (Atom::Most(bound(), false), Atom::Least(bound(), true)),
            "exclusiveMaximum" => (Atom::Most(bound(), true), Atom::Least(bound(), false)),
            "multipleOf" => match Decimal::of(value) {
                Some(step) => (Atom::Multiple(step), Atom::NotMultiple(step)),
                None => return,
            },
            // a longer string fits in no message
            "maxLength" if count() >= json::Limits::default().max_string_bytes as u64 => return,
            // no value has so many
            "maxLength" | "maxItems" | "maxProperties" if count() == u64::MAX => return,
            "minLength" if count() == 0 => return,
            "minLength" => (Atom::MinLength(count()), Atom::MaxLength(count() - 1)),
            "maxLength" => (Atom::MaxLength(count()), Atom::MinLength(count().saturating_add(1))),
            "pattern" => {
                let number = self.pattern(value.as_str().unwrap_or_default());
                (Atom::Pattern(number, true), Atom::Pattern(number, false))
            }
            "format" => match FORMATS.iter().position(|format| value == format) {
                Some(number) => (Atom::Format(number, true), Atom::Format(number, false)),
                None => return,
            },
            "x-free-text" => (Atom::Plain(true), Atom::Plain(false)),
            "x-code-list" => {
                parts.push(self.code_list(side, value.as_str().unwrap_or_default()));
                return;
            }
            "minItems" if count() == 0 => return,
            "minItems" => (Atom::MinItems(count()), Atom::MaxItems(count() - 1)),
            "maxItems" => (Atom::MaxItems(count()), Atom::MinItems(count().saturating_add(1))),
            "uniqueItems" if value == &Value::Bool(true) => (Atom::Unique(true), Atom::Unique(false)),
            "minProperties" if count() == 0 => return,
            "minProperties" => (Atom::MinMembers(count()), Atom::MaxMembers(count() - 1)),
            "maxProperties" => (Atom::MaxMembers(count()), Atom::MinMembers(count().saturating_add(1))),
            _ => return self.applicator(side, map, keyword, value, parts),
        };
        parts.push(self.arena.atoms(pair.0, pair.1));
    }

    fn applicator(
        &mut self,
        side: usize,
        map: &'e Map<String, Value>,
        keyword: &str,
        value: &'e Value,
        parts: &mut Vec<Pair>,
    ) {
        match keyword {
            "prefixItems" => {
                for (index, schema) in value.as_array().into_iter().flatten().enumerate() {
                    let (holds, fails) = self.schema(side, schema);
                    let at = index as u64;
                    parts.push(self.arena.atoms(Atom::Item(at, holds), Atom::HasItem(at, fails)));
                }
            }
            "items" => {
                let (holds, fails) = self.schema(side, value);
                let from = map.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len) as u64;
                parts.push(self.arena.atoms(Atom::Items(from, holds), Atom::SomeItem(from, fails)));
            }
            "contains" => self.contains(side, map, value, parts),
            "required" => {
                for name in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    let (has, lacks) = (Atom::Has(name.to_owned()), Atom::Lacks(name.to_owned()));
                    parts.push(self.arena.atoms(has, lacks));
                }
            }
            "properties" => {
                for (name, schema) in value.as_object().into_iter().flatten() {
                    let (holds, fails) = self.schema(side, schema);
                    parts.push(self.member(name, holds, fails));
                }
            }
            "patternProperties" => {
                for (pattern, schema) in value.as_object().into_iter().flatten() {
                    let scope = Scope { within: Some(self.pattern(pattern)), ..Scope::default() };
                    let (holds, fails) = self.schema(side, schema);
                    parts.push(
                        self.arena.atoms(Atom::Every(scope.clone(), holds), Atom::SomeMember(scope, fails)),
                    );
                }
            }
            "additionalProperties" => {
                let scope = self.others(map);
                let (holds, fails) = self.schema(side, value);
                parts.push(
                    self.arena.atoms(Atom::Every(scope.clone(), holds), Atom::SomeMember(scope, fails)),
                );
            }
            "propertyNames" => {
                let (holds, fails) = self.schema(side, value);
                parts.push(self.arena.atoms(Atom::Names(holds), Atom::SomeName(fails)));
            }
            "dependentRequired" => {
                for (name, others) in value.as_object().into_iter().flatten() {
                    let others = others.as_array().into_iter().flatten().filter_map(Value::as_str);
                    let others: Vec<Pair> = others
                        .map(|other| {
                            self.arena.atoms(Atom::Has(other.to_owned()), Atom::Lacks(other.to_owned()))
                        })
                        .collect();
                    let all = self.arena.and(others.iter().map(|other| other.0));
                    let some_not = self.arena.or(others.iter().map(|other| other.1));
                    parts.push(self.depends(name, all, some_not));
                }
            }
            "dependentSchemas" => {
                for (name, schema) in value.as_object().into_iter().flatten() {
                    let (holds, fails) = self.schema(side, schema);
                    parts.push(self.depends(name, holds, fails));
                }
            }
            "unevaluatedProperties" => {
                let (holds, fails) = self.schema(side, value);
                let vouched = Rc::new(self.vouched(side, map, true));
                let all = self.arena.add(Formula::Unevaluated(Rc::clone(&vouched), holds, true));
                let some = self.arena.add(Formula::Unevaluated(vouched, fails, false));
                parts.push(self.arena.pair(all, some));
            }
            _ => {}
        }
    }

    fn list(&mut self, side: usize, value: &'e Value) -> Vec<Pair> {
        value.as_array().into_iter().flatten().map(|branch| self.schema(side, branch)).collect()
    }

    /// A code list constrains strings only.
    fn code_list(&mut self, side: usize, name: &str) -> Pair {
        let codes = match self.codes.get(&(side, name.to_owned())) {
            Some(codes) => Rc::clone(codes),
            None => {
                let list = self.sides.get(side).and_then(|emitted| emitted.codes.get(name));
                self.budget.spend(list.map_or(0, |list| list.len() as u64));
                let codes: BTreeSet<Scalar> = list.into_iter().flatten().cloned().map(Scalar::Text).collect();
                let codes = Rc::new(codes);
                self.codes.insert((side, name.to_owned()), Rc::clone(&codes));
                codes
            }
        };
        let (string, other) = (Atom::Types(types::STRING), Atom::Types(types::ALL & !types::STRING));
        let (string, other) = self.arena.atoms(string, other);
        let listed = self.arena.add(Formula::Atom(Atom::In(Rc::clone(&codes)), true));
        let not = self.arena.add(Formula::Atom(Atom::NotIn(codes), false));
        self.arena.pair(listed, not);
        let holds = self.arena.or([other, listed]);
        let fails = self.arena.and([string, not]);
        self.arena.pair(holds, fails)
    }

    pub(super) fn member(&mut self, name: &str, holds: Id, fails: Id) -> Pair {
        let says = self.arena.add(Formula::Atom(Atom::Member(name.to_owned(), holds), true));
        let has = self.arena.add(Formula::Atom(Atom::Has(name.to_owned()), false));
        let denies = self.arena.add(Formula::Atom(Atom::Member(name.to_owned(), fails), false));
        let denied = self.arena.and([has, denies]);
        self.arena.pair(says, denied)
    }

    /// The demand that something holds if the member `name` is present.
    fn depends(&mut self, name: &str, holds: Id, fails: Id) -> Pair {
        let lacks = self.arena.add(Formula::Atom(Atom::Lacks(name.to_owned()), true));
        let has = self.arena.add(Formula::Atom(Atom::Has(name.to_owned()), false));
        let says = self.arena.or([lacks, holds]);
        let denies = self.arena.and([has, fails]);
        self.arena.pair(says, denies)
    }

    /// Exactly one of them. Few branches are compared in pairs, so that a branch ends early. Many branches are compared with
    /// all before and all after each, so that the formulas grow linearly.
    fn exactly_one(&mut self, branches: &[Pair]) -> Pair {
        if branches.len() > MOST_PAIRED {
            return self.exactly_one_of_many(branches);
        }
        let mut ways = Vec::new();
        let mut two = Vec::new();
        self.budget.spend((branches.len() * branches.len()) as u64 / PARTS_A_STEP);
        for (index, branch) in branches.iter().enumerate() {
            let others = branches.iter().enumerate().filter(|(other, _)| *other != index);
            let alone = others.map(|(_, other)| other.1).chain([branch.0]).collect::<Vec<_>>();
            ways.push(self.arena.and(alone));
            for later in branches.iter().skip(index + 1) {
                two.push(self.arena.and([branch.0, later.0]));
            }
        }
        two.push(self.arena.and(branches.iter().map(|branch| branch.1)));
        let (holds, fails) = (self.arena.or(ways), self.arena.or(two));
        self.arena.pair(holds, fails)
    }

    fn exactly_one_of_many(&mut self, branches: &[Pair]) -> Pair {
        // for each: none after it, and some after it
        let (mut none, mut some) = (TRUE, FALSE);
        let mut after = Vec::with_capacity(branches.len());
        for branch in branches.iter().rev() {
            after.push((none, some));
            none = self.arena.and([branch.1, none]);
            some = self.arena.or([branch.0, some]);
        }
        let nothing = none;
        let (mut before, mut ways, mut two) = (TRUE, Vec::new(), vec![nothing]);
        for (branch, (none, some)) in branches.iter().zip(after.into_iter().rev()) {
            ways.push(self.arena.and([before, branch.0, none]));
            two.push(self.arena.and([branch.0, some]));
            before = self.arena.and([before, branch.1]);
        }
        let (holds, fails) = (self.arena.or(ways), self.arena.or(two));
        self.arena.pair(holds, fails)
    }

    fn condition(&mut self, side: usize, map: &'e Map<String, Value>, condition: &'e Value) -> Pair {
        let (holds, fails) = self.schema(side, condition);
        let then = map.get("then").map_or((TRUE, FALSE), |schema| self.schema(side, schema));
        let otherwise = map.get("else").map_or((TRUE, FALSE), |schema| self.schema(side, schema));
        let first = self.arena.and([holds, then.0]);
        let second = self.arena.and([fails, otherwise.0]);
        let not_first = self.arena.and([holds, then.1]);
        let not_second = self.arena.and([fails, otherwise.1]);
        let (says, denies) = (self.arena.or([first, second]), self.arena.or([not_first, not_second]));
        self.arena.pair(says, denies)
    }

    fn contains(
        &mut self,
        side: usize,
        map: &'e Map<String, Value>,
        value: &'e Value,
        parts: &mut Vec<Pair>,
    ) {
        let (holds, fails) = self.schema(side, value);
        let least = map.get("minContains").and_then(Value::as_u64).unwrap_or(1);
        if let Some(below) = least.checked_sub(1) {
            parts.push(self.arena.atoms(Atom::AtLeast(least, holds), Atom::AtMost(below, holds, fails)));
        }
        if let Some(most) = map.get("maxContains").and_then(Value::as_u64) {
            let above = Atom::AtLeast(most.saturating_add(1), holds);
            parts.push(self.arena.atoms(Atom::AtMost(most, holds, fails), above));
        }
    }

    /// The members that neither `properties` nor `patternProperties` beside it name.
    fn others(&mut self, map: &Map<String, Value>) -> Scope {
        let names = |keyword: &str| map.get(keyword).and_then(Value::as_object).into_iter().flatten();
        self.budget.spend(names("properties").count() as u64);
        Scope {
            within: None,
            names: names("properties").map(|(name, _)| name.clone()).collect(),
            patterns: names("patternProperties").map(|(pattern, _)| self.pattern(pattern)).collect(),
        }
    }
}

/// A value of `enum` or `const` that is no array and no object.
fn scalar(value: &Value) -> Option<Scalar> {
    Some(match value {
        Value::Null => Scalar::Null,
        Value::Bool(value) => Scalar::Bool(*value),
        Value::Number(number) => Scalar::Number(Bound::new(number.as_f64()?)),
        Value::String(text) => Scalar::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => return None,
    })
}
