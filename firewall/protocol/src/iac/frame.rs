//! `iac.Message`: the nine fields of a message in protobuf, and the signature over them.

use super::MessageType;
use crate::{
    FaultKind, MessageFault,
    member::{Read, at},
    wire::{Raw, Wire, bytes, varint_field},
};
use bytes::Bytes;
use ring::signature::{ED25519, UnparsedPublicKey};
use std::{fmt, ops::Range};

/// Bytes of an Ed25519 public key.
pub const KEY_LEN: usize = 32;

/// Bytes of an Ed25519 signature.
pub const SIGNATURE_LEN: usize = 64;

/// Names of the fields 1 to 9.
const NAMES: [&str; 9] = [
    "from",
    "to",
    "msg_type",
    "payload_json",
    "timestamp",
    "msg_id",
    "session_id",
    "signature",
    "extra_data",
];

/// The two encodings of a message. Both are protobuf; a signature covers one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignedForm {
    /// All nine fields are written, defaults too, as `iac-rs` does it.
    Explicit,
    /// Fields with their default value are left out, as proto3 encoders do it.
    Omitted,
}

impl SignedForm {
    /// Both, in the order in which they are tried.
    pub const ALL: [Self; 2] = [Self::Explicit, Self::Omitted];

    /// The name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Omitted => "omitted",
        }
    }
}

/// The values of all fields.
#[derive(Clone, Copy)]
pub(super) struct Fields<'f> {
    pub from: &'f str,
    pub to: &'f str,
    pub kind: MessageType,
    pub payload: &'f str,
    pub timestamp: u64,
    pub msg_id: u64,
    pub session_id: u64,
    pub signature: &'f [u8],
    pub extra: &'f [u8],
}

impl Fields<'_> {
    /// The bytes in one form.
    pub fn write(&self, form: SignedForm) -> Vec<u8> {
        let room = 96 + self.from.len() + self.to.len() + self.payload.len() + self.extra.len();
        let mut out = Vec::with_capacity(room + self.signature.len());
        let all = form == SignedForm::Explicit;
        let text = |number: u32, value: &[u8], out: &mut Vec<u8>| {
            if all || !value.is_empty() {
                bytes(number, value, out);
            }
        };
        let number = |number: u32, value: u64, out: &mut Vec<u8>| {
            if all || value != 0 {
                varint_field(number, value, out);
            }
        };
        text(1, self.from.as_bytes(), &mut out);
        text(2, self.to.as_bytes(), &mut out);
        number(3, self.kind.number(), &mut out);
        text(4, self.payload.as_bytes(), &mut out);
        number(5, self.timestamp, &mut out);
        number(6, self.msg_id, &mut out);
        number(7, self.session_id, &mut out);
        text(8, self.signature, &mut out);
        text(9, self.extra, &mut out);
        out
    }

    /// The bytes that a signature covers: the message with an empty signature.
    pub fn signed(&self, form: SignedForm) -> Vec<u8> {
        Fields { signature: &[], ..*self }.write(form)
    }
}

/// A message whose protobuf has one reading. The signature is not verified yet.
#[derive(Clone)]
pub struct Frame {
    bytes: Bytes,
    kind: MessageType,
    timestamp: u64,
    msg_id: u64,
    session_id: u64,
    from: Range<usize>,
    to: Range<usize>,
    payload: Range<usize>,
    signature: Range<usize>,
    extra: Range<usize>,
}

/// Values as they stand on the wire, by field.
#[derive(Default)]
struct Parsed {
    numbers: [u64; 9],
    ranges: [Range<usize>; 9],
}

impl Frame {
    /// Reads a message.
    ///
    /// # Errors
    /// `DuplicateKey` for a field that is present twice. `Malformed` for a field that the protocol does not have, fields out of
    /// order, a wrong wire type, a number that is not in its shortest form, text that is not UTF-8, a type outside the enum,
    /// a signature that is neither empty nor 64 bytes long, and defaults that are neither all written nor all left out.
    pub fn read(protobuf: Bytes) -> Read<Self> {
        let Parsed { numbers, ranges } = parse(&protobuf)?;
        let [from, to, _, payload, _, _, _, signature, extra] = ranges;
        let [_, _, kind, _, timestamp, msg_id, session_id, _, _] = numbers;
        let kind = MessageType::of(kind)
            .ok_or_else(|| MessageFault::malformed("/msg_type", "is not a type of the protocol"))?;
        if !matches!(signature.len(), 0 | SIGNATURE_LEN) {
            return Err(MessageFault::malformed("/signature", "is not 64 bytes long"));
        }
        let frame = Self {
            bytes: protobuf,
            kind,
            timestamp,
            msg_id,
            session_id,
            from,
            to,
            payload,
            signature,
            extra,
        };
        let fields = frame.fields();
        match SignedForm::ALL.iter().any(|form| fields.write(*form) == frame.bytes) {
            true => Ok(frame),
            false => Err(MessageFault::malformed("", "has some defaults written and others left out")),
        }
    }

