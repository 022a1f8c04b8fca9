//! Number of open streams on one HTTP/2 connection to an agent, and the agent's maximum (RFC 9113 §5.1.2).
//!
//! Above the agent's maximum, the HTTP library queues a message and writes it when a stream ends, even if its permit no
//! longer counts. So each message needs a [`StreamSlot`] on the connection, taken before the permit's last check. A body that
//! waits for flow control (§5.2) is held in [`Piece`]s, so that its sender can see the wait.

use std::cell::{Cell, OnceCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use hyper::rt::Executor;
use tokio::sync::Notify;

use crate::server::executor::OnThisCore;

/// Streams of one connection. Not [`Send`]: the value stays on its core.
pub(crate) struct Streams {
    open: Cell<usize>,
    /// The agent's latest maximum; no places exist before its first statement.
    most: OnceCell<Box<dyn Fn() -> usize>>,
    /// The maximum at the last check.
    seen: Cell<usize>,
    under_way: Cell<UnderWay>,
    /// True once nothing more is sent. Open streams continue to their end.
    retired: Cell<bool>,
    /// Notified when a slot may be free.
    freed: Arc<Notify>,
}

/// Progress of a message handed to the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnderWay {
    No,
    /// Without a stream number yet.
    Handed,
    /// With a stream number. The stream opens when the connection is next driven, if the agent allows it.
    Numbered,
}

impl Streams {
    pub(super) fn new(freed: Arc<Notify>) -> Rc<Self> {
        Rc::new(Self {
            open: Cell::new(0),
            most: OnceCell::new(),
            seen: Cell::new(0),
            under_way: Cell::new(UnderWay::No),
            retired: Cell::new(false),
            freed,
        })
    }

    /// Records the end of the handshake. `most` returns the agent's maximum.
    pub(super) fn begun(&self, most: Box<dyn Fn() -> usize>) {
        let _ = self.most.set(most);
    }

    /// The agent's maximum of streams; 0 before its first settings.
    pub(super) fn most(&self) -> usize {
        self.most.get().map_or(0, |most| most())
    }

    /// Takes a slot for one message, if one is free.
    pub(super) fn take(self: &Rc<Self>) -> Option<Rc<StreamSlot>> {
        if self.retired.get() || self.open.get() >= self.most() {
            return None;
        }
        self.open.set(self.open.get() + 1);
        Some(Rc::new(StreamSlot(Rc::clone(self))))
    }

    /// Returns true if the taken places still fit the agent's maximum.
    pub(super) fn fit(&self) -> bool {
        self.open.get() <= self.most()
    }

    /// Records a message handed to the connection.
    pub(super) fn handed(&self) {
        self.under_way.set(UnderWay::Handed);
    }

    /// Records that the messages handed over have stream numbers.
    pub(super) fn numbered(&self) {
        if self.under_way.get() == UnderWay::Handed {
            self.under_way.set(UnderWay::Numbered);
        }
    }

    /// Records that the connection takes no more messages: it has ended, or the agent retired it (GOAWAY).
    pub(super) fn over(&self) {
        self.retired.set(true);
        self.freed.notify_waiters();
    }

    /// Records that the connection was driven. Ready if the connection must end. That happens if the agent lowered its
    /// maximum just as a message was handed over. The message may then be queued, and nothing else can remove it.
    fn driven(&self) -> Poll<()> {
        // a retired connection cannot be asked any more, and its streams stay open
        let most = if self.retired.get() { self.seen.get() } else { self.most() };
        if self.under_way.get() != UnderWay::No && self.open.get() > most {
            return Poll::Ready(());
        }
        if self.under_way.get() == UnderWay::Numbered {
            self.under_way.set(UnderWay::No);
        }
        if self.seen.replace(most) != most {
            self.freed.notify_waiters();
        }
        Poll::Pending
    }
}

/// A slot on a connection. The waiting caller holds it until the reply was read, and the message until it was written.
pub(crate) struct StreamSlot(Rc<Streams>);

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get().saturating_sub(1));
        self.0.freed.notify_waiters();
    }
}

/// A message on its way to a connection.
pub(crate) struct Carried {
    body: Full<Bytes>,
    slot: Option<Rc<StreamSlot>>,
    unwritten: Option<Arc<()>>,
}

/// Marks a message that is not fully written.
pub(super) struct Unwritten(Weak<()>);

impl Unwritten {
    /// Returns false once the last byte was written, or nothing more of the message will be.
    pub(super) fn is_any(&self) -> bool {
        self.0.strong_count() > 0
    }
}

/// Part of a body, held by the connection until it is written.
pub(crate) struct Piece {
    bytes: Bytes,
    _unwritten: Option<Arc<()>>,
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }

    fn copy_to_bytes(&mut self, length: usize) -> Bytes {
        self.bytes.copy_to_bytes(length)
    }
}

impl Carried {
    pub(super) fn new(body: Full<Bytes>, slot: Option<Rc<StreamSlot>>) -> Self {
        Self { body, slot, unwritten: None }
    }

