//! Chunked bodies of HTTP/1.1 (RFC 9112 §7.1), read strictly.

use super::FramingFault;

/// Parser of one chunked body (RFC 9112 §7.1), which leaves the chunks unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    state: ChunkState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkState {
    Size { value: u64, digits: u8 },
    SizeLf { value: u64 },
    Data { left: u64 },
    DataCr,
    DataLf,
    EndCr,
    EndLf,
    Done,
}

impl Default for ChunkState {
    fn default() -> Self {
        Self::Size { value: 0, digits: 0 }
    }
}

/// Maximum hex digits of a chunk size: eight allow four gigabytes, above every body limit.
const MAX_SIZE_DIGITS: u8 = 8;

impl Chunks {
    /// Number of bytes at the front of `bytes` that belong to this body.
    ///
    /// # Errors
    /// [`FramingFault::Chunk`] or [`FramingFault::Trailers`].
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, FramingFault> {
        let mut at = 0_usize;
        while let Some(&byte) = bytes.get(at) {
            self.state = match self.state {
                ChunkState::Done => break,
                ChunkState::Data { left } => {
                    let here = bytes.len().saturating_sub(at);
                    let step = usize::try_from(left).map_or(here, |left| left.min(here));
                    at = at.saturating_add(step);
                    let left = left.saturating_sub(step as u64);
                    self.state = if left == 0 { ChunkState::DataCr } else { ChunkState::Data { left } };
                    continue;
                }
                ChunkState::Size { value, digits } => size(byte, value, digits)?,
                ChunkState::SizeLf { value } => {
                    expect(byte, b'\n')?;
                    if value == 0 { ChunkState::EndCr } else { ChunkState::Data { left: value } }
                }
                ChunkState::DataCr => expect(byte, b'\r').map(|()| ChunkState::DataLf)?,
                ChunkState::DataLf => expect(byte, b'\n').map(|()| ChunkState::default())?,
                ChunkState::EndCr if byte == b'\r' => ChunkState::EndLf,
                ChunkState::EndCr => return Err(FramingFault::Trailers),
                ChunkState::EndLf => expect(byte, b'\n').map(|()| ChunkState::Done)?,
            };
            at = at.saturating_add(1);
        }
        Ok(at)
    }

    /// Returns true once the last chunk and its empty line have been taken.
    pub fn done(&self) -> bool {
        self.state == ChunkState::Done
    }
}

fn size(byte: u8, value: u64, digits: u8) -> Result<ChunkState, FramingFault> {
    if byte == b'\r' && digits > 0 {
        return Ok(ChunkState::SizeLf { value });
    }
    let digit = (byte as char).to_digit(16).ok_or(FramingFault::Chunk)?;
    if digits >= MAX_SIZE_DIGITS {
        return Err(FramingFault::Chunk);
    }
    Ok(ChunkState::Size { value: (value << 4) | u64::from(digit), digits: digits.saturating_add(1) })
}

fn expect(byte: u8, wanted: u8) -> Result<(), FramingFault> {
    if byte == wanted { Ok(()) } else { Err(FramingFault::Chunk) }
}
