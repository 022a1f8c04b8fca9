//! What every stream has, however it is written: how long it may last, what it is judged under, and its records.

use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use semgate_inspect::{
    Answered, Delivered, Direction, Facts, Peer, Refusal, Remedy, ReplyPermit, RpcId, Sent, StreamState,
};
use tokio::time::Instant;

use crate::account::{Charge, Recording};
use crate::clock::unix_now;
use crate::decision::DecisionId;
use crate::framing::Caller;
use crate::identify::{Identity, Shown};
use crate::lane::Lane;
use crate::mcp;
use crate::reasons;
use crate::reasons::no_audit;
use crate::record::{NotRecorded, Outcome, Record, Recorded};
use crate::refuse::Manner;
use crate::upstream::Met;

/// How often a silent stream is held against what is live: a revocation ends it within this and the time that the follower takes.
const LOOK: Duration = Duration::from_millis(250);

/// What a stream belongs to.
pub(crate) struct Of {
    pub(crate) lane: Rc<Lane>,
    pub(crate) identity: Rc<Identity>,
    /// The stream's charges to its caller's account.
    pub(crate) charge: Charge,
    pub(crate) caller: Caller,
    /// What the caller's head showed beside its certificate.
    pub(crate) shown: Shown,
    pub(crate) manner: Manner,
    pub(crate) decision: DecisionId,
    pub(crate) began: std::time::Instant,
    /// The facts of a reply of which nothing was read.
    pub(crate) facts: Facts,
    /// The session of MCP that the answer opens, if it may pass.
    pub(crate) opens: Option<HeaderValue>,
}

/// Whether a session is the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    /// It is.
    Yes,
    /// The answer that opens it did not come, or may not pass.
    NotYet,
}

/// A stream under way.
pub(crate) struct Course {
    of: Of,
    sent: Sent,
    /// Who says it.
    met: Met,
    replier: Peer,
    state: StreamState,
    /// It is silent for as long as nothing happens, and ends without a word when its time is over.
    quiet: bool,
    /// When it was last held against what is live, and under which generation.
    looked: (Instant, u64),
    idle: Instant,
    ends: Instant,
}

impl Course {
    /// Begins now, and lasts no longer than `most`.
    pub(crate) fn new(of: Of, sent: Sent, met: Met, most: Duration) -> Self {
        let now = Instant::now();
        let limits = &of.lane.shared.limits;
        Self {
            looked: (now, sent.facts().generation),
            state: of.lane.shared.inspector.stream(&sent),
            idle: now + limits.stream_idle,
            ends: now + most.min(limits.stream_time),
            quiet: sent.listens(),
            replier: met.replier(&of.lane.replier),
            sent,
            met,
            of,
        }
    }

    pub(crate) fn of(&self) -> &Of {
        &self.of
    }

    /// The id that the protocol's error repeats.
    pub(crate) fn rpc_id(&self) -> Option<RpcId> {
        self.sent.rpc_id().cloned()
    }

    /// Whether the stream may go on: its time, the certificates of both sides, what the caller showed beside it, and what it was allowed under.
    ///
    /// # Errors
    /// What ends it.
    pub(crate) fn still(&mut self) -> Result<(), Refusal> {
        let now = Instant::now();
        if !self.quiet && (now >= self.ends || now >= self.idle) {
            return Err(reasons::timeout(Delivered::Yes));
        }
        let at = unix_now();
        self.of.identity.hears(&self.of.shown, &self.of.lane.shared.issuers, at)?;
        if !self.met.counts(at) {
            return Err(reasons::agent_counts_no_more(Delivered::Yes));
        }
        let lane = &self.of.lane;
        let inspector = &lane.shared.inspector;
        let generation = inspector.generation().number();
        let (last, under) = self.looked;
        // the end of a status makes no generation, so time alone asks too
        if generation != under || now.duration_since(last) >= LOOK {
            self.looked = (now, generation);
            self.state.still_counts(inspector, &self.sent, &self.replier, lane.shared.now())?;
        }
        Ok(())
    }

    /// Until when may be waited before [`Course::still`] is asked again.
    pub(crate) fn next_look(&self) -> Instant {
        let look = Instant::now() + LOOK;
        if self.quiet { look } else { look.min(self.idle).min(self.ends) }
    }

    /// Whether a quiet stream has lasted as long as it may, or the gateway drains: who wants to hear more asks again.
    pub(crate) fn is_over(&self) -> bool {
        self.quiet && (Instant::now() >= self.ends || self.of.lane.shared.draining.load(Ordering::Relaxed))
    }

    /// Whether it is silent for as long as nothing happens.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether it is the stream of a session of MCP, in which ids of events count and errors answer no request.
    pub(crate) fn is_of_session(&self) -> bool {
        self.sent.opens_session_stream()
    }

    /// Whether events that say nothing may name the place where the stream can be resumed.
    pub(crate) fn resumes(&self) -> bool {
        self.sent.in_session()
    }

