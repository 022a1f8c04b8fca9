//! An HTTP/1.1 connection to an agent, driven by the exchange that uses it.
//!
//! hyper hands out a connection as a future that somebody has to poll. A task of its own would be woken for each piece of each exchange, and
//! would wake the exchange in turn. The exchange polls the connection itself, so a message costs no switch between tasks. A kept connection
//! is not polled; the pool polls it before the next message goes out, and learns then that the agent closed it.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

type Driven = Pin<Box<dyn Future<Output = ()>>>;

/// The connection of an exchange. The copies of one exchange share it; the connection closes with the last of them.
#[derive(Clone)]
pub(crate) struct Connection(Option<Rc<RefCell<Option<Driven>>>>);

impl Connection {
    /// A connection that moves only when [`Connection::drive`] is called.
    pub(super) fn new(connection: impl Future<Output = hyper::Result<()>> + 'static) -> Self {
        // a fault of the connection reaches the exchange through hyper's own channel
        let driven: Driven = Box::pin(async move { drop(connection.await) });
        Self(Some(Rc::new(RefCell::new(Some(driven)))))
    }

    /// A connection that a task drives.
    pub(super) const fn elsewhere() -> Self {
        Self(None)
    }

    /// Reads and writes what the socket takes now. The task of `cx` is woken when there is more.
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
        // asking for a frame is what lets hyper read one
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
