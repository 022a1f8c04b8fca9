//! Numbers, kept as text: digits decide their exact value, never a double.

use std::cmp::Ordering;
use std::fmt;

use super::MAX_NUMBER_TEXT;

/// The largest magnitude of a number, 2^53 − 1 (RFC 7493 §2.2): up to here a double holds every integer.
pub const MAX_INTEGER: i64 = 9_007_199_254_740_991;

/// Digits that a double can tell apart at all; with more, two readers may disagree about the value.
const MAX_DIGITS: u32 = 17;

/// Digits of an exponent without its sign. A longer one is an attack on the code that computes it.
const MAX_EXPONENT_DIGITS: usize = 8;

/// A number of the strict reader: finite, of at most 17 significant digits and a magnitude of at most 2^53 − 1. It is zero
/// only if written as zero.
#[derive(Clone, Copy)]
pub struct Number<'a> {
    text: &'a str,
    /// Significant digits without trailing zeroes: the value is `digits × 10^exponent`. Zero has exponent 0.
    digits: u64,
    exponent: i16,
    negative: bool,
}

/// An exact decimal that is not negative, `digits × 10^exponent`. The digits do not end in a zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Decimal {
    pub(crate) digits: u64,
    pub(crate) exponent: i16,
}

impl Decimal {
    pub(crate) const ONE: Decimal = Decimal { digits: 1, exponent: 0 };

    /// Returns true if this is an integral multiple of the other, exactly.
    pub(crate) fn is_multiple_of(self, other: Decimal) -> bool {
        if self.digits == 0 {
            return true;
        }
        // with less than no difference, ten would have to divide the digits, whose last one is not zero
        let Ok(shift) = u32::try_from(i32::from(self.exponent) - i32::from(other.exponent)) else {
            return false;
        };
        let modulus = u128::from(other.digits);
        modulus != 0
            && (u128::from(self.digits) % modulus * power_of_ten(shift, modulus)).is_multiple_of(modulus)
    }
}

/// By value. Of equal powers of ten the digits are aligned: they differ by at most 19 places, so both fit 128 bits.
impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let power =
            |one: &Self| one.digits.checked_ilog10().map(|log| i64::from(one.exponent) + i64::from(log));
        let low = self.exponent.min(other.exponent);
        let aligned = |one: &Self| {
            let shift = u32::from(one.exponent.abs_diff(low));
            u128::from(one.digits) * 10_u128.saturating_pow(shift)
        };
        power(self).cmp(&power(other)).then_with(|| aligned(self).cmp(&aligned(other)))
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `10^exponent mod modulus`, the modulus below 2^64.
fn power_of_ten(exponent: u32, modulus: u128) -> u128 {
    let (mut result, mut base, mut exponent) = (1 % modulus, 10 % modulus, exponent);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        exponent >>= 1;
    }
    result
}

/// The reason that a number has no exact form as a decimal of four places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalFault {
    /// It has more than four decimal places.
    #[error("number has more than four decimal places")]
    TooPrecise,
    /// It lies outside −922337203685477.5808 … 922337203685477.5807, the bounds of Cedar's `decimal`.
    #[error("number is outside the bounds of a decimal")]
    OutOfRange,
}

