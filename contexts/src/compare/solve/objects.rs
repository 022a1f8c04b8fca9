//! Objects: required and allowed members, and the demands on each.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::super::formula::{Atom, FALSE, Id, Scope};
use super::names::text;
use super::{COPIED_A_STEP, Demands, Found, Solver, Ways};

/// The demands of one branch on an object.
#[derive(Default)]
struct Asked<'a> {
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

impl<'a> Asked<'a> {
    fn of(atoms: &[&'a Atom]) -> Self {
        let mut asked = Asked::default();
        for atom in atoms {
            match atom {
                Atom::Has(name) => drop(asked.has.insert(name)),
                Atom::Lacks(name) => drop(asked.lacks.insert(name)),
                Atom::Member(name, is) => asked.members.entry(name).or_default().push(*is),
                Atom::Every(scope, is) => asked.every.push((scope, *is)),
                Atom::SomeMember(scope, is) => asked.some.push((scope, *is)),
                Atom::Names(is) => asked.names.push(*is),
                Atom::SomeName(is) => asked.some_name.push(*is),
                Atom::MinMembers(least) => asked.least = asked.least.max(*least),
                Atom::MaxMembers(most) => {
                    asked.most = Some(asked.most.map_or(*most, |known| known.min(*most)))
                }
                _ => {}
            }
        }
        for (scope, _) in asked.every.iter().chain(&asked.some) {
            asked.patterns.extend(scope.within.iter().chain(&scope.patterns).copied());
        }
        asked
    }

    /// The number of mentions of names.
    fn names(&self) -> u64 {
        let scopes = self.every.iter().chain(&self.some).map(|(scope, _)| scope.names.len()).sum::<usize>();
        (self.has.len() + self.lacks.len() + self.members.len() + scopes) as u64
    }

    fn mention(&mut self) {
        let scopes = self.every.iter().chain(&self.some).flat_map(|(scope, _)| &scope.names);
        let named = self.has.iter().chain(&self.lacks).chain(self.members.keys()).copied();
        self.mentioned = named.chain(scopes.map(String::as_str)).collect();
    }
}

/// A required member whose name is only partly known.
#[derive(Clone, Copy)]
enum Wish<'a> {
    Member(&'a Scope, Id),
    Name(Id),
}

impl Solver<'_> {
    pub(super) fn object(&mut self, atoms: &[&Atom]) -> Found {
        if let Err(spent) = self.charge(atoms.len() as u64 / COPIED_A_STEP) {
            return spent;
        }
        let mut asked = Asked::of(atoms);
        if asked.has.iter().any(|name| asked.lacks.contains(name))
            || asked.most.is_some_and(|most| most < asked.least)
        {
            return Found::Nothing;
        }
        let mut demands: Demands = BTreeMap::new();
        for name in &asked.has {
            demands.insert((*name).to_owned(), Vec::new());
            // required members come first: most branches end here
            match self.member(&asked, name, &[]) {
                Found::Nothing => return Found::Nothing,
                Found::Unclear(why) if self.budget.spent_out() => return Found::Unclear(why),
                _ => {}
            }
        }
        if let Err(spent) = self.charge(asked.names() / COPIED_A_STEP) {
            return spent;
        }
        asked.mention();
        let wishes = asked.some.iter().map(|(scope, is)| Wish::Member(scope, *is));
        let wishes: Vec<Wish<'_>> = wishes.chain(asked.some_name.iter().map(|is| Wish::Name(*is))).collect();
        let room = (demands.len() + wishes.len()) as u64;
        let tight = asked.most.is_some_and(|most| most < room);
        match self.place(&asked, &wishes, demands) {
            // one name may have to serve two wishes, but each wish is searched alone
            Found::Nothing if tight && wishes.len() > 1 && !asked.some_name.is_empty() => {
                Found::Unclear("`propertyNames` beside `maxProperties`".into())
            }
            found => found,
        }
    }

