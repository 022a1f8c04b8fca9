//! A line that is refused as a whole: the permits of it that come near, though no condition was ever looked at.

use semgate_contexts::Line;

use super::scope::{self, Fit};
use super::{Explainer, Explanation, Part, Recalled, ToPass, Weighed, changes, wish};
use crate::catalogue::TypeInfo;
use crate::parse::Written;

impl Explainer {
    /// For each concept of a line that no policy lets this sender use, the permits that would let somebody else: what of their scope does
    /// not fit, and what they ask beside it. None for a line of which policies know no concept.
    #[must_use]
    pub fn refused_line(&self, sender: &str, line: &Line) -> Vec<Recalled> {
        let types = self.policies.asker().catalogue.types.iter().filter(|info| info.line == *line);
        types.map(|info| self.refused_type(sender, info)).collect()
    }

    fn refused_type(&self, sender: &str, info: &TypeInfo) -> Recalled {
        let agents = &self.policies.asker().agents.list;
        let entry = agents.position(sender).and_then(|position| agents.at(position));
        let disabled = entry.is_some_and(|entry| entry.disabled);
        let about =
            |written: &&Written| !disabled && written.permits() && scope::resource(written, info) == Fit::Yes;
        // the performative was not looked at either
        let misfits = |written: &Written| -> Vec<String> {
            let sender = scope::principal(written, sender, entry).wish().map(str::to_owned);
            sender.into_iter().chain(scope::performatives(written)).collect()
        };
        let permits = || self.written.iter().filter(about);
        let needs = |written: &Written| {
            let scope = misfits(written).into_iter();
            let asks = if written.asks() { changes::ASKS } else { "" };
            scope.chain(wish::conditions(&written.clauses)).collect::<Vec<_>>().join("; and ") + asks
        };
        // nothing passes by one that asks a human, so that it is told where there is no other
        let alike = |written: &&Written| permits().all(Written::asks) || !written.asks();
        let to_pass = if disabled {
            ToPass::just("the sender may not be disabled in `entities.json`")
        } else {
            ToPass::default().with_permits(permits().filter(alike).map(|written| (written, needs(written))))
        };
        let mut policies: Vec<Weighed> =
            permits().map(|written| self.told_of(written, Part::Near, misfits(written), None)).collect();
        policies.sort_by(|a, b| a.id.cmp(&b.id));
        Recalled {
            concept: info.name.clone(),
            then: "denied".to_owned(),
            now: Some("denied"),
            explanation: Explanation { verdict: None, policies, to_pass },
            ..Recalled::default()
        }
    }
}
