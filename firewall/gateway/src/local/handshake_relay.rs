//! Handshakes between two agents that negotiate by themselves. The gateway opens and checks a handshake sealed to it, and
//! reseals it to the agent. The answer returns in the same way. Signed parts stay unchanged.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use ring::rand::SystemRandom;
use semgate_contexts::json;
use semgate_inspect::offer::handshake_hint;
use semgate_inspect::{Code, Delivered, Direction, Facts, Peer, Permit, Refusal, refused_reply};
use semgate_negotiation::{Appointed, AwaitingSelect, HandshakeReply, Relay, RelayedLock, RelayedMessage};
use semgate_protocol::Call;

use super::handshake::no_key;
use crate::clock::unix_now;
use crate::pipeline::answer::Answer;
use crate::pipeline::exchange::{Exchange, Stopped, stopped_reply};
use crate::pipeline::forward::{self, Returned};
use crate::pipeline::gateway_refusals;
use crate::pipeline::gateway_refusals::{no_audit, reply_facts, unspent};
use crate::pipeline::record::Outcome;
use crate::pipeline::refuse;
use crate::pipeline::reply;
use crate::pipeline::upstream_head::{Resealed, UpstreamHead};
use crate::server::materials::Materials;
use crate::upstream::Allowed;

/// Path at which the agent states the gateway's key, below its address of handshakes.
const KEY_PATH: &str = "/key";

/// Codes that the agent may give for a refused handshake, so that callers need not guess. Nothing else of such an answer
/// passes.
const SAID: [Code; 8] = [
    Code::LockMismatch,
    Code::SenderMismatch,
    Code::ReceiverMismatch,
    Code::Replayed,
    Code::ContextUnknown,
    Code::ContextBelowFloor,
    Code::ContextUntrusted,
    Code::RateLimited,
];

/// A handshake on its way to the agent.
enum Onward {
    Hello(Box<AwaitingSelect>),
    Lock(Box<RelayedLock>),
}

/// Pause after a failed request for an agent's keys. Callers without permissions can cause such requests, so a hanging agent
/// must not get one for each.
const ASKED_AGAIN: Duration = Duration::from_secs(5);

