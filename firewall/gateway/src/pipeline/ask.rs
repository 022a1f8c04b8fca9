//! The stage `ask`: a message that needs people waits for them.
//!
//! The message stopped at `decide`, so nothing of it was counted or forwarded. When people have approved it, every stage judges
//! it again under the state of that moment. The approval is used up on disk before the message is forwarded.

use std::time::Instant;

use semgate_approvals::{ApprovalFault, Approved, Asked, HoldId, Question, Subject, Used};
use semgate_inspect::{Code, NeedsApproval, Peer, Permit, Refusal};

use super::exchange::{Exchange, Stopped};
use crate::approvals::{Desk, DeskFault};
use crate::config::ApprovalsConfig;

impl Exchange<'_> {
    /// Asks people about a message that only they can let pass, and waits for them for a while.
    ///
    /// # Errors
    /// The same refusal for every other message, and where nobody can be asked. `approval_pending`, `approval_denied`,
    /// `approval_expired`, `rate_limited`, `state_unavailable`. Otherwise as the inspector: the state may have changed.
    pub(super) async fn ask(&self, peer: &Peer, mut refusal: Refusal) -> Result<Permit, Stopped> {
        let shared = &self.worker.shared;
        let Some((desk, config)) = &shared.approvals else { return Err(refusal.into()) };
        let until = Instant::now() + config.hold();
        while let Some(mut needs) = refusal.take_approval() {
            let Some(arrived) = needs.arrived.take() else { return Err(refusal.into()) };
            let approved = self.people_answer(desk, config, &needs, &refusal, until).await?;
            let (route, now) = (&self.worker.route, shared.now());
            match shared.inspector.inspect_approved(route, peer, &approved, arrived, now) {
                Ok(permit) => return Ok(permit),
                // the policies ask something else by now
                Err(other) => refusal = other,
            }
        }
        Err(refusal.into())
    }

    /// The people's answer to a message.
    ///
    /// # Errors
    /// The refusal for the lack of an approval.
    async fn people_answer(
        &self,
        desk: &Desk,
        config: &ApprovalsConfig,
        needs: &NeedsApproval,
        refusal: &Refusal,
        until: Instant,
    ) -> Result<Approved, Refusal> {
        let digest = needs.action.digest().ok();
        let facts = || semgate_inspect::Facts { approval: digest, ..refusal.facts().clone() };
        let refused = |code, id: Option<&HoldId>| {
            let location = id.and_then(|id| config.location(id));
            let (reason, hint) = words(code);
            let detail = id.map(|id| format!("request {id}")).unwrap_or_default();
            let refusal = refusal.clone().become_code(code, reason, hint).with_detail(detail);
            Err(refusal.with_facts(facts()).with_location(location))
        };
        loop {
            let asked = match self.attended(facts, desk.ask(self.question(needs))).await {
                Ok(asked) => asked,
                Err(DeskFault::Refused(ApprovalFault::TooMany)) => return refused(Code::RateLimited, None),
                Err(DeskFault::Refused(_)) => return refused(Code::TooLarge, None),
                Err(DeskFault::Unavailable) => return refused(Code::StateUnavailable, None),
            };
            let id = match asked {
                Asked::Approved(approved) => return Ok(approved),
                Asked::Denied(id) => return refused(Code::ApprovalDenied, Some(&id)),
                Asked::Failed(id) => return refused(Code::ApprovalRequired, Some(&id)),
                Asked::Expired(id) => return refused(Code::ApprovalExpired, Some(&id)),
                Asked::Waits(id) | Asked::Opens(id, _) => id,
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return refused(Code::ApprovalPending, Some(&id));
            }
            self.attended(facts, desk.changed(&id, left, |hold| !hold.state.is_open())).await;
        }
    }

    fn question(&self, needs: &NeedsApproval) -> Question {
        Question {
            subject: Subject::Action(needs.action.clone()),
            urn: Some(needs.urn.clone()),
            demands: needs.demands.clone(),
            session: needs.session.clone(),
            decision_id: self.decision.to_string().into(),
            generation: needs.generation,
        }
    }

    /// Uses up the approval of a permit, if it has one. From then on the message is forwarded or lost, never repeated.
    ///
    /// # Errors
    /// `approval_expired` if another message used it, or its time is over; `state_unavailable`.
    pub(crate) async fn use_approval(&self, permit: &Permit) -> Result<Option<Used>, Refusal> {
        let Some((desk, _)) = self.worker.shared.approvals.as_ref() else { return Ok(None) };
        let Some(approved) = permit.approved().cloned() else { return Ok(None) };
        match desk.used(approved, self.decision.to_string()).await {
            Ok(used) => Ok(Some(used)),
            Err(why) => {
                let code = match why {
                    DeskFault::Refused(_) => Code::ApprovalExpired,
                    DeskFault::Unavailable => Code::StateUnavailable,
                };
                let (reason, hint) = words(code);
                Err(Refusal::new(code, reason).with_hint(hint))
            }
        }
    }
}

/// Reason and hint of a refusal for the lack of an approval.
const fn words(code: Code) -> (&'static str, &'static str) {
    match code {
        Code::ApprovalPending => (
            "a person was asked to approve this message and has not answered yet",
            "nothing was delivered: send the same message again, and it passes once it is approved",
        ),
        Code::ApprovalDenied => (
            "a person refused to approve this message",
            "do not send it again; ask the operator and quote the decision id",
        ),
        Code::ApprovalExpired => (
            "nobody approved this message in time, or the approval was used already",
            "send it again in a few minutes to ask anew, or ask the operator and quote the decision id",
        ),
        Code::ApprovalRequired => (
            "nobody who may approve this message can be asked",
            "nothing was delivered: ask the operator and quote the decision id",
        ),
        Code::TooLarge => (
            "the message is longer than a person can read",
            "nothing was delivered: send less in one message",
        ),
        Code::RateLimited => (
            "too many requests of this sender wait for people",
            "wait until people have answered the earlier ones",
        ),
        _ => (
            "the gateway cannot store requests to people",
            "nothing was delivered: ask the operator and quote the decision id",
        ),
    }
}