    /// The message, and its mark while unwritten.
    pub(super) fn watched(body: Full<Bytes>, slot: Option<Rc<StreamSlot>>) -> (Self, Unwritten) {
        let unwritten = Arc::new(());
        let watch = Unwritten(Arc::downgrade(&unwritten));
        (Self { body, slot, unwritten: Some(unwritten) }, watch)
    }

    /// The returned message.
    pub(super) fn bare(self) -> Full<Bytes> {
        self.body
    }
}

/// The waiting caller left before anything was written, so the message is not sent.
#[derive(Debug)]
pub(crate) struct Withdrawn;

impl std::fmt::Display for Withdrawn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the caller no longer waits for the reply")
    }
}

impl std::error::Error for Withdrawn {}

impl Body for Carried {
    type Data = Piece;
    type Error = Withdrawn;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Withdrawn>>> {
        if self.slot.as_ref().is_some_and(|slot| Rc::strong_count(slot) == 1) {
            return Poll::Ready(Some(Err(Withdrawn)));
        }
        let frame = Pin::new(&mut self.body).poll_frame(cx).map_err(|never| match never {});
        frame.map_ok(|frame| {
            let _unwritten = self.unwritten.clone();
            frame.map_data(|bytes| Piece { bytes, _unwritten })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Executor for one connection's tasks. Checks the streams whenever the connection was driven.
#[derive(Clone)]
pub(super) struct Watching(pub(super) Rc<Streams>, pub(super) OnThisCore);

impl<F: Future<Output = ()> + 'static> Executor<F> for Watching {
    fn execute(&self, future: F) {
        // tasks started before the end of the handshake drive the connection; later ones belong to one stream
        if self.0.most.get().is_some() {
            return self.1.spawn(future);
        }
        let (streams, mut future) = (Rc::clone(&self.0), Box::pin(future));
        self.1.spawn(poll_fn(move |cx| match future.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => streams.driven(),
        }));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use http_body_util::BodyExt;

    use super::*;

    fn streams(most: &Rc<Cell<usize>>) -> Rc<Streams> {
        let streams = Streams::new(Arc::default());
        let says = Rc::clone(most);
        streams.begun(Box::new(move || says.get()));
        streams
    }

    #[test]
    fn there_are_as_many_places_as_the_agent_takes_now() {
        let most = Rc::new(Cell::new(2));
        let streams = streams(&most);
        let (one, two) = (streams.take().unwrap(), streams.take().unwrap());
        assert!(streams.take().is_none());
        drop(one);
        assert!(streams.take().is_some());
        most.set(0);
        assert!(!streams.fit(), "what was taken is more than the agent takes now");
        drop(two);
        assert!(streams.fit() && streams.take().is_none());
    }

    #[test]
    fn a_message_that_may_be_queued_ends_the_connection_and_one_that_is_under_way_does_not() {
        let most = Rc::new(Cell::new(1));
        let streams = streams(&most);
        let _place = streams.take();
        streams.handed();
        assert!(streams.driven().is_pending());
        streams.numbered();
        assert!(streams.driven().is_pending(), "its stream is open");
        most.set(0);
        assert!(streams.driven().is_pending(), "which it stays");
        for numbered in [false, true] {
            most.set(1);
            streams.handed();
            if numbered {
                streams.numbered();
            }
            most.set(0);
            assert!(streams.driven().is_ready(), "numbered: {numbered}");
        }
    }

    #[tokio::test]
    async fn attack_what_nobody_waits_for_is_written_when_the_connection_has_room_for_it() {
        let streams = streams(&Rc::new(Cell::new(1)));
        let held = streams.take().unwrap();
        let message = || Full::new(Bytes::from_static(b"{}"));
        let mut waited_for = Carried::new(message(), Some(Rc::clone(&held)));
        assert_eq!(waited_for.frame().await.unwrap().unwrap().into_data().ok().unwrap().chunk(), b"{}");
        let mut left = Carried::new(message(), Some(held));
        drop(waited_for);
        assert!(matches!(left.frame().await, Some(Err(Withdrawn))));
        assert!(streams.take().is_none(), "it may still be on the connection");
        drop(left);
        assert!(streams.take().is_some());
    }

    #[tokio::test]
    async fn a_message_is_unwritten_until_its_body_and_the_last_piece_of_it_are_gone() {
        let (mut carried, unwritten) = Carried::watched(Full::new(Bytes::from_static(b"{}")), None);
        assert!(unwritten.is_any());
        let mut piece = carried.frame().await.unwrap().unwrap().into_data().ok().unwrap();
        drop(carried);
        piece.advance(1);
        assert_eq!((piece.remaining(), unwritten.is_any()), (1, true));
        assert_eq!(piece.copy_to_bytes(1), "}");
        drop(piece);
        assert!(!unwritten.is_any());
        // one that is thrown away
        let (carried, unwritten) = Carried::watched(Full::default(), None);
        drop(carried);
        assert!(!unwritten.is_any());
    }
}
