//! A message that a gateway writes in the place of an agent, in the form of an answer to the request. It is judged like any
//! other message: its origin here gives it no privilege.

use crate::{Asked, Form, a2a::Version};
use semgate_contexts::Performative;
use serde_json::{Map, Value, json};

/// The content of the message.
#[derive(Clone, Debug)]
pub struct GatewayAnswer<'o> {
    /// An identifier.
    pub message_id: &'o str,
    /// The speech act; one that the binding lets answers carry.
    pub performative: Performative,
    /// The agent that it stands in for. A2A leaves that to the connection.
    pub sender_id: &'o str,
    /// The receiver. A2A leaves that to the connection.
    pub receiver_id: &'o str,
    /// The URN of the context.
    pub context: &'o str,
    /// A2A's conversation, where the request names one.
    pub conversation: Option<&'o str>,
    /// Concept objects, each with its type named in it. With more than one, each has a key of its own in native L8.
    pub concepts: Vec<(Option<&'o str>, Value)>,
}

impl GatewayAnswer<'_> {
    /// As native L8.
    pub(crate) fn native(&self) -> Vec<u8> {
        let content = match self.concepts.as_slice() {
            [(None, only)] => only.clone(),
            all => {
                let entries = all.iter().enumerate();
                let named = |(n, (key, concept)): (usize, &(Option<&str>, Value))| {
                    (key.map_or_else(|| n.to_string(), str::to_owned), concept.clone())
                };
                Value::Object(entries.map(named).collect())
            }
        };
        let message = json!({
            "protocol": "L8/1.0",
            "message_id": self.message_id,
            "performative": self.performative.as_str(),
            "sender_id": self.sender_id,
            "receiver_id": self.receiver_id,
            "context": self.context,
            "content": content,
        });
        message.to_string().into_bytes()
    }

    /// As the answer to an A2A request that sends a message, or as the one event of its stream. Over gRPC it is the JSON that
    /// is judged. `extension` is the URI of the claim's extension.
    pub(crate) fn a2a(&self, asked: &Asked, extension: &str) -> Vec<u8> {
        let old = asked.version == Version::V03;
        let part = |(_, concept): &(Option<&str>, Value)| match old {
            true => json!({"kind": "data", "data": concept}),
            false => json!({"data": concept, "mediaType": "application/json"}),
        };
        let claim = json!({"context": self.context, "performative": self.performative.as_str()});
        let mut message = Map::new();
        let mut put = |name: &str, value: Value| drop(message.insert(name.to_owned(), value));
        put("messageId", self.message_id.into());
        put("role", if old { "agent" } else { "ROLE_AGENT" }.into());
        put("parts", self.concepts.iter().map(part).collect());
        put("metadata", json!({ extension: claim }));
        put("extensions", json!([extension]));
        if let Some(conversation) = self.conversation {
            put("contextId", conversation.into());
        }
        if old {
            put("kind", "message".into());
        }
        let result = if old { Value::Object(message) } else { json!({ "message": message }) };
        match (&asked.rpc_id, asked.form) {
            // the id stays as it came: no writer of ours changes an integer past 2^53
            (Some(id), Form::JsonRpc | Form::Native) => {
                format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.to_json()).into_bytes()
            }
            _ => result.to_string().into_bytes(),
        }
    }
}
