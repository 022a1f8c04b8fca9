//! The push lane of a route: the listener for its agent's push notifications, and the targets of their delivery.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ConfigFault, Listen};
use crate::upstream::egress::target::{Network, Rule};

/// The push lane of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushConfig {
    /// Address at which the agent delivers its notifications.
    pub listen: Listen,
    /// True for a plain, local listener, where every sender counts as the route's receiver. Otherwise the listener requires
    /// the receiver's certificate.
    pub plain: bool,
    /// Address given to the agent, if not the listener's own.
    pub url: Option<String>,
    /// Permitted targets of notifications.
    pub(crate) targets: Vec<Rule>,
    /// PEM roots of the targets' certificates.
    pub roots: Option<PathBuf>,
    /// Non-public addresses that are permitted for delivery.
    pub(crate) networks: Vec<Network>,
}

/// `[route.push]` as written.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FilePush {
    pub listen: String,
    pub plain: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub targets: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<PathBuf>,
    pub networks: Option<Vec<String>>,
}

impl FilePush {
    pub(super) fn of(push: &PushConfig) -> Self {
        Self {
            listen: push.listen.to_string(),
            plain: Some(push.plain),
            url: push.url.clone(),
            targets: push.targets.iter().map(ToString::to_string).collect(),
            roots: push.roots.clone(),
            networks: Some(push.networks.iter().map(ToString::to_string).collect()),
        }
    }

    /// # Errors
    /// Refuses a plain listener open to others, missing or invalid targets, and https without roots.
    pub(super) fn check(&self, route: &str, base: &Path) -> Result<PushConfig, ConfigFault> {
        let key = |name: &str| format!("route `{route}`: push.{name}");
        let missing = |name: &str, needed: &str| {
            Err(ConfigFault::Missing { key: key(name), needed: needed.to_owned() })
        };
        let listen = Listen::parse(&self.listen, base)
            .ok_or_else(|| ConfigFault::value(key("listen"), "an address with a port, or `unix:/path`"))?;
        let plain = self.plain.unwrap_or(false);
        if plain && !listen.local() {
            return Err(ConfigFault::PlainText { key: key("listen") });
        }
        let named = matches!(listen, Listen::Tcp(address) if !address.ip().is_unspecified());
        match &self.url {
            None if !named => return missing("url", "the agent is told where to send"),
            Some(url) => drop(super::rules::public_url(&key("url"), url, base)?),
            None => {}
        }
        if self.targets.is_empty() {
            return missing("targets", "nothing could ever be delivered");
        }
        let rule = |text: &String| {
            Rule::parse(text)
                .map_err(|fault| ConfigFault::value(key("targets"), format!("{fault}; `{text}` is none")))
        };
        let targets = self.targets.iter().map(rule).collect::<Result<Vec<_>, _>>()?;
        if self.roots.is_none() && targets.iter().any(Rule::is_tls) {
            return missing("roots", "no certificate of a target could ever be verified");
        }
        let network = |text: &String| {
            Network::parse(text)
                .ok_or_else(|| ConfigFault::value(key("networks"), "networks, such as `10.1.0.0/16`"))
        };
        Ok(PushConfig {
            listen,
            plain,
            url: self.url.clone(),
            targets,
            roots: self.roots.as_ref().map(|path| base.join(path)),
            networks: self.networks.iter().flatten().map(network).collect::<Result<_, _>>()?,
        })
    }
}
