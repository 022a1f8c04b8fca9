//! An LDP delegate behind the gateway (LDP: An Identity-Aware Protocol for Multi-Agent LLM Systems): a task in a session, a task that no
//! policy permits, and a task that is sent twice.

use serde_json::{Value, json};

use super::scenes::SceneFuture;
use super::stage::DemoStage;
use super::{Expected, SceneResult};
use crate::call::ldp::{Delegate, of_envelope};
use crate::fault::Fault;
use crate::say::SendOutcome;

const TRAVEL: &str = "urn:contexts:travel:v2.2";
const PAYMENT: &str = "urn:contexts:payment:v1.1";
const ROUTER: &str = "retailer-7";

fn flight() -> Value {
    json!({"origin_code": "LAX", "dest_code": "JFK", "date": "2026-12-24"})
}

/// A session each, and what the gateway makes of the tasks in it.
pub fn tasks(stage: &DemoStage) -> SceneFuture<'_> {
    Box::pin(async move {
        let url = stage.up_dir.route("ldp")?.trim_end_matches('/').to_owned();
        let from = stage.up_dir.agent(ROUTER)?.id.clone();
        let delegate = Delegate { client: stage.client(ROUTER)?, url: &url, from: &from };
        let large =
            json!({"sender_id": "acct-1", "receiver_id": "acct-2", "amount": 12000, "currency": "USD"});
        Ok(vec![
            stage
                .scene(
                    "a delegate books a flight in a session (F3-09)",
                    Expected::Allowed,
                    delegate.task(TRAVEL, "bookFlight", flight()),
                )
                .await?,
            stage
                .scene(
                    "a delegate is asked for a transfer that no policy permits (F3-16)",
                    Expected::Refused("policy_denied"),
                    delegate.task(PAYMENT, "transfer", large),
                )
                .await?,
            twice(stage, &delegate).await?,
        ])
    })
}

/// F3-14: the bytes of a permitted task, sent again.
async fn twice(stage: &DemoStage, delegate: &Delegate<'_>) -> Result<SceneResult, Fault> {
    const SCENE: &str = "the bytes of a task come twice (F3-14)";
    let session = match delegate.open(TRAVEL).await? {
        Ok(session) => session,
        Err(outcome) => return Ok(failed(SCENE, outcome)),
    };
    let envelope = delegate.submission(&session, "bookFlight", flight());
    let first = of_envelope(&delegate.post(&envelope).await?);
    if first.verdict != "ALLOWED" {
        return Ok(failed(SCENE, first));
    }
    let again = async { Ok(of_envelope(&delegate.post(&envelope).await?)) };
    stage.scene(SCENE, Expected::Refused("replayed"), again).await
}

fn failed(scene: &'static str, outcome: SendOutcome) -> SceneResult {
    let right = super::SceneVerdict::No("the first message was refused".to_owned());
    SceneResult { scene, outcome, measured: None, right }
}
