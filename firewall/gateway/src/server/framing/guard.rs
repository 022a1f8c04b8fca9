//! A stream that passes only well-framed requests to hyper.
//!
//! The guard holds back the bytes of a head until it has parsed the whole head strictly. In place of a faulty head, hyper
//! gets a replacement request. The service sees the fault in [`Watch`] and answers it. So every framing fault ends in a
//! problem document with a decision id, like any other refusal. Nothing after a fault is read as a request.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::{Instant, Sleep};

use super::opening::READ;
use super::{Body, Chunks, FramingFault, Head, HeadLimits, Watch, scan_head};

/// Replacement for a faulty head. It never reaches a route, since the service checks [`Watch`] first.
const REPLACEMENT: &[u8] = b"POST /.refused HTTP/1.1\r\nHost: refused.invalid\r\nConnection: close\r\n\r\n";

/// Time after a refusal in which unread bytes are discarded. Closing at once could reset the connection before the caller has
/// read the answer (RFC 9112 §9.6).
const LINGER: Duration = Duration::from_secs(1);
/// Maximum number of bytes discarded.
const LINGER_BYTES: usize = 4 * 1024 * 1024;

/// Limits of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardLimits {
    pub(crate) head: HeadLimits,
    pub(crate) header_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) write_timeout: Duration,
}

enum State {
    /// Collecting a head.
    Head,
    /// Passing on the parsed head.
    Release { left: usize, body: Body },
    /// Passing on a body of known length.
    Length(u64),
    /// Passing on chunks.
    Chunked(Chunks),
    /// Passing on the replacement of a faulty head.
    Replace { at: usize },
    /// A body had a fault; the next read reports it.
    Failed(FramingFault),
    /// Reads nothing until the request for another protocol is answered; a refusal ends the connection.
    Held,
    /// Passes nothing on any more.
    Broken,
}

/// The guarded stream. Not [`Send`]: a connection stays on its core.
pub(crate) struct Guard<S> {
    inner: S,
    limits: GuardLimits,
    watch: Rc<Watch>,
    state: State,
    buffer: BytesMut,
    searched: usize,
    heads: u64,
    /// Deadline for progress in reading; `None` while a body is read, which has its own timeout.
    deadline: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    write_timer: Option<Pin<Box<Sleep>>>,
    linger: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Guard<S> {
    /// Wraps a stream. `first` holds the bytes already read to detect its protocol.
    pub(crate) fn new(inner: S, first: BytesMut, limits: GuardLimits, watch: Rc<Watch>) -> Self {
        let deadline = (!first.is_empty()).then(|| Instant::now() + limits.header_timeout);
        Self {
            inner,
            limits,
            watch,
            state: State::Head,
            buffer: first,
            searched: 0,
            heads: 0,
            deadline,
            timer: None,
            write_timer: None,
            linger: None,
        }
    }

    /// The inner stream, and the bytes read from it but not passed on.
    pub(crate) fn into_parts(self) -> (S, BytesMut) {
        (self.inner, self.buffer)
    }

    /// Reads from the socket into the buffer; 0 is the end.
    fn fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.buffer.reserve(READ);
        let read = pin!(self.inner.read_buf(&mut self.buffer));
        read.poll(cx)
    }

    /// Same as [`Guard::fill`] while a head is awaited, with a deadline: `Ok(None)` means too late.
    fn fill_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<usize>>> {
        let was_empty = self.buffer.is_empty();
        if let Poll::Ready(read) = self.fill(cx) {
            if was_empty {
                self.deadline = Some(Instant::now() + self.limits.header_timeout);
            }
            return Poll::Ready(read.map(Some));
        }
        let idle = self.limits.idle_timeout;
        let mut deadline = *self.deadline.get_or_insert_with(|| Instant::now() + idle);
        // the timer is moved only when it fires, not for each request
        loop {
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
            if timer.deadline() > deadline {
                timer.as_mut().reset(deadline);
            }
            ready!(timer.as_mut().poll(cx));
            let now = Instant::now();
            if was_empty && self.watch.busy() {
                deadline = now + idle;
                self.deadline = Some(deadline);
            }
            if now >= deadline {
                return Poll::Ready(Ok(None));
            }
            timer.as_mut().reset(deadline);
        }
    }

    fn fault(&mut self, fault: FramingFault) {
        self.watch.faulted(self.heads, fault);
    }

