//! Messages in a body: each behind one byte that says whether it is compressed and four that say how long it is.

use std::cmp::Ordering;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use semgate_inspect::{Code, Refusal};

/// Bytes before each message.
pub(crate) const PREFIX: usize = 5;

/// Why bytes are not messages one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameFault {
    /// A message is compressed, and the call names no compression that is taken.
    Compressed,
    /// The first byte is neither 0 nor 1.
    Flag,
    /// A message past the limit.
    TooLarge,
    /// The end within a message.
    Cut,
    /// No message where there is one.
    Missing,
    /// A second message where there is one.
    Second,
}

impl FrameFault {
    /// One line for outsiders.
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

    /// The code of a request with it.
    pub(crate) fn code(self) -> Code {
        match self {
            Self::Compressed => Code::EncodingUnsupported,
            Self::TooLarge => Code::TooLarge,
            Self::Flag | Self::Cut | Self::Missing | Self::Second => Code::Malformed,
        }
    }

    /// The refusal of a request with it.
    pub(crate) fn refusal(self) -> Refusal {
        Refusal::new(self.code(), self.reason()).with_hint(match self {
            Self::Compressed => "send messages as they are",
            Self::TooLarge => "send less at a time",
            Self::Flag | Self::Cut | Self::Missing | Self::Second => {
                "send exactly one message, behind its five bytes"
            }
        })
    }
}

/// The messages of a body that comes piece by piece. Holds one message at most, and what came with its end.
#[derive(Debug)]
pub(crate) struct Frames {
    buffer: BytesMut,
    limit: usize,
}

impl Frames {
    /// Messages of at most `limit` bytes, not counting the five before each.
    pub(crate) fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), limit }
    }

    /// Bytes of what is not whole.
    pub(crate) fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// A piece that came.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// The next message, if all of it is here.
    ///
    /// # Errors
    /// What is wrong with its prefix, as soon as that is here: nothing is waited for that will be refused.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, FrameFault> {
        let Some(length) = announced(&self.buffer, self.limit)? else { return Ok(None) };
        if self.buffer.len() < PREFIX.saturating_add(length) {
            return Ok(None);
        }
        self.buffer.advance(PREFIX);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }

    /// The end of the body.
    ///
    /// # Errors
    /// [`FrameFault::Cut`].
    pub(crate) fn end(&self) -> Result<(), FrameFault> {
        if self.buffer.is_empty() { Ok(()) } else { Err(FrameFault::Cut) }
    }
}

/// How long the message is that begins here, once its prefix is whole.
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

/// The one message of a whole body. It is not copied.
///
/// # Errors
/// Any [`FrameFault`]; a second message is one, however short.
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

/// A message behind its prefix.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut all = BytesMut::with_capacity(message.len().saturating_add(PREFIX));
    all.put_u8(0);
    // every message was held against a limit far below
    all.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    all.extend_from_slice(message);
    all.freeze()
}
