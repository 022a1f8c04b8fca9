//! Lines of input that arrives in pieces. A line ends in LF or CRLF; a CR or NUL anywhere else is a fault.

use bytes::{Buf, Bytes, BytesMut};

use super::EventFault;

/// Splits pieces into lines. Holds at most the bounded bytes and the last piece.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    buffer: BytesMut,
    /// Bytes at the front of the buffer already searched for a line end.
    searched: usize,
    /// Bytes taken from the buffer since [`LineReader::begin`].
    taken: usize,
}

impl LineReader {
    /// Adds a piece. Take every line first; nothing else bounds the waiting bytes.
    pub(super) fn add(&mut self, piece: Bytes) {
        if self.buffer.is_empty() {
            // avoids a copy if the piece owns its bytes alone, as most pieces of a connection do
            self.buffer = BytesMut::from(piece);
        } else {
            self.buffer.extend_from_slice(&piece);
        }
    }

    /// Bytes that arrived and were not taken yet.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.buffer
    }

    /// Bytes since [`LineReader::begin`], including waiting ones.
    pub(super) fn buffered(&self) -> usize {
        self.taken.saturating_add(self.buffer.len())
    }

    /// Restarts the count of bytes.
    pub(super) fn begin(&mut self) {
        self.taken = 0;
    }

    /// The next line without its end; `None` until more is added.
    ///
    /// # Errors
    /// [`EventFault::Line`]; [`EventFault::TooLarge`] for more than `most` bytes since [`LineReader::begin`]. Line ends
    /// before this line's count too.
    pub(super) fn next(&mut self, most: usize) -> Result<Option<Bytes>, EventFault> {
        let rest = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(found) = memchr::memchr2(b'\n', b'\0', rest) else {
            self.searched = self.buffer.len();
            self.bound(self.buffer.len(), most)?;
            return Ok(None);
        };
        let end = self.searched.saturating_add(found);
        if self.buffer.get(end) == Some(&b'\0') {
            return Err(EventFault::Line);
        }
        self.bound(end, most)?;
        let line = self.buffer.split_to(end).freeze();
        self.buffer.advance(1);
        self.searched = 0;
        self.taken = self.taken.saturating_add(end).saturating_add(1);
        ended(line).map(Some)
    }

    /// Takes the rest after the last piece.
    ///
    /// # Errors
    /// [`EventFault::Line`].
    pub(super) fn rest(&mut self) -> Result<Bytes, EventFault> {
        self.searched = 0;
        ended(self.buffer.split().freeze())
    }

    fn bound(&self, more: usize, most: usize) -> Result<(), EventFault> {
        if self.taken.saturating_add(more) > most { Err(EventFault::TooLarge) } else { Ok(()) }
    }
}

/// Removes the CR at the end of a line.
fn ended(mut line: Bytes) -> Result<Bytes, EventFault> {
    if line.last() == Some(&b'\r') {
        line.truncate(line.len().saturating_sub(1));
    }
    if memchr::memchr2(b'\r', b'\0', &line).is_some() { Err(EventFault::Line) } else { Ok(line) }
}
