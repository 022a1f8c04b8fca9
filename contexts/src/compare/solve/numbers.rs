//! Numbers: bounds and values by doubles, as the validator compares them; `multipleOf` and "is an integer" by digits, exactly.

use std::rc::Rc;

use serde_json::Value;

use super::super::formula::{Atom, Scalar};
use super::scalars::ExactNumber;
use super::{COPIED_A_STEP, NoValue, Solution, Solver, unclear};
use crate::json::{Decimal, MAX_INTEGER};
use crate::schema::types;

/// Multiples that are looked at one by one.
const MOST_TRIED: i128 = 4_096;

/// Steps for one number that is tried: it is written, read and compared with the atoms.
const TRY: u64 = 4;

/// Bounds of a number's double.
#[derive(Clone, Copy)]
struct Window {
    least: f64,
    most: f64,
    /// One of the bounds is not in it.
    open_below: bool,
    open_above: bool,
}

impl Window {
    fn of(atoms: &[&Atom]) -> Window {
        let greatest = MAX_INTEGER as f64;
        let mut window = Window { least: -greatest, most: greatest, open_below: false, open_above: false };
        for atom in atoms {
            match atom {
                Atom::Least(bound, strict) if bound.get() > window.least => {
                    window.least = bound.get();
                    window.open_below = *strict;
                }
                Atom::Least(bound, true) if bound.get() == window.least => window.open_below = true,
                Atom::Most(bound, strict) if bound.get() < window.most => {
                    window.most = bound.get();
                    window.open_above = *strict;
                }
                Atom::Most(bound, true) if bound.get() == window.most => window.open_above = true,
                _ => {}
            }
        }
        window
    }

    fn is_empty(&self) -> bool {
        self.least > self.most || (self.least == self.most && (self.open_below || self.open_above))
    }
}

impl Solver<'_> {
    pub(super) fn number(&mut self, atoms: &[&Atom]) -> Solution {
        let window = Window::of(atoms);
        if window.is_empty() {
            return Err(NoValue::Nothing);
        }
        let Ok(grid) = grid(atoms) else {
            return unclear("`multipleOf` of too many digits");
        };
        let off = |step: &Decimal| grid.is_some_and(|grid| grid.is_multiple_of(*step));
        if atoms.iter().any(|atom| match atom {
            Atom::NotMultiple(step) => off(step),
            Atom::Types(mask) => mask & types::INTEGER == 0 && off(&Decimal::ONE),
            _ => false,
        }) {
            return Err(NoValue::Nothing);
        }
        if let Some(values) = listed(atoms) {
            return self.among(&values, grid, atoms);
        }
        match grid {
            Some(grid) => self.on_grid(window.least, window.most, grid, atoms),
            None if window.least == window.most => self.among(&[window.least], None, atoms),
            None => self.dense(&window, atoms),
        }
    }

    fn try_number(&mut self, text: &str, atoms: &[&Atom]) -> Option<Solution> {
        if !self.budget.spend(TRY + atoms.len() as u64 / COPIED_A_STEP) {
            return Some(Err(self.spent()));
        }
        let value: Value = serde_json::from_str(text).ok()?;
        let seen = ExactNumber::of(&value)?;
        let value = if value.is_f64() && seen.double.fract() == 0.0 {
            Value::from(seen.double as i64)
        } else {
            value
        };
        atoms.iter().all(|atom| seen.fits(atom)).then(|| Ok(Rc::new(value)))
    }

    /// One of a few doubles. Several decimals may be one double; the validator treats them as equal unless a grid tells them
    /// apart.
    fn among(&mut self, values: &[f64], grid: Option<Decimal>, atoms: &[&Atom]) -> Solution {
        self.charge(values.len() as u64 * (TRY + atoms.len() as u64 / COPIED_A_STEP))?;
        let values: Vec<f64> = values.iter().copied().filter(|value| by_double(*value, atoms)).collect();
        for value in &values {
            let text = text_of(*value);
            if let Some(solution) = self.try_number(&text, atoms) {
                return solution;
            }
        }
        if values.is_empty() {
            return Err(NoValue::Nothing);
        }
        match grid {
            // a grid of at most 15 digits has one point for each double
            Some(grid) if values.iter().all(|value| is_coarse(grid, *value)) => Err(NoValue::Nothing),
            None if !atoms.iter().any(|atom| matches!(atom, Atom::NotMultiple(_) | Atom::Types(_))) => {
                Err(NoValue::Nothing)
            }
            _ => unclear("decimals that one double cannot tell apart"),
        }
    }

    fn on_grid(&mut self, least: f64, most: f64, grid: Decimal, atoms: &[&Atom]) -> Solution {
        let too_fine = || unclear("`multipleOf` too fine for its bounds");
        let (Some(first), Some(last)) = (grid.below(least), grid.above(most)) else { return too_fine() };
        let near_zero = 0.clamp(first, last);
        let mut order: Vec<i128> = Vec::new();
        let count = last - first + 1;
        let tried = count.min(MOST_TRIED);
        if tried == count {
            order.extend(first..=last);
            order.sort_by_key(|k| k.abs());
        } else {
            let third = MOST_TRIED / 4;
            order.extend(near_zero..=(near_zero + third).min(last));
            order.extend((last - third).max(first)..=last);
            order.extend(first..=(first + third).min(last));
        }
        let mut lost = false;
        for k in order {
            let Some(text) = grid.times(k) else { return too_fine() };
            if let Some(solution) = self.try_number(&text, atoms) {
                return solution;
            }
            lost |= !is_coarse(grid, grid_point(&text));
        }
        if tried == count && !lost { Err(NoValue::Nothing) } else { too_fine() }
    }

    /// No grid: some numbers with few digits, and some with more, which another grid excludes.
    fn dense(&mut self, window: &Window, atoms: &[&Atom]) -> Solution {
        let (least, most) = (window.least, window.most);
        let width = most - least;
        let mut tries = vec![0.0, 1.0, 0.5, least, most, least + 1.0, most - 1.0, least + 0.5, most - 0.5];
        for part in [2.0, 3.0, 4.0, 10.0, 100.0] {
            tries.extend([least + width / part, most - width / part]);
        }
        for places in 1..=12 {
            let step = 10_f64.powi(-places);
            tries.extend([step, least + step, most - step, least + width / 2.0 + step]);
        }
        tries.extend([least.next_up(), most.next_down()]);
        for value in tries {
            for value in [value, rounded(value, 4), rounded(value, 2), value.floor(), value.ceil()] {
                if let Some(solution) = self.try_number(&text_of(value), atoms) {
                    return solution;
                }
            }
        }
        unclear("numbers between two close bounds")
    }
}

