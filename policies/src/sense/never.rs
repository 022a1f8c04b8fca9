//! Parts of a condition that say what is never so, and which text of a policy is meant by one.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{Clause, Expr, Literal};

use super::walk;
use crate::numbers::Numbers;

/// A part that says something which is never so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Never {
    /// A text that the member never has.
    Text { member: String, literal: Literally, values: Arc<BTreeSet<String>> },
    /// A text that the schema of the member does not let be, and what it asks for.
    Form { member: String, literal: Literally, asks: String },
    /// A number that the member never is.
    Number { member: String, literal: i64, places: u32, numbers: Numbers },
    /// An instant that begins no day, or no second, where only such come; or such a length.
    Between { member: String, literal: Literally, days: bool },
    /// A range that is taken for one address, which is all that the member is.
    Range { member: String, literal: Literally, is_set: bool },
    /// A credential that nobody has.
    Credential { literal: Literally },
    /// A member that policies do not see.
    Hidden { member: String, of_type: usize },
    /// A member that nothing has of what it is asked of.
    Unknown { member: String, of: String, near: Option<String>, at: *const Expr },
    /// A text that no trust domain is, and the one that was probably meant.
    TrustDomain { member: String, text: String, meant: Option<String>, at: *const Expr },
}

/// A text of the policy, as the one that stands at this place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Literally {
    pub text: String,
    at: *const Expr,
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

/// Every text that these conditions hold.
pub(crate) fn texts<'c>(clauses: impl Iterator<Item = &'c Clause>) -> BTreeSet<String> {
    let mut all = Vec::new();
    for clause in clauses {
        let (Clause::When(condition) | Clause::Unless(condition)) = clause;
        literals(condition, &mut all);
    }
    all.into_iter().map(|(text, _)| text).collect()
}

fn literals(expr: &Arc<Expr>, all: &mut Vec<(String, *const Expr)>) {
    walk::each(expr, &mut |part| {
        if let Expr::Literal(Literal::String(text)) = &**part {
            all.push((text.to_string(), Arc::as_ptr(part)));
        }
    });
}

pub(super) fn literally(expr: &Arc<Expr>) -> Option<Literally> {
    match &**expr {
        Expr::Literal(Literal::String(text)) => {
            Some(Literally { text: text.to_string(), at: Arc::as_ptr(expr) })
        }
        _ => None,
    }
}

/// The text, or those of a set, that something is compared with.
pub(super) fn compared_with(expr: &Arc<Expr>, all: &mut Vec<Literally>) {
    match &**expr {
        Expr::Set(items) => all.extend(items.iter().filter_map(literally)),
        _ => all.extend(literally(expr)),
    }
}
