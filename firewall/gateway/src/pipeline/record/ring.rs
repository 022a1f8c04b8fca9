//! The last audit records in memory, for the operator's live view, and counts of verdicts by minute.
//!
//! Only the audit thread writes here, so the path of a message does not pay for it. Readers hold the lock for a few copies of
//! pointers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::{Outcome, Record};
use crate::pipeline::decision::DecisionId;

/// Records in the ring: about ten pages of a live view.
pub(crate) const RECORDS: usize = 1_024;
/// Bytes of the ring. Ordinary records stay far below it; records with policy inputs may have 34 KiB each.
const BYTES: usize = 8 * 1024 * 1024;
/// Minutes for which verdicts are counted.
pub(crate) const MINUTES: u64 = 60;
/// Records that a reader takes at once.
const PAGE: usize = 64;

/// One record of the ring.
#[derive(Clone, Debug)]
pub(crate) struct RecentRecord {
    /// Number of the record in the audit log.
    pub(crate) n: u64,
    decision: DecisionId,
    /// The audit line, without its newline.
    pub(crate) line: Arc<str>,
}

/// Records for a reader, and how many it missed before them.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) missed: u64,
    /// Number of the last record before these, seen or missed.
    pub(crate) before: u64,
    pub(crate) records: Vec<RecentRecord>,
}

/// Counts of one minute.
#[derive(Clone, Debug, Default)]
struct Minute {
    allowed: u64,
    refused: BTreeMap<&'static str, u64>,
}

/// Counts over the last minutes, oldest first. Each list has one number for each minute.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) minutes: Vec<u64>,
    pub(crate) allowed: Vec<u64>,
    pub(crate) codes: BTreeMap<&'static str, Vec<u64>>,
}

#[derive(Debug, Default)]
struct State {
    records: VecDeque<RecentRecord>,
    bytes: usize,
    /// Number of the next record.
    next: u64,
    /// Counts by Unix minute.
    minutes: BTreeMap<u64, Minute>,
}

/// The ring. Holds at most [`RECORDS`] records and [`BYTES`] bytes; the newest record stays in any case.
#[derive(Debug)]
pub(crate) struct VerdictRing {
    state: Mutex<State>,
    newest: watch::Sender<u64>,
}

impl Default for VerdictRing {
    fn default() -> Self {
        Self { state: Mutex::default(), newest: watch::Sender::new(0) }
    }
}

impl VerdictRing {
    /// Sets the number of the first record, which continues an old file.
    pub(super) fn begin(&self, next: u64) {
        self.with(|state| state.next = next);
    }

    /// Takes records of the audit thread and wakes the readers.
    pub(super) fn publish(&self, fresh: &mut Vec<Fresh>) {
        let Some(newest) = fresh.last().map(|fresh| fresh.record.n) else { return };
        self.with(|state| fresh.drain(..).for_each(|one| state.add(one)));
        self.newest.send_replace(newest);
    }

    /// Wakes a reader whenever records were added.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// Number before the oldest record, where a reader starts that has seen nothing.
    pub(crate) fn start(&self) -> u64 {
        self.with(|state| state.oldest().saturating_sub(1))
    }

    /// The next records after number `after`, at most [`PAGE`]. A number that was never given belongs to an older file, so that
    /// reader starts with the oldest record.
    pub(crate) fn after(&self, after: u64) -> Page {
        self.with(|state| {
            let oldest = state.oldest();
            let known = if after >= state.next { oldest.saturating_sub(1) } else { after };
            let missed = oldest.saturating_sub(known.saturating_add(1));
            let from = state.records.partition_point(|record| record.n <= known);
            Page {
                missed,
                before: known.saturating_add(missed),
                records: state.records.iter().skip(from).take(PAGE).cloned().collect(),
            }
        })
    }

    /// Lines of the records of one decision, by the text of its id. Oldest first.
    pub(crate) fn of_decision(&self, id: &str) -> Vec<Arc<str>> {
        let records: Vec<RecentRecord> = self.with(|state| state.records.iter().cloned().collect());
        let is_of = |record: &&RecentRecord| record.decision.text(&mut [0; 26]) == id;
        records.iter().filter(is_of).map(|record| Arc::clone(&record.line)).collect()
    }

    /// Counts of the last `minutes` minutes, the minute of `now` (Unix seconds) included. Codes that nobody met are left out.
    pub(crate) fn counts(&self, now: u64, minutes: u64) -> Counts {
        let kept = self.with(|state| state.minutes.clone());
        let end = now / 60;
        let first = end.saturating_sub(minutes.clamp(1, MINUTES).saturating_sub(1));
        let all: Vec<Option<&Minute>> = (first..=end).map(|at| kept.get(&at)).collect();
        let count = |of: &dyn Fn(&Minute) -> u64| all.iter().map(|minute| minute.map_or(0, of)).collect();
        let codes = all.iter().flatten().flat_map(|minute| minute.refused.keys().copied());
        let by_code = |code| (code, count(&|minute| minute.refused.get(code).copied().unwrap_or(0)));
        Counts {
            allowed: count(&|minute| minute.allowed),
            codes: codes.map(by_code).collect(),
            minutes: (first..=end).collect(),
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A record that the audit thread made into a line.
pub(super) struct Fresh {
    record: RecentRecord,
    time: u64,
    outcome: Outcome,
    count: u64,
}

impl Fresh {
    /// The record with its number and its line. Nothing if the line is not UTF-8, which JSON always is.
    pub(super) fn of(record: &Record, n: u64, line: &[u8]) -> Option<Self> {
        let line: Arc<str> = std::str::from_utf8(line).ok()?.trim_end().into();
        let count = record.others.saturating_add(1);
        let recent = RecentRecord { n, decision: record.decision, line };
        Some(Self { record: recent, time: record.time, outcome: record.outcome, count })
    }
}

impl State {
    /// Number of the oldest record, or of the next one if there is none.
    fn oldest(&self) -> u64 {
        self.records.front().map_or(self.next, |record| record.n)
    }

    fn add(&mut self, fresh: Fresh) {
        self.count(&fresh);
        self.next = fresh.record.n.saturating_add(1);
        self.bytes = self.bytes.saturating_add(fresh.record.line.len());
        self.records.push_back(fresh.record);
        while self.records.len() > RECORDS || (self.bytes > BYTES && self.records.len() > 1) {
            let Some(oldest) = self.records.pop_front() else { return };
            self.bytes = self.bytes.saturating_sub(oldest.line.len());
        }
    }

    /// Counts a record in its minute. Minutes far from it are dropped, on either side, since a clock may be set back.
    fn count(&mut self, fresh: &Fresh) {
        let at = fresh.time / 60;
        if !self.minutes.contains_key(&at) {
            self.minutes.retain(|minute, _| minute.abs_diff(at) < MINUTES);
        }
        let minute = self.minutes.entry(at).or_default();
        let counter = match fresh.outcome {
            Outcome::Allowed => &mut minute.allowed,
            Outcome::Refused(code) => minute.refused.entry(code.as_str()).or_default(),
            Outcome::Abandoned | Outcome::OfPeople(_) => return,
        };
        *counter = counter.saturating_add(fresh.count);
    }
}

#[cfg(test)]
mod tests;
