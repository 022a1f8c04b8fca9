//! What an expression can come to, as far as that is known when policies are loaded. It errs on the side of "anything": what it
//! calls impossible is impossible.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, EntityUID, Expr, Literal, PatternElem, UnaryOp, Var};
use semgate_contexts::PerformativeSet;

use super::World;
use crate::numbers::{DECIMAL_PLACES, Numbers};

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
    Numbers(Numbers),
    /// Ten-thousandths.
    Decimals(Numbers),
    Actions(PerformativeSet),
}

/// What is known where an expression stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Where {
    /// The type of the resource, if it can be one only.
    pub of_type: Option<usize>,
    pub actions: PerformativeSet,
    /// The version of its context, if it is looked at by itself.
    pub version: Option<(u32, u32)>,
    /// The direction and the binding, if they are looked at by themselves.
    pub direction: Option<&'static str>,
    pub binding: Option<&'static str>,
}

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
}

/// A text of the policy, as the one that stands at this place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Literally {
    pub text: String,
    at: *const Expr,
}

/// Looks through conditions.
pub(crate) struct Looking<'w, 'a> {
    world: &'w World<'a>,
    pub never: Vec<Never>,
}

const EITHER: Values = Values::Bool { yes: true, no: true };

const fn only(value: bool) -> Values {
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
            (a, b) if a == b => a.clone(),
            _ => Self::Any,
        }
    }

    /// As a truth: can it be true, can it be false?
    const fn truth(&self) -> (bool, bool) {
        match self {
            Self::Bool { yes, no } => (*yes, *no),
            _ => (true, true),
        }
    }
}

impl<'w, 'a> Looking<'w, 'a> {
    pub(crate) const fn new(world: &'w World<'a>) -> Self {
        Self { world, never: Vec::new() }
    }

    /// Whether a clause can hold.
    pub(crate) fn clause(&mut self, clause: &Clause, here: Where) -> bool {
        match clause {
            Clause::When(condition) => self.values(condition, here).truth().0,
            Clause::Unless(condition) => self.values(condition, here).truth().1,
        }
    }

