//! What a pair stated, in a form that outlives the process.

use super::Pair;
use crate::limits::MAX_MINIMUMS;
use crate::terms::Minimum;
use semgate_certs::SpiffeId;
use semgate_contexts::{Line, Version};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The minimums of the two ends of the last handshake of a pair, by line; the ids in the order of their bytes. Without any the pair is
/// forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stated {
    /// The SPIFFE ids.
    pub pair: [String; 2],
    /// Of the one end and of the other, in the order of the ids, line and lowest version. Both bind both.
    pub minimums: [BTreeMap<String, String>; 2],
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
            Self::Pair => "the pair of a record is not two spiffe ids in the order of their bytes",
            Self::Minimum => "the minimums of a record are not lines with versions, or too many",
        })
    }
}

impl std::error::Error for StatedFault {}

impl Stated {
    pub(super) fn of(pair: &Pair, minimums: [&[Minimum]; 2]) -> Self {
        let text = |list: &[Minimum]| {
            list.iter().map(|one| (one.line.as_str().to_owned(), one.min.to_string())).collect()
        };
        Self { pair: [pair.0.to_string(), pair.1.to_string()], minimums: minimums.map(text) }
    }

    pub(super) fn read(&self) -> Result<(Pair, [Vec<Minimum>; 2]), StatedFault> {
        let [one, other] = &self.pair;
        if one > other || [one, other].into_iter().any(|id| SpiffeId::parse(id).is_err()) {
            return Err(StatedFault::Pair);
        }
        let [of_one, of_other] = &self.minimums;
        Ok(((one.as_str().into(), other.as_str().into()), [minimums(of_one)?, minimums(of_other)?]))
    }
}

fn minimums(list: &BTreeMap<String, String>) -> Result<Vec<Minimum>, StatedFault> {
    if list.len() > MAX_MINIMUMS {
        return Err(StatedFault::Minimum);
    }
    let read = |(line, min): (&String, &String)| {
        let (line, min) = (Line::parse(line).ok()?, Version::parse(min).ok()?);
        Some(Minimum { line, min })
    };
    list.iter().map(read).collect::<Option<_>>().ok_or(StatedFault::Minimum)
}
