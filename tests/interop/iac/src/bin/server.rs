//! The server of iac-rs, unmodified: `server ADDRESS SEED NAME KEY…`, which trusts these keys.
//!
//! Prints each message that it handles, and answers it with a Reply of the same payload, a chunk of a file with an
//! empty one. It ends with what ends the crate's server.

use std::sync::{Arc, OnceLock};

use iac_rs::prelude::{Message, MessageType, PublicKey, Result, Server, Verifier};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let signer = interop_iac::signer(&words[1])?;
    let keys = words[3..].iter().map(|key| Ok(PublicKey::from_slice(&hex::decode(key)?)?));
    let verifier = Verifier::new(keys.collect::<Result<_>>()?);
    let mut server = Server::bind(&words[0]).await?;
    let name = words[2].clone();
    // the handler answers through the server that it belongs to
    let own: Arc<OnceLock<Server>> = Arc::default();
    let answering = Arc::clone(&own);
    server.set_handler(move |(message, remote): (Message, String)| {
        let (server, signer, name) = (Arc::clone(&answering), signer.clone(), name.clone());
        async move {
            println!("{}", json!({"handled": interop_iac::shown(&message), "remote": remote}));
            let payload =
                if message.msg_type == MessageType::FileTransfer { "" } else { &message.payload_json };
            let reply = Message::reply(&name, &message.from, payload, message.session_id);
            match server.get() {
                Some(server) => server.send(&remote, reply, &signer).await,
                None => Ok(()),
            }
        }
    });
    let _ = own.set(server.clone());
    println!("{}", json!({"serves": words[0]}));
    if let Err(error) = server.run(verifier).await {
        println!("{}", json!({"ended": error.to_string()}));
    }
    Ok(())
}
