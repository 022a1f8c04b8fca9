//! `admin` and `[probe]`: where the operator and the cluster ask.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use schemars::JsonSchema;
use semgate_certs::SpiffeId;
use serde::{Deserialize, Serialize};

use super::{Config, ConfigFault};

/// The operator's address: plain HTTP on loopback, or TLS for callers with these ids.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(from = "Form")]
pub struct AdminConfig {
    /// The address.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
    /// SPIFFE ids that may call. With ids, the address has the TLS of `[tls]` and demands a certificate.
    pub ids: Vec<String>,
}

/// The forms in the file: `admin = "ADDRESS"`, or a table.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be an address, or a table of `listen` and `ids`")]
enum Form {
    Address(#[schemars(with = "String")] SocketAddr),
    Table(Table),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    #[schemars(with = "String")]
    listen: SocketAddr,
    #[serde(default)]
    ids: Vec<String>,
}

impl From<Form> for AdminConfig {
    fn from(form: Form) -> Self {
        match form {
            Form::Address(listen) => Self { listen, ids: Vec::new() },
            Form::Table(Table { listen, ids }) => Self { listen, ids },
        }
    }
}

impl fmt::Display for AdminConfig {
    /// A URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.ids.is_empty() { "http" } else { "https" };
        write!(f, "{scheme}://{}", self.listen)
    }
}

impl Default for AdminConfig {
    /// Loopback, and away from well-known ports.
    fn default() -> Self {
        Self { listen: (Ipv4Addr::LOCALHOST, 9470).into(), ids: Vec::new() }
    }
}

/// The address of `/healthz`, `/readyz` and `/metrics` for everyone who reaches it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeConfig {
    /// The address, plain HTTP.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
}

impl AdminConfig {
    /// # Errors
    /// Refuses an address off loopback without ids, and ids that nobody can prove.
    pub(super) fn check(&self, config: &Config) -> Result<(), ConfigFault> {
        if self.ids.is_empty() {
            return match self.listen.ip().is_loopback() {
                true => Ok(()),
                false => {
                    let needed =
                        "off loopback, `admin` names the spiffe ids that may call; `[probe]` serves probes";
                    Err(ConfigFault::missing("admin.ids", needed))
                }
            };
        }
        let domain = |id: &String| SpiffeId::parse(id).map(|id| id.trust_domain().as_str().to_owned());
        let is_known =
            |id| domain(id).is_ok_and(|name| config.trust_domains.iter().any(|domain| domain.name == name));
        if !self.ids.iter().all(is_known) {
            return Err(ConfigFault::value("admin.ids", "spiffe ids of a `[[trust_domain]]`"));
        }
        match config.tls {
            Some(_) => Ok(()),
            None => Err(ConfigFault::missing("tls", "`admin.ids` needs the gateway's own certificate")),
        }
    }
}
