//! Objects: required and allowed members, and the demands on each.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::super::formula::{Atom, FALSE, Id, Scope};
use super::names::{Region, region_within, regions};
use super::{
    Alternatives, COPIED_A_STEP, Demands, NoValue, Solution, Solver, described_of, is_there, unclear,
};

/// The demands of one branch on an object.
#[derive(Default)]
struct ObjectConstraints<'a> {
    has: BTreeSet<&'a str>,
    lacks: BTreeSet<&'a str>,
    members: BTreeMap<&'a str, Vec<Id>>,
    every: Vec<(&'a Scope, Id)>,
    some: Vec<(&'a Scope, Id)>,
    names: Vec<Id>,
    some_name: Vec<Id>,
    least: u64,
    most: Option<u64>,
    /// Every name that is mentioned; only where names are chosen.
    mentioned: BTreeSet<&'a str>,
    patterns: BTreeSet<usize>,
}

impl<'a> ObjectConstraints<'a> {
    fn of(atoms: &[&'a Atom]) -> Self {
        let mut constraints = ObjectConstraints::default();
        for atom in atoms {
            match atom {
                Atom::Has(name) => drop(constraints.has.insert(name)),
                Atom::Lacks(name) => drop(constraints.lacks.insert(name)),
                Atom::Member(name, is) => constraints.members.entry(name).or_default().push(*is),
                Atom::Every(scope, is) => constraints.every.push((scope, *is)),
                Atom::SomeMember(scope, is) => constraints.some.push((scope, *is)),
                Atom::Names(is) => constraints.names.push(*is),
                Atom::SomeName(is) => constraints.some_name.push(*is),
                Atom::MinMembers(least) => constraints.least = constraints.least.max(*least),
                Atom::MaxMembers(most) => {
                    constraints.most = Some(constraints.most.map_or(*most, |known| known.min(*most)))
                }
                _ => {}
            }
        }
        for (scope, _) in constraints.every.iter().chain(&constraints.some) {
            constraints.patterns.extend(scope.within.iter().chain(&scope.patterns).copied());
        }
        constraints
    }

    /// The number of mentions of names.
    fn names(&self) -> u64 {
        let scopes = self.every.iter().chain(&self.some).map(|(scope, _)| scope.names.len()).sum::<usize>();
        (self.has.len() + self.lacks.len() + self.members.len() + scopes) as u64
    }

    /// The demands on members whose names are of a region and not mentioned.
    fn in_region(&self, region: &Region) -> impl Iterator<Item = Id> {
        self.every.iter().filter(|(scope, _)| region_within(scope, region)).map(|(_, is)| *is)
    }

    fn mention(&mut self) {
        let scopes = self.every.iter().chain(&self.some).flat_map(|(scope, _)| &scope.names);
        let named = self.has.iter().chain(&self.lacks).chain(self.members.keys()).copied();
        self.mentioned = named.chain(scopes.map(String::as_str)).collect();
    }
}

/// A required member whose name is only partly known.
#[derive(Clone, Copy)]
enum RequiredMember<'a> {
    Member(&'a Scope, Id),
    Name(Id),
}

impl Solver<'_> {
    pub(super) fn object(&mut self, atoms: &[&Atom]) -> Solution {
        self.charge(atoms.len() as u64 / COPIED_A_STEP)?;
        let mut constraints = ObjectConstraints::of(atoms);
        if constraints.has.iter().any(|name| constraints.lacks.contains(name))
            || constraints.most.is_some_and(|most| most < constraints.least)
        {
            return Err(NoValue::Nothing);
        }
        let mut demands: Demands = BTreeMap::new();
        for name in &constraints.has {
            demands.insert((*name).to_owned(), Vec::new());
            // required members come first: most branches end here
            match self.member(&constraints, name, &[]) {
                Err(NoValue::Nothing) => return Err(NoValue::Nothing),
                Err(NoValue::Unclear(why)) if self.budget.spent_out() => return Err(NoValue::Unclear(why)),
                _ => {}
            }
        }
        self.charge(constraints.names() / COPIED_A_STEP)?;
        constraints.mention();
        let wishes = constraints.some.iter().map(|(scope, is)| RequiredMember::Member(scope, *is));
        let wishes: Vec<RequiredMember<'_>> =
            wishes.chain(constraints.some_name.iter().map(|is| RequiredMember::Name(*is))).collect();
        let room = (demands.len() + wishes.len()) as u64;
        let tight = constraints.most.is_some_and(|most| most < room);
        match self.assign(&constraints, &wishes, demands) {
            // one name may have to serve two wishes, but each wish is searched alone
            Err(NoValue::Nothing) if tight && wishes.len() > 1 && !constraints.some_name.is_empty() => {
                unclear("`propertyNames` together with `maxProperties`")
            }
            found => found,
        }
    }

    /// The possible values of the member with that name; `Nothing` also if there can be no such member.
    fn member(&mut self, constraints: &ObjectConstraints<'_>, name: &str, extra: &[Id]) -> Solution {
        if constraints.lacks.contains(name) {
            return Err(NoValue::Nothing);
        }
        self.charge(1 + (constraints.names.len() + constraints.every.len()) as u64)?;
        let mut undecided = false;
        let mut is: Vec<Id> = extra.to_vec();
        for names in &constraints.names {
            match self.name_fits(*names, name) {
                Some(true) => {}
                Some(false) => return Err(NoValue::Nothing),
                None => undecided = true,
            }
        }
        is.extend(constraints.members.get(name).into_iter().flatten());
        for (scope, what) in &constraints.every {
            match self.is_within(scope, name) {
                Some(true) => is.push(*what),
                Some(false) => {}
                None => undecided = true,
            }
        }
        match self.find(&is) {
            value if undecided && is_there(&value) => unclear("a pattern of names that is not supported"),
            answer => answer,
        }
    }

    /// Gives each wish a name, in every possible combination.
    fn assign(
        &mut self,
        constraints: &ObjectConstraints<'_>,
        wishes: &[RequiredMember<'_>],
        demands: Demands,
    ) -> Solution {
        let Some((wish, rest)) = wishes.split_first() else { return self.complete(constraints, demands) };
        let copied = (constraints.mentioned.len() + demands.len()) as u64;
        self.charge(4 + copied / COPIED_A_STEP)?;
        let mut ways = Alternatives::default();
        let known: BTreeSet<&str> =
            constraints.mentioned.iter().copied().chain(demands.keys().map(String::as_str)).collect();
        for name in known.iter().copied() {
            self.charge(1)?;
            let (fits, is) = match wish {
                RequiredMember::Member(scope, is) => (self.is_within(scope, name), Some(*is)),
                RequiredMember::Name(is) => (self.name_fits(*is, name), None),
            };
            match fits {
                Some(false) => continue,
                Some(true) => {}
                None => {
                    ways.take(unclear("a pattern of names that is not supported"));
                    continue;
                }
            }
            self.budget.spend(demands.len() as u64);
            let mut demands = demands.clone();
            demands.entry(name.to_owned()).or_default().extend(is);
            let extra = demands.get(name).cloned().unwrap_or_default();
            if ways.admit(self.member(constraints, name, &extra))
                && let Some(value) = ways.take(self.assign(constraints, rest, demands))
            {
                return Ok(value);
            }
        }
        let fresh = self.assign_fresh(constraints, *wish, rest, &demands, &known);
        ways.take(fresh).map_or_else(|| ways.end(), Ok)
    }

    /// The same with a name that nothing mentions.
    fn assign_fresh(
        &mut self,
        constraints: &ObjectConstraints<'_>,
        wish: RequiredMember<'_>,
        rest: &[RequiredMember<'_>],
        demands: &Demands,
        known: &BTreeSet<&str>,
    ) -> Solution {
        let mut ways = Alternatives::default();
        let Some(regions) = regions(&constraints.patterns) else {
            return unclear("many patterns of names");
        };
        for region in regions {
            let copied = (constraints.every.len() + demands.len()) as u64;
            self.charge(1 + copied / COPIED_A_STEP)?;
            let mut is: Vec<Id> = Vec::new();
            let mut names = constraints.names.clone();
            match wish {
                RequiredMember::Member(scope, what) if region_within(scope, &region) => is.push(what),
                RequiredMember::Member(..) => continue,
                RequiredMember::Name(what) => names.push(what),
            }
            is.extend(constraints.in_region(&region));
            if is.contains(&FALSE) {
                continue;
            }
            let value = self.find(&is);
            if !ways.admit(value.clone()) {
                continue;
            }
            let name = match self.fresh_name(&region, &names, known) {
                Ok(name) => name,
                none => {
                    ways.take(none);
                    continue;
                }
            };
            let Some(name) = name.as_str() else { continue };
            let mut demands = demands.clone();
            demands.insert(name.to_owned(), is);
            if let Some(value) = ways.take(self.assign(constraints, rest, demands)) {
                return Ok(value);
            }
        }
        ways.end()
    }

    /// All required members have a name; the number of members remains.
    fn complete(&mut self, constraints: &ObjectConstraints<'_>, demands: Demands) -> Solution {
        if constraints.most.is_some_and(|most| demands.len() as u64 > most) {
            return Err(NoValue::Nothing);
        }
        let mut members = Members::new(self.limits.max_values);
        let mut ways = Alternatives::default();
        for (name, extra) in &demands {
            match self.member(constraints, name, extra) {
                Err(NoValue::Nothing) => return Err(NoValue::Nothing),
                Err(NoValue::Unclear(why)) => drop(ways.take(Err(NoValue::Unclear(why)))),
                found => {
                    members.add(self, name, &found)?;
                }
            }
        }
        if let Err(NoValue::Unclear(why)) = ways.end() {
            return Err(NoValue::Unclear(why));
        }
        if constraints.least > self.limits.max_size {
            return self.many(constraints);
        }
        self.fill(constraints, members)
    }

    /// An object of more members than a witness may have, where names are free: it is described.
    fn many(&mut self, constraints: &ObjectConstraints<'_>) -> Solution {
        let unclear = || unclear("more members than a witness may have");
        if !constraints.names.is_empty() || !constraints.patterns.is_empty() {
            return unclear();
        }
        let others: Vec<Id> = constraints.every.iter().map(|(_, is)| *is).collect();
        if is_there(&self.find(&others)) {
            described_of(constraints.least, |least| format!("an object of {least} members"))
        } else {
            unclear()
        }
    }

    /// Adds members until there are enough.
    fn fill(&mut self, constraints: &ObjectConstraints<'_>, mut members: Members) -> Solution {
        let mut ways = Alternatives::default();
        for name in constraints.mentioned.iter().copied() {
            if members.count() >= constraints.least {
                break;
            }
            if !members.object.contains_key(name) {
                match self.member(constraints, name, &[]) {
                    found if is_there(&found) => {
                        members.add(self, name, &found)?;
                    }
                    other => drop(ways.take(other)),
                }
            }
        }
        if members.count() < constraints.least {
            let Some(regions) = regions(&constraints.patterns) else {
                return unclear("many patterns of names");
            };
            for region in regions {
                let is: Vec<Id> = constraints.in_region(&region).collect();
                let value = self.find(&is);
                if !ways.admit(value.clone()) {
                    continue;
                }
                while members.count() < constraints.least {
                    let copied = constraints.mentioned.len() as u64 + members.count();
                    self.charge(4 + copied / COPIED_A_STEP)?;
                    let names = members.object.keys().map(String::as_str);
                    let known: BTreeSet<&str> = constraints.mentioned.iter().copied().chain(names).collect();
                    match self.fresh_name(&region, &constraints.names, &known) {
                        Ok(name) => {
                            let Some(name) = name.as_str() else { break };
                            members.add(self, name, &value)?;
                        }
                        other => {
                            ways.take(other);
                            break;
                        }
                    }
                }
            }
        }
        if members.count() >= constraints.least { members.end() } else { ways.end() }
    }
}

/// The members of a witness, as far as they can be written.
struct Members {
    object: Map<String, Value>,
    room: u64,
    /// The first that is too large to be written; it stands in the object as null.
    large: Option<NoValue>,
}

impl Members {
    fn new(room: u64) -> Self {
        Members { object: Map::new(), room, large: None }
    }

    fn count(&self) -> u64 {
        self.object.len() as u64
    }

    /// Adds a member that is there; returns the bound that stopped it as an error.
    fn add(&mut self, solver: &Solver<'_>, name: &str, solution: &Solution) -> Result<(), NoValue> {
        let copy = match solution {
            Ok(value) => solver.copied(value, &mut self.room),
            Err(NoValue::Described(what)) => Err(what.inside(name)),
            Err(other) => Err(other.clone()),
        };
        let value = match copy {
            Ok(value) => value,
            Err(large @ NoValue::Described(_)) => {
                self.large.get_or_insert(large);
                Value::Null
            }
            Err(other) => return Err(other),
        };
        self.object.insert(name.to_owned(), value);
        Ok(())
    }

    fn end(self) -> Solution {
        self.large.map_or_else(|| Ok(Rc::new(Value::Object(self.object))), Err)
    }
}
