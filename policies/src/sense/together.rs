//! Whether conditions that stand in no policy could hold of one message.

use std::sync::Arc;

use cedar_policy::pst::{Clause, Expr};

use super::World;
use super::facts::{End, Where};
use super::possible::Looking;
use crate::catalogue::Catalogue;
use crate::judged::judged;
use crate::parse::clauses;
use semgate_contexts::{Performative, PerformativeSet};

/// Messages of one type, as far as contexts say what they can be.
pub(crate) struct Together<'c> {
    world: World<'c>,
    here: Where,
}

impl<'c> Together<'c> {
    /// Of the type with this name.
    pub fn of(catalogue: &'c Catalogue, name: &str) -> Self {
        let world = World::of_contexts(catalogue);
        let of_type = world.of_name(name);
        let all: PerformativeSet = Performative::ALL.into_iter().collect();
        let here = Where {
            of_type,
            actions: of_type.and_then(|at| catalogue.types.get(at)).map_or(all, |info| info.performatives),
            version: None,
            apart: false,
            direction: None,
            binding: None,
            above: false,
            coming: false,
            guards: false,
            sender: End::default(),
            receiver: End::default(),
            facts: None,
        };
        Self { world, here }
    }

    /// Whether all of them could hold of one message. What cannot be told, could.
    pub fn may_hold(&self, clauses: &Arc<[Clause]>) -> bool {
        self.world.steps().begin();
        Looking::new(&self.world).clauses(&judged(clauses), &self.here)
    }
}

/// A condition by its text; none where that is none.
pub(crate) fn condition(text: &str) -> Option<Arc<Expr>> {
    let policy = format!("permit (principal, action, resource) when {{ {text} }};");
    let clauses = clauses(&policy.parse::<cedar_policy::Policy>().ok()?).ok()?;
    match clauses.first()? {
        Clause::When(expr) | Clause::Unless(expr) => Some(Arc::clone(expr)),
    }
}
