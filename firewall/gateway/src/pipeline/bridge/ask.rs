//! Messages of the caller on their way to the agent.

use bytes::Bytes;
use semgate_contexts::json;
use semgate_inspect::{
    Arrived, Code, Delivered, Direction, HeaderClaims, Outgoing, Peer, Permit, Refusal, Sent,
};
use semgate_protocol::Call;
use semgate_protocol::iac::{Frame, MessageType, deflate};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::end::{self, BridgeEnd};
use super::keys::{self, NoMessage, SignedFrame};
use super::{BINDING, Bridge, Fault, send};
use crate::clock::unix_now;
use crate::pipeline::exchange::{Exchange, Stopped};
use crate::pipeline::gateway_refusals::{no_audit, no_room, unspent};
use crate::pipeline::receive;
use crate::pipeline::record::{NotRecorded, Outcome};
use crate::server::account::NoRoom;
use crate::server::carrier::{CarriedFrame, FrameReader, FrameWriter};
use crate::server::reply_signer::AnsweredMessage;

/// The way to the agent, once it is open.
struct ToAgent<'t> {
    writer: &'t mut Option<FrameWriter>,
    /// Takes the receiving half.
    reader: &'t mut Option<oneshot::Sender<FrameReader>>,
}

/// A message, and its bytes for the agent.
struct Outbound<'f> {
    frame: &'f Frame,
    packed: Bytes,
}

impl Bridge {
    /// Relays everything from the caller.
    pub(super) async fn ask(
        &self,
        first: SignedFrame,
        from: &mut FrameReader,
        writer: &mut Option<FrameWriter>,
        reader: oneshot::Sender<FrameReader>,
    ) -> BridgeEnd {
        let mut reader = Some(reader);
        let mut first = Some(first);
        let bounds = self.bounds();
        loop {
            let to = ToAgent { writer, reader: &mut reader };
            let outcome = match first.take() {
                Some(first) => {
                    let exchange = self.exchange(self.decision.get());
                    let about = keys::about(&first.frame);
                    let passed = self.admitted(&exchange, first, to).await;
                    self.settled(&exchange, passed, &about).await
                }
                None => match from.next(&bounds).await {
                    Ok(carried) => self.message(carried, to).await,
                    Err(fault) => Err(end::of_caller(fault)),
                },
            };
            if let Err(end) = outcome {
                return end;
            }
        }
    }

    /// Handles one frame of the caller.
    async fn message(&self, carried: CarriedFrame, to: ToAgent<'_>) -> Result<(), BridgeEnd> {
        self.last_frame.set(Instant::now());
        let exchange = self.exchange(self.worker.decisions.next());
        exchange.charge_arrival().map_err(BridgeEnd::refused)?;
        let held = exchange.charge.hold(carried.bytes.len());
        held.map_err(|NoRoom| BridgeEnd::refused(no_room(Delivered::No)))?;
        self.worker.turns.unit().await;
        let generation = self.worker.shared.inspector.generation();
        let signed = keys::signed(
            carried,
            &self.bounds(),
            &self.signed.dictionaries,
            generation.policies(),
            unix_now(),
        );
        drop(generation);
        let (passed, about) = match signed {
            Ok(signed) => {
                let about = keys::about(&signed.frame);
                (Box::pin(self.passed(&exchange, signed, to)).await, about)
            }
            Err(NoMessage::Framing(refusal)) => {
                (Err(BridgeEnd::refused(refusal).into()), AnsweredMessage::default())
            }
            Err(NoMessage::Refused(refusal, about)) => (Err(refusal.into()), about),
        };
        self.settled(&exchange, passed, &about).await
    }

    /// Charges the first message, which was charged to the remote address so far.
    async fn admitted(
        &self,
        exchange: &Exchange<'_>,
        first: SignedFrame,
        to: ToAgent<'_>,
    ) -> Result<(), Fault> {
        exchange.charge_arrival().map_err(BridgeEnd::refused)?;
        Box::pin(self.passed(exchange, first, to)).await
    }

    /// Tells the caller about a refused message.
    async fn settled(
        &self,
        exchange: &Exchange<'_>,
        passed: Result<(), Fault>,
        about: &AnsweredMessage,
    ) -> Result<(), BridgeEnd> {
        match passed {
            Ok(()) => Ok(()),
            Err(Fault::Ends(end)) => Err(end),
            Err(Fault::Refused(stopped)) => self.tell(exchange, &stopped, about).await,
        }
    }

