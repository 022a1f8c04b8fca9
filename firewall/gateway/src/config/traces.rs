//! `[traces]`: the receiver of spans.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::read;
use super::{ConfigFault, Upstream};

/// Parts of the whole in which a share is stated.
const WHOLE: u32 = 1_000_000;

/// The receiver of spans (OTLP over HTTP), and the share of messages that have some.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TracesConfig {
    /// Address of the receiver. Without a path, `/v1/traces`.
    #[serde(with = "read::one")]
    #[schemars(with = "String")]
    pub endpoint: Upstream,
    /// File of further request headers, `name: value` a line, mode 0600: they often hold a key.
    pub headers: Option<PathBuf>,
    /// Share of the messages without a caller's decision.
    #[serde(default)]
    #[schemars(with = "f64")]
    pub sample: Share,
    /// PEM roots of the receiver's TLS certificate.
    pub tls_roots: Option<PathBuf>,
    /// `service.name` of the spans.
    #[serde(default = "TracesConfig::service", deserialize_with = "read::name")]
    pub service_name: String,
}

impl TracesConfig {
    fn service() -> String {
        "semgate".to_owned()
    }

    /// Completes the path, and makes the path of a socket relative to this directory.
    pub(super) fn complete(&mut self, base: &Path) {
        self.endpoint.rebase(base);
        if self.endpoint.path == "/" {
            "/v1/traces".clone_into(&mut self.endpoint.path);
        }
    }

    /// # Errors
    /// Refuses https without roots, and plain text to another machine.
    pub(super) fn check(&self) -> Result<(), ConfigFault> {
        if self.endpoint.tls && self.tls_roots.is_none() {
            let why = "without it the certificate of the receiver cannot be verified";
            return Err(ConfigFault::missing("traces.tls_roots", why));
        }
        if !self.endpoint.tls && !self.endpoint.local() {
            return Err(ConfigFault::plain_text("traces.endpoint"));
        }
        Ok(())
    }
}

/// A share of messages, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(u32);

impl Default for Share {
    /// One in a hundred.
    fn default() -> Self {
        Self(WHOLE / 100)
    }
}

impl Share {
    /// True of an id in the share. Ids are random, so that each gateway decides alike.
    pub(crate) fn takes(self, id: u128) -> bool {
        id % u128::from(WHOLE) < u128::from(self.0)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let share = f64::deserialize(deserializer)?;
        if !(0.0..=1.0).contains(&share) {
            return Err(D::Error::custom("must be between 0 and 1"));
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a million")]
        let millionths = (share * f64::from(WHOLE)).round() as u32;
        Ok(Self(millionths))
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / f64::from(WHOLE))
    }
}

#[cfg(test)]
mod tests;
