//! The numbers that a schema lets a member be, as far as it says so in one place: `minimum`, `maximum`, their exclusive forms, `enum`
//! and `const`. Whatever is not recognised leaves every number open.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde_json::{Number, Value};

use crate::openness::Place;

/// Places behind the point that policies see of a decimal.
pub(crate) const DECIMAL_PLACES: u32 = 4;

/// Digits of a bound that are read; a longer one says nothing here.
const MAX_DIGITS: usize = 30;

/// Numbers as policies compare them: integers, of decimals their ten-thousandths. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// From the one to the other, both included.
    Between(i64, i64),
    /// These.
    Only(Arc<BTreeSet<i64>>),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Between(i64::MIN, i64::MAX)
    }
}

impl From<BTreeSet<i64>> for Numbers {
    /// All numbers, if there are none.
    fn from(only: BTreeSet<i64>) -> Self {
        if only.is_empty() { Self::default() } else { Self::Only(Arc::new(only)) }
    }
}

impl Numbers {
    /// What the schema at a place lets a number with so many places behind its point be.
    pub fn of(place: Option<Place<'_>>, places: u32) -> Self {
        let Some(place) = place else { return Self::default() };
        let mut found = Self::default();
        for schema in place.all_of() {
            found = found.and(&here(schema, places));
        }
        found
    }

    /// How many items the schema at a place lets an array have.
    pub fn of_items(place: Option<Place<'_>>) -> Self {
        let (mut least, mut most) = (0, i64::MAX);
        for schema in place.into_iter().flat_map(Place::all_of) {
            let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_i64);
            least = least.max(bound("minItems").unwrap_or(0));
            most = most.min(bound("maxItems").unwrap_or(i64::MAX));
        }
        Self::Between(least.min(most), most)
    }

    /// The lowest and the highest.
    pub fn ends(&self) -> (i64, i64) {
        match self {
            Self::Between(low, high) => (*low, *high),
            Self::Only(all) => {
                (all.first().copied().unwrap_or(i64::MIN), all.last().copied().unwrap_or(i64::MAX))
            }
        }
    }

    /// Whether it is one of them.
    pub fn contains(&self, number: i64) -> bool {
        match self {
            Self::Between(low, high) => (*low..=*high).contains(&number),
            Self::Only(all) => all.contains(&number),
        }
    }

    /// Can one of these be one of those, can it be another?
    pub fn equal(&self, other: &Self) -> (bool, bool) {
        let ((low, high), (from, to)) = (self.ends(), other.ends());
        let same = match (self, other) {
            (Self::Only(all), _) => all.iter().any(|one| other.contains(*one)),
            (_, Self::Only(all)) => all.iter().any(|one| self.contains(*one)),
            _ => low <= to && from <= high,
        };
        (same, !(low == high && from == to && low == from))
    }

    /// Can one of these be below one of those, can it not be?
    pub fn below(&self, other: &Self) -> (bool, bool) {
        let ((low, high), (from, to)) = (self.ends(), other.ends());
        (low < to, high >= from)
    }

    /// What either lets through.
    pub fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Only(a), Self::Only(b)) => Self::Only(Arc::new(a.union(b).copied().collect())),
            _ => {
                let ((low, high), (from, to)) = (self.ends(), other.ends());
                Self::Between(low.min(from), high.max(to))
            }
        }
    }

    /// What both let through, if anything.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Only(all), by) | (by, Self::Only(all)) => {
                let both: BTreeSet<i64> = all.iter().copied().filter(|one| by.contains(*one)).collect();
                (!both.is_empty()).then(|| Self::Only(Arc::new(both)))
            }
            (Self::Between(low, high), Self::Between(from, to)) => {
                let (low, high) = (*low.max(from), *high.min(to));
                (low <= high).then_some(Self::Between(low, high))
            }
        }
    }

    /// The same without the other, where that is one number; none if nothing is left.
    pub fn without(&self, other: &Self) -> Option<Self> {
        let (gone, to) = other.ends();
        if gone != to {
            return Some(self.clone());
        }
        match self {
            Self::Only(all) => {
                let left: BTreeSet<i64> = all.iter().copied().filter(|one| *one != gone).collect();
                (!left.is_empty()).then(|| Self::Only(Arc::new(left)))
            }
            Self::Between(low, high) if low == high && *low == gone => None,
            Self::Between(low, high) if *low == gone => Some(Self::Between(low.saturating_add(1), *high)),
            Self::Between(low, high) if *high == gone => Some(Self::Between(*low, high.saturating_sub(1))),
            Self::Between(..) => Some(self.clone()),
        }
    }

    /// What both let through; all numbers where that is none, since no instance fits then.
    fn and(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Only(all), by) | (by, Self::Only(all)) => {
                Self::from(all.iter().copied().filter(|one| by.contains(*one)).collect::<BTreeSet<_>>())
            }
            (Self::Between(low, high), Self::Between(from, to)) => {
                let (low, high) = (*low.max(from), *high.min(to));
                if low > high { Self::default() } else { Self::Between(low, high) }
            }
        }
    }

    /// What a number of a policy could have been, in words; nothing to say where any could.
    pub fn described(&self, places: u32) -> String {
        let shown = |number: i64| Shown { number, places }.to_string();
        match self {
            Self::Only(all) => {
                let listed: Vec<String> =
                    all.iter().take(MAX_LISTED).map(|one| format!("`{}`", shown(*one))).collect();
                let more = if all.len() > MAX_LISTED { ", …" } else { "" };
                format!("it is one of {}{more}", listed.join(", "))
            }
            Self::Between(low, i64::MAX) => format!("it is at least `{}`", shown(*low)),
            Self::Between(i64::MIN, high) => format!("it is at most `{}`", shown(*high)),
            Self::Between(low, high) => format!("it is from `{}` to `{}`", shown(*low), shown(*high)),
        }
    }
}

