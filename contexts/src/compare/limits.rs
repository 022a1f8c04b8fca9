//! Bounds of the comparison.

use std::time::Duration;

/// Bounds on the work of a comparison before it answers Unknown. Work is counted, so that the same pair has the same answer
/// on every machine. The time limit is a second bound, for work that costs more than it counts and for slow or busy machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompareLimits {
    /// Steps for one pair of schemas. Steps count formulas, lookups, members and names compared with rules, pattern states,
    /// and copies by size. A step takes about 100 ns in an optimised build, so a pathological pair ends within a second.
    pub max_steps: u64,
    /// Steps for two whole documents: several parts may be hard, not all of them. The worst known pair took 0.6 s with three
    /// times the steps of one pair of schemas, and a second with five times.
    pub max_total_steps: u64,
    /// The longest time of one comparison from its beginning, by the clock of its [`CancelToken`](super::CancelToken), if it has one.
    pub max_time: Duration,
    /// States of one pattern before it is determinised: the validator's own bound on compiled patterns, in states.
    pub max_pattern_states: usize,
    /// Values inside one another in a witness: messages are nested at most this deep.
    pub max_depth: usize,
    /// Items that a witness may have in one array, and characters in one string: a reader still has to read it.
    pub max_size: u64,
    /// Values and members in one witness, in all: as many as a message has at most.
    pub max_values: u64,
    /// Items that `contains` may demand of a witness, in all: the work grows with their square.
    pub max_counted: u64,
    /// Nesting of values to which the report lists members separately.
    pub max_change_depth: usize,
}

/// One second. Builds without optimisation take some ten times as long for the same steps, and must reach the same verdicts.
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
