//! What is known where an expression stands: by the scope, and by the conditions that hold before it comes to be asked.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal, UnaryOp, Var};
use semgate_contexts::PerformativeSet;

use super::compared::named_action;
use super::derived::{as_liked, computed, is_made, is_there, made_of, said_there};
use super::members::path_of;
use super::possible::{Known, Looking, is_version};
use super::sums::{less, shifted};
use super::values::Values;
use crate::numbers::Numbers;

/// A member, and what it can be.
type Fact = (Var, Vec<String>, Values);

/// Who sender or receiver can be.
#[derive(Debug, Clone, Default)]
pub(crate) struct End {
    /// The agents, by position, if it can only be one with an entry.
    pub can_be: Option<Arc<BTreeSet<u32>>>,
    /// Whether agents' own names say so, and not who is in a group.
    pub named: bool,
}

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Sender,
    Receiver,
}

impl Side {
    /// The one that an expression is.
    pub fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Var(Var::Principal) => Some(Self::Sender),
            Expr::GetAttr { expr, attr } if matches!(**expr, Expr::Var(Var::Context)) => {
                (attr == "receiver").then_some(Self::Receiver)
            }
            _ => None,
        }
    }
}

/// What is known where an expression stands.
#[derive(Debug, Clone)]
pub(crate) struct Where {
    /// The type of the resource, if it can be one only.
    pub of_type: Option<usize>,
    pub actions: PerformativeSet,
    /// The version of its context, if it is looked at by itself.
    pub version: Option<(u32, u32)>,
    /// Whether only what that version says of its own counts, and not what others of the type do.
    pub apart: bool,
    /// The direction and the binding, if they are looked at by themselves.
    pub direction: Option<&'static str>,
    pub binding: Option<&'static str>,
    /// Whether only versions at or above the floors come.
    pub above: bool,
    /// Whether only agents come that can come at all.
    pub coming: bool,
    /// Whether what a version may make a tool of MCP counts as one: of a forbid, which should stand before that.
    pub guards: bool,
    pub sender: End,
    pub receiver: End,
    /// What the conditions before say.
    pub facts: Option<Arc<Vec<Fact>>>,
}

impl Where {
    /// Who sender or receiver can be.
    pub(super) const fn end(&self, side: Side) -> &End {
        match side {
            Side::Sender => &self.sender,
            Side::Receiver => &self.receiver,
        }
    }

    fn with(self, side: Side, end: End) -> Self {
        match side {
            Side::Sender => Self { sender: end, ..self },
            Side::Receiver => Self { receiver: end, ..self },
        }
    }

    /// What conditions before say of a member.
    pub fn said(&self, var: &Var, path: &[String]) -> Option<&Values> {
        let facts = self.facts.as_ref()?;
        facts.iter().find(|(of, names, _)| of == var && names == path).map(|(_, _, values)| values)
    }

    /// The same, by names.
    pub fn fact(&self, var: &Var, path: &[&str]) -> Option<&Values> {
        let facts = self.facts.as_ref()?;
        facts.iter().find(|(of, names, _)| of == var && names == path).map(|(_, _, values)| values)
    }

    /// The one line that conditions leave.
    pub fn only_line(&self) -> Option<&str> {
        match self.fact(&Var::Context, &["line"]) {
            Some(Values::Texts(lines)) if lines.len() == 1 => lines.first().map(String::as_str),
            _ => None,
        }
    }

    /// The members that conditions before say to be there.
    pub(super) fn members(&self) -> Vec<&[String]> {
        let facts = self.facts.iter().flat_map(|facts| facts.iter());
        facts.filter(|(of, ..)| *of == Var::Resource).filter_map(|(_, path, _)| said_there(path)).collect()
    }

    /// The same without what conditions say to be there.
    pub(super) fn without_members(&self) -> Self {
        let facts = self.facts.iter().flat_map(|facts| facts.iter());
        let others = facts.filter(|(_, path, _)| said_there(path).is_none()).cloned();
        Self { facts: Some(Arc::new(others.collect())), ..self.clone() }
    }

