//! Exact decimals: the grid of `multipleOf`, and the numbers on it.

use crate::json::{Decimal, Number};

impl Decimal {
    /// The decimal of a schema's number, without its sign. None for zero and for a value that is no such number.
    pub(super) fn of(value: &serde_json::Value) -> Option<Self> {
        let decimal = Number::parse(&value.to_string()).ok()?.magnitude();
        (decimal.digits != 0).then_some(decimal)
    }

    /// The smallest decimal that both divide; none past 64 bits.
    pub(super) fn common(self, other: Decimal) -> Option<Decimal> {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |one: Decimal| {
            let shift = u32::try_from(i32::from(one.exponent) - i32::from(exponent)).ok()?;
            u128::from(one.digits).checked_mul(10_u128.checked_pow(shift)?)
        };
        let (left, right) = (scaled(self)?, scaled(other)?);
        let mut digits = left.checked_div(gcd(left, right))?.checked_mul(right)?;
        let mut exponent = exponent;
        while digits != 0 && digits.is_multiple_of(10) {
            digits /= 10;
            exponent = exponent.checked_add(1)?;
        }
        Some(Decimal { digits: u64::try_from(digits).ok()?, exponent })
    }

    /// `count` times this, as the text of a JSON number.
    pub(super) fn times(self, count: i128) -> Option<String> {
        let digits = i128::from(self.digits).checked_mul(count)?;
        Some(if self.exponent == 0 { digits.to_string() } else { format!("{digits}e{}", self.exponent) })
    }

    /// The quotient of a double by it, rounded down. It is one less where the result was not exact to the last digit.
    pub(super) fn below(self, value: f64) -> Option<i128> {
        let value = if value == 0.0 { value } else { value.next_down().next_down() };
        self.quotient(value).map(|(floor, _)| floor)
    }

    /// As [`Decimal::below`], rounded up.
    pub(super) fn above(self, value: f64) -> Option<i128> {
        let value = if value == 0.0 { value } else { value.next_up().next_up() };
        self.quotient(value).map(|(_, ceiling)| ceiling)
    }

    fn quotient(self, value: f64) -> Option<(i128, i128)> {
        if value == 0.0 {
            return Some((0, 0));
        }
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let places = mantissa.split_once('.').map_or(0, |(_, places)| places.len());
        let digits: i128 = mantissa.replace('.', "").parse().ok()?;
        let exponent = exponent.parse::<i32>().ok()?.checked_sub(i32::try_from(places).ok()?)?;
        let shift = exponent - i32::from(self.exponent);
        let power = |shift: i32| 10_i128.checked_pow(u32::try_from(shift).ok()?);
        if shift >= 0 {
            let (up, by) = (digits.checked_mul(power(shift)?)?, i128::from(self.digits));
            let floor = up.div_euclid(by);
            return Some((floor, floor + i128::from(up.rem_euclid(by) != 0)));
        }
        match power(-shift).and_then(|power| i128::from(self.digits).checked_mul(power)) {
            Some(by) => {
                let floor = digits.div_euclid(by);
                Some((floor, floor + i128::from(digits.rem_euclid(by) != 0)))
            }
            // smaller than any multiple but zero
            None if digits < 0 => Some((-1, 0)),
            None => Some((0, 1)),
        }
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}
