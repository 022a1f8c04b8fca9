//! The numbers that a schema lets a member be, as far as it says so in one place: `minimum`, `maximum`, their exclusive forms,
//! `multipleOf`, `enum` and `const`. Whatever is not recognised leaves every number open.

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
    /// Every multiple of a number above one, from the one to the other; both are multiples, and not the same.
    Every(i64, (i64, i64)),
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

    /// The multiples of a number from the one to the other; none where there are none.
    pub fn multiples(of: i64, (low, high): (i64, i64)) -> Option<Self> {
        let wide = |number: i64| i128::from(number);
        let step = wide(of.max(1));
        let low = i64::try_from(wide(low) + (-wide(low)).rem_euclid(step)).ok()?;
        let high = i64::try_from(wide(high) - wide(high).rem_euclid(step)).ok()?;
        match of {
            _ if low > high => None,
            2.. if low < high => Some(Self::Every(of, (low, high))),
            _ => Some(Self::Between(low, high)),
        }
    }

    /// Every multiple of a number.
    pub fn whole(of: i64) -> Self {
        Self::multiples(of, (i64::MIN, i64::MAX)).unwrap_or_default()
    }

    /// Whether each is a multiple of a number above zero.
    pub fn are_multiples(&self, of: i64) -> bool {
        match self {
            Self::Every(step, _) => step.checked_rem_euclid(of) == Some(0),
            Self::Between(low, high) => low == high && low.checked_rem_euclid(of) == Some(0),
            Self::Only(all) => all.iter().all(|one| one.checked_rem_euclid(of) == Some(0)),
        }
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
            Self::Between(low, high) | Self::Every(_, (low, high)) => (*low, *high),
            Self::Only(all) => {
                (all.first().copied().unwrap_or(i64::MIN), all.last().copied().unwrap_or(i64::MAX))
            }
        }
    }

    /// Whether it is one of them.
    pub fn contains(&self, number: i64) -> bool {
        match self {
            Self::Between(low, high) => (*low..=*high).contains(&number),
            Self::Every(of, (low, high)) => {
                (*low..=*high).contains(&number) && number.checked_rem_euclid(*of) == Some(0)
            }
            Self::Only(all) => all.contains(&number),
        }
    }

    /// Can one of these be one of those, can it be another?
    pub fn equal(&self, other: &Self) -> (bool, bool) {
        let ((low, high), (from, to)) = (self.ends(), other.ends());
        let same = match (self, other) {
            (Self::Only(all), _) => all.iter().any(|one| other.contains(*one)),
            (_, Self::Only(all)) => all.iter().any(|one| self.contains(*one)),
            (Self::Between(..), Self::Between(..)) => low <= to && from <= high,
            _ => self.meet(other).is_some(),
        };
        (same, !(low == high && from == to && low == from))
    }

    /// Can one of these be below one of those, can it not be?
    pub fn below(&self, other: &Self) -> (bool, bool) {
        let ((low, high), (from, to)) = (self.ends(), other.ends());
        (low < to, high >= from)
    }

    /// Whether each of these is one of those.
    pub fn are_among(&self, those: &BTreeSet<i64>) -> bool {
        let (low, high) = self.ends();
        match self {
            Self::Only(all) => all.is_subset(those),
            Self::Between(..) => {
                high.abs_diff(low) < those.len() as u64 && (low..=high).all(|one| those.contains(&one))
            }
            Self::Every(of, _) => {
                let few = high.abs_diff(low) / of.unsigned_abs() < those.len() as u64;
                few && those.iter().filter(|one| self.contains(**one)).count() as u64
                    == 1 + high.abs_diff(low) / of.unsigned_abs()
            }
        }
    }

    /// What either lets through.
    pub fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Only(a), Self::Only(b)) => Self::Only(Arc::new(a.union(b).copied().collect())),
            _ => {
                let ((low, high), (from, to)) = (self.ends(), other.ends());
                let both = (low.min(from), high.max(to));
                let of = match (self, other) {
                    (Self::Every(a, _), Self::Every(b, _)) => common(*a, *b),
                    _ => 1,
                };
                Self::multiples(of, both).unwrap_or(Self::Between(both.0, both.1))
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
            _ => {
                let ((low, high), (from, to)) = (self.ends(), other.ends());
                let (low, high) = (low.max(from), high.min(to));
                match (self, other) {
                    (Self::Every(a, _), Self::Every(b, _)) => match (a / common(*a, *b)).checked_mul(*b) {
                        Some(of) => Self::multiples(of, (low, high)),
                        // past all numbers but nothing
                        None => (low <= 0 && 0 <= high).then_some(Self::Between(0, 0)),
                    },
                    (Self::Every(of, _), _) | (_, Self::Every(of, _)) => Self::multiples(*of, (low, high)),
                    _ => (low <= high).then_some(Self::Between(low, high)),
                }
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
            Self::Every(of, (low, high)) if *low == gone => {
                Self::multiples(*of, (low.saturating_add(1), *high))
            }
            Self::Every(of, (low, high)) if *high == gone => {
                Self::multiples(*of, (*low, high.saturating_sub(1)))
            }
            Self::Between(..) | Self::Every(..) => Some(self.clone()),
        }
    }

    /// What both let through; all numbers where that is none, since no instance fits then.
    fn and(&self, other: &Self) -> Self {
        self.meet(other).unwrap_or_default()
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
            Self::Every(of, (low, high)) => {
                let (first, last) = (low.checked_sub(*of).is_some(), high.checked_add(*of).is_some());
                let whole = format!("it is a multiple of `{}`", shown(*of));
                match (first, last) {
                    (false, false) => whole,
                    (true, false) => format!("{whole}, at least `{}`", shown(*low)),
                    (false, true) => format!("{whole}, at most `{}`", shown(*high)),
                    (true, true) => format!("{whole} from `{}` to `{}`", shown(*low), shown(*high)),
                }
            }
            Self::Between(low, high) => format!("it is from `{}` to `{}`", shown(*low), shown(*high)),
        }
    }
}

