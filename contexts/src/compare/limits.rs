//! Bounds of the comparison.

use std::time::Duration;

/// How much a comparison may do before it answers Unknown. Work is counted, so that the same pair has the same answer on every machine; the
/// time is the net below, for work that costs more than it counts and for machines that are slow or busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompareLimits {
    /// Steps for one pair of schemas: formulas looked at, answers looked up, members and names held against rules, states of patterns
    /// followed, what is copied by its size. About 100 ns each in an optimised build, so that a pathological pair ends within a second.
    pub max_steps: u64,
    /// Steps for two whole documents: several parts may be hard, not all of them. The worst pair that is known took 0.6 s by three times as
    /// many as for one pair of schemas, and a second by five times.
    pub max_total_steps: u64,
    /// How long one comparison may take in all, from its beginning, whatever it counted; by the clock of its [`CancelToken`](super::CancelToken), if it has one.
    pub max_time: Duration,
    /// States of one pattern before it is determinised: the validator's own bound on compiled patterns, in states.
    pub max_pattern_states: usize,
    /// Values inside one another in a witness: messages are nested at most this deep.
    pub max_depth: usize,
    /// Items that a witness may have in one array, and characters in one string: a reader still has to read it.
    pub max_size: u64,
    /// Values and members in one witness, in all: as many as a message has at most.
    pub max_values: u64,
    /// Items that `contains` may ask a witness for, in all: the work grows with their square.
    pub max_counted: u64,
    /// Values inside one another for which the report names the members apart.
    pub max_change_depth: usize,
}

/// A second. Builds that are not optimised take some ten times as long for the same steps, which are to decide in both.
const MAX_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });

impl Default for CompareLimits {
    fn default() -> Self {
        CompareLimits {
            max_steps: 2_000_000,
            max_total_steps: 6_000_000,
            max_time: MAX_TIME,
            max_pattern_states: 8_192,
            max_depth: 28,
            max_size: 20_000,
            max_values: crate::json::Limits::default().max_nodes as u64,
            max_counted: 512,
            max_change_depth: 6,
        }
    }
}
