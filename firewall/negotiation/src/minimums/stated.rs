//! Statements of a pair, in a form that outlives the process.

use super::{Pair, Side};
use crate::limits::MAX_MINIMUMS;
use crate::terms::Minimum;
use semgate_certs::SpiffeId;
use semgate_contexts::{Line, Version};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The last statements of the two ends of a pair, by line; the ids in the order of their bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stated {
    /// The SPIFFE ids.
    pub pair: [String; 2],
    /// The lowest version by line, for each end in the order of the ids. Both bind both.
    pub minimums: [BTreeMap<String, String>; 2],
    /// The seconds at which each end signed them, by its own clock. 0 in records of versions that did not keep it, so that
    /// any later statement replaces it.
    #[serde(default)]
    pub stated_at: [u64; 2],
}

/// A record cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatedFault {
    /// The ids are no SPIFFE ids, or not in their order.
    Pair,
    /// More lines than a handshake may state, or one with no canonical line or version.
    Minimum,
}

impl fmt::Display for StatedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pair => "the pair of a record is not two spiffe ids sorted by bytes",
            Self::Minimum => "the minimums of a record are not lines with versions, or too many",
        })
    }
}

impl std::error::Error for StatedFault {}

impl Stated {
    pub(super) fn of(pair: &Pair, sides: &[Side; 2]) -> Self {
        let text = |side: &Side| {
            side.minimums.iter().map(|one| (one.line.as_str().to_owned(), one.min.to_string())).collect()
        };
        Self {
            pair: [pair.0.to_string(), pair.1.to_string()],
            minimums: sides.each_ref().map(text),
            stated_at: sides.each_ref().map(|side| side.stated_at),
        }
    }

    pub(super) fn read(&self) -> Result<(Pair, [Side; 2]), StatedFault> {
        let [one, other] = &self.pair;
        if one > other || [one, other].into_iter().any(|id| SpiffeId::parse(id).is_err()) {
            return Err(StatedFault::Pair);
        }
        let [of_one, of_other] = &self.minimums;
        let side = |list, stated_at| Ok(Side { minimums: minimums(list)?, stated_at });
        let sides = [side(of_one, self.stated_at[0])?, side(of_other, self.stated_at[1])?];
        Ok(((one.as_str().into(), other.as_str().into()), sides))
    }
}

fn minimums(list: &BTreeMap<String, String>) -> Result<Arc<[Minimum]>, StatedFault> {
    if list.len() > MAX_MINIMUMS {
        return Err(StatedFault::Minimum);
    }
    let read = |(line, min): (&String, &String)| {
        let (line, min) = (Line::parse(line).ok()?, Version::parse(min).ok()?);
        Some(Minimum { line, min })
    };
    list.iter().map(read).collect::<Option<_>>().ok_or(StatedFault::Minimum)
}
