//! The demand of each keyword.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::super::formula::{Atom, Bound, FALSE, Formula, Id, Pair, Scalar, Scope, TRUE};
use super::{PARTS_A_STEP, Reader};
use crate::json::{self, Decimal};
use crate::schema::{FORMATS, types};

/// The most branches of a `oneOf` that are compared in pairs: five hundred formulas at most.
const MOST_PAIRED: usize = 32;

/// A keyword of a schema of one side.
#[derive(Clone, Copy)]
pub(super) struct Keyword<'e> {
    pub(super) side: usize,
    /// The schema around it.
    pub(super) map: &'e Map<String, Value>,
    pub(super) name: &'e str,
    pub(super) value: &'e Value,
}

impl<'e> Keyword<'e> {
    fn list(&self) -> impl Iterator<Item = &'e Value> + use<'e> {
        self.value.as_array().into_iter().flatten()
    }

    fn named(&self) -> impl Iterator<Item = (&'e String, &'e Value)> + use<'e> {
        self.value.as_object().into_iter().flatten()
    }

    fn text(&self) -> &'e str {
        self.value.as_str().unwrap_or_default()
    }
}

impl<'e> Reader<'e> {
    /// Adds the demands of one keyword.
    pub(super) fn keyword(&mut self, at: Keyword<'e>, parts: &mut Vec<Pair>) {
        let pair = match at.name {
            "type" => self.arena.types(types::keyword(at.value)),
            "enum" => self.one_of(&at.list().collect::<Vec<_>>()),
            "const" => self.one_of(&[at.value]),
            "$ref" => self.reference(at.side, at.text()),
            "not" => {
                let (holds, fails) = self.schema(at.side, at.value);
                (fails, holds)
            }
            "allOf" => return parts.extend(self.branches(at)),
            "anyOf" => {
                let branches = self.branches(at);
                self.arena.any(&branches)
            }
            "oneOf" => {
                let branches = self.branches(at);
                self.exactly_one(&branches)
            }
            "if" => self.condition(at),
            "x-code-list" => self.code_list(at.side, at.text()),
            "contains" => return self.contains(at, parts),
            "prefixItems" | "items" => return self.items(at, parts),
            "required"
            | "properties"
            | "patternProperties"
            | "additionalProperties"
            | "propertyNames"
            | "dependentRequired"
            | "dependentSchemas"
            | "unevaluatedProperties" => return self.members(at, parts),
            _ => match self.assertion(at) {
                Some((holds, fails)) => self.arena.atoms(holds, fails),
                None => return,
            },
        };
        parts.push(pair);
    }

    /// The atom of a keyword that alone judges a value, and its opposite; none if it demands nothing.
    fn assertion(&mut self, at: Keyword<'e>) -> Option<(Atom, Atom)> {
        let value = at.value;
        let count = || value.as_u64().unwrap_or_default();
        let bound = || Bound::new(value.as_f64().unwrap_or_default());
        Some(match at.name {
            "minimum" => (Atom::Least(bound(), false), Atom::Most(bound(), true)),
            "exclusiveMinimum" => (Atom::Least(bound(), true), Atom::Most(bound(), false)),
            "maximum" => (Atom::Most(bound(), false), Atom::Least(bound(), true)),
            "exclusiveMaximum" => (Atom::Most(bound(), true), Atom::Least(bound(), false)),
            "multipleOf" => {
                let step = Decimal::of(value)?;
                (Atom::Multiple(step), Atom::NotMultiple(step))
            }
            // a longer string fits in no message
            "maxLength" if count() >= json::Limits::default().max_string_bytes as u64 => return None,
            // no value has so many
            "maxLength" | "maxItems" | "maxProperties" if count() == u64::MAX => return None,
            "minLength" | "minItems" | "minProperties" if count() == 0 => return None,
            "minLength" => (Atom::MinLength(count()), Atom::MaxLength(count() - 1)),
            "maxLength" => (Atom::MaxLength(count()), Atom::MinLength(count() + 1)),
            "minItems" => (Atom::MinItems(count()), Atom::MaxItems(count() - 1)),
            "maxItems" => (Atom::MaxItems(count()), Atom::MinItems(count() + 1)),
            "minProperties" => (Atom::MinMembers(count()), Atom::MaxMembers(count() - 1)),
            "maxProperties" => (Atom::MaxMembers(count()), Atom::MinMembers(count() + 1)),
            "pattern" => {
                let number = self.pattern(at.text());
                (Atom::Pattern(number, true), Atom::Pattern(number, false))
            }
            "format" => {
                let number = FORMATS.iter().position(|format| value == format)?;
                (Atom::Format(number, true), Atom::Format(number, false))
            }
            "x-free-text" => (Atom::Plain(true), Atom::Plain(false)),
            "uniqueItems" if value == &Value::Bool(true) => (Atom::Unique(true), Atom::Unique(false)),
            _ => return None,
        })
    }