    fn values(&mut self, expr: &Expr, here: Where) -> Values {
        match expr {
            Expr::Literal(Literal::Bool(value)) => only(*value),
            Expr::Literal(Literal::Long(number)) => Values::number(*number),
            Expr::UnaryOp { op: UnaryOp::Neg, expr } => negative(expr).map_or(Values::Any, Values::number),
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
                    Some(info) => only(info.name == entity_type.to_string()),
                    None => EITHER,
                }
            }
            Expr::IfThenElse { cond, then_expr, else_expr } => {
                self.values(cond, here);
                let then = self.values(then_expr, narrowed(self.world, cond, here));
                let otherwise = self.values(else_expr, here);
                if then == otherwise { then } else { Values::Any }
            }
            Expr::Set(items) => self.ignored(&items.iter().collect::<Vec<_>>(), here),
            Expr::Record(members) => self.ignored(&members.values().collect::<Vec<_>>(), here),
            _ => Values::Any,
        }
    }

    fn ignored(&mut self, parts: &[&Arc<Expr>], here: Where) -> Values {
        for part in parts {
            self.values(part, here);
        }
        Values::Any
    }

    fn binary(&mut self, op: BinaryOp, left: &Arc<Expr>, right: &Arc<Expr>, here: Where) -> Values {
        match op {
            BinaryOp::And => {
                let (a, not_a) = self.values(left, here).truth();
                let (b, not_b) = self.values(right, narrowed(self.world, left, here)).truth();
                Values::Bool { yes: a && b, no: not_a || (a && not_b) }
            }
            BinaryOp::Or => {
                let (a, not_a) = self.values(left, here).truth();
                let (b, not_b) = self.values(right, here).truth();
                Values::Bool { yes: a || (not_a && b), no: not_a && not_b }
            }
            BinaryOp::Eq | BinaryOp::NotEq => {
                self.unfit(left, right, here);
                self.unfit(right, left, here);
                let (mut yes, mut no) = equal(&self.values(left, here), &self.values(right, here));
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
                if is_same_member(left, right) { itself(op) } else { compare(op, &a, &b) }
            }
            BinaryOp::In if matches!(**left, Expr::Var(Var::Action)) => self.action_in(right, here),
            BinaryOp::Contains | BinaryOp::ContainsAll | BinaryOp::ContainsAny => {
                self.contains(op, left, right, here)
            }
            _ => self.ignored(&[left, right], here),
        }
    }

    fn action_in(&self, right: &Expr, here: Where) -> Values {
        let listed = match right {
            Expr::Set(items) => items.iter().map(|item| named_action(item)).collect::<Option<Vec<_>>>(),
            one => named_action(one).map(|one| vec![one]),
        };
        let Some(listed) = listed else { return EITHER };
        over(here.actions.iter(), |action| listed.iter().any(|set| set.contains(action)))
    }

    fn contains(&mut self, op: BinaryOp, left: &Arc<Expr>, right: &Arc<Expr>, here: Where) -> Values {
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
    fn can_hold(&mut self, set: &Expr, item: &Arc<Expr>, here: Where) -> bool {
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
    fn unfit(&mut self, member: &Arc<Expr>, literal: &Arc<Expr>, here: Where) {
        if !matches!(**member, Expr::GetAttr { .. }) {
            return;
        }
        let Some(literal) = literally(literal) else {
            return self.never_number(member, literal, here);
        };
        if let Values::Texts(values) = self.member(member, here)
            && !values.contains(&literal.text)
        {
            self.never.push(Never::Text { member: written(member), literal, values });
        }
    }

    fn never_number(&mut self, member: &Arc<Expr>, literal: &Expr, here: Where) {
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

    fn member(&mut self, expr: &Expr, here: Where) -> Values {
        let Expr::GetAttr { expr: of, attr } = expr else { return Values::Any };
        if let Expr::Var(Var::Context) = &**of {
            return self.world.circumstance(attr, here);
        }
        match self.resource_path(expr) {
            Some(path) => self.world.member(&path, here),
            None => self.ignored(&[of], here),
        }
    }

    fn has(&mut self, of: &Arc<Expr>, names: &[&str], here: Where) -> Values {
        let Some(mut path) = self.resource_path(of) else { return EITHER };
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
        if certain { only(true) } else { EITHER }
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
    match &**expr {
        Expr::Literal(Literal::String(text)) => all.push((text.to_string(), Arc::as_ptr(expr))),
        Expr::GetAttr { expr, .. }
        | Expr::HasAttr { expr, .. }
        | Expr::UnaryOp { expr, .. }
        | Expr::Like { expr, .. } => literals(expr, all),
        Expr::BinaryOp { left, right, .. } => {
            literals(left, all);
            literals(right, all);
        }
        Expr::Is { expr, in_expr, .. } => {
            literals(expr, all);
            in_expr.iter().for_each(|parent| literals(parent, all));
        }
        Expr::IfThenElse { cond, then_expr, else_expr } => {
            [cond, then_expr, else_expr].into_iter().for_each(|part| literals(part, all));
        }
        Expr::Set(items) => items.iter().for_each(|item| literals(item, all)),
        Expr::Record(members) => members.values().for_each(|member| literals(member, all)),
        _ => {}
    }
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

/// What is known behind `left &&`.
fn narrowed(world: &World<'_>, left: &Expr, here: Where) -> Where {
    match left {
        Expr::BinaryOp { op: BinaryOp::And, left, right } => {
            narrowed(world, right, narrowed(world, left, here))
        }
        Expr::Is { expr, entity_type, .. }
            if matches!(**expr, Expr::Var(Var::Resource)) && here.of_type.is_none() =>
        {
            Where { of_type: world.of_name(&entity_type.to_string()), ..here }
        }
        _ => here,
    }
}

fn action(uid: &EntityUID) -> Option<PerformativeSet> {
    (uid.ty.to_string() == "Action")
        .then(|| uid.eid.to_string().parse().ok().map(|one| [one].into_iter().collect()))?
}

fn named_action(expr: &Expr) -> Option<PerformativeSet> {
    match expr {
        Expr::Literal(Literal::EntityUID(uid)) => action(uid),
        _ => None,
    }
}

/// Can two values be the same, can they differ?
fn equal(a: &Values, b: &Values) -> (bool, bool) {
    fn sets<T: Ord>(a: &BTreeSet<T>, b: &BTreeSet<T>) -> (bool, bool) {
        (!a.is_disjoint(b), !(a.len() == 1 && a == b))
    }
    match (a, b) {
        (Values::Texts(a), Values::Texts(b)) => sets(a, b),
        (Values::Numbers(a), Values::Numbers(b)) | (Values::Decimals(a), Values::Decimals(b)) => a.equal(b),
        (Values::Actions(a), Values::Actions(b)) => (!a.and(*b).is_empty(), !(a.len() == 1 && a == b)),
        (Values::Bool { yes, no }, Values::Bool { yes: y, no: n }) => {
            ((*yes && *y) || (*no && *n), (*yes && *n) || (*no && *y))
        }
        _ => (true, true),
    }
}

fn compare(op: BinaryOp, a: &Values, b: &Values) -> Values {
    let (a, b) = match (a, b) {
        (Values::Numbers(a), Values::Numbers(b)) | (Values::Decimals(a), Values::Decimals(b)) => (a, b),
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

const fn turned((yes, no): (bool, bool)) -> (bool, bool) {
    (no, yes)
}

/// A member compared with itself.
fn itself(op: BinaryOp) -> Values {
    only(matches!(
        op,
        BinaryOp::LessEq | BinaryOp::GreaterEq | BinaryOp::DecimalLessEq | BinaryOp::DecimalGreaterEq
    ))
}

/// Whether both are the same member of the instance or the context record: where one of them can be read, so can the other.
fn is_same_member(left: &Expr, right: &Expr) -> bool {
    matches!(left, Expr::GetAttr { .. }) && path_of(left).is_some_and(|path| path_of(right) == Some(path))
}

/// The variable that a member begins with, and the names behind it.
fn path_of(expr: &Expr) -> Option<(Var, Vec<String>)> {
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

/// Whether it is a number that is written out.
fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(Literal::Long(_)) => true,
        Expr::UnaryOp { op: UnaryOp::Neg, expr } => negative(expr).is_some(),
        Expr::UnaryOp { op: UnaryOp::Decimal, expr } => decimal(expr).is_some(),
        _ => false,
    }
}

fn negative(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(Literal::Long(number)) => number.checked_neg(),
        _ => None,
    }
}

/// The ten-thousandths of what `decimal("…")` is given.
fn decimal(expr: &Expr) -> Option<i64> {
    let Expr::Literal(Literal::String(text)) = expr else { return None };
    let (whole, rest) = text.split_once('.')?;
    let places = usize::try_from(DECIMAL_PLACES).ok()?;
    if rest.is_empty() || rest.len() > places {
        return None;
    }
    format!("{whole}{rest:0<places$}").parse().ok()
}

/// What a test comes to over all of these; over none nothing is said.
fn over<T>(all: impl Iterator<Item = T>, test: impl Fn(T) -> bool) -> Values {
    let (mut yes, mut no) = (false, false);
    for one in all {
        if test(one) { yes = true } else { no = true }
    }
    if yes || no { Values::Bool { yes, no } } else { EITHER }
}

/// Whether a text is as Cedar's `like` asks: every length that the pattern so far can have taken, character by character.
fn matches(pattern: &[PatternElem], text: &str) -> bool {
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
