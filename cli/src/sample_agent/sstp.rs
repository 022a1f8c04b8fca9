//! SSTP L9 at the sample agent: it restates an exchange of beliefs to its sender.

use serde_json::{Value, json};

/// The media type of a data part that holds an L9 object.
pub const MEDIA_TYPE: &str = "application/vnd.sstp.l9+json";

/// The answer to an object of SIEP, under this message id: the same beliefs, with sender and recipient exchanged. None for other
/// content, and for objects that name no recipient.
pub fn answer(content: &Value, id: &str) -> Option<Value> {
    let header = content.get("header")?;
    let text = |name: &str| header.get(name).and_then(Value::as_str);
    if text("subprotocol") != Some("SIEP") {
        return None;
    }
    let actors = header.pointer("/participants/actors")?.as_array()?;
    let name = |role: &str| {
        let of_role = |actor: &&Value| actor.get("role").and_then(Value::as_str) == Some(role);
        actors.iter().find(of_role)?.get("id")
    };
    let (asker, own) = (name("sender")?, name("recipient")?);
    let episode = header.pointer("/message/episode").cloned().unwrap_or_else(|| id.into());
    let parents: Vec<&Value> = header.pointer("/message/id").into_iter().collect();
    Some(json!({
        "header": {
            "protocol": "SSTP", "subprotocol": "SIEP", "version": text("version")?, "kind": "exchange", "subkind": null,
            "participants": {"groups": {}, "actors": [
                {"id": own, "role": "sender", "attestation": null},
                {"id": asker, "role": "recipient", "attestation": null},
            ]},
            "message": {"id": id, "parents": parents, "episode": episode},
            "context": header.get("context"),
        },
        "payload": content.get("payload"),
    }))
}
