//! Liveness of the serving threads, for `/healthz`. Each thread answers a probe from one of its own tasks, so a thread
//! blocked by a task does not answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// The longest time for a serving thread's answer. It is many times the longest unit of work, and below the one-second
/// timeout of common probes.
const ANSWER: Duration = Duration::from_millis(900);
/// Maximum probes that wait for one thread.
const WAITING: usize = 4;

/// One probe: answered, or dropped with the thread.
type Question = oneshot::Sender<()>;

/// The probes' sending ends for all serving threads.
#[derive(Clone, Default)]
pub(crate) struct Health(Arc<[(String, mpsc::Sender<Question>)]>);

/// The probes' receiving end of one serving thread.
pub(crate) struct Questions(mpsc::Receiver<Question>);

impl Health {
    /// Creates a channel for each named thread; the receiving ends are in the same order.
    pub(crate) fn of(threads: impl IntoIterator<Item = String>) -> (Health, Vec<Questions>) {
        let lines = threads.into_iter().map(|name| {
            let (ask, questions) = mpsc::channel(WAITING);
            ((name, ask), Questions(questions))
        });
        let (asked, answering): (Vec<_>, _) = lines.unzip();
        (Health(asked.into()), answering)
    }

    /// Probes all threads at once. Returns the names of threads that have ended or did not answer in time.
    pub(crate) async fn silent(&self) -> Vec<String> {
        let waiting: Vec<_> =
            self.0.iter().map(|(name, ask)| (name, tokio::spawn(answers(ask.clone())))).collect();
        let mut silent = Vec::new();
        for (name, answer) in waiting {
            if !answer.await.unwrap_or(false) {
                silent.push(name.clone());
            }
        }
        silent
    }
}

/// Returns true if a thread answered in time.
async fn answers(ask: mpsc::Sender<Question>) -> bool {
    let answer = async {
        let (answer, answered) = oneshot::channel();
        ask.send(answer).await.is_ok() && answered.await.is_ok()
    };
    timeout(ANSWER, answer).await.unwrap_or(false)
}

impl Questions {
    /// Answers probes while the thread runs its tasks.
    pub(crate) async fn answer(mut self) {
        while let Some(question) = self.0.recv().await {
            // the probe may have timed out
            let _ = question.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc as blocking;

    /// A thread that answers, and that a task of its own holds while the returned sender lives.
    fn held(questions: Questions) -> blocking::Sender<()> {
        let (release, hold) = blocking::channel::<()>();
        let (begin, begun) = blocking::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            tokio::task::LocalSet::new().block_on(&runtime, async {
                let answering = tokio::task::spawn_local(questions.answer());
                tokio::task::spawn_local(async move {
                    begin.send(()).unwrap();
                    hold.recv().unwrap_err()
                });
                answering.await.unwrap();
            });
        });
        begun.recv().unwrap();
        release
    }

    #[tokio::test]
    async fn attack_a_task_that_holds_its_thread_is_seen_and_the_other_threads_are_not_blamed() {
        let (health, questions) = Health::of(["semgate-0", "semgate-1", "semgate-2"].map(str::to_owned));
        let mut questions = questions.into_iter();
        drop(held(questions.next().unwrap()));
        let release = held(questions.next().unwrap());
        assert_eq!(health.silent().await, ["semgate-1", "semgate-2"], "one is held and one never ran");
        let third = questions.next().unwrap();
        drop(held(third));
        drop(release);
        assert_eq!(health.silent().await, [""; 0], "released, it answers again");
    }
}
