//! The inspector: runs the stages in order, under the generation in force.

use crate::{
    Code, Direction, Facts, Generation, InspectLimits, Owners, Permit, Refusal, ReplyPermit, Route, Sent,
    Undefined,
    arrived::{Answered, Arrived},
    belongs::{begin, take, told_of},
    case::{Case, HeaderClaims, Look, Now, Peer, Turn},
    conform::conform,
    decide::{Decided, decide},
    dialogue::{Bounds, Dialogues, NotOpen, session},
    learnt::{Learnt, OfPair},
    list,
    meter::{Metered, Meters, carry, meter},
    parse::{self, Strict, answers_nothing, asked_at, parse, parsed, read},
    permit::{Counted, Leave},
    push::{self, Courses},
    redact,
    removal::{self, Removed},
    reply::{acknowledged, admissible, no_pass, refused},
    resolve::{Resolved, has_turns, out_of_turn, resolve, side},
    rounds,
    stream::enabled,
    subscriptions::{self, Subscription, Subscriptions},
    tools::{self, ToolWatch},
    turn::{Between, Proposal, Step, proposes, same},
    uses,
};
use arc_swap::ArcSwap;
use bytes::Bytes;
use semgate_negotiation::Sessions;
use semgate_policies::{Credentials, Keep};
use semgate_protocol::{Message, OwnThread, Reply, ReplyKind, StreamRules, Turns, mcp};
use std::sync::{Arc, Mutex, PoisonError};

/// Judges messages. All cores share one inspector, which holds every counter.
#[derive(Debug)]
pub struct Inspector {
    limits: InspectLimits,
    keep: Option<Keep>,
    live: ArcSwap<Generation>,
    last_number: Mutex<u64>,
    meters: Meters,
    sessions: Arc<Sessions>,
    owners: Owners,
    subscriptions: Subscriptions,
    tools: ToolWatch,
    courses: Courses,
    dialogues: Dialogues,
    learnt: Learnt,
}

impl Inspector {
    /// An inspector whose first generation has number 1.
    pub fn new(limits: InspectLimits, generation: Generation) -> Self {
        Self {
            live: ArcSwap::from_pointee(generation.numbered(1)),
            last_number: Mutex::new(1),
            meters: Meters::new(&limits),
            sessions: Arc::new(Sessions::none()),
            owners: Owners::with_limits(&limits),
            subscriptions: Subscriptions::new(
                limits.subscriptions_of_one,
                limits.subscriptions_of_all,
                limits.subscription_ms,
            ),
            tools: ToolWatch::with_limits(&limits),
            courses: Courses::default(),
            dialogues: Dialogues::new(Bounds {
                each: limits.open_requests,
                events: limits.resumable_events,
                ids: limits.request_ids,
                all: limits.open_requests_of_all,
                agents: limits.metered_agents,
            }),
            learnt: Learnt::new(limits.learnt_sessions, limits.learnt_concepts),
            keep: None,
            limits,
        }
    }

    /// The same inspector with locks and minimum versions from handshakes. Without them no lock is valid.
    #[must_use]
    pub fn with_sessions(mut self, sessions: Arc<Sessions>) -> Self {
        self.sessions = sessions;
        self
    }

    /// The same inspector, which asks every question again to record it in [`Facts::asked`](crate::Facts).
    #[must_use]
    pub fn with_kept(mut self, keep: Keep) -> Self {
        self.keep = Some(keep);
        self
    }

    /// The generation in force.
    pub fn generation(&self) -> Arc<Generation> {
        self.live.load_full()
    }

    /// Puts another generation in force and returns its number, one above the last. Running inspections
    /// finish under the old one; their permits are renewed before they are spent.
    pub fn swap(&self, generation: Generation) -> u64 {
        self.replace(generation).0
    }

