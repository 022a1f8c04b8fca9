//! LDP: a session with a delegate, and one task in it.

use http::Method;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::client::{Client, Reply};
use crate::fault::Fault;
use crate::say::{SendOutcome, message_id};

/// The payload mode of a session that carries concepts.
const MODE: &str = "semantic_frame";

/// A delegate behind a route, and the one who speaks to it.
pub struct Delegate<'a> {
    /// A client with the speaker's certificate.
    pub client: &'a Client,
    /// The route's address.
    pub url: &'a str,
    /// The sender: its SPIFFE id, alias or name in LDP.
    pub from: &'a str,
}

/// An agreed session.
pub struct DelegateSession {
    id: String,
    /// The delegate's name, from its card.
    delegate: String,
}

impl Delegate<'_> {
    /// Opens a session under a context, and sends one task in it.
    ///
    /// # Errors
    /// No answer.
    pub async fn task(&self, urn: &str, skill: &str, input: Value) -> Result<SendOutcome, Fault> {
        match self.open(urn).await? {
            Ok(session) => Ok(of_envelope(&self.post(&self.submission(&session, skill, input)).await?)),
            Err(refused) => Ok(refused),
        }
    }

    /// Opens a session whose tasks are judged under this context.
    ///
    /// # Errors
    /// No answer. A refusal is the inner error.
    pub async fn open(&self, urn: &str) -> Result<Result<DelegateSession, SendOutcome>, Fault> {
        let card = self.client.get(&format!("{}/ldp/identity", self.url)).await?;
        let shown = SendOutcome::read(&card);
        let name = shown.reply.as_ref().and_then(|card| card.get("delegate_id")).and_then(Value::as_str);
        let Some(delegate) = name.map(str::to_owned) else { return Ok(Err(shown)) };
        let config = json!({
            "preferred_payload_modes": [MODE],
            "ttl_secs": 600,
            "trust_domain": "default",
            "l9_context": {"context": urn},
        });
        let proposal = json!({"type": "SESSION_PROPOSE", "config": config});
        let propose = self.envelope(&message_id(), self.url, proposal);
        let reply = self.post(&propose).await?;
        let outcome = of_envelope(&reply);
        let accepted = body(&reply);
        let opened = accepted.get("session_id").and_then(Value::as_str);
        Ok(match opened.filter(|_| outcome.verdict == "ALLOWED") {
            Some(id) => Ok(DelegateSession { id: id.to_owned(), delegate }),
            None => Err(outcome),
        })
    }

    /// The envelope of a task.
    pub fn submission(&self, session: &DelegateSession, skill: &str, input: Value) -> Value {
        let body = json!({"type": "TASK_SUBMIT", "task_id": message_id(), "skill": skill, "input": input});
        self.envelope(&session.id, &session.delegate, body)
    }

    /// Sends an envelope.
    ///
    /// # Errors
    /// No answer.
    pub async fn post(&self, envelope: &Value) -> Result<Reply, Fault> {
        let url = format!("{}/ldp/messages", self.url);
        let headers = [("content-type", "application/json")];
        self.client.send(Method::POST, &url, &headers, envelope.to_string().into()).await
    }

    fn envelope(&self, session: &str, to: &str, body: Value) -> Value {
        json!({
            "message_id": message_id(),
            "session_id": session,
            "from": self.from,
            "to": to,
            "body": body,
            "payload_mode": MODE,
            "timestamp": Timestamp::now().to_string(),
        })
    }
}

/// The body of an envelope; empty without one.
fn body(reply: &Reply) -> Map<String, Value> {
    let envelope: Option<Value> = serde_json::from_slice(&reply.body).ok();
    envelope
        .and_then(|mut envelope| envelope.get_mut("body")?.as_object_mut().map(std::mem::take))
        .unwrap_or_default()
}

/// Reads an answer. A refusal is an error of the protocol whose partial output is the gateway's problem document.
pub fn of_envelope(reply: &Reply) -> SendOutcome {
    let outer = SendOutcome::read(reply);
    let body = body(reply);
    let problem = body.get("error").and_then(|error| error.get("partial_output"));
    match problem.filter(|problem| problem.get("decision_id").is_some()) {
        Some(problem) => SendOutcome { status: reply.status, ..SendOutcome::refused(problem) },
        None => outer,
    }
}

#[cfg(test)]
mod tests;
