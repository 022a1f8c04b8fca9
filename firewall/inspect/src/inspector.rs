//! The inspector: runs the stages in order, under the generation in force.

use crate::{
    Answered, Arrived, Code, Facts, Generation, HeaderClaims, InspectLimits, Now, Owners, Peer, Permit,
    Refusal, ReplyPermit, Route, ScanCounts, Sent, Subscriptions, Undefined,
    dialogues::Live,
    effects::begun,
    id_reuse,
    inspection::{Inspection, Setting, Turn},
    mcp_session::session,
    meter::meter,
    negotiated_terms::{OfPair, Parties},
    parse::{Strict, read},
    permit::{Counted, PermitDraft},
    removal::{self, Removed},
    reply::{self, Received, admissible, refused},
    stages,
    state::State,
    stream::enabled,
    term_negotiation,
    tools::ToolWatch,
};
use arc_swap::ArcSwap;
use semgate_approvals::Approved;
use semgate_negotiation::Sessions;
use semgate_policies::Keep;
use semgate_protocol::{Echo, ReplyKind};
use std::sync::{Arc, Mutex, PoisonError};

/// Judges messages. All cores share one inspector.
#[derive(Debug)]
pub struct Inspector {
    pub(crate) state: State,
    live: ArcSwap<Generation>,
    last_number: Mutex<u64>,
}

impl Inspector {
    /// An inspector whose first generation has number 1.
    pub fn new(limits: InspectLimits, generation: Generation) -> Self {
        Self {
            state: State::new(limits),
            live: ArcSwap::from_pointee(generation.numbered(1)),
            last_number: Mutex::new(1),
        }
    }

    /// The same inspector with locks and minimum versions from handshakes. Without them no lock is valid.
    #[must_use]
    pub fn with_sessions(mut self, sessions: Arc<Sessions>) -> Self {
        self.state.sessions = sessions;
        self
    }

    /// The same inspector, which refuses messages that were signed before this second. An earlier process may have taken them.
    #[must_use]
    pub fn with_signed_since(mut self, unix: u64) -> Self {
        self.state.signed_since = unix;
        self
    }

    /// The same inspector, which asks every question again to record it in [`Facts::asked`](crate::Facts).
    #[must_use]
    pub fn with_kept(mut self, keep: Keep) -> Self {
        self.state.keep = Some(keep);
        self
    }

