//! A message or an agent asks.

use std::sync::Arc;

use semgate_policies::{Approval, Approvers, Reuse};

use super::{Book, MAX_BYTES, MAX_CANONICAL, MAX_OPEN, MAX_OPEN_OF_ONE, STANDS};
use crate::{
    ActionDigest, ApprovalFault, Approved, End, Event, Hold, HoldId, HoldState, HumanRegistry, Subject, Used,
    Verdict,
};

/// Everything about a new request that does not come from a clock or a random source.
#[derive(Clone, Debug)]
pub struct Question {
    /// The content.
    pub subject: Subject,
    /// URN of the context of a held message.
    pub urn: Option<Arc<str>>,
    /// Demands of the policies; none for an interaction, whose target decides.
    pub demands: Vec<Approval>,
    /// Session of the message.
    pub session: Option<Arc<str>>,
    /// Decision id of the message.
    pub decision_id: Arc<str>,
    /// Generation of policies and status that asked.
    pub generation: u64,
}

/// The book's answer to a held message.
#[derive(Debug)]
pub enum Asked {
    /// People approved it.
    Approved(Approved),
    /// It waits: the hold, open already.
    Waits(HoldId),
    /// It waits: apply these events first. The last one opens the hold.
    Opens(HoldId, Vec<Event>),
    /// A person refused it.
    Denied(HoldId),
    /// Nobody answered in time.
    Expired(HoldId),
    /// It could be put to nobody.
    Failed(HoldId),
}

impl Book {
    /// Asks for an action. The same action finds its hold; another demand of the policies withdraws it and opens a new one.
    ///
    /// # Errors
    /// [`ApprovalFault::TooMany`], [`ApprovalFault::NotCanonical`].
    pub fn ask(
        &self,
        question: Question,
        id: HoldId,
        registry: &HumanRegistry,
        now: u64,
    ) -> Result<Asked, ApprovalFault> {
        let canonical = question.subject.canonical().map_err(|_| ApprovalFault::NotCanonical)?;
        let mut events = Vec::new();
        if let Some(hold) = self.by_digest(ActionDigest::of(&canonical)) {
            match self.standing(hold, &question, registry, now) {
                Standing::Answers(asked) => return Ok(asked),
                Standing::Over => {}
                Standing::Replaced => events.push(Event::Ended {
                    id: hold.id.clone(),
                    end: End::Cancelled,
                    why: "the policies or the people are others now".to_owned(),
                }),
            }
        }
        let opened = self.opens(question, canonical, id, now)?;
        let id = opened.id.clone();
        events.push(Event::Opened(Box::new(opened)));
        Ok(Asked::Opens(id, events))
    }

    /// Opens a hold for an agent's interaction. A notification waits for nobody.
    ///
    /// # Errors
    /// As [`Book::ask`].
    pub fn interact(
        &self,
        question: Question,
        id: HoldId,
        now: u64,
    ) -> Result<(HoldId, Event), ApprovalFault> {
        let canonical = question.subject.canonical().map_err(|_| ApprovalFault::NotCanonical)?;
        let hold = self.opens(question, canonical, id, now)?;
        Ok((hold.id.clone(), Event::Opened(Box::new(hold))))
    }

    /// The use of an approval, once more judged by the clock. Hand the proof out only after the event is on disk.
    ///
    /// # Errors
    /// [`ApprovalFault::Spent`] if it was used, lapsed or withdrawn meanwhile.
    pub fn used(
        &self,
        approved: &Approved,
        decision_id: &str,
        registry: &HumanRegistry,
        now: u64,
    ) -> Result<(Used, Event), ApprovalFault> {
        let hold = self.get(&approved.id).ok_or(ApprovalFault::Unknown)?;
        if !hold.meets(&self.people(registry)) {
            return Err(ApprovalFault::Spent);
        }
        let in_time = hold.use_by.is_some_and(|until| now <= until);
        if hold.state != HoldState::Approved || !in_time {
            return Err(ApprovalFault::Spent);
        }
        let event = Event::Used { id: hold.id.clone(), decision_id: decision_id.to_owned() };
        Ok((Used { id: hold.id.clone(), digest: hold.digest }, event))
    }

