//! What an expression can come to, as far as that is known when policies are loaded. It errs on the side of "anything": what it
//! calls impossible is impossible.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, EntityUID, Expr, Literal, UnaryOp, Var};
use semgate_contexts::PerformativeSet;

use super::World;
use super::facts::Where;
use super::values::{
    EITHER, Values, compare, decimal, equal, is_number, itself, matches, negative, only, over,
};
use super::walk;
use crate::numbers::{DECIMAL_PLACES, Numbers};

/// A part that says something which is never so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Never {
    /// A text that the member never has.
    Text { member: String, literal: Literally, values: Arc<BTreeSet<String>> },
    /// A number that the member never is.
    Number { path: Vec<String>, literal: i64, places: u32, numbers: Numbers },
    /// A credential that nobody has.
    Credential { literal: Literally },
    /// A member that policies do not see.
    Hidden { member: String, of_type: usize },
    /// A member that nothing has of what it is asked of.
    Unknown { member: String, of: String, near: Option<String>, at: *const Expr },
}

/// A text of the policy, as the one that stands at this place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Literally {
    pub text: String,
    at: *const Expr,
}

/// How much of what is known now counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// All of it: versions, bounds, members of groups.
    All,
    /// What no version that comes, and no change of who is in a group, makes otherwise as a matter of course.
    Structure,
    /// What a condition says by itself.
    Nothing,
}

/// Looks through conditions.
pub(crate) struct Looking<'w, 'a> {
    pub(super) world: &'w World<'a>,
    pub(super) known: Known,
    pub never: Vec<Never>,
}

impl<'w, 'a> Looking<'w, 'a> {
    pub(crate) const fn new(world: &'w World<'a>) -> Self {
        Self::knowing(world, Known::All)
    }

    pub(crate) const fn knowing(world: &'w World<'a>, known: Known) -> Self {
        Self { world, known, never: Vec::new() }
    }

    /// Whether a clause can hold.
    pub(crate) fn clause(&mut self, clause: &Clause, here: &Where) -> bool {
        match clause {
            Clause::When(condition) => self.values(condition, here).truth().0,
            Clause::Unless(condition) => self.values(condition, here).truth().1,
        }
    }

