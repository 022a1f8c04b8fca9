//! What a value can be, as far as that is known when policies are loaded.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Expr, Literal, PatternElem, UnaryOp};
use semgate_contexts::PerformativeSet;

use super::derived::Likes;
use super::ranges::Range;
use crate::moments;
use crate::numbers::{DECIMAL_PLACES, Numbers};
use crate::strings::{Rule, either};

/// The values that are possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Values {
    /// Nothing is known.
    Any,
    /// `true`, `false`, either (or neither: it always errs).
    Bool {
        yes: bool,
        no: bool,
    },
    Texts(Arc<BTreeSet<String>>),
    /// Whatever one of these lets be.
    Ruled(Arc<Vec<Rule>>),
    Numbers(Numbers),
    /// Ten-thousandths.
    Decimals(Numbers),
    /// Milliseconds since the Unix epoch, or of a duration: of days and of whole seconds the multiples of these.
    Moments(Numbers),
    Actions(PerformativeSet),
    /// What a member is said to be like.
    Liked(Likes),
    /// In which ranges a member is said to lie, and in which not.
    Lying(Arc<Vec<(Range, bool)>>),
}

pub(super) const EITHER: Values = Values::Bool { yes: true, no: true };

pub(super) const fn only(value: bool) -> Values {
    Values::Bool { yes: value, no: !value }
}

impl Values {
    /// This number.
    pub(crate) const fn number(number: i64) -> Self {
        Self::Numbers(Numbers::Between(number, number))
    }

    /// What either can be.
    pub(crate) fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Texts(a), Self::Texts(b)) => Self::Texts(Arc::new(a.union(b).cloned().collect())),
            (Self::Numbers(a), Self::Numbers(b)) => Self::Numbers(a.or(b)),
            (Self::Decimals(a), Self::Decimals(b)) => Self::Decimals(a.or(b)),
            (Self::Moments(a), Self::Moments(b)) => Self::Moments(a.or(b)),
            (Self::Ruled(a), Self::Ruled(b)) => Self::Ruled(either(a, b)),
            (a, b) if a == b => a.clone(),
            _ => Self::Any,
        }
    }

    /// What is both, if anything can be; of values of different kinds the first.
    pub(super) fn and(&self, other: &Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::Any, known) | (known, Self::Any) => known.clone(),
            (Self::Texts(a), Self::Texts(b)) => {
                let both: BTreeSet<String> = a.intersection(b).cloned().collect();
                if both.is_empty() {
                    return None;
                }
                Self::Texts(Arc::new(both))
            }
            (Self::Ruled(rules), Self::Texts(texts)) | (Self::Texts(texts), Self::Ruled(rules)) => {
                let left: BTreeSet<String> = texts.iter().filter(|text| fits(rules, text)).cloned().collect();
                if left.is_empty() {
                    return None;
                }
                Self::Texts(Arc::new(left))
            }
            (Self::Numbers(a), Self::Numbers(b)) => Self::Numbers(a.meet(b)?),
            (Self::Decimals(a), Self::Decimals(b)) => Self::Decimals(a.meet(b)?),
            (Self::Moments(a), Self::Moments(b)) => Self::Moments(a.meet(b)?),
            (Self::Actions(a), Self::Actions(b)) => {
                let both = a.and(*b);
                if both.is_empty() {
                    return None;
                }
                Self::Actions(both)
            }
            (Self::Bool { yes, no }, Self::Bool { yes: y, no: n }) => {
                let (yes, no) = (*yes && *y, *no && *n);
                if !yes && !no {
                    return None;
                }
                Self::Bool { yes, no }
            }
            _ => self.clone(),
        })
    }

    /// The same without what the other is, where that is one value; none if nothing is left.
    pub(super) fn without(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Texts(all), Self::Texts(gone)) if gone.len() == 1 => {
                let left: BTreeSet<String> = all.difference(gone).cloned().collect();
                (!left.is_empty()).then(|| Self::Texts(Arc::new(left)))
            }
            (Self::Numbers(all), Self::Numbers(gone)) => Some(Self::Numbers(all.without(gone)?)),
            (Self::Decimals(all), Self::Decimals(gone)) => Some(Self::Decimals(all.without(gone)?)),
            (Self::Moments(all), Self::Moments(gone)) => Some(Self::Moments(all.without(gone)?)),
            (Self::Bool { yes, no }, Self::Bool { yes: y, no: n }) if y != n => {
                let (yes, no) = (*yes && *n, *no && *y);
                (yes || no).then_some(Self::Bool { yes, no })
            }
            _ => Some(self.clone()),
        }
    }

    /// As a truth: can it be true, can it be false?
    pub(super) const fn truth(&self) -> (bool, bool) {
        match self {
            Self::Bool { yes, no } => (*yes, *no),
            _ => (true, true),
        }
    }
}

