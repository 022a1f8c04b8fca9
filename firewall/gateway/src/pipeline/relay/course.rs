//! State of every stream in any framing: its time limit, the basis of its judgement, and its records.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use semgate_inspect::{
    Answered, Delivered, Direction, Facts, Peer, Refusal, Remedy, ReplyPermit, RpcId, Sent, StreamState,
};
use tokio::time::Instant;

use crate::clock::unix_now;
use crate::pipeline::decision::DecisionId;
use crate::pipeline::gateway_refusals;
use crate::pipeline::gateway_refusals::no_audit;
use crate::pipeline::identify::{Identity, Shown};
use crate::pipeline::mcp;
use crate::pipeline::record::{NotRecorded, Outcome, Record, Recorded};
use crate::pipeline::refuse::Manner;
use crate::pipeline::trace::Trace;
use crate::server::account::{Charge, Recording};
use crate::server::framing::Caller;
use crate::server::worker::RouteWorker;
use crate::upstream::Met;

/// Interval between checks of a silent stream. A revocation ends it within this time plus the follower's.
const LOOK: Duration = Duration::from_millis(250);

/// Context of a stream.
pub(crate) struct Of {
    pub(crate) worker: Rc<RouteWorker>,
    pub(crate) identity: Rc<Identity>,
    /// The stream's charges to its caller's account.
    pub(crate) charge: Charge,
    pub(crate) caller: Caller,
    /// The caller's credentials in the head.
    pub(crate) shown: Shown,
    pub(crate) manner: Manner,
    pub(crate) decision: DecisionId,
    pub(crate) began: std::time::Instant,
    pub(crate) trace: Rc<Trace>,
    /// Facts of an unread reply.
    pub(crate) facts: Facts,
    /// MCP session that the answer opens, if it passes.
    pub(crate) opens: Option<HeaderValue>,
}

/// Ownership of a new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    /// The caller owns it.
    Yes,
    /// The opening answer is missing, or was refused.
    NotYet,
}

/// A stream in progress.
pub(crate) struct Course {
    of: Of,
    sent: Sent,
    /// Identity of the agent.
    met: Met,
    replier: Peer,
    state: StreamState,
    /// True if the stream may be silent without events, and ends silently after its time.
    quiet: bool,
    /// Time of the last check, and its generation.
    looked: (Instant, u64),
    idle: Instant,
    ends: Instant,
}

impl Course {
    /// Begins a stream that lasts at most `most`.
    pub(crate) fn new(of: Of, sent: Sent, met: Met, most: Duration) -> Self {
        let now = Instant::now();
        let limits = &of.worker.shared.limits;
        Self {
            looked: (now, sent.facts().generation),
            state: of.worker.shared.inspector.stream(&sent),
            idle: now + limits.stream_idle,
            ends: now + most.min(limits.stream_time),
            quiet: sent.listens(),
            replier: met.replier(&of.worker.replier),
            sent,
            met,
            of,
        }
    }

    pub(crate) fn of(&self) -> &Of {
        &self.of
    }

    /// Id for the protocol's error.
    pub(crate) fn rpc_id(&self) -> Option<RpcId> {
        self.sent.rpc_id().cloned()
    }

    /// Checks that the stream may continue: its time, both certificates, the caller's credentials and the permit's basis.
    ///
    /// # Errors
    /// Reason for the end of the stream.
    pub(crate) fn still(&mut self) -> Result<(), Refusal> {
        let now = Instant::now();
        if !self.quiet && (now >= self.ends || now >= self.idle) {
            return Err(gateway_refusals::timeout(Delivered::Yes));
        }
        let at = unix_now();
        self.of.identity.hears(&self.of.shown, &self.of.worker.shared.issuers, at)?;
        if !self.met.counts(at) {
            return Err(gateway_refusals::agent_counts_no_more(Delivered::Yes));
        }
        let worker = &self.of.worker;
        let inspector = &worker.shared.inspector;
        let generation = inspector.generation().number();
        let (last, under) = self.looked;
        // an expired status makes no generation, so time alone triggers a check too
        if generation != under || now.duration_since(last) >= LOOK {
            self.looked = (now, generation);
            self.state.still_counts(inspector, &self.sent, &self.replier, worker.shared.now())?;
        }
        Ok(())
    }

    /// Time of the next [`Course::still`] check.
    pub(crate) fn next_look(&self) -> Instant {
        let look = Instant::now() + LOOK;
        if self.quiet { look } else { look.min(self.idle).min(self.ends) }
    }

    /// Returns true if a quiet stream has reached its maximum time, or the route drains. The caller may then ask again.
    pub(crate) fn is_over(&self) -> bool {
        self.quiet && (Instant::now() >= self.ends || self.of.worker.course.is_draining())
    }

    /// Returns true if the stream may be silent without events.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns true for the stream of an MCP session, in which event ids count and errors answer no request.
    pub(crate) fn is_of_session(&self) -> bool {
        self.sent.opens_session_stream()
    }

    /// Returns true if empty events may state the position for a resumption.
    pub(crate) fn resumes(&self) -> bool {
        self.sent.in_session()
    }

