//! The two halves of a connection that carries whole frames: QUIC, one stream for each, or a byte stream, where each frame has
//! its length before it as a varint.
//!
//! Frames are read one after another, in the order in which they began.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use quinn::{Connection, ReadToEndError, SendStream, VarInt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;

/// Bytes of the longest length: five groups of seven bits.
const LENGTH: usize = 5;
/// Bytes of one read from a byte stream.
const READ: usize = 16 * 1024;

/// Both halves.
pub(crate) struct Carrier {
    pub(crate) reader: FrameReader,
    pub(crate) writer: FrameWriter,
}

impl Carrier {
    /// A connection of QUIC.
    pub(crate) fn quic(connection: Connection) -> Self {
        Self { reader: FrameReader::Quic(connection.clone()), writer: FrameWriter::quic(connection) }
    }

    /// A byte stream.
    pub(crate) fn bytes(stream: impl AsyncRead + AsyncWrite + 'static) -> Self {
        let (reader, writer) = split(stream);
        Self { reader: FrameReader::bytes(reader), writer: FrameWriter::bytes(writer) }
    }
}

/// One frame as it arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CarriedFrame {
    pub(crate) bytes: Bytes,
    /// True if it is compressed, as on QUIC.
    pub(crate) compressed: bool,
}

/// The end of a half, or a fault from which it cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarrierFault {
    /// The other side has ended or left.
    Ended,
    /// A frame is larger than the limit.
    TooLarge,
    /// A frame did not arrive, or was not taken, in time.
    TooSlow,
    /// The length of a frame is no shortest varint.
    Length,
}

/// Bounds of one frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameBounds {
    /// Bytes of a compressed frame.
    pub(crate) compressed: usize,
    /// Bytes of a frame that is not compressed.
    pub(crate) plain: usize,
    /// Time from its first byte to its last.
    pub(crate) time: Duration,
}

/// The receiving half.
pub(crate) enum FrameReader {
    /// A stream of QUIC for each frame.
    Quic(Connection),
    /// Frames with lengths.
    Bytes(Pin<Box<dyn AsyncRead>>, BytesMut),
}

impl FrameReader {
    /// The receiving half of a byte stream.
    pub(crate) fn bytes(stream: impl AsyncRead + 'static) -> Self {
        Self::Bytes(Box::pin(stream), BytesMut::new())
    }

    /// The next frame. A stream of QUIC that its sender broke off is an empty one: its receiver charges and refuses it.
    ///
    /// # Errors
    /// [`CarrierFault`].
    pub(crate) async fn next(&mut self, bounds: &FrameBounds) -> Result<CarriedFrame, CarrierFault> {
        match self {
            Self::Quic(connection) => {
                let mut stream = connection.accept_uni().await.map_err(|_| CarrierFault::Ended)?;
                let reading = stream.read_to_end(bounds.compressed);
                let bytes = match timeout(bounds.time, reading).await {
                    Ok(Ok(bytes)) => bytes.into(),
                    Ok(Err(ReadToEndError::TooLong)) => return Err(CarrierFault::TooLarge),
                    Ok(Err(ReadToEndError::Read(quinn::ReadError::Reset(_)))) => Bytes::new(),
                    Ok(Err(ReadToEndError::Read(_))) => return Err(CarrierFault::Ended),
                    Err(_) => return Err(CarrierFault::TooSlow),
                };
                Ok(CarriedFrame { bytes, compressed: true })
            }
            Self::Bytes(stream, buffer) => {
                if buffer.is_empty() {
                    fill(stream, buffer).await?;
                }
                let whole = delimited(stream, buffer, bounds.plain);
                match timeout(bounds.time, whole).await {
                    Ok(frame) => frame.map(|bytes| CarriedFrame { bytes, compressed: false }),
                    Err(_) => Err(CarrierFault::TooSlow),
                }
            }
        }
    }
}

/// Reads more bytes. The end of the stream is always an end, even within a frame, which is then dropped.
async fn fill(stream: &mut Pin<Box<dyn AsyncRead>>, buffer: &mut BytesMut) -> Result<(), CarrierFault> {
    buffer.reserve(READ);
    match stream.read_buf(buffer).await {
        Ok(0) | Err(_) => Err(CarrierFault::Ended),
        Ok(_) => Ok(()),
    }
}

async fn delimited(
    stream: &mut Pin<Box<dyn AsyncRead>>,
    buffer: &mut BytesMut,
    most: usize,
) -> Result<Bytes, CarrierFault> {
    let (head, length) = loop {
        match length(buffer)? {
            Some(read) => break read,
            None => fill(stream, buffer).await?,
        }
    };
    if length > most {
        return Err(CarrierFault::TooLarge);
    }
    buffer.advance(head);
    while buffer.len() < length {
        fill(stream, buffer).await?;
    }
    Ok(buffer.split_to(length).freeze())
}

/// Reads a length in its shortest form: the bytes that it takes, and its value. `None` if bytes are missing.
fn length(bytes: &[u8]) -> Result<Option<(usize, usize)>, CarrierFault> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate().take(LENGTH) {
        let group = usize::from(byte & 0x7f).checked_shl(7_u32.saturating_mul(at as u32));
        value |= group.ok_or(CarrierFault::Length)?;
        if byte & 0x80 == 0 {
            let shortest = at == 0 || *byte != 0;
            return if shortest {
                Ok(Some((at.saturating_add(1), value)))
            } else {
                Err(CarrierFault::Length)
            };
        }
    }
    if bytes.len() < LENGTH { Ok(None) } else { Err(CarrierFault::Length) }
}