    /// As [`Inspector::swap`], and returns the replaced generation. Dropping its last copy frees a whole
    /// policy set, so drop it where no message waits and no inspection holds it.
    pub fn replace(&self, generation: Generation) -> (u64, Arc<Generation>) {
        let mut last = self.last_number.lock().unwrap_or_else(PoisonError::into_inner);
        *last += 1;
        (*last, self.live.swap(Arc::new(generation.numbered(*last))))
    }

    pub(crate) fn courses(&self) -> &Courses {
        &self.courses
    }

    pub(crate) fn meters(&self) -> &Meters {
        &self.meters
    }

    /// Ownership of tasks, conversations, push configurations and sessions, to persist and to judge
    /// notifications.
    pub fn owners(&self) -> &Owners {
        &self.owners
    }

    pub(crate) fn dialogues(&self) -> &Dialogues {
        &self.dialogues
    }

    pub(crate) fn limits(&self) -> &InspectLimits {
        &self.limits
    }

    /// The open subscriptions.
    pub fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// Judges a request from this peer on this route.
    ///
    /// `route.receiver` is the receiver. The permit will hold `arrived.body`; `arrived.judged` is inspected.
    ///
    /// # Errors
    /// The first fault in the order of `docs/reference/refusals.md`.
    pub fn inspect(
        &self,
        route: &Arc<Route>,
        peer: &Peer,
        headers: &HeaderClaims<'_>,
        arrived: Arrived,
        now: Now,
    ) -> Result<Permit, Refusal> {
        let generation = self.live.load();
        let (anew, plain): (Option<Removed<Arrived>>, Option<Bytes>);
        let settled = self.settled(route, peer);
        let mut asking = None;
        let leave = {
            let mut case = self.request_case(&generation, route, peer, (&arrived, &settled), now);
            let mut strict = read(&case, &arrived.judged)?;
            anew = removal::of_request(&case, &arrived, &strict, headers)?;
            if let Some(Removed { message, pointers }) = &anew {
                case = Case { bytes: message.judged.len(), removed: pointers, ..case };
                strict = read(&case, &message.judged)?;
            }
            plain = removal::plainly(&arrived.call, &strict);
            if let Some(bytes) = &plain {
                case = Case { bytes: bytes.len(), ..case };
                strict = read(&case, bytes)?;
            }
            let metered = judge(&case, &strict, headers)
                .and_then(|decided| {
                    asking = uses::asking(self, &case, &decided)?;
                    meter(decided, &self.meters)
                })
                .and_then(|metered| self.begun(&case, metered));
            match metered {
                Ok((opened, (metered, step))) => Leave::of(&metered, step).subscribed(opened),
                Err(refusal) => return Err(refusal.with_rpc_id(strict.rpc_id(&arrived.call))),
            }
        };
        if let Some((id, sent)) = leave.asks_in_session() {
            self.dialogues.client_asks(sent, id.clone());
        }
        let alone = leave.asks_alone().map(|id| self.dialogues.under_way(leave.sent(), id.clone()));
        let leave = leave.waiting(alone).asking(asking);
        Ok(leave.over(match (plain, anew) {
            (Some(bytes), _) => Arrived::whole(arrived.call, bytes),
            (None, Some(removed)) => removed.message,
            (None, None) => arrived,
        }))
    }

    /// Servers of MCP that must list their tools again. Used to persist them.
    pub fn tools(&self) -> &ToolWatch {
        &self.tools
    }

    /// Returns true if a call over this route may be refused with [`Remedy::ListTools`](crate::Remedy).
    pub fn may_ask_for_tools(&self, route: &Route) -> bool {
        route.binding.protocol().calls_tools()
            && (self.limits.tool_list_ms.is_some()
                || self.tools.in_doubt(&route.receiver)
                || self.live.load().pinned().shared())
    }

    /// Number of times the route's receiver announced a change of its tools.
    pub fn tool_changes(&self, route: &Route) -> u64 {
        self.tools.changes(&route.receiver)
    }