    fn items(&mut self, at: Keyword<'e>, parts: &mut Vec<Pair>) {
        if at.name == "prefixItems" {
            for (index, schema) in at.list().enumerate() {
                let item = self.schema(at.side, schema);
                parts.push(self.arena.item(index, item));
            }
        } else {
            let items = self.schema(at.side, at.value);
            let from = at.map.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
            parts.push(self.arena.items(from, items));
        }
    }

    fn contains(&mut self, at: Keyword<'e>, parts: &mut Vec<Pair>) {
        let (holds, fails) = self.schema(at.side, at.value);
        let least = at.map.get("minContains").and_then(Value::as_u64).unwrap_or(1);
        if let Some(below) = least.checked_sub(1) {
            parts.push(self.arena.atoms(Atom::AtLeast(least, holds), Atom::AtMost(below, holds, fails)));
        }
        if let Some(most) = at.map.get("maxContains").and_then(Value::as_u64) {
            let above = Atom::AtLeast(most.saturating_add(1), holds);
            parts.push(self.arena.atoms(Atom::AtMost(most, holds, fails), above));
        }
    }

    fn members(&mut self, at: Keyword<'e>, parts: &mut Vec<Pair>) {
        match at.name {
            "required" => {
                parts.extend(at.list().filter_map(Value::as_str).map(|name| self.arena.has(name)));
            }
            "properties" => {
                for (name, schema) in at.named() {
                    let member = self.schema(at.side, schema);
                    parts.push(self.arena.member(name, member));
                }
            }
            "patternProperties" => {
                for (pattern, schema) in at.named() {
                    let scope = Scope { within: Some(self.pattern(pattern)), ..Scope::default() };
                    let members = self.schema(at.side, schema);
                    parts.push(self.arena.every(scope, members));
                }
            }
            "dependentRequired" => {
                for (name, others) in at.named() {
                    let others = others.as_array().into_iter().flatten().filter_map(Value::as_str);
                    let others: Vec<Pair> = others.map(|other| self.arena.has(other)).collect();
                    let all = self.arena.all(&others);
                    parts.push(self.depends(name, all));
                }
            }
            "dependentSchemas" => {
                for (name, schema) in at.named() {
                    let whole = self.schema(at.side, schema);
                    parts.push(self.depends(name, whole));
                }
            }
            "additionalProperties" => {
                let scope = self.others(at.map);
                let members = self.schema(at.side, at.value);
                parts.push(self.arena.every(scope, members));
            }
            "propertyNames" => {
                let (holds, fails) = self.schema(at.side, at.value);
                parts.push(self.arena.atoms(Atom::Names(holds), Atom::SomeName(fails)));
            }
            _ => {
                let (holds, fails) = self.schema(at.side, at.value);
                let vouched = Rc::new(self.vouched(at.side, at.map, true));
                let all = self.arena.add(Formula::Unevaluated(Rc::clone(&vouched), holds, true));
                let some = self.arena.add(Formula::Unevaluated(vouched, fails, false));
                parts.push(self.arena.pair(all, some));
            }
        }
    }

    fn branches(&mut self, at: Keyword<'e>) -> Vec<Pair> {
        at.list().map(|branch| self.schema(at.side, branch)).collect()
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
        let (string, other) = self.arena.types(types::STRING);
        let listed = self.arena.one_of(codes);
        self.arena.any(&[(other, string), listed])
    }

    /// The demand that something holds if the member `name` is present.
    fn depends(&mut self, name: &str, demand: Pair) -> Pair {
        let lacks = self.arena.add(Formula::Atom(Atom::Lacks(name.to_owned()), true));
        let has = self.arena.add(Formula::Atom(Atom::Has(name.to_owned()), false));
        self.arena.any(&[(lacks, has), demand])
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

    fn condition(&mut self, at: Keyword<'e>) -> Pair {
        let (holds, fails) = self.schema(at.side, at.value);
        let mut branch = |keyword| at.map.get(keyword).map_or((TRUE, FALSE), |one| self.schema(at.side, one));
        let (then, otherwise) = (branch("then"), branch("else"));
        let mut either = |then: Id, otherwise: Id| {
            let parts = [self.arena.and([holds, then]), self.arena.and([fails, otherwise])];
            self.arena.or(parts)
        };
        let (says, denies) = (either(then.0, otherwise.0), either(then.1, otherwise.1));
        self.arena.pair(says, denies)
    }

    /// The members that neither `properties` nor `patternProperties` beside it name.
    pub(super) fn others(&mut self, map: &Map<String, Value>) -> Scope {
        let names = |keyword: &str| map.get(keyword).and_then(Value::as_object).into_iter().flatten();
        self.budget.spend(names("properties").count() as u64);
        Scope {
            within: None,
            names: names("properties").map(|(name, _)| name.clone()).collect(),
            patterns: names("patternProperties").map(|(pattern, _)| self.pattern(pattern)).collect(),
        }
    }
}
