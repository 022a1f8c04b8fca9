//! Bounds of the comparison.

/// How much a comparison may do before it answers Unknown. Work is counted, since nothing here reads a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompareLimits {
    /// Steps for one pair of schemas: formulas looked at and states of patterns followed. About 100 ns each in an optimised build, so
    /// that a pathological pair ends within a second.
    pub max_steps: u64,
    /// Steps for two whole documents: several parts may be hard, not all of them. The worst pair that is known took 0.6 s by three times as
    /// many as for one pair of schemas, and a second by five times.
    pub max_total_steps: u64,
    /// States of one pattern before it is determinised: the validator's own bound on compiled patterns, in states.
    pub max_pattern_states: usize,
    /// Values inside one another in a witness: messages are nested at most this deep.
    pub max_depth: usize,
    /// Items that a witness may have in one array, and characters in one string: a reader still has to read it.
    pub max_size: u64,
    /// Items that `contains` may ask a witness for, in all: the work grows with their square.
    pub max_counted: u64,
    /// Values inside one another for which the report names the members apart.
    pub max_change_depth: usize,
}

impl Default for CompareLimits {
    fn default() -> Self {
        CompareLimits {
            max_steps: 2_000_000,
            max_total_steps: 6_000_000,
            max_pattern_states: 8_192,
            max_depth: 28,
            max_size: 20_000,
            max_counted: 512,
            max_change_depth: 6,
        }
    }
}
