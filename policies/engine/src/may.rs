//! Possible permissions before the content is known: the tools that a sender is shown.

use cedar_policy::Effect;

use crate::ask::{Asker, Resolved};
use crate::rule::Rule;
use crate::wants::{Wants, bit};
use crate::{MaySay, NoPolicy, Question, Verdict};

impl Asker {
    /// Returns true if some instance of this shape could be permitted. Policies that read neither the instance nor the moment are asked
    /// as for any message; of those that do, a permit may permit and a forbid may be passed by.
    pub(crate) fn may(&self, question: &Question<'_>) -> Result<MaySay, NoPolicy> {
        let shape = self.catalogue.shape(question.context.digest(), question.shape.name()).ok_or(NoPolicy)?;
        let info = self.catalogue.types.get(shape.of_type).ok_or(NoPolicy)?;
        let sender = self.agents.list.position(question.sender);
        let receiver = self.agents.list.position(question.receiver);
        if self.agents.disabled(sender) || self.agents.disabled(receiver) {
            return Err(NoPolicy);
        }
        let chosen = self.index.choose(sender, shape.of_type, info, question.action).ok_or(NoPolicy)?;
        let later = |rule: &Rule| rule.wants.any(LATER);
        let blind = |rule: &&Rule| !rule.wants.instance && !later(rule);
        let open = chosen.rules().any(|rule| !blind(&rule) && rule.effect == Effect::Permit);
        let known = chosen.rules().filter(blind);
        let wants = known.clone().fold(Wants::default(), |wants, rule| wants.and(rule.wants));
        let resolved = Resolved { shape, info, sender, receiver, free_text: false };
        match self.evaluate(question, &resolved, wants, known) {
            Verdict::Permitted { .. } => Ok(MaySay(())),
            // nothing forbids: what reads the instance may permit it
            Verdict::Denied { policies, .. } if policies.is_empty() && open => Ok(MaySay(())),
            Verdict::Denied { .. } | Verdict::Errored { .. } | Verdict::Untypable { .. } => Err(NoPolicy),
        }
    }
}

/// Inputs that are known only with the message: the text, the time, the session.
const LATER: u32 = bit("free_text") | bit("scores") | bit("now") | bit("locked") | bit("session");