    /// Assigns an MCP session to the caller. Call it once the answer that opens the session may pass; a
    /// refused answer opens nothing.
    ///
    /// # Errors
    /// `upstream_invalid` if another agent owns the session.
    pub fn own_session(&self, sent: &Sent, id: &str) -> Result<(), Refusal> {
        let things = [(crate::Kind::Session, id)];
        let owner = sent.caller.key();
        self.owners.claim(&sent.route.scope(), owner, &things, &sent.about, None).map_err(|_| {
            Refusal::new(Code::UpstreamInvalid, "the server opens a session that is another's")
                .with_hint("the message was delivered: initialize again")
                .with_delivered(crate::Delivered::Yes)
                .with_rpc_id(sent.rpc_id.clone())
        })
    }

    /// Records an event delivered to the caller in its MCP session. A caller may resume after such events
    /// only.
    pub fn told_event(&self, sent: &Sent, id: &str) {
        self.dialogues.tell(sent, id);
    }

    /// Ends an MCP session that its owner closed, or that the server no longer knows.
    pub fn end_session(&self, sent: &Sent) {
        if let Some(id) = session(sent) {
            self.owners.forget(&sent.route.scope(), crate::Kind::Session, id);
            self.dialogues.ended(sent);
        }
    }

    /// Settles the terms of a request that gets no answer, once the upstream agent has it.
    pub fn handed_over(&self, sent: &Sent, now: Now) {
        rounds::teach(&self.learnt, sent, now.unix);
    }

    /// Renews a permit: the same one if its generation is in force and the status fresh. Otherwise every
    /// stage judges its bytes again. Nothing is counted twice.
    ///
    /// # Errors
    /// As [`Inspector::inspect`], except for the two limits.
    pub fn renew(&self, permit: Permit, now: Now) -> Result<Permit, Refusal> {
        let generation = self.live.load();
        if permit.generation() == generation.number() && now.unix <= permit.fresh_until() {
            return Ok(permit);
        }
        self.judged_again(permit.into_counted(), now)
    }

    /// A permit under the current generation, for a request that was permitted before.
    pub(crate) fn judged_again(
        &self,
        (arrived, sent, counted): (Arrived, Sent, Counted),
        now: Now,
    ) -> Result<Permit, Refusal> {
        let sent = sent.into_told();
        let generation = self.live.load();
        let settled = self.settled(&sent.route, &sent.caller);
        let quotas = sent.quotas.clone();
        let mut leave = {
            let case = Case {
                turn: Turn::Again,
                removed: &sent.facts.removed,
                ..self.request_case(&generation, &sent.route, &sent.caller, (&arrived, &settled), now)
            };
            let strict = read(&case, &arrived.judged)?;
            // the headers matched the message on arrival, and neither has changed
            let judged = judge(&case, &strict, &HeaderClaims::default());
            match judged.and_then(|decided| carry(decided, counted)) {
                Ok(metered) => Leave::of(&metered, None),
                Err(refusal) => return Err(refusal.with_rpc_id(sent.rpc_id)),
            }
        };
        leave.keep_turn(sent.step);
        Ok(leave
            .counted(quotas)
            .subscribed(sent.subscription)
            .waiting(sent.under_way)
            .answered_by(sent.right)
            .asking(sent.asking)
            .delivering(sent.delivery)
            .over(arrived))
    }

    /// Judges a reply to the caller.
    ///
    /// `replier` is the verified peer of the upstream connection, or the agent that a loopback route is
    /// configured with. `status` is the upstream's HTTP status.
    ///
    /// # Errors
    /// `upstream_invalid` if the bytes are no reply of the binding. `agent_error` for an error of the
    /// protocol. `reply_refused` for forbidden content, with `delivered: yes` and the inner code as cause, if
    /// there is one.
    pub fn inspect_reply(
        &self,
        sent: &Sent,
        replier: &Peer,
        status: u16,
        reply: impl Into<Answered>,
        now: Now,
    ) -> Result<ReplyPermit, Refusal> {
        self.replied(sent, replier, (status, None), &reply.into(), now)
    }

