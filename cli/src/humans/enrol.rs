//! `semgate humans enrol`: a one-time link for a person.

use std::path::PathBuf;

use clap::Args;
use semgate_gateway::Config;
use serde_json::Value;

use super::person;
use crate::client::Client;
use crate::fault::{Doing, Fault};

/// Ask the running gateway for a one-time link by which a person binds a certificate or an address
#[derive(Debug, Args)]
pub struct Enrol {
    /// The person, such as `bob.sre`
    name: String,
    /// The gateway's configuration
    #[arg(long, value_name = "FILE", default_value = "firewall.toml")]
    config: PathBuf,
    /// The gateway's address for people, if the configuration does not tell it
    #[arg(long, value_name = "URL")]
    gateway: Option<String>,
    /// PEM roots of the gateway
    #[arg(long, value_name = "FILE")]
    roots: PathBuf,
    /// PEM chain of an operator's certificate, leaf first; `approvals.operators` names its id
    #[arg(long, value_name = "FILE")]
    cert: PathBuf,
    /// PEM key of that certificate
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

impl Enrol {
    /// Prints the link.
    ///
    /// # Errors
    /// The configuration has no `[approvals]`, no answer, or the gateway's refusal.
    pub(super) async fn run(self, json: bool) -> Result<u8, Fault> {
        let id = person(&self.name)?;
        let base = match &self.gateway {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => self.configured()?,
        };
        let client = Client::new(&self.roots, Some((&self.cert, &self.key)))?;
        let url = format!("{base}/v1/humans/{}/enrol", id.name());
        let reply = client.post(&url, "application/json", b"{}".to_vec()).await?;
        let body: Value = serde_json::from_slice(&reply.body).doing("the gateway's answer")?;
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        if reply.status != 200 {
            return Err(Fault::new(format_args!("{}: {}", text("code"), text("detail"))));
        }
        if json {
            out!("{body}");
            return Ok(0);
        }
        tell!("give this link to {id} alone; it counts once, for a day");
        out!("{base}{}", text("path"));
        Ok(0)
    }

    /// The address of the configuration.
    fn configured(&self) -> Result<String, Fault> {
        let config = Config::load(&self.config).doing(self.config.display())?;
        let approvals = config.approvals.as_ref().ok_or_else(|| {
            Fault::new("the configuration has no `[approvals]`").hint("docs/reference/config.md describes it")
        })?;
        Ok(approvals.base())
    }
}
