//! The value of a condition where not everything is known: true, false, an error, or open.
//!
//! Cedar itself answers every part that reads only what is known; `&&`, `||`, `!` and `if` are Kleene's over the answers, with Cedar's
//! order of evaluation. A part that is not recognised, or that could fail, is never taken for one that is known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal, UnaryOp, Var};

use semgate_contexts::Digest;
use semgate_policies::is_shown;

use super::digests::by_digest;
use super::scene::Scene;

/// The value of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Truth {
    /// It holds.
    True,
    /// It does not.
    False,
    /// It cannot be evaluated, which refuses the message.
    Error(Arc<str>),
    /// It depends on what is not known.
    Open(Open),
}

/// The unknown parts that an open condition depends on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Open {
    /// Members that are not known, as policies write them: `resource.amount`.
    pub reads: BTreeSet<String>,
    /// True if it could also fail, for some values.
    pub may_fail: bool,
}

/// Members of which some are not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Members {
    /// All are known.
    #[default]
    Known,
    /// All but these; `scores.text_length` is a part of `scores`.
    But(BTreeSet<String>),
    /// None.
    Unknown,
}

/// The unknown parts of a question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Unknown {
    /// Unknown members of the instance.
    pub resource: Members,
    /// Unknown members of the context record.
    pub context: Members,
    /// True if the credentials that the sender shows beyond `entities.json` are unknown.
    pub shown: bool,
    /// Digests of the values of unknown members, as records keep them.
    pub digests: BTreeMap<String, Digest>,
    /// True if the sender has no entry in `entities.json` and is otherwise unknown.
    pub stranger: bool,
}

impl Members {
    /// Returns true if this member is not known, or what it is a part of, or a part of it.
    fn hide(&self, name: &str) -> bool {
        let within = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        match self {
            Self::Known => false,
            Self::But(names) => names.iter().any(|hidden| within(hidden, name) || within(name, hidden)),
            Self::Unknown => true,
        }
    }

    /// These are not known either.
    pub fn without(self, more: impl IntoIterator<Item = String>) -> Self {
        let mut names = match self {
            Self::Known => BTreeSet::new(),
            Self::But(names) => names,
            Self::Unknown => return Self::Unknown,
        };
        names.extend(more);
        if names.is_empty() { Self::Known } else { Self::But(names) }
    }

    fn hide_any(&self) -> bool {
        *self != Self::Known
    }
}

impl Truth {
    /// `!`
    pub fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            other => other,
        }
    }

    /// `&&`: the right side is looked at only where the left one is not false.
    pub fn and(self, right: impl FnOnce() -> Self) -> Self {
        match self {
            Self::True => right(),
            Self::Open(left) => match right() {
                // where the left side is false or true, all is false; where it fails, all fails
                Self::False if !left.may_fail => Self::False,
                Self::True | Self::False => Self::Open(left),
                Self::Error(_) => Self::Open(Open { may_fail: true, ..left }),
                Self::Open(right) => Self::Open(left.with(right)),
            },
            settled => settled,
        }
    }

    /// `||`
    pub fn or(self, right: impl FnOnce() -> Self) -> Self {
        self.not().and(|| right().not()).not()
    }
}

impl Open {
    /// Both together.
    pub fn with(mut self, other: Self) -> Self {
        self.reads.extend(other.reads);
        self.may_fail |= other.may_fail;
        self
    }
}

/// The value of a clause, as a condition that must hold.
pub(crate) fn of_clause(clause: &Clause, scene: &Scene) -> Truth {
    match clause {
        Clause::When(expr) => truth(expr, scene),
        Clause::Unless(expr) => truth(expr, scene).not(),
    }
}

/// The value of an expression of type Bool.
pub(crate) fn truth(expr: &Arc<Expr>, scene: &Scene) -> Truth {
    match &**expr {
        Expr::BinaryOp { op: BinaryOp::And, left, right } => truth(left, scene).and(|| truth(right, scene)),
        Expr::BinaryOp { op: BinaryOp::Or, left, right } => truth(left, scene).or(|| truth(right, scene)),
        Expr::UnaryOp { op: UnaryOp::Not, expr } => truth(expr, scene).not(),
        Expr::IfThenElse { cond, then_expr, else_expr } => match truth(cond, scene) {
            Truth::True => truth(then_expr, scene),
            Truth::False => truth(else_expr, scene),
            Truth::Open(open) => either(open, truth(then_expr, scene), truth(else_expr, scene)),
            failed @ Truth::Error(_) => failed,
        },
        _ => {
            if let Some(settled) = by_digest(expr, &scene.unknown.digests) {
                return settled;
            }
            let mut open = Open::default();
            let known = visit(expr, scene, &mut open);
            if known { scene.ask(expr) } else { Truth::Open(open) }
        }
    }
}