impl Exchange<'_> {
    /// Relays HELLO or LOCK to the agent, and its answer back.
    pub(crate) async fn relayed(
        &self,
        peer: &Peer,
        permit: Permit,
        body: Bytes,
        materials: &Materials,
        relay: &Relay,
    ) -> Result<Answer, Stopped> {
        let onward = self.onward(peer, &body, materials, relay);
        let (onward, anew) = match self.attended(|| permit.facts().clone(), onward).await {
            Ok(onward) => onward,
            Err(refusal) => return Err(unspent(permit, refusal).into()),
        };
        let facts = reply_facts(permit.facts());
        let returned = self.passed_on(permit, anew.as_ref()).await?;
        let back = |refusal: Refusal| stopped_reply(refusal, facts.clone());
        if let Some(refusal) = refused_behind(returned.head.status, &returned.body) {
            if refusal.code() == Code::LockMismatch {
                // its key may have changed
                relay.forget_appointment(unix_now());
            }
            return Err(back(refusal));
        }
        let worker = self.worker;
        let judged = reply::judge(
            &worker.shared.inspector,
            returned,
            &worker.replier,
            self.hears(),
            worker.shared.now(),
        );
        let (_, passed) = judged.map_err(back)?;
        let reply = passed.permit.facts().clone();
        let (_, body) = passed.permit.spend();
        let answered = self.asked(peer, materials, |asked| match onward {
            Onward::Hello(passing) => relay.select(*passing, &body, asked),
            Onward::Lock(locking) => relay.granted(locking, &body, asked),
        });
        let answered = answered.map_err(|inner| stopped_reply(refused_reply(inner), reply.clone()))?;
        self.replied(reply, answered)
    }

    /// The caller's verified message, and its replacement for the agent, if any.
    async fn onward(
        &self,
        peer: &Peer,
        body: &Bytes,
        materials: &Materials,
        relay: &Relay,
    ) -> Result<(Onward, Option<Bytes>), Refusal> {
        let greeting = match self.asked(peer, materials, |asked| relay.receive(body, asked))? {
            RelayedMessage::Lock(locking) => return Ok((Onward::Lock(locking), None)),
            RelayedMessage::Hello(greeting) => greeting,
        };
        self.alarm(peer, greeting.shrunk());
        let offered = greeting.offers().iter().map(|offer| &offer.urn);
        self.worker.shared.inspector.generation().may_offer(peer.id(), offered)?;
        let appointed = match greeting.sealed() {
            true => Some(self.appointed(materials, relay).await?),
            false => None,
        };
        let pass =
            self.asked(peer, materials, |asked| relay.pass_hello(greeting, appointed.as_deref(), asked));
        let (passing, anew) = pass?;
        Ok((Onward::Hello(Box::new(passing)), anew.map(Bytes::from)))
    }

    /// The agent's statement of the gateway's key and its own. The agent is asked if the statement is missing or expired.
    pub(crate) async fn appointed(
        &self,
        materials: &Materials,
        relay: &Relay,
    ) -> Result<Arc<Appointed>, Refusal> {
        let worker = self.worker;
        let sessions = &worker.shared.sessions;
        if let Some(known) = relay.current_appointment(sessions, unix_now()) {
            return Ok(known);
        }
        let mut in_vain = worker.handshakes.in_vain.lock().await;
        if let Some(known) = relay.current_appointment(sessions, unix_now()) {
            return Ok(known);
        }
        if in_vain.is_some_and(|last| last.elapsed() < ASKED_AGAIN) {
            return Err(not_appointed("a request a moment ago failed".to_owned()));
        }
        let appointed = self.appoint(materials, relay).await;
        *in_vain = appointed.is_err().then(std::time::Instant::now);
        appointed
    }

    /// Asks the agent for a new statement.
    async fn appoint(&self, materials: &Materials, relay: &Relay) -> Result<Arc<Appointed>, Refusal> {
        let worker = self.worker;
        let sessions = &worker.shared.sessions;
        let question = relay.key_question(sessions, &SystemRandom::new(), unix_now())?.ok_or_else(no_key)?;
        let lease = worker.pool.lease().await.map_err(|fault| gateway_refusals::unreachable(&fault))?;
        let request = worker.handshakes.agent.own_question(KEY_PATH, Bytes::from(question));
        let asked = forward::exchange(&worker.pool, lease, request, &worker.shared.limits, Allowed::ALWAYS);
        // even after a failure, nothing of the caller's was delivered
        let (head, body) = asked.await.map_err(|refusal| refusal.with_delivered(Delivered::No))?;
        if head.status != 200 {
            return Err(not_appointed(format!("status {}", head.status.as_u16())));
        }
        let trust = worker.handshakes.trust(materials);
        relay
            .take_appointment(&body, sessions, &trust, unix_now())
            .map_err(|fault| not_appointed(fault.to_string()))
    }

    /// Spends the permit on the handshake for the agent, and reads the answer.
    async fn passed_on(&self, permit: Permit, anew: Option<&Bytes>) -> Result<Returned, Stopped> {
        let worker = self.worker;
        let ready = self.ready(permit).await?;
        let facts = reply_facts(ready.permit.facts());
        let (mut buffer, call) = ([0; 26], Call::l8());
        let head = UpstreamHead {
            identity: self.identity,
            l9_context: None,
            extension: None,
            call: &call,
            target: None,
            typed: None,
            credentials: &[],
            waits: Duration::ZERO,
            events: false,
            decision: self.decision.text(&mut buffer),
            trace: &self.trace,
            resealed: Some(Resealed { address: &worker.handshakes.agent, body: anew }),
        };
        let whole = self.attended(|| facts.clone(), async {
            let begun = forward::forward(ready, worker, &head, self.shown()).await?;
            forward::whole(begun, worker, &self.charge).await
        });
        whole.await.map_err(|refusal| stopped_reply(refusal, facts.clone()))
    }

    /// Records the answer with its choice, and returns it.
    fn replied(&self, reply: Facts, answered: HandshakeReply) -> Result<Answer, Stopped> {
        let facts = Facts { context: Some(answered.urn.to_string()), digest: Some(answered.digest), ..reply };
        if self.record(Outcome::Allowed, facts.clone()).is_err() {
            return Err(stopped_reply(no_audit(Delivered::Yes), facts));
        }
        self.worker.metrics.allowed(Direction::Reply, self.began.elapsed().as_secs_f64());
        Ok(refuse::answer(self.decision, 200, "application/json", Bytes::from(answered.body)))
    }
}

/// Returns the agent's refusal, if it has a code for handshakes. Every other status is judged as in any reply.
fn refused_behind(status: StatusCode, body: &[u8]) -> Option<Refusal> {
    if !(400..600).contains(&status.as_u16()) {
        return None;
    }
    let json = json::read(body, &json::Limits::default()).ok()?;
    let code = json.as_object()?.get("code")?.as_str()?;
    let code = SAID.into_iter().find(|known| known.as_str() == code)?;
    let hint = match code {
        // the gateway compared the parties before it relayed the handshake
        Code::SenderMismatch | Code::ReceiverMismatch => {
            "ask the operator: the upstream agent may not trust your certificates, or may not know the gateway"
        }
        _ => handshake_hint(code),
    };
    let refusal = Refusal::new(code, "the upstream agent refused the handshake");
    Some(refusal.with_hint(hint).with_delivered(Delivered::Yes))
}

fn not_appointed(why: String) -> Refusal {
    Refusal::new(Code::UpstreamInvalid, "the upstream agent appoints no gateway")
        .with_hint("nothing was delivered: send an open HELLO, or try again later")
        .with_detail(why)
}

#[cfg(test)]
#[path = "handshake_relay_tests.rs"]
mod tests;