    /// The same with the type and the line that all conditions together are about; none if they say nothing of these.
    pub(super) fn about(&self, behind: &Self) -> Option<Self> {
        let line = |(of, names, _): &&Fact| *of == Var::Context && names.iter().eq(["line"]);
        let facts: Vec<Fact> =
            behind.facts.iter().flat_map(|facts| facts.iter()).filter(line).cloned().collect();
        if facts.is_empty() && behind.of_type == self.of_type {
            return None;
        }
        Some(Self { of_type: behind.of_type, facts: Some(Arc::new(facts)), ..self.clone() })
    }

    pub(super) fn saying(&self, (var, path): (Var, Vec<String>), values: Values) -> Self {
        let mut facts: Vec<Fact> = self.facts.as_deref().cloned().unwrap_or_default();
        match facts.iter_mut().find(|(of, names, _)| *of == var && *names == path) {
            Some((_, _, known)) => *known = values,
            None => facts.push((var, path, values)),
        }
        Self { facts: Some(Arc::new(facts)), ..self.clone() }
    }
}

impl Looking<'_, '_> {
    /// What is known once a clause holds; none if it never does.
    pub(super) fn behind(&mut self, clause: &Clause, here: &Where) -> Option<Where> {
        match clause {
            Clause::When(condition) => self.narrowed(condition, true, here),
            Clause::Unless(condition) => self.narrowed(condition, false, here),
        }
    }