/// Numbers that a hint lists.
const MAX_LISTED: usize = 16;

/// A number as policies write it.
pub(crate) struct Shown {
    pub number: i64,
    pub places: u32,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.places == 0 {
            return self.number.fmt(f);
        }
        let one = 10_u64.pow(self.places);
        let (whole, rest) = (self.number.unsigned_abs() / one, self.number.unsigned_abs() % one);
        let sign = if self.number < 0 { "-" } else { "" };
        let rest = format!("{rest:0width$}", width = self.places as usize);
        let rest = rest.trim_end_matches('0');
        write!(f, "{sign}{whole}.{}", if rest.is_empty() { "0" } else { rest })
    }
}

/// What one schema says by itself.
fn here(schema: &Value, places: u32) -> Numbers {
    let bound =
        |keyword: &str| schema.get(keyword).and_then(Value::as_number).and_then(|n| scaled(n, places));
    let mut low = i64::MIN;
    let mut high = i64::MAX;
    for (keyword, exclusive) in [("minimum", false), ("exclusiveMinimum", true)] {
        if let Some((floor, exact)) = bound(keyword) {
            // what lies between two that policies can see is the next above
            low = low.max(clamped(floor.saturating_add(i128::from(exclusive || !exact))));
        }
    }
    for (keyword, exclusive) in [("maximum", false), ("exclusiveMaximum", true)] {
        if let Some((floor, exact)) = bound(keyword) {
            high = high.min(clamped(floor.saturating_sub(i128::from(exclusive && exact))));
        }
    }
    let between = if low > high { Numbers::default() } else { Numbers::Between(low, high) };
    match listed(schema, places) {
        Some(listed) => between.and(&listed),
        None => between,
    }
}

/// The values of `enum` or `const`; none where there are none, or one of them cannot be told.
fn listed(schema: &Value, places: u32) -> Option<Numbers> {
    let one;
    let all = match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(all)), None) => all.as_slice(),
        (None, Some(value)) => {
            one = [value.clone()];
            &one
        }
        _ => return None,
    };
    let mut found = BTreeSet::new();
    for number in all.iter().filter_map(Value::as_number) {
        match scaled(number, places) {
            Some((number, true)) => drop(found.insert(i64::try_from(number).ok()?)),
            _ => return None,
        }
    }
    Some(Numbers::from(found))
}

/// A number in units of its last place that counts, rounded down, and whether it is one of them exactly.
fn scaled(number: &Number, places: u32) -> Option<(i128, bool)> {
    let text = number.to_string();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.as_str()),
    };
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() > MAX_DIGITS || !plain(whole) || !plain(rest) {
        return None;
    }
    let places = places as usize;
    let (seen, beyond) = rest.split_at(places.min(rest.len()));
    let units: i128 = format!("{whole}{seen:0<places$}").parse().ok()?;
    let exact = beyond.bytes().all(|byte| byte == b'0');
    Some(match (negative, exact) {
        (false, exact) => (units, exact),
        (true, true) => (-units, true),
        (true, false) => (-units - 1, false),
    })
}

