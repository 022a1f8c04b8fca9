//! The stage of the scenes: the running parts, and one client for each agent.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Expected, SceneResult, SceneVerdict};
use crate::client::Client;
use crate::fault::{Doing, Fault};
use crate::say::{Line, SendOutcome};
use crate::up_directory::UpDirectory;

/// A running `up` with a client for each agent.
pub struct DemoStage {
    /// The place of the running `up`.
    pub up_dir: UpDirectory,
    clients: BTreeMap<String, Client>,
}

impl DemoStage {
    /// Opens a client for each agent of `up.json`.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn open(up_dir: UpDirectory) -> Result<Self, Fault> {
        let mut clients = BTreeMap::new();
        for name in up_dir.up().agents.keys() {
            clients.insert(name.clone(), Client::of_agent(&up_dir, name)?);
        }
        Ok(Self { up_dir, clients })
    }

    /// The client of an agent.
    ///
    /// # Errors
    /// There is no such agent.
    pub fn client(&self, name: &str) -> Result<&Client, Fault> {
        self.clients.get(name).ok_or_else(|| Fault::new(format_args!("no agent `{name}`")))
    }

    /// One message of `agent` with this content, as text.
    ///
    /// # Errors
    /// No answer.
    pub async fn say(
        &self,
        agent: &str,
        performative: &str,
        urn: &str,
        content: &str,
    ) -> Result<SendOutcome, Fault> {
        self.say_with_digest(agent, performative, urn, None, content).await
    }

    /// Does the same, and names the context by a digest too.
    ///
    /// # Errors
    /// No answer.
    pub async fn say_with_digest(
        &self,
        agent: &str,
        performative: &str,
        urn: &str,
        digest: Option<&str>,
        content: &str,
    ) -> Result<SendOutcome, Fault> {
        let sender = &self.up_dir.agent(agent)?.id;
        let receiver = &self.up_dir.sample_agent()?.id;
        let body = Line { performative, sender, receiver, urn, digest }.raw(content)?;
        let url = self.up_dir.route("l8")?;
        let reply = self.client(agent)?.post(url, "application/json", body.into_bytes()).await?;
        Ok(SendOutcome::read(&reply))
    }

    /// Number of messages that reached the upstream agent.
    ///
    /// # Errors
    /// No answer.
    pub async fn received(&self) -> Result<u64, Fault> {
        let url = format!("{}/received", self.up_dir.sample_agent()?.url);
        let reply = self.client("operator")?.get(&url).await?;
        let value: Value = serde_json::from_slice(&reply.body).doing("sample agent")?;
        value
            .get("received")
            .and_then(Value::as_u64)
            .ok_or_else(|| Fault::new("the sample agent returned no count"))
    }

    /// Plays one message as a scene: compares verdict and code with `expected`, and counts deliveries to the agent.
    ///
    /// # Errors
    /// No answer.
    pub async fn scene(
        &self,
        scene: &'static str,
        expected: Expected,
        message: impl Future<Output = Result<SendOutcome, Fault>>,
    ) -> Result<SceneResult, Fault> {
        let before = self.received().await?;
        let outcome = message.await?;
        let arrived = self.received().await? - before;
        let right = judge(&outcome, expected, arrived);
        Ok(SceneResult { scene, outcome, measured: None, right })
    }
}

/// Compares an outcome with the expected one; a refused message must not be delivered.
pub fn judge(outcome: &SendOutcome, expected: Expected, arrived: u64) -> SceneVerdict {
    let as_expected = match expected {
        Expected::Allowed => outcome.verdict == "ALLOWED" && arrived == 1,
        Expected::Refused(code) => outcome.code.as_deref() == Some(code) && arrived == 0,
    };
    if as_expected {
        return SceneVerdict::Yes;
    }
    let expected = match expected {
        Expected::Allowed => "ALLOWED, delivered once".to_owned(),
        Expected::Refused(code) => format!("REFUSED {code}, not delivered"),
    };
    SceneVerdict::No(format!("expected {expected}; {arrived} message(s) reached the agent"))
}
