//! Connections to one agent, on one core.
//!
//! Over HTTP/1.1 a connection carries one message at a time and is kept only after a reply was read to its end; over HTTP/2 it carries as
//! many at once as the agent takes, and each has a place on it before it is looked at for the last time ([`streams`]). Nothing is sent twice: a kept connection that turns out closed is replaced only when hyper gives
//! the request back, which it does only if none of it was written.

mod connect;
mod drive;
mod link;
mod streams;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::error::Error;
use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::time::Instant;

use crate::clock::unix_now;
use crate::config::Limits;

pub(crate) use connect::{ConnectFault, Connected, Connector, Met};
pub(crate) use drive::ReplyBody;
use link::Unanswered;
pub(crate) use link::{Link, Speak};
use streams::Carried;

/// How long a kept connection may take to be ready again.
const SETTLE: Duration = Duration::from_millis(50);

/// Connections to one agent. Not [`Send`]: it stays on its core.
pub(crate) struct Pool {
    connector: Connector,
    idle: RefCell<VecDeque<Idle>>,
    bounds: Bounds,
    /// HTTP/2: the connections, oldest first.
    shared: RefCell<Vec<Connected>>,
    /// Held by who opens it; the others wait for what comes.
    opening: tokio::sync::Mutex<()>,
    /// When opening it failed last.
    failed: Cell<Option<Instant>>,
}

/// How many connections there are, and how long what is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    idle: usize,
    idle_timeout: Duration,
    /// HTTP/2: connections open at once.
    shared: usize,
    /// For a place on one of them.
    wait: Duration,
}

impl Bounds {
    /// Those of a pool that keeps so many connections.
    pub(crate) fn keeping(idle: usize, limits: &Limits) -> Self {
        Self {
            idle,
            idle_timeout: limits.upstream_idle_timeout,
            shared: limits.upstream_http2_connections,
            wait: limits.upstream_wait,
        }
    }
}

struct Idle {
    open: Connected,
    since: Instant,
}

/// One connection, ready for one message.
pub(crate) struct Lease {
    open: Connected,
    /// Whether it has carried a message before, and so may have been closed meanwhile.
    kept: bool,
}

impl Lease {
    /// Who is at the other end.
    pub(crate) fn met(&self) -> Met {
        self.open.met.clone()
    }
}

/// Why no reply head came.
#[derive(Debug)]
pub(crate) enum SendFault {
    /// Not one byte of the message was written; the agent does not have it.
    NotSent,
    /// The agent said that it did not begin with the message: it ended the connection before, or refused the stream (RFC 9113 §8.7).
    NotTaken,
    /// It was written in part or whole, and then the connection ended.
    Lost,
    /// The agent did not take all of it while it might still be said.
    TakenBack,
    /// Bytes came back that are no head of an HTTP/1.1 response, or one past the bounds.
    Garbage,
}

impl SendFault {
    /// What hyper says of a request that it did not give back.
    fn of(fault: &hyper::Error) -> Self {
        let of_stream = fault.source().and_then(|source| source.downcast_ref::<h2::Error>());
        match of_stream.filter(|of_stream| of_stream.is_remote()) {
            // past the last id that the agent names, or the connection was retired before the stream began
            Some(of_stream) if of_stream.is_go_away() => Self::NotTaken,
            Some(of_stream) if of_stream.reason() == Some(h2::Reason::REFUSED_STREAM) => Self::NotTaken,
            // too many bytes or headers count as parsing too
            _ if fault.is_parse() => Self::Garbage,
            _ => Self::Lost,
        }
    }
}

/// What a message was allowed under is not in force any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved;

/// What is asked again of a message that did not go out at once.
#[derive(Clone, Copy)]
pub(crate) struct Allowed<'a> {
    /// Before another connection is used: nothing moved.
    pub(crate) still: &'a dyn Fn() -> Result<(), Moved>,
    /// While the agent takes its time over what was handed to a connection: as of a stream, its context counts and nobody was disabled.
    pub(crate) stands: &'a dyn Fn() -> Result<(), Moved>,
}

impl Allowed<'static> {
    /// What the gateway asks by itself, which nothing takes back.
    pub(crate) const ALWAYS: Self = Self { still: &|| Ok(()), stands: &|| Ok(()) };
}

impl Pool {
    pub(crate) fn new(connector: Connector, bounds: Bounds) -> Self {
        Self {
            connector,
            idle: RefCell::default(),
            bounds,
            shared: RefCell::default(),
            opening: tokio::sync::Mutex::new(()),
            failed: Cell::new(None),
        }
    }

    /// A kept connection that is still open, newest first, else a new one.
    ///
    /// # Errors
    /// Why none could be opened.
    pub(crate) async fn lease(&self) -> Result<Lease, ConnectFault> {
        if self.connector.speak() == Speak::Http2 {
            return Box::pin(self.share()).await;
        }
        loop {
            let Some(idle) = self.idle.borrow_mut().pop_back() else { return Box::pin(self.fresh()).await };
            if idle.since.elapsed() >= self.bounds.idle_timeout {
                // the rest is older still
                self.idle.borrow_mut().clear();
                continue;
            }
            let mut open = idle.open;
            if !open.met.counts(unix_now()) {
                continue;
            }
            // its reply was read to the end, so this waits only for its task to notice; an agent that answered before it had
            // read the whole request keeps it busy, and then it is given up
            let ready = tokio::time::timeout(SETTLE, poll_fn(|cx| open.link.poll_ready(cx))).await;
            if matches!(ready, Ok(Ok(()))) {
                return Ok(Lease { open, kept: true });
            }
        }
    }

