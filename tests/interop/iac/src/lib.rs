//! Shared by the programs of this package: keys from their seeds, and messages of iac-rs as JSON.

use ed25519_compact::Seed;
use iac_rs::prelude::{KeyPair, Message, Result, Signer};
use serde_json::{Value, json};

/// The signer of a seed in hexadecimal.
pub fn signer(seed: &str) -> Result<Signer> {
    Ok(Signer::new(KeyPair::from_seed(Seed::from_slice(&hex::decode(seed)?)?)))
}

/// A message as the users of the crate see it.
pub fn shown(message: &Message) -> Value {
    json!({
        "from": message.from, "to": message.to, "type": message.msg_type.as_i32(), "payload": message.payload_json,
        "timestamp": message.timestamp, "msg_id": message.msg_id, "session_id": message.session_id,
        "signature": hex::encode(&message.signature), "extra": hex::encode(&message.extra_data),
    })
}
