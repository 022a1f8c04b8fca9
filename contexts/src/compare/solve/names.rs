//! Names of members that no schema mentions.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::Value;

use super::super::formula::{Atom, Formula, Id, Scalar, Scope};
use super::{COPIED_A_STEP, NoValue, Solution, Solver, unclear};

/// A set of names by the patterns that they match or do not match.
pub(super) type Region = Vec<(usize, bool)>;

impl Solver<'_> {
    /// Returns true if a name is in a scope; none if a pattern cannot be followed.
    pub(super) fn is_within(&mut self, scope: &Scope, name: &str) -> Option<bool> {
        if !self.budget.spend(1) {
            return None;
        }
        if scope.names.contains(name) {
            return Some(false);
        }
        let mut unclear = false;
        let required = scope.within.iter().map(|number| (*number, true));
        for (number, wanted) in required.chain(scope.patterns.iter().map(|number| (*number, false))) {
            match self.matches(number, name) {
                Some(found) if found != wanted => return Some(false),
                Some(_) => {}
                None => unclear = true,
            }
        }
        (!unclear).then_some(true)
    }

    /// A name of a region that fits the formulas and is not in `not`: a string value.
    pub(super) fn fresh_name(&mut self, region: &Region, names: &[Id], not: &BTreeSet<&str>) -> Solution {
        match self.any_name(region, names, not) {
            // a name has to be written
            Err(NoValue::Described(_)) => unclear("a name longer than a witness may have"),
            found => found,
        }
    }

    fn any_name(&mut self, region: &Region, names: &[Id], not: &BTreeSet<&str>) -> Solution {
        self.charge(not.len() as u64 / COPIED_A_STEP)?;
        let atoms: Vec<Atom> = region.iter().map(|(number, found)| Atom::Pattern(*number, *found)).collect();
        if names.is_empty() {
            let atoms: Vec<&Atom> = atoms.iter().collect();
            let not: Vec<&str> = not.iter().copied().collect();
            return self.friendly_name(&atoms, &not);
        }
        let not = not.iter().map(|name| Scalar::Text((*name).to_owned())).collect();
        let mut formulas: Vec<Id> = names.to_vec();
        for atom in atoms.into_iter().chain([Atom::NotIn(Rc::new(not))]) {
            formulas.push(self.reader.arena.add(Formula::Atom(atom, false)));
        }
        let string = Atom::Types(crate::schema::types::STRING);
        formulas.push(self.reader.arena.add(Formula::Atom(string, false)));
        self.find(&formulas)
    }

    /// The name `other`, if it fits: people read the names in witnesses.
    fn friendly_name(&mut self, atoms: &[&Atom], not: &[&str]) -> Solution {
        for name in ["other", "another", "x_other"] {
            if !not.contains(&name) && atoms.iter().all(|atom| self.text_fits(atom, name) == Some(true)) {
                return Ok(Rc::new(Value::String(name.to_owned())));
            }
        }
        self.text(atoms, not)
    }
}

/// Returns true if the names of a region that nothing mentions are in a scope.
pub(super) fn region_within(scope: &Scope, region: &Region) -> bool {
    let is = |number: usize| region.iter().any(|(known, found)| *known == number && *found);
    scope.within.is_none_or(is) && !scope.patterns.iter().any(|number| is(*number))
}

/// Every combination of patterns that a name can match.
pub(super) fn regions(patterns: &BTreeSet<usize>) -> Option<Vec<Region>> {
    if patterns.len() > 6 {
        return None;
    }
    let mut regions: Vec<Region> = vec![Vec::new()];
    for number in patterns {
        regions = regions
            .into_iter()
            .flat_map(|region| {
                [false, true].map(|found| {
                    let mut region = region.clone();
                    region.push((*number, found));
                    region
                })
            })
            .collect();
    }
    Some(regions)
}