    /// Takes one verified message through the stages, to the agent.
    async fn passed(
        &self,
        exchange: &Exchange<'_>,
        signed: SignedFrame,
        to: ToAgent<'_>,
    ) -> Result<(), Fault> {
        let limits = &self.worker.shared.limits;
        let SignedFrame { frame, agent, key, form } = signed;
        self.belongs(&frame, &agent)?;
        self.worker.metrics.signed(form.as_str());
        self.key.set(key);
        if is_handshake(&frame, &limits.json()) {
            return self.handshake(exchange, &Peer::signed(&agent), &frame).await;
        }
        exchange.charge.hold(frame.bytes().len()).map_err(|NoRoom| no_room(Delivered::No))?;
        exchange.charge.owe(receive::cost_of(frame.bytes()), self.worker.shared.now());
        let judged = frame.judged(&limits.json());
        let judged = judged.map_err(|fault| Refusal::of_message(&fault, BINDING))?;
        let arrived = Arrived { call: Call::iac(), body: frame.bytes().clone(), judged: judged.clone() };
        let permit = self.judged(exchange, &Peer::signed(&agent), arrived).await?;
        if frame.kind() == MessageType::RegisterKey {
            return self.filed(exchange, permit, &frame).await;
        }
        let totals = self.files.borrow_mut().add(&judged, &limits.json(), self.signed.file_bytes);
        let room = totals.and_then(|()| self.exchanges.borrow().room(&permit));
        let packed = room.and_then(|()| self.packed(self.signed.agent.compresses(), permit.body()));
        let agent = match packed {
            Ok(packed) => self.open(to).await.map(|agent| (agent, packed)),
            Err(refusal) => Err(refusal),
        };
        match agent {
            Ok((agent, packed)) => {
                self.forward(exchange, permit, &agent, Outbound { frame: &frame, packed }).await
            }
            Err(refusal) => Err(unspent(permit, refusal).into()),
        }
    }

    /// The checked bytes as a carrier needs them. A stock peer ends a connection that brings more than it takes.
    pub(super) fn packed(&self, compresses: bool, message: &Bytes) -> Result<Bytes, Refusal> {
        if !compresses {
            return Ok(message.clone());
        }
        let packed = deflate(message);
        if packed.len() <= self.signed.frame_bytes {
            return Ok(packed.into());
        }
        Err(Refusal::new(
            Code::TooLarge,
            "the message is larger than the limit once the gateway has compressed it",
        )
        .with_hint("send less in one message"))
    }

