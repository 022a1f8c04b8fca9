//! Slow work on policy sets (reading, loading and dropping) next to the serving of messages. It takes milliseconds or seconds
//! of a core.
//!
//! Each policy set has one thread for reading and loading, for the lifetime of the gateway. If it ended, the allocator would
//! give its memory to the next thread. A serving thread would then have to sort the remains of ten thousand policies. A
//! second thread drops former sets, since a blocked directory must not hold memory.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use semgate_policies::gently;
use tokio::sync::oneshot;

use crate::fault::RunFault;

/// Nice value of the thread once messages are judged: loading 10,000 policies takes up to ten seconds of a core. At 10 it
/// gets about a tenth of a core that another thread wants whole, and all of an idle one. So a flood of messages delays a set
/// but never stops it.
const NICE: i32 = 10;

/// The longest work without a rest, except for longer units ([`gently`]). A kernel lets a thread of any priority run on until
/// the next clock tick, 4 ms or 10 ms on usual systems. A message on that core waits as long. The value is a fifth of its
/// maximum wait, since it may meet several rests.
const WORK: Duration = Duration::from_millis(1);

/// Requested length of a rest. Timers add about a tenth of a millisecond on most systems, so a load takes a tenth longer. A
/// sleeping thread releases its core at once.
const REST: Duration = Duration::from_micros(50);

thread_local! {
    /// Time of the thread's last rest.
    static RESTED: Cell<Option<Instant>> = const { Cell::new(None) };
}

type Job = Box<dyn FnOnce() + Send>;

/// Handle of the thread, which ends after its jobs once the last handle is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Aside(mpsc::Sender<Job>);

/// Priority of the work relative to messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Haste {
    /// Messages wait for the work, since no policies of the operator are live yet.
    Awaited,
    /// The thread rests now and then and lowers its priority for good. Raising it again would need rights that a gateway does
    /// not have.
    GivesWay,
}

impl Aside {
    /// Starts a thread of this name.
    ///
    /// # Errors
    /// The system cannot start another thread.
    pub(crate) fn start(name: &str) -> Result<Self, RunFault> {
        let (jobs, given) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || given.into_iter().for_each(|job| job()))
            .map_err(|why| RunFault::system("thread", why))?;
        Ok(Self(jobs))
    }

    /// Runs a job after all earlier ones. `None` if it panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        haste: Haste,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.give(haste, job).await.ok().flatten()
    }

    /// Runs an awaited job like [`Aside::run`], for a thread without other work.
    pub(super) fn wait<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (done, result) = mpsc::channel();
        drop(self.give(Haste::Awaited, move || drop(done.send(job()))));
        result.recv().ok()
    }

    /// Drops a value on the thread at some later time.
    pub(super) fn bury(&self, what: impl Send + 'static) {
        drop(self.give(Haste::GivesWay, move || drop(what)));
    }

    fn give<T: Send + 'static>(
        &self,
        haste: Haste,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> oneshot::Receiver<Option<T>> {
        let (done, result) = oneshot::channel();
        let job = move || {
            // a panic ends only this job; the same thread runs the next
            let ended = catch_unwind(AssertUnwindSafe(|| match haste {
                Haste::Awaited => job(),
                Haste::GivesWay => {
                    give_way();
                    RESTED.set(Some(Instant::now()));
                    gently(rest, job)
                }
            }));
            drop(done.send(ended.ok()));
        };
        // the thread lives as long as this handle
        drop(self.0.send(Box::new(job)));
        result
    }
}

/// Rests if it is due.
fn rest() {
    let now = Instant::now();
    match RESTED.get() {
        Some(rested) if now.saturating_duration_since(rested) < WORK => {}
        Some(_) => {
            std::thread::sleep(REST);
            RESTED.set(Some(Instant::now()));
        }
        None => RESTED.set(Some(now)),
    }
}

/// Lowers the priority of the calling thread. If the system refuses, it only rests.
fn give_way() {
    // on other systems the call affects the whole process
    #[cfg(target_os = "linux")]
    if rustix::process::getpriority_process(None).is_ok_and(|nice| nice < NICE) {
        let _ = rustix::process::setpriority_process(None, NICE);
    }
}

#[cfg(test)]
mod tests;
