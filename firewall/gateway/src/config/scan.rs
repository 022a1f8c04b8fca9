//! `[scan]`: a signed model of text scores, and signed baselines of fields.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigFault, signers};

/// Sources of the model and the baselines of text scores (`docs/spec/scan.md`), with their trust settings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScanConfig {
    /// Path of the signed model; `None` uses the model in the program.
    pub model: Option<PathBuf>,
    /// Signed baselines: files, or directories whose files end in `.jws`.
    #[serde(default)]
    pub baselines: Vec<PathBuf>,
    /// Roots of the signers' certificates.
    pub roots: PathBuf,
    /// SPIFFE ids of the accepted signers.
    #[serde(deserialize_with = "signers")]
    pub signers: Vec<String>,
}

impl ScanConfig {
    /// Refuses a table that names nothing to read.
    pub(super) fn check(&self) -> Result<(), ConfigFault> {
        if self.model.is_none() && self.baselines.is_empty() {
            return Err(ConfigFault::missing("scan.model", "a signed model, or `baselines`"));
        }
        Ok(())
    }

    /// Every path.
    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        self.model.iter_mut().chain(&mut self.baselines).chain(std::iter::once(&mut self.roots))
    }
}
