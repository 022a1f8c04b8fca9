//! A baseline with its field, as `semgate scan learn` writes it and before it is signed.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use semgate_contexts::{ContextUrn, Prefix};
use semgate_scan::Baseline;
use semgate_statement::scan_model::FieldOfContext;
use serde::{Deserialize, Serialize};

use crate::fault::{Doing, Fault};
use crate::names::full_urn;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineFile {
    /// URN of the context.
    pub context: String,
    /// The concept, or the side of a task.
    pub concept: String,
    /// The position of the text within it.
    pub position: String,
    /// Number of the texts that it was learnt from.
    pub texts: usize,
    /// The table in base64.
    pub baseline: String,
}

impl BaselineFile {
    /// The file of a baseline.
    pub fn new(field: &FieldOfContext, texts: usize, baseline: &Baseline) -> Self {
        Self {
            context: field.context.as_str().to_owned(),
            concept: field.concept.clone(),
            position: field.position.clone(),
            texts,
            baseline: STANDARD.encode(baseline.to_bytes()),
        }
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// They are no file of `semgate scan learn`.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<Self, Fault> {
        serde_json::from_slice(bytes)
            .hinted(format_args!("`{}`", path.display()), "name a file of `semgate scan learn`")
    }

    /// The field.
    ///
    /// # Errors
    /// The context is no URN.
    pub fn field(&self) -> Result<FieldOfContext, Fault> {
        let context = ContextUrn::parse(&full_urn(&self.context), &Prefix::default());
        Ok(FieldOfContext {
            context: context.doing(format_args!("`{}`", self.context))?,
            concept: self.concept.clone(),
            position: self.position.clone(),
        })
    }

    /// The table and its bytes.
    ///
    /// # Errors
    /// The table is no baseline of this version.
    pub fn baseline(&self) -> Result<(Baseline, Vec<u8>), Fault> {
        let bytes = STANDARD.decode(&self.baseline).doing("`baseline`")?;
        let baseline = Baseline::parse(&bytes).hinted("`baseline`", "learn it again with this version")?;
        Ok((baseline, bytes))
    }
}
