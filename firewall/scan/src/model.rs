//! The trained weights, and the table from their score to a rank.

use std::sync::{Arc, OnceLock};

use sha2::{Digest as _, Sha256};

use crate::linear::{Linear, MAX_SCALE, Shape};

/// The format of features that this crate works out. A model of another format is refused.
pub const FEATURES: u32 = 1;

const MAGIC: &[u8; 8] = b"semgscan";
/// Longest report of an evaluation, in bytes.
const MAX_REPORT: usize = 65_536;
/// Ranks above 0.
const RANKS: usize = 100;

pub(crate) const SHAPE: Shape = Shape { buckets: 65_536, words: 3 };

/// Trained weights and their table; immutable, cheap to share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub(crate) linear: Linear,
    /// The lowest score of each rank from 1 to 100, in 1/65,536.
    ranks: Box<[i32]>,
    report: Box<str>,
    digest: [u8; 32],
}

/// A reason why bytes are no model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ModelFault {
    /// The bytes do not start as a model does.
    #[error("the file is no scan model")]
    Magic,
    /// The model needs features that this build does not work out.
    #[error("the scan model needs features of format {0}; this build has format {FEATURES}")]
    Features(u32),
    /// The file ends early, or goes on after its end.
    #[error("the scan model has a wrong length")]
    Length,
    /// The scale is 0 or too large.
    #[error("the scan model has a scale out of bounds")]
    Scale,
    /// The table of ranks falls somewhere.
    #[error("the table of ranks of the scan model does not rise")]
    Ranks,
    /// The report is longer than 65,536 bytes or no JSON object.
    #[error("the report of the scan model is no JSON object of at most 65,536 bytes")]
    Report,
}

/// Reads numbers off the front of bytes.
pub(crate) struct Reader<'b>(pub(crate) &'b [u8]);

impl<'b> Reader<'b> {
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    pub(crate) fn number(&mut self) -> Option<u32> {
        let bytes = self.bytes(4)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    pub(crate) fn signed(&mut self) -> Option<i32> {
        self.number().map(u32::cast_signed)
    }

    /// Weights with their bias and scale; `None` if they end early.
    pub(crate) fn linear(&mut self, head: LinearHead, count: usize) -> Option<Linear> {
        let weights = self.bytes(count)?.iter().map(|byte| byte.cast_signed()).collect();
        Some(Linear { weights, bias: head.bias, scale: head.scale })
    }

    /// A table of scores in rising order; `None` if it ends early.
    pub(crate) fn table(&mut self, count: usize) -> Option<Box<[i32]>> {
        (0..count).map(|_| self.signed()).collect()
    }
}

/// The bias and the scale of weights that follow.
#[derive(Clone, Copy)]
pub(crate) struct LinearHead {
    pub(crate) bias: i32,
    pub(crate) scale: u32,
}

impl LinearHead {
    pub(crate) fn is_bounded(self) -> bool {
        (1..=MAX_SCALE).contains(&self.scale)
    }
}

/// True if no number is below the one before it.
pub(crate) fn rises(table: &[i32]) -> bool {
    table.is_sorted()
}

impl Model {
    /// The model that this build carries.
    pub fn shipped() -> Arc<Self> {
        static SHIPPED: OnceLock<Arc<Model>> = OnceLock::new();
        let model = SHIPPED.get_or_init(|| {
            #[expect(clippy::expect_used, reason = "the bytes are part of this build, and a test reads them")]
            Arc::new(Self::parse(include_bytes!("../injection.model")).expect("the shipped model parses"))
        });
        Arc::clone(model)
    }

    /// The model in these bytes.
    ///
    /// # Errors
    /// [`ModelFault`] if the bytes are not exactly one model of the format [`FEATURES`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ModelFault> {
        let mut reader = Reader(bytes);
        if reader.bytes(MAGIC.len()) != Some(MAGIC) {
            return Err(ModelFault::Magic);
        }
        let features = reader.number().ok_or(ModelFault::Length)?;
        if features != FEATURES {
            return Err(ModelFault::Features(features));
        }
        let bias = reader.signed().ok_or(ModelFault::Length)?;
        let scale = reader.number().ok_or(ModelFault::Length)?;
        let head = LinearHead { bias, scale };
        if !head.is_bounded() {
            return Err(ModelFault::Scale);
        }
        let ranks = reader.table(RANKS).ok_or(ModelFault::Length)?;
        if !rises(&ranks) {
            return Err(ModelFault::Ranks);
        }
        let length = reader.number().ok_or(ModelFault::Length)?;
        let length =
            usize::try_from(length).ok().filter(|length| *length <= MAX_REPORT).ok_or(ModelFault::Report)?;
        let report = reader.bytes(length).ok_or(ModelFault::Length)?;
        let report = std::str::from_utf8(report).map_err(|_| ModelFault::Report)?;
        if serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(report).is_err() {
            return Err(ModelFault::Report);
        }
        let linear = reader.linear(head, SHAPE.buckets as usize * 2).ok_or(ModelFault::Length)?;
        if !reader.0.is_empty() {
            return Err(ModelFault::Length);
        }
        Ok(Self { linear, ranks, report: report.into(), digest: Sha256::digest(bytes).into() })
    }

    /// The SHA-256 of the bytes of this model.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The format of features; always [`FEATURES`].
    pub fn features(&self) -> u32 {
        FEATURES
    }

    /// The evaluation of this model: the text of a JSON object.
    pub fn report(&self) -> &str {
        &self.report
    }

    /// The rank of a score from 0 to 100.
    pub(crate) fn rank(&self, score: i32) -> u8 {
        u8::try_from(self.ranks.partition_point(|least| *least <= score)).unwrap_or(u8::MAX)
    }
}