fn clamped(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::{DECIMAL_PLACES, Numbers};
    use crate::openness::Place;
    use serde_json::{Value, json};

    fn read(schema: &Value, places: u32) -> Numbers {
        let document =
            json!({"$defs": {"few": {"maximum": 9}, "circle": {"$ref": "#/$defs/circle", "minimum": 3}}});
        Numbers::of(Some(Place::new(&document, schema)), places)
    }

    fn only(all: &[i64]) -> Numbers {
        Numbers::from(all.iter().copied().collect::<std::collections::BTreeSet<_>>())
    }

    #[test]
    fn bounds_and_lists_are_read_and_what_is_not_recognised_leaves_all_open() {
        let between = Numbers::Between;
        for (schema, expected) in [
            (json!({"minimum": 1, "maximum": 5}), between(1, 5)),
            (json!({"exclusiveMinimum": 1, "exclusiveMaximum": 5}), between(2, 4)),
            (json!({"minimum": 0.5, "maximum": 4.5}), between(1, 4)),
            (json!({"exclusiveMinimum": -1.5, "exclusiveMaximum": 4.5}), between(-1, 4)),
            (json!({"minimum": -3}), between(-3, i64::MAX)),
            (json!({"$ref": "#/$defs/few", "minimum": 2}), between(2, 9)),
            (json!({"allOf": [{"$ref": "#/$defs/few"}, {"minimum": 2}]}), between(2, 9)),
            (json!({"$ref": "#/$defs/circle"}), between(3, i64::MAX)),
            (json!({"enum": [1, 2, 30, null]}), only(&[1, 2, 30])),
            (json!({"enum": [1, 2, 30], "maximum": 9}), only(&[1, 2])),
            (json!({"const": 7}), only(&[7])),
            (json!({"anyOf": [{"maximum": 1}, {"maximum": 2}]}), Numbers::default()),
            (json!({"minimum": 9, "maximum": 1}), Numbers::default()),
            (json!({"maximum": 1e300, "minimum": -1e300}), Numbers::default()),
            (json!({"not": {"minimum": 3}}), Numbers::default()),
        ] {
            assert_eq!(read(&schema, 0), expected, "{schema}");
        }
        assert_eq!(read(&json!({"maximum": 10000.01}), DECIMAL_PLACES), between(i64::MIN, 100_000_100));
        assert_eq!(read(&json!({"minimum": 0.00005}), DECIMAL_PLACES), between(1, i64::MAX));
        assert_eq!(read(&json!({"enum": [0.5, 2]}), DECIMAL_PLACES), only(&[5_000, 20_000]));
    }

    #[test]
    fn they_are_compared_as_every_pair_of_them_would_be() {
        let sets =
            [only(&[1, 2, 3]), only(&[3]), only(&[7, 9]), Numbers::Between(2, 4), Numbers::Between(4, 4)];
        let all = |numbers: &Numbers| (0..=10).filter(|n| numbers.contains(*n)).collect::<Vec<i64>>();
        for a in &sets {
            for b in &sets {
                let (of_a, of_b) = (all(a), all(b));
                let pairs = || of_a.iter().flat_map(|a| of_b.iter().map(move |b| (a, b)));
                let told = |test: &dyn Fn(&i64, &i64) -> bool| {
                    (pairs().any(|(a, b)| test(a, b)), pairs().any(|(a, b)| !test(a, b)))
                };
                assert_eq!(a.equal(b), told(&|a, b| a == b), "{a:?} {b:?}");
                assert_eq!(a.below(b), told(&|a, b| a < b), "{a:?} {b:?}");
                for n in of_a.iter().chain(&of_b) {
                    assert!(a.or(b).contains(*n));
                }
            }
        }
    }

    #[test]
    fn what_they_could_have_been_is_said_as_policies_write_it() {
        assert_eq!(only(&[1, 2]).described(0), "it is one of `1`, `2`");
        assert_eq!(
            Numbers::Between(i64::MIN, 50_005_000).described(DECIMAL_PLACES),
            "it is at most `5000.5`"
        );
        assert_eq!(Numbers::Between(-15_000, i64::MAX).described(DECIMAL_PLACES), "it is at least `-1.5`");
        assert_eq!(Numbers::Between(0, 10_000).described(DECIMAL_PLACES), "it is from `0.0` to `1.0`");
    }
}
