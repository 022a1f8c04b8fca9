//! Addresses: in which ranges a member is said to lie, and in which not. An address that is a range itself lies in what holds all of it.

use std::net::IpAddr;
use std::sync::Arc;

use cedar_policy::pst::{Expr, Literal, UnaryOp, Var};

use super::compared::written;
use super::derived::{is_ipv4, ranged};
use super::facts::Where;
use super::members::path_of;
use super::never::{Never, literally};
use super::possible::Looking;
use super::values::{Values, only};

/// The addresses from one to another, of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    v6: bool,
    low: u128,
    high: u128,
}

impl Range {
    /// The range of `ip("…")`.
    fn written(expr: &Expr) -> Option<Self> {
        let Expr::UnaryOp { op: UnaryOp::Ip, expr } = expr else { return None };
        let Expr::Literal(Literal::String(text)) = &**expr else { return None };
        let (address, prefix) = text.split_once('/').map_or((text.as_str(), None), |(a, p)| (a, Some(p)));
        let (v6, bits, width) = match address.parse::<IpAddr>().ok()? {
            IpAddr::V4(address) => (false, u128::from(address.to_bits()), 32),
            IpAddr::V6(address) => (true, address.to_bits(), 128),
        };
        let prefix = prefix.map_or(Some(width), |prefix| prefix.parse::<u32>().ok())?;
        let rest = u128::MAX.checked_shr(128_u32.checked_sub(width.checked_sub(prefix)?)?).unwrap_or(0);
        Some(Self { v6, low: bits & !rest, high: bits | rest })
    }

    fn within(self, other: Self) -> bool {
        self.v6 == other.v6 && other.low <= self.low && self.high <= other.high
    }

    /// Whether it is more than one address.
    const fn is_wide(self) -> bool {
        self.low != self.high
    }

    fn apart(self, other: Self) -> bool {
        self.v6 != other.v6 || self.high < other.low || other.high < self.low
    }
}

impl Looking<'_, '_> {
    /// Notes a range that is taken for the one address that a member, or an item of a set, is; whether it did.
    pub(super) fn range_for_one(&mut self, member: &Expr, range: &Expr, is_set: bool) -> bool {
        let Some((Var::Resource, _)) = path_of(member) else { return false };
        let wide = Range::written(range).is_some_and(Range::is_wide);
        if let Expr::UnaryOp { expr, .. } = range
            && let Some(literal) = literally(expr).filter(|_| wide)
        {
            self.never.push(Never::Range { member: written(member), literal, is_set });
        }
        wide
    }

    /// What is known where a member lies in a range, or does not; none if that is never so.
    pub(super) fn lying(&self, member: &Expr, range: &Expr, truth: bool, here: &Where) -> Option<Where> {
        let known = || Some((path_of(member)?, Range::written(range)?));
        let Some(((var, path), range)) = known().filter(|_| self.known.follows()) else {
            return Some(here.clone());
        };
        let own = ranged(&path);
        let before: &[(Range, bool)] = match here.said(&var, &own) {
            Some(Values::Lying(all)) => all,
            _ => &[],
        };
        let can = |(other, so): &(Range, bool)| match (*so, truth) {
            (true, true) => !other.apart(range),
            (true, false) => !other.within(range),
            (false, true) => !range.within(*other),
            (false, false) => true,
        };
        if !before.iter().all(can) {
            return None;
        }
        let all: Vec<(Range, bool)> = before.iter().copied().chain([(range, truth)]).collect();
        let there = here.saying((var.clone(), own), Values::Lying(Arc::new(all)));
        if truth { self.learn((var, is_ipv4(&path)), &only(!range.v6), &there) } else { Some(there) }
    }
}

#[cfg(test)]
mod tests {
    use super::Range;
    use cedar_policy::pst::Clause;

    fn range(text: &str) -> Range {
        let policy = format!("permit (principal, action, resource) when {{ ip(\"{text}\") }};");
        let clauses = crate::parse::clauses(&policy.parse().unwrap()).unwrap();
        let Clause::When(expr) = &clauses[0] else { panic!("when") };
        Range::written(expr).unwrap()
    }

    #[test]
    fn ranges_are_read_as_the_addresses_that_they_hold() {
        for (narrow, wide, within) in [
            ("10.1.2.3", "10.0.0.0/8", true),
            ("10.0.0.0/8", "10.1.2.3/8", true),
            ("10.0.0.0/8", "10.0.0.0/9", false),
            ("11.0.0.0/8", "10.0.0.0/8", false),
            ("::1", "::/0", true),
            ("0.0.0.0/0", "::/0", false),
            ("255.255.255.255", "0.0.0.0/0", true),
        ] {
            assert_eq!(range(narrow).within(range(wide)), within, "{narrow} {wide}");
            assert!(!within || !range(narrow).apart(range(wide)), "{narrow} {wide}");
        }
        assert!(range("10.0.0.0/9").apart(range("10.128.0.0/9")) && range("::/0").apart(range("0.0.0.0/0")));
        assert!(!range("10.0.0.0/9").apart(range("10.127.0.0/16")));
    }
}
