//! What methods make of a member, as members of their own: the time of its day, its day, whether it is empty, which address it is, and what
//! it is like. So that what conditions say of them counts where they are asked again: for whether a whole condition can hold, or a part of one
//! that is looked at as a whole ([`super::pieces`]), and not for what is known where a part stands, since one that says again what is known there
//! is no mistake (`context.now.toTime() >= duration("0h") && …`).

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Expr, PatternElem, UnaryOp, Var};

use super::facts::Where;
use super::members::path_of;
use super::possible::{Known, Looking};
use super::sums::{combined, less, shifted};
use super::values::{Values, matches};
use crate::moments::{DAY, HOUR, MINUTE, SECOND};
use crate::numbers::Numbers;

/// What stands behind the names of a member: no name of a schema begins so.
const TIME: &str = "\0toTime";
const DATE: &str = "\0toDate";
/// What counts a duration in whole units, cut off towards nothing.
const MILLISECONDS: &str = "\0toMilliseconds";
const SECONDS: &str = "\0toSeconds";
const MINUTES: &str = "\0toMinutes";
const HOURS: &str = "\0toHours";
const DAYS: &str = "\0toDays";
const EMPTY: &str = "\0isEmpty";
const IPV4: &str = "\0isIpv4";
const LIKE: &str = "\0like";
const RANGED: &str = "\0isInRange";
const HELD: &str = "\0contains";
const LACKED: &str = "\0lacks";
const NO_OTHERS: &str = "\0containsAll";
/// Before the milliseconds that a moment is taken on by, of which a method makes something: the time of day elsewhere.
const OFFSET: &str = "\0offset ";
const HAS: &str = "\0has";
/// Before the text of what is computed: it comes to the same wherever it stands.
const COMPUTED: &str = "\0computed ";

/// The character that a wildcard is taken for, which no pattern is looked at with.
const ANYTHING: char = '\u{10ffff}';

/// A pattern, and whether the member is so.
type Liked = (Arc<[PatternElem]>, bool);

/// What a member is said to be like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Likes(Arc<Vec<Liked>>);

/// The name of what a method makes of a member.
pub(super) const fn made_by(op: UnaryOp) -> Option<&'static str> {
    match op {
        UnaryOp::ToTime => Some(TIME),
        UnaryOp::ToDate => Some(DATE),
        UnaryOp::ToMilliseconds => Some(MILLISECONDS),
        UnaryOp::ToSeconds => Some(SECONDS),
        UnaryOp::ToMinutes => Some(MINUTES),
        UnaryOp::ToHours => Some(HOURS),
        UnaryOp::ToDays => Some(DAYS),
        UnaryOp::IsEmpty => Some(EMPTY),
        UnaryOp::IsIPv4 => Some(IPV4),
        _ => None,
    }
}

/// Whether a name is that of what a method makes.
pub(super) fn is_made(name: &str) -> bool {
    name.starts_with('\0')
}

impl Looking<'_, '_> {
    /// What the last of these names is, if a method makes it of the member before.
    pub(super) fn made(&self, var: &Var, path: &[String], here: &Where) -> Option<Values> {
        let (name, member) = path.split_last().filter(|(name, _)| is_made(name))?;
        if !self.known.follows() {
            return Some(Values::Any);
        }
        if name.starts_with(COMPUTED) {
            return Some(Values::Any);
        }
        if let Some(shift) = name.strip_prefix(OFFSET) {
            let shift = shift.parse().ok().map(|shift| Numbers::Between(shift, shift))?;
            return Some(match self.known_of(var, member, here) {
                Values::Moments(moments) => {
                    combined(BinaryOp::Add, &moments, &shift).map_or(Values::Any, Values::Moments)
                }
                _ => Values::Any,
            });
        }
        let all = |low, high| Numbers::Between(low, high);
        Some(match name.as_str() {
            TIME => match self.known_of(var, member, here) {
                Values::Moments(moments) if moments.are_multiples(DAY) => Values::Moments(all(0, 0)),
                Values::Moments(moments) if moments.are_multiples(SECOND) => {
                    Values::Moments(Numbers::multiples(SECOND, (0, DAY - 1)).unwrap_or_default())
                }
                _ => Values::Moments(all(0, DAY - 1)),
            },
            DATE => {
                let (low, high) = match self.known_of(var, member, here) {
                    Values::Moments(moments) => moments.ends(),
                    _ => Numbers::default().ends(),
                };
                let begin = |moment: i64| moment.checked_sub(moment.rem_euclid(DAY)).unwrap_or(i64::MIN);
                Values::Moments(Numbers::multiples(DAY, (begin(low), begin(high))).unwrap_or_default())
            }
            EMPTY => match var {
                Var::Resource if self.known == Known::All => self.world.emptiness(member, here),
                _ => Values::Any,
            },
            IPV4 => match var {
                Var::Resource if self.known == Known::All => self.world.family(member, here),
                _ => Values::Any,
            },
            LIKE | RANGED | HELD | LACKED | NO_OTHERS | HAS => Values::Any,
            other => self.counted(unit_of(other)?, (var, member), here),
        })
    }

