//! A2A over JSON-RPC: one message, in 1.0 or 0.3.

use http::Method;
use semgate_contexts::Performative;
use serde_json::{Value, json};

use super::outcome;
use super::target::Target;
use crate::fault::Fault;
use crate::say::{SendOutcome, message_id};

/// The extension that carries the context of a message.
const EXTENSION: &str = "urn:contexts:snl:v1.0";

/// The content of a message.
pub enum Content<'a> {
    /// A text part.
    Text(&'a str),
    /// A data part under a context, with a speech act other than the default.
    Typed(String, Value, Option<Performative>),
}

/// Sends it, and waits for the agent's message or task.
///
/// # Errors
/// No answer.
pub async fn send(target: &Target, content: &Content<'_>) -> Result<SendOutcome, Fault> {
    let old = target.only_0_3;
    let (mut part, metadata) = match content {
        Content::Text(text) => (json!({"text": text}), None),
        Content::Typed(urn, data, performative) => {
            let mut claim = json!({"context": urn});
            if let (Some(named), Some(members)) = (performative, claim.as_object_mut()) {
                members.insert("performative".to_owned(), named.as_str().into());
            }
            (json!({"data": data}), Some(json!({EXTENSION: claim})))
        }
    };
    if let (true, Some(members)) = (old, part.as_object_mut()) {
        let kind = if members.contains_key("text") { "text" } else { "data" };
        members.insert("kind".to_owned(), kind.into());
    }
    let mut message = json!({"messageId": message_id(), "parts": [part]});
    if let Some(members) = message.as_object_mut() {
        members.insert("role".to_owned(), if old { "user" } else { "ROLE_USER" }.into());
        if old {
            members.insert("kind".to_owned(), "message".into());
        }
        if let Some(metadata) = metadata {
            members.insert("metadata".to_owned(), metadata);
        }
    }
    let (method, version) = if old { ("message/send", "0.3") } else { ("SendMessage", "1.0") };
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}});
    let headers = [("content-type", "application/json"), ("a2a-version", version)];
    let reply = target.client.send(Method::POST, &target.url, &headers, call.to_string().into()).await?;
    Ok(outcome::of_answer(&reply))
}
