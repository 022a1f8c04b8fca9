//! What an expression can come to, as far as that is known when policies are loaded. It errs on the side of "anything": what it
//! calls impossible is impossible.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, EntityUID, Expr, Literal, UnaryOp, Var};
use semgate_contexts::{Performative, PerformativeSet};

use super::World;
use super::again::parts;
use super::compared::is_set;
use super::facts::{Side, Where};
use super::members::path_of;
use super::never::Never;
use super::sums::counted;
use super::values::{EITHER, Values, compare, decimal, length, moment, negative, only};
use crate::numbers::Numbers;

/// How much of what is known now counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// All of it: versions, bounds, members of groups.
    All,
    /// What no version that comes, no change of who is in a group or has which credential, and no time makes otherwise as a matter of course,
    /// with all that follows from it.
    Lasting,
    /// The same of members as they are, without what is made of them.
    Structure,
    /// What conditions say by themselves and of one another, whatever is loaded.
    Said,
    /// What a condition says by itself.
    Nothing,
}

impl Known {
    /// Whether nothing that is loaded counts.
    pub(super) const fn is_bare(self) -> bool {
        matches!(self, Self::Said | Self::Nothing)
    }

    /// Whether what a version to come may bring, and what time it is, is left open.
    pub(super) const fn is_settled(self) -> bool {
        matches!(self, Self::Lasting | Self::Structure)
    }

    /// Whether what follows from it counts, however far.
    pub(super) const fn is_full(self) -> bool {
        matches!(self, Self::All | Self::Lasting)
    }

    /// Whether what is made of a member, and what it is like and holds, counts where it is asked again.
    pub(super) const fn follows(self) -> bool {
        matches!(self, Self::All | Self::Lasting | Self::Said)
    }
}

/// Looks through conditions.
pub(crate) struct Looking<'w, 'a> {
    pub(super) world: &'w World<'a>,
    pub(super) known: Known,
    pub never: Vec<Never>,
    /// The owners of members that a `has` asked for and that lead from a variable by names alone.
    pub(super) asked: BTreeSet<*const Expr>,
}

impl<'w, 'a> Looking<'w, 'a> {
    pub(crate) const fn new(world: &'w World<'a>) -> Self {
        Self::knowing(world, Known::All)
    }

    pub(crate) const fn knowing(world: &'w World<'a>, known: Known) -> Self {
        Self { world, known, never: Vec::new(), asked: BTreeSet::new() }
    }

    /// Whether a clause can hold.
    pub(crate) fn clause(&mut self, clause: &Clause, here: &Where) -> bool {
        match clause {
            Clause::When(condition) => self.values(condition, here).truth().0,
            Clause::Unless(condition) => self.values(condition, here).truth().1,
        }
    }

    /// Whether all of them can hold, each with what those before it say; and with the type or line that one behind it asks for, which is that
    /// of the message from the beginning.
    pub(crate) fn clauses(&mut self, clauses: &[Clause], here: &Where) -> bool {
        let Some(behind) = self.one_by_one(clauses, here) else { return false };
        let behind = match here.about(&behind) {
            None => behind,
            // nothing of the line takes what the conditions leave of the actions
            Some(about)
                if self.world.is_unsaid(
                    &Where { actions: self.taken(&behind), ..about.clone() },
                    self.known != Known::All,
                ) =>
            {
                return false;
            }
            Some(about) => match self.one_by_one(clauses, &about) {
                Some(behind) => behind,
                None => return false,
            },
        };
        let parts = parts(clauses);
        self.again(&parts, behind) && self.case_by_case(&parts, here)
    }

    /// The actions that conditions leave; what a version to come takes is open.
    fn taken(&self, behind: &Where) -> PerformativeSet {
        if self.known == Known::All { behind.actions } else { Performative::ALL.into_iter().collect() }
    }

    /// What is so once all of them hold, each with what those before it say; none if they never do.
    fn one_by_one(&mut self, clauses: &[Clause], here: &Where) -> Option<Where> {
        let mut here = here.clone();
        for clause in clauses {
            if !self.clause(clause, &here) {
                return None;
            }
            here = self.behind(clause, &here)?;
        }
        Some(here)
    }

    /// Whether each can hold by itself; every part of every one is looked at.
    pub(crate) fn clauses_all(&mut self, clauses: &[Clause], here: &Where) -> Vec<bool> {
        let mut behind = here.clone();
        let mut each = Vec::new();
        for clause in clauses {
            // what those before it say of types and lines counts for what is asked, and not for whether it can hold
            each.push(Self::knowing(self.world, self.known).clause(clause, here));
            self.clause(clause, &behind);
            if let Some(next) = self.behind(clause, &behind) {
                behind = next;
            }
        }
        each
    }

