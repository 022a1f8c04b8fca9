//! Approvals of recorded questions: a record need not keep the confidence that decides about one.

use std::collections::BTreeSet;

use semgate_contexts::FieldType;
use semgate_policies::{ApproveWhen, Obligation, Obligations, Verdict};

use super::{Look, Pieces};

impl Pieces<'_> {
    /// The verdict of a look in one word. None where it depends on an unknown member, which the look then names: a confidence that was not
    /// kept.
    pub(super) fn word(&self, look: &mut Look) -> Option<&'static str> {
        if let Some(Verdict::Permitted { obligations, .. }) = &look.verdict {
            let missing = self.unsure(obligations);
            if !missing.is_empty() {
                look.missing.extend(missing);
                return None;
            }
        }
        look.verdict.as_ref().map(|verdict| verdict.word(&self.question, &|| self.steps))
    }

    /// The unknown members that decide whether a person is asked.
    fn unsure(&self, obligations: &Obligations) -> BTreeSet<String> {
        let unkept = |one: &Obligation| {
            let top = one.when.confidence.as_ref()?.path.first()?;
            (self.is_unkept(top) || self.is_hidden(top)).then(|| format!("resource.{top}"))
        };
        let asks = |one: &Obligation| {
            let known = ApproveWhen { confidence: None, ..one.when.clone() };
            let when = if unkept(one).is_some() { &known } else { &one.when };
            (unkept(one).is_none() || !when.is_always())
                && when.asks(self.question.value, None, &|| self.steps)
        };
        let asking = || obligations.iter().map(|one| &**one).filter(|one| one.approve.is_some());
        if self.question.shape.requires_approval().is_some() || asking().any(asks) {
            return BTreeSet::new();
        }
        asking().filter_map(unkept).collect()
    }

    /// Returns true if the record lacks a member that policies do not see: it keeps one only where a `@confidence` read it.
    fn is_hidden(&self, top: &str) -> bool {
        if self.question.value.get(top).is_some() {
            return false;
        }
        let FieldType::Record(members) = self.question.shape.fields() else { return true };
        members.get(top).is_some_and(|field| is_hidden(&field.kind))
    }
}

fn is_hidden(kind: &FieldType) -> bool {
    match kind.present() {
        FieldType::OtherNumber | FieldType::Opaque => true,
        FieldType::Array(items) => is_hidden(items),
        _ => false,
    }
}
