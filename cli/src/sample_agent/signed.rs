//! Signed messages of IAC: the sample agent restates them.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use semgate_gateway::{IacConnection, IacListener};
use semgate_protocol::iac::{Draft, Frame, MessageType};
use serde_json::{Map, Value, json};

use super::Agent;
use super::answer::{Answer, answer};
use crate::fault::{Doing, Fault};
use crate::signing_key::{SigningKey, message_number};
use crate::system::now;
use crate::up::SAMPLE_AGENT;

/// The member of a payload that holds the claim.
const CLAIM: &str = "l9";

/// The side of the sample agent that speaks IAC.
pub struct SignedAgent {
    listener: IacListener,
    key: SigningKey,
}

impl SignedAgent {
    /// Listens at an address of UDP.
    ///
    /// # Errors
    /// The address is taken.
    pub fn bind(address: SocketAddr, key: SigningKey) -> Result<Self, Fault> {
        Ok(Self { listener: IacListener::bind(address).doing("sample agent")?, key })
    }

    /// Serves connections until it is dropped.
    pub async fn serve(self, agent: Arc<Agent>) {
        let key = Rc::new(self.key);
        while let Some(connection) = self.listener.accept().await {
            let (key, agent) = (Rc::clone(&key), Arc::clone(&agent));
            tokio::task::spawn_local(async move { converse(connection, &key, &agent).await });
        }
    }
}

/// Answers every message of a connection. The gateway has verified their signatures.
async fn converse(mut connection: IacConnection, key: &SigningKey, agent: &Agent) {
    while let Some(message) = connection.receive().await {
        agent.count();
        let Ok(frame) = Frame::read(message) else { continue };
        let draft = Draft {
            from: SAMPLE_AGENT.to_owned(),
            to: frame.from().to_owned(),
            kind: MessageType::Reply,
            payload: restated(frame.payload()).to_string(),
            timestamp: now(),
            msg_id: message_number(),
            session_id: frame.session_id(),
            extra: Vec::new(),
        };
        if !connection.send(&key.sign(draft)).await {
            return;
        }
    }
}

/// The payload of the answer, under the context of the message.
fn restated(payload: &str) -> Value {
    let mut content: Map<String, Value> = serde_json::from_str(payload).unwrap_or_default();
    let claim = content.remove(CLAIM).unwrap_or_default();
    let urn = claim.get("context").and_then(Value::as_str).unwrap_or_default();
    match answer(urn, &Value::Object(content)) {
        Answer::Says(performative, content) => {
            let mut payload = content.as_object().cloned().unwrap_or_default();
            payload.insert(CLAIM.to_owned(), json!({"context": urn, "performative": performative}));
            Value::Object(payload)
        }
        Answer::Has => json!({CLAIM: {"context": urn}}),
    }
}