    /// The same inspector, which counts scored texts here.
    #[must_use]
    pub fn with_scan_counts(mut self, counts: Arc<ScanCounts>) -> Self {
        self.state.scans = counts;
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

    /// Ownership of tasks, conversations, push configurations and sessions, to persist and to judge
    /// notifications.
    pub fn owners(&self) -> &Owners {
        &self.state.owners
    }

    /// The open subscriptions.
    pub fn subscriptions(&self) -> &Subscriptions {
        &self.state.subscriptions
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
        self.request(Incoming { route, peer, headers, approved: None }, arrived, now)
    }

    /// Judges a request again that people approved. Every stage runs, so a policy or a status that changed meanwhile refuses.
    ///
    /// # Errors
    /// As [`Inspector::inspect`]; `approval_required` if the approval is about another action or other demands.
    pub fn inspect_approved(
        &self,
        route: &Arc<Route>,
        peer: &Peer,
        approved: &Approved,
        arrived: Arrived,
        now: Now,
    ) -> Result<Permit, Refusal> {
        // the headers matched the message on arrival, and neither has changed
        let headers = &HeaderClaims::default();
        self.request(Incoming { route, peer, headers, approved: Some(approved) }, arrived, now)
    }

    fn request(&self, asking: Incoming<'_>, arrived: Arrived, now: Now) -> Result<Permit, Refusal> {
        let Incoming { route, peer, headers, approved } = asking;
        let (generation, settled) = (self.live.load(), self.settled(route, peer));
        let case = Inspection::request(self.setting(&generation, now), route, peer, &arrived, &settled);
        let mut case = Inspection { approved, ..case };
        let mut strict = read(&case, &arrived.judged)?;
        let rewritten = removal::of_request(&case, &arrived, &strict, headers)?;
        if let Some(Removed { message, pointers }) = &rewritten {
            case = Inspection { bytes: message.judged.len(), removed: pointers, ..case };
            strict = read(&case, &message.judged)?;
        }
        let (live, echo) = self.in_dialogue(&case, &strict);
        let case = Inspection { live: Some(&live), echo: echo.as_ref(), ..case };
        let permit = permit(&case, &strict, headers).map_err(|refusal| {
            refusal.with_rpc_id(strict.rpc_id(&arrived.call)).holding(|| arrived.clone())
        })?;
        Ok(permit.over(rewritten.map_or(arrived, |removed| removed.message)))
    }

    /// Servers of MCP that must list their tools again. Used to persist them.
    pub fn tools(&self) -> &ToolWatch {
        &self.state.tools
    }

    /// Returns true if a call over this route may be refused with [`Remedy::ListTools`](crate::Remedy).
    pub fn may_ask_for_tools(&self, route: &Route) -> bool {
        route.binding.protocol().traits().calls_tools
            && (self.state.limits.tool_list_ms.is_some()
                || self.state.tools.in_doubt(&route.receiver)
                || self.live.load().pinned().shared())
    }

    /// Number of times the route's receiver announced a change of its tools.
    pub fn tool_changes(&self, route: &Route) -> u64 {
        self.state.tools.changes(&route.receiver)
    }

    /// Assigns an MCP session to the caller. Call it once the answer that opens the session may pass; a
    /// refused answer opens nothing.
    ///
    /// # Errors
    /// `upstream_invalid` if another agent owns the session.
    pub fn own_session(&self, sent: &Sent, id: &str) -> Result<(), Refusal> {
        let things = [(crate::Kind::Session, id)];
        let owner = sent.caller.key();
        self.state.owners.claim(&sent.route.scope(), owner, &things, &sent.about, None).map_err(|_| {
            Refusal::new(Code::UpstreamInvalid, "the server opens a session that belongs to another agent")
                .with_hint("the message was delivered: initialize again")
                .with_delivered(crate::Delivered::Yes)
                .with_rpc_id(sent.rpc_id.clone())
        })
    }

    /// Records an event delivered to the caller in its MCP session. A caller may resume after such events
    /// only.
    pub fn told_event(&self, sent: &Sent, id: &str) {
        self.state.mcp_sessions.tell(sent, id);
    }

    /// Ends an MCP session that its owner closed, or that the server no longer knows.
    pub fn end_session(&self, sent: &Sent) {
        if let Some(id) = session(sent) {
            self.state.owners.forget(&sent.route.scope(), crate::Kind::Session, id);
            self.state.mcp_sessions.ended(sent);
        }
    }

    /// Settles the terms of a request that gets no answer, once the upstream agent has it.
    pub fn handed_over(&self, sent: &Sent, now: Now) {
        term_negotiation::teach(&self.state.negotiated_terms, sent, now.unix);
    }

    /// Renews a permit: the same one if its generation is in force and the status fresh. Otherwise every
    /// stage judges its bytes again. Nothing is counted twice.
    ///
    /// # Errors
    /// As [`Inspector::inspect`], except for the two limits.
    pub fn renew(&self, permit: Permit, now: Now) -> Result<Permit, Refusal> {
        if permit.generation() == self.live.load().number() && now.unix <= permit.fresh_until() {
            return Ok(permit);
        }
        let (arrived, sent, counted) = permit.into_counted();
        self.revalidate(arrived, sent, counted, now)
    }

    /// A permit for other bytes of the same request, rewritten by the gateway. They are parsed, conformed and
    /// decided as a new message, and nothing is counted twice.
    ///
    /// # Errors
    /// As [`Inspector::inspect`], except for the two limits.
    pub fn rewrite(&self, permit: Permit, arrived: Arrived, now: Now) -> Result<Permit, Refusal> {
        let (_, sent, counted) = permit.into_counted();
        self.revalidate(arrived, sent, counted, now)
    }

    fn revalidate(
        &self,
        arrived: Arrived,
        sent: Sent,
        counted: Counted,
        now: Now,
    ) -> Result<Permit, Refusal> {
        let (generation, settled) = (self.live.load(), self.settled(&sent.route, &sent.caller));
        let leave = {
            let setting = self.setting(&generation, now);
            let case = Inspection::request(setting, &sent.route, &sent.caller, &arrived, &settled);
            let approved = sent.approved.as_ref();
            let case = Inspection { turn: Turn::Again, removed: &sent.facts.removed, approved, ..case };
            let strict = read(&case, &arrived.judged)?;
            // the first permit may have closed the session already
            let (live, echo) = (sent.live.clone(), sent.facts.echo.clone());
            let case = Inspection { live: Some(&live), echo: echo.as_ref(), ..case };
            // the headers matched the message on arrival, and neither has changed
            let judged = stages::judge(&case, &strict, &HeaderClaims::default());
            match judged.and_then(|decided| meter(decided, Some(counted))) {
                Ok(metered) => PermitDraft::of(&metered, None, None),
                Err(refusal) => return Err(refusal.with_rpc_id(sent.rpc_id.clone())),
            }
        };
        Ok(leave.renewing(sent).over(arrived))
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
        self.replied(sent, replier, Received { status, body: &reply.into(), counted: None }, now)
    }

    /// A permit for other bytes of the same reply, rewritten by the gateway. They are parsed, conformed and
    /// decided as a new reply, and nothing is counted twice.
    ///
    /// # Errors
    /// As [`Inspector::inspect_reply`], except for the limits.
    pub fn rewrite_reply(
        &self,
        before: ReplyPermit,
        sent: &Sent,
        replier: &Peer,
        reply: impl Into<Answered>,
        now: Now,
    ) -> Result<ReplyPermit, Refusal> {
        let (status, reply) = (before.status(), reply.into());
        let (_, _, counted) = before.into_counted();
        self.replied(sent, replier, Received { status, body: &reply, counted: Some(counted) }, now)
    }

    fn replied(
        &self,
        sent: &Sent,
        replier: &Peer,
        received: Received<'_>,
        now: Now,
    ) -> Result<ReplyPermit, Refusal> {
        let generation = self.live.load();
        let case =
            Inspection::reply(self.setting(&generation, now), sent, replier, received.body.judged.len());
        let facts = Facts { digest: Some(sent.about.digest), ..case.facts() };
        let kind = admissible(sent, received.status, &received.body.judged);
        let kind =
            kind.map_err(|refusal| refusal.with_facts(facts.clone()).with_rpc_id(sent.rpc_id.clone()))?;
        let outcome = reply::same_agent(sent, replier, facts).and_then(|facts| {
            if kind == ReplyKind::Acknowledgement {
                return reply::acknowledged(&case, sent, facts, received.status);
            }
            enabled(&case, sent).map_err(|refusal| refusal.with_facts(facts))?;
            reply::judge(&case, sent, kind, received)
        });
        outcome.map_err(|inner| {
            if inner.is_by_agent() {
                self.declined(sent);
            }
            refused(inner).with_rpc_id(sent.rpc_id.clone())
        })
    }

    /// Terms that the two agents of a request have settled; none if the route does not allow it.
    pub(crate) fn settled(&self, route: &Route, peer: &Peer) -> Arc<OfPair> {
        match route.options.undefined {
            Undefined::Reject => Arc::clone(self.state.negotiated_terms.nothing()),
            Undefined::Disambiguate => {
                let of = Parties { route: &route.name, sender: peer.id(), receiver: &route.receiver };
                self.state.negotiated_terms.of(of)
            }
        }
    }

    /// The open session and task that a request names, and the texts that its answer repeats. Those of the request that
    /// began the task are among them.
    fn in_dialogue(&self, case: &Inspection<'_>, strict: &Strict<'_>) -> (Live, Option<Arc<Echo>>) {
        let (json, protocol) = (strict.json(), case.protocol());
        let Some(mut echo) = protocol.echo(json, case.call) else { return Default::default() };
        let named = protocol.session(json, case.call).unwrap_or_default();
        let (scope, now_ms) = (case.route.scope(), case.now.monotonic_ms);
        let live = self.state.dialogues.live(&scope, case.sender.id(), named, now_ms);
        if let Some(task) = &live.task {
            echo.fill(&task.echo);
        }
        (live, Some(Arc::new(echo)))
    }

    pub(crate) fn setting<'c>(&'c self, generation: &'c Generation, now: Now) -> Setting<'c> {
        Setting { generation, state: &self.state, now }
    }
}

/// A request to judge: its route, sender, headers, and the approval of people.
struct Incoming<'a> {
    route: &'a Arc<Route>,
    peer: &'a Peer,
    headers: &'a HeaderClaims<'a>,
    approved: Option<&'a Approved>,
}

/// Runs every stage on a new request, then records what it begins. Gives its costs back if that fails.
fn permit<'c>(
    case: &'c Inspection<'c>,
    strict: &Strict<'_>,
    headers: &HeaderClaims<'_>,
) -> Result<PermitDraft, Refusal> {
    let decided = stages::judge(case, strict, headers)?;
    let asking = id_reuse::asking(case, &decided)?;
    let metered = meter(decided, None)?;
    let step = begun(case, &metered);
    let opened = step.and_then(|step| Ok((step, case.state.subscriptions.open(&metered)?)));
    let (step, opened) = opened.inspect_err(|_| case.state.meters.give_back(metered.spent()))?;
    Ok(PermitDraft::of(&metered, step, opened).opening(&case.state.mcp_sessions, asking))
}
