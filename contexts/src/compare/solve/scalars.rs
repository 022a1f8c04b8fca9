//! Scalars: demands that are decided by looking at one value.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::Value;

use super::super::formula::{Atom, Bound, Formula, Id, Scalar};
use super::{CHARACTERS_A_STEP, NoValue, Solution, Solver};
use crate::json::{Decimal, Number};
use crate::schema::{FORMATS, is_refused, types};

/// Returns true if some scalar is of this type; all numbers are of one type here. They are sorted by type, so this takes one
/// or two lookups.
pub(super) fn has_of(values: &BTreeSet<Scalar>, kind: u8) -> bool {
    let least = match kind {
        types::NULL => Scalar::Null,
        types::BOOLEAN => Scalar::Bool(false),
        types::NUMBER => Scalar::Number(Bound::new(0.0)),
        types::STRING => Scalar::Text(String::new()),
        _ => return false,
    };
    let first = values.range(&least..).next();
    first.is_some_and(|first| std::mem::discriminant(first) == std::mem::discriminant(&least))
}

/// A number of a message as the validator sees it: by its double and by its digits.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExactNumber {
    pub(super) double: f64,
    digits: Decimal,
}

impl ExactNumber {
    /// Reads a number; none if no message can hold it, or if it would change on its way through a double.
    pub(super) fn of(value: &Value) -> Option<ExactNumber> {
        let text = value.to_string();
        let number = Number::parse(&text).ok()?;
        Some(ExactNumber { double: number.as_f64(), digits: number.magnitude() })
    }

    /// Returns true if the number fits one atom.
    pub(super) fn fits(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Types(mask) => {
                let is =
                    if self.digits.is_multiple_of(Decimal::ONE) { types::INTEGER } else { types::FRACTION };
                mask & is != 0
            }
            Atom::In(values) => values.contains(&Scalar::Number(Bound::new(self.double))),
            Atom::NotIn(values) => !values.contains(&Scalar::Number(Bound::new(self.double))),
            Atom::Least(bound, strict) => {
                self.double > bound.get() || (!strict && self.double == bound.get())
            }
            Atom::Most(bound, strict) => self.double < bound.get() || (!strict && self.double == bound.get()),
            Atom::Multiple(step) => self.digits.is_multiple_of(*step),
            Atom::NotMultiple(step) => !self.digits.is_multiple_of(*step),
            _ => true,
        }
    }
}

/// The first of a few values that the lists of the atoms leave.
pub(super) fn one_of_few(atoms: &[&Atom], values: &[(Scalar, Value)]) -> Solution {
    let fits = |scalar: &Scalar| {
        atoms.iter().all(|atom| match atom {
            Atom::In(values) => values.contains(scalar),
            Atom::NotIn(values) => !values.contains(scalar),
            _ => true,
        })
    };
    let matching = values.iter().find(|(scalar, _)| fits(scalar));
    matching.map(|(_, value)| Rc::new(value.clone())).ok_or(NoValue::Nothing)
}

impl Solver<'_> {
    /// Returns true if a text fits an atom; none if this cannot be decided.
    pub(super) fn text_fits(&mut self, atom: &Atom, text: &str) -> Option<bool> {
        if !self.budget.spend(1 + text.len() as u64 / CHARACTERS_A_STEP) {
            return None;
        }
        let length = || text.chars().count() as u64;
        Some(match atom {
            Atom::Types(mask) => mask & types::STRING != 0,
            Atom::In(values) => values.contains(&Scalar::Text(text.to_owned())),
            Atom::NotIn(values) => !values.contains(&Scalar::Text(text.to_owned())),
            Atom::MinLength(least) => length() >= *least,
            Atom::MaxLength(most) => length() <= *most,
            Atom::Plain(plain) => text.chars().any(is_refused) != *plain,
            Atom::Pattern(number, found) => self.matches(*number, text)? == *found,
            Atom::Format(number, is) => {
                self.budget.spend(4 + text.len() as u64 / CHARACTERS_A_STEP);
                self.formats.holds(*number, text)? == *is
            }
            _ => return None,
        })
    }

    /// Returns true if a member's name fits a formula; none if this cannot be decided.
    pub(super) fn name_fits(&mut self, id: Id, name: &str) -> Option<bool> {
        if !self.budget.spend(1) {
            return None;
        }
        match &*self.reader.arena.get(id) {
            Formula::True => Some(true),
            Formula::False => Some(false),
            Formula::And(parts) => self.any_name_fits(parts, name, false).map(|fails| !fails),
            Formula::Or(parts) => self.any_name_fits(parts, name, true),
            Formula::Atom(atom, _) if atom.types() & types::STRING != 0 => self.text_fits(atom, name),
            Formula::Atom(_, otherwise) => Some(*otherwise),
            Formula::Definition(number, holds) => {
                let id = self.reader.definition(*number, *holds);
                self.name_fits(id, name)
            }
            Formula::Unevaluated(_, _, all) => Some(*all),
        }
    }

    /// Returns true if the answer for one of the formulas is the wanted one; none if this cannot be decided.
    fn any_name_fits(&mut self, parts: &[Id], name: &str, wanted: bool) -> Option<bool> {
        let mut undecided = false;
        for part in parts {
            match self.name_fits(*part, name) {
                Some(fits) if fits == wanted => return Some(true),
                Some(_) => {}
                None => undecided = true,
            }
        }
        (!undecided).then_some(false)
    }

    /// The name of a format.
    pub(super) fn format(number: usize) -> &'static str {
        FORMATS.get(number).copied().unwrap_or_default()
    }
}
