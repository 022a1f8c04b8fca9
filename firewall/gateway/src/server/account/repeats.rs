//! Records of an agent's refusals. The first ten of a code in a minute have a record each. Then one record a second states
//! how many refusals it stands for.
//!
//! Otherwise an agent could fill the audit volume with refusals and block every other agent's messages.

use std::collections::BTreeMap;

use semgate_inspect::Code;

/// Number of refusals of one code in a minute that have their own record. More would not help an operator.
const EACH: u32 = 10;
const MINUTE_MS: u64 = 60_000;
/// Period that one later record covers.
const SECOND_MS: u64 = 1_000;

/// Form of a refusal's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recording {
    /// By a record, which also stands for `others` refusals of this code without a record.
    Whole { others: u64 },
    /// By the count in a later record.
    Counted,
}

/// The refusals of one agent, by code; or its other events with a record each, by kind.
#[derive(Debug)]
pub(super) struct Repeats<K = Code>(BTreeMap<K, Kind>);

impl<K> Default for Repeats<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

/// The refusals of one code.
#[derive(Debug)]
struct Kind {
    minute: u64,
    recorded: u32,
    last_ms: u64,
    counted: u64,
}

impl<K: Copy + Ord> Repeats<K> {
    pub(super) fn refusal(&mut self, code: K, now_ms: u64) -> Recording {
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

    /// Restores the counts of a record that found no room.
    pub(super) fn put_back(&mut self, code: K, count: u64, now_ms: u64) {
        let new = || Kind { minute: now_ms, recorded: 0, last_ms: now_ms, counted: 0 };
        let kind = self.0.entry(code).or_insert_with(new);
        kind.counted = kind.counted.saturating_add(count);
    }

    /// Takes the counts without a record, for codes last recorded at least a second ago. Forgets codes after a minute.
    pub(super) fn overdue(&mut self, now_ms: u64) -> Vec<(K, u64)> {
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

    /// Returns true while a remembered refusal still counts.
    pub(super) fn is_active(&self, now_ms: u64) -> bool {
        self.0.values().any(|kind| kind.counted > 0 || now_ms < kind.minute.saturating_add(MINUTE_MS))
    }
}