    /// What is known where an expression is true, or false; none if that is never so.
    pub(super) fn narrowed(&mut self, expr: &Expr, truth: bool, here: &Where) -> Option<Where> {
        if !self.world.steps().spend(1) {
            return Some(here.clone());
        }
        if self.is_version_bound(expr) {
            return Some(here.clone());
        }
        match expr {
            Expr::UnaryOp { op: UnaryOp::Not, expr } => self.narrowed(expr, !truth, here),
            Expr::BinaryOp { op: BinaryOp::And, left, right } if truth => {
                let behind = self.narrowed(left, true, here)?;
                self.narrowed(right, true, &behind)
            }
            Expr::BinaryOp { op: BinaryOp::Or, left, right } if !truth => {
                let behind = self.narrowed(left, false, here)?;
                self.narrowed(right, false, &behind)
            }
            Expr::BinaryOp { op: BinaryOp::Eq | BinaryOp::NotEq, .. }
                if held_against_truth(expr).is_some() =>
            {
                let (asked, so) = held_against_truth(expr)?;
                self.narrowed(asked, so == truth, here)
            }
            Expr::BinaryOp { op: op @ (BinaryOp::Eq | BinaryOp::NotEq), left, right } => {
                let there = self.about_set(expr, truth, here)?;
                self.equated(left, right, truth == (*op == BinaryOp::Eq), &there)
            }
            Expr::BinaryOp { op: BinaryOp::In, left, right } => match (&**left, Side::of(left)) {
                (Expr::Var(Var::Action), _) => self.acting(right, truth, here),
                (_, Some(side)) => self.being(side, right, truth, here),
                _ => Some(here.clone()),
            },
            Expr::BinaryOp { op: BinaryOp::Contains, left, right } => match (&**left, path_of(right)) {
                (Expr::Set(items), Some(member)) if truth => {
                    let each: Vec<Values> = items.iter().map(|item| self.values(item, here)).collect();
                    self.learn(member, &any_of(&each)?, here)
                }
                (Expr::Set(items), Some(_)) => {
                    items.iter().try_fold(here.clone(), |here, item| self.equated(right, item, false, &here))
                }
                _ if truth => self.about_set(expr, true, &self.holding(left, here)?),
                _ => self.about_set(expr, false, here),
            },
            // no set that is written out is empty
            Expr::BinaryOp { op: BinaryOp::ContainsAny | BinaryOp::ContainsAll, left, right }
                if truth && matches!(**right, Expr::Set(_)) =>
            {
                self.about_set(expr, true, &self.holding(left, here)?)
            }
            Expr::BinaryOp { op: BinaryOp::ContainsAny | BinaryOp::ContainsAll, .. } => {
                self.about_set(expr, truth, here)
            }
            Expr::BinaryOp { op: BinaryOp::IsInRange, left, right } => self.lying(left, right, truth, here),
            Expr::Like { expr, pattern } => self.liking(expr, pattern, truth, here),
            Expr::BinaryOp { op, left, right } => self.ordered(*op, (left, right), truth, here),
            Expr::Is { expr, entity_type, in_expr: None }
                if truth && matches!(**expr, Expr::Var(Var::Resource)) && here.of_type.is_none() =>
            {
                let of_type = self.world.of_name(&entity_type.to_string());
                let known = of_type.is_some() && !self.known.is_bare();
                let there = Where { of_type, ..here.clone() };
                (!known || self.world.types_here(&there).next().is_some()).then_some(there)
            }
            // a session is there where there is a lock, and nowhere else
            Expr::HasAttr { expr, attrs }
                if matches!(**expr, Expr::Var(Var::Context)) && attrs.first() == "session" =>
            {
                let locked = (Var::Context, vec!["locked".to_owned()]);
                self.learn(locked, &Values::Bool { yes: truth, no: !truth }, here)
            }
            Expr::HasAttr { expr, attrs } if truth && self.known == Known::All && here.of_type.is_none() => {
                let Some((Var::Resource, path)) = path_of(expr) else { return Some(here.clone()) };
                let names = attrs.iter().map(|name| name.to_string());
                let path: Vec<String> = path.into_iter().chain(names).collect();
                // whether some type has it beside the others is asked once all are known
                Some(here.saying((Var::Resource, is_there(&path)), super::values::only(true)))
            }
            Expr::UnaryOp { op: UnaryOp::IsEmpty | UnaryOp::IsIPv4 | UnaryOp::IsIPV6, .. }
                if !self.known.follows() =>
            {
                Some(here.clone())
            }
            Expr::UnaryOp { op: UnaryOp::IsIPV6, expr } => {
                let other = Expr::UnaryOp { op: UnaryOp::IsIPv4, expr: Arc::clone(expr) };
                self.narrowed(&other, !truth, here)
            }
            Expr::GetAttr { .. } | Expr::UnaryOp { op: UnaryOp::IsEmpty | UnaryOp::IsIPv4, .. } => {
                match path_of(expr) {
                    Some(member) => self.learn(member, &Values::Bool { yes: truth, no: !truth }, here),
                    None => Some(here.clone()),
                }
            }
            _ => Some(here.clone()),
        }
    }

    /// With a member being one of these; none if it never is.
    pub(super) fn learn(&self, member: (Var, Vec<String>), values: &Values, here: &Where) -> Option<Where> {
        let in_parts = !self.known.follows() && member.1.last().is_some_and(|name| is_made(name));
        if *values == Values::Any || in_parts {
            return Some(here.clone());
        }
        let both = self.known_of(&member.0, &member.1, here).and(values)?;
        let both = as_liked(both, (&member.0, &member.1), here)?;
        let (var, path) = &member;
        let of = path.split_last().and_then(|(name, of)| Some((of.to_vec(), made_of(name, &both)?)));
        let there = here.saying((var.clone(), path.clone()), both);
        match of {
            Some((of, is)) => self.learn((var.clone(), of), &is, &there),
            None => Some(there),
        }
    }

