//! Records of refusals that were counted and not recorded one by one.

use std::time::{Duration, Instant};

use semgate_inspect::{Facts, Now};

use super::{Outcome, Record};
use crate::decision::Decisions;
use crate::lane::Shared;

/// How often counts are written down.
const EVERY: Duration = Duration::from_secs(1);

/// Writes a record for each agent and code whose last refusals were only counted, until the gateway ends.
pub(crate) async fn record_counts(shared: &Shared) {
    let decisions = Decisions::new();
    loop {
        tokio::time::sleep(EVERY).await;
        record_due(shared, &decisions, shared.now());
    }
}

/// The same once, for everything that was counted so far.
pub(crate) fn record_last(shared: &Shared) {
    record_due(shared, &Decisions::new(), Now { monotonic_ms: u64::MAX, ..shared.now() });
}

fn record_due(shared: &Shared, decisions: &Decisions, now: Now) {
    for (sender, code, count) in shared.accounts.unrecorded(now) {
        let facts = Facts { sender: sender.as_ref().to_owned(), ..Facts::default() };
        let record = Record::of(decisions.next(), Outcome::Refused(code), facts, Instant::now());
        let _ = shared.audit.record(Record { others: count.saturating_sub(1), ..record });
    }
}