    /// Judges a reply that may have been counted already, in other bytes.
    pub(crate) fn replied(
        &self,
        sent: &Sent,
        replier: &Peer,
        (status, counted): (u16, Option<Counted>),
        reply: &Answered,
        now: Now,
    ) -> Result<ReplyPermit, Refusal> {
        let generation = self.live.load();
        let case = self.reply_case(&generation, sent, (replier, reply.judged.len()), now);
        let facts = Facts { digest: Some(sent.about.digest), ..case.facts() };
        let outcome = match admissible(sent, status, &reply.judged) {
            Ok(ReplyKind::Acknowledgement) => {
                same_agent(sent, replier, facts).and_then(|facts| acknowledged(&case, sent, facts, status))
            }
            Ok(form) => same_agent(sent, replier, facts)
                .and_then(|facts| enabled(&case, sent).map_err(|refusal| refusal.with_facts(facts)))
                .and_then(|()| self.judge_reply(&case, sent, (form, status, counted), reply)),
            Err(refusal) => return Err(refusal.with_facts(facts).with_rpc_id(sent.rpc_id.clone())),
        };
        outcome.map_err(|inner| {
            if inner.is_by_agent() {
                self.declined(sent);
            }
            refused(inner).with_rpc_id(sent.rpc_id.clone())
        })
    }

    fn judge_reply(
        &self,
        case: &Case<'_>,
        sent: &Sent,
        (form, status, counted): (ReplyKind, u16, Option<Counted>),
        reply: &Answered,
    ) -> Result<ReplyPermit, Refusal> {
        if case.protocol().stream() == StreamRules::Server {
            // an error status must carry an error; nothing is learnt from any other body
            let refused = || Err(no_pass(status).with_facts(case.facts()));
            if form == ReplyKind::Error && !mcp::is_failure(read(case, &reply.judged)?.json()) {
                return refused();
            }
            let (permit, _) = tools::judge(self, case, sent, status, reply)?;
            return if form == ReplyKind::Error { refused() } else { Ok(permit) };
        }
        if let Some(redacted) = redact::reply(case, sent, &reply.judged)? {
            let case = &Case { before: &redacted.before, ..*case };
            let permit = self.judge_message(case, sent, (form, status, counted), &redacted.answered())?;
            return Ok(permit.redacted(redacted.members));
        }
        self.judge_message(case, sent, (form, status, counted), reply)
    }

    fn judge_message(
        &self,
        case: &Case<'_>,
        sent: &Sent,
        (form, status, counted): (ReplyKind, u16, Option<Counted>),
        reply: &Answered,
    ) -> Result<ReplyPermit, Refusal> {
        let strict = read(case, &reply.judged)?;
        if let Some(removed) = removal::of_agent(case, &strict) {
            let case = &Case { removed: &removed.pointers, ..*case };
            return self
                .judge_reply(case, sent, (form, status, counted), &removed.message)
                .map(ReplyPermit::rewritten);
        }
        if form == ReplyKind::Error
            && let Some(error) = case.protocol().status_error(status, strict.json())
        {
            return Err(Refusal::of_agent(error.known).with_facts(case.facts()));
        }
        match parse::reply(case, &strict)? {
            Reply::Message(message) if form != ReplyKind::Error => {
                let decided = judged(case, *message)?;
                subscriptions::asked_for(sent, &decided)
                    .map_err(|refusal| refusal.with_facts(decided.facts()))?;
                let metered = match counted {
                    Some(counted) => carry(decided, counted)?,
                    None => meter(decided, &self.meters)?,
                };
                let step = taken(case, sent, &metered)?;
                Ok(ReplyPermit::of(&metered, status, reply, step))
            }
            Reply::Tasks(list) if form != ReplyKind::Error => {
                list::judge(self, case, sent, (status, reply), &list)
            }
            _ => Err(no_pass(status).with_facts(case.facts())),
        }
    }