    async fn fresh(&self) -> Result<Lease, ConnectFault> {
        if self.connector.speak() == Speak::Http2 {
            return self.share().await;
        }
        Ok(Lease { open: self.connector.connect().await?, kept: false })
    }

    /// A place on a connection of HTTP/2: on the first that has one, else on another, else on the first that gets one in time.
    async fn share(&self) -> Result<Lease, ConnectFault> {
        let came = Instant::now();
        loop {
            let freed = self.connector.freed().notified();
            if let Some(lease) = self.placed() {
                return Ok(lease);
            }
            let open = self.shared.borrow().len();
            let failed = self.failed.get().is_some_and(|failed| failed >= came);
            if failed && open == 0 {
                return Err(ConnectFault::Shared);
            }
            if !failed && open < self.bounds.shared {
                match self.another(open).await {
                    // where others are open a place on one of them will do
                    Err(fault) if self.shared.borrow().is_empty() => return Err(fault),
                    _ => continue,
                }
            }
            tokio::time::timeout_at(came + self.bounds.wait, freed).await.map_err(|_| ConnectFault::Full)?;
        }
    }

    /// Opens one more connection than the `open` ones, unless another message does so meanwhile.
    async fn another(&self, open: usize) -> Result<(), ConnectFault> {
        let came = Instant::now();
        let _turn = self.opening.lock().await;
        if self.shared.borrow().len() > open {
            return Ok(());
        }
        if self.failed.get().is_some_and(|failed| failed >= came) {
            return Err(ConnectFault::Shared);
        }
        let opened = self.connector.connect().await.inspect_err(|_| self.failed.set(Some(Instant::now())))?;
        self.shared.borrow_mut().push(opened);
        Ok(())
    }

    /// A place on the first connection that has one. Those that are closed, or whose peer's certificate counts no more, are forgotten.
    fn placed(&self) -> Option<Lease> {
        let mut shared = self.shared.borrow_mut();
        shared.retain(|open| !open.link.is_closed() && open.met.counts(unix_now()));
        let place = |open: &Connected| Some((open.link.placed()?, open.met.clone()));
        let (link, met) = shared.iter().find_map(place)?;
        Some(Lease { open: Connected { link, met }, kept: true })
    }

    /// A connection of its own for one request that asks for another protocol; it is never kept.
    ///
    /// # Errors
    /// Why none could be opened.
    pub(crate) async fn upgrading(&self) -> Result<Connected, ConnectFault> {
        self.connector.upgrading().connect().await
    }

    /// Sends one message and waits for the head of its reply. What allowed it is asked again before a connection that turned out
    /// closed, or full, is replaced: another takes time; and, over HTTP/2, while the agent does not take it.
    ///
    /// # Errors
    /// [`SendFault`], which says whether anything was written.
    pub(crate) async fn send(
        &self,
        mut lease: Lease,
        mut request: Request<Full<Bytes>>,
        allowed: Allowed<'_>,
    ) -> Result<(Lease, Response<ReplyBody>), SendFault> {
        if lease.open.link.fits() {
            let mut fault = match lease.open.link.send_while(request, allowed.stands).await {
                Ok(response) => return Ok((lease, response)),
                Err(Unanswered::Fault(fault)) => fault,
                Err(Unanswered::TakenBack) => return Err(SendFault::TakenBack),
            };
            // given back: hyper had not begun to write it
            let Some(back) = fault.take_message() else { return Err(SendFault::of(fault.error())) };
            request = back.map(Carried::bare);
        }
        if !lease.kept {
            return Err(SendFault::NotSent);
        }
        drop(lease);
        let mut lease = Box::pin(self.fresh()).await.map_err(|_| SendFault::NotSent)?;
        if let Err(Moved) = (allowed.still)() {
            self.keep(lease);
            return Err(SendFault::NotSent);
        }
        if !lease.open.link.fits() {
            return Err(SendFault::NotSent);
        }
        match lease.open.link.send_while(request, allowed.stands).await {
            Ok(response) => Ok((lease, response)),
            Err(Unanswered::Fault(fault)) if fault.message().is_some() => Err(SendFault::NotSent),
            Err(Unanswered::Fault(fault)) => Err(SendFault::of(fault.error())),
            Err(Unanswered::TakenBack) => Err(SendFault::TakenBack),
        }
    }

    /// Keeps a connection whose reply was read to its end.
    pub(crate) fn keep(&self, lease: Lease) {
        if lease.open.link.is_closed() || self.bounds.idle == 0 || self.connector.speak() == Speak::Http2 {
            return;
        }
        let mut idle = self.idle.borrow_mut();
        if idle.len() >= self.bounds.idle {
            idle.pop_front();
        }
        idle.push_back(Idle { open: lease.open, since: Instant::now() });
    }
}
