//! Messages of the agent on their way to the caller.

use bytes::Bytes;
use semgate_contexts::Performative;
use semgate_inspect::{Answered, Code, Delivered, Direction, Peer, Refusal, Written, refused_reply};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::end::{self, BridgeEnd};
use super::files::FileChunk;
use super::keys::{self, NoMessage};
use super::{BINDING, Bridge, Fault};
use crate::clock::unix_now;
use crate::pipeline::exchange::{Exchange, stopped_reply};
use crate::pipeline::gateway_refusals::{invalid, no_audit, no_room};
use crate::pipeline::record::Outcome;
use crate::server::account::NoRoom;
use crate::server::carrier::{CarriedFrame, FrameReader};

/// Refused answers that the caller is told about after each of its messages. Each costs a signature and a frame.
const REFUSED_ANSWERS: u32 = 64;

/// A message of the agent that may pass.
struct JudgedAnswer {
    body: Bytes,
    chunk: Option<FileChunk>,
}

impl Bridge {
    /// Relays everything from the agent, once its connection is open.
    pub(super) async fn answer(&self, comes: oneshot::Receiver<FrameReader>) -> BridgeEnd {
        let Ok(mut from) = comes.await else { return std::future::pending().await };
        let bounds = self.reply_bounds();
        loop {
            let carried = match from.next(&bounds).await {
                Ok(carried) => carried,
                Err(fault) => return end::of_agent(fault),
            };
            self.last_frame.set(Instant::now());
            self.worker.turns.unit().await;
            let exchange = self.exchange(self.decision.get());
            let outcome = match self.reply(&exchange, carried) {
                Ok(JudgedAnswer { body, chunk }) => {
                    let time = self.worker.shared.limits.write_timeout;
                    let sent = self.caller.send(&body, time).await.map_err(|_| BridgeEnd::Left);
                    sent.map(|()| self.answered_files.add(chunk))
                }
                Err(Fault::Refused(_)) if self.refused_answers.get() >= REFUSED_ANSWERS => {
                    Err(end::too_many_refused())
                }
                Err(Fault::Refused(stopped)) => {
                    self.refused_answers.set(self.refused_answers.get().saturating_add(1));
                    let about = self.last.borrow().clone();
                    self.tell(&exchange, &stopped, &about).await
                }
                Err(Fault::Ends(end)) => Err(end),
            };
            if let Err(end) = outcome {
                return end;
            }
        }
    }

    /// Judges and records one message of the agent, and packs it for the caller.
    fn reply(&self, exchange: &Exchange<'_>, carried: CarriedFrame) -> Result<JudgedAnswer, Fault> {
        let facts = || exchange.bare_facts(Direction::Reply);
        self.judged_reply(exchange, carried).map_err(|refusal| stopped_reply(refusal, facts()).into())
    }

    fn judged_reply(&self, exchange: &Exchange<'_>, carried: CarriedFrame) -> Result<JudgedAnswer, Refusal> {
        let shared = &self.worker.shared;
        let held = exchange.charge.hold(carried.bytes.len());
        held.map_err(|NoRoom| no_room(Delivered::Yes))?;
        self.hears().map_err(|refusal| refusal.with_delivered(Delivered::Yes))?;
        let generation = shared.inspector.generation();
        let signed = keys::signed(
            carried,
            &self.reply_bounds(),
            &self.signed.dictionaries,
            generation.policies(),
            unix_now(),
        );
        drop(generation);
        let signed = signed.map_err(|why| match why {
            NoMessage::Framing(refusal) | NoMessage::Refused(refusal, _) => refused_reply(refusal),
        })?;
        if *signed.agent != *self.worker.route.receiver {
            let refusal =
                Refusal::new(Code::SenderMismatch, "the message is not signed by the route's receiver")
                    .with_hint("sign answers with a key of the receiver");
            return Err(refused_reply(refusal));
        }
        let packed = self.packed(self.caller.compresses(), signed.frame.bytes()).map_err(refused_reply)?;
        let judged = signed.frame.judged(&shared.limits.json());
        let judged = judged.map_err(|fault| refused_reply(Refusal::of_message(&fault, BINDING)))?;
        let chunk = FileChunk::read(&judged, &shared.limits.json());
        let answered = Answered { body: signed.frame.bytes().clone(), judged };
        let replier = Peer::signed(&signed.agent);
        let permit = {
            let mut exchanges = self.exchanges.borrow_mut();
            shared.inspector.inspect_said(&mut exchanges, &replier, answered, shared.now())?
        };
        let files = self.answered_files.admit(chunk.as_ref(), self.signed.file_bytes);
        files.map_err(|refusal| refused_reply(refusal.with_facts(permit.facts().clone())))?;
        if permit.written() == Written::ByGateway {
            return Err(
                invalid("the gateway cannot rewrite a signed answer").with_facts(permit.facts().clone())
            );
        }
        if exchange.record(Outcome::Allowed, permit.facts().clone()).is_err() {
            return Err(no_audit(Delivered::Yes).with_facts(permit.facts().clone()));
        }
        if permit.facts().performative != Some(Performative::Agree) {
            self.awaits.set(false);
        }
        self.worker.metrics.allowed(Direction::Reply, exchange.began.elapsed().as_secs_f64());
        permit.spend();
        Ok(JudgedAnswer { body: packed, chunk })
    }
}
