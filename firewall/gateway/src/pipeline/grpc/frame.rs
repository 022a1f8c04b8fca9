//! gRPC messages in a body. Each follows a compression byte and four bytes of length.

use std::cmp::Ordering;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use semgate_inspect::{Code, Refusal};

/// Bytes before each message.
pub(crate) const PREFIX: usize = 5;

/// Reason why a body is not a sequence of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameFault {
    /// A compressed message. Calls never name a supported compression.
    Compressed,
    /// The first byte is neither 0 nor 1.
    Flag,
    /// A message above the limit.
    TooLarge,
    /// The body ends within a message.
    Cut,
    /// No message where one is required.
    Missing,
    /// A second message where only one is allowed.
    Second,
}

impl FrameFault {
    /// Text for outsiders, one line.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Compressed => "a message is compressed",
            Self::Flag => "a message begins with neither 0 nor 1",
            Self::TooLarge => "a message is larger than the limit",
            Self::Cut => "the body ends within a message",
            Self::Missing => "the body holds no message",
            Self::Second => "the body holds a second message",
        }
    }

    /// Code of a refused request.
    pub(crate) fn code(self) -> Code {
        match self {
            Self::Compressed => Code::EncodingUnsupported,
            Self::TooLarge => Code::TooLarge,
            Self::Flag | Self::Cut | Self::Missing | Self::Second => Code::Malformed,
        }
    }

    /// Refusal of a request.
    pub(crate) fn refusal(self) -> Refusal {
        Refusal::new(self.code(), self.reason()).with_hint(match self {
            Self::Compressed => "send messages as they are",
            Self::TooLarge => "send less at a time",
            Self::Flag | Self::Cut | Self::Missing | Self::Second => {
                "send exactly one message after its five-byte prefix"
            }
        })
    }
}

/// Parser of messages from a body in pieces. Holds at most one message and the piece with its end.
#[derive(Debug)]
pub(crate) struct Frames {
    buffer: BytesMut,
    limit: usize,
}

impl Frames {
    /// Limits each message to `limit` bytes, without its five-byte prefix.
    pub(crate) fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), limit }
    }

    /// Bytes of the unfinished message.
    pub(crate) fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// The next message, once it is complete.
    ///
    /// # Errors
    /// The fault of its prefix, as soon as the prefix is complete; a message to be refused is not waited for.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, FrameFault> {
        let Some(length) = announced(&self.buffer, self.limit)? else { return Ok(None) };
        if self.buffer.len() < PREFIX.saturating_add(length) {
            return Ok(None);
        }
        self.buffer.advance(PREFIX);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }

    /// Ends the body.
    ///
    /// # Errors
    /// [`FrameFault::Cut`].
    pub(crate) fn end(&self) -> Result<(), FrameFault> {
        if self.buffer.is_empty() { Ok(()) } else { Err(FrameFault::Cut) }
    }
}

/// Length of the next message, once its prefix is complete.
fn announced(bytes: &[u8], limit: usize) -> Result<Option<usize>, FrameFault> {
    let Some([flag, length @ ..]) = bytes.first_chunk::<PREFIX>() else {
        return bytes.first().map_or(Ok(None), |flag| uncompressed(*flag).map(|()| None));
    };
    uncompressed(*flag)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if length > limit { Err(FrameFault::TooLarge) } else { Ok(Some(length)) }
}

fn uncompressed(flag: u8) -> Result<(), FrameFault> {
    match flag {
        0 => Ok(()),
        1 => Err(FrameFault::Compressed),
        _ => Err(FrameFault::Flag),
    }
}

/// The only message of a complete body, without a copy.
///
/// # Errors
/// Any [`FrameFault`]; a second message of any length is one.
pub(crate) fn only(body: &Bytes, limit: usize) -> Result<Bytes, FrameFault> {
    let end = match announced(body, limit)? {
        Some(length) => PREFIX.saturating_add(length),
        None if body.is_empty() => return Err(FrameFault::Missing),
        None => return Err(FrameFault::Cut),
    };
    match body.len().cmp(&end) {
        Ordering::Less => Err(FrameFault::Cut),
        Ordering::Equal => Ok(body.slice(PREFIX..)),
        Ordering::Greater => Err(FrameFault::Second),
    }
}

/// A message with its prefix.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut all = BytesMut::with_capacity(message.len().saturating_add(PREFIX));
    all.put_u8(0);
    // every message was checked against a far lower limit
    all.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    all.extend_from_slice(message);
    all.freeze()
}
