//! Records of refusals that were only counted.

use std::time::{Duration, Instant};

use semgate_inspect::{Facts, Now};

use super::{Outcome, Record};
use crate::pipeline::decision::Decisions;
use crate::server::shared::Shared;

/// Interval between records of counts.
const EVERY: Duration = Duration::from_secs(1);

/// Periodically writes a record for each agent and code with counted refusals, until the gateway ends.
pub(crate) async fn record_counts(shared: &Shared) {
    let decisions = Decisions::new();
    loop {
        tokio::time::sleep(EVERY).await;
        record_due(shared, &decisions, shared.now());
    }
}

/// Writes the records once, for everything counted so far.
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