    /// Remembers an event id given to the caller, who may resume after it.
    pub(crate) fn delivered(&self, id: Option<&str>) {
        if let Some(id) = id {
            self.of.worker.shared.inspector.told_event(&self.sent, id);
        }
    }

    /// Records output of the agent.
    pub(crate) fn answered(&mut self) {
        self.idle = Instant::now() + self.of.worker.shared.limits.stream_idle;
    }

    /// Judges one piece.
    ///
    /// # Errors
    /// The refusal of the piece.
    pub(crate) fn judge(&mut self, piece: impl Into<Answered>) -> Result<ReplyPermit, Refusal> {
        let worker = &self.of.worker;
        let (inspector, now) = (&worker.shared.inspector, worker.shared.now());
        inspector.inspect_event(&self.sent, &mut self.state, &self.replier, piece, now)
    }

    /// State of the MCP session that the answer opens. Without one, the state is [`Opened::Yes`].
    pub(crate) fn opens(&self) -> Opened {
        if self.of.opens.is_some() { Opened::NotYet } else { Opened::Yes }
    }

    /// Records a permitted piece and returns its bytes. A session that it opens becomes the caller's.
    ///
    /// # Errors
    /// `audit_unavailable`; `upstream_invalid` for another caller's session.
    pub(crate) fn pass(&mut self, permit: ReplyPermit) -> Result<Bytes, Refusal> {
        let answered = self.state.is_over();
        if answered {
            mcp::own(&self.of.worker.shared.inspector, &self.sent, self.of.opens.as_ref())
                .map_err(|refusal| refusal.with_facts(permit.facts().clone()))?;
        }
        if self.record(Outcome::Allowed, permit.facts().clone()).is_err() {
            return Err(no_audit(Delivered::Yes).with_facts(permit.facts().clone()));
        }
        if answered {
            self.of.opens = None;
        }
        self.of.worker.metrics.allowed(Direction::Reply, self.of.began.elapsed().as_secs_f64());
        Ok(permit.spend_on(&mut self.state))
    }

    fn record(&self, outcome: Outcome, facts: Facts) -> Result<Recorded, NotRecorded> {
        let traced = self.of.trace.record(&facts);
        let record = Record::of(self.of.decision, outcome, facts, self.of.began);
        self.of.worker.shared.audit.record(Record { traced, ..record })
    }

    /// Returns true if a refused event is dropped and the stream continues. Either its request was answered already, or
    /// nobody waits for it and the route allows that. It is recorded as refused.
    pub(crate) fn leaves_out(&self, refusal: &Refusal) -> bool {
        let out = match refusal.remedy() {
            Some(Remedy::Withhold) => true,
            Some(Remedy::LeaveOut) => self.of.worker.mcp.withhold_stray_progress,
            Some(Remedy::ListTools) | None => false,
        };
        if out {
            self.stopped(refusal, "an event is left out");
        }
        out
    }

    /// Returns true if a refused event is an error that answers an earlier request on the stream of its session. The caller
    /// gets the error, and the stream continues. It is recorded as refused.
    pub(crate) fn answers_before(&self, refusal: &Refusal) -> bool {
        let answers = self.is_of_session() && refusal.rpc_id().is_some();
        if answers {
            self.stopped(refusal, "a request is answered by an error");
        }
        answers
    }

    /// Takes the right to answer the request with an error of the gateway. False if it was answered already, so that nothing
    /// follows.
    pub(crate) fn may_answer(&self) -> bool {
        self.sent.right().take()
    }

    /// Records that the caller has the whole stream.
    pub(crate) fn arrived(&mut self) {
        self.state.arrived();
    }

    /// Records an error of the agent outside its events. If no event came before, the request had no effect.
    pub(crate) fn declined(&self) {
        if self.state.tells_nothing() {
            self.of.worker.shared.inspector.declined(&self.sent);
        }
    }

    /// Records and logs the end of a stream that may not continue, or that the agent ended with a failure.
    pub(crate) fn refused(&self, refusal: &Refusal) {
        self.stopped(refusal, "a stream ends");
    }

    fn stopped(&self, refusal: &Refusal, what: &str) {
        let of = &self.of;
        let known = !refusal.facts().sender.is_empty();
        let facts = if known { refusal.facts().clone() } else { of.facts.clone() };
        let facts = Facts { direction: Direction::Reply, ..facts };
        of.worker.metrics.refused(Direction::Reply, refusal.code(), of.began.elapsed().as_secs_f64());
        let shared = &*of.worker.shared;
        if let Recording::Whole { others } = of.identity.account().refusal(refusal.code(), shared.now()) {
            tracing::info!(
                decision = %of.decision, code = %refusal.code(), route = of.worker.route.name, detail = refusal.detail(),
                others, "{what}: {}", refusal.reason()
            );
            let traced = of.trace.record(&facts);
            let record = Record::of(of.decision, Outcome::Refused(refusal.code()), facts, of.began);
            if shared.audit.record(Record { others, traced, ..record }).is_err() {
                of.identity.account().not_recorded(refusal.code(), others, shared.now());
            }
        }
    }

    /// Records that the caller left before the end.
    pub(crate) fn abandoned(&self) {
        self.of.worker.metrics.abandoned(Direction::Reply);
        let _ = self.record(Outcome::Abandoned, self.of.facts.clone());
    }
}
