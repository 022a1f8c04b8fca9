//! An open socket: both directions at once, each with at most one message.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use semgate_inspect::{
    Arrived, Code, Delivered, Direction, Exchanges, Facts, HeaderClaims, Outgoing, Peer, Refusal,
};
use semgate_protocol::Call;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::agent::{self, Agent};
use super::close::{self, End};
use super::pieces::Since;
use crate::clock::unix_now;
use crate::pipeline::decision::DecisionId;
use crate::pipeline::gateway_refusals::{self, no_audit, unspent};
use crate::pipeline::identify::Identity;
use crate::pipeline::receive;
use crate::pipeline::record::{NotRecorded, Outcome, Record};
use crate::pipeline::refuse::{self, Manner};
use crate::server::account::{Charge, Recording, TooOften};
use crate::server::framing::agreed::Agreed;
use crate::server::worker::RouteWorker;
use crate::upstream::Met;

/// Interval between checks of a silent socket, as for a stream.
const LOOK: Duration = Duration::from_millis(250);
/// Maximum time for the closing handshake.
const FAREWELL: Duration = Duration::from_secs(1);

type AgentSink = SplitSink<Agent, Message>;
type AgentStream = SplitStream<Agent>;

/// One socket of one caller.
pub(super) struct Socket {
    worker: Rc<RouteWorker>,
    identity: Rc<Identity>,
    agreed: Agreed,
    exchanges: RefCell<Exchanges>,
    /// Identity of the agent, once its socket is open.
    met: RefCell<Met>,
    /// Delivery state of the caller's messages.
    delivered: Cell<Delivered>,
    /// Number of messages and control frames of both sides so far.
    frames: Cell<usize>,
    /// Unfinished messages of the caller and the agent.
    written: Since,
    answered: Since,
    last_frame: Cell<Instant>,
    ends: Instant,
    /// Start of the current message, for its record.
    began: Cell<std::time::Instant>,
    decision: Cell<DecisionId>,
}

/// A refusal, and its direction.
struct Stopped(Direction, End);

impl Socket {
    pub(super) fn new(
        worker: Rc<RouteWorker>,
        identity: Rc<Identity>,
        agreed: Agreed,
        written: Since,
    ) -> Self {
        let now = Instant::now();
        Self {
            exchanges: RefCell::new(worker.shared.inspector.exchanges()),
            met: RefCell::default(),
            delivered: Cell::new(Delivered::No),
            frames: Cell::new(0),
            written,
            answered: Since::default(),
            last_frame: Cell::new(now),
            ends: now + worker.shared.limits.stream_time,
            began: Cell::new(std::time::Instant::now()),
            decision: Cell::new(agreed.decision),
            worker,
            identity,
            agreed,
        }
    }