impl<'a> Number<'a> {
    /// Takes a JSON number (RFC 8259 §6) and nothing before or after it.
    ///
    /// # Errors
    /// The fault of the text, as in [`super::Fault::Malformed`].
    pub fn parse(text: &'a str) -> Result<Self, &'static str> {
        match super::scan::number_end(text.as_bytes(), 0) {
            Ok(end) if end == text.len() => Self::from_grammatical(text),
            Ok(_) => Err("text after the number"),
            Err((_, what)) => Err(what),
        }
    }

    /// Takes text that the grammar accepted and judges its value.
    pub(super) fn from_grammatical(text: &'a str) -> Result<Self, &'static str> {
        if let Some(small) = small_integer(text) {
            return Ok(Self { text, digits: small, exponent: 0, negative: false }.without_trailing_zeroes());
        }
        if text.len() > MAX_NUMBER_TEXT {
            return Err("number is too long");
        }
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        if exponent.trim_start_matches(['+', '-']).len() > MAX_EXPONENT_DIGITS {
            return Err("exponent is too long");
        }
        let (digits, shift) = significant(mantissa)?;
        if digits == 0 {
            return Ok(Self { text, digits, exponent: 0, negative });
        }
        // At most 8 digits, so it fits; a leading `+` is understood.
        let written: i64 = exponent.parse().map_err(|_| "exponent is not a number")?;
        let exponent = written + shift;
        if exceeds_max_integer(digits, exponent) {
            return Err("number is beyond 2^53 - 1");
        }
        if exponent < -300 && text.parse::<f64>().is_ok_and(|value| value == 0.0) {
            return Err("number is too small for a double and not zero");
        }
        let exponent =
            i16::try_from(exponent).map_err(|_| "number is too small for a double and not zero")?;
        Ok(Self { text, digits, exponent, negative })
    }

    /// Takes a number beyond 2^53 − 1 as the nearest double, which is an integer there. None for other numbers and for those
    /// past a double.
    pub(super) fn large(text: &'a str) -> Option<Self> {
        let value: f64 = text.parse().ok().filter(|_| text.len() <= MAX_NUMBER_TEXT)?;
        if !value.is_finite() || value.abs() <= MAX_INTEGER as f64 {
            return None;
        }
        let shortest = format!("{:e}", value.abs());
        let (mantissa, exponent) = shortest.split_once('e')?;
        let (digits, shift) = significant(mantissa).ok()?;
        let exponent = i16::try_from(exponent.parse::<i64>().ok()? + shift).ok()?;
        Some(Self { text, digits, exponent, negative: value < 0.0 })
    }

    /// The text as it stood in the message.
    #[must_use]
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// The value if it is an integer, however written: `120`, `120.0` and `1.2e2` are all 120, and `-0` is 0. The magnitude is at
    /// most [`MAX_INTEGER`].
    #[must_use]
    pub fn as_i64_exact(&self) -> Option<i64> {
        let scale = u32::try_from(self.exponent).ok()?;
        let magnitude = self.digits.checked_mul(10_u64.checked_pow(scale)?)?;
        let magnitude = i64::try_from(magnitude).ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// The nearest double; finite, and zero only for zero.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        // The grammar of JSON numbers is a subset of what `f64` reads, so the fallback is never taken.
        self.text.parse().unwrap_or(f64::NAN)
    }

    /// The value times 10 000, computed from the digits. Equal numbers (`12000`, `12000.0`, `1.2e4`) give equal results, and
    /// no digit is ever rounded.
    ///
    /// # Errors
    /// [`DecimalFault::TooPrecise`] with more than four places, else [`DecimalFault::OutOfRange`] past an `i64`.
    pub fn to_decimal4(&self) -> Result<i64, DecimalFault> {
        if self.digits == 0 {
            return Ok(0);
        }
        let scale = u32::try_from(i32::from(self.exponent) + 4).map_err(|_| DecimalFault::TooPrecise)?;
        let power = 10_i128.checked_pow(scale).ok_or(DecimalFault::OutOfRange)?;
        let magnitude = i128::from(self.digits).checked_mul(power).ok_or(DecimalFault::OutOfRange)?;
        let signed = if self.negative { -magnitude } else { magnitude };
        i64::try_from(signed).map_err(|_| DecimalFault::OutOfRange)
    }

    pub(crate) const fn is_below_zero(&self) -> bool {
        self.negative && self.digits != 0
    }

    /// The absolute value.
    pub(crate) const fn magnitude(&self) -> Decimal {
        Decimal { digits: self.digits, exponent: self.exponent }
    }

    /// The value in one form with all of its digits: `120`, `120.0` and `1.2e2` are `12e1`, `0` and `-0` are `0e0`. Two
    /// numbers are equal exactly if these texts are, even where one double is nearest to both.
    #[must_use]
    pub fn exact(&self) -> String {
        let sign = if self.negative && self.digits != 0 { "-" } else { "" };
        format!("{sign}{}e{}", self.digits, self.exponent)
    }

    /// The number as `serde_json` holds it: an integer in any form becomes an integer, all others a double.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        match self.as_i64_exact() {
            Some(integer) => integer.into(),
            None => self.as_f64().into(),
        }
    }

    fn without_trailing_zeroes(mut self) -> Self {
        while self.digits != 0 && self.digits.is_multiple_of(10) {
            self.digits /= 10;
            self.exponent += 1;
        }
        self
    }
}

/// Up to 15 plain digits: no sign, point or exponent, and below every bound. Most numbers have this form.
fn small_integer(text: &str) -> Option<u64> {
    if text.len() > 15 {
        return None;
    }
    text.bytes().try_fold(0_u64, |sum, b| b.is_ascii_digit().then(|| sum * 10 + u64::from(b - b'0')))
}

/// The significant digits of `12.340` as (1234, −2), without trailing zeroes: the value is the first times ten to the power
/// of the second.
fn significant(mantissa: &str) -> Result<(u64, i64), &'static str> {
    let (mut digits, mut count, mut zeroes, mut places) = (0_u64, 0_u32, 0_u32, 0_i64);
    let mut after_point = false;
    for b in mantissa.bytes() {
        if b == b'.' {
            after_point = true;
            continue;
        }
        places += i64::from(after_point);
        if b == b'0' {
            zeroes += u32::from(digits != 0);
            continue;
        }
        count += zeroes + 1;
        if count > MAX_DIGITS {
            return Err("number has more than 17 significant digits");
        }
        digits = digits * 10_u64.pow(zeroes + 1) + u64::from(b.wrapping_sub(b'0'));
        zeroes = 0;
    }
    Ok((digits, i64::from(zeroes) - places))
}

/// `digits × 10^exponent > 2^53 − 1`, for nonzero digits without trailing zeroes, at most 17 of them.
fn exceeds_max_integer(digits: u64, exponent: i64) -> bool {
    let limit = MAX_INTEGER.unsigned_abs();
    match u32::try_from(exponent.unsigned_abs()).ok().and_then(|scale| 10_u64.checked_pow(scale)) {
        // Below zero the fraction is not zero, since the last digit is not.
        Some(power) if exponent < 0 => digits / power >= limit,
        Some(power) => digits.checked_mul(power).is_none_or(|value| value > limit),
        None => exponent > 0,
    }
}

/// Equal when the values are: `120`, `120.0` and `1.2e2` are one number, and so are `0` and `-0`.
impl PartialEq for Number<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.digits == other.digits
            && self.exponent == other.exponent
            && (self.negative == other.negative || self.digits == 0)
    }
}

impl Eq for Number<'_> {}

/// By the exact value, never by a double.
impl Ord for Number<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_below_zero(), other.is_below_zero()) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.magnitude().cmp(&other.magnitude()),
            (true, true) => other.magnitude().cmp(&self.magnitude()),
        }
    }
}

impl PartialOrd for Number<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Shows only that it is a number: values of messages do not enter logs.
impl fmt::Debug for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("number")
    }
}

#[cfg(test)]
mod tests;
