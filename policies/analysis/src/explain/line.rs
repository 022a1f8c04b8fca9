//! Explanations of a line that is refused as a whole: its permits that come near, before any condition was evaluated.

use semgate_contexts::{Line, Performative};
use semgate_policies::{ConceptType, ParsedPolicy};

use super::scope::{self, Fit};
use super::{Explainer, Explanation, Part, Recalled, Weighed};

impl Explainer {
    /// For each concept of a line that no policy lets this sender use, the permits that would let another sender use it: the parts of
    /// their scope that do not fit, and what else they ask for. `action` is the performative where it was read. Empty for a line of
    /// which policies know no concept.
    #[must_use]
    pub fn refused_line(&self, sender: &str, line: &Line, action: Option<Performative>) -> Vec<Recalled> {
        let concepts = self.policies.concept_types().filter(|concept| concept.line() == line);
        concepts.map(|concept| self.refused_concept(sender, concept, action)).collect()
    }

    fn refused_concept(
        &self,
        sender: &str,
        concept: ConceptType<'_>,
        action: Option<Performative>,
    ) -> Recalled {
        let entry = self.policies.agent(sender);
        let disabled = entry.is_some_and(|entry| entry.disabled);
        let about = |parsed: &&ParsedPolicy| {
            !disabled
                && parsed.permits()
                && scope::resource(parsed, concept) == Fit::Yes
                && !parsed.excludes(concept, action)
        };
        let misfits = |parsed: &ParsedPolicy| -> Vec<String> {
            let sender = scope::principal(parsed, sender, entry).wish().map(str::to_owned);
            let action = match action {
                Some(action) => scope::action(parsed, action).wish().map(str::to_owned),
                None => scope::performatives(parsed),
            };
            sender.into_iter().chain(action).collect()
        };
        let near = self.parsed.iter().filter(about);
        let mut policies: Vec<Weighed> =
            near.map(|parsed| Weighed::new(parsed, Part::Near, misfits(parsed), None)).collect();
        policies.sort_by(|a, b| a.id.cmp(&b.id));
        let note = match (disabled, policies.is_empty()) {
            (true, _) => Some("the sender is disabled in `entities.json`"),
            (false, true) => Some("no permit is near"),
            (false, false) => None,
        };
        Recalled {
            concept: concept.name().to_owned(),
            then: "denied".to_owned(),
            now: Some("denied"),
            explanation: Explanation { verdict: None, policies, note: note.map(str::to_owned) },
            ..Recalled::default()
        }
    }
}