/// Can two values be the same, can they differ?
pub(super) fn equal(a: &Values, b: &Values) -> (bool, bool) {
    fn sets<T: Ord>(a: &BTreeSet<T>, b: &BTreeSet<T>) -> (bool, bool) {
        (!a.is_disjoint(b), !(a.len() == 1 && a == b))
    }
    match (a, b) {
        (Values::Texts(a), Values::Texts(b)) => sets(a, b),
        (Values::Ruled(rules), Values::Texts(texts)) | (Values::Texts(texts), Values::Ruled(rules)) => {
            (texts.iter().any(|text| fits(rules, text)), true)
        }
        (Values::Numbers(a), Values::Numbers(b))
        | (Values::Decimals(a), Values::Decimals(b))
        | (Values::Moments(a), Values::Moments(b)) => a.equal(b),
        (Values::Actions(a), Values::Actions(b)) => (!a.and(*b).is_empty(), !(a.len() == 1 && a == b)),
        (Values::Bool { yes, no }, Values::Bool { yes: y, no: n }) => {
            ((*yes && *y) || (*no && *n), (*yes && *n) || (*no && *y))
        }
        _ => (true, true),
    }
}

pub(super) fn compare(op: BinaryOp, a: &Values, b: &Values) -> Values {
    let (a, b) = match (a, b) {
        (Values::Numbers(a), Values::Numbers(b))
        | (Values::Decimals(a), Values::Decimals(b))
        | (Values::Moments(a), Values::Moments(b)) => (a, b),
        _ => return EITHER,
    };
    let (yes, no) = match op {
        BinaryOp::Less | BinaryOp::DecimalLessThan => a.below(b),
        BinaryOp::Greater | BinaryOp::DecimalGreater => b.below(a),
        BinaryOp::LessEq | BinaryOp::DecimalLessEq => turned(b.below(a)),
        _ => turned(a.below(b)),
    };
    Values::Bool { yes, no }
}

pub(super) const fn turned((yes, no): (bool, bool)) -> (bool, bool) {
    (no, yes)
}

/// A member compared with itself.
pub(super) fn itself(op: BinaryOp) -> Values {
    only(matches!(
        op,
        BinaryOp::LessEq | BinaryOp::GreaterEq | BinaryOp::DecimalLessEq | BinaryOp::DecimalGreaterEq
    ))
}

/// Whether it is a number that is written out.
pub(super) fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(Literal::Long(_)) => true,
        Expr::UnaryOp { op: UnaryOp::Neg, expr } => negative(expr).is_some(),
        Expr::UnaryOp { op: UnaryOp::Decimal, expr } => decimal(expr).is_some(),
        _ => false,
    }
}

pub(super) fn negative(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(Literal::Long(number)) => number.checked_neg(),
        _ => None,
    }
}

/// The ten-thousandths of what `decimal("…")` is given.
pub(super) fn decimal(expr: &Expr) -> Option<i64> {
    let Expr::Literal(Literal::String(text)) = expr else { return None };
    let (whole, rest) = text.split_once('.')?;
    let places = usize::try_from(DECIMAL_PLACES).ok()?;
    if rest.is_empty() || rest.len() > places {
        return None;
    }
    format!("{whole}{rest:0<places$}").parse().ok()
}

/// The moment that `datetime("…")` is given.
pub(super) fn moment(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(Literal::String(text)) => moments::milliseconds(text),
        _ => None,
    }
}

/// The milliseconds that `duration("…")` is given.
pub(super) fn length(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(Literal::String(text)) => moments::length(text),
        _ => None,
    }
}

/// Whether a string is as one of these says.
pub(super) fn fits(rules: &[Rule], text: &str) -> bool {
    rules.iter().any(|rule| rule.fits(text))
}

/// What a test comes to over all of these; over none nothing is said.
pub(super) fn over<T>(all: impl Iterator<Item = T>, test: impl Fn(T) -> bool) -> Values {
    let (mut yes, mut no) = (false, false);
    for one in all {
        if test(one) { yes = true } else { no = true }
    }
    if yes || no { Values::Bool { yes, no } } else { EITHER }
}

/// Whether a text is as Cedar's `like` asks: every length that the pattern so far can have taken, character by character.
pub(super) fn matches(pattern: &[PatternElem], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let mut reached = vec![false; text.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for element in pattern {
        let mut next = vec![false; reached.len()];
        let mut open = false;
        for (at, slot) in next.iter_mut().enumerate() {
            let here = reached.get(at).copied().unwrap_or_default();
            let before = at.checked_sub(1);
            *slot = match element {
                PatternElem::Wildcard => {
                    open |= here;
                    open
                }
                PatternElem::Char(wanted) => before.is_some_and(|before| {
                    reached.get(before) == Some(&true) && text.get(before) == Some(wanted)
                }),
                #[allow(unreachable_patterns, reason = "a newer Cedar may know more")]
                _ => true,
            };
        }
        reached = next;
    }
    reached.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::matches;
    use cedar_policy::pst::PatternElem;

    #[test]
    fn texts_match_as_in_cedar() {
        let pattern = |text: &str| -> Vec<PatternElem> {
            text.chars()
                .map(|c| if c == '*' { PatternElem::Wildcard } else { PatternElem::Char(c) })
                .collect()
        };
        for (wanted, text, expected) in [
            ("", "", true),
            ("*", "", true),
            ("a*", "abc", true),
            ("a*c", "abc", true),
            ("a*d", "abc", false),
            ("*b*", "abc", true),
            ("**", "x", true),
            ("abc", "ab", false),
            ("é*", "éa", true),
        ] {
            assert_eq!(matches(&pattern(wanted), text), expected, "{wanted} {text}");
        }
        let hard = pattern(&"*a".repeat(40));
        assert!(!matches(&hard, &"b".repeat(200)));
    }
}
