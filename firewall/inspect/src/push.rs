//! Notifications that an agent sends about a task (A2A push notifications): target, owner and judgement.
//!
//! A notification is judged like an event of the task's stream. Its receiver is the owner of the push
//! configuration, its context that of the task.
//!
//! The agent sends it under an unguessable token, which stands for one configuration.

mod courses;

use crate::{
    Code, Delivered, Inspector, Kind, Now, Peer, Permit, Refusal, ReplyPermit, Route, Sent,
    arrived::Answered,
    decide::Decided,
    dialogues::Live,
    effects::taken,
    inspection::{Inspection, Look, Turn},
    meter::meter,
    owners::{Delivery, DeliveryTarget},
    ownership::not_found,
    parse::{Strict, read, reply},
    permit::{ListPage, RequestFacts},
    redact::{self, Redacted},
    removal,
    reply::same_agent,
    stages::judged,
    stream::{TextReceipt, about_task, enabled},
};
use bytes::Bytes;
pub(crate) use courses::Courses;
use semgate_contexts::json::{self, Json};
use semgate_protocol::{
    Call, Message, Reply,
    a2a::{self, Operation, Version},
};
use std::sync::Arc;

/// Permission to deliver one notification to its only target, once.
#[derive(Debug)]
#[must_use = "a permit that is not spent delivers nothing"]
pub struct Notification {
    permit: ReplyPermit,
    delivery: Arc<Delivery>,
    receipt: TextReceipt,
    route: Arc<Route>,
    token: Arc<str>,
}

/// Receipt of a notification, for [`Inspector::arrived`]. Dropped unsettled, it counts as possibly arrived.
/// Nothing is then appended to its text until a later notification carries the whole text.
#[derive(Clone, Debug)]
pub struct Posted(TextReceipt);

impl Notification {
    /// Facts for the audit record: the agent is the sender, the configuration's owner the receiver.
    pub fn facts(&self) -> &crate::Facts {
        self.permit.facts()
    }

    /// Target and credentials of the delivery.
    pub fn delivery(&self) -> &Arc<Delivery> {
        &self.delivery
    }

    /// Receipt to settle once the outcome of the delivery is known.
    pub fn posted(&self) -> Posted {
        Posted(self.receipt.clone())
    }

    /// Spends the permit. Returns the exact bytes that were checked.
    pub fn spend(self) -> (Bytes, Arc<Delivery>) {
        (self.permit.spend().1, self.delivery)
    }
}

impl Inspector {
    /// Records the target of notifications under a new `token`. It belongs to a push configuration of the
    /// permit's sender, about its task or the one that the answer names.
    ///
    /// A request that only sets a configuration names its task, whatever the answer says. A configuration set
    /// under a lock ends with that lock. Only the lane of the permit's route delivers to it.
    pub fn deliver(&self, permit: &mut Permit, token: &str, delivery: Delivery) {
        let sent = permit.sent_mut();
        let until = sent.session.map(|session| session.until);
        let alone = sent.operation() == Some(Operation::CreateTaskPushNotificationConfig);
        let task = sent.asked_task().filter(|_| alone).map(str::to_owned).or(delivery.task);
        let delivery = Delivery { task, until, route: sent.route.name.clone(), ..delivery };
        let token: Arc<str> = Arc::from(token);
        self.owners().deliver(&sent.route.scope(), sent.caller.key(), &token, &sent.about, delivery);
        sent.delivery = Some(token);
    }

    /// Forgets the push configuration of a request that the upstream agent answered with an error, or never
    /// received.
    ///
    /// Its token becomes invalid. An earlier configuration with the same id stays. Call it only if the agent
    /// is known not to have accepted the request.
    pub fn declined(&self, sent: &Sent) {
        if let Some(token) = &sent.delivery {
            self.owners().forget(&sent.route.scope(), Kind::Delivery, token);
        }
    }

    /// The delivery under this token, if this caller owns it.
    pub fn delivery(&self, sent: &Sent, token: &str) -> Option<Arc<Delivery>> {
        let target = self.owners().delivery(&sent.route.scope(), token)?;
        (*target.owner == *sent.caller.id()).then_some(target.delivery)
    }

    /// Judges a notification. `replier` is the verified peer of the egress listener, `token` the token it came
    /// under.
    ///
    /// Appended text is judged together with the text of its artifact so far under the same token.
    ///
    /// # Errors
    /// `lock_mismatch` after the configuration's lock has ended. `not_found` for an unknown token, for a
    /// configuration that was deleted or set on another route, and for another task. `sender_mismatch` for
    /// another agent than the route's.
    ///
    /// Otherwise as for a reply, with the inner code itself, since the agent reads it.
    pub fn inspect_notification(
        &self,
        route: &Arc<Route>,
        token: &str,
        replier: &Peer,
        body: Bytes,
        now: Now,
    ) -> Result<Notification, Refusal> {
        self.notification(Posting { route, token, replier, body, now }, None)
    }