    /// The caller is given an event of this id, and may ask for what comes after it.
    pub(crate) fn told(&self, id: Option<&str>) {
        if let Some(id) = id {
            self.of.lane.shared.inspector.told_event(&self.sent, id);
        }
    }

    /// The agent said something.
    pub(crate) fn heard(&mut self) {
        self.idle = Instant::now() + self.of.lane.shared.limits.stream_idle;
    }

    /// Judges one piece.
    ///
    /// # Errors
    /// Why it may not pass.
    pub(crate) fn judge(&mut self, piece: impl Into<Answered>) -> Result<ReplyPermit, Refusal> {
        let lane = &self.of.lane;
        let (inspector, now) = (&lane.shared.inspector, lane.shared.now());
        inspector.inspect_event(&self.sent, &mut self.state, &self.replier, piece, now)
    }

    /// Whether the answer passed that opens a session of MCP; where none is to be opened, it did.
    pub(crate) fn opens(&self) -> Opened {
        if self.of.opens.is_some() { Opened::NotYet } else { Opened::Yes }
    }

    /// Records a piece that may pass; its bytes are handed on then, and the session that it opens is the caller's.
    ///
    /// # Errors
    /// `audit_unavailable`; `upstream_invalid` for another caller's session.
    pub(crate) fn pass(&mut self, permit: ReplyPermit) -> Result<Bytes, Refusal> {
        let answered = self.state.is_over();
        if answered {
            mcp::own(&self.of.lane.shared.inspector, &self.sent, self.of.opens.as_ref())
                .map_err(|refusal| refusal.with_facts(permit.facts().clone()))?;
        }
        if self.record(Outcome::Allowed, permit.facts().clone()).is_err() {
            return Err(no_audit(Delivered::Yes).with_facts(permit.facts().clone()));
        }
        if answered {
            self.of.opens = None;
        }
        self.of.lane.metrics.allowed(Direction::Reply, self.of.began.elapsed().as_secs_f64());
        Ok(permit.spend_on(&mut self.state))
    }

    fn record(&self, outcome: Outcome, facts: Facts) -> Result<Recorded, NotRecorded> {
        self.of.lane.shared.audit.record(Record::of(self.of.decision, outcome, facts, self.of.began))
    }

    /// Whether a refused event is left out and the stream goes on: it answers what was answered, or nobody waits for it and the route says
    /// so. It is recorded as refused.
    pub(crate) fn leaves_out(&self, refusal: &Refusal) -> bool {
        let out = match refusal.remedy() {
            Some(Remedy::Withhold) => true,
            Some(Remedy::LeaveOut) => self.of.lane.streams.withhold_stray_progress,
            Some(Remedy::ListTools) | None => false,
        };
        if out {
            self.stopped(refusal, "an event is left out");
        }
        out
    }

    /// Whether a refused event is an error that answers a request which was made before, on the stream of its session: that is told, and the
    /// stream goes on. It is recorded as refused.
    pub(crate) fn answers_before(&self, refusal: &Refusal) -> bool {
        let answers = self.is_of_session() && refusal.rpc_id().is_some();
        if answers {
            self.stopped(refusal, "a request is answered by an error");
        }
        answers
    }

    /// Takes the right to answer the request by an error of the gateway. False if it was answered, so that nothing more is said to it.
    pub(crate) fn may_answer(&self) -> bool {
        self.sent.right().take()
    }

    /// The caller has the whole stream.
    pub(crate) fn arrived(&mut self) {
        self.state.arrived();
    }

    /// The agent ended it with an error outside of its events: if it told nothing before, it did nothing.
    pub(crate) fn declined(&self) {
        if self.state.tells_nothing() {
            self.of.lane.shared.inspector.declined(&self.sent);
        }
    }

    /// The stream may not go on, or the agent ended it with a failure: its record, and a line for the operator.
    pub(crate) fn refused(&self, refusal: &Refusal) {
        self.stopped(refusal, "a stream ends");
    }

    fn stopped(&self, refusal: &Refusal, what: &str) {
        let of = &self.of;
        let known = !refusal.facts().sender.is_empty();
        let facts = if known { refusal.facts().clone() } else { of.facts.clone() };
        let facts = Facts { direction: Direction::Reply, ..facts };
        of.lane.metrics.refused(Direction::Reply, refusal.code(), of.began.elapsed().as_secs_f64());
        let shared = &*of.lane.shared;
        if let Recording::Whole { others } = of.identity.account().refusal(refusal.code(), shared.now()) {
            tracing::info!(
                decision = %of.decision, code = %refusal.code(), route = of.lane.route.name, detail = refusal.detail(),
                others, "{what}: {}", refusal.reason()
            );
            let record = Record::of(of.decision, Outcome::Refused(refusal.code()), facts, of.began);
            if shared.audit.record(Record { others, ..record }).is_err() {
                of.identity.account().not_recorded(refusal.code(), others, shared.now());
            }
        }
    }

    /// The caller left before the end.
    pub(crate) fn abandoned(&self) {
        self.of.lane.metrics.abandoned(Direction::Reply);
        let _ = self.record(Outcome::Abandoned, self.of.facts.clone());
    }
}
