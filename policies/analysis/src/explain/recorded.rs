//! The parts of a record beside its questions: the parties and the decision.

use std::collections::BTreeSet;

use semgate_policies::{Obligations, Texts, Verdict};

use super::truth::Truth;
use super::{Against, Explainer, Explanation};

/// The verdict of a value that policies cannot hold.
pub(super) const UNTYPABLE: &str = "untypable";

/// The parts of a record that all its questions share.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recorded<'a> {
    /// The members that policies took out of the whole reply (`concept.member`), for a record that does not name them by question: each instance
    /// of the concept counts as one that they were taken out of.
    pub redacted: &'a [&'a str],
    /// True if the policies that are asked are those that decided (their digest is the record's `policy_digest`). What decided is then what
    /// the record says, also where that depends on values that were not kept.
    pub by_these: bool,
}

impl Explainer {
    /// The verdict that these policies gave, as the record has it in two words; none for a word that is not one of theirs.
    pub(super) fn decided(&self, then: &str, then_by: &BTreeSet<String>) -> Option<Verdict> {
        let policies: Texts = then_by.iter().cloned().collect();
        match then {
            "permitted" | "approval" => {
                let of = self.parsed.iter().filter(|parsed| then_by.contains(&*parsed.id));
                let obligations: Obligations = of.filter_map(|parsed| parsed.obligation.clone()).collect();
                Some(Verdict::Permitted { policies, obligations })
            }
            "denied" => Some(Verdict::Denied { policies, notices: Texts::default() }),
            "error" => Some(Verdict::Errored { policies, why: "it could not be evaluated".into() }),
            _ => None,
        }
    }
}

/// The word of a record for a verdict, if it is one of the words of a decision.
pub(super) fn word(then: &str) -> Option<&'static str> {
    ["permitted", "approval", "denied", "error"].into_iter().find(|known| *known == then)
}

impl Against<'_> {
    /// Settles an open truth by the recorded verdict, which names every forbid that applied and, where the message passed, every permit.
    pub(super) fn settle(&mut self, decided: &Verdict) {
        let Truth::Open(_) = self.truth else { return };
        let named = self.decided(decided);
        let holds = |holds: bool| Some(if holds { Truth::True } else { Truth::False });
        let truth = match decided {
            Verdict::Permitted { .. } => holds(named),
            Verdict::Denied { policies, .. } if !self.parsed.permits() || policies.is_empty() => holds(named),
            Verdict::Errored { why, .. } if named => Some(Truth::Error(why.clone())),
            // beside a forbid, and beside what failed, nobody said whether it applied
            Verdict::Denied { .. } | Verdict::Errored { .. } | Verdict::Untypable { .. } => None,
        };
        self.truth = truth.unwrap_or_else(|| self.truth.clone());
    }
}

/// Explains the refusal of a value that policies cannot hold, with its location and the type that it has no equal in, where they are known.
pub(super) fn unfit(at: Option<(String, &'static str)>) -> Explanation {
    let note = match &at {
        Some((path, rule)) => {
            format!("policies cannot represent the value at `{path}` (rule `{rule}`), so none was evaluated")
        }
        None => "policies cannot represent a value that was not kept, so none was evaluated".to_owned(),
    };
    let (path, rule) = at.unwrap_or_default();
    Explanation { verdict: Some(Verdict::Untypable { path, rule }), policies: Vec::new(), note: Some(note) }
}
