//! The people who must decide before a permitted instance passes: by its permits, and by its signed context.

use std::sync::Arc;

use crate::approval::Approval;
use crate::decide::{Obligations, Question, Verdict};

/// The demands about a permitted instance: of each permit whose `@approve` asks about it, in the order of their ids, then of the task
/// whose signed context requires approval. All must be answered; without one the instance passes.
///
/// `steps` counts the permitted steps of the sender in its session. It is asked only where a permit with `@steps` applied.
#[must_use]
pub fn demands(
    question: &Question<'_>,
    obligations: &Obligations,
    steps: &dyn Fn() -> u64,
) -> Vec<Arc<Approval>> {
    let by_policies = obligations.iter().filter_map(|one| {
        let approval = one.approve.as_ref()?;
        one.when.asks(question.value, question.without, steps).then(|| Arc::clone(approval))
    });
    let by_context = question.shape.requires_approval().map(|text| {
        let policy = format!("{}#{}", question.context.urn(), question.shape.name());
        Arc::new(Approval::new(policy, Arc::clone(text)))
    });
    by_policies.chain(by_context).collect()
}

impl Verdict {
    /// The verdict on this question in one word: `permitted`, `approval` (permitted once a person agrees), `denied`, `error` or
    /// `untypable`. `steps` is as in [`demands`].
    #[must_use]
    pub fn word(&self, question: &Question<'_>, steps: &dyn Fn() -> u64) -> &'static str {
        match self {
            Self::Permitted { obligations, .. } if !demands(question, obligations, steps).is_empty() => {
                "approval"
            }
            Self::Permitted { .. } => "permitted",
            Self::Denied { .. } => "denied",
            Self::Errored { .. } => "error",
            Self::Untypable { .. } => "untypable",
        }
    }
}
