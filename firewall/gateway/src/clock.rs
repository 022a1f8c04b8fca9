//! The system's clock, read in one place.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since the Unix epoch; 0 for a clock before it.
pub(crate) fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
