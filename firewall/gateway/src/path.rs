//! The path of one message: admit → receive → inspect → forward → reply → record. One place at the end turns any refusal into
//! a record and an answer.

mod arrive;
mod call;
mod card;
mod clarify;
mod gather;
mod handshake;
mod listing;
mod metadata;
mod notify;
mod push;
mod relayed;

use std::cell::{Cell, OnceCell};
use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};

use http::header::{CONNECTION, IF_NONE_MATCH, UPGRADE};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode, Version};
use semgate_inspect::{
    AnswerRight, Clarification, Delivered, Direction, Facts, HeaderClaims, Notice, Peer, Permit, Quota,
    Refusal,
};
use semgate_protocol::a2a::Operation;

use crate::account::{Charge, Recording, TooMany, TooOften};
use crate::admit::{self, Admitted, Arrival};
use crate::answer::{self, Answer, AnswerBody};
use crate::authorize::Demand;
use crate::clock::unix_now;
use crate::decision::DecisionId;
use crate::events::lines;
use crate::forward::{self, Begun, Returned, Told};
use crate::framing::{Caller, Serving};
use crate::identify::{Identity, Shown};
use crate::lane::Lane;
use crate::mcp;
use crate::quota;
use crate::reasons::{self, no_audit, reply_facts, unspent};
use crate::receive::unread::Unread;
use crate::receive::{self, Received, Room};
use crate::record::{NotRecorded, Outcome, Record, Recorded};
use crate::refuse::{self, Manner};
use crate::relay::{self, Framing, Of, Opened, Relay, Relayed};
use crate::reply;

pub(crate) use notify::notified;

/// The longest delay of a refused arrival's answer. After a second the caller has not given up yet, and a connection gets at
/// most one such refusal a second.
const PAUSE: Duration = Duration::from_secs(1);

/// Serves one request of a connection, including its refusal.
pub(crate) async fn serve(
    lane: Rc<Lane>,
    identity: Rc<Identity>,
    serving: Serving,
    (parts, body): (&Parts, &mut Unread),
) -> Answer {
    let manner = lane.door.manner(&parts.method, parts.uri.path(), &parts.headers);
    let decision = lane.decisions.next();
    let upgrades = parts.headers.contains_key(UPGRADE);
    let head_alone = parts.method == Method::HEAD;
    let shown = OnceCell::new();
    let (caller, began) = (serving.caller(), Instant::now());
    let charge = Charge::new(identity.account());
    let pause = Cell::default();
    let way = Way { lane: &lane, identity: &identity, charge, pause, caller, shown, manner, decision, began };
    let mut answer = match way.run(&serving, parts, body).await {
        Ok(answer) => answer.map(|body| body.holding(serving, way.charge.clone())),
        Err(stopped) => way.refuse(&stopped).await,
    };
    if head_alone {
        answer = answer::head_of(answer);
    }
    if upgrades && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        // the guard reads nothing after such a head, and would hold the connection for ever
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// One message in transit.
struct Way<'w> {
    lane: &'w Rc<Lane>,
    identity: &'w Rc<Identity>,
    /// All charges of the request, until the end of its answer.
    charge: Charge,
    /// Delay before the answer to a refused arrival.
    pause: Cell<Duration>,
    caller: Caller,
    /// The head's credentials, once they were read.
    shown: OnceCell<Shown>,
    manner: Manner,
    decision: DecisionId,
    began: Instant,
}

/// Result of forwarding.
enum Answered {
    Whole(Returned),
    Stream(Begun, Framing),
}

/// A refusal, and the direction of the message that it stopped.
struct Stopped {
    direction: Direction,
    refusal: Refusal,
    /// Answer format, if it differs from the request's.
    manner: Option<Manner>,
    /// The agent's demand to the caller.
    demand: Demand,
}

impl Stopped {
    /// Sets the answer format, unless one is set already.
    fn told(self, manner: Manner) -> Self {
        Self { manner: self.manner.or(Some(manner)), ..self }
    }

    /// Makes the refusal the answer to the request. If the request was answered on another stream, the refusal answers
    /// nothing.
    fn answering(self, right: &AnswerRight) -> Self {
        if self.refusal.rpc_id().is_none() || right.take() {
            return self;
        }
        Self { refusal: self.refusal.with_rpc_id(None), ..self }
    }

    /// Adds the remaining quotas of a caller whose message had passed. A refused reply affects only its replier's.
    fn telling(self, quotas: &[Quota]) -> Self {
        Self { refusal: self.refusal.with_quotas(quotas.to_vec()), ..self }
    }
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Self {
        Self { direction: Direction::Request, refusal, manner: None, demand: Demand::default() }
    }
}

