//! A line that is refused as a whole: the permits of it that come near, though no condition was ever looked at.

use std::collections::{BTreeMap, BTreeSet};

use semgate_contexts::Line;

use super::scope::{self, Fit};
use super::{Explainer, Explanation, Part, Recalled, Weighed};
use crate::catalogue::TypeInfo;
use crate::parse;

impl Explainer {
    /// For each concept of a line that no policy lets this sender use, the permits that would let somebody else: what of their scope does
    /// not fit. None for a line of which policies know no concept.
    #[must_use]
    pub fn refused_line(&self, sender: &str, line: &Line) -> Vec<Recalled> {
        let types = self.policies.asker().catalogue.types.iter().filter(|info| info.line == *line);
        types.map(|info| self.refused_type(sender, info)).collect()
    }

    fn refused_type(&self, sender: &str, info: &TypeInfo) -> Recalled {
        let agents = &self.policies.asker().agents.list;
        let entry = agents.position(sender).and_then(|position| agents.at(position));
        let disabled = entry.is_some_and(|entry| entry.disabled);
        let mut ways: BTreeMap<String, String> = BTreeMap::new();
        let mut policies = Vec::new();
        for written in self.written.iter().filter(|written| written.permits()) {
            if disabled || scope::resource(written, info) != Fit::Yes {
                continue;
            }
            let (file, text) = self.files.get(written.file).map_or(("", ""), |(name, text)| (name, text));
            let wish = scope::principal(written, sender, entry).wish().map(str::to_owned);
            ways.insert(
                written.id.to_string(),
                format!("so that `{}` applies: {}", written.id, wish.as_deref().unwrap_or("its conditions")),
            );
            policies.push(Weighed {
                asks: written.obligation.as_ref().and_then(|one| one.approve.as_deref()).map(str::to_owned),
                id: written.id.to_string(),
                permits: true,
                place: parse::place(file, text, written.start),
                part: Part::Near,
                out_of_scope: wish.into_iter().collect(),
                conditions: Vec::new(),
            });
        }
        policies.sort_by(|a, b| a.id.cmp(&b.id));
        let to_pass = match (disabled, ways.is_empty()) {
            (true, _) => vec!["the sender may not be disabled in `entities.json`".to_owned()],
            (_, true) => vec!["a permit for it would have to be written: none is near".to_owned()],
            _ => vec![ways.into_values().collect::<Vec<_>>().join("; or ")],
        };
        Recalled {
            concept: info.name.clone(),
            then: "denied".to_owned(),
            then_by: BTreeSet::new(),
            now: Some("denied"),
            now_by: BTreeSet::new(),
            missing: BTreeSet::new(),
            explanation: Explanation { verdict: None, policies, to_pass },
        }
    }
}
