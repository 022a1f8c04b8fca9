//! Scheduler of one core. Agents take turns, so that each gets its share of the processor.
//!
//! Each connection is a task of its agent. In its turn, an agent has one of its ready tasks polled. A task does one unit of
//! work in a turn (see [`Turns::unit`]). So a ready task waits for at most one unit of each other busy agent, however many
//! requests they have sent. Nothing else may spawn work for an agent on a serving thread.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use slab::Slab;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[cfg(test)]
mod tests;

/// Time after which sockets and timers are polled although tasks are ready. A poll costs about 2 µs, a hundredth of the
/// slice.
const SLICE: Duration = Duration::from_micros(250);

/// Number of bytes that a task reads from its sockets in a turn. The smallest frames of that size take about a millisecond.
const READ: usize = 64 * 1024;

/// One task and its agent.
struct Task {
    agent: Arc<str>,
    future: Pin<Box<dyn Future<Output = ()>>>,
}

/// The tasks of one core. Not [`Send`]: a task stays on its core.
pub(crate) struct Turns {
    tasks: RefCell<Slab<Option<Task>>>,
    ready: Arc<Mutex<Ready>>,
    /// Agents with tasks: the number of each agent's queue, and its number of tasks.
    agents: RefCell<HashMap<Arc<str>, (usize, usize)>>,
    /// Set once the running task has done its unit of work.
    worked: Cell<bool>,
    /// Number of bytes that the running task has read from sockets.
    read: Arc<AtomicUsize>,
}

/// Woken tasks, by agent.
#[derive(Default)]
struct Ready {
    queues: Slab<VecDeque<Arc<Mark>>>,
    /// Nonempty queues, in the order of their turns.
    order: VecDeque<usize>,
    /// Waker of the driver that waits for the next ready task.
    driver: Option<Waker>,
}

/// The waker of one task.
struct Mark {
    ready: Arc<Mutex<Ready>>,
    task: usize,
    queue: usize,
    /// Set while the task is in its queue.
    queued: AtomicBool,
    /// Set once the task has ended. Another task may then have its number.
    done: AtomicBool,
}

impl Wake for Mark {
    fn wake(self: Arc<Self>) {
        Self::wake_by_ref(&self);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.done.load(Ordering::Acquire) || self.queued.swap(true, Ordering::AcqRel) {
            return;
        }
        let driver = lock(&self.ready).push(Arc::clone(self));
        if let Some(driver) = driver {
            driver.wake();
        }
    }
}

impl Ready {
    /// Adds a task to its queue. Returns the waker of a waiting driver.
    fn push(&mut self, mark: Arc<Mark>) -> Option<Waker> {
        let at = mark.queue;
        let queue = self.queues.get_mut(at)?;
        queue.push_back(mark);
        if queue.len() == 1 {
            self.order.push_back(at);
        }
        self.driver.take()
    }

    /// Takes the first task of the next agent.
    fn pop(&mut self) -> Option<Arc<Mark>> {
        let at = self.order.pop_front()?;
        let queue = self.queues.get_mut(at)?;
        let mark = queue.pop_front();
        if !queue.is_empty() {
            self.order.push_back(at);
        }
        mark
    }
}

