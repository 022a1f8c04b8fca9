//! Messages and frames of IAC as bytes, also those that no well-behaved client would make.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::Value;

use super::Key;

/// One of the two encodings of the seed's text.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Fields with default values are written, as iac-rs does it.
    Explicit,
    /// They are left out, as protobuf of version 3 does it.
    Omitted,
}

/// The nine fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    pub from: String,
    pub to: String,
    pub kind: u64,
    pub payload: String,
    pub timestamp: u64,
    pub id: u64,
    pub session: u64,
    pub signature: Vec<u8>,
    pub extra: Vec<u8>,
}

impl Message {
    /// A message of this second with an id of its own, unsigned.
    pub fn new(from: &str, to: &str, kind: u64, payload: &Value) -> Self {
        static IDS: AtomicU64 = AtomicU64::new(1 << 40);
        let payload = if payload.is_null() { String::new() } else { payload.to_string() };
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        Self {
            from: from.into(),
            to: to.into(),
            kind,
            payload,
            timestamp: now() + AHEAD,
            id,
            ..Self::default()
        }
    }

    /// The bytes of this form.
    pub fn encode(&self, form: Form) -> Vec<u8> {
        let mut bytes = Vec::new();
        let numbers = HashMap::from([(3, self.kind), (5, self.timestamp), (6, self.id), (7, self.session)]);
        for field in 1..=9 {
            if let Some(number) = numbers.get(&field) {
                if matches!(form, Form::Explicit) || *number != 0 {
                    bytes.extend(number_field(field, *number));
                }
                continue;
            }
            let text = match field {
                1 => self.from.as_bytes(),
                2 => self.to.as_bytes(),
                4 => self.payload.as_bytes(),
                8 => &self.signature,
                _ => &self.extra,
            };
            if matches!(form, Form::Explicit) || !text.is_empty() {
                bytes.extend(bytes_field(field, text));
            }
        }
        bytes
    }

    /// The same signed over the bytes of this form.
    pub fn signed(mut self, key: &Key, form: Form) -> Self {
        self.signature.clear();
        self.signature = key.sign(&self.encode(form));
        self
    }

    /// Checks the signature over the explicit form.
    pub fn is_signed_by(&self, key: &Key) -> bool {
        let unsigned = Self { signature: Vec::new(), ..self.clone() };
        let public = UnparsedPublicKey::new(&ED25519, unhex(&key.public));
        public.verify(&unsigned.encode(Form::Explicit), &self.signature).is_ok()
    }

    /// The stream of the message: the explicit form in one frame.
    pub fn stream(&self) -> Vec<u8> {
        frame(&self.encode(Form::Explicit))
    }

    /// The message that a stock peer shows.
    pub fn shown(line: &Value) -> Self {
        let text = |member: &str| line[member].as_str().unwrap().to_owned();
        let number = |member: &str| line[member].as_u64().unwrap();
        Self {
            from: text("from"),
            to: text("to"),
            kind: number("type"),
            payload: text("payload"),
            timestamp: number("timestamp"),
            id: number("msg_id"),
            session: number("session_id"),
            signature: unhex(&text("signature")),
            extra: unhex(&text("extra")),
        }
    }

    /// Reads what an honest encoder wrote.
    pub fn read(mut bytes: &[u8]) -> Self {
        let mut message = Self::default();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let number = varint(&mut bytes);
            if tag & 7 == 0 {
                let field = match tag >> 3 {
                    3 => &mut message.kind,
                    5 => &mut message.timestamp,
                    6 => &mut message.id,
                    7 => &mut message.session,
                    other => panic!("a number in field {other}"),
                };
                *field = number;
                continue;
            }
            let (text, rest) = bytes.split_at(usize::try_from(number).unwrap());
            bytes = rest;
            let utf8 = || String::from_utf8(text.to_vec()).unwrap();
            match tag >> 3 {
                1 => message.from = utf8(),
                2 => message.to = utf8(),
                4 => message.payload = utf8(),
                8 => message.signature = text.to_vec(),
                9 => message.extra = text.to_vec(),
                other => panic!("bytes in field {other}"),
            }
        }
        message
    }

    /// The payload as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.payload).unwrap_or_else(|e| panic!("{e}: {}", self.payload))
    }
}

/// Seconds that stamps are ahead of the clock: tests sign before they start the gateway, which refuses what was signed before.
const AHEAD: u64 = 60;

/// Seconds since the epoch.
pub fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    number
}

fn shortest(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap());
    bytes
}

/// A field with a number.
pub fn number_field(field: u64, number: u64) -> Vec<u8> {
    [shortest(field << 3), shortest(number)].concat()
}

/// A field with bytes.
pub fn bytes_field(field: u64, bytes: &[u8]) -> Vec<u8> {
    [shortest(field << 3 | 2), shortest(u64::try_from(bytes.len()).unwrap()), bytes.to_vec()].concat()
}

/// Blocks of zstd: bytes as they stand, or one byte many times over.
pub enum Block<'b> {
    Raw(&'b [u8]),
    Repeated(u8, usize),
}

/// The most bytes of a block.
pub const BLOCK: usize = 128 * 1024;

/// A frame of zstd with these blocks, whose window is 2^(10 + exponent) bytes.
pub fn frame_of(exponent: u8, blocks: &[Block<'_>]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3];
    for (n, block) in blocks.iter().enumerate() {
        let last = u32::from(n + 1 == blocks.len());
        let (kind, size) = match block {
            Block::Raw(bytes) => (0, bytes.len()),
            Block::Repeated(_, times) => (1, *times),
        };
        assert!(size <= BLOCK);
        let head = u32::try_from(size).unwrap() << 3 | kind << 1 | last;
        frame.extend(&head.to_le_bytes()[..3]);
        match block {
            Block::Raw(bytes) => frame.extend_from_slice(bytes),
            Block::Repeated(byte, _) => frame.push(*byte),
        }
    }
    frame
}

/// A frame with these bytes as they stand, as iac-rs makes it of a short message.
pub fn frame(bytes: &[u8]) -> Vec<u8> {
    frame_of(11, &bytes.chunks(BLOCK).map(Block::Raw).collect::<Vec<_>>())
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "{text}");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
