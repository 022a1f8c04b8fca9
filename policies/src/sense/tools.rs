//! Forbids that keep away from MCP what is no tool of it. They may stand before a version makes it one, and do nothing until then.

use super::facts::Where;
use super::versions::{self, Found};
use super::{World, scope};
use crate::PolicyFault;
use crate::check::Texts;
use crate::parse::Written;

impl Texts<'_> {
    /// Advice about each.
    pub fn before_tools(&self, world: &World<'_>) -> Vec<PolicyFault> {
        let asks = |written: &&Written| {
            let wants = |name: &str| written.reads.context.wants(name);
            !written.permits() && (wants("binding") || wants("binding_version"))
        };
        let guards = self.written.iter().filter(asks);
        let idle = guards.filter(|written| {
            world.steps().begin();
            let here = Where { guards: false, ..scope(written, world).here() };
            matches!(versions::of(&written.judged, (written, &here), world), Found::Nothing)
        });
        let told = |written: &Written| PolicyFault::NoTool {
            place: self.place_of_clause(written, Some(0)),
            policy: written.id.to_string(),
        };
        idle.map(told).collect()
    }
}
