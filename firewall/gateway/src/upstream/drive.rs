//! An HTTP/1.1 connection to an agent, driven by the exchange that uses it.
//!
//! hyper returns a connection as a future to poll. A separate task would wake for each piece of each exchange, and would wake
//! the exchange in turn. Here the exchange polls the connection itself, so a message needs no task switch. A kept connection
//! is not polled. The pool polls it before the next message, and learns then if the agent closed it.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

type Driven = Pin<Box<dyn Future<Output = ()>>>;

/// Connection of an exchange, whose copies share it. It closes with the last copy.
#[derive(Clone)]
pub(crate) struct Connection(Option<Rc<RefCell<Option<Driven>>>>);

impl Connection {
    /// A connection that moves only during [`Connection::drive`].
    pub(super) fn new(connection: impl Future<Output = hyper::Result<()>> + 'static) -> Self {
        // hyper's own channel reports a fault of the connection to the exchange
        let driven: Driven = Box::pin(async move { drop(connection.await) });
        Self(Some(Rc::new(RefCell::new(Some(driven)))))
    }

    /// A connection that a task drives.
    pub(super) const fn elsewhere() -> Self {
        Self(None)
    }

    /// Reads and writes as much as the socket allows now. Later readiness wakes the task of `cx`.
    pub(super) fn drive(&self, cx: &mut Context<'_>) {
        let Some(Ok(mut driven)) = self.0.as_deref().map(RefCell::try_borrow_mut) else { return };
        if driven.as_mut().is_some_and(|driven| driven.as_mut().poll(cx).is_ready()) {
            *driven = None;
        }
    }
}

impl Connection {
    /// Ends the connection. Its exchange fails.
    pub(super) fn end(&self) {
        if let Some(Ok(mut driven)) = self.0.as_deref().map(RefCell::try_borrow_mut) {
            *driven = None;
        }
    }
}

/// The body of an agent's answer. Reading it drives its connection.
pub(crate) struct ReplyBody {
    body: Incoming,
    connection: Connection,
}

impl ReplyBody {
    pub(super) fn new(body: Incoming, connection: Connection) -> Self {
        Self { body, connection }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        // hyper reads a frame only on request
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        this.connection.drive(cx);
        Pin::new(&mut this.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
