//! The envelope, its signed text, and the texts that an answer repeats.

use super::kind::Kind;
use crate::{
    Echo, MessageFault, Party, PartySide, PayloadMode, Seal,
    member::{Read, at, id, identifier, object, required, string, unknown},
    seal::is_mark,
};
use semgate_contexts::json::{Json, Object};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// The longest reason of a rejected or closed session, in bytes.
const MAX_REASON: usize = 1_024;

/// Members of the envelope.
pub(super) const KNOWN: &[&str] = &[
    "message_id",
    "session_id",
    "from",
    "to",
    "body",
    "payload_mode",
    "timestamp",
    "provenance",
    "signature",
    "signature_algorithm",
    "nonce",
];

/// A read envelope. Its texts hold no `|`, so no two of them can change their border under one signature.
pub(super) struct Envelope<'j> {
    pub message_id: &'j str,
    /// Empty outside of sessions.
    pub session_id: &'j str,
    pub from: &'j str,
    pub to: &'j str,
    pub kind: Kind,
    pub body: &'j Object<'j>,
    pub mode: PayloadMode,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    pub provenance: Option<&'j Json<'j>>,
    pub seal: Seal<'j>,
}

/// Reads the envelope and closes the body.
///
/// # Errors
/// The first member that is missing, unknown, of another type of body, or of the wrong form.
pub(super) fn read<'j>(json: &'j Json<'j>) -> Read<Envelope<'j>> {
    let members = object(json, "")?;
    for (key, _) in members.iter() {
        if !KNOWN.contains(&key) {
            return unknown("", key);
        }
    }
    let need = |name: &str| required(members.get(name), "", name);
    let text = |name: &'static str| word(need(name)?, "", name);
    let (from, to, message_id) = (text("from")?, text("to")?, text("message_id")?);
    let session_id = word_or_empty(need("session_id")?, "", "session_id")?;
    let nonce = members.get("nonce").map(|value| word(value, "", "nonce")).transpose()?;
    let timestamp = string(need("timestamp")?, "", "timestamp")?;
    let at_ms = instant_ms(timestamp, "", "timestamp")?;
    let mode = mode(need("payload_mode")?, "", "payload_mode")?;
    let body = object(need("body")?, "/body")?;
    let kind = kind(body)?;
    closed(body, kind)?;
    let mut parts = vec![from, to, session_id, timestamp, message_id];
    parts.extend(nonce);
    let covered = covered(body, kind)?;
    // types without a covered member have an empty text in its position
    parts.extend(if covered.is_empty() { vec![""] } else { covered });
    parts.push(kind.as_str());
    let seal = Seal { text: parts.join("|"), mark: mark(members)? };
    let provenance = members.get("provenance");
    Ok(Envelope { message_id, session_id, from, to, kind, body, mode, at_ms, provenance, seal })
}

/// The texts of a request that its answer repeats, as far as they are words.
pub(super) fn echo(json: &Json<'_>) -> Option<Echo> {
    let members = json.as_object()?;
    let body = members.get("body")?.as_object()?;
    let kind = Kind::parse(body.get("type")?.as_str()?)?;
    let mut echo = Echo::default();
    echo.put("type", kind.as_str());
    // outside of sessions, whatever the session of the task that is asked about
    if members.get("session_id").and_then(Json::as_str) == Some("") {
        echo.put("session_id", "");
    }
    let mut put = |name: &'static str, value: Option<&Json<'_>>| {
        if let Some(text) = value.and_then(Json::as_str).and_then(identifier).filter(|text| fits(text)) {
            echo.put(name, text);
        }
    };
    for name in ["from", "session_id"] {
        put(name, members.get(name));
    }
    for name in ["task_id", "skill"] {
        put(name, body.get(name));
    }
    Some(echo)
}

fn kind(body: &Object<'_>) -> Read<Kind> {
    let text = string(required(body.get("type"), "/body", "type")?, "/body", "type")?;
    Kind::parse(text).ok_or_else(|| MessageFault::malformed("/body/type", "is no type of message"))
}

/// Refuses members of other types, and unknown ones. `null` was removed before.
fn closed(body: &Object<'_>, kind: Kind) -> Read<()> {
    for (key, _) in body.iter() {
        if key == "type" || kind.members().contains(&key) {
            continue;
        }
        if Kind::is_of_another(key) {
            return Err(MessageFault::malformed(at("/body", key), "does not belong to this type of message"));
        }
        return unknown("/body", key);
    }
    Ok(())
}

/// The texts of the body that the signature covers.
fn covered<'j>(body: &'j Object<'j>, kind: Kind) -> Read<Vec<&'j str>> {
    let mut all = Vec::new();
    for name in kind.signed() {
        let value = required(body.get(name), "/body", name)?;
        all.push(match *name {
            "reason" => reason(value)?,
            _ => word(value, "/body", name)?,
        });
    }
    Ok(all)
}

/// A reason, which may be a sentence.
pub(super) fn reason<'j>(json: &'j Json<'j>) -> Read<&'j str> {
    let text = string(json, "/body", "reason")?;
    if text.len() <= MAX_REASON && fits(text) && !text.chars().any(char::is_control) {
        return Ok(text);
    }
    Err(MessageFault::malformed("/body/reason", "is not one line of at most 1024 bytes without `|`"))
}

/// The signature: none, or 64 lower-case hex digits by the one algorithm.
fn mark<'j>(members: &'j Object<'j>) -> Read<Option<&'j str>> {
    let text = |name: &'static str| members.get(name).map(|value| string(value, "", name)).transpose();
    let algorithm = text("signature_algorithm")?;
    let Some(mark) = text("signature")? else {
        return match algorithm {
            None => Ok(None),
            Some(_) => Err(MessageFault::malformed("/signature", "is missing beside its algorithm")),
        };
    };
    if algorithm != Some("hmac-sha256") {
        return Err(MessageFault::malformed("/signature_algorithm", "is not `hmac-sha256`"));
    }
    if !is_mark(mark) {
        return Err(MessageFault::malformed("/signature", "is not 64 lower-case hex digits"));
    }
    Ok(Some(mark))
}

fn fits(text: &str) -> bool {
    !text.contains('|')
}

/// An identifier without the character that separates the texts of a signature.
pub(super) fn word<'j>(json: &'j Json<'j>, path: &str, member: &str) -> Read<&'j str> {
    let text = id(json, path, member)?;
    if fits(text) {
        return Ok(text);
    }
    Err(MessageFault::malformed(at(path, member), "holds `|`, which separates the texts of a signature"))
}

fn word_or_empty<'j>(json: &'j Json<'j>, path: &str, member: &str) -> Read<&'j str> {
    if json.as_str() == Some("") { Ok("") } else { word(json, path, member) }
}

pub(super) fn mode(json: &Json<'_>, path: &str, member: &str) -> Read<PayloadMode> {
    PayloadMode::parse(string(json, path, member)?)
        .ok_or_else(|| MessageFault::malformed(at(path, member), "is no payload mode"))
}

/// Milliseconds since the Unix epoch of a time as RFC 3339 writes it.
pub(super) fn instant_ms(text: &str, path: &str, member: &str) -> Read<u64> {
    let fault = || MessageFault::malformed(at(path, member), "is not a time (RFC 3339) since 1970");
    let time = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| fault())?;
    u64::try_from(time.unix_timestamp_nanos() / 1_000_000).map_err(|_| fault())
}

/// A further name of the sender.
pub(super) const fn sender(name: &str) -> Party<'_> {
    Party { name, side: PartySide::Sender, names: "ldp" }
}
