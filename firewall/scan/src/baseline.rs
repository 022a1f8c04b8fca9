//! The manner in which one field talks: a table that tells its texts from general text.

mod learn;

use sha2::{Digest as _, Sha256};

use crate::linear::{Extractor, Linear, Shape};
use crate::model::{FEATURES, LinearHead, Reader, rises};

pub use learn::{HeldOut, LearnFault, Rate};

const MAGIC: &[u8; 8] = b"semgbase";
const SHAPE: Shape = Shape { buckets: 32_768, words: 2 };
/// Ranks above 0.
const RANKS: usize = 1_000;

/// Texts of one field as a table of weights, with the ranks of texts that were held out. 68 KB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    linear: Linear,
    /// The lowest strangeness of each rank from 1 to 1,000, in 1/65,536.
    ranks: Box<[i32]>,
}

/// A reason why bytes are no baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BaselineFault {
    /// The bytes do not start as a baseline does.
    #[error("the file is no baseline of a field")]
    Magic,
    /// The baseline needs features that this build does not work out.
    #[error("the baseline needs features of format {0}; this build has format {FEATURES}")]
    Features(u32),
    /// The file ends early, or goes on after its end.
    #[error("the baseline has a wrong length")]
    Length,
    /// The scale is 0 or too large.
    #[error("the baseline has a scale out of bounds")]
    Scale,
    /// The table of ranks falls somewhere.
    #[error("the table of ranks of the baseline does not rise")]
    Ranks,
}

impl Baseline {
    /// The baseline in these bytes.
    ///
    /// # Errors
    /// [`BaselineFault`] if the bytes are not exactly one baseline of this build's format of features.
    pub fn parse(bytes: &[u8]) -> Result<Self, BaselineFault> {
        let mut reader = Reader(bytes);
        if reader.bytes(MAGIC.len()) != Some(MAGIC) {
            return Err(BaselineFault::Magic);
        }
        let features = reader.number().ok_or(BaselineFault::Length)?;
        if features != FEATURES {
            return Err(BaselineFault::Features(features));
        }
        let bias = reader.signed().ok_or(BaselineFault::Length)?;
        let scale = reader.number().ok_or(BaselineFault::Length)?;
        let head = LinearHead { bias, scale };
        if !head.is_bounded() {
            return Err(BaselineFault::Scale);
        }
        let ranks = reader.table(RANKS).ok_or(BaselineFault::Length)?;
        if !rises(&ranks) {
            return Err(BaselineFault::Ranks);
        }
        let linear = reader.linear(head, SHAPE.buckets as usize * 2).ok_or(BaselineFault::Length)?;
        if !reader.0.is_empty() {
            return Err(BaselineFault::Length);
        }
        Ok(Self { linear, ranks })
    }

    /// The bytes that [`Self::parse`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FEATURES.to_le_bytes());
        bytes.extend(self.linear.bias.to_le_bytes());
        bytes.extend(self.linear.scale.to_le_bytes());
        bytes.extend(self.ranks.iter().flat_map(|score| score.to_le_bytes()));
        bytes.extend(self.linear.weights.iter().map(|weight| weight.cast_unsigned()));
        bytes
    }

    /// The SHA-256 of [`Self::to_bytes`].
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.to_bytes()).into()
    }

    /// The rank of a folded text from 0 to 1,000: the share, in per mille, of held-out texts that are less strange.
    pub(crate) fn rank(&self, folded: &str) -> u16 {
        let score = strangeness(&self.linear, &mut Extractor::new(SHAPE), folded);
        u16::try_from(self.ranks.partition_point(|least| *least <= score)).unwrap_or(u16::MAX)
    }
}

/// The strangeness of the strangest window, in 1/65,536.
fn strangeness(linear: &Linear, extractor: &mut Extractor, folded: &str) -> i32 {
    let mut lowest = i32::MAX;
    extractor.windows(folded, |grams| lowest = lowest.min(linear.score(grams)));
    lowest.saturating_neg()
}