/// The grid of all `multipleOf` together, integers among them.
fn grid(atoms: &[&Atom]) -> Result<Option<Decimal>, ()> {
    let mut grid: Option<Decimal> = None;
    for atom in atoms {
        let step = match atom {
            Atom::Multiple(step) => *step,
            Atom::Types(mask) if mask & types::FRACTION == 0 => Decimal::ONE,
            _ => continue,
        };
        grid = Some(match grid {
            None => step,
            Some(grid) => grid.common(step).ok_or(())?,
        });
    }
    Ok(grid)
}

/// The numbers of an `enum`, if there is one.
fn listed(atoms: &[&Atom]) -> Option<Vec<f64>> {
    atoms.iter().find_map(|atom| match atom {
        Atom::In(values) => Some(
            values
                .iter()
                .filter_map(|value| if let Scalar::Number(bound) = value { Some(bound.get()) } else { None })
                .collect(),
        ),
        _ => None,
    })
}

/// Returns true if a double passes all atoms that are decided by doubles.
fn by_double(value: f64, atoms: &[&Atom]) -> bool {
    ExactNumber::of(&Value::from(value)).is_some_and(|seen| {
        let by_double = atoms
            .iter()
            .filter(|atom| matches!(atom, Atom::In(_) | Atom::NotIn(_) | Atom::Least(..) | Atom::Most(..)));
        by_double.into_iter().all(|atom| seen.fits(atom))
    })
}

/// Returns true if points of the grid near a value have at most 15 digits, so that a double tells them apart.
fn is_coarse(grid: Decimal, value: f64) -> bool {
    let step = grid.digits as f64 * 10_f64.powi(i32::from(grid.exponent));
    let unit = 10_f64.powi(i32::from(grid.exponent));
    unit > 0.0 && step > 0.0 && (value.abs() + step) / unit < 1e15
}

fn grid_point(text: &str) -> f64 {
    text.parse().unwrap_or(f64::INFINITY)
}

fn rounded(value: f64, places: i32) -> f64 {
    let power = 10_f64.powi(places);
    (value * power).round() / power
}

fn text_of(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() <= MAX_INTEGER as f64 {
        format!("{}", value as i64)
    } else {
        Value::from(value).to_string()
    }
}
