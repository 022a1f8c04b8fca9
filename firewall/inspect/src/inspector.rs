//! The inspector: the stages in their order, and the generation that they judge by.

use crate::{
    Code, Direction, Facts, Generation, InspectLimits, Permit, Refusal, ReplyPermit, Route, Sent,
    case::{Case, HeaderClaims, Now, Peer},
    conform::conform,
    decide::{Decided, decide},
    meter::{AmbiguityMeter, RateMeter, carry, meter},
    parse::{Strict, parse, read},
    reply::{Form, acknowledgement, admissible, refused},
    resolve::resolve,
};
use arc_swap::ArcSwap;
use bytes::Bytes;
use semgate_negotiation::Sessions;
use std::sync::{Arc, Mutex, PoisonError};

/// Judges messages. One for all cores: it holds what must be counted across them.
#[derive(Debug)]
pub struct Inspector {
    limits: InspectLimits,
    live: ArcSwap<Generation>,
    last_number: Mutex<u64>,
    rate: RateMeter,
    ambiguity: AmbiguityMeter,
    sessions: Arc<Sessions>,
}

impl Inspector {
    /// An inspector whose first generation has number 1.
    pub fn new(limits: InspectLimits, generation: Generation) -> Self {
        Self {
            live: ArcSwap::from_pointee(generation.numbered(1)),
            last_number: Mutex::new(1),
            rate: RateMeter::new(limits.messages_per_second, limits.message_burst, limits.metered_agents),
            ambiguity: AmbiguityMeter::new(limits.ambiguous_per_minute, limits.metered_agents),
            sessions: Arc::new(Sessions::none()),
            limits,
        }
    }

    /// The same, honouring what handshakes leave behind: locks and the minimums of pairs. Without it no lock holds.
    #[must_use]
    pub fn with_sessions(mut self, sessions: Arc<Sessions>) -> Self {
        self.sessions = sessions;
        self
    }

    /// What messages are judged by now.
    pub fn generation(&self) -> Arc<Generation> {
        self.live.load_full()
    }

    /// Puts another generation in force at once and returns its number, one more than the last. Inspections that already
    /// began finish under the old one; their permits are renewed before they are spent.
    pub fn swap(&self, generation: Generation) -> u64 {
        let mut last = self.last_number.lock().unwrap_or_else(PoisonError::into_inner);
        *last += 1;
        self.live.store(Arc::new(generation.numbered(*last)));
        *last
    }

    /// Whether a message with these bytes, from this peer on this route, may pass.
    ///
    /// `route.receiver` is the receiver; `body` is what was received after any inflating, and what the permit will hold.
    ///
    /// # Errors
    /// The first fault in the order of WIRE "Refusals".
    pub fn inspect(
        &self,
        route: &Arc<Route>,
        peer: &Peer,
        headers: &HeaderClaims<'_>,
        body: Bytes,
        now: Now,
    ) -> Result<Permit, Refusal> {
        let generation = self.live.load();
        let case = self.request_case(&generation, route, peer, now);
        self.rate.admit(peer.key(), now.monotonic_ms).map_err(|often| {
            Refusal::new(Code::RateLimited, "this agent sends more messages than it may")
                .with_hint("send less often; retry after the time given")
                .with_retry_after(often.wait)
                .with_facts(case.facts())
        })?;
        let strict = read(&case, &body)?;
        let metered = judge(&case, &strict, headers).and_then(|decided| meter(decided, &self.ambiguity));
        match metered {
            Ok(metered) => Ok(Permit::of(&metered)),
            Err(refusal) => Err(refusal.with_rpc_id(strict.rpc_id(route.binding))),
        }
    }

