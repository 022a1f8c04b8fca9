//! A connection between a caller and the agent that carries signed messages, each judged and recorded by itself.
//!
//! The gateway has a separate connection with each side, and one with the agent for each with a caller: agents address their
//! answers by connection. Only the bytes of checked messages pass, packed anew. The gateway connects to the agent at the first
//! permitted message, so a caller without permission never reaches it.
//!
//! A connection belongs to the agent of its first verified message. A refused message leaves it open: the caller gets a reply of
//! the gateway that says so. Messages of one side pass in the order in which they began.

mod answer;
mod ask;
mod end;
mod files;
mod guest;
mod keys;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use semgate_inspect::{Exchanges, Refusal};
use semgate_protocol::Binding;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use self::end::BridgeEnd;
use self::files::FileTotals;
use self::keys::SignedFrame;
use crate::clock::unix_now;
use crate::pipeline::decision::DecisionId;
use crate::pipeline::exchange::{Exchange, Stopped};
use crate::pipeline::identify::Identity;
use crate::pipeline::refuse::{self, Manner};
use crate::server::carrier::{CarrierFault, FrameBounds, FrameReader, FrameWriter};
use crate::server::framing::Caller;
use crate::server::reply_signer::{AnsweredMessage, ReplySigner};
use crate::server::worker::{RouteWorker, SignedRoute};

pub(crate) use guest::Guest;

/// Interval between checks of a silent connection, as for a stream.
const LOOK: Duration = Duration::from_millis(250);
/// Maximum time for the last frame to leave.
const FAREWELL: Duration = Duration::from_secs(1);
/// Largest window that a compressed frame may ask for, in bytes.
const ZSTD_WINDOW: u64 = 8 << 20;

/// One connection of one agent.
struct Bridge {
    worker: Rc<RouteWorker>,
    identity: Rc<Identity>,
    /// The remote address. It is charged for messages that do not count.
    address: Rc<Identity>,
    signed: Rc<SignedRoute>,
    signer: Arc<ReplySigner>,
    caller: FrameWriter,
    exchanges: RefCell<Exchanges>,
    /// The key of the caller's last message.
    key: Cell<[u8; 32]>,
    /// The caller's last forwarded message, and its decision.
    last: RefCell<AnsweredMessage>,
    decision: Cell<DecisionId>,
    /// The session of the connection, once a message named one.
    session: Cell<Option<u64>>,
    /// Files of the caller.
    asked_files: FileTotals,
    /// Files of the agent.
    answered_files: FileTotals,
    /// Refused answers since the caller's last forwarded message.
    refused_answers: Cell<u32>,
    /// True while the agent has not answered the last message.
    awaits: Cell<bool>,
    last_frame: Cell<Instant>,
}

/// A way in which one message fails.
enum Fault {
    /// The message is refused; the connection stays.
    Refused(Box<Stopped>),
    /// The connection ends.
    Ends(BridgeEnd),
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal.into()))
    }
}

impl From<Stopped> for Fault {
    fn from(stopped: Stopped) -> Self {
        Self::Refused(Box::new(stopped))
    }
}

impl Bridge {
    /// Relays until either side ends, and informs the other.
    async fn run(self, first: SignedFrame, mut from_caller: FrameReader) {
        let (reader_of_agent, comes) = oneshot::channel();
        let mut to_agent: Option<FrameWriter> = None;
        let end = tokio::select! {
            end = self.ask(first, &mut from_caller, &mut to_agent, reader_of_agent) => end,
            end = self.answer(comes) => end,
            end = self.watch() => end,
        };
        if let BridgeEnd::Refused(stopped) = &end {
            self.exchange(self.worker.decisions.next()).stop(stopped);
        }
        self.caller.close(end.code(), end.reason(), FAREWELL).await;
        if let Some(agent) = to_agent {
            agent.close(0, "", FAREWELL).await;
        }
    }

    /// One message in transit.
    fn exchange(&self, decision: DecisionId) -> Exchange<'_> {
        Exchange::new(&self.worker, &self.identity, Caller::default(), Manner::Plain, decision)
    }

    /// Bounds of a frame of the caller.
    fn bounds(&self) -> FrameBounds {
        bounds(&self.worker, &self.signed)
    }

    /// Bounds of a frame of the agent: those of every reply.
    fn reply_bounds(&self) -> FrameBounds {
        let most = self.worker.shared.limits.reply_bytes;
        FrameBounds { compressed: most, plain: most, ..self.bounds() }
    }

    /// Waits for an end by time: silence, the caller's key, or a drain.
    async fn watch(&self) -> BridgeEnd {
        let limits = &self.worker.shared.limits;
        let mut drains: Option<Instant> = None;
        loop {
            sleep(LOOK).await;
            let now = Instant::now();
            if now >= self.last_frame.get() + limits.stream_time {
                return BridgeEnd::Silent;
            }
            if let Err(refusal) = self.hears() {
                return BridgeEnd::refused(refusal);
            }
            if self.worker.course.is_draining() {
                let since = *drains.get_or_insert(now);
                if !self.awaits.get() || now >= since + limits.upstream_timeout {
                    return BridgeEnd::Drained;
                }
            }
        }
    }

    /// Checks that the key of the caller's last message still counts, so that the caller may hear the agent.
    fn hears(&self) -> Result<(), Refusal> {
        let generation = self.worker.shared.inspector.generation();
        keys::still(generation.policies(), self.identity.id(), self.key.get(), unix_now())
    }

    /// Records a refusal, and tells the caller about it in a reply of the gateway.
    async fn tell(
        &self,
        exchange: &Exchange<'_>,
        stopped: &Stopped,
        about: &AnsweredMessage,
    ) -> Result<(), BridgeEnd> {
        tell(exchange, stopped, Telling { signer: &self.signer, to: &self.caller, about }).await
    }
}

/// Bounds of a frame on a route.
fn bounds(worker: &RouteWorker, signed: &SignedRoute) -> FrameBounds {
    let limits = &worker.shared.limits;
    FrameBounds { compressed: signed.frame_bytes, plain: limits.body_bytes, time: limits.body_timeout }
}

/// The receiver of a refusal, and its subject.
struct Telling<'t> {
    signer: &'t ReplySigner,
    to: &'t FrameWriter,
    about: &'t AnsweredMessage,
}

/// Records a refusal, and sends it to the caller.
async fn tell(exchange: &Exchange<'_>, stopped: &Stopped, telling: Telling<'_>) -> Result<(), BridgeEnd> {
    exchange.stop(stopped);
    let problem = refuse::say(&stopped.refusal, Manner::Plain, exchange.decision);
    let reply = telling.signer.reply(telling.about, &problem.body);
    send(telling.to, &reply, exchange.worker.shared.limits.write_timeout).await.map_err(|_| BridgeEnd::Left)
}

/// Sends one message, packed as the carrier needs it.
async fn send(to: &FrameWriter, message: &[u8], time: Duration) -> Result<(), CarrierFault> {
    if to.compresses() {
        return to.send(&semgate_protocol::iac::deflate(message), time).await;
    }
    to.send(message, time).await
}

/// The binding of the frames.
const BINDING: Binding = Binding::Iac;
