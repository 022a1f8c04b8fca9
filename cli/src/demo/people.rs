//! The case study of "A2H: Agent-to-Human Protocol for AI Agent" (§4): a service leaks memory, and an agent asks before it restarts it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scenes::SceneFuture;
use super::stage::{DemoStage, judge};
use super::{Expected, SceneResult, SceneVerdict};
use crate::client::{Client, Reply};
use crate::fault::{Doing, Fault};
use crate::say::SendOutcome;

const AGENT: &str = "sre-bot-1";
const BOB: &str = "bob.sre";
const DEVOPS: &str = "urn:contexts:devops:v1.0";
const PRODUCTION: &str = "deployment.yaml (Production)";

/// Time for a person of the demo to see a request.
const PATIENCE: Duration = Duration::from_secs(20);

/// The agent finds Bob, asks which file is meant, and restarts the service once Bob has agreed. Another restart is denied.
pub fn case(stage: &DemoStage) -> SceneFuture<'_> {
    Box::pin(async move {
        let cast = Cast::open(stage)?;
        Ok(vec![
            cast.find().await?,
            cast.clarify().await?,
            cast.restart(
                "an approved restart runs once (F1-13)",
                "checkout-service",
                "approve",
                Expected::Allowed,
            )
            .await?,
            cast.restart(
                "a denied restart does not run (F1-25)",
                "payment-service",
                "deny",
                Expected::Refused("approval_denied"),
            )
            .await?,
        ])
    })
}

/// The agent and Bob.
struct Cast<'s> {
    stage: &'s DemoStage,
    agents: String,
    people: String,
    bob: Client,
}

impl<'s> Cast<'s> {
    fn open(stage: &'s DemoStage) -> Result<Self, Fault> {
        let up_dir = &stage.up_dir;
        let bob = up_dir.human(BOB)?;
        let (cert, key) = (up_dir.path(&bob.cert), up_dir.path(&bob.key));
        let bob = Client::new(&up_dir.path(&up_dir.up().roots), Some((&cert, &key)))?;
        let agents = up_dir.route("a2h")?.trim_end_matches('/').to_owned();
        Ok(Self { stage, agents, people: up_dir.people_url()?.to_owned(), bob })
    }

    /// F1-07: the agent looks for somebody who knows Kubernetes and is there.
    async fn find(&self) -> Result<SceneResult, Fault> {
        let url = format!("{}/a2h/v1/humans?capability=kubernetes&status=AVAILABLE", self.agents);
        let reply = self.stage.client(AGENT)?.get(&url).await?;
        let expected = json!([{"id": "human://bob.sre", "role": "Senior SRE", "status": "AVAILABLE"}]);
        answered("the agent finds Bob by what he knows (F1-07)", &reply, |answer| *answer == expected)
    }

    /// F1-14, F1-21: the paper's question, word for word.
    async fn clarify(&self) -> Result<SceneResult, Fault> {
        let question = json!({
            "target": "human://bob.sre",
            "type": "CLARIFICATION",
            "summary": "Ambiguous Configuration Target",
            "body": "I identified a memory limit issue. Multiple config files detected. Which one should I patch?",
            "options": [PRODUCTION, "deployment-canary.yaml (Canary)"],
        });
        let agent = self.stage.client(AGENT)?;
        let url = format!("{}/a2h/v1/interactions", self.agents);
        let opened = agent.post(&url, "application/json", question.to_string().into_bytes()).await?;
        let opened = value(&opened)?;
        let id = opened.get("interaction_id").and_then(Value::as_str).unwrap_or_default();
        self.decide("approve", Some(PRODUCTION)).await?;
        let reply = agent.get(&format!("{url}/{id}?wait=20")).await?;
        answered("Bob says which file is meant (F1-14)", &reply, |answer| {
            answer.get("selected_option").and_then(Value::as_str) == Some(PRODUCTION)
        })
    }

    /// A restart is held until Bob has decided. The same message again shows that an approval is used once.
    async fn restart(
        &self,
        scene: &'static str,
        service: &str,
        act: &str,
        expected: Expected,
    ) -> Result<SceneResult, Fault> {
        let content =
            json!({"task": "rolloutRestart", "service": service, "cluster": "production"}).to_string();
        let before = self.stage.received().await?;
        let held = self.stage.say(AGENT, "REQUEST", DEVOPS, &content);
        let (held, decided) = tokio::join!(held, self.decide(act, None));
        decided?;
        let outcome = held?;
        let arrived = self.stage.received().await? - before;
        let right = judge(&outcome, expected, arrived);
        Ok(SceneResult { scene, outcome, measured: None, right })
    }

    /// Bob looks at the one request that waits for him, and answers.
    async fn decide(&self, act: &str, option: Option<&str>) -> Result<(), Fault> {
        let hold = self.waiting().await?;
        let id = hold.get("id").and_then(Value::as_str).unwrap_or_default();
        let body =
            json!({"digest": hold.get("digest"), "selected_option": option, "reason": "I looked at it"});
        let url = format!("{}/v1/approvals/{id}/{act}", self.people);
        let reply = self.bob.post(&url, "application/json", body.to_string().into_bytes()).await?;
        match reply.status {
            200 => Ok(()),
            _ => Err(Fault::new(format_args!("Bob cannot answer: {}", String::from_utf8_lossy(&reply.body)))),
        }
    }

    async fn waiting(&self) -> Result<Value, Fault> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let listed = value(&self.bob.get(&format!("{}/v1/approvals?state=open", self.people)).await?)?;
            if let Some(hold) = listed.get("approvals").and_then(|all| all.get(0)) {
                return Ok(hold.clone());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(Fault::new("no request reached Bob"))
    }
}

fn value(reply: &Reply) -> Result<Value, Fault> {
    serde_json::from_slice(&reply.body).doing("the gateway's answer")
}

/// A scene that the gateway answers by itself.
fn answered(
    scene: &'static str,
    reply: &Reply,
    is_right: impl FnOnce(&Value) -> bool,
) -> Result<SceneResult, Fault> {
    let right = match is_right(&value(reply)?) {
        true => SceneVerdict::Yes,
        false => SceneVerdict::No("another answer than the paper's".to_owned()),
    };
    Ok(SceneResult { scene, outcome: SendOutcome::read(reply), measured: None, right })
}
