//! Sets of texts: what a member is said to hold, not to hold, and to hold nothing but.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Expr, Literal};

use super::derived::{held, lacked, no_others};
use super::facts::Where;
use super::members::path_of;
use super::possible::Looking;
use super::values::Values;

type Texts = BTreeSet<String>;

/// What a condition says of the set of a member.
#[derive(Debug, Default)]
struct Said {
    /// These are in it.
    holds: Texts,
    /// These are not.
    lacks: Texts,
    /// All of it is among these.
    among: Option<Texts>,
    /// One of these is in it.
    one_of: Option<Texts>,
}

impl Looking<'_, '_> {
    /// What is known where a question about a set is answered so; none if it never is.
    pub(super) fn about_set(&self, expr: &Expr, truth: bool, here: &Where) -> Option<Where> {
        let Some((set, said)) = said(expr, truth).filter(|_| self.known.follows()) else {
            return Some(here.clone());
        };
        let Some((var, path)) = path_of(set) else { return Some(here.clone()) };
        let known = |name: &[String]| match here.said(&var, name) {
            Some(Values::Texts(all)) => Some(Texts::clone(all)),
            _ => None,
        };
        let (own, other, rest) = (held(&path), lacked(&path), no_others(&path));
        let holds: Texts = known(&own).unwrap_or_default().union(&said.holds).cloned().collect();
        let lacks: Texts = known(&other).unwrap_or_default().union(&said.lacks).cloned().collect();
        let among = match (known(&rest), said.among) {
            (Some(a), Some(b)) => Some(a.intersection(&b).cloned().collect()),
            (a, b) => a.or(b),
        };
        let can =
            |text: &String| !lacks.contains(text) && among.as_ref().is_none_or(|among| among.contains(text));
        if !holds.iter().all(can) || said.one_of.is_some_and(|any| !any.iter().any(can)) {
            return None;
        }
        let there = here.saying((var.clone(), own), Values::Texts(Arc::new(holds)));
        let there = there.saying((var.clone(), other), Values::Texts(Arc::new(lacks)));
        Some(match among {
            Some(among) => there.saying((var, rest), Values::Texts(Arc::new(among))),
            None => there,
        })
    }
}

/// The set that a question is about, and what is known of it where it is answered so.
fn said(expr: &Expr, truth: bool) -> Option<(&Expr, Said)> {
    let Expr::BinaryOp { op, left, right } = expr else { return None };
    let nothing = Said::default();
    let (set, said) = match (op, truth) {
        (BinaryOp::Contains, true) => (left, Said { holds: text(right)?, ..nothing }),
        (BinaryOp::Contains, false) => (left, Said { lacks: text(right)?, ..nothing }),
        (BinaryOp::ContainsAll, true) => match texts(right) {
            Some(all) => (left, Said { holds: all, ..nothing }),
            None => (right, Said { among: Some(texts(left)?), ..nothing }),
        },
        (BinaryOp::ContainsAny, _) => {
            let (set, all) = texts(right).map(|all| (left, all)).or_else(|| Some((right, texts(left)?)))?;
            let one_of =
                if truth { Said { one_of: Some(all), ..nothing } } else { Said { lacks: all, ..nothing } };
            (set, one_of)
        }
        (BinaryOp::Eq, true) | (BinaryOp::NotEq, false) => {
            let (set, all) = texts(right).map(|all| (left, all)).or_else(|| Some((right, texts(left)?)))?;
            (set, Said { holds: all.clone(), among: Some(all), ..nothing })
        }
        _ => return None,
    };
    Some((set, said))
}

/// The texts of a set in which nothing else is written.
fn texts(expr: &Expr) -> Option<Texts> {
    let Expr::Set(items) = expr else { return None };
    items.iter().map(|item| text(item)?.pop_first()).collect()
}

fn text(expr: &Expr) -> Option<Texts> {
    match expr {
        Expr::Literal(Literal::String(text)) => Some(Texts::from([text.to_string()])),
        _ => None,
    }
}
