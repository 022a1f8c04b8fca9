//! A person answers.

use semgate_policies::Reuse;
use serde_json::Value;

use super::Book;
use crate::{
    ActionDigest, ApprovalFault, Decision, Event, Factor, Hold, HoldId, HumanId, HumanRegistry,
    InteractionKind, RequiredInput, Subject, Verdict,
};

/// Seconds for which an approval serves one session: a working day.
const SESSION: u64 = 8 * 3600;

/// A person's answer to a hold.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Yes or no.
    pub verdict: Verdict,
    /// The chosen option of a clarification.
    pub option: Option<String>,
    /// The data of a solicitation.
    pub data: Option<Value>,
    /// The person's words.
    pub reason: Option<String>,
}

/// An answer with its author.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The hold.
    pub id: HoldId,
    /// The digest that the person looked at.
    pub digest: ActionDigest,
    /// The person.
    pub human: HumanId,
    /// The proof of identity.
    pub factor: Factor,
    /// The answer.
    pub reply: Reply,
}

impl Book {
    /// Judges an answer, and returns the decision without evidence. Sign its statement, then pass it to [`Book::settle`].
    ///
    /// # Errors
    /// The first fault in the order of [`ApprovalFault`]'s kinds. Nothing changes.
    pub fn decide(
        &self,
        answer: &Answer,
        registry: &HumanRegistry,
        now: u64,
    ) -> Result<Decision, ApprovalFault> {
        let card = registry.get(&answer.human).ok_or(ApprovalFault::NotYours)?;
        let hold = self.get(&answer.id).ok_or(ApprovalFault::Unknown)?;
        if let Some(why) = self.why_not(hold, card) {
            return Err(why);
        }
        if !hold.state.is_open() || now > hold.expires_at {
            return Err(ApprovalFault::Closed);
        }
        if answer.digest != hold.digest {
            return Err(ApprovalFault::OtherAction);
        }
        if hold.decisions.iter().any(|decision| decision.human_id == answer.human) {
            return Err(ApprovalFault::DecidedBefore);
        }
        let reply = &answer.reply;
        let strong = hold.demands.iter().any(|demand| {
            answer.factor.assurance() >= demand.assurance
                && hold.admits(demand, card, &self.settings.approvers)
        });
        if !strong {
            return Err(ApprovalFault::WeakProof);
        }
        if hold.needs_reason(reply.verdict)
            && reply.reason.as_deref().is_none_or(|text| text.trim().is_empty())
        {
            return Err(ApprovalFault::ReasonRequired);
        }
        fits(hold, reply)?;
        Ok(Decision {
            human_id: answer.human.clone(),
            decision: reply.verdict,
            selected_option: reply.option.clone(),
            data: reply.data.clone().filter(|_| !is_secret(hold)),
            feedback: reply.reason.clone(),
            factor: answer.factor,
            decided_at: now,
            evidence: String::new(),
        })
    }

    /// The event of a signed decision.
    ///
    /// # Errors
    /// [`ApprovalFault::Unknown`].
    pub fn settle(
        &self,
        id: &HoldId,
        decision: Decision,
        registry: &HumanRegistry,
    ) -> Result<Event, ApprovalFault> {
        let hold = self.get(id).ok_or(ApprovalFault::Unknown)?;
        let mut after = Hold::clone(hold);
        let now = decision.decided_at;
        after.decisions.push(decision.clone());
        let default = &self.settings.approvers;
        let settled = decision.decision == Verdict::Approved
            && after.meets(&after.demands, |demand, human| {
                registry.get(human).is_some_and(|card| after.admits(demand, card, default))
            });
        let lasts = match after.reuse() {
            Reuse::Never => self.settings.use_seconds,
            Reuse::SameAction(seconds) => u64::from(seconds).max(self.settings.use_seconds),
            Reuse::Session => SESSION,
        };
        let use_by = settled.then(|| now.saturating_add(lasts));
        Ok(Event::Decided { id: id.clone(), decision: Box::new(decision), settled, use_by })
    }

    /// Passes a request on to another person, who may decide it from then on.
    ///
    /// # Errors
    /// As [`Book::decide`]; [`ApprovalFault::Own`] also for a person whom the request concerns.
    pub fn delegate(
        &self,
        id: &HoldId,
        from: &HumanId,
        to: &HumanId,
        registry: &HumanRegistry,
    ) -> Result<Event, ApprovalFault> {
        let hold = self.get(id).ok_or(ApprovalFault::Unknown)?;
        let (Some(giver), Some(taker)) = (registry.get(from), registry.get(to)) else {
            return Err(ApprovalFault::NotYours);
        };
        if let Some(why) = self.why_not(hold, giver) {
            return Err(why);
        }
        if !hold.state.is_open() {
            return Err(ApprovalFault::Closed);
        }
        if taker.stands_behind(hold.sender()) {
            return Err(ApprovalFault::Own);
        }
        Ok(Event::Delegated { id: id.clone(), from: from.clone(), to: to.clone() })
    }
}

/// Returns true if the answer must never be stored.
fn is_secret(hold: &Hold) -> bool {
    matches!(&hold.subject, Subject::Interaction(interaction) if interaction.secret)
}

/// Checks the form of an answer against the kind of the question.
fn fits(hold: &Hold, reply: &Reply) -> Result<(), ApprovalFault> {
    let (option, data) = (reply.option.as_deref(), reply.data.as_ref());
    let kind = match (&hold.subject, reply.verdict) {
        (_, Verdict::Denied) if option.is_none() && data.is_none() => return Ok(()),
        (_, Verdict::Denied) => return Err(ApprovalFault::Unfit),
        (subject, Verdict::Approved) => (subject, hold.kind()),
    };
    match kind {
        (Subject::Interaction(asked), InteractionKind::Clarification) => match option {
            Some(option) if asked.options.iter().any(|offered| offered == option) && data.is_none() => Ok(()),
            _ => Err(ApprovalFault::NotOffered),
        },
        (Subject::Interaction(asked), InteractionKind::Solicitation) if option.is_none() => {
            let form = asked.required_input.as_ref().and_then(RequiredInput::parse);
            let fits = form.zip(data).is_some_and(|(form, data)| form.accepts(data));
            if fits { Ok(()) } else { Err(ApprovalFault::Unfit) }
        }
        (_, InteractionKind::Permission | InteractionKind::Notification)
            if data.is_none() && option.is_none() =>
        {
            Ok(())
        }
        _ => Err(ApprovalFault::Unfit),
    }
}