    /// Judges the same notification again in every stage. Nothing is counted, recorded or taken a second
    /// time. The earlier permit becomes invalid in any case.
    ///
    /// # Errors
    /// As [`Inspector::inspect_notification`], except for the limits.
    pub fn renew_notification(
        &self,
        before: Notification,
        replier: &Peer,
        body: Bytes,
        now: Now,
    ) -> Result<Notification, Refusal> {
        let (route, token) = (Arc::clone(&before.route), Arc::clone(&before.token));
        self.notification(Posting { route: &route, token: &token, replier, body, now }, Some(before))
    }

    /// Records the outcome of a notification. Its text counts as delivered if it arrived, and as not delivered if
    /// nothing reached the target. Otherwise nobody knows, and nothing is appended to it.
    pub fn arrived(&self, token: &str, Posted(receipt): &Posted, outcome: Delivered) {
        if let Some(course) = self.state.courses.locked().states.get_mut(token) {
            course.settle(receipt, outcome);
        }
    }

    fn notification(
        &self,
        posting: Posting<'_>,
        before: Option<Notification>,
    ) -> Result<Notification, Refusal> {
        let Posting { route, token, replier, now, .. } = posting;
        let unknown = || not_found().with_detail("no push configuration has this address");
        let target = self.owners().delivery(&route.scope(), token).ok_or_else(unknown)?;
        let delivery = &target.delivery;
        // an agent with several lanes cannot choose which route's rules apply
        if delivery.route != route.name {
            return Err(unknown());
        }
        let version = self.spoken(route, delivery, &posting.body);
        let sent = self.subscribing(route, token, &target, version)?;
        let generation = self.generation();
        let (turn, look) = match before {
            None => (Turn::Event, Look::Decides),
            Some(_) => (Turn::EventAgain, Look::Beforehand),
        };
        let case = Inspection::reply(self.setting(&generation, now), &sent, replier, posting.body.len());
        let case = Inspection { turn, look, ..case };
        let facts = case.facts();
        same_agent(&sent, replier, facts.clone())
            .and_then(|_| in_lock(delivery, now))
            .and_then(|()| enabled(&case, &sent))
            .and_then(|()| judge(&case, &sent, posting.body, before))
            .map(|(permit, receipt)| Notification {
                permit,
                delivery: Arc::clone(delivery),
                receipt,
                route: Arc::clone(route),
                token: Arc::from(token),
            })
            .map_err(
                |refusal| if refusal.facts().sender.is_empty() { refusal.with_facts(facts) } else { refusal },
            )
    }

    /// The A2A version of a notification: that of its configuration.
    ///
    /// An agent that speaks both may post 1.0 for a configuration of 0.3. If the route takes both, bytes in
    /// 1.0 form are read as 1.0.
    ///
    /// No bytes have both forms. A task of 0.3 has `kind` and no member of a `StreamResponse`, which has
    /// exactly one member.
    fn spoken(&self, route: &Route, delivery: &Delivery, body: &[u8]) -> Version {
        if !delivery.old {
            return Version::V10;
        }
        if !route.options.versions.contains(&Version::V10) {
            return Version::V03;
        }
        // both versions refuse bytes that are not JSON
        match json::read(body, &self.state.limits.json) {
            Ok(json) if a2a::is_stream_response(&json) => Version::V10,
            _ => Version::V03,
        }
    }

    /// The request that a notification in this version answers, as if the owner had subscribed to the task.
    fn subscribing(
        &self,
        route: &Arc<Route>,
        token: &str,
        target: &DeliveryTarget,
        version: Version,
    ) -> Result<Sent, Refusal> {
        let DeliveryTarget { owner, about, delivery } = target;
        let call = Call::notification(version);
        let mut threads = Vec::new();
        let mut about = Arc::clone(about);
        if let Some(task) = &delivery.task {
            let known = self.owners().about(&route.scope(), Kind::Task, task);
            match known {
                Some(known) => about = known,
                None if route.options.keeps_callers_apart => {}
                None => {
                    return Err(not_found().with_detail("the task of the configuration is no longer known"));
                }
            }
            threads.push((Kind::Task, task.clone()));
        }
        Ok(Sent::of(RequestFacts {
            by_default: false,
            names_another: false,
            tool_changes: 0,
            under_way: None,
            asking: None,
            right: crate::AnswerRight::default(),
            route: Arc::clone(route),
            caller: Peer::configured(owner),
            about,
            rpc_id: None,
            asked: call.asked(None),
            call,
            mcp: None,
            threads,
            pushes: Vec::new(),
            own: (delivery.task.clone(), None),
            step: None,
            page: ListPage::default(),
            session: None,
            live: Live::default(),
            proposed: None,
            settled: self.settled(route, &Peer::configured(owner)),
            settles: Vec::new(),
            questions: Vec::new(),
            subscription: None,
            delivery: Some(Arc::from(token)),
            approved: None,
            quotas: Vec::new(),
            facts: crate::Facts::default(),
        }))
    }
}

/// A notification as the lane received it.
struct Posting<'p> {
    route: &'p Arc<Route>,
    token: &'p str,
    replier: &'p Peer,
    body: Bytes,
    now: Now,
}

