//! Work on policy sets that takes milliseconds or seconds of a core, while messages are served beside it: reading, loading and taking apart.
//!
//! One thread does all of it, for as long as the gateway lives. What a set is made of is then freed where it was allocated: memory of a
//! thread that ended the allocator hands to whichever asks next, and one that serves would sort what is left of ten thousand policies.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use semgate_policies::gently;
use tokio::sync::oneshot;

use crate::fault::RunFault;

/// The nice value of the thread once messages are judged: its ten seconds at most for 10,000 policies must not be taken from them. At 10 the
/// kernel gives it about a tenth of a core that others want whole, so that a flood keeps no set from going live, and all of an idle one.
const NICE: i32 = 10;

type Job = Box<dyn FnOnce() + Send>;

/// The thread; it ends with the last of its handles, after what it was given.
#[derive(Clone, Debug)]
pub(crate) struct Aside(mpsc::Sender<Job>);

/// Whether messages wait for the work, or work for the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Haste {
    /// While nothing of the operator's is live there is no message to be kind to, and all wait for this.
    Awaited,
    /// The thread rests now and then, and has a low priority from now on: that cannot be taken back without rights that a gateway has not.
    GivesWay,
}

impl Aside {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system starts no more threads.
    pub(crate) fn start() -> Result<Self, RunFault> {
        let (jobs, given) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .name("semgate-policies".to_owned())
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

    /// Takes this apart there, whenever it comes to it.
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
                    gently(job)
                }
            }));
            drop(done.send(ended.ok()));
        };
        // the thread lives as long as this handle
        drop(self.0.send(Box::new(job)));
        result
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
