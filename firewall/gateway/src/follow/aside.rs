//! Work on policy sets that takes milliseconds or seconds of a core, while messages are served beside it: reading, loading and taking apart.
//!
//! Each seat of policies has one thread that reads and loads, for as long as the gateway lives: memory of a thread that ended the allocator hands
//! to whichever asks next, and one that serves would sort what is left of ten thousand policies. Another one takes apart what was in
//! force, since a directory that blocks must not keep memory.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use semgate_policies::gently;
use tokio::sync::oneshot;

use crate::fault::RunFault;

/// The nice value of the thread once messages are judged: its ten seconds at most for 10,000 policies must not be taken from them. At 10 the
/// kernel gives it about a tenth of a core that one other wants whole, less beside several, and all of an idle one; so a flood delays a set and keeps none from
/// going live.
const NICE: i32 = 10;

/// The longest that policies are worked on without a rest, but for pieces that are longer ([`gently`]). Once a kernel gave a core
/// to a thread, of however low a priority, it lets it run on until the next tick of its clock, 4 ms on many systems and 10 on some, and
/// a message whose thread waits there waits as long. A fifth of what one is meant to wait at most, since it may meet this more than once.
const WORK: Duration = Duration::from_millis(1);

/// Asked for; what a rest takes is by the system's timers, a tenth of a millisecond on most. So a load takes a tenth longer. A thread that
/// sleeps gives its core away at once.
const REST: Duration = Duration::from_micros(50);

thread_local! {
    /// When the thread last rested.
    static RESTED: Cell<Option<Instant>> = const { Cell::new(None) };
}

type Job = Box<dyn FnOnce() + Send>;

/// The thread; it ends with the last of its handles, after what it was given.
#[derive(Clone, Debug)]
pub(crate) struct Aside(mpsc::Sender<Job>);

/// Whether messages wait for the work, or work for the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Haste {
    /// While nothing of the operator's is live there is no message to be kind to, and all wait for the set that will be.
    Awaited,
    /// The thread rests now and then, and has a low priority from now on: that cannot be taken back without rights that a gateway has not.
    GivesWay,
}

impl Aside {
    /// Starts a thread of this name.
    ///
    /// # Errors
    /// The system starts no more threads.
    pub(crate) fn start(name: &str) -> Result<Self, RunFault> {
        let (jobs, given) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || given.into_iter().for_each(|job| job()))
            .map_err(|why| RunFault::system("thread", why))?;
        Ok(Self(jobs))
    }

    /// Does this after what was given before. `None` if it panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        haste: Haste,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.give(haste, job).await.ok().flatten()
    }

    /// As [`Aside::run`] of what is awaited, for a thread that has nothing else to do.
    pub(super) fn wait<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (done, result) = mpsc::channel();
        drop(self.give(Haste::Awaited, move || drop(done.send(job()))));
        result.recv().ok()
    }

    /// Takes this apart there, whenever it comes to it; nobody waits for that.
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
            // what panics ends with its own set: the next is tried by the same thread
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

/// Rests if it is time to.
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

/// Lowers the priority of the calling thread; where that is not granted, it merely rests.
fn give_way() {
    // elsewhere it is the whole process that is meant
    #[cfg(target_os = "linux")]
    if rustix::process::getpriority_process(None).is_ok_and(|nice| nice < NICE) {
        let _ = rustix::process::setpriority_process(None, NICE);
    }
}

#[cfg(test)]
mod tests;
