//! Which version two peers speak: what a SELECT answers to a HELLO.

use crate::floor::Floors;
use semgate_contexts::Version;
use std::fmt;

/// Two peers share no version that every floor allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCommonVersion {
    /// No version is on both lists.
    Disjoint,
    /// The newest version on both lists is below a floor: what a downgrade looks like (F0-37).
    BelowFloor {
        /// The newest version that both have.
        newest: Version,
        /// The lowest that is allowed.
        floor: Version,
    },
}

impl fmt::Display for NoCommonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disjoint => f.write_str("the peers have no version in common"),
            Self::BelowFloor { newest, floor } => {
                write!(f, "the newest common version is {newest}, the lowest allowed is {floor}")
            }
        }
    }
}

impl std::error::Error for NoCommonVersion {}

/// The newest version that both sides offer and no floor forbids. The order of the lists does not matter: neither side can
/// steer the other to an older version by writing it first.
///
/// # Errors
/// [`NoCommonVersion`].
pub fn newest_common(
    ours: &[Version],
    theirs: &[Version],
    floors: &Floors,
) -> Result<Version, NoCommonVersion> {
    let newest = ours.iter().filter(|version| theirs.contains(version)).max().copied();
    let newest = newest.ok_or(NoCommonVersion::Disjoint)?;
    match floors.admit(newest) {
        Ok(_) => Ok(newest),
        Err(below) => Err(NoCommonVersion::BelowFloor { newest, floor: below.floor }),
    }
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
