//! `admin` and `[probe]`: where the operator and the cluster ask.

use std::net::SocketAddr;

use schemars::JsonSchema;
use semgate_certs::SpiffeId;
use serde::{Deserialize, Serialize};

/// The operator's address: plain HTTP on loopback, or TLS for callers with these ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Form")]
pub struct AdminConfig {
    /// The address.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
    /// SPIFFE ids that may call. With ids, the address has the TLS of `[tls]` and answers only their certificates.
    pub ids: Vec<String>,
}

/// The forms in the file: `admin = "ADDRESS"`, or a table.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`admin` must be an address, or a table of `listen` and `ids`")]
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
            Form::Address(listen) => listen.into(),
            Form::Table(Table { listen, ids }) => Self { listen, ids },
        }
    }
}

impl From<SocketAddr> for AdminConfig {
    fn from(listen: SocketAddr) -> Self {
        Self { listen, ids: Vec::new() }
    }
}

/// The address of `/healthz`, `/readyz` and `/metrics` for everyone who reaches it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeConfig {
    /// The address, plain HTTP.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
}

impl AdminConfig {
    /// # Errors
    /// Refuses an address off loopback without ids, and ids that are none.
    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(id) = self.ids.iter().find(|id| SpiffeId::parse(id).is_err()) {
            return Err(format!("`admin.ids`: `{id}` is no spiffe id"));
        }
        if self.ids.is_empty() && !self.listen.ip().is_loopback() {
            let needed = "off loopback, `admin` names the spiffe ids that may call; `[probe]` serves probes";
            return Err(format!("`admin.ids` is missing: {needed}"));
        }
        Ok(())
    }
}
