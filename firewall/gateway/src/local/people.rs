//! Answers to agents who ask people: find them, ask one, read and withdraw (`docs/spec/a2h-binding.md`).
//!
//! The request has passed every stage and is recorded before anybody is asked. The answer is judged as a reply of the route's
//! receiver, and recorded too. Nothing is forwarded.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use semgate_approvals::{
    ApprovalFault, Hold, HoldId, HoldState, HumanId, HumanStatus, Interaction, InteractionKind, Question,
    RequiredInput, Subject, Verdict, find,
};
use semgate_inspect::{Answered, Code, Delivered, Direction, Outgoing, Permit, Refusal, Sent};
use semgate_policies::{Approval, Assurance};
use semgate_protocol::Form;
use semgate_protocol::a2h::{Dialect, PeopleAnswer, PeopleOperation};
use serde::Deserialize;
use serde_json::{Value, json};

use super::clarify::STATED_BY;
use crate::approvals::{Desk, DeskFault};
use crate::clock::unix_now;
use crate::config::ApprovalsConfig;
use crate::pipeline::admit::Admitted;
use crate::pipeline::answer::{Answer, AnswerBody};
use crate::pipeline::exchange::{Exchange, Stopped, stopped_reply};
use crate::pipeline::gateway_refusals::{no_audit, unspent};
use crate::pipeline::quota;
use crate::pipeline::record::{NotRecorded, Outcome};

/// A request to people, permitted and recorded.
struct Asking<'s> {
    desk: &'s Desk,
    config: &'s ApprovalsConfig,
    sent: &'s Sent,
    dialect: Dialect,
    /// The judged members.
    content: Value,
    /// Decision of the request.
    decision: String,
}

/// The members of an interaction. The schema of the concept has judged them.
#[derive(Deserialize)]
struct AskedInteraction {
    target: HumanId,
    #[serde(rename = "type")]
    kind: InteractionKind,
    summary: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    options: Vec<String>,
    ttl: Option<u32>,
    reason: Option<String>,
    context: Option<String>,
    required_input: Option<Value>,
    #[serde(default)]
    secret: bool,
    assurance: Option<Assurance>,
    responds_to: Option<String>,
    callback: Option<String>,
    call: Option<Value>,
}

impl Exchange<'_> {
    /// Answers a request to people.
    ///
    /// # Errors
    /// As the inspector for the request under the state of the moment. `not_found` for an unknown person, and for a request of
    /// another agent. `rate_limited`, `content_invalid`, `target_refused`, `state_unavailable`; `reply_refused` if the answer
    /// may not pass.
    pub(crate) async fn about_people(&self, permit: Permit, admitted: &Admitted) -> Result<Answer, Stopped> {
        let shared = &self.worker.shared;
        let (Some((desk, config)), Form::A2h(operation, dialect)) = (&shared.approvals, permit.call().form)
        else {
            return Err(unspent(permit, unavailable()).into());
        };
        let permit = self.renewed_and_recorded(permit).await?;
        let (Outgoing { judged, .. }, sent) = permit.spend();
        let content = serde_json::from_slice(&judged).unwrap_or_default();
        let decision = self.decision.to_string();
        let asking = Asking { desk, config, sent: &sent, dialect, content, decision };
        let facts = || sent.facts().clone();
        let answered = self.attended(facts, asking.answer(operation)).await;
        let mut answer = answered
            .and_then(|answer| self.judged(&sent, dialect, &answer).map(|body| (answer, body)))
            .map_err(|refusal| stopped_reply(refusal, self.bare_facts(Direction::Reply)))
            .and_then(|(answer, body)| self.carried(&answer, body, admitted))?;
        quota::tell(&mut answer, sent.quotas().to_vec());
        Ok(answer)
    }

    /// The permit under the state of the moment, with its approval used up, once its record is queued.
    async fn renewed_and_recorded(&self, permit: Permit) -> Result<Permit, Stopped> {
        let shared = &self.worker.shared;
        let renewed = match self.still() {
            Ok(()) => shared.inspector.renew(permit, shared.now()),
            Err(refusal) => Err(unspent(permit, refusal)),
        };
        let permit = renewed?;
        if let Err(refusal) = self.use_approval(&permit).await {
            return Err(unspent(permit, refusal).into());
        }
        if let Err(NotRecorded) = self.record(Outcome::Allowed, permit.facts().clone()) {
            return Err(unspent(permit, no_audit(Delivered::No)).into());
        }
        self.worker.metrics.allowed(Direction::Request, self.began.elapsed().as_secs_f64());
        Ok(permit)
    }

    /// Judges an answer as the receiver's reply, after a wait that may have been long.
    fn judged(
        &self,
        sent: &Sent,
        dialect: Dialect,
        answer: &PeopleAnswer,
    ) -> Result<semgate_inspect::ReplyPermit, Refusal> {
        self.hears()?;
        let shared = &self.worker.shared;
        let written = Answered { body: answer.body(dialect).into(), judged: answer.judged().into() };
        shared.inspector.inspect_reply(sent, &self.worker.replier, 200, written, shared.now())
    }

    /// Records an answer and returns it.
    fn carried(
        &self,
        answer: &PeopleAnswer,
        reply: semgate_inspect::ReplyPermit,
        admitted: &Admitted,
    ) -> Result<Answer, Stopped> {
        let facts = reply.facts().clone();
        if let Err(NotRecorded) = self.record(Outcome::Allowed, facts.clone()) {
            return Err(stopped_reply(no_audit(Delivered::Yes), facts));
        }
        self.worker.metrics.allowed(Direction::Reply, self.began.elapsed().as_secs_f64());
        let body = AnswerBody::from(reply.spend().1);
        let mut carried = self.stamp(admitted).pieces(body, "application/json");
        if answer.operation == PeopleOperation::Interact {
            *carried.status_mut() = StatusCode::CREATED;
        }
        carried.headers_mut().insert(STATED_BY, HeaderValue::from_static("gateway"));
        Ok(carried)
    }
}