    /// The possible values of the member with that name; `Nothing` also if there can be no such member.
    fn member(&mut self, asked: &Asked<'_>, name: &str, extra: &[Id]) -> Found {
        if asked.lacks.contains(name) {
            return Found::Nothing;
        }
        if let Err(spent) = self.charge(1 + (asked.names.len() + asked.every.len()) as u64) {
            return spent;
        }
        let mut unclear = false;
        let mut is: Vec<Id> = extra.to_vec();
        for names in &asked.names {
            match self.name_fits(*names, name) {
                Some(true) => {}
                Some(false) => return Found::Nothing,
                None => unclear = true,
            }
        }
        is.extend(asked.members.get(name).into_iter().flatten());
        for (scope, what) in &asked.every {
            match self.is_within(scope, name) {
                Some(true) => is.push(*what),
                Some(false) => {}
                None => unclear = true,
            }
        }
        match self.find(&is) {
            found if unclear && found.is_there() => {
                Found::Unclear("a pattern of names that is not followed".into())
            }
            found => found,
        }
    }

    /// Gives each wish a name, in every possible combination.
    fn place(&mut self, asked: &Asked<'_>, wishes: &[Wish<'_>], demands: Demands) -> Found {
        let Some((wish, rest)) = wishes.split_first() else { return self.complete(asked, demands) };
        let copied = (asked.mentioned.len() + demands.len()) as u64;
        if let Err(spent) = self.charge(4 + copied / COPIED_A_STEP) {
            return spent;
        }
        let mut ways = Ways::default();
        let known: BTreeSet<&str> =
            asked.mentioned.iter().copied().chain(demands.keys().map(String::as_str)).collect();
        for name in known.iter().copied() {
            if let Err(spent) = self.charge(1) {
                return spent;
            }
            let (fits, is) = match wish {
                Wish::Member(scope, is) => (self.is_within(scope, name), Some(*is)),
                Wish::Name(is) => (self.name_fits(*is, name), None),
            };
            match fits {
                Some(false) => continue,
                Some(true) => {}
                None => {
                    ways.take(Found::Unclear("a pattern of names that is not followed".into()));
                    continue;
                }
            }
            self.budget.spend(demands.len() as u64);
            let mut demands = demands.clone();
            demands.entry(name.to_owned()).or_default().extend(is);
            let extra = demands.get(name).cloned().unwrap_or_default();
            match self.member(asked, name, &extra) {
                Found::Value(_) | Found::Described(_) => {
                    let found = self.place(asked, rest, demands);
                    if let Some(found) = ways.take(found) {
                        return found;
                    }
                }
                other => drop(ways.take(other)),
            }
        }
        let found = self.place_fresh(asked, *wish, rest, &demands, &known);
        match ways.take(found) {
            Some(found) => found,
            None => ways.end(),
        }
    }

    /// The same with a name that nothing mentions.
    fn place_fresh(
        &mut self,
        asked: &Asked<'_>,
        wish: Wish<'_>,
        rest: &[Wish<'_>],
        demands: &Demands,
        known: &BTreeSet<&str>,
    ) -> Found {
        let mut ways = Ways::default();
        let Some(regions) = Self::regions(&asked.patterns) else {
            return Found::Unclear("many patterns of names".into());
        };
        for region in regions {
            let copied = (asked.every.len() + demands.len()) as u64;
            if let Err(spent) = self.charge(1 + copied / COPIED_A_STEP) {
                return spent;
            }
            let mut is: Vec<Id> = Vec::new();
            let mut names = asked.names.clone();
            match wish {
                Wish::Member(scope, what) if Self::region_within(scope, &region) => is.push(what),
                Wish::Member(..) => continue,
                Wish::Name(what) => names.push(what),
            }
            is.extend(
                asked
                    .every
                    .iter()
                    .filter(|(scope, _)| Self::region_within(scope, &region))
                    .map(|(_, is)| *is),
            );
            if is.contains(&FALSE) {
                continue;
            }
            let value = self.find(&is);
            if !value.is_there() {
                ways.take(value);
                continue;
            }
            let name = self.fresh_name(&region, &names, known);
            let Found::Value(name) = name else {
                ways.take(name);
                continue;
            };
            let Ok(name) = text(&name) else { continue };
            let mut demands = demands.clone();
            demands.insert(name.to_owned(), is);
            let found = self.place(asked, rest, demands);
            if let Some(found) = ways.take(found) {
                return found;
            }
        }
        ways.end()
    }

    /// All required members have a name; the number of members remains.
    fn complete(&mut self, asked: &Asked<'_>, demands: Demands) -> Found {
        if asked.most.is_some_and(|most| demands.len() as u64 > most) {
            return Found::Nothing;
        }
        let mut members = Members::new(self.limits.max_values);
        let mut ways = Ways::default();
        for (name, extra) in &demands {
            match self.member(asked, name, extra) {
                Found::Nothing => return Found::Nothing,
                Found::Unclear(why) => drop(ways.take(Found::Unclear(why))),
                found => {
                    if let Err(stopped) = members.add(self, name, &found) {
                        return stopped;
                    }
                }
            }
        }
        if let Found::Unclear(why) = ways.end() {
            return Found::Unclear(why);
        }
        if asked.least > self.limits.max_size {
            return self.many(asked);
        }
        self.fill(asked, members)
    }

    /// An object of more members than a witness may have, where names are free: it is described.
    fn many(&mut self, asked: &Asked<'_>) -> Found {
        let unclear = || Found::Unclear("more members than a witness may have".into());
        if !asked.names.is_empty() || !asked.patterns.is_empty() {
            return unclear();
        }
        let others: Vec<Id> = asked.every.iter().map(|(_, is)| *is).collect();
        if self.find(&others).is_there() {
            Found::described_of(asked.least, |least| format!("an object of {least} members"))
        } else {
            unclear()
        }
    }

    /// Adds members until there are enough.
    fn fill(&mut self, asked: &Asked<'_>, mut members: Members) -> Found {
        let mut ways = Ways::default();
        for name in asked.mentioned.iter().copied() {
            if members.count() >= asked.least {
                break;
            }
            if !members.object.contains_key(name) {
                match self.member(asked, name, &[]) {
                    found if found.is_there() => {
                        if let Err(stopped) = members.add(self, name, &found) {
                            return stopped;
                        }
                    }
                    other => drop(ways.take(other)),
                }
            }
        }
        if members.count() < asked.least {
            let Some(regions) = Self::regions(&asked.patterns) else {
                return Found::Unclear("many patterns of names".into());
            };
            for region in regions {
                let every = asked.every.iter().filter(|(scope, _)| Self::region_within(scope, &region));
                let is: Vec<Id> = every.map(|(_, is)| *is).collect();
                let value = self.find(&is);
                if !value.is_there() {
                    ways.take(value);
                    continue;
                }
                while members.count() < asked.least {
                    let copied = asked.mentioned.len() as u64 + members.count();
                    if let Err(spent) = self.charge(4 + copied / COPIED_A_STEP) {
                        return spent;
                    }
                    let names = members.object.keys().map(String::as_str);
                    let known: BTreeSet<&str> = asked.mentioned.iter().copied().chain(names).collect();
                    match self.fresh_name(&region, &asked.names, &known) {
                        Found::Value(name) => {
                            let Ok(name) = text(&name) else { break };
                            if let Err(stopped) = members.add(self, name, &value) {
                                return stopped;
                            }
                        }
                        other => {
                            ways.take(other);
                            break;
                        }
                    }
                }
            }
        }
        if members.count() >= asked.least { members.end() } else { ways.end() }
    }
}

/// The members of a witness, as far as they can be written.
struct Members {
    object: Map<String, Value>,
    room: u64,
    /// The first that is too large to be written; it stands in the object as null.
    described: Option<Found>,
}

impl Members {
    fn new(room: u64) -> Self {
        Members { object: Map::new(), room, described: None }
    }

    fn count(&self) -> u64 {
        self.object.len() as u64
    }

    /// Adds a member that is there; returns the bound that stopped it as an error.
    fn add(&mut self, solver: &Solver<'_>, name: &str, found: &Found) -> Result<(), Found> {
        let copy = match found {
            Found::Value(value) => solver.copied(value, &mut self.room),
            Found::Described(what) => Err(what.inside(name)),
            other => Err(other.clone()),
        };
        let value = match copy {
            Ok(value) => value,
            Err(Found::Described(what)) => {
                self.described.get_or_insert(Found::Described(what));
                Value::Null
            }
            Err(other) => return Err(other),
        };
        self.object.insert(name.to_owned(), value);
        Ok(())
    }

    fn end(self) -> Found {
        self.described.unwrap_or_else(|| Found::Value(Rc::new(Value::Object(self.object))))
    }
}
