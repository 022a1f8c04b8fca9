//! The system clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A time in UTC, as `2026-11-29T06:45:00Z`; `-` for a time outside the calendar.
pub(crate) fn utc(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or_else(|| "-".to_owned(), |time| time.to_string())
}

/// A span of time in words: the largest unit that fits, such as `14 min`.
pub(crate) fn span(seconds: u64) -> String {
    match seconds {
        0..=89 => format!("{seconds} s"),
        90..=5_399 => format!("{} min", seconds / 60),
        5_400..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
