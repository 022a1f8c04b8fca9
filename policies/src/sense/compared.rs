//! Comparisons: what can be equal, what a set can hold, and literals that a member never is.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Expr, Literal, PatternElem, Var};
use semgate_contexts::PerformativeSet;

use super::facts::{Side, Where};
use super::implied::alike;
use super::members::path_of;
use super::never::{Literally, Never, literally};
use super::possible::{Known, Looking, action, is_version};
use super::values::{EITHER, Values, equal, fits, is_number, matches, only, over};
use crate::moments::DAY;
use crate::numbers::{DECIMAL_PLACES, Numbers};

/// Bytes of the longest trust domain (SPIFFE-ID §2.1).
const MAX_DOMAIN: usize = 255;

impl Looking<'_, '_> {
    pub(super) fn same(&mut self, left: &Arc<Expr>, right: &Arc<Expr>, here: &Where) -> (bool, bool) {
        self.unfit(left, right, here);
        self.unfit(right, left, here);
        if self.range_for_one(left, right, false) || self.range_for_one(right, left, false) {
            return (false, true);
        }
        if let Some(members) = self.member_by_member(left, right) {
            let each: Vec<_> = members.iter().map(|(one, other)| self.same(one, other, here)).collect();
            return (each.iter().all(|(same, _)| *same), each.iter().any(|(_, other)| *other));
        }
        for (set, items) in [(left, right), (right, left)] {
            if let Expr::Set(items) = &**items {
                let can = items.iter().map(|item| self.can_hold(set, item, here)).collect::<Vec<_>>();
                if can.contains(&false) {
                    return (false, true);
                }
            }
        }
        if self.is_no_version(left, right, here) || self.is_no_version(right, left, here) {
            return (false, true);
        }
        for (one, whom) in [(left, right), (right, left)] {
            if let (Some(side), Expr::Literal(_)) = (Side::of(one), &**whom) {
                return self.among(side, whom, here).truth();
            }
        }
        equal(&self.values(left, here), &self.values(right, here))
    }

    /// Whether a number is none of the versions of a line that is named. What is below or above them is left open: of a line it may be said from
    /// which version on.
    fn is_no_version(&mut self, member: &Arc<Expr>, number: &Arc<Expr>, here: &Where) -> bool {
        self.known == Known::Lasting && is_version(member) && {
            let known = Self::knowing(self.world, Known::Structure).values(member, here);
            !equal(&known, &self.values(number, here)).0
        }
    }

    /// What two questions come to beside each other that are the same in other words, or of which one is the contrary of the other.
    pub(super) fn same_question(&self, left: &Expr, right: &Expr) -> Option<Values> {
        let asks = |expr: &Expr| matches!(expr, Expr::UnaryOp { .. } | Expr::BinaryOp { .. });
        if self.known == Known::Nothing || !(asks(left) || asks(right)) {
            return None;
        }
        alike(left, right, self.world).map(only)
    }

    /// Whether sender or receiver can be one of these, and another.
    pub(super) fn among(&mut self, side: Side, whom: &Expr, here: &Where) -> Values {
        if !self.counts(whom) {
            return EITHER;
        }
        let (Some(can_be), Some(asked)) = (&here.end(side).can_be, self.world.agents_of(whom)) else {
            return EITHER;
        };
        Values::Bool { yes: !can_be.is_disjoint(&asked), no: !can_be.is_subset(&asked) }
    }

    pub(super) fn action_in(&self, right: &Expr, here: &Where) -> Values {
        let listed = match right {
            Expr::Set(items) => items.iter().map(|item| named_action(item)).collect::<Option<Vec<_>>>(),
            one => named_action(one).map(|one| vec![one]),
        };
        let Some(listed) = listed else { return EITHER };
        over(here.actions.iter(), |action| listed.iter().any(|set| set.contains(action)))
    }

