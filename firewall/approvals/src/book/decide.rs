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

/// Characters of a reason or an option: a page.
const MAX_REASON: usize = 2_000;
/// Bytes of the data of a solicitation: as much as a question may have.
const MAX_DATA: usize = 64 * 1024;
/// Delegations of one hold: more than a team passes a request around.
const MAX_DELEGATIONS: usize = 16;

/// A request that one person passes on to another.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The hold.
    pub id: HoldId,
    /// The giver.
    pub from: HumanId,
    /// The taker.
    pub to: HumanId,
    /// Proof of the giver's identity.
    pub factor: Factor,
}

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
        if let Some(why) = self.why_not(hold, card, registry) {
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
        let people = self.people(registry);
        let strong = hold.demands.iter().any(|demand| {
            answer.factor.assurance() >= demand.assurance && hold.voter(demand, &card.id, &people).is_some()
        });
        if !strong {
            return Err(ApprovalFault::WeakProof);
        }
        if hold.needs_reason(reply.verdict)
            && reply.reason.as_deref().is_none_or(|text| text.trim().is_empty())
        {
            return Err(ApprovalFault::ReasonRequired);
        }
        let long =
            |text: &Option<String>| text.as_ref().is_some_and(|text| text.chars().count() > MAX_REASON);
        let data = reply.data.as_ref().map_or(0, |data| data.to_string().len());
        if long(&reply.reason) || long(&reply.option) || data > MAX_DATA {
            return Err(ApprovalFault::TooLong);
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
        let settled = decision.decision == Verdict::Approved && after.meets(&self.people(registry));
        let lasts = match after.reuse() {
            Reuse::Never => self.settings.use_seconds,
            Reuse::SameAction(seconds) => u64::from(seconds).max(self.settings.use_seconds),
            Reuse::Session => SESSION,
        };
        let use_by = settled.then(|| now.saturating_add(lasts));
        Ok(Event::Decided { id: id.clone(), decision: Box::new(decision), settled, use_by })
    }

    /// Passes a request on to another person, who may decide it in the giver's name from then on. Giver and taker are one
    /// vote. The giver's proof must be as strong as that of a decision.
    ///
    /// # Errors
    /// As [`Book::decide`]; [`ApprovalFault::Own`] also for a taker whom the request concerns, and for the giver.
    pub fn delegate(&self, pass: &Pass, registry: &HumanRegistry) -> Result<Event, ApprovalFault> {
        let hold = self.get(&pass.id).ok_or(ApprovalFault::Unknown)?;
        let (Some(giver), Some(taker)) = (registry.get(&pass.from), registry.get(&pass.to)) else {
            return Err(ApprovalFault::NotYours);
        };
        if let Some(why) = self.why_not(hold, giver, registry) {
            return Err(why);
        }
        if !hold.state.is_open() || hold.delegations.len() >= MAX_DELEGATIONS {
            return Err(ApprovalFault::Closed);
        }
        if hold.decisions.iter().any(|decision| decision.human_id == pass.from) {
            return Err(ApprovalFault::DecidedBefore);
        }
        if taker.stands_behind(hold.sender()) || taker.id == giver.id {
            return Err(ApprovalFault::Own);
        }
        let default = &self.settings.approvers;
        let own = |demand: &&semgate_policies::Approval| hold.admits_itself(demand, giver, default);
        let mut own = hold.demands.iter().filter(own).peekable();
        if own.peek().is_none() {
            return Err(ApprovalFault::NotYours);
        }
        match own.all(|demand| pass.factor.assurance() >= demand.assurance) {
            true => {
                Ok(Event::Delegated { id: pass.id.clone(), from: pass.from.clone(), to: pass.to.clone() })
            }
            false => Err(ApprovalFault::WeakProof),
        }
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
