//! Round trips of the client of iac-rs, unmodified: `timed SEED FROM TO PAYLOAD ROUNDS ADDRESS…`.
//!
//! Sends a Command to each address in turn and waits for the Reply. Prints the microseconds of each round trip, a list for each address. The
//! first tenth of them warm up and are not printed.

use std::time::Instant;

use iac_rs::prelude::{Client, Message, MessageType, Result};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, payload] = [&words[1], &words[2], &words[3]];
    let rounds: usize = words[4].parse()?;
    let mut clients = Vec::new();
    for address in &words[5..] {
        clients.push((Client::connect(address, interop_iac::signer(&words[0])?).await?, Vec::new()));
    }
    // one after the other, so that what else the machine does falls on both
    for round in 0..rounds + rounds / 10 {
        for (client, took) in &mut clients {
            let message = Message::new(from, to, MessageType::Command, payload);
            let began = Instant::now();
            client.send(message).await?;
            let reply = client.receive().await?;
            let micros = began.elapsed().as_secs_f64() * 1e6;
            assert!(reply.is_some_and(|reply| &reply.payload_json == payload), "another reply");
            if round >= rounds / 10 {
                took.push(micros);
            }
        }
    }
    println!("{}", serde_json::json!(clients.iter().map(|(_, took)| took).collect::<Vec<_>>()));
    Ok(())
}
