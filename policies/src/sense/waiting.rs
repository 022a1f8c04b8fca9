//! What stands beside `@approve` and does nothing until somebody can be asked.

use crate::PolicyFault;
use crate::check::Texts;
use crate::parse::annotated;

impl Texts<'_> {
    /// Each `@limit` and `@redact` of a permit that asks for an approval: nothing passes by it yet, so that nothing is counted or taken out.
    pub fn waiting(&self) -> Vec<PolicyFault> {
        let mut found = Vec::new();
        for written in self.each() {
            let Some(asks) = written.obligation.as_ref().filter(|asks| asks.approve.is_some()) else {
                continue;
            };
            let idle = [
                ("limit", "counts nothing", asks.limit.is_some()),
                ("redact", "takes nothing out", !asks.redact.is_empty()),
            ];
            found.extend(idle.into_iter().filter(|(_, _, is)| *is).map(|(annotation, does, _)| {
                PolicyFault::Waiting {
                    place: self.place_at(written, annotated(self.text(written), annotation)),
                    policy: written.id.to_string(),
                    why: format!("`@{annotation}` {does} yet: beside `@approve` nothing passes until somebody can be asked"),
                }
            }));
        }
        found
    }
}