impl Asking<'_> {
    async fn answer(&self, operation: PeopleOperation) -> Result<PeopleAnswer, Refusal> {
        let now = unix_now();
        match operation {
            PeopleOperation::Find => Ok(plain(operation, self.find(), now)),
            PeopleOperation::Discover => Ok(plain(operation, self.discovery(), now)),
            PeopleOperation::Interact => {
                let id = self.interact().await?;
                let hold = self.desk.hold(&id).ok_or_else(unavailable)?;
                let content =
                    json!({"interaction_id": hold.id, "state": hold.state, "expires": hold.expires_at});
                Ok(self.of_hold(operation, &hold, content))
            }
            PeopleOperation::Get => {
                let hold = self.own()?;
                let wait = self.content.get("wait").and_then(Value::as_u64).unwrap_or_default();
                if wait > 0 {
                    let awaited = |hold: &Hold| !hold.state.is_open();
                    self.desk.changed(&hold.id, Duration::from_secs(wait), awaited).await;
                }
                let hold = self.own()?;
                Ok(self.of_hold(operation, &hold, self.state(&hold)))
            }
            PeopleOperation::Cancel => {
                let hold = self.own()?;
                match self.desk.cancel(hold.id.clone(), self.sender()).await {
                    // the answer tells how it was closed
                    Ok(()) | Err(DeskFault::Refused(ApprovalFault::Closed)) => {}
                    Err(why) => return Err(refused(why)),
                }
                let hold = self.own()?;
                Ok(self.of_hold(operation, &hold, self.state(&hold)))
            }
        }
    }

    fn sender(&self) -> Arc<str> {
        self.sent.caller().id().into()
    }

    fn of_hold(&self, operation: PeopleOperation, hold: &Hold, content: Value) -> PeopleAnswer {
        let Subject::Interaction(asked) = &hold.subject else { return plain(operation, content, unix_now()) };
        PeopleAnswer {
            request: Some(json!(asked)),
            opened_at: hold.opened_at,
            ..plain(operation, content, unix_now())
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.content.get(name).and_then(Value::as_str)
    }

    /// People with a capability, at a status.
    fn find(&self) -> Value {
        let status = self.content.get("status").cloned();
        let status: Option<HumanStatus> = status.and_then(|status| serde_json::from_value(status).ok());
        let registry = self.desk.registry();
        let listed =
            self.desk.read(|book| find(&registry, |card| book.status(card), self.text("capability"), status));
        json!({ "humans": listed })
    }

    fn discovery(&self) -> Value {
        json!({
            "a2h_supported": ["1.0"],
            "intents": ["AUTHORIZE", "COLLECT", "INFORM", "RESULT"],
            "jwks_uri": format!("{}/.well-known/jwks.json", self.config.base()),
        })
    }

    /// Opens a request to one person.
    async fn interact(&self) -> Result<HoldId, Refusal> {
        let asked: AskedInteraction = serde_json::from_value(self.content.clone()).map_err(|_| {
            Refusal::new(Code::Malformed, "the request to a person cannot be read")
                .with_hint("name the person as `human://NAME`, in lower case")
        })?;
        self.accepts(&asked)?;
        let mut demand = Approval::new("interaction", asked.summary.as_str());
        demand.within = asked.ttl.unwrap_or(Approval::WITHIN);
        demand.assurance = asked.assurance.unwrap_or(Assurance::Low);
        let interaction = Interaction {
            sender: self.sender(),
            target: asked.target,
            kind: asked.kind,
            summary: asked.summary,
            body: asked.body,
            options: asked.options,
            required_input: asked.required_input,
            secret: asked.secret,
            reason: asked.reason,
            context: asked.context,
            call: asked.call,
            callback: asked.callback,
            responds_to: asked.responds_to,
        };
        let question = Question {
            subject: Subject::Interaction(Box::new(interaction)),
            urn: self.sent.facts().context.as_deref().map(Arc::from),
            demands: vec![demand],
            session: None,
            decision_id: self.decision.as_str().into(),
            generation: self.sent.facts().generation,
        };
        self.desk.interact(question).await.map_err(refused)
    }

    /// Checks the parts of a request that no schema judges.
    fn accepts(&self, asked: &AskedInteraction) -> Result<(), Refusal> {
        if self.desk.registry().get(&asked.target).is_none() {
            return Err(Refusal::new(Code::NotFound, "there is no such person")
                .with_hint("find people at `/a2h/v1/humans`"));
        }
        if asked.required_input.as_ref().is_some_and(|form| RequiredInput::parse(form).is_none()) {
            return Err(Refusal::new(
                Code::ContentInvalid,
                "`/required_input` is no flat form of primitives",
            )
            .with_hint("ask for an object whose members are strings, numbers or booleans"));
        }
        let listed = |url: &String| self.config.egress.as_ref().is_some_and(|egress| egress.lists(url));
        match (&asked.callback, self.dialect) {
            (None, _) => Ok(()),
            (Some(url), _) if listed(url) => Ok(()),
            (Some(_), Dialect::Review) => Err(Refusal::new(
                Code::Malformed,
                "`/webhookUrl` is an address that the operator has not listed",
            )
            .with_hint("leave it out, and read the answer")),
            (Some(_), _) => {
                Err(Refusal::new(Code::TargetRefused, "the operator has not listed the callback's address")
                    .with_hint("leave `callback` out, and read the answer with `wait`"))
            }
        }
    }

    /// The caller's own request. That of another agent does not exist for it.
    fn own(&self) -> Result<Arc<Hold>, Refusal> {
        let hold = self.text("id").and_then(HoldId::parse).and_then(|id| self.desk.hold(&id));
        let is_own = |hold: &Arc<Hold>| {
            matches!(hold.subject, Subject::Interaction(_))
                && hold.sender().as_ref() == self.sent.caller().id()
        };
        hold.filter(is_own).ok_or_else(|| {
            Refusal::new(Code::NotFound, "there is no such request of this agent")
                .with_hint("use the id that the gateway gave to the request")
        })
    }

    /// The state of a request, with the person's answer. A secret is handed out here, once.
    fn state(&self, hold: &Hold) -> Value {
        let Subject::Interaction(asked) = &hold.subject else { return Value::Null };
        let last = hold.decisions.last();
        let silent = asked.kind == InteractionKind::Permission
            && matches!(hold.state, HoldState::Expired | HoldState::Failed);
        let mut state = json!({
            "interaction_id": hold.id,
            "human_id": last.map_or(&asked.target, |decision| &decision.human_id),
            "state": hold.state,
            // silence denies
            "decision": last.map(|decision| decision.decision).or(silent.then_some(Verdict::Denied)),
            "feedback": last.and_then(|decision| decision.feedback.as_ref()),
            "decided_at": last.map(|decision| decision.decided_at),
            "evidence": last.map(|decision| &decision.evidence),
        });
        let Some(members) = state.as_object_mut() else { return state };
        if let Some(option) = last.and_then(|decision| decision.selected_option.as_ref()) {
            members.insert("selected_option".to_owned(), json!(option));
        }
        let data = match asked.secret {
            true => self.desk.take_secret(&hold.id),
            false => last.and_then(|decision| decision.data.clone()),
        };
        if let Some(data) = data {
            members.insert("data".to_owned(), data);
        }
        state
    }
}

fn plain(operation: PeopleOperation, content: Value, now: u64) -> PeopleAnswer {
    PeopleAnswer { operation, content, request: None, opened_at: now, now }
}

fn unavailable() -> Refusal {
    Refusal::new(Code::StateUnavailable, "the gateway cannot store requests to people")
        .with_hint("nobody was asked: ask the operator and quote the decision id")
}

/// The refusal for a reason of the desk.
fn refused(why: DeskFault) -> Refusal {
    match why {
        DeskFault::Refused(ApprovalFault::TooMany) => {
            Refusal::new(Code::RateLimited, "too many requests of this agent wait for people")
                .with_hint("wait until people have answered the earlier ones")
        }
        DeskFault::Refused(ApprovalFault::TooLong) => {
            Refusal::new(Code::TooLarge, "the question is longer than a person can read")
                .with_hint("write at most 64 KiB")
        }
        DeskFault::Refused(ApprovalFault::NotCanonical) => {
            Refusal::new(Code::ContentInvalid, "the request has no canonical form")
                .with_hint("write numbers below 2^53")
        }
        DeskFault::Refused(_) | DeskFault::Unavailable => unavailable(),
    }
}