    /// A permit that is good now: the same one if the generation that it was given under is still in force and its status
    /// fresh, else a new one after every stage ran again over its bytes. Nothing is counted a second time.
    ///
    /// # Errors
    /// As [`Inspector::inspect`], except for the two limits.
    pub fn renew(&self, permit: Permit, now: Now) -> Result<Permit, Refusal> {
        let generation = self.live.load();
        if permit.generation() == generation.number() && now.unix <= permit.fresh_until() {
            return Ok(permit);
        }
        let (body, sent, counted) = permit.into_counted();
        let case = self.request_case(&generation, &sent.route, &sent.caller, now);
        let strict = read(&case, &body)?;
        // the headers were held against the message when it arrived, and neither has changed since
        match judge(&case, &strict, &sent.version_header()) {
            Ok(decided) => Ok(Permit::of(&carry(decided, counted))),
            Err(refusal) => Err(refusal.with_rpc_id(sent.rpc_id.clone())),
        }
    }

    /// Whether a reply may pass back to the caller.
    ///
    /// `replier` is the verified certificate of the upstream connection, or the agent that the route is configured with on
    /// loopback. `status` is the upstream's HTTP status.
    ///
    /// # Errors
    /// `upstream_invalid` for what is no reply of the binding, `reply_refused` for what the replier may not say, both with the
    /// inner code as cause where there is one and `delivered: yes`.
    pub fn inspect_reply(
        &self,
        sent: &Sent,
        replier: &Peer,
        status: u16,
        body: Bytes,
        now: Now,
    ) -> Result<ReplyPermit, Refusal> {
        let generation = self.live.load();
        let case = Case {
            generation: &generation,
            limits: &self.limits,
            sessions: &self.sessions,
            route: &sent.route,
            sender: replier,
            receiver: sent.caller.id(),
            direction: Direction::Reply,
            answers: Some(sent),
            now,
        };
        let facts = Facts { digest: Some(sent.digest), ..case.facts() };
        let outcome = match admissible(sent, status, &body) {
            Ok(Form::Acknowledgement) => {
                same_agent(sent, replier, facts).map(|facts| acknowledgement(sent, facts, status))
            }
            Ok(Form::Message) => {
                same_agent(sent, replier, facts).and_then(|_| self.judge_reply(&case, status, &body))
            }
            Err(refusal) => return Err(refusal.with_facts(facts).with_rpc_id(sent.rpc_id.clone())),
        };
        outcome.map_err(|inner| refused(inner).with_rpc_id(sent.rpc_id.clone()))
    }

    fn judge_reply(&self, case: &Case<'_>, status: u16, body: &Bytes) -> Result<ReplyPermit, Refusal> {
        let strict = read(case, body)?;
        let decided = judge(case, &strict, &HeaderClaims::default())?;
        Ok(ReplyPermit::of(&meter(decided, &self.ambiguity)?, status))
    }

    fn request_case<'c>(
        &'c self,
        generation: &'c Generation,
        route: &'c Arc<Route>,
        peer: &'c Peer,
        now: Now,
    ) -> Case<'c> {
        Case {
            generation,
            limits: &self.limits,
            sessions: &self.sessions,
            route,
            sender: peer,
            receiver: &route.receiver,
            direction: Direction::Request,
            answers: None,
            now,
        }
    }
}

/// The path of a message: parse → resolve → conform → decide.
fn judge<'c, 'j>(
    case: &'c Case<'c>,
    strict: &'j Strict<'_>,
    headers: &HeaderClaims<'_>,
) -> Result<Decided<'c, 'j>, Refusal> {
    decide(conform(resolve(parse(case, strict, headers)?)?)?)
}

/// The connection that answers must be the route's receiver: it is who the caller believes to be talking to.
fn same_agent(sent: &Sent, replier: &Peer, facts: Facts) -> Result<Facts, Refusal> {
    if replier.id() == sent.route.receiver {
        return Ok(facts);
    }
    Err(Refusal::new(Code::SenderMismatch, "the agent that answered is not the receiver of the route")
        .with_detail(format!("the upstream is `{}`", replier.id()))
        .with_facts(facts))
}
