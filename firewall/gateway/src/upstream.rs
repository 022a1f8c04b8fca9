//! Connections to one agent, on one core.
//!
//! Over HTTP/1.1 a connection carries one message at a time. It is kept only after a reply was read to its end. Over HTTP/2
//! it carries as many at once as the agent allows, and each takes a slot before its last check ([`streams`]). Nothing is
//! sent twice. A closed connection is replaced only if hyper returns the request, which means that none of it was written.

pub(crate) mod address;
mod connect;
mod drive;
pub(crate) mod egress;
pub(crate) mod internal_addresses;
mod link;
mod opener;
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

pub(crate) use connect::{ConnectFault, Connected, Connector, Met, RouteMaterials};
pub(crate) use drive::ReplyBody;
use link::Unanswered;
pub(crate) use link::{Link, Speak};
pub(crate) use opener::AgentOpener;
use streams::Carried;

/// Silence of a kept connection: Node.js and uvicorn close theirs after 5 s.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// HTTP/2: wait for a place. With `upstream_timeout` it stays within `drain_timeout`.
const WAIT: Duration = Duration::from_secs(5);

/// Maximum time for a kept connection to become ready.
const SETTLE: Duration = Duration::from_millis(50);

/// Connections to one agent. Not [`Send`]: the pool stays on its core.
pub(crate) struct Pool {
    connector: Connector,
    idle: RefCell<VecDeque<Idle>>,
    bounds: Bounds,
    /// HTTP/2: the connections, oldest first.
    shared: RefCell<Vec<Connected>>,
    /// Held by the task that opens a connection; the others wait for its result.
    opening: tokio::sync::Mutex<()>,
    /// Time of the last failed attempt to open one.
    failed: Cell<Option<Instant>>,
}

/// Number of connections, and wait times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    idle: usize,
    idle_timeout: Duration,
    /// HTTP/2: number of open connections.
    shared: usize,
    /// HTTP/2: time to wait for a slot.
    wait: Duration,
}

impl Bounds {
    /// Limits of a pool that keeps this many connections.
    pub(crate) fn keeping(idle: usize, limits: &Limits) -> Self {
        Self { idle, idle_timeout: IDLE_TIMEOUT, shared: limits.upstream_http2_connections, wait: WAIT }
    }
}

struct Idle {
    open: Connected,
    since: Instant,
}

/// One connection, ready for one message.
pub(crate) struct Lease {
    open: Connected,
    /// True if it has carried a message before, and so may be closed by now.
    kept: bool,
}

impl Lease {
    /// Identity of the peer.
    pub(crate) fn met(&self) -> Met {
        self.open.met.clone()
    }
}

/// Reason for a missing reply head.
#[derive(Debug)]
pub(crate) enum SendFault {
    /// No byte of the message was written; the agent does not have it.
    NotSent,
    /// The agent did not begin with the message: it closed the connection before, or refused the stream (RFC 9113 §8.7).
    NotTaken,
    /// The connection ended after the message was written in part or whole.
    Lost,
    /// The permission ended before the agent had taken the whole message.
    TakenBack,
    /// The answer has no valid HTTP/1.1 head, or a head above the limits.
    Garbage,
}

impl SendFault {
    /// Converts hyper's error for a request that it did not return.
    fn of(fault: &hyper::Error) -> Self {
        let of_stream = fault.source().and_then(|source| source.downcast_ref::<h2::Error>());
        match of_stream.filter(|of_stream| of_stream.is_remote()) {
            // the stream is past the agent's last id, or the connection was retired before the stream began
            Some(of_stream) if of_stream.is_go_away() => Self::NotTaken,
            Some(of_stream) if of_stream.reason() == Some(h2::Reason::REFUSED_STREAM) => Self::NotTaken,
            // too many bytes or headers count as parse errors too
            _ if fault.is_parse() => Self::Garbage,
            _ => Self::Lost,
        }
    }
}

/// The basis of a permit is no longer in force.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved;

/// Checks repeated for a message that does not go out at once.
#[derive(Clone, Copy)]
pub(crate) struct Allowed<'a> {
    /// Check before a second connection is used: nothing has changed.
    pub(crate) still: &'a dyn Fn() -> Result<(), Moved>,
    /// Check while the agent is slow to read: the context still counts, and nobody was disabled.
    pub(crate) stands: &'a dyn Fn() -> Result<(), Moved>,
}

impl Allowed<'static> {
    /// Checks for the gateway's own requests, which never lose their basis.
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

    /// Takes the newest kept connection that is still open, or opens one.
    ///
    /// # Errors
    /// Reason why none could be opened.
    pub(crate) async fn lease(&self) -> Result<Lease, ConnectFault> {
        if self.connector.speak() == Speak::Http2 {
            return Box::pin(self.share()).await;
        }
        loop {
            let Some(idle) = self.idle.borrow_mut().pop_back() else { return Box::pin(self.fresh()).await };
            if idle.since.elapsed() >= self.bounds.idle_timeout {
                // the others are older still
                self.idle.borrow_mut().clear();
                continue;
            }
            let mut open = idle.open;
            if !open.met.counts(unix_now()) {
                continue;
            }
            // its reply was read to the end, so this only waits for its task to notice. An agent that answered before it had
            // read the whole request keeps it busy, and then it is dropped
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

    /// Takes a slot on an open HTTP/2 connection, else on a new one, else on the first that becomes free in time.
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
                    // another open connection may still get a slot
                    Err(fault) if self.shared.borrow().is_empty() => return Err(fault),
                    _ => continue,
                }
            }
            tokio::time::timeout_at(came + self.bounds.wait, freed).await.map_err(|_| ConnectFault::Full)?;
        }
    }

    /// Opens a connection besides the `open` ones, unless another message does so meanwhile.
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

    /// Takes a slot on the first connection with a free one. Drops connections that are closed or whose peer's certificate
    /// no longer counts.
    fn placed(&self) -> Option<Lease> {
        let mut shared = self.shared.borrow_mut();
        shared.retain(|open| !open.link.is_closed() && open.met.counts(unix_now()));
        let slot = |open: &Connected| Some((open.link.placed()?, open.met.clone()));
        let (link, met) = shared.iter().find_map(slot)?;
        Some(Lease { open: Connected { link, met }, kept: true })
    }

    /// Opens a connection for one request that asks for another protocol; it is never kept.
    ///
    /// # Errors
    /// Reason why none could be opened.
    pub(crate) async fn upgrading(&self) -> Result<Connected, ConnectFault> {
        self.connector.upgrading().connect().await
    }

    /// Sends one message and waits for the head of its reply. The permission is checked again before a closed or full
    /// connection is replaced, since that takes time. Over HTTP/2 it is also checked while the agent does not take the
    /// message.
    ///
    /// # Errors
    /// [`SendFault`], which states if anything was written.
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
            // returned: hyper had not begun to write it
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