    pub(super) fn values(&mut self, expr: &Expr, here: &Where) -> Values {
        if !self.world.steps().spend(1) {
            return Values::Any;
        }
        match expr {
            Expr::Literal(Literal::Bool(value)) => only(*value),
            Expr::Literal(Literal::Long(number)) => Values::number(*number),
            Expr::UnaryOp { op: UnaryOp::Neg, expr: inner } => match negative(inner) {
                Some(number) => Values::number(number),
                None => self.negated(inner, here),
            },
            Expr::UnaryOp { op: UnaryOp::Decimal, expr } => {
                decimal(expr).map_or(Values::Any, |number| Values::Decimals(Numbers::Between(number, number)))
            }
            Expr::UnaryOp { op: UnaryOp::Datetime, expr } => {
                moment(expr).map_or(Values::Any, |moment| Values::Moments(Numbers::Between(moment, moment)))
            }
            Expr::Literal(Literal::String(text)) => {
                Values::Texts(Arc::new(BTreeSet::from([text.to_string()])))
            }
            Expr::Literal(Literal::EntityUID(uid)) => action(uid).map_or(Values::Any, Values::Actions),
            Expr::Var(Var::Action) => Values::Actions(here.actions),
            Expr::GetAttr { .. } => self.member(expr, here),
            Expr::HasAttr { expr, attrs } => {
                let names: Vec<&str> = attrs.iter().map(|name| name.as_str()).collect();
                self.has(expr, &names, here)
            }
            Expr::UnaryOp { op: UnaryOp::Not, expr } => {
                let (yes, no) = self.values(expr, here).truth();
                Values::Bool { yes: no, no: yes }
            }
            Expr::UnaryOp { op: UnaryOp::Duration, expr } => {
                length(expr).map_or(Values::Any, |length| Values::Moments(Numbers::Between(length, length)))
            }
            Expr::UnaryOp { op: UnaryOp::IsIPV6, expr } => {
                let other = Expr::UnaryOp { op: UnaryOp::IsIPv4, expr: Arc::clone(expr) };
                let (yes, no) = self.values(&other, here).truth();
                Values::Bool { yes: no, no: yes }
            }
            Expr::UnaryOp { op: UnaryOp::IsEmpty, expr: set } if is_set(set) => {
                self.values(set, here);
                only(matches!(&**set, Expr::Set(items) if items.is_empty()))
            }
            Expr::UnaryOp { op, expr: inner } => {
                let of = self.values(inner, here);
                let counted = self.in_units_of(*op, &of);
                match path_of(expr).map(|(var, path)| self.known_of(&var, &path, here)) {
                    Some(known) => known.and(&counted).unwrap_or(known),
                    None => counted,
                }
            }
            Expr::BinaryOp { op, left, right } => {
                let found = self.binary(*op, left, right, here);
                match self.about_set(expr, true, here) {
                    Some(_) => found,
                    None => only(false),
                }
            }
            Expr::Like { expr, pattern } => self.like(expr, pattern, here),
            Expr::Is { expr, entity_type, in_expr: None } if matches!(**expr, Expr::Var(Var::Resource)) => {
                self.is_type(&entity_type.to_string(), here)
            }
            Expr::Is { expr, in_expr, .. } => {
                let parts: Vec<&Arc<Expr>> = std::iter::once(expr).chain(in_expr).collect();
                self.ignored(&parts, here)
            }
            Expr::IfThenElse { cond, then_expr, else_expr } => {
                self.one_or_other(cond, then_expr, else_expr, here)
            }
            Expr::Set(items) => self.ignored(&items.iter().collect::<Vec<_>>(), here),
            Expr::Record(members) => self.ignored(&members.values().collect::<Vec<_>>(), here),
            _ => Values::Any,
        }
    }

    /// Whether the resource can be of a type, and of another.
    fn is_type(&self, name: &str, here: &Where) -> Values {
        let (asked, of_type) = (self.world.of_name(name), here.of_type);
        match (of_type, asked) {
            (Some(of_type), Some(asked)) if self.known.is_bare() => only(asked == of_type),
            _ if self.known.is_bare() => EITHER,
            (Some(of_type), asked) => only(asked == Some(of_type)),
            (None, Some(asked)) => {
                let there = Where { of_type: Some(asked), ..here.clone() };
                if self.world.types_here(&there).next().is_some() { EITHER } else { only(false) }
            }
            (None, None) => EITHER,
        }
    }

    fn one_or_other(
        &mut self,
        cond: &Arc<Expr>,
        then: &Arc<Expr>,
        other: &Arc<Expr>,
        here: &Where,
    ) -> Values {
        let (yes, no) = self.values(cond, here).truth();
        let (with, without) = (self.narrowed(cond, true, here), self.narrowed(cond, false, here));
        let then_is = self.values(then, with.as_ref().unwrap_or(here));
        let other_is = self.values(other, without.as_ref().unwrap_or(here));
        match (yes && with.is_some(), no && without.is_some()) {
            (true, false) => then_is,
            (false, true) => other_is,
            _ => match (&then_is, &other_is) {
                (Values::Bool { yes: a, no: b }, Values::Bool { yes: c, no: d }) => {
                    Values::Bool { yes: *a || *c, no: *b || *d }
                }
                (a, b) if a == b => then_is,
                _ => Values::Any,
            },
        }
    }