impl Way<'_> {
    async fn run(&self, serving: &Serving, parts: &Parts, body: &mut Unread) -> Result<Answer, Stopped> {
        self.begin()?;
        self.answer(serving, (parts, body)).await
    }

    /// Charges a request to its agent, even with a faulty head, which also costs an answer and a record. A refused arrival is
    /// answered once the next could pass, at most a second later. So an agent past its limit gains no speed.
    fn begin(&self) -> Result<(), Refusal> {
        let shared = &*self.lane.shared;
        #[cfg(feature = "plain-proxy")]
        if shared.unchecked {
            return Ok(());
        }
        self.identity.enter(&self.charge).map_err(|TooMany| reasons::too_many())?;
        let Err(TooOften { wait }) = self.identity.account().arrive(shared.now()) else { return Ok(()) };
        self.pause.set(wait.min(PAUSE));
        Err(reasons::too_often(shared.accounts.rate(), wait.saturating_sub(self.pause.get())))
    }

    async fn answer(
        &self,
        serving: &Serving,
        (parts, body): (&Parts, &mut Unread),
    ) -> Result<Answer, Stopped> {
        let shared = &*self.lane.shared;
        if let Some(fault) = serving.fault() {
            // nothing read so far tells the caller's protocol, except for a gRPC call, whose head has frames of its own
            let framed = parts.version == Version::HTTP_2 && matches!(self.manner, Manner::Grpc { .. });
            let manner = if framed { self.manner } else { Manner::Plain };
            return Err(Stopped::from(reasons::framing(fault)).told(manner));
        }
        let now = unix_now();
        let peer = self.identity.peer(now)?;
        let arrival = admit::admit(&self.lane.door, parts, &shared.limits)?;
        let room = shared.limits.credentials_remembered;
        let shown = self.identity.shown(&parts.headers, &shared.issuers, (now, room))?;
        let shown = self.shown.get_or_init(|| shown);
        let peer = &shown.by(peer, now)?;
        if !matches!(arrival, Arrival::Message(_)) {
            self.lane.turns.unit().await;
        }
        let admitted = match arrival {
            Arrival::Card => return Box::pin(self.card(peer, parts.headers.get(IF_NONE_MATCH))).await,
            Arrival::Metadata(of) => {
                return Box::pin(self.metadata(peer, &of, parts.headers.get(IF_NONE_MATCH))).await;
            }
            Arrival::SealingKey => return Box::pin(self.sealing_key(peer)).await,
            Arrival::Socket(wanted) => {
                return Ok(wanted.agree(serving, shown.clone(), (self.decision, &self.charge)));
            }
            Arrival::Message(admitted) => admitted,
        };
        #[cfg(feature = "plain-proxy")]
        if shared.unchecked {
            let received = receive::receive(admitted, body, serving, &self.room()).await?;
            return Ok(crate::run::plain::pass(self.lane, self.identity, self.decision, received).await?);
        }
        let room = self.room();
        let receiving = receive::receive(admitted, body, serving, &room);
        let received = self.attended(|| self.bare_facts(Direction::Request), receiving).await?;
        // the body may have taken a while, and handshakes, groups and lists are answered here without forwarding
        self.still()?;
        if received.admitted.handshake {
            return Box::pin(self.handshake(peer, received)).await;
        }
        if let Some(group) = &self.lane.group {
            return Ok(Box::pin(self.gather(group, received)).await);
        }
        let told = self.manner.read();
        self.message(peer, received).await.map_err(|stopped| stopped.told(told))
    }

    async fn message(&self, peer: &Peer, received: Received) -> Result<Answer, Stopped> {
        let shared = &*self.lane.shared;
        let (admitted, arrived) = self.arrived(received)?;
        let l9_context: Vec<&str> = admitted.l9_context.iter().map(String::as_str).collect();
        let headers = HeaderClaims { l9_context: &l9_context };
        let (form, body) = (arrived.call.form, arrived.body.clone());
        let again = shared.inspector.may_ask_for_tools(&self.lane.route).then(|| arrived.clone());
        let asked = shared.inspector.inspect(&self.lane.route, peer, &headers, arrived, shared.now());
        let asked = match (again, asked) {
            (Some(again), Err(refusal)) => {
                Ok(Box::pin(self.listed(peer, (&admitted, &headers), again, refusal)).await?)
            }
            (_, asked) => asked,
        };
        let permit = self.push(asked, form, &body)?;
        let permit = match shared.inspector.clarify(permit, self.decision, shared.now()) {
            Ok(Clarification::Forward(permit)) => permit,
            Ok(Clarification::Answered { sent, reply }) => return self.clarified(&sent, *reply, &admitted),
            Err(refusal) => return Err(Stopped { direction: Direction::Reply, ..Stopped::from(refusal) }),
        };
        let judged = permit.body().clone();
        let permit = self.redirected(permit, &admitted, &judged)?;
        let sets = permit.sets_push();
        let ready = self.ready(permit).await;
        let (permit, recorded, lease) = ready.inspect_err(|_| {
            // the agent never received the address
            sets.iter().for_each(|sent| shared.inspector.declined(sent));
        })?;
        self.lane.metrics.allowed(Direction::Request, self.began.elapsed().as_secs_f64());
        let (quotas, right) = (permit.quotas().to_vec(), permit.right());
        let answered = self.forward(permit, recorded, lease, &admitted).await;
        let mut answer = answered.map_err(|stopped| stopped.telling(&quotas).answering(&right))?;
        quota::tell(&mut answer, quotas);
        Ok(answer)
    }

    /// Prepares forwarding: a connection, a currently valid permit, and its record.
    async fn ready(&self, permit: Permit) -> Result<(Permit, Recorded, crate::upstream::Lease), Stopped> {
        let shared = &self.lane.shared;
        // its questions are counted: if the caller leaves before the record of the permit, that is recorded
        let leased = self.attended(|| permit.facts().clone(), self.lane.pool.lease()).await;
        let lease = match leased {
            Ok(lease) => lease,
            Err(fault) => return Err(unspent(permit, reasons::unreachable(&fault)).into()),
        };
        // the body and the connection may have taken a while: the current state decides
        let renewed = match self.still() {
            Ok(()) => shared.inspector.renew(permit, shared.now()),
            Err(refusal) => Err(unspent(permit, refusal)),
        };
        let permit = match renewed {
            Ok(permit) => permit,
            Err(refusal) => {
                self.lane.pool.keep(lease);
                return Err(refusal.into());
            }
        };
        let recorded = match self.record(Outcome::Allowed, permit.facts().clone()) {
            Ok(recorded) => recorded,
            Err(NotRecorded) => {
                self.lane.pool.keep(lease);
                return Err(unspent(permit, no_audit(Delivered::No)).into());
            }
        };
        Ok((permit, recorded, lease))
    }

    async fn forward(
        &self,
        permit: Permit,
        recorded: Recorded,
        lease: crate::upstream::Lease,
        admitted: &Admitted,
    ) -> Result<Answer, Stopped> {
        let lane = self.lane;
        let notice = permit.notice().cloned();
        let echo = admitted.extension.as_ref();
        let call = permit.call().clone();
        let mut buffer = [0; 26];
        let told = Told {
            identity: self.identity,
            l9_context: admitted.l9_context.first().map(String::as_str),
            extension: admitted.extension.as_ref(),
            call: &call,
            target: admitted.target.as_ref(),
            typed: admitted.typed,
            credentials: &admitted.credentials,
            waits: call::waits(&lane.shared.limits, &call, admitted.waits),
            events: admitted.events,
            decision: self.decision.text(&mut buffer),
            anew: None,
        };
        let facts = reply_facts(permit.facts());
        if let Some(operation) = call.form.grpc() {
            let begun = forward::forward(permit, recorded, lane, lease, (&told, self.shown()));
            let begun = self.attended(|| facts.clone(), begun).await;
            let begun = begun.map_err(|refusal| stopped_reply(refusal, facts.clone()))?;
            return Box::pin(self.called(operation, begun, facts, told.waits, echo, notice.as_ref())).await;
        }
        let (mut opened, mut demand) = (None, Demand::default());
        let answered = self.attended(|| facts.clone(), async {
            let mut begun = forward::forward(permit, recorded, lane, lease, (&told, self.shown())).await?;
            self.demanded(&begun, &mut demand)?;
            mcp::stands(&lane.shared.inspector, &begun.sent, begun.answering.head.status)?;
            opened = mcp::opened(&begun.sent, &begun.answering.head.headers)?;
            let streams = begun.sent.operation().is_some_and(Operation::streams)
                || begun.sent.mcp().is_some()
                || admitted.events;
            if let Some(framing) = self.framing(&mut begun, streams).await? {
                return Ok(Answered::Stream(begun, framing));
            }
            let success = begun.answering.head.status.is_success();
            Ok(Answered::Whole(match success && begun.sent.is_unanswered() {
                true => forward::unread(begun, lane, self.identity),
                false => forward::whole(begun, lane, &self.charge).await?,
            }))
        });
        let judged = match answered.await {
            Ok(Answered::Stream(begun, framing)) => {
                let stream = (begun, framing);
                return Box::pin(self.relay(stream, facts, (opened, demand), echo, notice.as_ref())).await;
            }
            Ok(Answered::Whole(returned)) => {
                self.attended(|| facts.clone(), lane.turns.unit()).await;
                reply::judge(
                    &lane.shared.inspector,
                    returned,
                    (&lane.replier, self.hears()),
                    lane.shared.now(),
                )
            }
            Err(refusal) => return Err(Stopped { demand, ..stopped_reply(refusal, facts) }),
        };
        let judged = judged.and_then(|(sent, passed)| {
            mcp::own(&lane.shared.inspector, &sent, opened.as_ref())
                .map_err(|refusal| refusal.with_facts(passed.permit.facts().clone()))?;
            Ok((sent, passed))
        });
        let (sent, mut passed) = judged.map_err(|refusal| stopped_reply(refusal, facts.clone()))?;
        passed.permit = self
            .restored((&sent, &passed.replier), passed.permit, None)
            .map_err(|refusal| stopped_reply(refusal, facts.clone()))?;
        let card = self.extended(&sent, &passed.permit).map_err(|refusal| stopped_reply(refusal, facts))?;
        if sent.ends_session() {
            lane.shared.inspector.end_session(&sent);
        }
        if self.record(Outcome::Allowed, passed.permit.facts().clone()).is_err() {
            let facts = passed.permit.facts().clone();
            let refusal = no_audit(Delivered::Yes).with_rpc_id(sent.rpc_id().cloned());
            return Err(stopped_reply(refusal, facts));
        }
        lane.metrics.allowed(Direction::Reply, self.began.elapsed().as_secs_f64());
        let answer = reply::hand_back(passed, card, echo, notice.as_ref(), &lane.address, self.decision);
        Ok(in_session(answer, opened, demand))
    }

    /// Framing of an answer that is a stream; `None` for one reply.
    ///
    /// # Errors
    /// Same as for reading a reply.
    async fn framing(&self, begun: &mut Begun, streams: bool) -> Result<Option<Framing>, Refusal> {
        if streams && relay::is_stream(&begun.answering) {
            return Ok(Some(Framing::Events));
        }
        let asked = begun.sent.mcp().is_some_and(|asked| asked.rpc_id.is_some());
        if !asked || !self.lane.streams.json_lines {
            return Ok(None);
        }
        let several = lines::are_several(&mut begun.answering, &self.lane.shared.limits).await;
        let several = several.map_err(|refusal| refusal.with_rpc_id(begun.sent.rpc_id().cloned()))?;
        Ok(several.then_some(Framing::Lines))
    }

    /// Relays a stream: its head goes out at once, and each event is judged as it passes. If its head opens a session, the
    /// answer in it is judged first.
    async fn relay(
        &self,
        (begun, framing): (Begun, Framing),
        facts: Facts,
        (opens, demand): (Option<HeaderValue>, Demand),
        echo: Option<&HeaderName>,
        notice: Option<&Notice>,
    ) -> Result<Answer, Stopped> {
        match Relay::begin(begun, framing, Of { opens: opens.clone(), ..self.of(facts.clone()) }) {
            Ok(mut relay) => {
                let opened = match opens {
                    Some(session) => (relay.until_answered().await == Opened::Yes).then_some(session),
                    None => None,
                };
                let kind = relay.kind();
                let body = AnswerBody::Stream(Box::pin(Relayed::Resting(Box::new(relay))));
                let address = &self.lane.address;
                let answer = reply::hand_on(body, kind, echo, notice, address, self.decision);
                Ok(in_session(answer, opened, demand))
            }
            Err(refusal) => Err(stopped_reply(refusal, facts)),
        }
    }

    /// The head's credentials; empty before they were read.
    fn shown(&self) -> &Shown {
        self.shown.get_or_init(Shown::default)
    }

    /// Checks that the caller and its credentials still count.
    fn still(&self) -> Result<(), Refusal> {
        self.identity.still(self.shown(), &self.lane.shared.issuers, unix_now())
    }

    /// Checks that the caller may still receive the agent's output.
    fn hears(&self) -> Result<(), Refusal> {
        self.identity.hears(self.shown(), &self.lane.shared.issuers, unix_now())
    }

    /// Context of a stream that belongs to this message.
    fn of(&self, facts: Facts) -> Of {
        Of {
            lane: Rc::clone(self.lane),
            identity: Rc::clone(self.identity),
            charge: Charge::new(self.identity.account()),
            caller: self.caller.clone(),
            shown: self.shown().clone(),
            manner: self.manner,
            decision: self.decision,
            began: self.began,
            facts,
            opens: None,
        }
    }

    /// Waits for `what`. If the caller leaves meanwhile, dropping the future writes a record from `facts`.
    async fn attended<T>(&self, facts: impl Fn() -> Facts, what: impl Future<Output = T>) -> T {
        let mut awaiting = Awaiting { way: self, facts, done: false };
        let came = what.await;
        awaiting.done = true;
        came
    }

    /// Facts of a message before anything was read.
    fn bare_facts(&self, direction: Direction) -> Facts {
        let (sender, receiver) = (self.identity.id(), self.lane.route.receiver.as_str());
        let (sender, receiver) = match direction {
            Direction::Request => (sender, receiver),
            Direction::Reply => (receiver, sender),
        };
        Facts {
            direction,
            sender: sender.to_owned(),
            receiver: receiver.to_owned(),
            protocol: self.lane.door.protocol.as_str(),
            ..Facts::default()
        }
    }

    fn record(&self, outcome: Outcome, facts: Facts) -> Result<Recorded, NotRecorded> {
        self.lane.shared.audit.record(Record::of(self.decision, outcome, facts, self.began))
    }

    /// Space for the body of the request.
    fn room(&self) -> Room<'_> {
        let shared = &*self.lane.shared;
        Room { charge: &self.charge, turns: &self.lane.turns, limits: &shared.limits, now: shared.now() }
    }

    /// Records a refusal at once, and answers after the delay of a refused arrival.
    async fn refuse(&self, stopped: &Stopped) -> Answer {
        let answer = self.stop(stopped);
        if !self.pause.get().is_zero() {
            tokio::time::sleep(self.pause.get()).await;
        }
        answer
    }

    /// Records and answers a refusal. A failed record changes nothing, since the message is refused already.
    fn stop(&self, stopped: &Stopped) -> Answer {
        let Stopped { direction, refusal, manner, demand } = stopped;
        let mut facts = refusal.facts().clone();
        if facts.sender.is_empty() {
            let Facts { sender, receiver, protocol, .. } = self.bare_facts(*direction);
            (facts.sender, facts.receiver, facts.protocol) = (sender, receiver, protocol);
        }
        facts.direction = *direction;
        self.lane.metrics.refused(*direction, refusal.code(), self.began.elapsed().as_secs_f64());
        let shared = &*self.lane.shared;
        if let Recording::Whole { others } = self.identity.account().refusal(refusal.code(), shared.now()) {
            tracing::info!(
                decision = %self.decision, code = %refusal.code(), route = self.lane.route.name, detail = refusal.detail(),
                others, "{}", refusal.reason()
            );
            let record = Record::of(self.decision, Outcome::Refused(refusal.code()), facts, self.began);
            if shared.audit.record(Record { others, ..record }).is_err() {
                self.identity.account().not_recorded(refusal.code(), others, shared.now());
            }
        }
        let mut answer = refuse::refuse(refusal, manner.unwrap_or(self.manner), self.decision);
        demand.clone().tell(&mut answer);
        answer
    }
}

/// Wait during which the caller may leave.
struct Awaiting<'w, F: Fn() -> Facts> {
    way: &'w Way<'w>,
    facts: F,
    /// True once the result is known; later code then writes the record.
    done: bool,
}

impl<F: Fn() -> Facts> Drop for Awaiting<'_, F> {
    fn drop(&mut self) {
        if !self.done {
            let facts = (self.facts)();
            self.way.lane.metrics.abandoned(facts.direction);
            let _ = self.way.record(Outcome::Abandoned, facts);
        }
    }
}

/// Adds the new session's id, and the nonce for the next proof of a token's key.
fn in_session(mut answer: Answer, opened: Option<HeaderValue>, demand: Demand) -> Answer {
    demand.tell(&mut answer);
    if let Some(session) = opened {
        answer.headers_mut().insert(mcp::SESSION, session);
    }
    answer
}

fn stopped_reply(refusal: Refusal, facts: Facts) -> Stopped {
    let refusal = if refusal.facts().sender.is_empty() { refusal.with_facts(facts) } else { refusal };
    Stopped { direction: Direction::Reply, ..Stopped::from(refusal) }
}