    pub(super) fn contains(
        &mut self,
        op: BinaryOp,
        left: &Arc<Expr>,
        right: &Arc<Expr>,
        here: &Where,
    ) -> Values {
        // whether two sets have something in common is the same from either side
        if op == BinaryOp::ContainsAny && is_set(left) && !is_set(right) {
            return self.contains(op, right, left, here);
        }
        if let Expr::Set(items) = &**left
            && op == BinaryOp::ContainsAll
            && !is_set(right)
        {
            // one that the other set never has does nothing; an empty one has all of itself among these
            for item in items {
                let _ = self.can_hold(right, item, here);
            }
            return self.ignored(&[left, right], here);
        }
        if let Expr::Set(items) = &**left
            && op == BinaryOp::Contains
        {
            items.iter().for_each(|item| self.unfit(right, item, here));
            let ranges = items.iter().filter(|item| self.range_for_one(right, item, false)).count();
            if ranges == items.len() && ranges > 0 {
                return only(false);
            }
            let each: Vec<Values> = items.iter().map(|item| self.values(item, here)).collect();
            let asked = self.values(right, here);
            let can: Vec<bool> = items.iter().map(|item| self.same_item(item, right, here)).collect();
            let yes = can.contains(&true);
            return Values::Bool { yes, no: !all_among(&asked, &each) };
        }
        let wanted: Vec<&Arc<Expr>> = match &**right {
            Expr::Set(items) if op != BinaryOp::Contains => items.iter().collect(),
            _ if op == BinaryOp::Contains => vec![right],
            _ => return self.ignored(&[left, right], here),
        };
        self.values(left, here);
        let held: Vec<bool> = wanted.iter().map(|item| self.can_hold(left, item, here)).collect();
        if self.is_empty(left, here) {
            return only(false);
        }
        let yes = match op {
            BinaryOp::ContainsAny => held.contains(&true),
            _ => !held.contains(&false),
        };
        Values::Bool { yes, no: true }
    }

    /// Whether a set that is looked up can have this item.
    fn can_hold(&mut self, set: &Expr, item: &Arc<Expr>, here: &Where) -> bool {
        self.values(item, here);
        if let Expr::Set(items) = set {
            return items.iter().any(|one| self.can_be(one, item, here));
        }
        if let Expr::IfThenElse { then_expr, else_expr, .. } = set {
            let before = self.never.len();
            let (then, other) = (self.can_hold(then_expr, item, here), self.can_hold(else_expr, item, here));
            if then || other {
                // what one of them can hold is no mistake
                self.never.truncate(before);
            }
            return then || other;
        }
        if self.range_for_one(set, item, true) {
            return false;
        }
        let Some(literal) = literally(item) else {
            let items = self.resource_path(set).filter(|_| !self.known.is_bare());
            return items.is_none_or(|path| match self.world.kind_of_items(&path, here) {
                Some(kind) => self.can_be_of(kind, (set, item), here),
                None => true,
            });
        };
        if is_credentials(set) {
            let (held, text) = (self.world.held(&literal.text), literal.text.clone());
            if !held {
                self.never.push(Never::Credential { literal });
            }
            // somebody may have it tomorrow
            let may_have = || self.known != Known::All || self.world.may_have(set, &text, here);
            let shows = || !self.known.is_full() || self.world.may_show(set, &text, here);
            return (held && may_have() && shows()) || self.known.is_bare();
        }
        match self.resource_path(set).map(|path| self.world.items(&path, here)) {
            Some(_) if self.known.is_bare() => true,
            Some(values) => self.can_be_text(set, literal, values),
            None => true,
        }
    }

    /// Whether a text is one of the values of a member; notes one that is not.
    pub(super) fn can_be_text(&mut self, member: &Expr, literal: Literally, values: Values) -> bool {
        let member = written(member);
        match values {
            Values::Texts(values) if !values.contains(&literal.text) => {
                self.never.push(Never::Text { member, literal, values });
            }
            Values::Ruled(rules) if !fits(&rules, &literal.text) => {
                let asks = rules.first().map(|rule| rule.asks(&literal.text)).unwrap_or_default();
                self.never.push(Never::Form { member, literal, asks });
            }
            _ => return true,
        }
        false
    }

