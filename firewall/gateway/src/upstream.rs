//! Connections to one agent, on one core.
//!
//! A connection carries one message at a time and is kept only after a reply was read to its end. Nothing is sent twice: a kept
//! connection that turns out closed is replaced only when hyper gives the request back, which it does only if none
//! of it was written.

mod connect;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::Instant;

use crate::path::unix_now;

pub(crate) use connect::{ConnectFault, Connected, Connector};

/// How long a kept connection may take to be ready again.
const SETTLE: Duration = Duration::from_millis(50);

/// Connections to one agent. Not [`Send`]: it stays on its core.
pub(crate) struct Pool {
    connector: Connector,
    idle: RefCell<VecDeque<Idle>>,
    max_idle: usize,
    idle_timeout: Duration,
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

/// Why no reply head came.
#[derive(Debug)]
pub(crate) enum SendFault {
    /// Not one byte of the message was written; the agent does not have it.
    NotSent,
    /// It was written in part or whole, and then the connection ended.
    Lost,
    /// Bytes came back that are no head of an HTTP/1.1 response, or one past the bounds.
    Garbage,
}

impl SendFault {
    /// What hyper says of a request that it did not give back.
    fn of(fault: &hyper::Error) -> Self {
        // too many bytes or headers count as parsing too
        if fault.is_parse() { Self::Garbage } else { Self::Lost }
    }
}

/// What a message was allowed under is not in force any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved;

impl Pool {
    pub(crate) fn new(connector: Connector, max_idle: usize, idle_timeout: Duration) -> Self {
        Self { connector, idle: RefCell::default(), max_idle, idle_timeout }
    }

    /// A kept connection that is still open, newest first, else a new one.
    ///
    /// # Errors
    /// Why none could be opened.
    pub(crate) async fn lease(&self) -> Result<Lease, ConnectFault> {
        loop {
            let Some(idle) = self.idle.borrow_mut().pop_back() else { return self.fresh().await };
            if idle.since.elapsed() >= self.idle_timeout {
                // the rest is older still
                self.idle.borrow_mut().clear();
                continue;
            }
            let mut open = idle.open;
            if open.not_after.is_some_and(|end| unix_now() > end) {
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
        Ok(Lease { open: self.connector.connect().await?, kept: false })
    }

    /// Sends one message and waits for the head of its reply. `still` is asked again before a connection that turned out
    /// closed is replaced: opening another takes time, and what allowed the message may have moved.
    ///
    /// # Errors
    /// [`SendFault`], which says whether anything was written.
    pub(crate) async fn send(
        &self,
        mut lease: Lease,
        request: Request<Full<Bytes>>,
        still: &dyn Fn() -> Result<(), Moved>,
    ) -> Result<(Lease, Response<Incoming>), SendFault> {
        let mut fault = match lease.open.link.try_send_request(request).await {
            Ok(response) => return Ok((lease, response)),
            Err(fault) => fault,
        };
        // given back: hyper had not begun to write it
        let Some(request) = fault.take_message() else { return Err(SendFault::of(fault.error())) };
        if !lease.kept {
            return Err(SendFault::NotSent);
        }
        let mut lease = self.fresh().await.map_err(|_| SendFault::NotSent)?;
        if let Err(Moved) = still() {
            self.keep(lease);
            return Err(SendFault::NotSent);
        }
        match lease.open.link.try_send_request(request).await {
            Ok(response) => Ok((lease, response)),
            Err(fault) if fault.message().is_some() => Err(SendFault::NotSent),
            Err(fault) => Err(SendFault::of(fault.error())),
        }
    }

    /// Keeps a connection whose reply was read to its end.
    pub(crate) fn keep(&self, lease: Lease) {
        if lease.open.link.is_closed() || self.max_idle == 0 {
            return;
        }
        let mut idle = self.idle.borrow_mut();
        if idle.len() >= self.max_idle {
            idle.pop_front();
        }
        idle.push_back(Idle { open: lease.open, since: Instant::now() });
    }
}
