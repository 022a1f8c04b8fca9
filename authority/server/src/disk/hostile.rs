//! Failing disks: full, read-only, broken, slow. For tests alone; each plan holds below one directory, so that tests do not affect each
//! other.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use super::Step;

/// The plan of a failing disk.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Steps that succeed first.
    pub good: usize,
    /// Fault of the steps after those; none only delays them.
    pub fault: Option<io::ErrorKind>,
    /// Number of failing steps before the disk recovers.
    pub bad: usize,
    /// Delay of each step before it is done or fails.
    pub delay: Duration,
    /// Selects the steps that count.
    pub counts: fn(Step, &Path) -> bool,
}

impl Plan {
    /// Fails for ever after `good` steps.
    pub fn after(good: usize, fault: io::ErrorKind) -> Self {
        Self { good, fault: Some(fault), bad: usize::MAX, delay: Duration::ZERO, counts: |_, _| true }
    }
}

#[derive(Default)]
struct Disk {
    plan: Option<Plan>,
    asked: usize,
}

static DISKS: LazyLock<Mutex<HashMap<PathBuf, Disk>>> = LazyLock::new(Mutex::default);

/// Applies this plan to everything below `dir`; `None` heals it. Returns the number of steps since the last call.
pub(crate) fn turn(dir: &Path, plan: Option<Plan>) -> usize {
    let mut disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    let disk = disks.entry(dir.to_path_buf()).or_default();
    disk.plan = plan;
    std::mem::take(&mut disk.asked)
}

pub(super) fn hostile(step: Step, path: &Path) -> io::Result<()> {
    let (delay, answer) = {
        let mut disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, disk)) = disks.iter_mut().find(|(dir, _)| path.starts_with(dir)) else { return Ok(()) };
        disk.asked += 1;
        let Some(plan) = disk.plan.as_mut().filter(|plan| (plan.counts)(step, path)) else { return Ok(()) };
        if plan.good > 0 {
            plan.good -= 1;
            (plan.delay, Ok(()))
        } else if let (Some(kind), 1..) = (plan.fault, plan.bad) {
            plan.bad = plan.bad.saturating_sub(usize::from(plan.bad != usize::MAX));
            (plan.delay, Err(kind.into()))
        } else {
            (plan.delay, Ok(()))
        }
    };
    std::thread::sleep(delay);
    answer
}