    /// Notes a literal that a member is compared with and never has.
    pub(super) fn unfit(&mut self, member: &Arc<Expr>, literal: &Arc<Expr>, here: &Where) {
        if !matches!(**member, Expr::GetAttr { .. }) {
            return;
        }
        let Some(literal) = literally(literal) else {
            return self.never_number(member, literal, here);
        };
        self.member(member, here);
        if is_domain(member) && !is_trust_domain(&literal.text) {
            return self.never_domain(member, &literal.text);
        }
        // who is in a group, and which task is a tool, may be otherwise tomorrow
        let may_change = is_domain(member) || is_binding(member);
        let known = if may_change && self.known == Known::All { Known::Structure } else { self.known };
        let looking = Self::knowing(self.world, known);
        let values = path_of(member).map(|(var, path)| looking.by_schema(&var, &path, here));
        // a domain is named that nobody of is met
        let values = match (values, self.world.met()) {
            (Some(Values::Any), Some(met)) if is_domain(member) => Some(Values::Texts(Arc::clone(met))),
            (values, _) => values,
        };
        if let Some(values) = values {
            self.can_be_text(member, literal, values);
        }
    }

    fn never_number(&mut self, member: &Arc<Expr>, literal: &Expr, here: &Where) {
        let known = match path_of(member) {
            Some((Var::Resource, path)) => self.world.member(&path, here),
            Some((Var::Context, path))
                if matches!(path.first().map(String::as_str), Some("scores" | "now" | "session")) =>
            {
                self.by_schema(&Var::Context, &path, here)
            }
            _ => return,
        };
        // of a literal nothing is noted
        let (numbers, number, places) = match (known, self.values(literal, here)) {
            (Values::Numbers(numbers), Values::Numbers(one)) => (numbers, one, 0),
            (Values::Decimals(numbers), Values::Decimals(one)) => (numbers, one, DECIMAL_PLACES),
            (Values::Moments(Numbers::Every(whole, _)), Values::Moments(one))
                if !one.are_multiples(whole) =>
            {
                let (Expr::UnaryOp { expr, .. }, (low, high)) = (literal, one.ends()) else { return };
                if let Some(literal) = literally(expr).filter(|_| low == high) {
                    self.never.push(Never::Between { member: written(member), literal, days: whole == DAY });
                }
                return;
            }
            _ => return,
        };
        let (low, high) = number.ends();
        if is_number(literal) && low == high && !numbers.contains(low) {
            self.never.push(Never::Number { member: written(member), literal: low, places, numbers });
        }
    }

    /// Whether a text is as a pattern says.
    pub(super) fn like(&mut self, expr: &Arc<Expr>, pattern: &[PatternElem], here: &Where) -> Values {
        let known = self.values(expr, here);
        if is_domain(expr) {
            let text: String = pattern.iter().map(shown).collect();
            let plain: String = text.chars().filter(|c| *c != '*').collect();
            if !plain.is_empty() && !is_trust_domain(&plain) {
                self.never_domain(expr, &text);
            }
        }
        match known {
            Values::Texts(texts) => over(texts.iter(), |text| matches(pattern, text)),
            Values::Ruled(rules) if !rules.iter().any(|rule| rule.may_be_like(pattern)) => only(false),
            _ if self.liking(expr, pattern, true, here).is_none() => only(false),
            _ => EITHER,
        }
    }

    fn never_domain(&mut self, member: &Expr, text: &str) {
        let at = super::owners::anchor(member);
        let meant = meant_domain(text);
        self.never.push(Never::TrustDomain { member: written(member), text: text.to_owned(), meant, at });
    }
}

