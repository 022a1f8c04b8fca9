//! A connection before its first verified message that counts. Its work is charged to the remote address.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use semgate_certs::PeerFault;
use semgate_inspect::{Inspector, Refusal};
use tokio::time::timeout;

use super::end::{self, BridgeEnd};
use super::files::FileTotals;
use super::keys::{self, NoMessage, SignedFrame};
use super::{Bridge, FAREWELL, Telling, bounds, tell};
use crate::clock::unix_now;
use crate::pipeline::exchange::Exchange;
use crate::pipeline::gateway_refusals;
use crate::pipeline::identify::Identity;
use crate::pipeline::refuse::Manner;
use crate::server::account::{Account, Charge, Connection, NoAccount, TooMany};
use crate::server::carrier::{CarriedFrame, Carrier};
use crate::server::framing::Caller;
use crate::server::quic;
use crate::server::reply_signer::{AnsweredMessage, ReplySigner};
use crate::server::worker::{RouteWorker, SignedRoute};

/// A connection whose agent is not known yet.
pub(crate) struct Guest {
    pub(crate) worker: Rc<RouteWorker>,
    pub(crate) signed: Rc<SignedRoute>,
    pub(crate) signer: Arc<ReplySigner>,
    pub(crate) carrier: Carrier,
    /// Account of the remote address.
    pub(crate) account: Arc<Account>,
    /// Its place there, until the agent is known.
    pub(crate) reserved: Connection,
    /// Held to the end of the connection: its slot, and its endpoint.
    pub(crate) held: Box<dyn Any>,
}

impl Guest {
    /// Waits for the first verified message, and serves the connection in the turns of its sender.
    pub(crate) async fn admit(mut self) {
        let time = self.worker.shared.limits.idle_timeout;
        let first = match timeout(time, self.first()).await {
            Ok(Ok(first)) => first,
            Ok(Err(end)) => return self.leave(&end).await,
            Err(_) => return self.leave(&BridgeEnd::Silent).await,
        };
        match self.bridge(&first) {
            Ok((bridge, connection)) => {
                let Self { worker, carrier, held, reserved, .. } = self;
                drop(reserved);
                worker.metrics.connection("begun");
                let turns = Rc::clone(&worker.turns);
                turns.spawn(&Arc::clone(&first.agent), async move {
                    let _held = (held, connection);
                    bridge.run(first, carrier.reader).await;
                });
            }
            Err(refusal) => {
                self.worker.metrics.connection("too_many");
                self.leave(&BridgeEnd::refused(refusal)).await;
            }
        }
    }

    /// The first message that a key of an agent verifies and that counts: for this receiver, in its time, and never sent before.
    /// Every other is refused.
    async fn first(&mut self) -> Result<SignedFrame, BridgeEnd> {
        let worker = Rc::clone(&self.worker);
        let identity = Rc::new(self.identity().map_err(|_| BridgeEnd::Left)?);
        let bounds = bounds(&worker, &self.signed);
        let mut course = worker.course.clone();
        loop {
            let carried = tokio::select! {
                biased;
                () = course.drains() => return Err(BridgeEnd::Drained),
                next = self.carrier.reader.next(&bounds) => next,
            };
            let carried = carried.map_err(end::of_caller)?;
            let decision = worker.decisions.next();
            let exchange = Exchange::new(&worker, &identity, Caller::default(), Manner::Plain, decision);
            match self.signed_frame(&exchange, carried).await {
                Ok(first) => return Ok(first),
                Err(NoMessage::Framing(refusal)) => return Err(BridgeEnd::refused(refusal)),
                Err(NoMessage::Refused(refusal, about)) => {
                    let telling = Telling { signer: &self.signer, to: &self.carrier.writer, about: &about };
                    tell(&exchange, &refusal.into(), telling).await?;
                }
            }
        }
    }

    async fn signed_frame(
        &self,
        exchange: &Exchange<'_>,
        carried: CarriedFrame,
    ) -> Result<SignedFrame, NoMessage> {
        exchange.charge_arrival().map_err(NoMessage::Framing)?;
        self.worker.turns.unit().await;
        let bounds = bounds(&self.worker, &self.signed);
        let generation = self.worker.shared.inspector.generation();
        let signed =
            keys::signed(carried, &bounds, &self.signed.dictionaries, generation.policies(), unix_now())?;
        let counts = signed.checked(&self.worker, Inspector::opens);
        counts.map_err(|refusal| NoMessage::Refused(refusal, keys::about(&signed.frame)))?;
        Ok(signed)
    }

    /// The remote address in place of an agent.
    fn identity(&self) -> Result<Identity, PeerFault> {
        Identity::signed(Arc::clone(&self.account))
    }

    /// The bridge for the sender of the first message, and its place in the sender's account.
    fn bridge(&self, first: &SignedFrame) -> Result<(Bridge, Connection), Refusal> {
        let shared = &self.worker.shared;
        let account = shared.accounts.of(&first.agent, shared.now());
        let account = account.map_err(|NoAccount| gateway_refusals::too_many())?;
        let identity = Identity::signed(account).map_err(|_| gateway_refusals::too_many())?;
        // one window for each side
        let connection = identity.connect(2 * quic::WINDOW as usize);
        let connection = connection.map_err(|TooMany| gateway_refusals::too_many())?;
        let address = Rc::new(self.identity().map_err(|_| gateway_refusals::too_many())?);
        let bridge = Bridge::new(self, Sides { identity: Rc::new(identity), address }, first);
        Ok((bridge, connection))
    }

    /// Records a refusal, and ends the connection.
    async fn leave(&self, end: &BridgeEnd) {
        if let (BridgeEnd::Refused(stopped), Ok(identity)) = (end, self.identity()) {
            let decision = self.worker.decisions.next();
            let caller = Caller::default();
            Exchange::new(&self.worker, &Rc::new(identity), caller, Manner::Plain, decision).stop(stopped);
        }
        self.carrier.writer.close(end.code(), end.reason(), FAREWELL).await;
    }
}

/// The accounts of a connection: its agent's, and its remote address's.
struct Sides {
    identity: Rc<Identity>,
    address: Rc<Identity>,
}

impl Bridge {
    fn new(guest: &Guest, Sides { identity, address }: Sides, first: &SignedFrame) -> Self {
        let worker = Rc::clone(&guest.worker);
        let files = || FileTotals::new(Charge::new(identity.account()));
        let (asked_files, answered_files) = (files(), files());
        Self {
            exchanges: worker.shared.inspector.exchanges().into(),
            decision: worker.decisions.next().into(),
            worker,
            identity,
            address,
            signed: Rc::clone(&guest.signed),
            signer: Arc::clone(&guest.signer),
            caller: guest.carrier.writer.clone(),
            key: first.key.into(),
            last: AnsweredMessage::default().into(),
            session: None.into(),
            asked_files,
            answered_files,
            refused_answers: 0.into(),
            awaits: false.into(),
            last_frame: tokio::time::Instant::now().into(),
        }
    }
}
