//! All missing members of a message in one refusal (F0-63).

use crate::{Code, Refusal, conform::without};
use semgate_contexts::Term;
use semgate_protocol::Message;

/// Maximum number of missing members that one refusal names: 16, about one kilobyte. No task has more
/// parameters that are forgotten together.
pub(crate) const NAMED_GAPS: usize = 16;

/// Required members that a message's instances lack, in message order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gaps(Vec<String>);

/// Collects the missing members of every instance. `terms` define the instances, in their order.
pub(crate) fn all<'t>(terms: impl Iterator<Item = &'t Term>, message: &Message<'_>) -> Gaps {
    let mut all = Vec::new();
    for (term, instance) in terms.zip(&message.instances) {
        let Ok(shape) = term.side(instance.performative) else { continue };
        let room = NAMED_GAPS.saturating_sub(all.len());
        let gaps = shape.gaps(instance.object, without(instance), room);
        all.extend(gaps.iter().map(|gap| instance.pointer.join(gap)));
    }
    Gaps(all)
}

impl Gaps {
    /// The refusal for the first fault. It names all missing members if the fault is one of them.
    pub(crate) fn refusal(&self, path: &str, rule: &str) -> Refusal {
        let reason = match self.0.as_slice() {
            [only] if rule == "required" => format!("`{only}` is missing, by the rule `required`"),
            [_, _, ..] if rule == "required" => {
                format!("{} are missing, by the rule `required`", self.list())
            }
            _ => format!("`{path}` does not fit the rule `{rule}`"),
        };
        Refusal::new(Code::ContentInvalid, reason).with_missing(self.0.clone())
    }

    /// The hint, with the missing members if the first fault is another.
    pub(crate) fn hint(&self, fit: &str) -> String {
        match self.0.as_slice() {
            [] => fit.to_owned(),
            _ => format!("{fit}; give {}", self.list()),
        }
    }

    fn list(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|path| format!("`{path}`")).collect();
        let more = if self.0.len() < NAMED_GAPS { "" } else { " and perhaps others" };
        names.join(", ") + more
    }
}