/// Whether each value that it can be is one of these.
fn all_among(asked: &Values, listed: &[Values]) -> bool {
    let one = |item: &Values| match (asked, item) {
        (Values::Numbers(_), Values::Numbers(item))
        | (Values::Decimals(_), Values::Decimals(item))
        | (Values::Moments(_), Values::Moments(item)) => {
            let (low, high) = item.ends();
            (low == high).then_some(low)
        }
        _ => None,
    };
    if let Values::Numbers(asked) | Values::Decimals(asked) | Values::Moments(asked) = asked {
        return asked.are_among(&listed.iter().filter_map(one).collect());
    }
    let Values::Texts(asked) = asked else { return false };
    let one = |text: &String| {
        listed
            .iter()
            .any(|item| matches!(item, Values::Texts(item) if item.len() == 1 && item.contains(text)))
    };
    asked.iter().all(one)
}

/// A part of a pattern as it is written.
const fn shown(part: &PatternElem) -> char {
    match part {
        PatternElem::Char(c) => *c,
        _ => '*',
    }
}

/// `trust_domain` of an agent; an instance may have a member of that name, which is what its schema says.
fn is_domain(expr: &Expr) -> bool {
    match expr {
        Expr::GetAttr { expr, attr } if attr == "trust_domain" => match &**expr {
            Expr::Literal(Literal::EntityUID(uid)) => uid.ty.to_string() == "Agent",
            whom => Side::of(whom).is_some(),
        },
        _ => false,
    }
}

/// The binding of a message, or the version of it.
fn is_binding(expr: &Expr) -> bool {
    matches!(expr, Expr::GetAttr { expr, attr }
        if matches!(**expr, Expr::Var(Var::Context)) && matches!(attr.as_str(), "binding" | "binding_version"))
}

/// Whether it has the form of a trust domain (SPIFFE-ID §2.1).
fn is_trust_domain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    (1..=MAX_DOMAIN).contains(&text.len()) && text.bytes().all(plain)
}

/// The trust domain of a URL, an id or a name in capitals.
fn meant_domain(text: &str) -> Option<String> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let domain = rest.split(['/', ':']).next()?.trim().to_ascii_lowercase();
    let plain: String = domain.chars().filter(|c| *c != '*').collect();
    is_trust_domain(&plain).then_some(domain)
}

pub(super) const fn is_set(expr: &Expr) -> bool {
    matches!(expr, Expr::Set(_))
}

/// `principal.credentials`, of the receiver, or of a named agent; also one or the other of them.
pub(super) fn is_credentials(expr: &Expr) -> bool {
    match expr {
        Expr::IfThenElse { then_expr, else_expr, .. } => {
            is_credentials(then_expr) && is_credentials(else_expr)
        }
        Expr::GetAttr { expr, attr } if attr == "credentials" => match &**expr {
            Expr::Var(Var::Principal) => true,
            Expr::Literal(Literal::EntityUID(uid)) => uid.ty.to_string() == "Agent",
            Expr::GetAttr { expr, attr } => matches!(**expr, Expr::Var(Var::Context)) && attr == "receiver",
            _ => false,
        },
        _ => false,
    }
}

/// A member as it is written.
pub(super) fn written(expr: &Expr) -> String {
    match expr {
        Expr::GetAttr { expr, attr } => format!("{}.{attr}", written(expr)),
        Expr::Var(Var::Principal) => "principal".to_owned(),
        Expr::Var(Var::Resource) => "resource".to_owned(),
        Expr::Var(Var::Context) => "context".to_owned(),
        Expr::Var(Var::Action) => "action".to_owned(),
        _ => "it".to_owned(),
    }
}

pub(super) fn named_action(expr: &Expr) -> Option<PerformativeSet> {
    match expr {
        Expr::Literal(Literal::EntityUID(uid)) => action(uid),
        _ => None,
    }
}
