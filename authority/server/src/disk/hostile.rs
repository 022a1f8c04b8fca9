//! Disks that fail: full, read-only, broken, slow. For tests alone; each plan holds below one directory, so that tests do not meet.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use super::Step;

/// What a disk does to the steps that it is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Steps that still go well.
    pub good: usize,
    /// What those after them answer; none: they only take time.
    pub fault: Option<io::ErrorKind>,
    /// How many of them fail before the disk is well again.
    pub bad: usize,
    /// How long each step takes before it is done or fails.
    pub delay: Duration,
    /// Whether a step counts at all.
    pub counts: fn(Step, &Path) -> bool,
}

impl Plan {
    /// After `good` steps, this fault for ever.
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

/// From now on everything below `dir` goes by this plan; `None` heals it. Answers how many steps were asked for since the last call.
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
