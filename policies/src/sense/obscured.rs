//! Members that a `has` asks for where no plain path names the owner: Cedar takes the `has` of a member that policies do not see for false,
//! so a `forbid` with it would silently stop firing.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{Clause, Expr, Var};

use super::World;
use super::facts::Where;
use super::never::Never;
use super::walk;

/// Every hidden member that such a `has` could ask for. `asked` holds the owners that were looked at by their path; any other owner that
/// may be the resource, or a part of it, counts as the owner of every hidden member of that name.
pub(super) fn hidden(
    clauses: &[Clause],
    (here, world): (&Where, &World<'_>),
    asked: &BTreeSet<*const Expr>,
) -> Vec<Never> {
    let mut found = Vec::new();
    for clause in clauses {
        let (Clause::When(condition) | Clause::Unless(condition)) = clause;
        walk::each(condition, &mut |part| {
            let Expr::HasAttr { expr: owner, attrs } = &**part else { return };
            if asked.contains(&Arc::as_ptr(owner)) || !may_hold_resource(owner) {
                return;
            }
            found.extend(attrs.iter().filter_map(|name| {
                let of_type = world.hidden_anywhere(name, here)?;
                Some(Never::Hidden { member: name.to_string(), of_type })
            }));
        });
    }
    found
}

/// Returns true if the value can be the resource, a part of it, or a record with one of them.
fn may_hold_resource(owner: &Arc<Expr>) -> bool {
    match &**owner {
        Expr::IfThenElse { then_expr, else_expr, .. } => {
            may_hold_resource(then_expr) || may_hold_resource(else_expr)
        }
        _ => {
            let mut mentioned = false;
            walk::each(owner, &mut |part| mentioned |= matches!(**part, Expr::Var(Var::Resource)));
            mentioned
        }
    }
}
