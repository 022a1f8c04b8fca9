//! File descriptors: each follower takes one, and most systems grant a process 1,024 unless it asks for more.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors beside connections: the index, the log, threads, the listeners.
const OTHERS: u64 = 256;

/// Asks the system for as many descriptors as the configured connections may take, and warns if it grants fewer.
pub(super) fn raise_limit(connections: usize) {
    let wanted = (connections as u64).saturating_add(OTHERS);
    let now = getrlimit(Resource::Nofile);
    // None means no limit.
    let Some(current) = now.current.filter(|current| *current < wanted) else { return };
    let most = now.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: now.maximum });
    let granted = if raised.is_ok() { most } else { current };
    if granted < wanted {
        tracing::warn!(
            "the system allows {granted} open files, but `limits.connections` may need {wanted}: raise the limit of the process or lower `limits.connections`"
        );
    }
}