    /// How many whole units of so many milliseconds a duration has.
    fn counted(&self, unit: i64, (var, member): (&Var, &[String]), here: &Where) -> Values {
        in_units(unit, &self.known_of(var, member, here))
    }

    /// The same of a length that is no member, of which this method makes a number.
    pub(super) fn in_units_of(&self, op: UnaryOp, length: &Values) -> Values {
        match made_by(op).and_then(unit_of).filter(|_| self.known.follows()) {
            Some(unit) => in_units(unit, length),
            None => Values::Any,
        }
    }

    /// What is known where a member is like a pattern, or is not; none if that is never so.
    pub(super) fn liking(
        &self,
        member: &Expr,
        pattern: &[PatternElem],
        truth: bool,
        here: &Where,
    ) -> Option<Where> {
        let Some((var, path)) = path_of(member).filter(|_| self.known.follows()) else {
            return Some(here.clone());
        };
        if !truth && pattern.iter().all(|part| *part == PatternElem::Wildcard) {
            return None;
        }
        let known = self.known_of(&var, &path, here);
        if let Values::Texts(all) = &known {
            let left = all.iter().filter(|text| matches(pattern, text) == truth).cloned().collect();
            return self.learn((var, path), &Values::Texts(Arc::new(left)), here);
        }
        if let Some(text) = plain(pattern)
            && truth
        {
            return self.learn((var, path), &Values::Texts(Arc::new([text].into())), here);
        }
        let own = liked(&path);
        let before = likes(here, &var, &path);
        if !before.iter().all(|(other, so)| can_be(other, *so, pattern, truth)) {
            return None;
        }
        let all: Vec<Liked> = before.iter().cloned().chain([(pattern.into(), truth)]).collect();
        Some(here.saying((var, own), Values::Liked(Likes(Arc::new(all)))))
    }

    /// With what a set that holds one of these is not: empty.
    pub(super) fn holding(&self, set: &Expr, here: &Where) -> Option<Where> {
        match path_of(set).filter(|_| self.known.follows()) {
            Some((var, path)) => self.learn((var, with(&path, EMPTY)), &super::values::only(false), here),
            None => Some(here.clone()),
        }
    }

    /// Whether a set is empty wherever this is asked.
    pub(super) fn is_empty(&self, set: &Expr, here: &Where) -> bool {
        path_of(set).is_some_and(|(var, path)| {
            self.known_of(&var, &with(&path, EMPTY), here).truth() == (true, false)
        })
    }
}

/// The milliseconds of the units that a method counts.
fn unit_of(name: &str) -> Option<i64> {
    Some(match name {
        MILLISECONDS => 1,
        SECONDS => SECOND,
        MINUTES => MINUTE,
        HOURS => HOUR,
        DAYS => DAY,
        _ => return None,
    })
}

fn in_units(unit: i64, length: &Values) -> Values {
    match length {
        Values::Moments(lengths) => {
            let (low, high) = lengths.ends();
            Values::Numbers(Numbers::Between(low / unit, high / unit))
        }
        _ => Values::Any,
    }
}

/// What a member is of which a method makes one of these: so that the same time in hours and in minutes is one time.
pub(super) fn made_of(name: &str, values: &Values) -> Option<Values> {
    if let Some(shift) = name.strip_prefix(OFFSET) {
        return Some(less(values, shift.parse().ok()?));
    }
    let (low, high) = match values {
        Values::Numbers(numbers) | Values::Moments(numbers) => numbers.ends(),
        _ => return None,
    };
    let (low, high) = match (name, unit_of(name)) {
        (DATE, _) => (low, high.saturating_add(DAY - 1)),
        // cut off towards nothing
        (_, Some(unit)) => (
            if low > 0 {
                low.saturating_mul(unit)
            } else {
                low.saturating_mul(unit).saturating_sub(unit - 1)
            },
            if high < 0 {
                high.saturating_mul(unit)
            } else {
                high.saturating_mul(unit).saturating_add(unit - 1)
            },
        ),
        _ => return None,
    };
    Some(Values::Moments(Numbers::Between(low, high)))
}

/// Those of some texts that are as a member is said to be.
pub(super) fn as_liked(values: Values, (var, path): (&Var, &[String]), here: &Where) -> Option<Values> {
    let before = likes(here, var, path);
    let Values::Texts(all) = &values else { return Some(values) };
    if before.is_empty() {
        return Some(values);
    }
    let fits = |text: &&String| before.iter().all(|(pattern, so)| matches(pattern, text) == *so);
    let left: std::collections::BTreeSet<String> = all.iter().filter(fits).cloned().collect();
    (!left.is_empty()).then(|| Values::Texts(Arc::new(left)))
}

