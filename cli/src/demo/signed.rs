//! Signed messages of IAC over QUIC (IAC: Inter-Agent Communication): one that passes, one that no policy permits, and one that
//! is sent twice.

use std::net::SocketAddr;

use semgate_gateway::IacConnection;
use semgate_protocol::iac::{Draft, Frame, MessageType};
use serde_json::{Value, json};

use super::scenes::{SUPPLY, SceneFuture};
use super::stage::DemoStage;
use super::{Expected, SceneResult};
use crate::fault::{Doing, Fault};
use crate::say::SendOutcome;
use crate::signing_key::{SigningKey, message_number};
use crate::system::now;
use crate::up::SAMPLE_AGENT;

/// Each message on a connection of its own.
pub fn messages(stage: &DemoStage) -> SceneFuture<'_> {
    Box::pin(async move {
        let decision = json!({"concept_type": "current_decision", "item_id": "beer", "quantity": 120});
        let contingency = json!({
            "concept_type": "decision_contingency", "if_condition_text": "demand increases by 10%",
            "then_change_text": "increase order by 15 units",
        });
        let (retailer, webapp) =
            (SignedCaller::of(stage, "retailer-7")?, SignedCaller::of(stage, "public-webapp-3")?);
        let allowed = retailer.command(&decision);
        let denied = webapp.command(&contingency);
        Ok(vec![
            stage
                .scene(
                    "a signed message passes over QUIC (F4-09)",
                    Expected::Allowed,
                    retailer.send(&allowed),
                )
                .await?,
            stage
                .scene(
                    "a signed message that no policy permits (F4-08)",
                    Expected::Refused("policy_denied"),
                    webapp.send(&denied),
                )
                .await?,
            twice(stage, &retailer, &allowed).await?,
        ])
    })
}

/// F4-13: the bytes of a permitted message, sent again on another connection.
async fn twice(stage: &DemoStage, caller: &SignedCaller, message: &[u8]) -> Result<SceneResult, Fault> {
    let scene = "the bytes of a signed message come twice (F4-13)";
    stage.scene(scene, Expected::Refused("replayed"), caller.send(message)).await
}

/// An agent with its key.
struct SignedCaller {
    name: &'static str,
    key: SigningKey,
    gateway: SocketAddr,
}

impl SignedCaller {
    fn of(stage: &DemoStage, name: &'static str) -> Result<Self, Fault> {
        let key = SigningKey::read(&stage.up_dir.path(std::path::Path::new("")), name)?;
        let url = stage.up_dir.route("iac")?;
        let gateway = url.trim_start_matches("quic://").parse().doing("address of the route `iac`")?;
        Ok(Self { name, key, gateway })
    }

    /// A signed command with this content.
    fn command(&self, content: &Value) -> Vec<u8> {
        let mut payload = content.clone();
        if let Some(members) = payload.as_object_mut() {
            members.insert("l9".to_owned(), json!({"context": SUPPLY, "performative": "INFORM"}));
        }
        self.key.sign(Draft {
            from: self.name.to_owned(),
            to: SAMPLE_AGENT.to_owned(),
            kind: MessageType::Command,
            payload: payload.to_string(),
            timestamp: now(),
            msg_id: message_number(),
            session_id: 0,
            extra: Vec::new(),
        })
    }

    /// Sends a message and waits for its answer: the agent's, or a problem document of the gateway.
    async fn send(&self, message: &[u8]) -> Result<SendOutcome, Fault> {
        let fault =
            |why: &dyn std::fmt::Display| Fault::new(format_args!("the route `iac` does not answer: {why}"));
        let mut connection = IacConnection::connect(self.gateway).await.map_err(|why| fault(&why))?;
        if !connection.send(message).await {
            return Err(fault(&"the connection ended"));
        }
        let answer = connection.receive().await.ok_or_else(|| fault(&"no message came"))?;
        connection.close().await;
        let frame = Frame::read(answer).doing("answer")?;
        let payload: Value = serde_json::from_str(frame.payload()).doing("payload of the answer")?;
        if frame.from() != SAMPLE_AGENT {
            return Ok(SendOutcome::refused(&payload));
        }
        Ok(SendOutcome { verdict: "ALLOWED", reply: Some(payload), ..SendOutcome::default() })
    }
}
