//! A socket with bounded patience: a write without progress for the limit fails, which ends the connection, and with it a
//! stream whose browser no longer reads.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// `S` with a bound on the time that a write may stall.
pub(crate) struct WriteTimeout<S> {
    inner: S,
    limit: Duration,
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    /// Wraps a socket.
    pub fn new(inner: S, limit: Duration) -> Self {
        Self { inner, limit, stuck: None }
    }

    /// Passes a result on; turns a wait past the limit into an error.
    fn bounded<T>(&mut self, cx: &mut Context<'_>, answer: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if answer.is_ready() {
            self.stuck = None;
            return answer;
        }
        let limit = self.limit;
        let timer = self.stuck.get_or_insert_with(|| Box::pin(sleep(limit)));
        if timer.deadline() <= Instant::now() || timer.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read")));
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, to)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.bounded(cx, answer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.bounded(cx, answer)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // a socket holds nothing back, so a flush is no progress
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let answer = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.bounded(cx, answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn attack_a_peer_that_never_reads_loses_its_connection() {
        let (own, mut peer) = tokio::io::duplex(64);
        let mut socket = WriteTimeout::new(own, Duration::from_millis(50));
        socket.write_all(&[0; 64]).await.unwrap();
        let stuck = tokio::time::timeout(Duration::from_secs(10), socket.write_all(&[0; 64])).await.unwrap();
        assert_eq!(stuck.unwrap_err().kind(), io::ErrorKind::TimedOut);
        // one that reads, however late, keeps it
        let mut bytes = [0; 64];
        tokio::io::AsyncReadExt::read_exact(&mut peer, &mut bytes).await.unwrap();
        let mut socket = WriteTimeout::new(socket.inner, Duration::from_secs(10));
        socket.write_all(&[0; 64]).await.unwrap();
    }
}
