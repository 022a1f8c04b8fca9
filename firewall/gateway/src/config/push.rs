//! The push lane of a route: the listener for its agent's push notifications, and the targets of their delivery.

use std::path::{Path, PathBuf};

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address::public_url;
use super::read::{Text, list, some, text};
use super::{ConfigFault, Listen};
use crate::upstream::egress::target::Rule;

/// The push lane of a route.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PushConfig {
    /// Address at which the agent delivers its notifications.
    #[schemars(with = "String")]
    pub listen: Listen,
    /// True for a plain, local listener, where every sender counts as the route's receiver. Otherwise the listener requires
    /// the receiver's certificate.
    #[serde(default)]
    pub plain: bool,
    /// Address given to the agent, if not the listener's own.
    #[serde(default, deserialize_with = "public_url")]
    pub url: Option<String>,
    /// Permitted targets of notifications.
    #[serde(with = "some")]
    #[schemars(with = "Vec<String>")]
    pub(crate) targets: Vec<Rule>,
    /// PEM roots of the targets' certificates.
    pub roots: Option<PathBuf>,
    /// Non-public addresses that are permitted for delivery.
    #[serde(default, with = "list")]
    #[schemars(with = "Vec<String>")]
    pub(crate) networks: Vec<IpNet>,
}

impl Text for Rule {
    fn read(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|fault| format!("{fault}; `{text}` is not one"))
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

text!(
    IpNet,
    "networks, such as `10.1.0.0/16`",
    |text| {
        let (base, bits) = text.split_once('/')?;
        // the standard parser refuses octets with leading zeros, which some readers take for octal
        let network = IpNet::new(base.parse().ok()?, bits.parse().ok()?).ok()?;
        // the base has no bit past its prefix length, so that its meaning is unambiguous
        (network.trunc() == network).then_some(network)
    },
    ToString::to_string
);

impl PushConfig {
    /// Makes paths relative to this directory.
    pub(super) fn rebase(&mut self, base: &Path) {
        self.listen.rebase(base);
        self.roots.iter_mut().for_each(|path| *path = base.join(&*path));
    }

    /// # Errors
    /// Refuses a plain listener open to others, a listener without a URL, and https without roots.
    pub(super) fn check(&self, route: &str) -> Result<(), ConfigFault> {
        let key = |name: &str| format!("route `{route}`: push.{name}");
        if self.plain && !self.listen.local() {
            return Err(ConfigFault::plain_text(key("listen")));
        }
        if self.url.is_none() && !self.listen.names_a_host() {
            return Err(ConfigFault::missing(key("url"), "the agent needs an address to send to"));
        }
        if self.roots.is_none() && self.targets.iter().any(Rule::is_tls) {
            return Err(ConfigFault::missing(
                key("roots"),
                "without it no certificate of a target can be verified",
            ));
        }
        Ok(())
    }
}