    /// Relays until the socket ends, and informs both sides.
    pub(super) async fn run<S>(self, caller: WebSocketStream<S>)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (mut to_caller, mut from_caller) = caller.split();
        let (stream_of_agent, comes) = oneshot::channel();
        let mut to_agent: Option<AgentSink> = None;
        let stopped = tokio::select! {
            end = self.ask(&mut from_caller, &mut to_agent, stream_of_agent) => Stopped(Direction::Request, end),
            end = self.answer(&mut to_caller, comes) => Stopped(Direction::Reply, end),
            end = self.watch() => Stopped(Direction::Reply, end),
        };
        self.record_end(&stopped);
        let Stopped(_, end) = stopped;
        let farewell = async {
            if let End::Refused(refusal, _) = &end {
                let written = refuse::say(refusal, Manner::Plain, self.decision.get());
                if let Ok(text) = Utf8Bytes::try_from(written.body) {
                    let _ = to_caller.send(Message::Text(text)).await;
                }
            }
            let _ = to_caller.send(Message::Close(Some(end.frame()))).await;
            let _ = to_caller.flush().await;
            while let Some(Ok(_)) = from_caller.next().await {}
        };
        let _ = timeout(FAREWELL, farewell).await;
        if let Some(mut agent) = to_agent {
            let _ = timeout(FAREWELL, agent.send(Message::Close(Some(End::Over.frame())))).await;
        }
    }

    /// Relays everything from the caller.
    async fn ask<S>(
        &self,
        from: &mut SplitStream<WebSocketStream<S>>,
        to: &mut Option<AgentSink>,
        stream_of_agent: oneshot::Sender<AgentStream>,
    ) -> End
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut stream_of_agent = Some(stream_of_agent);
        loop {
            let message = match from.next().await {
                None => return End::Left,
                Some(Err(fault)) => return close::of_caller(&fault),
                Some(Ok(message)) => message,
            };
            self.written.whole();
            // a ping is no message: the agent's output is still recorded with the last message's decision
            let is_message = !matches!(message, Message::Ping(_) | Message::Pong(_) | Message::Frame(_));
            let decide = || {
                self.began.set(std::time::Instant::now());
                self.decision.set(self.worker.decisions.next());
            };
            if is_message {
                decide();
            }
            self.worker.turns.unit().await;
            let counted = self.charged(&message);
            if let Err(refusal) = counted.and_then(|()| self.frame()) {
                if !is_message {
                    decide();
                }
                return End::refused(refusal);
            }
            match message {
                Message::Text(text) => {
                    if let Err(refusal) = self.request(text.into(), to, &mut stream_of_agent).await {
                        return End::refused(refusal);
                    }
                }
                Message::Binary(_) => return close::binary(),
                Message::Close(_) => return End::Left,
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    /// Charges a message of the caller for its arrival and its cost.
    fn charged(&self, message: &Message) -> Result<(), Refusal> {
        let shared = &*self.worker.shared;
        let (account, now) = (self.identity.account(), shared.now());
        let often = |TooOften { wait }| gateway_refusals::too_often(&shared.accounts.rate(), wait);
        account.arrive(now).map_err(often)?;
        if let Message::Text(text) = message {
            Charge::new(account).owe(receive::cost_of(text.as_bytes()), now);
        }
        Ok(())
    }

    /// Handles one message of the caller on the path of every request, to the agent's socket.
    async fn request(
        &self,
        text: Bytes,
        to: &mut Option<AgentSink>,
        stream_of_agent: &mut Option<oneshot::Sender<AgentStream>>,
    ) -> Result<(), Refusal> {
        let shared = &*self.worker.shared;
        let now = unix_now();
        self.identity.still_shows(&self.agreed.shown, &shared.issuers, now)?;
        let peer = &self.agreed.shown.by(self.identity.peer(now)?, now)?;
        let l9_context: Vec<&str> = self.agreed.l9_context.iter().map(String::as_str).collect();
        let headers = HeaderClaims { l9_context: &l9_context };
        let arrived = Arrived::whole(Call::l8(), text);
        let permit = shared.inspector.inspect(&self.worker.route, peer, &headers, arrived, shared.now())?;
        let room = self.exchanges.borrow().room(&permit);
        if let Err(refusal) = room {
            return Err(unspent(permit, refusal));
        }
        let agent = match to {
            Some(agent) => agent,
            None => match self.open().await {
                Ok(agent) => {
                    let (sink, stream) = agent.split();
                    if let Some(stream_of_agent) = stream_of_agent.take() {
                        let _ = stream_of_agent.send(stream);
                    }
                    to.insert(sink)
                }
                Err(refusal) => return Err(unspent(permit, refusal)),
            },
        };
        // opening may have taken a while: the current state decides
        let still = self.identity.still(&self.agreed.shown, &shared.issuers, unix_now());
        if let Err(refusal) = still.and_then(|()| self.counts(Delivered::No)) {
            return Err(unspent(permit, refusal));
        }
        let permit = shared.inspector.renew(permit, shared.now())?;
        if self.record(Outcome::Allowed, permit.facts().clone()).is_err() {
            return Err(unspent(permit, no_audit(Delivered::No)));
        }
        self.worker.metrics.allowed(Direction::Request, self.began.get().elapsed().as_secs_f64());
        let (Outgoing { body, .. }, sent) = permit.spend();
        let facts = sent.facts().clone();
        let settles = (!facts.learnt.is_empty()).then(|| sent.clone());
        self.exchanges.borrow_mut().sent(sent);
        self.delivered.set(Delivered::Yes);
        send(agent, body).await.map_err(|()| {
            Refusal::new(Code::UpstreamUnavailable, "the socket of the upstream agent ended")
                .with_hint("the message may have arrived: check its effect before you send it again")
                .with_delivered(Delivered::Unknown)
                .with_facts(facts)
        })?;
        if let Some(sent) = settles {
            shared.inspector.handed_over(&sent, shared.now());
        }
        Ok(())
    }

    async fn open(&self) -> Result<Agent, Refusal> {
        let opening =
            agent::open(&self.worker, &self.identity, &self.agreed, self.decision.get(), &self.answered);
        let (agent, met) = opening.await?;
        *self.met.borrow_mut() = met;
        Ok(agent)
    }

    fn replier(&self) -> Peer {
        self.met.borrow().replier(&self.worker.replier)
    }

    /// Checks that the agent's certificate, if any, still counts.
    fn counts(&self, delivered: Delivered) -> Result<(), Refusal> {
        let counts = self.met.borrow().counts(unix_now());
        if counts { Ok(()) } else { Err(gateway_refusals::agent_counts_no_more(delivered)) }
    }

    /// Relays everything from the agent.
    async fn answer<S>(
        &self,
        to: &mut SplitSink<WebSocketStream<S>, Message>,
        comes: oneshot::Receiver<AgentStream>,
    ) -> End
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let Ok(mut from) = comes.await else { return std::future::pending().await };
        loop {
            let message = match from.next().await {
                None => return End::Over,
                Some(Err(fault)) => return close::of_agent(&fault),
                Some(Ok(message)) => message,
            };
            self.answered.whole();
            self.worker.turns.unit().await;
            if let Err(refusal) = self.frame() {
                return End::refused(refusal);
            }
            match message {
                Message::Text(text) => match self.reply(text.into()) {
                    Ok(body) => {
                        if send(to, body).await.is_err() {
                            return End::Left;
                        }
                    }
                    Err(refusal) => return End::refused(refusal),
                },
                Message::Binary(_) => {
                    return End::refused(gateway_refusals::invalid(
                        "a message of the upstream agent is binary",
                    ));
                }
                Message::Close(_) => return End::Over,
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    /// Judges and records one message of the agent.
    fn reply(&self, text: Bytes) -> Result<Bytes, Refusal> {
        let worker = &self.worker;
        self.began.set(std::time::Instant::now());
        self.hears()?;
        self.counts(Delivered::Yes)?;
        let mut exchanges = self.exchanges.borrow_mut();
        let now = worker.shared.now();
        let permit = worker.shared.inspector.inspect_said(&mut exchanges, &self.replier(), text, now)?;
        if self.record(Outcome::Allowed, permit.facts().clone()).is_err() {
            return Err(no_audit(Delivered::Yes).with_facts(permit.facts().clone()));
        }
        worker.metrics.allowed(Direction::Reply, self.began.get().elapsed().as_secs_f64());
        Ok(permit.spend().1)
    }

    /// Waits for an end by time: the socket's limit, either certificate, open contexts, or a drain.
    async fn watch(&self) -> End {
        let limits = &self.worker.shared.limits;
        let mut drains: Option<Instant> = None;
        loop {
            sleep(LOOK).await;
            let now = Instant::now();
            if now >= self.ends || now >= self.last_frame.get() + limits.stream_idle {
                return End::refused(gateway_refusals::timeout(Delivered::Unknown));
            }
            if let Err(refusal) = self.still() {
                return End::refused(refusal);
            }
            if self.worker.course.is_draining() {
                let since = *drains.get_or_insert(now);
                if !self.exchanges.borrow().awaits() || now >= since + limits.upstream_timeout {
                    return End::Drained;
                }
            }
        }
    }

    fn still(&self) -> Result<(), Refusal> {
        let shared = &*self.worker.shared;
        self.hears()?;
        self.counts(Delivered::Unknown)?;
        self.exchanges.borrow_mut().still_count(&shared.inspector, &self.replier(), shared.now())
    }

    /// Checks that the caller may still receive the agent's output.
    fn hears(&self) -> Result<(), Refusal> {
        let (shown, issuers) = (&self.agreed.shown, &self.worker.shared.issuers);
        self.identity.hears_on(self.delivered.get(), shown, issuers, unix_now())
    }

    /// Counts a message or control frame of either side.
    fn frame(&self) -> Result<(), Refusal> {
        self.last_frame.set(Instant::now());
        self.frames.set(self.frames.get().saturating_add(1));
        if self.frames.get() > crate::pipeline::events::MAX_EVENTS {
            return Err(Refusal::new(
                Code::RateLimited,
                "the socket has carried more messages than the limit",
            )
            .with_hint("open another socket"));
        }
        Ok(())
    }

    fn record(
        &self,
        outcome: Outcome,
        facts: Facts,
    ) -> Result<crate::pipeline::record::Recorded, NotRecorded> {
        let traced = self.agreed.trace.record(&facts);
        let record = Record::of(self.decision.get(), outcome, facts, self.began.get());
        self.worker.shared.audit.record(Record { traced, ..record })
    }

    /// Records the end of the socket. A caller that leaves with open requests is recorded as abandoned.
    fn record_end(&self, Stopped(direction, end): &Stopped) {
        let bare = || {
            let (caller, agent) = (self.identity.id().to_owned(), self.worker.route.receiver.clone());
            let (sender, receiver) = match direction {
                Direction::Request => (caller, agent),
                Direction::Reply => (agent, caller),
            };
            Facts {
                direction: *direction,
                sender,
                receiver,
                protocol: self.worker.rules.binding.as_str(),
                ..Facts::default()
            }
        };
        match end {
            End::Refused(refusal, _) => {
                let known = !refusal.facts().sender.is_empty();
                let facts = if known { refusal.facts().clone() } else { bare() };
                let facts = Facts { direction: *direction, ..facts };
                let seconds = self.began.get().elapsed().as_secs_f64();
                self.worker.metrics.refused(*direction, refusal.code(), seconds);
                let shared = &*self.worker.shared;
                if let Recording::Whole { others } =
                    self.identity.account().refusal(refusal.code(), shared.now())
                {
                    tracing::info!(
                        decision = %self.decision.get(), code = %refusal.code(), route = self.worker.route.name,
                        detail = refusal.detail(), others, "a socket ends: {}", refusal.reason()
                    );
                    let outcome = Outcome::Refused(refusal.code());
                    let traced = self.agreed.trace.record(&facts);
                    let record = Record::of(self.decision.get(), outcome, facts, self.began.get());
                    if shared.audit.record(Record { others, traced, ..record }).is_err() {
                        self.identity.account().not_recorded(refusal.code(), others, shared.now());
                    }
                }
            }
            End::Left if !self.exchanges.borrow().is_empty() => {
                self.worker.metrics.abandoned(Direction::Reply);
                let _ = self.record(Outcome::Abandoned, Facts { direction: Direction::Reply, ..bare() });
            }
            End::Left | End::Over | End::Drained => {}
        }
    }
}

/// Sends the checked bytes as one text message.
async fn send<K: SinkExt<Message> + Unpin>(to: &mut K, body: Bytes) -> Result<(), ()> {
    let text = Utf8Bytes::try_from(body).map_err(drop)?;
    to.send(Message::Text(text)).await.map_err(drop)
}
