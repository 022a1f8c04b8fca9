//! Records and sets that are written out: a record equals another where each of its members does, and a set another where each item of the
//! one is among those of the other.

use std::sync::Arc;

use cedar_policy::pst::Expr;

use super::facts::Where;
use super::members::path_of;
use super::never::literally;
use super::possible::Looking;
use super::values::equal;
use super::walk;
use super::world::of_kind;
use crate::kinds::Kind;

/// Two expressions that are held against each other.
type Pair = (Arc<Expr>, Arc<Expr>);

impl Looking<'_, '_> {
    /// What is compared where two records are: a member of the one with that of the other, which may be written out or be a member itself.
    /// None where either is no record that is written out, and where only what conditions say by themselves counts.
    pub(super) fn member_by_member(&self, left: &Arc<Expr>, right: &Arc<Expr>) -> Option<Vec<Pair>> {
        if self.known.is_bare() {
            return None;
        }
        match (&**left, &**right) {
            (Expr::Record(one), Expr::Record(other)) if one.len() == other.len() => one
                .iter()
                .map(|(name, value)| Some((Arc::clone(value), Arc::clone(other.get(name)?))))
                .collect(),
            (Expr::Record(members), Expr::GetAttr { .. }) => of_member(members, right),
            (Expr::GetAttr { .. }, Expr::Record(members)) => of_member(members, left),
            _ => None,
        }
    }

    /// Whether two can be the same; notes nothing of why not.
    pub(super) fn can_be(&mut self, left: &Arc<Expr>, right: &Arc<Expr>, here: &Where) -> bool {
        if !self.world.steps().spend(1) {
            return true;
        }
        let before = self.never.len();
        let can = match (&**left, &**right) {
            (Expr::Set(one), Expr::Set(other)) if !self.known.is_bare() => {
                let mut among = |all: &[Arc<Expr>], items: &[Arc<Expr>]| {
                    items.iter().all(|item| all.iter().any(|one| self.can_be(one, item, here)))
                };
                among(one, other) && among(other, one)
            }
            _ => match self.member_by_member(left, right) {
                Some(members) => members.iter().all(|(one, other)| self.can_be(one, other, here)),
                None => equal(&self.values(left, here), &self.values(right, here)).0,
            },
        };
        self.never.truncate(before);
        can
    }

    /// Whether an item of a set that is written out can be what is looked for; notes why a record of values alone never is.
    pub(super) fn same_item(&mut self, item: &Arc<Expr>, asked: &Arc<Expr>, here: &Where) -> bool {
        let mut values_alone = matches!(**item, Expr::Record(_));
        walk::each(item, &mut |part| values_alone &= !matches!(**part, Expr::Var(_)));
        if values_alone { self.same(item, asked, here).0 } else { self.can_be(item, asked, here) }
    }

    /// Whether what is of a kind can be this item; `set` is what it is an item of, by which a text that is never there is told.
    pub(super) fn can_be_of(&mut self, kind: &Kind, (set, item): (&Expr, &Arc<Expr>), here: &Where) -> bool {
        if let Some(literal) = literally(item) {
            return self.can_be_text(set, literal, of_kind(kind));
        }
        match (kind, &**item) {
            (Kind::Record(known), Expr::Record(members)) => {
                let mut can = true;
                for (name, value) in members {
                    let Some(kind) = known.members.get(name.as_str()).and_then(|member| member.kind.as_ref())
                    else {
                        continue;
                    };
                    let member = Expr::GetAttr { expr: Arc::new(set.clone()), attr: name.as_str().into() };
                    can &= self.can_be_of(kind, (&member, value), here);
                }
                can
            }
            (Kind::Set(kind, _), Expr::Set(items)) => {
                let each: Vec<bool> =
                    items.iter().map(|item| self.can_be_of(kind, (set, item), here)).collect();
                !each.contains(&false)
            }
            _ => equal(&of_kind(kind), &self.values(item, here)).0,
        }
    }
}

/// The members of a record beside those of a member that is one.
fn of_member<'e, N: AsRef<str> + 'e>(
    members: impl IntoIterator<Item = (&'e N, &'e Arc<Expr>)>,
    of: &Arc<Expr>,
) -> Option<Vec<Pair>> {
    path_of(of)?;
    let member = |name: &N| Expr::GetAttr { expr: Arc::clone(of), attr: name.as_ref().into() };
    Some(members.into_iter().map(|(name, value)| (Arc::new(member(name)), Arc::clone(value))).collect())
}