    pub(super) fn ignored(&mut self, parts: &[&Arc<Expr>], here: &Where) -> Values {
        for part in parts {
            self.values(part, here);
        }
        Values::Any
    }

    fn binary(&mut self, op: BinaryOp, left: &Arc<Expr>, right: &Arc<Expr>, here: &Where) -> Values {
        match op {
            BinaryOp::And => {
                let (a, not_a) = self.values(left, here).truth();
                let behind = self.narrowed(left, true, here);
                // what is asked where nothing comes is looked at all the same
                let (b, not_b) = self.values(right, behind.as_ref().unwrap_or(here)).truth();
                let reached = a && behind.is_some();
                Values::Bool { yes: reached && b, no: not_a || !reached || not_b }
            }
            BinaryOp::Or => {
                let (a, not_a) = self.values(left, here).truth();
                let behind = self.narrowed(left, false, here);
                let (b, not_b) = self.values(right, behind.as_ref().unwrap_or(here)).truth();
                let reached = not_a && behind.is_some();
                let a = a && self.row_again(left, here);
                let b = b && self.row_again(right, behind.as_ref().unwrap_or(here));
                let yes = a || !reached || b;
                Values::Bool { yes, no: (reached && not_b) || !yes }
            }
            BinaryOp::Eq | BinaryOp::NotEq => {
                let (mut yes, mut no) = self.same(left, right, here);
                let itself = self.with_itself(BinaryOp::Eq, (left, right), here);
                if let Some(told) = itself.or_else(|| self.same_question(left, right)) {
                    (yes, no) = told.truth();
                }
                if self.ends(BinaryOp::Eq, left, right).is_some() {
                    (yes, no) = (false, true);
                }
                if op == BinaryOp::Eq { Values::Bool { yes, no } } else { Values::Bool { yes: no, no: yes } }
            }
            BinaryOp::Less
            | BinaryOp::LessEq
            | BinaryOp::Greater
            | BinaryOp::GreaterEq
            | BinaryOp::DecimalLessThan
            | BinaryOp::DecimalLessEq
            | BinaryOp::DecimalGreater
            | BinaryOp::DecimalGreaterEq => {
                let (a, b) = (self.values(left, here), self.values(right, here));
                if !self.known.follows() && (is_version(left) || is_version(right)) {
                    return EITHER;
                }
                let told = self.ends(op, left, right).or_else(|| counted(self.known, op, left, right));
                let told = told.or_else(|| self.with_itself(op, (left, right), here));
                told.unwrap_or_else(|| compare(op, &a, &b))
            }
            BinaryOp::In if is_same_member(left, right) => only(true),
            BinaryOp::In if matches!(**left, Expr::Var(Var::Action)) => self.action_in(right, here),
            BinaryOp::In if Side::of(left).is_some() => match Side::of(left) {
                Some(side) => self.among(side, right, here),
                None => EITHER,
            },
            BinaryOp::Contains | BinaryOp::ContainsAll | BinaryOp::ContainsAny => {
                self.contains(op, left, right, here)
            }
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Offset | BinaryOp::DurationSince => {
                self.sum(op, left, right, here)
            }
            BinaryOp::IsInRange => {
                self.ignored(&[left, right], here);
                // a range that lies in what is one address: the two were changed about
                if self.range_for_one(right, left, false) {
                    return only(false);
                }
                let so = |truth: bool| self.lying(left, right, truth, here).is_some();
                match (so(true), so(false)) {
                    (false, false) => EITHER,
                    (yes, no) => Values::Bool { yes, no },
                }
            }
            _ => self.ignored(&[left, right], here),
        }
    }
}

pub(super) fn action(uid: &EntityUID) -> Option<PerformativeSet> {
    (uid.ty.to_string() == "Action")
        .then(|| uid.eid.to_string().parse().ok().map(|one| [one].into_iter().collect()))?
}

/// Whether both are the same member of the instance or the context record, or the same variable: where one of them can be read, so can the
/// other.
pub(super) fn is_same_member(left: &Expr, right: &Expr) -> bool {
    matches!(left, Expr::GetAttr { .. } | Expr::Var(_))
        && path_of(left).is_some_and(|path| path_of(right) == Some(path))
}

/// A number of the version.
pub(super) fn is_version(expr: &Expr) -> bool {
    path_of(expr).is_some_and(|(var, path)| {
        var == Var::Context && matches!(path.first().map(String::as_str), Some("major" | "minor"))
    })
}
