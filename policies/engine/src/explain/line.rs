//! A line that is refused as a whole: the permits of it that come near, though no condition was ever looked at.

use semgate_contexts::{Line, Performative};

use super::scope::{self, Fit};
use super::{Explainer, Explanation, Part, Recalled, Weighed};
use crate::parse::Written;
use crate::partial::Known;

impl Explainer {
    /// For each concept of a line that no policy lets this sender use, the permits that would let somebody else: what of their scope does
    /// not fit, and what they ask beside it. Of the message its line is known, and its performative where that was read. None for a line of
    /// which policies know no concept.
    #[must_use]
    pub fn refused_line(&self, sender: &str, line: &Line, action: Option<Performative>) -> Vec<Recalled> {
        let types = self.policies.asker().catalogue.types.iter().filter(|info| info.line == *line);
        types
            .map(|info| self.refused_type(sender, &Known { info: Some(info), action, direction: None }))
            .collect()
    }

    fn refused_type(&self, sender: &str, known: &Known<'_>) -> Recalled {
        let Some(info) = known.info else { return Recalled::default() };
        let agents = &self.policies.asker().agents.list;
        let entry = agents.position(sender).and_then(|position| agents.at(position));
        let disabled = entry.is_some_and(|entry| entry.disabled);
        let about = |written: &&Written| {
            !disabled
                && written.permits()
                && scope::resource(written, info) == Fit::Yes
                && !known.excludes(&written.clauses)
        };
        let misfits = |written: &Written| -> Vec<String> {
            let sender = scope::principal(written, sender, entry).wish().map(str::to_owned);
            let action = match known.action {
                Some(action) => scope::action(written, action).wish().map(str::to_owned),
                None => scope::performatives(written),
            };
            sender.into_iter().chain(action).collect()
        };
        let near = self.written.iter().filter(about);
        let mut policies: Vec<Weighed> =
            near.map(|written| self.told_of(written, Part::Near, misfits(written), None)).collect();
        policies.sort_by(|a, b| a.id.cmp(&b.id));
        let note = match (disabled, policies.is_empty()) {
            (true, _) => Some("the sender is disabled in `entities.json`"),
            (false, true) => Some("no permit is near"),
            (false, false) => None,
        };
        Recalled {
            concept: info.name.clone(),
            then: "denied".to_owned(),
            now: Some("denied"),
            explanation: Explanation { verdict: None, policies, note: note.map(str::to_owned) },
            ..Recalled::default()
        }
    }
}
