//! Messages of the caller on their way to the agent.

use bytes::Bytes;
use semgate_contexts::{NAMING_MEMBERS, json};
use semgate_inspect::{
    Arrived, Code, Delivered, Direction, HeaderClaims, Inspector, Outgoing, Peer, Permit, Refusal, Sent,
};
use semgate_protocol::Call;
use semgate_protocol::iac::{Frame, MessageType, deflate};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::end::{self, BridgeEnd};
use super::files::FileChunk;
use super::keys::{self, NoMessage, SignedFrame};
use super::{BINDING, Bridge, Fault, send};
use crate::clock::unix_now;
use crate::pipeline::exchange::{Exchange, Stopped};
use crate::pipeline::gateway_refusals::{no_audit, no_room, unspent};
use crate::pipeline::receive;
use crate::pipeline::record::{NotRecorded, Outcome};
use crate::pipeline::refuse::Manner;
use crate::server::account::{NoRoom, Recording};
use crate::server::carrier::{CarriedFrame, FrameReader, FrameWriter};
use crate::server::framing::Caller;
use crate::server::reply_signer::AnsweredMessage;

/// The protocol that a message of native L8 names.
const L8: &str = "L8/1.0";
/// Steps that the gateway answers.
const HANDSHAKE: [&str; 2] = ["HELLO", "LOCK"];

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
        let held = exchange.charge.hold(carried.bytes.len());
        held.map_err(|NoRoom| BridgeEnd::refused(no_room(Delivered::No)))?;
        self.worker.turns.unit().await;
        match self.counted(carried) {
            Ok(signed) => {
                let about = keys::about(&signed.frame);
                let passed = self.admitted(&exchange, signed, to).await;
                self.settled(&exchange, passed, &about).await
            }
            Err(no_message) => {
                let charged = self.charge_address();
                let (refusal, about) = match no_message {
                    NoMessage::Framing(refusal) => return Err(BridgeEnd::refused(refusal)),
                    NoMessage::Refused(refusal, about) => (refusal, about),
                };
                charged?;
                self.settled(&exchange, Err(refusal.into()), &about).await
            }
        }
    }

    /// Opens and verifies a frame of the connection's agent. It must count before it is charged to the agent.
    fn counted(&self, carried: CarriedFrame) -> Result<SignedFrame, NoMessage> {
        let generation = self.worker.shared.inspector.generation();
        let signed = keys::signed(
            carried,
            &self.bounds(),
            &self.signed.dictionaries,
            generation.policies(),
            unix_now(),
        )?;
        let counts =
            self.is_own(&signed.agent).and_then(|()| signed.checked(&self.worker, Inspector::counts));
        counts.map_err(|refusal| NoMessage::Refused(refusal, keys::about(&signed.frame)))?;
        Ok(signed)
    }

    /// Charges the remote address for a message that does not count.
    fn charge_address(&self) -> Result<(), BridgeEnd> {
        let (caller, decision) = (Caller::default(), self.worker.decisions.next());
        let exchange = Exchange::new(&self.worker, &self.address, caller, Manner::Plain, decision);
        exchange.charge_arrival().map_err(BridgeEnd::refused)
    }

    /// Charges the agent for a message that counts, and takes it through the stages.
    async fn admitted(
        &self,
        exchange: &Exchange<'_>,
        signed: SignedFrame,
        to: ToAgent<'_>,
    ) -> Result<(), Fault> {
        exchange.charge_arrival().map_err(BridgeEnd::refused)?;
        Box::pin(self.passed(exchange, signed, to)).await
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
        self.in_session(&signed.frame)?;
        self.worker.metrics.signed(signed.form.as_str());
        self.key.set(signed.key);
        exchange.charge.hold(signed.frame.bytes().len()).map_err(|NoRoom| no_room(Delivered::No))?;
        exchange.charge.owe(receive::cost_of(signed.frame.bytes()), self.worker.shared.now());
        if is_handshake(&signed.frame, &limits.json()) {
            return self.handshake(exchange, &signed).await;
        }
        let SignedFrame { frame, agent, .. } = signed;
        let judged = frame.judged(&limits.json());
        let judged = judged.map_err(|fault| Refusal::of_message(&fault, BINDING))?;
        let arrived = Arrived { call: Call::iac(), body: frame.bytes().clone(), judged: judged.clone() };
        let permit = self.judged(exchange, &Peer::signed(&agent), arrived).await?;
        if frame.kind() == MessageType::RegisterKey {
            return self.filed(exchange, permit, &frame).await;
        }
        let chunk = FileChunk::read(&judged, &limits.json());
        let room = self.asked_files.admit(chunk.as_ref(), self.signed.file_bytes);
        let room = room.and_then(|()| self.exchanges.borrow().room(&permit));
        let packed = room.and_then(|()| self.packed(self.signed.agent.compresses(), permit.body()));
        let agent = match packed {
            Ok(packed) => self.open(to).await.map(|agent| (agent, packed)),
            Err(refusal) => Err(refusal),
        };
        match agent {
            Ok((agent, packed)) => {
                self.forward(exchange, permit, &agent, Outbound { frame: &frame, packed }).await?;
                self.asked_files.add(chunk);
                Ok(())
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

    /// Checks that a message is of the connection's agent.
    fn is_own(&self, agent: &str) -> Result<(), Refusal> {
        if agent == self.identity.id() {
            return Ok(());
        }
        Err(Refusal::new(Code::SenderMismatch, "the connection belongs to another agent")
            .with_hint("open a connection for each agent: its first message decides"))
    }

    /// Checks that a message is of the connection's session.
    fn in_session(&self, frame: &Frame) -> Result<(), Refusal> {
        let named = Some(frame.session_id()).filter(|id| *id != 0);
        match (self.session.get(), named) {
            (Some(own), Some(named)) if own != named => Err(Refusal::new(
                Code::SenderMismatch,
                "the message is of another session than its connection",
            )
            .with_hint("use one session on a connection, or 0 for none")),
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
        self.refused_answers.set(0);
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
    /// Its stamp, receiver and ids count as those of any message.
    async fn handshake(&self, exchange: &Exchange<'_>, signed: &SignedFrame) -> Result<(), Fault> {
        signed.checked(&self.worker, Inspector::take_signed)?;
        let frame = &signed.frame;
        let body = Bytes::copy_from_slice(frame.payload().as_bytes());
        let answer = exchange.handshake_within(&Peer::signed(&signed.agent), body)?;
        let payload = String::from_utf8_lossy(&answer).into_owned();
        let reply = self.signer.message(&keys::about(frame), payload);
        let time = self.worker.shared.limits.write_timeout;
        send(&self.caller, &reply, time).await.map_err(|_| BridgeEnd::Left.into())
    }

    /// Files a permitted key for the operator, who alone can add it. It is never forwarded: a stock agent would believe it.
    async fn filed(&self, exchange: &Exchange<'_>, permit: Permit, frame: &Frame) -> Result<(), Fault> {
        let (_, sent) = self.spent(exchange, permit).await?;
        let key = data_encoding::HEXLOWER.encode(frame.extra());
        if let Recording::Whole { others } = self.identity.account().filing(self.worker.shared.now()) {
            tracing::warn!(
                decision = %exchange.decision, agent = self.identity.id(), route = self.worker.route.name, key, others,
                "an agent asks for another key: list it in `entities.json`, or ignore it"
            );
        }
        drop(sent);
        let payload = br#"{"key":"filed"}"#;
        let reply = self.signer.reply(&keys::about(frame), payload);
        let time = self.worker.shared.limits.write_timeout;
        send(&self.caller, &reply, time).await.map_err(|_| BridgeEnd::Left.into())
    }
}

/// True of a command whose payload is a HELLO or LOCK in native L8. Any other payload with a member `protocol` is content.
fn is_handshake(frame: &Frame, limits: &json::Limits) -> bool {
    frame.kind() == MessageType::Command
        && frame.extra().is_empty()
        && json::read(frame.payload().as_bytes(), limits).is_ok_and(|payload| is_step(&payload))
}

fn is_step(payload: &json::Json<'_>) -> bool {
    let Some(envelope) = payload.as_object() else { return false };
    let protocol = envelope.get("protocol").and_then(json::Json::as_str);
    let content = envelope.get("content").and_then(json::Json::as_object);
    protocol == Some(L8)
        && content.is_some_and(|content| {
            let mut names = NAMING_MEMBERS.iter().filter_map(|member| content.get(member)?.as_str());
            names.any(|name| HANDSHAKE.contains(&name))
        })
}

impl From<BridgeEnd> for Fault {
    fn from(end: BridgeEnd) -> Self {
        Self::Ends(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_with_a_member_named_protocol_is_no_handshake() {
        let is_step = |text: &str| is_step(&json::read(text.as_bytes(), &json::Limits::default()).unwrap());
        assert!(is_step(r#"{"protocol": "L8/1.0", "content": {"concept_type": "HELLO"}}"#));
        assert!(is_step(r#"{"protocol": "L8/1.0", "content": {"concept_type": "LOCK"}}"#));
        for content in [
            r#"{"concept_type": "link", "protocol": "tcp"}"#,
            r#"{"protocol": "L8/1.0", "content": {"concept_type": "payment"}}"#,
            r#"{"protocol": "L8/1.0"}"#,
        ] {
            assert!(!is_step(content), "{content}");
        }
    }
}
