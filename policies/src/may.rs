//! What could be permitted, before it is known what will be said: which tools a sender is shown.

use cedar_policy::{Effect, Policy, PolicySet};
use semgate_contexts::{Performative, json::Object};

use crate::ask::{Asker, Found};
use crate::convert::Decimals;
use crate::index::{Bucket, Wants};
use crate::reads::Reads;
use crate::{MaySay, NoPolicy, Question, Verdict};

impl Asker {
    /// Whether some instance of this shape could be permitted. Policies that read neither the instance nor its text are asked
    /// as for any message; of those that do, a permit may permit and a forbid may be passed by.
    pub(crate) fn may(&self, question: &Question<'_>) -> Result<MaySay, NoPolicy> {
        let shape = self.catalogue.shape(question.context.digest(), question.shape.name()).ok_or(NoPolicy)?;
        let info = self.catalogue.types.get(shape.of_type).ok_or(NoPolicy)?;
        let sender = self.agents.list.position(question.sender);
        let receiver = self.agents.list.position(question.receiver);
        if self.agents.disabled(sender) || self.agents.disabled(receiver) {
            return Err(NoPolicy);
        }
        let bucket = self.index.bucket(sender, shape.of_type, question.action).ok_or(NoPolicy)?;
        let (mut reads, mut known, mut open) = (Reads::default(), PolicySet::new(), None);
        for policy in bucket.set.policies() {
            match blind(policy) {
                Some(own) => {
                    reads.join(&own);
                    known.add(policy.clone()).map_err(|_| NoPolicy)?;
                }
                None if policy.effect() == Effect::Permit => open = Some(MaySay(())),
                None => {}
            }
        }
        let wants = Wants::of(&reads);
        let empty = known.is_empty();
        let part = Bucket { set: known, reads, wants, decimals: Decimals::Cedar, empty };
        let found = Found { shape, info, sender, receiver, free_text: false };
        match self.evaluate(question, &part, &found) {
            Verdict::Permitted { .. } => Ok(MaySay(())),
            // nothing forbids: what reads the instance may permit it
            Verdict::Denied { policies, .. } if policies.is_empty() => open.ok_or(NoPolicy),
            Verdict::Denied { .. } | Verdict::Errored { .. } | Verdict::Untypable { .. } => Err(NoPolicy),
        }
    }
}

/// What a policy reads, if that is nothing of the instance.
fn blind(policy: &Policy) -> Option<Reads> {
    let reads = Reads::of(policy).ok()?;
    (reads.resource.none() && !reads.context.wants("free_text")).then_some(reads)
}

/// The question for what is not said yet.
pub(crate) fn unsaid<'q>(
    (sender, receiver): (&'q str, &'q str),
    action: Performative,
    (context, shape): (&'q semgate_contexts::Context, &'q semgate_contexts::Shape),
    binding: &'q str,
    value: &'q Object<'q>,
) -> Question<'q> {
    Question { sender, receiver, action, context, shape, value, without: None, binding, direction: "request" }
}