    /// Begins and opens what a permitted message asks for. Gives its costs back if that fails.
    fn begun<'c, 'j>(&self, case: &Case<'_>, metered: Metered<'c, 'j>) -> Result<Begun<'c, 'j>, Refusal> {
        let spent = metered.spent().clone();
        let begun = begun(case, metered).and_then(|begun| Ok((self.subscriptions.open(&begun.0)?, begun)));
        begun.inspect_err(|_| self.meters.give_back(&spent))
    }

    /// Terms that the two agents of a request have settled; none if the route does not allow it.
    pub(crate) fn settled(&self, route: &Route, peer: &Peer) -> Arc<OfPair> {
        match route.options.undefined {
            Undefined::Reject => Arc::clone(self.learnt.nothing()),
            Undefined::Disambiguate => self.learnt.of(&route.name, peer.id(), &route.receiver),
        }
    }

    fn request_case<'c>(
        &'c self,
        generation: &'c Generation,
        route: &'c Arc<Route>,
        peer: &'c Peer,
        (arrived, settled): (&'c Arrived, &'c Arc<OfPair>),
        now: Now,
    ) -> Case<'c> {
        Case {
            generation,
            limits: &self.limits,
            keep: self.keep.as_ref(),
            sessions: &self.sessions,
            owners: &self.owners,
            tools: &self.tools,
            dialogues: &self.dialogues,
            settled,
            learnt: &self.learnt,
            route,
            sender: peer,
            receiver: &route.receiver,
            receiver_holds: &const { Credentials::NONE },
            bytes: arrived.judged.len(),
            direction: Direction::Request,
            call: &arrived.call,
            turn: Turn::First,
            look: Look::Decides,
            before: &[],
            removed: &[],
            answers: None,
            about: None,
            now,
        }
    }

    pub(crate) fn reply_case<'c>(
        &'c self,
        generation: &'c Generation,
        sent: &'c Sent,
        (replier, bytes): (&'c Peer, usize),
        now: Now,
    ) -> Case<'c> {
        Case {
            generation,
            limits: &self.limits,
            keep: self.keep.as_ref(),
            sessions: &self.sessions,
            owners: &self.owners,
            tools: &self.tools,
            dialogues: &self.dialogues,
            settled: &sent.settled,
            learnt: &self.learnt,
            route: &sent.route,
            sender: replier,
            receiver: sent.caller.id(),
            receiver_holds: sent.caller.credentials(),
            bytes,
            direction: Direction::Reply,
            call: &sent.call,
            turn: Turn::First,
            look: Look::Decides,
            before: &[],
            removed: &[],
            answers: Some(sent),
            about: Some(&sent.about),
            now,
        }
    }
}

/// A permitted message, its proposal step, and the subscription it opened.
type Begun<'c, 'j> = (Option<Subscription>, (Metered<'c, 'j>, Option<Arc<Step>>));

/// Records the conversation and the proposal that a permitted request begins. Takes the proposal or question
/// that it answers.
fn begun<'c, 'j>(
    case: &Case<'_>,
    metered: Metered<'c, 'j>,
) -> Result<(Metered<'c, 'j>, Option<Arc<Step>>), Refusal> {
    let resolved = metered.decided().resolved();
    let message = resolved.message();
    begin(case, message, resolved.about()).map_err(|refusal| refusal.with_facts(metered.facts()))?;
    let nothing = || answers_nothing(case).with_facts(metered.facts());
    let question = message.answers.as_ref().map(|id| case.dialogues.question(asked_at(case), id));
    let question = question.transpose().map_err(|NotOpen| nothing())?;
    let step = match &question {
        // taken until delivery, so nobody else can answer; open again if delivery fails
        Some(question) => Step::begin(Some(Arc::clone(question).into()), || None).map_err(|_| nothing())?,
        None => step(case, resolved).map_err(|refusal| refusal.with_facts(metered.facts()))?,
    };
    if let Some(made) = step.as_deref().and_then(Step::makes) {
        opens(case, message.threads.own, made);
    }
    Ok((metered, step))
}

