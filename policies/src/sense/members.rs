//! Members: what one can be, whether it is there, and the names that lead to it.

use std::sync::Arc;

use cedar_policy::pst::{Expr, Var};

use super::around::least;
use super::derived::{computed, made_by, offset};
use super::facts::Where;
use super::never::Never;
use super::possible::{Known, Looking};
use super::values::{EITHER, Values, only};
use crate::moments::SECOND;
use crate::numbers::Numbers;

impl Looking<'_, '_> {
    pub(super) fn member(&mut self, expr: &Expr, here: &Where) -> Values {
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

    pub(super) fn by_schema(&self, var: &Var, path: &[String], here: &Where) -> Values {
        if let Some(made) = self.made(var, path, here) {
            return made;
        }
        match (var, path) {
            (Var::Context, [scores, score]) if scores == "scores" => match self.known {
                Known::Said | Known::Nothing => Values::Numbers(Numbers::Between(least(score), i64::MAX)),
                known => self.world.score(score, here, known.is_settled()),
            },
            // of how messages come a gateway knows, whatever is loaded
            (Var::Context, [member]) if self.known == Known::Said && is_of_transport(member) => {
                self.world.circumstance(member, here, true)
            }
            _ if self.known.is_bare() => Values::Any,
            (Var::Context, [receiver, domain]) if receiver == "receiver" && domain == "trust_domain" => {
                self.world.domains(&here.receiver, self.known == Known::All)
            }
            (Var::Principal, [domain]) if domain == "trust_domain" => {
                self.world.domains(&here.sender, self.known == Known::All)
            }
            (Var::Context, [member]) => {
                let of_version = matches!(member.as_str(), "major" | "minor");
                let open = here.fact(&Var::Context, &["line"]).is_none();
                if of_version && (self.known == Known::Lasting || self.known == Known::Structure && open) {
                    Values::Any
                } else {
                    self.world.circumstance(member, here, self.known.is_settled())
                }
            }
            (Var::Context, [session, expires]) if session == "session" && expires == "expires" => {
                Values::Moments(Numbers::whole(SECOND))
            }
            (Var::Resource, path) => self.world.member(path, here),
            _ => Values::Any,
        }
    }

    pub(super) fn has(&mut self, of: &Arc<Expr>, names: &[&str], here: &Where) -> Values {
        self.ignored(&[of], here);
        if path_of(of).is_some() {
            self.asked.insert(Arc::as_ptr(of));
        }
        let mut owner = Arc::clone(of);
        for name in names {
            if self.unknown(&owner, name, here) {
                return if self.known.is_bare() { EITHER } else { only(false) };
            }
            owner = Arc::new(Expr::GetAttr { expr: owner, attr: (*name).into() });
        }
        let Some((var, mut path)) = path_of(of) else { return EITHER };
        if var == Var::Principal && path.is_empty() {
            // what is unknown was told above, and an agent has all that it can have
            return only(true);
        }
        if (&var, path.as_slice(), names.first()) == (&Var::Context, &[], Some(&"session")) {
            return match self.known_of(&var, &["locked".to_owned()], here) {
                locked @ Values::Bool { .. } => locked,
                _ => EITHER,
            };
        }
        if var != Var::Resource || self.known.is_bare() {
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
    pub(super) fn resource_path(&self, expr: &Expr) -> Option<Vec<String>> {
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

/// Whether a member of the context record says how a message comes.
fn is_of_transport(member: &str) -> bool {
    matches!(member, "direction" | "binding" | "binding_version")
}

/// The variable that a member begins with, and the names behind it; what a method makes of it has one too.
pub(super) fn path_of(expr: &Expr) -> Option<(Var, Vec<String>)> {
    match expr {
        Expr::Var(var) => Some((var.clone(), Vec::new())),
        Expr::GetAttr { expr, attr } => {
            let (var, mut path) = path_of(expr)?;
            path.push(attr.to_string());
            Some((var, path))
        }
        Expr::UnaryOp { op, expr } => {
            let made = made_by(*op)?;
            let (var, mut path) = path_of(expr).or_else(|| offset(expr)).or_else(|| computed(expr))?;
            path.push(made.to_owned());
            Some((var, path))
        }
        _ => None,
    }
}