    /// Checks that a message is of the connection's agent and session.
    fn belongs(&self, frame: &Frame, agent: &str) -> Result<(), Refusal> {
        let mismatch =
            |reason: &str, hint: &str| Err(Refusal::new(Code::SenderMismatch, reason).with_hint(hint));
        if agent != self.identity.id() {
            return mismatch(
                "the connection belongs to another agent",
                "open a connection for each agent: its first message decides",
            );
        }
        let named = Some(frame.session_id()).filter(|id| *id != 0);
        match (self.session.get(), named) {
            (Some(own), Some(named)) if own != named => mismatch(
                "the message is of another session than its connection",
                "use one session on a connection, or 0 for none",
            ),
            (None, Some(named)) => {
                self.session.set(Some(named));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The inspector's stages, and people if the message needs them.
    async fn judged(
        &self,
        exchange: &Exchange<'_>,
        peer: &Peer,
        arrived: Arrived,
    ) -> Result<Permit, Stopped> {
        let (shared, route) = (&self.worker.shared, &self.worker.route);
        let judged = shared.inspector.inspect(route, peer, &HeaderClaims::default(), arrived, shared.now());
        match judged {
            Err(refusal) if refusal.code() == Code::ApprovalRequired => {
                Box::pin(exchange.ask(peer, refusal)).await
            }
            judged => Ok(judged?),
        }
    }

    /// Opens the connection to the agent, unless it is open.
    async fn open(&self, to: ToAgent<'_>) -> Result<FrameWriter, Refusal> {
        if let Some(agent) = to.writer {
            return Ok(agent.clone());
        }
        let agent = self.signed.agent.open().await?;
        if let Some(reader) = to.reader.take() {
            let _ = reader.send(agent.reader);
        }
        Ok(to.writer.insert(agent.writer).clone())
    }

    /// Spends the permit: exactly the checked bytes, packed anew.
    async fn forward(
        &self,
        exchange: &Exchange<'_>,
        permit: Permit,
        agent: &FrameWriter,
        Outbound { frame, packed }: Outbound<'_>,
    ) -> Result<(), Fault> {
        let before = permit.body().clone();
        let (body, sent) = self.spent(exchange, permit).await?;
        let packed = if body == before { packed } else { self.packed(agent.compresses(), &body)? };
        let shared = &self.worker.shared;
        *self.last.borrow_mut() = keys::about(frame);
        self.decision.set(exchange.decision);
        self.awaits.set(sent.facts().performative.is_some_and(|says| says.is_asking()));
        let settles = (!sent.facts().learnt.is_empty()).then(|| sent.clone());
        let facts = sent.facts().clone();
        self.exchanges.borrow_mut().sent(sent);
        if agent.send(&packed, shared.limits.upstream_timeout).await.is_err() {
            let refusal =
                Refusal::new(Code::UpstreamUnavailable, "the connection of the upstream agent ended")
                    .with_hint("the message may have arrived: check its effect before you send it again")
                    .with_delivered(Delivered::Unknown)
                    .with_facts(facts);
            // nothing may follow a message that was perhaps cut
            self.tell(exchange, &refusal.into(), &keys::about(frame)).await?;
            return Err(BridgeEnd::Over.into());
        }
        if let Some(sent) = settles {
            shared.inspector.handed_over(&sent, shared.now());
        }
        Ok(())
    }

    /// Renews a permit, uses its approval, records it, and spends it.
    async fn spent(&self, exchange: &Exchange<'_>, permit: Permit) -> Result<(Bytes, Sent), Refusal> {
        let shared = &self.worker.shared;
        // opening may have taken a while: the current state decides
        if let Err(refusal) = self.hears() {
            return Err(unspent(permit, refusal));
        }
        let permit = shared.inspector.renew(permit, shared.now())?;
        let used = match exchange.use_approval(&permit).await {
            Ok(used) => used,
            Err(refusal) => return Err(unspent(permit, refusal)),
        };
        if let Err(NotRecorded) = exchange.record(Outcome::Allowed, permit.facts().clone()).map(drop) {
            return Err(unspent(permit, no_audit(Delivered::No)));
        }
        self.worker.metrics.allowed(Direction::Request, exchange.began.elapsed().as_secs_f64());
        let (Outgoing { body, .. }, sent) = permit.spend();
        drop(used);
        Ok((body, sent))
    }

    /// Answers a handshake for the agent (`docs/spec/snl.md`). The lock that it agrees on then stands in each message.
    async fn handshake(&self, exchange: &Exchange<'_>, peer: &Peer, frame: &Frame) -> Result<(), Fault> {
        let body = Bytes::copy_from_slice(frame.payload().as_bytes());
        let answer = exchange.handshake_within(peer, body)?;
        let payload = String::from_utf8_lossy(&answer).into_owned();
        let reply = self.signer.message(&keys::about(frame), payload);
        let time = self.worker.shared.limits.write_timeout;
        send(&self.caller, &reply, time).await.map_err(|_| BridgeEnd::Left.into())
    }

    /// Files a permitted key for the operator, who alone can add it. It is never forwarded: a stock agent would believe it.
    async fn filed(&self, exchange: &Exchange<'_>, permit: Permit, frame: &Frame) -> Result<(), Fault> {
        let (_, sent) = self.spent(exchange, permit).await?;
        let key = data_encoding::HEXLOWER.encode(frame.extra());
        tracing::warn!(
            decision = %exchange.decision, agent = self.identity.id(), route = self.worker.route.name, key,
            "an agent asks for another key: list it in `entities.json`, or ignore it"
        );
        drop(sent);
        let payload = br#"{"key":"filed"}"#;
        let reply = self.signer.reply(&keys::about(frame), payload);
        let time = self.worker.shared.limits.write_timeout;
        send(&self.caller, &reply, time).await.map_err(|_| BridgeEnd::Left.into())
    }
}

/// True of a command whose payload is a whole message of native L8, as handshakes are.
fn is_handshake(frame: &Frame, limits: &json::Limits) -> bool {
    let envelope =
        |json: &json::Json<'_>| json.as_object().is_some_and(|object| object.get("protocol").is_some());
    frame.kind() == MessageType::Command
        && frame.extra().is_empty()
        && json::read(frame.payload().as_bytes(), limits).is_ok_and(|json| envelope(&json))
}

impl From<BridgeEnd> for Fault {
    fn from(end: BridgeEnd) -> Self {
        Self::Ends(end)
    }
}
