//! Whether a policy is about replies alone, however its conditions say so.

use super::World;
use super::facts::Where;
use super::possible::{Known, Looking};
use crate::parse::Written;

/// Whether its conditions could hold for a request, by what they say themselves: of what is loaded nothing counts, so that no context and no
/// change of an agent makes it otherwise. What cannot be told, they could.
pub(crate) fn may_be_asked(written: &Written, world: &World<'_>) -> bool {
    world.steps().begin();
    let here = Where { direction: Some("request"), ..super::scope(written, world).here() };
    Looking::knowing(world, Known::Said).clauses(&written.judged, &here)
}