    /// The name of the sender, as the sender writes it.
    pub fn from(&self) -> &str {
        self.text(&self.from)
    }

    /// The name of the receiver; empty in a broadcast to everybody.
    pub fn to(&self) -> &str {
        self.text(&self.to)
    }

    /// The type.
    pub const fn kind(&self) -> MessageType {
        self.kind
    }

    /// The id that the sender chose.
    pub const fn msg_id(&self) -> u64 {
        self.msg_id
    }

    /// The session that the sender chose; 0 is none.
    pub const fn session_id(&self) -> u64 {
        self.session_id
    }

    /// The time of the message, in seconds, or in microseconds if it exceeds 10^13.
    pub const fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// The JSON text of the payload, not read yet; may be empty.
    pub fn payload(&self) -> &str {
        self.text(&self.payload)
    }

    /// The opaque bytes; may be empty.
    pub fn extra(&self) -> &[u8] {
        self.slice(&self.extra)
    }

    /// The signature: 64 bytes, or none.
    pub fn signature(&self) -> &[u8] {
        self.slice(&self.signature)
    }

    /// The checked protobuf, as it came.
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The form that this key signed: the explicit one is tried first. None if the signature is absent or of another key.
    pub fn verify(&self, key: &[u8; KEY_LEN]) -> Option<SignedForm> {
        let signature = self.signature();
        let key = UnparsedPublicKey::new(&ED25519, key);
        let fields = self.fields();
        let signs = |form: &SignedForm| key.verify(&fields.signed(*form), signature).is_ok();
        if signature.is_empty() { None } else { SignedForm::ALL.into_iter().find(signs) }
    }

    fn fields(&self) -> Fields<'_> {
        Fields {
            from: self.from(),
            to: self.to(),
            kind: self.kind,
            payload: self.payload(),
            timestamp: self.timestamp,
            msg_id: self.msg_id,
            session_id: self.session_id,
            signature: self.signature(),
            extra: self.extra(),
        }
    }

    fn slice(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// A text, which [`Frame::read`] checked.
    fn text(&self, range: &Range<usize>) -> &str {
        std::str::from_utf8(self.slice(range)).unwrap_or_default()
    }
}

/// Shows no value that the sender chose.
impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame").field("kind", &self.kind).field("bytes", &self.bytes.len()).finish()
    }
}

/// The fields on the wire: each at most once, in ascending order.
fn parse(message: &[u8]) -> Read<Parsed> {
    let mut parsed = Parsed::default();
    let (mut last, mut wire) = (0, Wire(message));
    while let Some((number, raw)) = wire.field().map_err(|what| MessageFault::malformed("", what))? {
        let index = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        let Some(name) = NAMES.get(index) else {
            return Err(MessageFault::malformed("", "has a field that the protocol does not have"));
        };
        if number <= last {
            return Err(again(&parsed, index, name, number == last));
        }
        last = number;
        let fault = |what| MessageFault::malformed(at("", name), what);
        match (number, raw) {
            (3 | 5..=7, Raw::Varint(value)) => put(&mut parsed.numbers, index, value),
            (1 | 2 | 4 | 8 | 9, Raw::Bytes(value)) => {
                if number < 8 && std::str::from_utf8(value).is_err() {
                    return Err(fault("is not utf-8"));
                }
                let end = message.len() - wire.0.len();
                put(&mut parsed.ranges, index, end - value.len()..end);
            }
            _ => return Err(fault("is not of the wire type of its field")),
        }
    }
    Ok(parsed)
}

fn put<T>(values: &mut [T], index: usize, value: T) {
    if let Some(slot) = values.get_mut(index) {
        *slot = value;
    }
}

/// The fault of a field that does not follow the one before.
fn again(parsed: &Parsed, index: usize, name: &str, same: bool) -> MessageFault {
    let written = parsed.ranges.get(index).is_some_and(|range| range.end > 0)
        || parsed.numbers.get(index).is_some_and(|number| *number != 0);
    if same || written {
        return MessageFault { kind: FaultKind::DuplicateKey, path: at("", name), what: "is present twice" };
    }
    MessageFault::malformed(at("", name), "is not in the order of the fields")
}
