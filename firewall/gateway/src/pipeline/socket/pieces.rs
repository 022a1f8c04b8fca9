//! Bounds the fragments of a WebSocket message that is not whole yet.
//!
//! The library joins fragments before anything is counted. A fragment without bytes never reaches the message limit, so millions of
//! them would cost time and say nothing.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::server::account::{Charge, NoRoom};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes since the last whole message or control frame.
#[derive(Debug, Clone, Default)]
pub(super) struct Since(Rc<Cell<usize>>);

impl Since {
    /// Starts counting from zero after a whole message or a control frame.
    pub(super) fn whole(&self) {
        self.0.set(0);
    }
}

/// A stream that fails with [`is_too_much`] once a message takes more than twice its largest size, fragment heads included, plus
/// one read. Fragments of 16 bytes or more stay below that.
pub(super) struct Pieces<S> {
    inner: S,
    since: Since,
    most: usize,
    /// Charge for the bytes of a message that is not whole.
    charge: Charge,
}

impl<S> Pieces<S> {
    /// `hears` is the largest message, and `read` the size of one read, in bytes.
    pub(super) fn new(inner: S, since: Since, hears: usize, read: usize, charge: Charge) -> Self {
        Self { inner, since, most: hears.saturating_mul(2).saturating_add(read), charge }
    }
}

/// Returns true if the fault is a message in too many pieces.
pub(super) fn is_too_much(fault: &io::Error) -> bool {
    fault.kind() == io::ErrorKind::QuotaExceeded
}

/// Returns true if the agent's account has no room for a message that is not whole.
pub(super) fn is_no_room(fault: &io::Error) -> bool {
    fault.kind() == io::ErrorKind::OutOfMemory
}

impl<S: AsyncRead + Unpin> AsyncRead for Pieces<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let Poll::Ready(read) = Pin::new(&mut this.inner).poll_read(cx, buffer) else {
            // what became whole meanwhile is held no more
            this.charge.release(this.charge.held().saturating_sub(this.since.0.get()));
            return Poll::Pending;
        };
        read?;
        let read = buffer.filled().len().saturating_sub(before);
        let since = this.since.0.get().saturating_add(read);
        this.since.0.set(since);
        if since > this.most {
            return Poll::Ready(Err(io::Error::from(io::ErrorKind::QuotaExceeded)));
        }
        if let Err(NoRoom) = this.charge.hold_only(since) {
            return Poll::Ready(Err(io::Error::from(io::ErrorKind::OutOfMemory)));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Pieces<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}