/// The greatest number of which both are multiples.
const fn common(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
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
    // what lies between two that policies can see is no number of this schema, which is looked at in all its parts
    let step = bound("multipleOf").filter(|(_, exact)| *exact).and_then(|(step, _)| i64::try_from(step).ok());
    let between = Numbers::multiples(step.unwrap_or(1), (low, high)).unwrap_or_default();
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
            (json!({"multipleOf": 100, "minimum": 1, "maximum": 350}), Numbers::Every(100, (100, 300))),
            (
                json!({"allOf": [{"multipleOf": 4}, {"multipleOf": 6, "minimum": 0}, {"maximum": 40}]}),
                Numbers::Every(12, (0, 36)),
            ),
            (json!({"multipleOf": 100, "minimum": 150, "maximum": 250}), between(200, 200)),
            (json!({"multipleOf": 100, "minimum": 110, "maximum": 190}), Numbers::default()),
            (json!({"multipleOf": 100, "enum": [100, 150]}), only(&[100])),
            (json!({"multipleOf": 1, "minimum": 3}), between(3, i64::MAX)),
            (json!({"multipleOf": 0.5, "minimum": 3}), between(3, i64::MAX)),
        ] {
            assert_eq!(read(&schema, 0), expected, "{schema}");
        }
        assert_eq!(read(&json!({"maximum": 10000.01}), DECIMAL_PLACES), between(i64::MIN, 100_000_100));
        assert_eq!(read(&json!({"minimum": 0.00005}), DECIMAL_PLACES), between(1, i64::MAX));
        assert_eq!(read(&json!({"enum": [0.5, 2]}), DECIMAL_PLACES), only(&[5_000, 20_000]));
        let cents = read(&json!({"multipleOf": 0.01, "minimum": 0, "maximum": 1}), DECIMAL_PLACES);
        assert_eq!(cents, Numbers::Every(100, (0, 10_000)));
    }

    #[test]
    fn the_first_and_the_last_multiple_are_within_the_bounds_of_all_numbers() {
        let all = Numbers::whole(1_000);
        let (low, high) = all.ends();
        assert!(
            low % 1_000 == 0
                && high % 1_000 == 0
                && low.checked_sub(1_000).is_none()
                && high.checked_add(1_000).is_none()
        );
        assert_eq!(Numbers::whole(i64::MAX), Numbers::Every(i64::MAX, (-i64::MAX, i64::MAX)));
        assert_eq!(
            Numbers::whole(i64::MAX).meet(&Numbers::whole(i64::MAX - 1)),
            Some(Numbers::Between(0, 0))
        );
        assert_eq!(Numbers::multiples(10, (i64::MAX - 1, i64::MAX)), None);
        assert!(all.are_multiples(500) && !all.are_multiples(300) && Numbers::Between(6, 6).are_multiples(3));
    }

    #[test]
    fn they_are_compared_as_every_pair_of_them_would_be() {
        let every = |of, ends| Numbers::multiples(of, ends).unwrap();
        let sets = [
            only(&[1, 2, 3]),
            only(&[3]),
            only(&[7, 9]),
            Numbers::Between(2, 4),
            Numbers::Between(4, 4),
            every(2, (0, 10)),
            every(3, (1, 9)),
            every(4, (3, 8)),
            every(5, (6, 10)),
        ];
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
                let both: Vec<i64> = of_a.iter().filter(|n| of_b.contains(n)).copied().collect();
                assert_eq!(a.meet(b).map(|both| all(&both)).unwrap_or_default(), both, "{a:?} {b:?}");
                if let [one] = of_b[..] {
                    let left = a.without(b).map(|left| all(&left)).unwrap_or_default();
                    assert!(of_a.iter().all(|n| *n == one || left.contains(n)), "{a:?} {b:?}");
                    assert!(left.is_empty() == (of_a == of_b), "{a:?} {b:?}");
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
        assert_eq!(Numbers::whole(100).described(0), "it is a multiple of `100`");
        assert_eq!(Numbers::whole(100).described(DECIMAL_PLACES), "it is a multiple of `0.01`");
        let few = |low, high| Numbers::multiples(100, (low, high)).unwrap().described(0);
        assert_eq!(few(1, 350), "it is a multiple of `100` from `100` to `300`");
        assert_eq!(few(1, i64::MAX), "it is a multiple of `100`, at least `100`");
        assert_eq!(few(i64::MIN, 350), "it is a multiple of `100`, at most `300`");
    }
}