/// `if` with an open condition.
fn either(cond: Open, then: Truth, otherwise: Truth) -> Truth {
    if then == otherwise && !cond.may_fail && !matches!(then, Truth::Open(_)) {
        return then;
    }
    let open = |side: Truth| match side {
        Truth::Open(open) => open,
        Truth::Error(_) => Open { may_fail: true, ..Open::default() },
        Truth::True | Truth::False => Open::default(),
    };
    Truth::Open(cond.with(open(then)).with(open(otherwise)))
}

/// Notes what an expression reads of what is not known and whether it could fail; true if everything that it reads is known.
fn visit(expr: &Expr, scene: &Scene, open: &mut Open) -> bool {
    let unknown = &scene.unknown;
    match expr {
        Expr::Literal(Literal::Bool(_) | Literal::Long(_) | Literal::String(_) | Literal::EntityUID(_)) => {
            true
        }
        Expr::Var(var) => {
            let hidden = match var {
                Var::Principal => false,
                Var::Action => false,
                Var::Resource => unknown.resource.hide_any(),
                Var::Context => unknown.context.hide_any(),
            };
            note(!hidden, var_name(var), open)
        }
        Expr::GetAttr { expr, attr } => attribute(expr, attr, scene, open),
        Expr::HasAttr { expr, attrs } => attribute(expr, attrs.first(), scene, open),
        // the type of everything is known
        Expr::Is { expr, in_expr, .. } => match (&**expr, in_expr) {
            (Expr::Var(_), None) => true,
            (Expr::Var(_), Some(parent)) => visit(parent, scene, open),
            (_, parent) => {
                let own = visit(expr, scene, open);
                parent.as_ref().is_none_or(|parent| visit(parent, scene, open)) && own
            }
        },
        Expr::BinaryOp { op: BinaryOp::In, left, right } if matches!(&**left, Expr::Var(_)) => {
            visit(right, scene, open)
        }
        Expr::BinaryOp { op: BinaryOp::Contains, left, right } if is_own_credential(left, right) => true,
        Expr::BinaryOp { op, left, right } => {
            open.may_fail |= matches!(
                op,
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Offset | BinaryOp::DurationSince
            );
            let left = visit(left, scene, open);
            visit(right, scene, open) && left
        }
        Expr::UnaryOp { op, expr } => {
            open.may_fail |= matches!(op, UnaryOp::Neg | UnaryOp::ToDate);
            visit(expr, scene, open)
        }
        Expr::Like { expr, .. } => visit(expr, scene, open),
        Expr::IfThenElse { cond, then_expr, else_expr } => {
            each([cond, then_expr, else_expr].into_iter(), scene, open)
        }
        Expr::Set(items) => each(items.iter(), scene, open),
        Expr::Record(members) => each(members.values(), scene, open),
        _ => {
            open.may_fail = true;
            note(unknown.nothing(), "what is not recognised", open)
        }
    }
}

/// The same of several: all are looked at, so that everything they read is noted.
fn each<'e>(parts: impl Iterator<Item = &'e Arc<Expr>>, scene: &Scene, open: &mut Open) -> bool {
    let mut known = true;
    for part in parts {
        known &= visit(part, scene, open);
    }
    known
}

impl Unknown {
    fn nothing(&self) -> bool {
        *self == Self::default()
    }
}

fn note(known: bool, name: &str, open: &mut Open) -> bool {
    if !known {
        open.reads.insert(name.to_owned());
    }
    known
}

const fn var_name(var: &Var) -> &'static str {
    match var {
        Var::Principal => "principal",
        Var::Action => "action",
        Var::Resource => "resource",
        Var::Context => "context",
    }
}

fn attribute(of: &Expr, name: &str, scene: &Scene, open: &mut Open) -> bool {
    let unknown = &scene.unknown;
    // what was measured is known one by one
    if let Expr::GetAttr { expr, attr } = of
        && attr == "scores"
        && matches!(&**expr, Expr::Var(Var::Context))
    {
        let path = format!("{attr}.{name}");
        return note(!unknown.context.hide(&path), &format!("context.{path}"), open);
    }
    let Expr::Var(var) = of else {
        // an agent that is the sender by another way than `principal`
        let shown = unknown.shown && name == "credentials";
        return note(!shown, "principal.credentials", open) & visit(of, scene, open);
    };
    let hidden = match var {
        Var::Principal => unknown.stranger || (unknown.shown && name == "credentials"),
        Var::Action => false,
        Var::Resource => unknown.resource.hide(name),
        Var::Context => unknown.context.hide(name),
    };
    note(!hidden, &format!("{}.{name}", var_name(var)), open)
}

/// `principal.credentials.contains("…")` of a name that only `entities.json` can give: what an agent shows has a space of its own.
fn is_own_credential(left: &Expr, right: &Expr) -> bool {
    let (Expr::GetAttr { expr, attr }, Expr::Literal(Literal::String(name))) = (left, right) else {
        return false;
    };
    matches!(&**expr, Expr::Var(Var::Principal)) && attr == "credentials" && !is_shown(name)
}
