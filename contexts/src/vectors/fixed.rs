//! Vectors as integers in one unit, and exact sums over them.

use crate::json::Number;

/// Significant decimal digits that are kept, counted from the leading digit of the largest component. A 32-bit float has nine at
/// most. With thirteen, all sums over 4,096 components fit 128 bits.
const DIGITS: i32 = 13;

/// A vector whose components are `values × 10^unit`. Each value has at most 13 digits; a longer component is rounded to the nearest, half
/// away from zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    unit: i32,
    values: Box<[i64]>,
}

impl Fixed {
    /// The vector of these numbers.
    pub(super) fn of<'n>(numbers: impl Iterator<Item = &'n Number<'n>> + Clone) -> Self {
        let unit = numbers.clone().filter_map(leading).max().map_or(0, |most| most + 1 - DIGITS);
        let values = numbers.map(|number| scaled(number, unit)).collect();
        Self { unit, values }
    }

    /// The number of components.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns true if every component is zero.
    pub(super) fn is_zero(&self) -> bool {
        self.values.iter().all(|value| *value == 0)
    }

    /// Returns true if the square of the length lies within 0.999 … 1.001.
    pub(super) fn is_unit(&self) -> bool {
        let Some(one) = power(self.unit.saturating_mul(-2)).filter(|_| self.unit <= 0) else { return false };
        let square = self.square();
        let square = square.saturating_mul(1_000);
        (one.saturating_mul(999)..=one.saturating_mul(1_001)).contains(&square)
    }

    /// The square of the length, in units of `10^(2 × unit)`: below 4,096 × 10^26.
    fn square(&self) -> u128 {
        self.values.iter().map(|value| square(*value)).fold(0, u128::saturating_add)
    }

    /// The cosine of the angle between two vectors, in thousandths, to the nearest, half away from zero. 0 where one is zero.
    pub(super) fn cosine(&self, other: &Self) -> i64 {
        let dot = self.product(other);
        let (left, right) = (self.square(), other.square());
        let magnitude = dot.unsigned_abs();
        if magnitude == 0 || left == 0 || right == 0 {
            return 0;
        }
        // the largest k with (2k − 1)² · left · right <= (2000 · dot)², in 256 bits
        let target = wide(magnitude.saturating_mul(2_000), magnitude.saturating_mul(2_000));
        let reaches = |k: u128| {
            let odd = 2 * k - 1;
            wide(left.saturating_mul(odd * odd), right) <= target
        };
        let (mut low, mut high) = (0_u128, 1_000_u128);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if reaches(middle) { low = middle } else { high = middle - 1 }
        }
        signed(low, dot < 0)
    }

    /// The dot product in thousandths, to the nearest, half away from zero, and within −1000 … 1000.
    pub(super) fn dot(&self, other: &Self) -> i64 {
        let dot = self.product(other);
        let unit = self.unit.saturating_add(other.unit);
        let thousandfold = dot.unsigned_abs().saturating_mul(1_000);
        let magnitude = match (unit, power(unit.saturating_abs())) {
            (0.., Some(power)) => thousandfold.saturating_mul(power),
            (0.., None) => {
                if thousandfold == 0 {
                    0
                } else {
                    u128::MAX
                }
            }
            (_, Some(power)) => rounded(thousandfold, power),
            // a unit this small leaves nothing of the largest product
            (_, None) => 0,
        };
        signed(magnitude.min(1_000), dot < 0)
    }

    /// `1000 / (1 + d²)` for the Euclidean distance d, to the nearest, half up: 1000 for equal vectors.
    pub(super) fn closeness(&self, other: &Self) -> i64 {
        // zeroes have no digits to keep
        let unit = match (self.is_zero(), other.is_zero()) {
            (true, _) => other.unit,
            (_, true) => self.unit,
            _ => self.unit.max(other.unit),
        };
        let difference = |(left, right): (&i64, &i64)| {
            let (left, right) = (rescaled(*left, unit - self.unit), rescaled(*right, unit - other.unit));
            square(left.saturating_sub(right))
        };
        let apart: u128 = self.values.iter().zip(&other.values).map(difference).fold(0, u128::saturating_add);
        let near = match (unit, power(unit.saturating_abs().saturating_mul(2))) {
            (0.., Some(power)) => rounded(1_000, apart.saturating_mul(power).saturating_add(1)),
            (0.., None) => {
                if apart == 0 {
                    1_000
                } else {
                    0
                }
            }
            // beyond this, d² is below a ten-thousandth and rounds to nothing
            (_, Some(one)) if one < MOST_UNITS => rounded(one * 1_000, one.saturating_add(apart)),
            _ => 1_000,
        };
        signed(near, false)
    }

    fn product(&self, other: &Self) -> i128 {
        let each = |(left, right): (&i64, &i64)| i128::from(*left) * i128::from(*right);
        self.values.iter().zip(&other.values).map(each).fold(0, i128::saturating_add)
    }
}

/// Units in one above which d² counts for nothing: d² has at most 4,096 × 4 × 10^26 of them.
const MOST_UNITS: u128 = 10_u128.pow(35);

/// The power of ten of the leading digit; `None` for zero.
fn leading(number: &Number<'_>) -> Option<i32> {
    let size = number.magnitude();
    let places = i32::try_from(size.digits.checked_ilog10()?).ok()?;
    Some(i32::from(size.exponent) + places)
}

fn scaled(number: &Number<'_>, unit: i32) -> i64 {
    let size = number.magnitude();
    let shift = i32::from(size.exponent) - unit;
    let magnitude = match (shift, power(shift.saturating_abs())) {
        (0.., Some(power)) => u128::from(size.digits).saturating_mul(power),
        // zero alone has such an exponent
        (0.., None) => 0,
        (_, Some(power)) => rounded(size.digits.into(), power),
        (_, None) => 0,
    };
    signed(magnitude, number.is_below_zero())
}

/// A value in a unit that is larger by so many powers of ten.
fn rescaled(value: i64, by: i32) -> i64 {
    let magnitude = power(by).map_or(0, |power| rounded(value.unsigned_abs().into(), power));
    signed(magnitude, value < 0)
}

fn power(exponent: i32) -> Option<u128> {
    10_u128.checked_pow(u32::try_from(exponent).ok()?)
}

fn square(value: i64) -> u128 {
    let size = u128::from(value.unsigned_abs());
    size.saturating_mul(size)
}

/// The quotient to the nearest integer, half up. The divisor is not zero.
fn rounded(value: u128, by: u128) -> u128 {
    let (whole, rest) = (value.checked_div(by).unwrap_or(0), value.checked_rem(by).unwrap_or(0));
    if rest >= by - rest { whole.saturating_add(1) } else { whole }
}

fn signed(magnitude: u128, negative: bool) -> i64 {
    let value = i64::try_from(magnitude).unwrap_or(i64::MAX);
    if negative { -value } else { value }
}

/// The product of two numbers in 256 bits: the high half, then the low half.
fn wide(left: u128, right: u128) -> (u128, u128) {
    const HALF: u32 = 64;
    const LOW: u128 = (1 << HALF) - 1;
    let (a, b, c, d) = (left >> HALF, left & LOW, right >> HALF, right & LOW);
    let low = b * d;
    let (one, over) = (a * d).overflowing_add(b * c);
    let carried = u128::from(over) << HALF;
    let (low, carry) = low.overflowing_add(one << HALF);
    (a * c + (one >> HALF) + carried + u128::from(carry), low)
}
