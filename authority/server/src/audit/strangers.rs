//! Refusals of those who may write nothing here: so many of them are recorded that they are seen, and so few that they cannot fill the disk.

use std::sync::{Mutex, PoisonError};

/// Seconds of a window.
const WINDOW: u64 = 60;

/// How many are recorded in a window, and how many were not.
#[derive(Debug)]
pub(crate) struct Strangers {
    most: usize,
    window: Mutex<Window>,
}

#[derive(Debug, Default)]
struct Window {
    number: u64,
    recorded: usize,
    unrecorded: u64,
}

impl Strangers {
    /// At most so many a minute.
    pub fn new(most: usize) -> Self {
        Self { most, window: Mutex::default() }
    }

    /// Whether the one that was refused at `now` (seconds since the epoch) is recorded, and how many before it were not.
    pub fn recorded(&self, now: u64) -> Option<u64> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_minute_are_recorded_and_the_next_says_how_many_were_not() {
        let strangers = Strangers::new(2);
        let at = |now| strangers.recorded(now);
        assert_eq!([at(0), at(1), at(2), at(59)], [Some(0), Some(0), None, None]);
        assert_eq!([at(60), at(61), at(62)], [Some(2), Some(0), None]);
        // a clock that was set back begins a window too
        assert_eq!(at(30), Some(1));
        assert_eq!(Strangers::new(0).recorded(0), None);
    }
}