    /// Withdraws an open interaction of this sender.
    ///
    /// # Errors
    /// [`ApprovalFault::Unknown`] also for another sender's; [`ApprovalFault::Closed`].
    pub fn cancel(&self, id: &HoldId, sender: &str) -> Result<Event, ApprovalFault> {
        let hold =
            self.get(id).filter(|hold| hold.sender().as_ref() == sender).ok_or(ApprovalFault::Unknown)?;
        match hold.state.is_open() {
            true => Ok(Event::Ended {
                id: id.clone(),
                end: End::Cancelled,
                why: "the sender withdrew it".to_owned(),
            }),
            false => Err(ApprovalFault::Closed),
        }
    }

    /// The meaning of an earlier hold for the same action.
    fn standing(&self, hold: &Hold, question: &Question, registry: &HumanRegistry, now: u64) -> Standing {
        let same = hold.demands == question.demands;
        match hold.state {
            state if state.is_open() && now > hold.expires_at => {
                Standing::Answers(Asked::Expired(hold.id.clone()))
            }
            state if state.is_open() && same => Standing::Answers(Asked::Waits(hold.id.clone())),
            HoldState::Approved if hold.use_by.is_none_or(|until| now > until) => Standing::Over,
            HoldState::Approved if same && !hold.meets(&self.people(registry)) => Standing::Replaced,
            HoldState::Approved if same && in_session(hold, question) => {
                Standing::Answers(Asked::Approved(Approved {
                    id: hold.id.clone(),
                    digest: hold.digest,
                    demands: hold.demands.clone(),
                }))
            }
            HoldState::Approved if same => Standing::Over,
            state if state.is_open() || state == HoldState::Approved => Standing::Replaced,
            HoldState::Denied if same && now <= denied_until(hold) => {
                Standing::Answers(Asked::Denied(hold.id.clone()))
            }
            HoldState::Expired if same && now <= hold.expires_at.saturating_add(STANDS) => {
                Standing::Answers(Asked::Expired(hold.id.clone()))
            }
            HoldState::Failed if same && now <= hold.opened_at.saturating_add(STANDS) => {
                Standing::Answers(Asked::Failed(hold.id.clone()))
            }
            _ => Standing::Over,
        }
    }

    fn opens(
        &self,
        question: Question,
        canonical: String,
        id: HoldId,
        now: u64,
    ) -> Result<Hold, ApprovalFault> {
        let Question { subject, urn, mut demands, session, decision_id, generation } = question;
        if let Subject::Interaction(interaction) = &subject {
            let mut demand = Approval::new("interaction", interaction.summary.as_str());
            demand.approvers = Some(Approvers::Human(interaction.target.as_str().into()));
            demand.assurance = demands.first().map_or(demand.assurance, |asked| asked.assurance);
            demand.within = demands.first().map_or(Approval::WITHIN, |asked| asked.within);
            demands = vec![demand];
        }
        let hold = Hold {
            id,
            digest: ActionDigest::of(&canonical),
            canonical: canonical.into(),
            urn,
            session,
            decision_id,
            generation,
            opened_at: now,
            expires_at: now.saturating_add(
                demands.iter().map(|one| one.within).min().unwrap_or(Approval::WITHIN).into(),
            ),
            use_by: None,
            state: HoldState::Pending,
            ended: None,
            decisions: Vec::new(),
            delegations: Vec::new(),
            escalated: 0,
            uses: 0,
            demands,
            subject,
        };
        if hold.canonical.len() > MAX_CANONICAL {
            return Err(ApprovalFault::TooLong);
        }
        let of_one = self.open_of.get(hold.sender()).copied().unwrap_or(0);
        if self.open >= MAX_OPEN || self.bytes >= MAX_BYTES || of_one >= MAX_OPEN_OF_ONE {
            return Err(ApprovalFault::TooMany);
        }
        Ok(hold)
    }
}

/// The meaning of an earlier hold.
enum Standing {
    Answers(Asked),
    /// It answers nothing any more.
    Over,
    /// It waits for another demand.
    Replaced,
}

/// Returns true unless the approval serves one session only, and this is another.
fn in_session(hold: &Hold, question: &Question) -> bool {
    hold.reuse() != Reuse::Session || hold.session == question.session
}

/// Last second at which a denial answers the same request: the time that people had to answer, or a few minutes after it.
fn denied_until(hold: &Hold) -> u64 {
    let denial = hold.decisions.iter().find(|decision| decision.decision == Verdict::Denied);
    let at = denial.map_or(hold.opened_at, |denial| denial.decided_at);
    hold.expires_at.max(at.saturating_add(STANDS))
}
