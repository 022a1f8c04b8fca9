//! Tests of `transport`.

use rmcp::model::{JsonRpcMessage, NumberOrString};
use serde_json::Value;
use tokio::io::{AsyncReadExt, duplex};

use super::*;

#[tokio::test]
async fn attack_a_line_of_twenty_megabytes_is_answered_and_the_next_one_is_read() {
    let (client, server) = duplex(1 << 16);
    let (input, output) = tokio::io::split(server);
    let mut transport = StrictTransport::new(input, output);
    let (mut answers, mut requests) = tokio::io::split(client);
    let writing = tokio::spawn(async move {
        requests
            .write_all(br#"{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"x":""#)
            .await
            .unwrap();
        for _ in 0..20 {
            requests.write_all(&vec![b'y'; 1_000_000]).await.unwrap();
        }
        requests
            .write_all(b"\"}}\nnot json\n{\"jsonrpc\":\"2.0\",\"id\":14,\"method\":\"ping\"}")
            .await
            .unwrap();
        requests.shutdown().await.unwrap();
        requests
    });
    let Some(JsonRpcMessage::Request(ping)) = transport.receive().await else { panic!("no ping") };
    assert_eq!(ping.id, NumberOrString::Number(14));
    assert!(transport.receive().await.is_none(), "the stream has ended");
    drop((writing.await.unwrap(), transport));
    let mut all = String::new();
    answers.read_to_string(&mut all).await.unwrap();
    let all: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<_> =
        all.iter().map(|one| (one["id"].as_i64(), one["error"]["code"].as_i64().unwrap())).collect();
    assert_eq!(codes, [(Some(13), -32_600), (None, -32_700)]);
}