/// Locks and ignores poisoning: the queues stay whole if a thread panics while it holds the lock.
fn lock(ready: &Mutex<Ready>) -> MutexGuard<'_, Ready> {
    ready.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Turns {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self {
            tasks: RefCell::default(),
            ready: Arc::default(),
            agents: RefCell::default(),
            worked: Cell::new(false),
            read: Arc::default(),
        })
    }

    /// Runs `future` in the turns of `agent`, until it ends or the core stops.
    pub(crate) fn spawn(self: &Rc<Self>, agent: &Arc<str>, future: impl Future<Output = ()> + 'static) {
        let queue = self.enter(agent);
        let task = Task { agent: Arc::clone(agent), future: Box::pin(future) };
        let number = self.tasks.borrow_mut().insert(Some(task));
        let mark = Mark {
            ready: Arc::clone(&self.ready),
            task: number,
            queue,
            queued: AtomicBool::new(false),
            done: AtomicBool::new(false),
        };
        Arc::new(mark).wake();
    }

    fn enter(&self, agent: &Arc<str>) -> usize {
        let mut agents = self.agents.borrow_mut();
        if let Some((queue, tasks)) = agents.get_mut(agent) {
            *tasks = tasks.saturating_add(1);
            return *queue;
        }
        let queue = lock(&self.ready).queues.insert(VecDeque::new());
        agents.insert(Arc::clone(agent), (queue, 1));
        queue
    }

    /// Removes a task of the agent. The last task removes the agent's queue too.
    fn leave(&self, agent: &Arc<str>) {
        let mut agents = self.agents.borrow_mut();
        let Some((queue, tasks)) = agents.get_mut(agent) else { return };
        *tasks = tasks.saturating_sub(1);
        if *tasks == 0 {
            let queue = *queue;
            agents.remove(agent);
            let mut ready = lock(&self.ready);
            ready.order.retain(|at| *at != queue);
            ready.queues.try_remove(queue);
        }
    }

    /// Begins a unit of work: the inspection of one request, reply or event. A task does one unit in a turn, and waits for
    /// its next turn before the second.
    pub(crate) async fn unit(&self) {
        poll_fn(|cx| {
            if !self.worked.replace(true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Wraps the stream. A task reads [`READ`] bytes from it in a turn, and continues in its next turn.
    pub(crate) fn reading<S>(&self, stream: S) -> Reading<S> {
        Reading { inner: stream, read: Some(Arc::clone(&self.read)) }
    }

    /// Polls ready tasks for the lifetime of the core. Dropping the future drops every task.
    pub(crate) async fn run(self: Rc<Self>) {
        struct Ended(Rc<Turns>);
        impl Drop for Ended {
            fn drop(&mut self) {
                let tasks = std::mem::take(&mut *self.0.tasks.borrow_mut());
                drop(tasks);
            }
        }
        let turns = Ended(self);
        loop {
            let mark = poll_fn(|cx| turns.0.next(cx)).await;
            if turns.0.slice(mark) {
                tokio::task::yield_now().await;
            }
        }
    }

    fn next(&self, cx: &Context<'_>) -> Poll<Arc<Mark>> {
        let mut ready = lock(&self.ready);
        if let Some(mark) = ready.pop() {
            return Poll::Ready(mark);
        }
        ready.driver = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Polls tasks until none is ready, or sockets and timers are due. Returns true if they are due.
    fn slice(&self, first: Arc<Mark>) -> bool {
        let mut next = Some(first);
        let began = Instant::now();
        while let Some(mark) = next {
            self.poll(&mark);
            // all tasks share tokio's budget for one task before it polls sockets
            if !tokio::task::coop::has_budget_remaining() || began.elapsed() >= SLICE {
                return true;
            }
            next = lock(&self.ready).pop();
        }
        false
    }

    fn poll(&self, mark: &Arc<Mark>) {
        if mark.done.load(Ordering::Acquire) {
            return;
        }
        // taken out while it runs, since it may spawn another
        let task = self.tasks.borrow_mut().get_mut(mark.task).and_then(Option::take);
        let Some(mut task) = task else { return };
        // ordered before the poll, which then sees every write made before a wake that came too late for the queue
        mark.queued.swap(false, Ordering::AcqRel);
        self.worked.set(false);
        self.read.store(0, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(mark));
        let polling = || task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        // a panic ends this task alone, as it would in tokio
        let done = catch_unwind(AssertUnwindSafe(polling)).unwrap_or(true);
        if !done {
            if let Some(room) = self.tasks.borrow_mut().get_mut(mark.task) {
                *room = Some(task);
            }
            return;
        }
        mark.done.store(true, Ordering::Release);
        self.tasks.borrow_mut().try_remove(mark.task);
        self.leave(&task.agent);
        // dropping it may spawn or wake others, so nothing is borrowed here
        drop(catch_unwind(AssertUnwindSafe(|| drop(task))));
    }
}

/// A stream that is read in turns.
pub(crate) struct Reading<S> {
    inner: S,
    /// `None` on a thread that serves no caller.
    read: Option<Arc<AtomicUsize>>,
}

impl<S> Reading<S> {
    /// Wraps a stream that is read without turns.
    pub(crate) const fn at_once(stream: S) -> Self {
        Self { inner: stream, read: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Reading<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let Some(so_far) = &this.read else { return Pin::new(&mut this.inner).poll_read(cx, buffer) };
        if so_far.load(Ordering::Relaxed) >= READ {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let poll = Pin::new(&mut this.inner).poll_read(cx, buffer);
        let read = buffer.filled().len().saturating_sub(before);
        so_far.fetch_add(read, Ordering::Relaxed);
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Reading<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write_vectored(cx, slices)
    }
}