/// Writes a length in its shortest form.
fn write_length(mut length: usize, to: &mut BytesMut) {
    while length >= 0x80 {
        to.extend_from_slice(&[u8::try_from(length & 0x7f).unwrap_or(0) | 0x80]);
        length >>= 7;
    }
    to.extend_from_slice(&[u8::try_from(length).unwrap_or(0)]);
}

/// Resolves once the other side has every byte of a stream, or wants none.
type Arrival = Pin<Box<dyn Future<Output = ()>>>;

/// The sending half. Its copies send over the same connection.
#[derive(Clone)]
pub(crate) enum FrameWriter {
    /// A stream of QUIC for each frame, and the arrival of the last one.
    Quic(Connection, Rc<RefCell<Option<Arrival>>>),
    /// Frames with lengths, one at a time.
    Bytes(Rc<Mutex<ByteSink>>),
}

impl FrameWriter {
    /// The sending half of a connection of QUIC.
    pub(crate) fn quic(connection: Connection) -> Self {
        Self::Quic(connection, Rc::default())
    }

    /// The sending half of a byte stream.
    pub(crate) fn bytes(stream: impl AsyncWrite + 'static) -> Self {
        Self::Bytes(Rc::new(Mutex::new(ByteSink { stream: Box::pin(stream), cut: false })))
    }

    /// True if frames are sent compressed.
    pub(crate) const fn compresses(&self) -> bool {
        matches!(self, Self::Quic(..))
    }

    /// Sends one frame, which the other side takes within `time`. A frame that is cut never seems whole: on QUIC its stream is
    /// reset, and a byte stream is shut, so nothing follows it.
    ///
    /// # Errors
    /// [`CarrierFault::Ended`], also after a cut frame of a byte stream, or [`CarrierFault::TooSlow`].
    pub(crate) async fn send(&self, frame: &[u8], time: Duration) -> Result<(), CarrierFault> {
        let sending = async {
            match self {
                Self::Quic(connection, last) => {
                    let stream = connection.open_uni().await.map_err(|_| CarrierFault::Ended)?;
                    let arrival = WholeOrReset(Some(stream)).write(frame).await?;
                    *last.borrow_mut() = Some(arrival);
                    Ok(())
                }
                Self::Bytes(stream) => {
                    let mut whole = BytesMut::with_capacity(frame.len().saturating_add(LENGTH));
                    write_length(frame.len(), &mut whole);
                    whole.extend_from_slice(frame);
                    WholeOrShut(stream.lock().await).write(&whole).await
                }
            }
        };
        timeout(time, sending).await.map_err(|_| CarrierFault::TooSlow)?
    }

    /// Ends the connection, once the last frame arrived or `time` is over. On QUIC the other side reads the code and the
    /// reason; a byte stream only ends.
    pub(crate) async fn close(&self, code: u32, reason: &str, time: Duration) {
        match self {
            Self::Quic(connection, last) => {
                let last = last.borrow_mut().take();
                if let Some(arrival) = last {
                    let _ = timeout(time, arrival).await;
                }
                connection.close(VarInt::from_u32(code), reason.as_bytes());
            }
            Self::Bytes(stream) => {
                let _ = timeout(time, async { stream.lock().await.stream.shutdown().await }).await;
            }
        }
    }
}

/// A stream of one frame. Dropped early it is reset: without that, its end would make a part look whole.
struct WholeOrReset(Option<SendStream>);

impl WholeOrReset {
    async fn write(mut self, frame: &[u8]) -> Result<Arrival, CarrierFault> {
        let stream = self.0.as_mut().ok_or(CarrierFault::Ended)?;
        stream.write_all(frame).await.map_err(|_| CarrierFault::Ended)?;
        stream.finish().map_err(|_| CarrierFault::Ended)?;
        let arrives = stream.stopped();
        self.0 = None;
        Ok(Box::pin(async move { drop(arrives.await) }))
    }
}

impl Drop for WholeOrReset {
    fn drop(&mut self) {
        if let Some(stream) = &mut self.0 {
            let _ = stream.reset(VarInt::from_u32(0));
        }
    }
}

/// The sending half of a byte stream.
pub(crate) struct ByteSink {
    stream: Pin<Box<dyn AsyncWrite>>,
    /// True from the first byte of a frame to its last. Between two frames it means that the former was cut.
    cut: bool,
}

/// The writing of one frame to a byte stream. Dropped early it shuts the stream: bytes behind a part would complete it.
struct WholeOrShut<'s>(MutexGuard<'s, ByteSink>);

impl WholeOrShut<'_> {
    async fn write(mut self, frame: &[u8]) -> Result<(), CarrierFault> {
        let sink = &mut *self.0;
        if sink.cut {
            return Err(CarrierFault::Ended);
        }
        sink.cut = true;
        sink.stream.write_all(frame).await.map_err(|_| CarrierFault::Ended)?;
        sink.stream.flush().await.map_err(|_| CarrierFault::Ended)?;
        sink.cut = false;
        Ok(())
    }
}

impl Drop for WholeOrShut<'_> {
    fn drop(&mut self) {
        if self.0.cut {
            let mut once = Context::from_waker(Waker::noop());
            let _ = self.0.stream.as_mut().poll_shutdown(&mut once);
        }
    }
}

#[cfg(test)]
mod tests;
