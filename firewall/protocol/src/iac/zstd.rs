//! The compression of a stream: exactly one zstd frame, opened within bounds.

use crate::{FaultKind, MessageFault, member::Read};
use bytes::Bytes;
use ruzstd::{
    decoding::{
        BlockDecodingStrategy, Dictionary, FrameDecoder,
        errors::{FrameDecoderError, ReadFrameHeaderError},
    },
    encoding::{CompressionLevel, compress_to_vec},
};

/// Bounds of one stream, each inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimits {
    /// Bytes of the stream. Stock servers end the connection above 64 KiB.
    pub compressed: usize,
    /// Bytes after decompression.
    pub inflated: usize,
    /// Bytes of the window that the frame asks for, checked before anything is decoded.
    pub window: u64,
}

impl Default for FrameLimits {
    fn default() -> Self {
        Self { compressed: 64 << 10, inflated: 1 << 20, window: 8 << 20 }
    }
}

/// The dictionaries that the frames of a route may use. Whoever adds one has compared its bytes with a pinned digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionaries(Vec<(u32, Bytes)>);

impl Dictionaries {
    /// No dictionary.
    pub const NONE: &'static Self = &Self(Vec::new());

    /// Adds a dictionary in the format of RFC 8878, section 5, and returns its id.
    ///
    /// # Errors
    /// `Malformed` for bytes of another format; `DuplicateKey` for an id that is present already.
    pub fn add(&mut self, dictionary: Bytes) -> Read<u32> {
        let id = Dictionary::decode_dict(&dictionary).map_err(|_| malformed("is no zstd dictionary"))?.id;
        if self.of(id).is_some() {
            let what = "has the id of another dictionary";
            return Err(MessageFault { kind: FaultKind::DuplicateKey, path: String::new(), what });
        }
        self.0.push((id, dictionary));
        Ok(id)
    }

    fn of(&self, id: u32) -> Option<&Bytes> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, dictionary)| dictionary)
    }
}

/// Inflated bytes for each compressed byte; only a bomb has more.
const RATIO: usize = 100;

/// Size up to which the ratio is not checked, since small messages may compress well.
const RATIO_FROM: usize = 64 << 10;

/// The bit of the frame header descriptor that RFC 8878 reserves. Decoders refuse a frame that sets it.
const RESERVED: u8 = 1 << 3;

/// The bits of the frame header descriptor that announce the size of the content: its length, and the single segment.
const SIZED: u8 = 0b1110_0000;

/// Opens the one zstd frame of a stream. Never holds more than the window and one block (128 KiB) beyond `limits.inflated`.
///
/// # Errors
/// `TooLarge` above a limit or the ratio of 100. `Malformed` for other bytes than one frame: a damaged or skippable frame, one
/// with a dictionary, a false checksum or size, a second frame, or bytes after the first.
pub fn inflate(packed: &[u8], limits: &FrameLimits) -> Read<Vec<u8>> {
    inflate_with(packed, limits, Dictionaries::NONE)
}

/// As [`inflate`], for a frame that may use one of these dictionaries.
///
/// # Errors
/// As [`inflate`]; `Malformed` for a frame with another dictionary.
pub fn inflate_with(packed: &[u8], limits: &FrameLimits, dictionaries: &Dictionaries) -> Read<Vec<u8>> {
    if packed.len() > limits.compressed {
        return Err(too_large("is longer than the limit"));
    }
    let descriptor = packed.get(4).copied().unwrap_or_default();
    if descriptor & RESERVED != 0 {
        return Err(malformed("is no zstd frame"));
    }
    let mut source = packed;
    let mut decoder = opened(&mut source, limits, dictionaries)?;
    let size = decoder.content_size();
    if size > limits.inflated as u64 {
        return Err(too_large("inflates to more than the limit"));
    }
    let mut out = Vec::new();
    while !decoder.is_finished() {
        let block = decoder.decode_blocks(&mut source, BlockDecodingStrategy::UptoBlocks(1));
        block.map_err(|_| malformed("is damaged: its zstd frame cannot be decoded"))?;
        out.append(&mut decoder.collect().unwrap_or_default());
        if out.len() > limits.inflated
            || (out.len() > RATIO_FROM && out.len() > packed.len().saturating_mul(RATIO))
        {
            return Err(too_large("inflates to more than the limit"));
        }
    }
    if !source.is_empty() {
        return Err(malformed("has bytes after its one zstd frame"));
    }
    if descriptor & SIZED != 0 && size != out.len() as u64 {
        return Err(malformed("has another size than its zstd frame names"));
    }
    let (named, real) = (decoder.get_checksum_from_data(), decoder.get_calculated_checksum());
    if named.is_some() && named != real {
        return Err(malformed("is damaged: the checksum of its zstd frame is false"));
    }
    Ok(out)
}

/// A decoder that has read the header of the frame.
fn opened(source: &mut &[u8], limits: &FrameLimits, dictionaries: &Dictionaries) -> Read<FrameDecoder> {
    let (whole, mut decoder) = (*source, FrameDecoder::new());
    decoder.set_max_window_size(limits.window);
    let mut open = decoder.init(&mut *source);
    if let Err(FrameDecoderError::DictNotProvided { dict_id }) = open
        && let Some(listed) = dictionaries.of(dict_id)
    {
        let dictionary =
            Dictionary::decode_dict(listed).map_err(|_| malformed("needs a damaged dictionary"))?;
        *source = whole;
        open = decoder.add_dict(dictionary).and_then(|()| decoder.init(&mut *source));
    }
    open.map(|()| decoder).map_err(|fault| header_fault(&fault))
}

/// Compresses a message into one frame without a dictionary, with a checksum and a window of 128 KiB.
///
/// This encoder compresses less than the one of the stock client. The result may exceed the bound of a receiver although the
/// message came within it, so a caller compares the length before it sends.
pub fn deflate(protobuf: &[u8]) -> Vec<u8> {
    compress_to_vec(protobuf, CompressionLevel::Fastest)
}

fn header_fault(fault: &FrameDecoderError) -> MessageFault {
    match fault {
        FrameDecoderError::WindowSizeTooBig { .. } => {
            too_large("needs a larger window for decompression than the limit")
        }
        FrameDecoderError::FrameHeaderError(_) => malformed("asks for a window that zstd does not have"),
        FrameDecoderError::DictNotProvided { .. } => {
            malformed("needs a dictionary that the route does not list")
        }
        FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { .. }) => {
            malformed("begins with a skippable frame")
        }
        _ => malformed("is no zstd frame"),
    }
}

fn too_large(what: &'static str) -> MessageFault {
    MessageFault { kind: FaultKind::TooLarge, path: String::new(), what }
}

fn malformed(what: &'static str) -> MessageFault {
    MessageFault::malformed("", what)
}
