//! The lowest version that may still be used (F0-39, F0-37).

use semgate_contexts::Version;
use std::fmt;

/// The party that set a floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The authority of the line.
    Authority,
    /// The operator of this gateway.
    Operator,
    /// One of the two peers, in its HELLO.
    Peer,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Authority => "authority",
            Self::Operator => "operator",
            Self::Peer => "peer",
        })
    }
}

/// Every floor that applies to one line between two peers. The highest applies; none can lower another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floors {
    /// The authority's.
    pub authority: Option<Version>,
    /// The operator's.
    pub operator: Option<Version>,
    /// Those of the peers.
    pub peers: [Option<Version>; 2],
}

/// Proof that a version is at or above every floor.
#[derive(Clone, Copy, Debug)]
pub struct AboveFloor(());

/// A version is below a floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BelowFloor {
    /// The lowest version that is allowed.
    pub floor: Version,
    /// The party that set it; where several set the same, the first in the order authority, operator, peer.
    pub source: Source,
}

impl fmt::Display for BelowFloor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the lowest version allowed is {}, set by the {}", self.floor, self.source)
    }
}

impl std::error::Error for BelowFloor {}

impl Floors {
    /// The highest floor and its source; `None` if there is none.
    pub fn effective(&self) -> Option<(Version, Source)> {
        let [first, second] = self.peers;
        let all = [
            (self.authority, Source::Authority),
            (self.operator, Source::Operator),
            (first, Source::Peer),
            (second, Source::Peer),
        ];
        let set = all.into_iter().filter_map(|(floor, source)| floor.map(|floor| (floor, source)));
        set.reduce(|best, next| if next.0 > best.0 { next } else { best })
    }

    /// Checks a version against every floor.
    ///
    /// # Errors
    /// [`BelowFloor`] with the highest floor.
    pub fn admit(&self, version: Version) -> Result<AboveFloor, BelowFloor> {
        match self.effective() {
            Some((floor, source)) if version < floor => Err(BelowFloor { floor, source }),
            _ => Ok(AboveFloor(())),
        }
    }
}

#[cfg(test)]
#[path = "floor_tests.rs"]
mod tests;
