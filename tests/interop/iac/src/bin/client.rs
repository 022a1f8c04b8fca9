//! The client of iac-rs, unmodified: `client ADDRESS SEED`.
//!
//! Each line of standard input is a message to send: `{from, to, type, payload, timestamp?, msg_id?, session_id?, extra?}`. Two lines are
//! printed for each, the error of `send` and the bytes that were signed, and one for each message that came.

use std::sync::Arc;

use iac_rs::prelude::{Client, Message, MessageType, Result};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let signer = interop_iac::signer(&words[1])?;
    let client = Arc::new(Client::connect(&words[0], signer.clone()).await?);
    println!("{}", json!({"connected": words[0]}));
    let receiver = Arc::clone(&client);
    tokio::spawn(async move {
        loop {
            let line = match receiver.receive().await {
                Ok(Some(message)) => json!({"received": interop_iac::shown(&message)}),
                Ok(None) => return println!("{}", json!({"closed": true})),
                Err(error) => json!({"error": error.to_string()}),
            };
            println!("{line}");
        }
    });
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let asked: Value = serde_json::from_str(&line)?;
        let text = |member: &str| asked[member].as_str().unwrap_or_default();
        let kind = MessageType::from_i32(i32::try_from(asked["type"].as_i64().unwrap_or_default())?);
        let mut message = Message::new(text("from"), text("to"), kind, text("payload"));
        message.timestamp = asked["timestamp"].as_u64().unwrap_or(message.timestamp);
        message.msg_id = asked["msg_id"].as_u64().unwrap_or(message.msg_id);
        message.session_id = asked["session_id"].as_u64().unwrap_or_default();
        message.extra_data = hex::decode(text("extra"))?;
        message.sign(&signer)?;
        let bytes = hex::encode(message.serialize()?);
        let sent = client.send(message).await;
        println!("{}", json!({"unsent": sent.err().map(|error| error.to_string())}));
        println!("{}", json!({"sent": bytes}));
    }
    Ok(())
}
