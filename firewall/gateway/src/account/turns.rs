//! The order in which the work of one core is done: in turns, by the agent that it is done for.
//!
//! Each connection is a task of its agent. An agent's turn polls one of its ready tasks, and a task does one unit of work in a turn (see
//! [`Turns::unit`]). So a ready task waits for one unit of each other agent that has work, however many requests these agents have sent.
//! Nothing else may spawn work for an agent on a serving thread.

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

/// Time after which sockets and timers are looked at, although tasks are ready. A look costs some 2 µs, so a hundredth of it.
const SLICE: Duration = Duration::from_micros(250);

/// Bytes that a task reads of its sockets in a turn: some thousands of the smallest frames, which take about a millisecond.
const READ: usize = 64 * 1024;

/// One task, and the agent that it works for.
struct Task {
    agent: Arc<str>,
    future: Pin<Box<dyn Future<Output = ()>>>,
}

/// The tasks of one core. Not [`Send`]: a task stays on its core.
pub(crate) struct Turns {
    tasks: RefCell<Slab<Option<Task>>>,
    ready: Arc<Mutex<Ready>>,
    /// The agents with tasks, each with the number of its queue and how many tasks it has.
    agents: RefCell<HashMap<Arc<str>, (usize, usize)>>,
    /// The task that has the turn has done its unit of work.
    worked: Cell<bool>,
    /// Bytes that the task that has the turn has read of sockets.
    read: Arc<AtomicUsize>,
}

/// Tasks that were woken, by agent.
#[derive(Default)]
struct Ready {
    queues: Slab<VecDeque<Arc<Mark>>>,
    /// Queues that are not empty, in the order of their turns.
    order: VecDeque<usize>,
    /// Whoever waits for the next ready task.
    driver: Option<Waker>,
}

/// The waker of one task.
struct Mark {
    ready: Arc<Mutex<Ready>>,
    task: usize,
    queue: usize,
    /// It is in its queue.
    queued: AtomicBool,
    /// The task is gone. Its number may be another's.
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
    /// Adds a task to its queue. Returns the driver that waits for one.
    fn push(&mut self, mark: Arc<Mark>) -> Option<Waker> {
        let at = mark.queue;
        let queue = self.queues.get_mut(at)?;
        queue.push_back(mark);
        if queue.len() == 1 {
            self.order.push_back(at);
        }
        self.driver.take()
    }

    /// The first task of the agent whose turn it is.
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

/// A thread that panicked while it held the lock left whole queues.
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

    /// Runs `future` in the turns of `agent`, until it is done or the core ends.
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

    /// The last task of an agent takes its queue along.
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

    /// Begins a unit of work: the judging of one request, reply or event. A task does one unit in a turn, and waits for its next turn
    /// with the second.
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

    /// The same stream, of which a task reads [`READ`] bytes in a turn and goes on in its next.
    pub(crate) fn reading<S>(&self, stream: S) -> Reading<S> {
        Reading { inner: stream, read: Some(Arc::clone(&self.read)) }
    }

    /// Polls ready tasks for as long as the core lives. Dropped, it drops every task.
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

    /// Polls tasks until none is ready, or sockets and timers are due. Returns whether they are due.
    fn slice(&self, first: Arc<Mark>) -> bool {
        let mut next = Some(first);
        let began = Instant::now();
        while let Some(mark) = next {
            self.poll(&mark);
            // all tasks share what tokio lets one of its own do before it looks at sockets
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
        // out of the room while it runs, since it may spawn another
        let task = self.tasks.borrow_mut().get_mut(mark.task).and_then(Option::take);
        let Some(mut task) = task else { return };
        // ordered before the poll: what was written before a wake that came too late for the queue is seen
        mark.queued.swap(false, Ordering::AcqRel);
        self.worked.set(false);
        self.read.store(0, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(mark));
        let polling = || task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        // a fault of one task ends that task alone, as a task of the runtime would end
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
        // its end may spawn or wake others, so nothing is borrowed here
        drop(catch_unwind(AssertUnwindSafe(|| drop(task))));
    }
}

/// A stream that is read in turns.
pub(crate) struct Reading<S> {
    inner: S,
    /// `None` on a thread that serves nobody.
    read: Option<Arc<AtomicUsize>>,
}

impl<S> Reading<S> {
    /// A stream that is read as bytes come.
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