    fn equated(&mut self, left: &Expr, right: &Expr, same: bool, here: &Where) -> Option<Where> {
        for (one, other) in [(left, right), (right, left)] {
            match (one, Side::of(one)) {
                (Expr::Var(Var::Action), _) => return self.acting(other, same, here),
                (_, Some(side)) if !matches!(other, Expr::Var(_) | Expr::GetAttr { .. }) => {
                    return self.being(side, other, same, here);
                }
                _ => {}
            }
        }
        let mut here = here.clone();
        for (one, other) in [(left, right), (right, left)] {
            if same {
                here = self.lying(one, other, true, &here)?;
            }
            let Some((member, shift)) = moved(one).filter(|_| !matches!(one, Expr::Var(_))) else {
                continue;
            };
            let said = match (self.values(other, &here), shift) {
                (said, 0) => said,
                (said, shift) if same => less(&said, shift),
                _ => continue,
            };
            if same {
                here = self.learn(member, &said, &here)?;
            } else if is_one(&said) {
                let known = self.known_of(&member.0, &member.1, &here);
                let left = known.without(&said)?;
                if left != known {
                    here = here.saying(member, left);
                }
            }
        }
        Some(here)
    }

    fn ordered(
        &mut self,
        op: BinaryOp,
        (left, right): (&Expr, &Expr),
        truth: bool,
        here: &Where,
    ) -> Option<Where> {
        use BinaryOp::{
            DecimalGreater, DecimalGreaterEq, DecimalLessEq, DecimalLessThan, Greater, GreaterEq, Less,
            LessEq,
        };
        // left is below right, strictly or not
        let (below, strictly) = match (op, truth) {
            (Less | DecimalLessThan, true) | (GreaterEq | DecimalGreaterEq, false) => (true, true),
            (LessEq | DecimalLessEq, true) | (Greater | DecimalGreater, false) => (true, false),
            (Greater | DecimalGreater, true) | (LessEq | DecimalLessEq, false) => (false, true),
            (GreaterEq | DecimalGreaterEq, true) | (Less | DecimalLessThan, false) => (false, false),
            _ => return Some(here.clone()),
        };
        let mut here = here.clone();
        for (one, other, below) in [(left, right, below), (right, left, !below)] {
            let Some((member, shift)) = moved(one) else { continue };
            let bounds = |numbers: &Numbers| {
                let ((low, high), step) = (numbers.ends(), i64::from(strictly));
                if below {
                    Numbers::Between(i64::MIN, high.saturating_sub(step))
                } else {
                    Numbers::Between(low.saturating_add(step), i64::MAX)
                }
            };
            let said = match self.values(other, &here) {
                Values::Numbers(numbers) => Values::Numbers(bounds(&numbers)),
                Values::Decimals(numbers) => Values::Decimals(bounds(&numbers)),
                Values::Moments(numbers) => Values::Moments(bounds(&numbers)),
                _ => continue,
            };
            let said = if shift == 0 { said } else { less(&said, shift) };
            here = self.learn(member, &said, &here)?;
        }
        Some(here)
    }

    fn acting(&self, whom: &Expr, truth: bool, here: &Where) -> Option<Where> {
        let listed = match whom {
            Expr::Set(items) => items.iter().map(|item| named_action(item)).collect::<Option<Vec<_>>>(),
            one => named_action(one).map(|one| vec![one]),
        };
        let Some(listed) = listed else { return Some(here.clone()) };
        let is = |action| listed.iter().any(|set| set.contains(action));
        let actions: PerformativeSet = here.actions.iter().filter(|action| is(*action) == truth).collect();
        (!actions.is_empty()).then(|| Where { actions, ..here.clone() })
    }

    /// Whether it asks for the versions below or above one, where a version to come is left open.
    fn is_version_bound(&self, expr: &Expr) -> bool {
        use BinaryOp::{Greater, GreaterEq, Less, LessEq};
        matches!(expr, Expr::BinaryOp { op: Less | LessEq | Greater | GreaterEq, left, right }
            if !self.known.follows() && (is_version(left) || is_version(right)))
    }

    /// Whether it counts whom this names: agents are who they are, and who is in a group may be another tomorrow.
    pub(super) fn counts(&self, whom: &Expr) -> bool {
        self.known == Known::All || (self.known == Known::Lasting && are_agents(whom))
    }

