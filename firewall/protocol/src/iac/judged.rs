//! The JSON that is judged: one object that holds everything of a message but its signature.

use super::{Frame, MessageType, frame::KEY_LEN, kind::BINARY};
use crate::{
    FaultKind, MessageFault,
    member::{Read, at, object},
    text,
};
use bytes::Bytes;
use semgate_contexts::{
    Digest,
    json::{self, Json, Object},
};

/// The member of a payload that holds the claim, in a payload and in the judged JSON.
pub(super) const CLAIM: &str = "l9";

/// The payload in errors.
pub(super) const PAYLOAD: &str = "/payload_json";

impl Frame {
    /// The JSON that is judged (`docs/spec/iac-binding.md`). The payload is read strictly within `limits`, and split into
    /// claim and content.
    ///
    /// # Errors
    /// A payload that is no JSON object within the limits. A chunk of a file whose checksum, index or total is false. A key
    /// that is not 32 bytes long.
    pub fn judged(&self, limits: &json::Limits) -> Read<Bytes> {
        let payload = match self.payload() {
            "" => None,
            payload => Some(json::read(payload.as_bytes(), limits).map_err(|fault| unfit(&fault))?),
        };
        let payload = payload.as_ref().map(|json| object(json, PAYLOAD)).transpose()?;
        if let Some((key, _)) = payload.and_then(|payload| payload.case_variant_of(&[CLAIM])) {
            return Err(MessageFault::malformed(at(PAYLOAD, key), "is a known member in different case"));
        }
        let mut out = Judged::of(self);
        if let Some(claim) = payload.and_then(|payload| payload.get(CLAIM)) {
            out.member(CLAIM, |out| text::write(claim, out));
        }
        let content = |out: &mut Judged| match payload {
            Some(payload) if has_content(payload) => {
                out.member("content", |out| members(payload, &[], out));
            }
            _ => {}
        };
        match self.kind() {
            MessageType::FileTransfer => out.chunk(self, payload)?,
            MessageType::RegisterKey => {
                let Ok(key) = <[u8; KEY_LEN]>::try_from(self.extra()) else {
                    return Err(MessageFault::malformed("/extra_data", "is not a key of 32 bytes"));
                };
                content(&mut out);
                out.member("register_key", |out| {
                    out.push_str("{\"key\":\"");
                    key.iter().for_each(|byte| out.push_str(&format!("{byte:02x}")));
                    out.push_str("\"}");
                });
            }
            kind => {
                content(&mut out);
                if let Some(concept) = kind.concept() {
                    out.member(concept, |out| out.push_str("{}"));
                }
                if !self.extra().is_empty() {
                    let digest = Digest::of(self.extra());
                    let size = self.extra().len();
                    out.member(BINARY, |out| {
                        out.push_str(&format!("{{\"size\":{size},\"digest\":\"{digest}\"}}"))
                    });
                }
            }
        }
        Ok(out.finish())
    }
}

/// The text as far as it is written.
struct Judged(String);

impl Judged {
    /// The head of the message. Numbers are strings: JSON cannot hold every integer of 64 bits.
    fn of(frame: &Frame) -> Self {
        let mut out = Self(String::with_capacity(256 + frame.payload().len()));
        out.0.push('{');
        out.member("from", |out| text::string(frame.from(), out));
        out.member("to", |out| text::string(frame.to(), out));
        out.member("msg_type", |out| text::string(frame.kind().as_str(), out));
        for (name, value) in
            [("timestamp", frame.timestamp()), ("msg_id", frame.msg_id()), ("session_id", frame.session_id())]
        {
            out.member(name, |out| out.push_str(&format!("\"{value}\"")));
        }
        out
    }

    fn member(&mut self, name: &str, value: impl FnOnce(&mut String)) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        text::string(name, &mut self.0);
        self.0.push(':');
        value(&mut self.0);
    }

    /// A chunk of a file: the members of the payload, and the length of the chunk.
    fn chunk(&mut self, frame: &Frame, payload: Option<&Object<'_>>) -> Read<()> {
        let fault = |member: &str, what| Err(MessageFault::malformed(at(PAYLOAD, member), what));
        let Some(payload) = payload else {
            return Err(MessageFault::malformed(PAYLOAD, "names no file"));
        };
        if payload.get("size").is_some() {
            return fault("size", "is not a member of this binding");
        }
        let checksum = payload.get("checksum").and_then(Json::as_str).unwrap_or_default();
        if format!("sha-256:{checksum}") != Digest::of(frame.extra()).to_string() {
            return fault("checksum", "is not the SHA-256 of the chunk in lower-case hex");
        }
        let count =
            |member: &str| payload.get(member).and_then(Json::as_number).and_then(|n| n.as_i64_exact());
        if !matches!((count("index"), count("total")), (Some(index), Some(total)) if index < total) {
            return fault("index", "is not below `total`, or one of them is no integer");
        }
        let size = frame.extra().len().to_string();
        self.member("file_chunk", |out| members(payload, &[("size", &size)], out));
        Ok(())
    }

    fn finish(mut self) -> Bytes {
        self.0.push('}');
        Bytes::from(self.0)
    }
}

fn has_content(payload: &Object<'_>) -> bool {
    payload.iter().any(|(key, _)| key != CLAIM)
}

/// Writes an object without its claim, and with more members at its end.
fn members(object: &Object<'_>, more: &[(&str, &str)], out: &mut String) {
    out.push('{');
    let mut first = true;
    let mut name = |key: &str, out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        text::string(key, out);
        out.push(':');
    };
    for (key, value) in object.iter().filter(|(key, _)| *key != CLAIM) {
        name(key, out);
        text::write(value, out);
    }
    for (key, value) in more {
        name(key, out);
        out.push_str(value);
    }
    out.push('}');
}

/// The fault of a payload that the strict reader refuses.
fn unfit(fault: &json::Fault) -> MessageFault {
    let (kind, what) = match fault {
        json::Fault::TooLarge => (FaultKind::TooLarge, "is longer than the limit"),
        json::Fault::TooDeep => (FaultKind::TooDeep, "is nested deeper than the limit"),
        json::Fault::TooComplex => (FaultKind::TooComplex, "has more values than the limit"),
        json::Fault::DuplicateKey { .. } => (FaultKind::DuplicateKey, "has a member twice"),
        json::Fault::Malformed { .. } => (FaultKind::Malformed, "is not strict json"),
    };
    MessageFault { kind, path: PAYLOAD.to_owned(), what }
}