/// Judges the bytes of a notification: without removed members and, if policies redact, without those.
fn judge(
    case: &Inspection<'_>,
    sent: &Sent,
    body: Bytes,
    before: Option<Notification>,
) -> Result<(ReplyPermit, TextReceipt), Refusal> {
    let redacted = redact::reply(case, sent, &body)?;
    let body = redacted.as_ref().map_or_else(|| Answered::from(body), Redacted::answered);
    let cut = redacted.as_ref().map_or(&[][..], |one| &one.before);
    let case = &Inspection { before: cut, ..*case };
    let strict = read(case, &body.judged)?;
    if let Some(removed) = removal::of_agent(case, &strict) {
        let case = &Inspection { removed: &removed.pointers, ..*case };
        return judge(case, sent, removed.message.body, before);
    }
    let (permit, receipt) = record(case, sent, judged(case, event(case, sent, &strict)?)?, &body, before)?;
    Ok(match redacted {
        Some(redacted) => (permit.redacted(redacted.members), receipt),
        None => (permit, receipt),
    })
}

/// Reads the event of a notification, which is about the task of its configuration.
fn event<'j>(case: &Inspection<'j>, sent: &Sent, strict: &'j Strict<'_>) -> Result<Message<'j>, Refusal> {
    let malformed = |reason: &str| {
        Refusal::new(Code::Malformed, reason)
            .with_hint("send a `StreamResponse` in 1.0, a `Task` in 0.3, about the task of the configuration")
    };
    let kind = strict.json().as_object().and_then(|object| object.get("kind"));
    if sent.call.version == Version::V03 && kind.and_then(Json::as_str) != Some("task") {
        return Err(malformed(if case.route.options.versions.contains(&Version::V10) {
            "a notification is neither a task of 0.3 nor a `StreamResponse` of 1.0"
        } else {
            "a notification of 0.3 is a task"
        }));
    }
    let message = match reply(case, strict) {
        Ok(Reply::Message(message)) => *message,
        Ok(Reply::Tasks(_)) => return Err(malformed("a notification is a list")),
        Err(refusal) if !matches!(refusal.code(), Code::AgentError | Code::UpstreamInvalid) => {
            return Err(refusal);
        }
        Ok(Reply::Error(_) | Reply::ServerError(..) | Reply::Failure(..)) | Err(_) => {
            return Err(malformed("a notification is an error"));
        }
    };
    let task = task_of(&message).ok_or_else(|| malformed("a notification names no task, or several"))?;
    if sent.asked_task().is_some_and(|known| known != task) {
        return Err(not_found().with_detail("the notification is about another task than its configuration"));
    }
    Ok(message)
}

/// Counts and records a permitted notification, unless that was done before.
fn record(
    case: &Inspection<'_>,
    sent: &Sent,
    decided: Decided<'_, '_>,
    body: &Answered,
    before: Option<Notification>,
) -> Result<(ReplyPermit, TextReceipt), Refusal> {
    let mut courses = case.state.courses.locked();
    let course = courses.of(sent.delivery.as_deref().unwrap_or_default());
    let Some(Notification { permit, receipt, .. }) = before else {
        let updates = course.judge_texts(&decided)?;
        let metered = meter(decided, None)?;
        let step = taken(case, sent, &metered)?;
        let receipt = course.notified(updates, case.state.limits.appended_text);
        return Ok((ReplyPermit::of(&metered, 200, body, step), receipt));
    };
    course.judge_texts_again(&decided)?;
    let (step, shadow, counted) = permit.into_counted();
    let metered = meter(decided, Some(counted))?;
    Ok((ReplyPermit::of(&metered, 200, body, step).with_shadow(shadow), receipt))
}

/// Checks the lock of a configuration, as for a stream.
fn in_lock(delivery: &Delivery, now: Now) -> Result<(), Refusal> {
    if delivery.until.is_none_or(|until| now.unix < until) {
        return Ok(());
    }
    Err(Refusal::new(Code::LockMismatch, "the lock has ended, and the push configuration depends on it")
        .with_hint("the gateway delivers nothing more for it: its owner must set it again under a new lock"))
}

/// The only task of a notification.
fn task_of<'j>(message: &Message<'j>) -> Option<&'j str> {
    about_task(message).or(message.threads.own.task)
}

/// Records the task and id of a configuration that a permitted answer or notification tells.
///
/// # Errors
/// `not_found` if the configuration belongs to another task.
pub(crate) fn bind(case: &Inspection<'_>, token: &str, message: &Message<'_>) -> Result<(), Refusal> {
    let scope = &case.route.scope();
    let bound = match message.threads.pushes.first() {
        Some((task, id)) => case.state.owners.bind(scope, token, task, Some(id)),
        None => match task_of(message) {
            Some(task) => case.state.owners.bind(scope, token, task, None),
            None => return Ok(()),
        },
    };
    bound.map_err(|_| not_found().with_detail("a push configuration is about one task"))
}