    /// Whether all of them can hold, each with what those before it say.
    pub(crate) fn clauses(&mut self, clauses: &[Clause], here: &Where) -> bool {
        let mut here = here.clone();
        for clause in clauses {
            if !self.clause(clause, &here) {
                return false;
            }
            match self.behind(clause, &here) {
                Some(next) => here = next,
                None => return false,
            }
        }
        true
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
        match expr {
            Expr::Literal(Literal::Bool(value)) => only(*value),
            Expr::Literal(Literal::Long(number)) => Values::number(*number),
            Expr::UnaryOp { op: UnaryOp::Neg, expr: inner } => match negative(inner) {
                Some(number) => Values::number(number),
                None => self.ignored(&[inner], here),
            },
            Expr::UnaryOp { op: UnaryOp::Decimal, expr } => {
                decimal(expr).map_or(Values::Any, |number| Values::Decimals(Numbers::Between(number, number)))
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
            Expr::UnaryOp { expr, .. } => self.ignored(&[expr], here),
            Expr::BinaryOp { op, left, right } => self.binary(*op, left, right, here),
            Expr::Like { expr, pattern } => match self.values(expr, here) {
                Values::Texts(texts) => over(texts.iter(), |text| matches(pattern, text)),
                _ => EITHER,
            },
            Expr::Is { expr, entity_type, in_expr: None } if matches!(**expr, Expr::Var(Var::Resource)) => {
                match here.of_type.and_then(|at| self.world.catalogue.types.get(at)) {
                    Some(info) if self.known != Known::Nothing => only(info.name == entity_type.to_string()),
                    _ => EITHER,
                }
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

    fn ignored(&mut self, parts: &[&Arc<Expr>], here: &Where) -> Values {
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
                Values::Bool { yes: a || !reached || b, no: reached && not_b }
            }
            BinaryOp::Eq | BinaryOp::NotEq => {
                let (mut yes, mut no) = self.same(left, right, here);
                if is_same_member(left, right) {
                    (yes, no) = (true, false);
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
                if self.known != Known::All && (is_version(left) || is_version(right)) {
                    return EITHER;
                }
                if is_same_member(left, right) { itself(op) } else { compare(op, &a, &b) }
            }
            BinaryOp::In if matches!(**left, Expr::Var(Var::Action)) => self.action_in(right, here),
            BinaryOp::In if matches!(**left, Expr::Var(Var::Principal)) => self.among(right, here),
            BinaryOp::Contains | BinaryOp::ContainsAll | BinaryOp::ContainsAny => {
                self.contains(op, left, right, here)
            }
            _ => self.ignored(&[left, right], here),
        }
    }

    fn same(&mut self, left: &Arc<Expr>, right: &Arc<Expr>, here: &Where) -> (bool, bool) {
        self.unfit(left, right, here);
        self.unfit(right, left, here);
        for (set, items) in [(left, right), (right, left)] {
            if let Expr::Set(items) = &**items {
                let can = items.iter().map(|item| self.can_hold(set, item, here)).collect::<Vec<_>>();
                if can.contains(&false) {
                    return (false, true);
                }
            }
        }
        let whom = match (&**left, &**right) {
            (Expr::Var(Var::Principal), Expr::Literal(_)) => Some(right),
            (Expr::Literal(_), Expr::Var(Var::Principal)) => Some(left),
            _ => None,
        };
        if let Some(whom) = whom {
            return self.among(whom, here).truth();
        }
        equal(&self.values(left, here), &self.values(right, here))
    }

    /// Whether the sender can be one of these, and another.
    fn among(&mut self, whom: &Expr, here: &Where) -> Values {
        let (Some(can_be), Some(asked)) = (&here.who, self.world.agents_of(whom)) else { return EITHER };
        if self.known != Known::All {
            return EITHER;
        }
        Values::Bool { yes: !can_be.is_disjoint(&asked), no: !can_be.is_subset(&asked) }
    }

    fn action_in(&self, right: &Expr, here: &Where) -> Values {
        let listed = match right {
            Expr::Set(items) => items.iter().map(|item| named_action(item)).collect::<Option<Vec<_>>>(),
            one => named_action(one).map(|one| vec![one]),
        };
        let Some(listed) = listed else { return EITHER };
        over(here.actions.iter(), |action| listed.iter().any(|set| set.contains(action)))
    }

    fn contains(&mut self, op: BinaryOp, left: &Arc<Expr>, right: &Arc<Expr>, here: &Where) -> Values {
        if let Expr::Set(items) = &**left
            && op == BinaryOp::Contains
        {
            items.iter().for_each(|item| self.unfit(right, item, here));
            let each: Vec<Values> = items.iter().map(|item| self.values(item, here)).collect();
            let asked = self.values(right, here);
            let yes = each.iter().any(|item| equal(item, &asked).0);
            return Values::Bool { yes, no: true };
        }
        let wanted: Vec<&Arc<Expr>> = match &**right {
            Expr::Set(items) if op != BinaryOp::Contains => items.iter().collect(),
            _ if op == BinaryOp::Contains => vec![right],
            _ => return self.ignored(&[left, right], here),
        };
        self.values(left, here);
        let held: Vec<bool> = wanted.iter().map(|item| self.can_hold(left, item, here)).collect();
        let yes = match op {
            BinaryOp::ContainsAny => held.contains(&true),
            _ => !held.contains(&false),
        };
        Values::Bool { yes, no: true }
    }

    /// Whether a set that is looked up can have this item.
    fn can_hold(&mut self, set: &Expr, item: &Arc<Expr>, here: &Where) -> bool {
        self.values(item, here);
        let Some(literal) = literally(item) else { return true };
        if is_credentials(set) {
            let held = self.world.held(&literal.text);
            if !held {
                self.never.push(Never::Credential { literal });
            }
            return held;
        }
        match self.resource_path(set).map(|path| self.world.items(&path, here)) {
            Some(Values::Texts(values)) if !values.contains(&literal.text) => {
                self.never.push(Never::Text { member: written(set), literal, values });
                false
            }
            _ => true,
        }
    }

    /// Notes a literal that a member is compared with and never has.
    fn unfit(&mut self, member: &Arc<Expr>, literal: &Arc<Expr>, here: &Where) {
        if !matches!(**member, Expr::GetAttr { .. }) {
            return;
        }
        let Some(literal) = literally(literal) else {
            return self.never_number(member, literal, here);
        };
        self.member(member, here);
        let by_schema = path_of(member).map(|(var, path)| self.by_schema(&var, &path, here));
        if let Some(Values::Texts(values)) = by_schema
            && !values.contains(&literal.text)
        {
            self.never.push(Never::Text { member: written(member), literal, values });
        }
    }

    fn never_number(&mut self, member: &Arc<Expr>, literal: &Expr, here: &Where) {
        let Some(path) = self.resource_path(member) else { return };
        // of a literal nothing is noted
        let (known, said) = (self.world.member(&path, here), self.values(literal, here));
        let (numbers, number, places) = match (known, said) {
            (Values::Numbers(numbers), Values::Numbers(one)) => (numbers, one, 0),
            (Values::Decimals(numbers), Values::Decimals(one)) => (numbers, one, DECIMAL_PLACES),
            _ => return,
        };
        let (low, high) = number.ends();
        if is_number(literal) && low == high && !numbers.contains(low) {
            self.never.push(Never::Number { path, literal: low, places, numbers });
        }
    }

    fn member(&mut self, expr: &Expr, here: &Where) -> Values {
        let Expr::GetAttr { expr: of, attr } = expr else { return Values::Any };
        self.ignored(&[of], here);
        self.unknown(of, attr, here);
        let Some((var, path)) = path_of(expr) else { return Values::Any };
        self.known_of(&var, &path, here)
    }

    /// What a member can be, by its schema and by what the conditions before say.
    pub(super) fn known_of(&self, var: &Var, path: &[String], here: &Where) -> Values {
        let by_schema = self.by_schema(var, path, here);
        match here.said(var, path) {
            Some(said) => by_schema.and(said).unwrap_or(by_schema),
            None => by_schema,
        }
    }

    fn by_schema(&self, var: &Var, path: &[String], here: &Where) -> Values {
        match (var, path) {
            _ if self.known == Known::Nothing => Values::Any,
            (Var::Context, [member]) => {
                let of_version = matches!(member.as_str(), "major" | "minor");
                let open = here.fact(&Var::Context, &["line"]).is_none();
                if self.known == Known::Structure && of_version && open {
                    Values::Any
                } else {
                    self.world.circumstance(member, here)
                }
            }
            (Var::Resource, path) => self.world.member(path, here),
            _ => Values::Any,
        }
    }

    fn has(&mut self, of: &Arc<Expr>, names: &[&str], here: &Where) -> Values {
        self.ignored(&[of], here);
        let mut owner = Arc::clone(of);
        for name in names {
            if self.unknown(&owner, name, here) {
                return if self.known == Known::Nothing { EITHER } else { only(false) };
            }
            owner = Arc::new(Expr::GetAttr { expr: owner, attr: (*name).into() });
        }
        let Some((var, mut path)) = path_of(of) else { return EITHER };
        if var == Var::Principal && path.is_empty() {
            // what is unknown was told above, and an agent has all that it can have
            return only(true);
        }
        if var != Var::Resource || self.known == Known::Nothing {
            return EITHER;
        }
        let mut certain = true;
        for name in names {
            path.push((*name).to_owned());
            if let Some(of_type) = self.world.hidden(&path, here) {
                let member = (*name).to_owned();
                self.never.push(Never::Hidden { member, of_type });
                return EITHER;
            }
            if self.world.absent(&path, here) {
                return only(false);
            }
            certain &= self.world.present(&path, here);
        }
        if certain && self.known == Known::All { only(true) } else { EITHER }
    }

    /// The names from `resource` to a member.
    fn resource_path(&self, expr: &Expr) -> Option<Vec<String>> {
        match expr {
            Expr::Var(Var::Resource) => Some(Vec::new()),
            Expr::GetAttr { expr, attr } => {
                let mut path = self.resource_path(expr)?;
                path.push(attr.to_string());
                Some(path)
            }
            _ => None,
        }
    }
}

/// Which of the texts in the order of the policy this one is, counted from 0 among those of the same text.
pub(crate) fn before(clauses: &[Clause], literal: &Literally) -> usize {
    let mut all = Vec::new();
    for clause in clauses {
        let (Clause::When(condition) | Clause::Unless(condition)) = clause;
        literals(condition, &mut all);
    }
    let same = all.iter().filter(|(text, _)| *text == literal.text);
    same.map(|(_, at)| *at).position(|at| std::ptr::eq(at, literal.at)).unwrap_or(0)
}

fn literals(expr: &Arc<Expr>, all: &mut Vec<(String, *const Expr)>) {
    walk::each(expr, &mut |part| {
        if let Expr::Literal(Literal::String(text)) = &**part {
            all.push((text.to_string(), Arc::as_ptr(part)));
        }
    });
}

fn literally(expr: &Arc<Expr>) -> Option<Literally> {
    match &**expr {
        Expr::Literal(Literal::String(text)) => {
            Some(Literally { text: text.to_string(), at: Arc::as_ptr(expr) })
        }
        _ => None,
    }
}

/// `principal.credentials`, of the receiver, or of a named agent.
fn is_credentials(expr: &Expr) -> bool {
    match expr {
        Expr::GetAttr { expr, attr } if attr == "credentials" => match &**expr {
            Expr::Var(Var::Principal) => true,
            Expr::GetAttr { expr, attr } => matches!(**expr, Expr::Var(Var::Context)) && attr == "receiver",
            _ => false,
        },
        _ => false,
    }
}

/// A member as it is written.
fn written(expr: &Expr) -> String {
    match expr {
        Expr::GetAttr { expr, attr } => format!("{}.{attr}", written(expr)),
        Expr::Var(Var::Principal) => "principal".to_owned(),
        Expr::Var(Var::Resource) => "resource".to_owned(),
        Expr::Var(Var::Context) => "context".to_owned(),
        _ => "it".to_owned(),
    }
}

pub(super) fn action(uid: &EntityUID) -> Option<PerformativeSet> {
    (uid.ty.to_string() == "Action")
        .then(|| uid.eid.to_string().parse().ok().map(|one| [one].into_iter().collect()))?
}

pub(super) fn named_action(expr: &Expr) -> Option<PerformativeSet> {
    match expr {
        Expr::Literal(Literal::EntityUID(uid)) => action(uid),
        _ => None,
    }
}

/// Whether both are the same member of the instance or the context record: where one of them can be read, so can the other.
fn is_same_member(left: &Expr, right: &Expr) -> bool {
    matches!(left, Expr::GetAttr { .. }) && path_of(left).is_some_and(|path| path_of(right) == Some(path))
}

/// The variable that a member begins with, and the names behind it.
pub(super) fn path_of(expr: &Expr) -> Option<(Var, Vec<String>)> {
    match expr {
        Expr::Var(var) => Some((var.clone(), Vec::new())),
        Expr::GetAttr { expr, attr } => {
            let (var, mut path) = path_of(expr)?;
            path.push(attr.to_string());
            Some((var, path))
        }
        _ => None,
    }
}

/// A number of the version.
fn is_version(expr: &Expr) -> bool {
    path_of(expr).is_some_and(|(var, path)| {
        var == Var::Context && matches!(path.first().map(String::as_str), Some("major" | "minor"))
    })
}
