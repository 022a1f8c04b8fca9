//! Members that nothing has of what they are asked of: misspelt, or of another concept. Strict validation does not look behind a
//! condition that is never true, and such a `has` never is, so what stands behind it would do nothing in silence.

use std::collections::BTreeSet;

use cedar_policy::pst::{Expr, Literal, Var};

use super::facts::Where;
use super::members::path_of;
use super::never::Never;
use super::possible::Looking;
use crate::catalogue::{CONTEXT_MEMBERS, SCORES};
use crate::check::closest;

/// Attributes of an agent.
const AGENT: [&str; 2] = ["credentials", "trust_domain"];

/// Members of `context.session`.
const SESSION: [&str; 1] = ["expires"];

/// Bytes of names that are told where none of them is near.
const MAX_TOLD: usize = 200;

impl Looking<'_, '_> {
    /// Notes a member that nothing can have of what it is asked of; whether it did.
    pub(super) fn unknown(&mut self, of: &Expr, name: &str, here: &Where) -> bool {
        let listed: (String, &[&str]) = match of {
            Expr::Var(Var::Principal) => agent(),
            Expr::Var(Var::Context) => ("in context".to_owned(), &CONTEXT_MEMBERS),
            Expr::Literal(Literal::EntityUID(uid)) if uid.ty.to_string() == "Agent" => agent(),
            _ => match path_of(of) {
                Some((Var::Resource, path)) => return self.unknown_to_concepts(of, path, name, here),
                Some((Var::Context, path)) => match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                    ["receiver"] => agent(),
                    ["session"] => ("in `context.session`".to_owned(), &SESSION),
                    ["scores"] => ("in `context.scores`".to_owned(), &SCORES),
                    _ => return false,
                },
                _ => return false,
            },
        };
        let (said, known) = listed;
        if known.contains(&name) {
            return false;
        }
        let near = nearest(name, known.iter().copied());
        self.never.push(Never::Unknown { member: name.to_owned(), of: said, near, at: anchor(of) });
        true
    }

    fn unknown_to_concepts(&mut self, of: &Expr, above: Vec<String>, name: &str, here: &Where) -> bool {
        let mut path = above;
        if !path.is_empty() && !self.world.declares(&path, here) {
            return false;
        }
        let is_record = path.is_empty() || self.world.is_record(&path, here);
        path.push(name.to_owned());
        if !is_record || self.world.declares(&path, here) || self.world.types_here(here).next().is_none() {
            return false;
        }
        path.pop();
        let beside = self.world.members_of(&path, here);
        let near = nearest(name, beside.iter().copied());
        let inner = if path.is_empty() { String::new() } else { format!("`{}` of ", path.join(".")) };
        let said = match self.world.only_type(here) {
            Some(info) => format!("on {inner}entity type `{}`", info.name),
            None => format!("on {inner}any entity type that `resource` can be here"),
        };
        self.never.push(Never::Unknown { member: name.to_owned(), of: said, near, at: anchor(of) });
        true
    }
}

fn agent() -> (String, &'static [&'static str]) {
    ("on entity type `Agent`".to_owned(), &AGENT)
}

fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
    let known: BTreeSet<&str> = known.collect();
    let folded = known.iter().find(|one| one.eq_ignore_ascii_case(name));
    let near = folded.copied().or_else(|| closest(name, known.iter().copied()));
    near.map(|near| format!("did you mean `{near}`?")).or_else(|| there_are(&known))
}

/// All of a few names, with what is not seen in them by its codes: whoever publishes a context writes them.
fn there_are(known: &BTreeSet<&str>) -> Option<String> {
    let all: Vec<String> = known.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
    let all = all.join(", ");
    (!all.is_empty() && all.len() <= MAX_TOLD).then(|| format!("it has {all}"))
}

/// The variable that a member begins with, else what it is asked of.
pub(super) fn anchor(expr: &Expr) -> *const Expr {
    match expr {
        Expr::GetAttr { expr, .. } => anchor(expr),
        other => std::ptr::from_ref(other),
    }
}