    fn being(&self, side: Side, whom: &Expr, truth: bool, here: &Where) -> Option<Where> {
        if !self.counts(whom) {
            return Some(here.clone());
        }
        let Some(asked) = self.world.agents_of(whom) else { return Some(here.clone()) };
        let end = here.end(side);
        let mut left: BTreeSet<u32> = match (&end.can_be, truth) {
            (Some(can_be), true) => can_be.intersection(&asked).copied().collect(),
            (Some(can_be), false) => can_be.difference(&asked).copied().collect(),
            (None, true) => asked.iter().copied().collect(),
            (None, false) => return Some(here.clone()),
        };
        if here.coming
            && let Some(coming) = self.world.coming()
        {
            left.retain(|agent| coming.contains(agent));
        }
        let domain = match side {
            Side::Sender => here.fact(&Var::Principal, &["trust_domain"]),
            Side::Receiver => here.fact(&Var::Context, &["receiver", "trust_domain"]),
        };
        if let (Some(Values::Texts(domains)), Some(agents)) = (domain, self.world.agents()) {
            left.retain(|at| agents.at(*at).is_none_or(|entry| domains.contains(entry.trust_domain())));
        }
        let named = end.named || (truth && are_agents(whom));
        let end = End { can_be: Some(Arc::new(left)), named };
        let some = end.can_be.as_ref().is_some_and(|left| !left.is_empty());
        some.then(|| here.clone().with(side, end))
    }
}

/// What one of these can be; numbers that are written out stay those that they are. None if there are none.
fn any_of(each: &[Values]) -> Option<Values> {
    let first = each.first()?;
    let one = |values: &Values| match values {
        Values::Numbers(numbers) | Values::Decimals(numbers) | Values::Moments(numbers) => {
            let (low, high) = numbers.ends();
            (low == high && std::mem::discriminant(values) == std::mem::discriminant(first)).then_some(low)
        }
        _ => None,
    };
    let written: Option<BTreeSet<i64>> = each.iter().map(one).collect();
    Some(match (first, written) {
        (Values::Numbers(_), Some(all)) => Values::Numbers(all.into()),
        (Values::Decimals(_), Some(all)) => Values::Decimals(all.into()),
        (Values::Moments(_), Some(all)) => Values::Moments(all.into()),
        _ => each.iter().skip(1).fold(first.clone(), |all, one| all.or(one)),
    })
}

/// The member that an expression is, or is a constant number more than.
fn moved(expr: &Expr) -> Option<((Var, Vec<String>), i64)> {
    let is_it = |member| (member, 0);
    path_of(expr).map(is_it).or_else(|| shifted(expr)).or_else(|| computed(expr).map(is_it))
}

/// What is compared with a truth that is written out, and whether it has to be so.
pub(super) fn held_against_truth(expr: &Expr) -> Option<(&Expr, bool)> {
    let Expr::BinaryOp { op: op @ (BinaryOp::Eq | BinaryOp::NotEq), left, right } = expr else { return None };
    let (asked, is) = match literal(right) {
        Some(is) => (left, is),
        None => (right, literal(left)?),
    };
    Some((&**asked, (*op == BinaryOp::Eq) == is))
}

/// A truth that is written out.
fn literal(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Literal(Literal::Bool(value)) => Some(*value),
        _ => None,
    }
}

/// Whether it names agents and no group: one, or a list of them.
fn are_agents(whom: &Expr) -> bool {
    match whom {
        Expr::Literal(Literal::EntityUID(uid)) => uid.ty.to_string() == "Agent",
        Expr::Set(items) => items.iter().all(|item| are_agents(item)),
        _ => false,
    }
}

/// Whether it is one value.
fn is_one(values: &Values) -> bool {
    match values {
        Values::Texts(all) => all.len() == 1,
        Values::Numbers(numbers) | Values::Decimals(numbers) | Values::Moments(numbers) => {
            let (low, high) = numbers.ends();
            low == high
        }
        Values::Bool { yes, no } => yes != no,
        Values::Actions(_) | Values::Ruled(_) | Values::Liked(_) | Values::Lying(_) | Values::Any => false,
    }
}