fn likes<'h>(here: &'h Where, var: &Var, path: &[String]) -> &'h [Liked] {
    match here.said(var, &liked(path)) {
        Some(Values::Liked(likes)) => &likes.0,
        _ => &[],
    }
}

fn liked(path: &[String]) -> Vec<String> {
    with(path, LIKE)
}

/// In which ranges an address is said to lie.
pub(super) fn ranged(path: &[String]) -> Vec<String> {
    with(path, RANGED)
}

/// Whether an address is of the shorter kind.
pub(super) fn is_ipv4(path: &[String]) -> Vec<String> {
    with(path, IPV4)
}

/// A member that is taken on by a length that is written out.
pub(super) fn offset(expr: &Expr) -> Option<(Var, Vec<String>)> {
    let Expr::BinaryOp { op: BinaryOp::Offset, .. } = expr else { return None };
    let ((var, path), shift) = shifted(expr)?;
    Some((var, with(&path, &format!("{OFFSET}{shift}"))))
}

/// What is computed of members, as one of its own: a sum, a product, a distance in time.
pub(super) fn computed(expr: &Expr) -> Option<(Var, Vec<String>)> {
    use BinaryOp::{Add, DurationSince, Mul, Offset, Sub};
    let Expr::BinaryOp { op: Add | Sub | Mul | Offset | DurationSince, .. } = expr else { return None };
    Some((Var::Context, vec![format!("{COMPUTED}{expr}")]))
}

/// Whether a member is said to be there.
pub(super) fn is_there(path: &[String]) -> Vec<String> {
    with(path, HAS)
}

/// The member that this says to be there.
pub(super) fn said_there(path: &[String]) -> Option<&[String]> {
    path.split_last().filter(|(name, _)| *name == HAS).map(|(_, member)| member)
}

/// What a set is said to hold.
pub(super) fn held(path: &[String]) -> Vec<String> {
    with(path, HELD)
}

/// What a set is said not to hold.
pub(super) fn lacked(path: &[String]) -> Vec<String> {
    with(path, LACKED)
}

/// What all that a set holds is among.
pub(super) fn no_others(path: &[String]) -> Vec<String> {
    with(path, NO_OTHERS)
}

fn with(path: &[String], name: &str) -> Vec<String> {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

/// The text of a pattern without a wildcard.
fn plain(pattern: &[PatternElem]) -> Option<String> {
    pattern.iter().map(letter).collect()
}

/// What a part of a pattern writes out.
pub(super) const fn letter(part: &PatternElem) -> Option<char> {
    match part {
        PatternElem::Char(c) => Some(*c),
        PatternElem::Wildcard => None,
    }
}

/// Whether one text could be as both say. Of two wishes the beginnings and the ends must agree; of a wish and what is not wished for, the
/// second must not hold wherever the first does.
fn can_be(a: &[PatternElem], is_a: bool, b: &[PatternElem], is_b: bool) -> bool {
    match (is_a, is_b) {
        (true, true) => {
            let fixed = |pattern: &[PatternElem]| pattern.iter().map_while(letter).collect::<Vec<char>>();
            let ended =
                |pattern: &[PatternElem]| pattern.iter().rev().map_while(letter).collect::<Vec<char>>();
            let agree = |a: Vec<char>, b: Vec<char>| a.iter().zip(&b).all(|(a, b)| a == b);
            agree(fixed(a), fixed(b)) && agree(ended(a), ended(b))
        }
        (true, false) => !within(a, b),
        (false, true) => !within(b, a),
        (false, false) => true,
    }
}

/// Whether every text like the first is like the second: it is, if the first is so with its wildcards taken for a letter of their own, which
/// only a wildcard takes.
fn within(narrow: &[PatternElem], wide: &[PatternElem]) -> bool {
    let text: String = narrow.iter().map(|part| letter(part).unwrap_or(ANYTHING)).collect();
    let strange = [narrow, wide].iter().any(|all| all.contains(&PatternElem::Char(ANYTHING)));
    !strange && matches(wide, &text)
}

/// The questions for one item that a question for several is made of, and whether all of them are needed.
pub(super) fn each_item(expr: &Expr) -> Option<(Vec<Expr>, bool)> {
    let Expr::BinaryOp { op, left, right } = expr else { return None };
    let all = match op {
        BinaryOp::ContainsAll => true,
        BinaryOp::ContainsAny => false,
        _ => return None,
    };
    let Expr::Set(items) = &**right else { return None };
    let one = |item: &Arc<Expr>| Expr::BinaryOp {
        op: BinaryOp::Contains,
        left: Arc::clone(left),
        right: Arc::clone(item),
    };
    Some((items.iter().map(one).collect(), all))
}
