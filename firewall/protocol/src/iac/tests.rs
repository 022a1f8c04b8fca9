//! Every byte of a message has one reading, and every message becomes what its type and payload say.

mod frames;
mod messages;
mod random;
mod signatures;
mod streams;

use super::{
    frame::{Fields, Frame, SignedForm},
    *,
};
use crate::{FaultKind, MessageFault, Reading, TextParts};
use bytes::Bytes;
use ring::signature::{Ed25519KeyPair, KeyPair};
use semgate_contexts::json;

/// The message whose bytes `docs/spec/iac-binding.md` shows, without its signature.
const TASK: Fields<'static> = Fields {
    from: "a",
    to: "b",
    kind: MessageType::DelegateTask,
    payload: r#"{"task":"t"}"#,
    timestamp: 1_795_841_466,
    msg_id: 7_402_798_334_895_866_519,
    session_id: 0,
    signature: &[],
    extra: &[],
};

fn key(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

fn public(key: &Ed25519KeyPair) -> [u8; KEY_LEN] {
    key.public_key().as_ref().try_into().unwrap()
}

fn read(bytes: impl Into<Vec<u8>>) -> Result<Frame, MessageFault> {
    Frame::read(Bytes::from(bytes.into()))
}

/// The message of these fields, unsigned.
fn frame(fields: &Fields<'_>) -> Frame {
    read(fields.write(SignedForm::Explicit)).unwrap()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let digit = |b: u8| (b as char).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn reading(raw: bool) -> Reading<'static> {
    Reading {
        extension: "urn:contexts:snl:v1.0",
        max_concepts: 4,
        admit: TextParts { raw, ..TextParts::default() },
        tenant: None,
        meta: crate::MetaKeys::NONE,
        untyped: false,
        formats: &[],
    }
}