/// Records everything that a permitted reply tells the caller. Takes the proposal that it answers.
pub(crate) fn taken(
    case: &Case<'_>,
    sent: &Sent,
    metered: &Metered<'_, '_>,
) -> Result<Option<Arc<Step>>, Refusal> {
    let resolved = metered.decided().resolved();
    let message = resolved.message();
    let things = told_of(sent, &message.threads);
    let step = take(case, sent, &things, resolved.about())
        .and_then(|()| step(case, resolved))
        .map_err(|refusal| refusal.with_facts(metered.facts()))?;
    rounds::answered(case, sent, message);
    if let Some(token) = &sent.delivery {
        push::bind(case, token, message).map_err(|refusal| refusal.with_facts(metered.facts()))?;
    }
    let own = message.threads.own;
    match (step.as_deref().and_then(Step::makes), sent.step.as_deref().and_then(Step::makes)) {
        (Some(made), _) => {
            let own = if own == OwnThread::default() { sent.own() } else { own };
            opens(case, own, made);
        }
        // the request's proposal is also found under the ids that its answer names
        (None, Some(made)) => case.owners.attach(&case.route.scope(), own, made),
        (None, None) => {}
    }
    Ok(step)
}

/// The proposal step of a message.
fn step(case: &Case<'_>, resolved: &Resolved<'_, '_>) -> Result<Option<Arc<Step>>, Refusal> {
    let (message, named) = (resolved.message(), resolved.named());
    let proposes = proposes(message.performative) && has_turns(case, message, named);
    let make = || match case.protocol().turns() {
        Turns::Pairs => {
            let proposal = Proposal::named(side(case), message.message_id, same(message));
            let between =
                Between { by: case.sender.id(), to: case.receiver, line: named.urn().line().as_str() };
            case.owners.pairs().propose(between, proposal)
        }
        Turns::Threads => Proposal::new(side(case), message.threads.own.task),
    };
    // the first of several concurrent answers takes it; the others are not moved to another proposal
    Step::begin(resolved.answers().cloned(), || proposes.then(make)).map_err(|why| out_of_turn(message, why))
}

/// Lets the other side answer the proposal under its task and conversation. Bindings without conversations
/// need no such step.
fn opens(case: &Case<'_>, own: OwnThread<'_>, made: &Arc<Proposal>) {
    case.owners.propose(&case.route.scope(), own, made);
}

/// Runs the stages parse → resolve → conform → decide.
fn judge<'c, 'j>(
    case: &'c Case<'c>,
    strict: &'j Strict<'_>,
    headers: &HeaderClaims<'_>,
) -> Result<Decided<'c, 'j>, Refusal> {
    decide(conform(resolve(parse(case, strict, headers)?)?)?)
}

/// Runs the same stages on a reply that was parsed.
pub(crate) fn judged<'c, 'j>(case: &'c Case<'c>, message: Message<'j>) -> Result<Decided<'c, 'j>, Refusal> {
    decide(conform(resolve(parsed(case, message, &HeaderClaims::default())?)?)?)
}

/// Checks that the upstream connection belongs to the route's receiver, the agent that the caller addressed.
pub(crate) fn same_agent(sent: &Sent, replier: &Peer, facts: Facts) -> Result<Facts, Refusal> {
    if replier.id() == sent.route.receiver {
        return Ok(facts);
    }
    Err(Refusal::new(Code::SenderMismatch, "the agent that answered is not the receiver of the route")
        .with_detail(format!("the upstream is `{}`", replier.id()))
        .with_facts(facts))
}
