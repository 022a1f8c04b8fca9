//! Records of an agent's refusals: the first ten of one code in a minute, then one a second, which says how many it stands for.
//!
//! An agent that is refused as fast as it can ask would fill the volume of the audit, and then nobody's messages pass.

use std::collections::BTreeMap;

use semgate_inspect::Code;

/// Refusals of one code that are recorded each by itself in a minute: more than an operator reads of one fault.
const EACH: u32 = 10;
const MINUTE_MS: u64 = 60_000;
/// After them a record stands for all of a second.
const SECOND_MS: u64 = 1_000;

/// How a refusal is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recording {
    /// By a record, which also stands for so many refusals of this code that have none of their own.
    Whole { others: u64 },
    /// By the count in a later record.
    Counted,
}

/// The refusals of one agent.
#[derive(Debug, Default)]
pub(super) struct Repeats(BTreeMap<Code, Kind>);

/// The refusals of one code.
#[derive(Debug)]
struct Kind {
    minute: u64,
    recorded: u32,
    last_ms: u64,
    counted: u64,
}

impl Repeats {
    pub(super) fn refusal(&mut self, code: Code, now_ms: u64) -> Recording {
        let new = || Kind { minute: now_ms, recorded: 0, last_ms: now_ms, counted: 0 };
        let kind = self.0.entry(code).or_insert_with(new);
        if now_ms >= kind.minute.saturating_add(MINUTE_MS) {
            (kind.minute, kind.recorded) = (now_ms, 0);
        }
        if kind.recorded >= EACH && now_ms < kind.last_ms.saturating_add(SECOND_MS) {
            kind.counted = kind.counted.saturating_add(1);
            return Recording::Counted;
        }
        kind.recorded = kind.recorded.saturating_add(1);
        kind.last_ms = now_ms;
        Recording::Whole { others: std::mem::take(&mut kind.counted) }
    }

    /// Takes back the counts of a record that found no room.
    pub(super) fn put_back(&mut self, code: Code, count: u64, now_ms: u64) {
        let new = || Kind { minute: now_ms, recorded: 0, last_ms: now_ms, counted: 0 };
        let kind = self.0.entry(code).or_insert_with(new);
        kind.counted = kind.counted.saturating_add(count);
    }

    /// Takes the counts that no record holds yet, of codes that were recorded last a second ago or longer. Forgets codes after a minute.
    pub(super) fn overdue(&mut self, now_ms: u64) -> Vec<(Code, u64)> {
        self.0.retain(|_, kind| kind.counted > 0 || now_ms < kind.minute.saturating_add(MINUTE_MS));
        let due = self
            .0
            .iter_mut()
            .filter(|(_, kind)| kind.counted > 0 && now_ms >= kind.last_ms.saturating_add(SECOND_MS));
        due.map(|(code, kind)| {
            kind.last_ms = now_ms;
            (*code, std::mem::take(&mut kind.counted))
        })
        .collect()
    }

    /// Something is remembered that counts.
    pub(super) fn is_active(&self, now_ms: u64) -> bool {
        self.0.values().any(|kind| kind.counted > 0 || now_ms < kind.minute.saturating_add(MINUTE_MS))
    }
}