    /// Takes one step towards a whole head. `Ready(Ok(true))` means continue; `false` means the connection is over.
    fn step_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.buffer.len() > self.searched {
            match scan_head(&self.buffer, self.searched, &self.limits.head) {
                Ok(Head::Complete { bytes, body }) => {
                    self.heads = self.heads.saturating_add(1);
                    self.searched = 0;
                    self.deadline = None;
                    self.state = State::Release { left: bytes, body };
                    return Poll::Ready(Ok(true));
                }
                Ok(Head::Partial) => self.searched = self.buffer.len(),
                Err(fault) => return Poll::Ready(Ok(self.replace(fault))),
            }
        }
        match ready!(self.fill_head(cx))? {
            // half-closed (RFC 9293 §3.6, RFC 8446 §6.1): the current request still gets its whole answer; the end of the
            // answer wakes the reader
            Some(0) if self.watch.busy() || self.write_timer.is_some() => {
                self.watch.shut(cx.waker());
                Poll::Pending
            }
            Some(0) => Poll::Ready(Ok(false)),
            Some(_) => Poll::Ready(Ok(true)),
            // a silent kept connection has sent no request, so it gets no answer
            None if self.buffer.is_empty() => Poll::Ready(Ok(false)),
            None => Poll::Ready(Ok(self.replace(FramingFault::HeadTooSlow))),
        }
    }

    fn replace(&mut self, fault: FramingFault) -> bool {
        self.heads = self.heads.saturating_add(1);
        self.fault(fault);
        self.state = State::Replace { at: 0 };
        true
    }

    /// Passes on the available bytes. Returns their number.
    fn hand_on(&mut self, out: &mut ReadBufCursor<'_>) -> usize {
        let room = out.remaining().min(self.buffer.len());
        let size = match &mut self.state {
            State::Release { left, .. } => room.min(*left),
            State::Length(left) => usize::try_from(*left).map_or(room, |left| room.min(left)),
            State::Chunked(chunks) => match chunks.take(self.buffer.get(..room).unwrap_or_default()) {
                Ok(size) => size,
                Err(fault) => {
                    self.fault(fault);
                    self.state = State::Failed(fault);
                    0
                }
            },
            State::Head | State::Replace { .. } | State::Failed(_) | State::Held | State::Broken => 0,
        };
        out.put_slice(self.buffer.get(..size).unwrap_or_default());
        self.buffer.advance(size);
        self.state = match std::mem::replace(&mut self.state, State::Broken) {
            State::Release { left, body } if left > size => {
                State::Release { left: left.saturating_sub(size), body }
            }
            State::Release { body: Body::Upgrade, .. } => State::Held,
            State::Release { body: Body::Chunked, .. } => State::Chunked(Chunks::default()),
            State::Release { body: Body::Length(0), .. } => State::Head,
            State::Release { body: Body::Length(length), .. } => State::Length(length),
            State::Length(left) if left > size as u64 => State::Length(left.saturating_sub(size as u64)),
            State::Length(_) => State::Head,
            State::Chunked(chunks) if chunks.done() => State::Head,
            other => other,
        };
        size
    }

    fn read(&mut self, cx: &mut Context<'_>, mut out: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let mut given = 0_usize;
        loop {
            match &mut self.state {
                State::Head if given > 0 => return Poll::Ready(Ok(())),
                State::Head => {
                    if !ready!(self.step_head(cx))? {
                        return Poll::Ready(Ok(()));
                    }
                    continue;
                }
                State::Replace { at } => {
                    let rest = REPLACEMENT.get(*at..).unwrap_or_default();
                    let size = rest.len().min(out.remaining());
                    out.put_slice(rest.get(..size).unwrap_or_default());
                    *at = at.saturating_add(size);
                    if *at >= REPLACEMENT.len() {
                        self.state = State::Broken;
                    }
                    return Poll::Ready(Ok(()));
                }
                State::Held if given > 0 => return Poll::Ready(Ok(())),
                // the answer wakes the reader
                State::Held => return Poll::Pending,
                State::Failed(_) if given > 0 => return Poll::Ready(Ok(())),
                State::Failed(fault) => {
                    let fault = *fault;
                    self.state = State::Broken;
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, fault)));
                }
                // an end here would look like a caller that left; the answer is still to be written
                State::Broken => return Poll::Pending,
                State::Release { .. } | State::Length(_) | State::Chunked(_) => {}
            }
            if self.buffer.is_empty() {
                if given > 0 {
                    return Poll::Ready(Ok(()));
                }
                if ready!(self.fill(cx))? == 0 {
                    return Poll::Ready(Ok(()));
                }
            }
            given = given.saturating_add(self.hand_on(&mut out));
            if out.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Limits the time that written bytes may stay unread.
    fn written<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            if self.write_timer.take().is_some() {
                self.watch.wake();
            }
            return poll;
        }
        let limit = self.limits.write_timeout;
        let timer = self.write_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Discards bytes that still arrive after an early answer.
    fn linger(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if matches!(self.state, State::Head | State::Release { .. } | State::Held) {
            return Poll::Ready(Ok(()));
        }
        loop {
            let (timer, left) =
                self.linger.get_or_insert_with(|| (Box::pin(tokio::time::sleep(LINGER)), LINGER_BYTES));
            if *left == 0 || timer.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            self.buffer.clear();
            let read = match ready!(self.fill(cx)) {
                Ok(0) | Err(_) => return Poll::Ready(Ok(())),
                Ok(read) => read,
            };
            if let Some((_, left)) = &mut self.linger {
                *left = left.saturating_sub(read);
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> hyper::rt::Read for Guard<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, out: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        self.get_mut().read(cx, out)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> hyper::rt::Write for Guard<S> {
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
        if this.linger.is_none() {
            let poll = Pin::new(&mut this.inner).poll_shutdown(cx);
            ready!(this.written(cx, poll))?;
        }
        this.linger(cx)
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

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
