//! Limits the refusals in the audit log: each account leaves enough to be seen, and too few to fill the disk.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Seconds of a window.
const WINDOW: u64 = 60;

/// The account that a refusal is charged to. Publishers come from the configuration, so the number of accounts is bounded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RecordedFor {
    /// The publisher of this SPIFFE id.
    Publisher(String),
    /// Everybody with a verified certificate who is no publisher.
    Verified,
    /// Everybody without a verified certificate.
    Strangers,
}

/// The refusals of each account that were recorded in the current minute.
#[derive(Debug)]
pub(crate) struct Refusals {
    most: usize,
    windows: Mutex<HashMap<RecordedFor, Window>>,
}

#[derive(Debug, Default)]
struct Window {
    number: u64,
    recorded: usize,
    unrecorded: u64,
}

impl Refusals {
    /// Allows `most` records a minute for each account.
    pub fn new(most: usize) -> Self {
        Self { most, windows: Mutex::default() }
    }

    /// Decides about a refusal at `now` (seconds since the epoch). Returns how many refusals were only counted since the last record;
    /// `None` if this one is only counted too.
    pub fn record(&self, account: RecordedFor, now: u64) -> Option<u64> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.entry(account).or_default();
        let number = now / WINDOW;
        if window.number != number {
            (window.number, window.recorded) = (number, 0);
        }
        if window.recorded >= self.most {
            window.unrecorded = window.unrecorded.saturating_add(1);
            return None;
        }
        window.recorded += 1;
        Some(std::mem::take(&mut window.unrecorded))
    }
}
