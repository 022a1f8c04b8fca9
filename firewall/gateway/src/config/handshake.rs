//! `handshake` of a route: who answers, with which certificate, and the embedding models of the agent.

use std::path::PathBuf;

use schemars::JsonSchema;
use semgate_contexts::ModelName;
use serde::{Deserialize, Deserializer, Serialize};

use super::IdentityFiles;
use super::read::checked;

/// Handling of a route's handshakes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandshakeChoice {
    /// PEM chain with which the gateway answers for the agent. With `agent`, it is the gateway's own.
    pub certificate: PathBuf,
    /// PEM PKCS#8 private key of the leaf.
    pub key: PathBuf,
    /// The agent negotiates by itself; the gateway opens, checks and reseals its handshakes.
    #[serde(default)]
    pub agent: bool,
    /// Embedding models that the agent speaks, for whom the gateway answers. Offers name those that the context lists.
    #[serde(default, deserialize_with = "models", skip_serializing_if = "Vec::is_empty")]
    pub embeddings: Vec<String>,
}

impl HandshakeChoice {
    /// The embedding models that the agent speaks.
    pub fn models(&self) -> impl Iterator<Item = ModelName> + '_ {
        self.embeddings.iter().filter_map(|name| ModelName::parse(name).ok())
    }

    /// The certificate and its key.
    #[must_use]
    pub fn identity(&self) -> IdentityFiles {
        IdentityFiles { certificate: self.certificate.clone(), key: self.key.clone() }
    }
}

/// Reads names of embedding models, each once: as many as one offer can hold.
fn models<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let must = "1 to 32 names of embedding models, each once: letters, digits and `._:/-`, at most 54";
    checked(deserializer, must, |names: &Vec<String>| {
        let models = names.iter().filter_map(|name| ModelName::parse(name).ok());
        let models: std::collections::BTreeSet<ModelName> = models.collect();
        (1..=32).contains(&names.len()) && models.len() == names.len()
    })
}
