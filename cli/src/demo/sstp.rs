//! SSTP L9 in data parts of A2A: an exchange, one that policy refuses, and one in the name of another agent.

use serde_json::{Value, json};

use super::scenes::{SUPPLY, SceneFuture};
use super::stage::DemoStage;
use super::{Expected, SceneResult};
use crate::client::Client;
use crate::fault::Fault;
use crate::say::SendOutcome;

const AGENT: &str = "retailer-7";

/// An exchange of beliefs about a reorder, under the context of the supply chain.
pub fn exchange(stage: &DemoStage) -> SceneFuture<'_> {
    Box::pin(async move {
        let confidential =
            json!({"sensitivity": "confidential", "propagation": "forward", "retention_policy": "30d"});
        Ok(vec![
            scene(stage, "agents exchange beliefs over SSTP L9", Expected::Allowed, l9(AGENT, &Value::Null))
                .await?,
            scene(
                stage,
                "confidential beliefs to be passed on, which policy forbids",
                Expected::Refused("policy_denied"),
                l9(AGENT, &confidential),
            )
            .await?,
            scene(
                stage,
                "beliefs in the name of another agent",
                Expected::Refused("sender_mismatch"),
                l9("treasurer-1", &Value::Null),
            )
            .await?,
        ])
    })
}

fn l9(sender: &str, policy: &Value) -> Value {
    json!({
        "header": {
            "protocol": "SSTP", "subprotocol": "SIEP", "version": "0.0.6", "kind": "exchange", "subkind": null,
            "participants": {"groups": {}, "actors": [
                {"id": sender, "role": "sender", "attestation": null},
                {"id": "wholesaler-1", "role": "recipient", "attestation": null},
            ]},
            "message": {"id": "l9-1", "parents": [], "episode": "reorder"},
            "policy": policy,
            "context": {"topic": "reorder", "semantic": {"schema_id": SUPPLY, "ontology_ref": ""}},
        },
        "payload": {"type": "json", "data": {
            "utterance": {"evidence": ["urn:concept:supply:beer"], "turn_depth": 1},
            "belief": {"prior": 0.5, "posterior": 0.75, "revision_cause": null},
        }},
    })
}

async fn scene(
    stage: &DemoStage,
    name: &'static str,
    expected: Expected,
    l9: Value,
) -> Result<SceneResult, Fault> {
    stage.scene(name, expected, send(stage.client(AGENT)?, stage.up_dir.route("a2a")?, l9)).await
}

/// Sends an object as the one data part of a message.
async fn send(client: &Client, url: &str, l9: Value) -> Result<SendOutcome, Fault> {
    let part = json!({"data": l9, "mediaType": "application/vnd.sstp.l9+json"});
    let message = json!({"messageId": crate::say::message_id(), "role": "ROLE_USER", "parts": [part]});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
    let reply = client.send(http::Method::POST, url, &headers, call.to_string().into()).await?;
    Ok(crate::call::outcome::of_answer(&reply))
}
