//! Detection of a plain connection's HTTP version by its first bytes, and the stream for HTTP/2.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, timeout_at};

use super::GuardLimits;

/// Connection preface of a client with prior knowledge (RFC 9113 §3.4). Without TLS nothing is negotiated.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of one read: two heads of a typical message with its body.
pub(super) const READ: usize = 4096;

/// Start of a connection. The bytes were read and not passed on yet.
pub(crate) enum Opening {
    /// Anything except the HTTP/2 preface; the guard checks it.
    Http1(BytesMut),
    /// The whole preface of HTTP/2.
    Http2(BytesMut),
    /// Nothing before the idle timeout or the caller's end.
    Silent,
}

/// Reads until the version is certain. HTTP/1.1 costs one read, which the guard would have made.
pub(crate) async fn opening<S: AsyncRead + Unpin>(stream: &mut S, limits: &GuardLimits) -> Opening {
    let mut bytes = BytesMut::with_capacity(READ);
    let mut deadline = Instant::now() + limits.idle_timeout;
    loop {
        let more = matches!(timeout_at(deadline, stream.read_buf(&mut bytes)).await, Ok(Ok(1..)));
        if bytes.is_empty() {
            return Opening::Silent;
        }
        let known = bytes.len().min(PREFACE.len());
        if bytes.get(..known) != PREFACE.get(..known) || (!more && known < PREFACE.len()) {
            return Opening::Http1(bytes);
        }
        if known == PREFACE.len() {
            return Opening::Http2(bytes);
        }
        deadline = deadline.min(Instant::now() + limits.header_timeout);
    }
}

/// A stream with the bytes already read at its front, and a time limit on unread written bytes.
pub(crate) struct Paced<S> {
    first: BytesMut,
    inner: S,
    write_timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Paced<S> {
    pub(crate) fn new(inner: S, first: BytesMut, write_timeout: Duration) -> Self {
        Self { first, inner, write_timeout, timer: None }
    }

    fn written<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.timer = None;
            return poll;
        }
        let limit = self.write_timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> hyper::rt::Read for Paced<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut out: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.first.is_empty() {
            let size = this.first.len().min(out.remaining());
            out.put_slice(this.first.get(..size).unwrap_or_default());
            this.first.advance(size);
            return Poll::Ready(Ok(()));
        }
        let mut chunk = [std::mem::MaybeUninit::<u8>::uninit(); READ];
        let room = out.remaining().min(READ);
        let mut buffer = ReadBuf::uninit(chunk.get_mut(..room).unwrap_or_default());
        ready!(Pin::new(&mut this.inner).poll_read(cx, &mut buffer))?;
        out.put_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> hyper::rt::Write for Paced<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.inner).poll_write(cx, bytes);
        this.written(cx, poll)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.inner).poll_flush(cx);
        this.written(cx, poll)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.inner).poll_shutdown(cx);
        this.written(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.inner).poll_write_vectored(cx, slices);
        this.written(cx, poll)
    }
}
