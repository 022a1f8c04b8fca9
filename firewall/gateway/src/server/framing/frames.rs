//! Limit on HTTP/2 frames that belong to no request.
//!
//! PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA and unknown frames cost the reader time and carry nothing. A peer may
//! send a number of them for each request and each piece of data. A peer that sends more loses its connection
//! (`ENHANCE_YOUR_CALM`, RFC 9113 §7).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Bytes of a client's connection preface (RFC 9113 §3.4).
const PREFACE: usize = 24;
/// Bytes of a frame's head (RFC 9113 §4.1).
const HEAD: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
/// GOAWAY of stream 0, with a payload of eight bytes.
const GOAWAY: [u8; HEAD] = [0, 0, 8, 7, 0, 0, 0, 0, 0];
/// Error code of RFC 9113 §7.
const ENHANCE_YOUR_CALM: u32 = 0xb;

/// Burst of frames beyond the allowance. 1,000: a client that starts with a tree of priorities sends some dozens.
const BURST: i64 = 1_000;
/// Frames for each request: window updates, a ping, a reset, priorities.
const EACH_REQUEST: i64 = 16;
/// Frames for each piece of data, in either direction, such as two window updates and a ping that measures the path.
const EACH_PIECE: i64 = 4;
/// Bytes of data that allow one more frame: readers of 4 KiB at a time update two windows with each read.
const EACH_BYTES: usize = 1024;
/// Frames a second on an idle connection: keep-alive pings.
const EACH_SECOND: i64 = 10;

/// Side that sends the requests of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requests {
    /// The peer, to the gateway.
    Come,
    /// The gateway, to an agent.
    Go,
}

/// Parser of one direction's frames from bytes in pieces.
#[derive(Debug, Default)]
struct Scan {
    head: [u8; HEAD],
    have: usize,
    /// Remaining bytes of the payload or preface.
    left: usize,
    /// The highest stream of a HEADERS frame.
    last_stream: u32,
}

impl Scan {
    fn after(preface: usize) -> Self {
        Self { left: preface, ..Self::default() }
    }

    /// Returns true between two frames.
    fn is_between(&self) -> bool {
        self.have == 0 && self.left == 0
    }

    /// Calls `each` with type and length for each complete frame head.
    fn take(&mut self, mut bytes: &[u8], mut each: impl FnMut(u8, usize)) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let skip = self.left.min(bytes.len());
                self.left = self.left.saturating_sub(skip);
                bytes = bytes.get(skip..).unwrap_or_default();
                continue;
            }
            let size = HEAD.saturating_sub(self.have).min(bytes.len());
            let (now, rest) = bytes.split_at(size);
            if let Some(room) = self.head.get_mut(self.have..self.have.saturating_add(size)) {
                room.copy_from_slice(now);
            }
            self.have = self.have.saturating_add(size);
            bytes = rest;
            if self.have == HEAD {
                self.have = 0;
                let [a, b, c, kind, _, s0, s1, s2, s3] = self.head;
                self.left = usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap_or(usize::MAX);
                if kind == HEADERS {
                    let stream = u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff;
                    self.last_stream = self.last_stream.max(stream);
                }
                each(kind, self.left);
            }
        }
    }
}

/// Frames allowed for a piece of data of this length.
fn of_data(length: usize) -> i64 {
    EACH_PIECE.saturating_add(i64::try_from(length / EACH_BYTES).unwrap_or(i64::MAX))
}

/// Frames that a peer may still send.
#[derive(Debug)]
struct Allowance {
    left: i64,
    since: Instant,
}

impl Allowance {
    fn add(&mut self, frames: i64) {
        self.left = self.left.saturating_add(frames).min(BURST);
    }

    /// Charges one frame. Returns true if it was within the allowance.
    fn charge(&mut self) -> bool {
        if self.left <= 0 {
            let seconds = i64::try_from(self.since.elapsed().as_secs()).unwrap_or(i64::MAX);
            if seconds > 0 {
                self.since =
                    self.since.checked_add(Duration::from_secs(seconds.unsigned_abs())).unwrap_or(self.since);
                self.add(seconds.saturating_mul(EACH_SECOND));
            }
        }
        self.left = self.left.saturating_sub(1);
        self.left >= 0
    }
}

/// An HTTP/2 connection that limits its peer's frames.
#[derive(Debug)]
pub(crate) struct Frames<S> {
    inner: S,
    requests: Requests,
    read: Scan,
    written: Scan,
    allowance: Allowance,
    over: bool,
}

impl<S> Frames<S> {
    /// Wraps a stream. `first` holds the bytes read from it before.
    pub(crate) fn new(inner: S, requests: Requests, first: &[u8]) -> Self {
        let (read, written) = match requests {
            Requests::Come => (Scan::after(PREFACE), Scan::default()),
            Requests::Go => (Scan::default(), Scan::after(PREFACE)),
        };
        let allowance = Allowance { left: BURST, since: Instant::now() };
        let mut frames = Self { inner, requests, read, written, allowance, over: false };
        frames.count(first);
        frames
    }

    /// Counts read bytes.
    fn count(&mut self, bytes: &[u8]) {
        let Self { read, allowance, over, requests, .. } = self;
        read.take(bytes, |kind, length| match kind {
            DATA if length > 0 => allowance.add(of_data(length)),
            HEADERS if *requests == Requests::Come => allowance.add(EACH_REQUEST),
            CONTINUATION => {}
            _ => *over |= !allowance.charge(),
        });
    }

    /// Counts written bytes.
    fn counted(&mut self, bytes: &[u8]) {
        let Self { written, allowance, requests, .. } = self;
        written.take(bytes, |kind, length| match kind {
            DATA if length > 0 => allowance.add(of_data(length)),
            HEADERS if *requests == Requests::Go => allowance.add(EACH_REQUEST),
            _ => {}
        });
    }
}

impl<S: AsyncWrite + Unpin> Frames<S> {
    /// Sends the reason for the end of the connection, unless a frame is half written.
    fn farewell(&mut self, cx: &mut Context<'_>) -> io::Error {
        if self.written.is_between() {
            let mut frame = GOAWAY.to_vec();
            frame.extend_from_slice(&self.read.last_stream.to_be_bytes());
            frame.extend_from_slice(&ENHANCE_YOUR_CALM.to_be_bytes());
            let _ = Pin::new(&mut self.inner).poll_write(cx, &frame);
            let _ = Pin::new(&mut self.inner).poll_flush(cx);
        }
        io::Error::new(io::ErrorKind::ConnectionAborted, "more frames without a request than their share")
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Frames<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.over {
            return Poll::Ready(Err(this.farewell(cx)));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, buffer))?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        this.count(read);
        if this.over {
            buffer.set_filled(before);
            return Poll::Ready(Err(this.farewell(cx)));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Frames<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let size = ready!(Pin::new(&mut this.inner).poll_write(cx, bytes))?;
        this.counted(bytes.get(..size).unwrap_or_default());
        Poll::Ready(Ok(size))
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
        let this = self.get_mut();
        let size = ready!(Pin::new(&mut this.inner).poll_write_vectored(cx, slices))?;
        let mut left = size;
        for slice in slices {
            let part = left.min(slice.len());
            this.counted(slice.get(..part).unwrap_or_default());
            left = left.saturating_sub(part);
        }
        Poll::Ready(Ok(size))
    }
}
