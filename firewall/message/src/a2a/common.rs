//! What requests and replies share: messages, parts, claims.

use crate::{
    Base, Claim, Message, MessageFault, Pointer, Reading, content,
    member::{Read, array, at, empty_object, id, identifier, object, required, string, unknown},
};
use semgate_contexts::{
    Performative, PerformativeSet,
    json::{Json, Object},
};

/// Every member name of the binding, for telling a duplicate in another case of letters.
pub(super) const KNOWN: &[&str] = &[
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "message",
    "task",
    "configuration",
    "metadata",
    "tenant",
    "messageId",
    "contextId",
    "taskId",
    "role",
    "parts",
    "extensions",
    "referenceTaskIds",
    "text",
    "raw",
    "url",
    "data",
    "filename",
    "mediaType",
    "context",
    "digest",
    "lock",
    "performative",
    "acceptedOutputModes",
    "historyLength",
    "returnImmediately",
    "status",
    "artifacts",
    "history",
    "state",
    "timestamp",
    "artifactId",
    "name",
    "description",
    "concept_type",
    "concept",
];

/// Who says a message within an exchange.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Agent,
}

/// What a row of the mapping table allows: the default performative, and those that metadata may choose.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub default: Performative,
    pub allowed: PerformativeSet,
}

/// A message object, read into `out`. Returns who says it and its id.
pub(super) struct Said<'j> {
    pub id: &'j str,
    pub performative: Performative,
}

/// Reads one `Message`. `rows` gives the row of the mapping for the role that the message has.
pub(super) fn message<'j>(
    json: &'j Json<'j>,
    path: &str,
    place: &'static str,
    rows: impl Fn(Role) -> Option<Row>,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<Said<'j>> {
    let mut message_id = None;
    let (mut role, mut parts, mut metadata) = (None, None, None);
    for (key, value) in object(json, path)?.iter() {
        match key {
            "messageId" => message_id = Some(id(value, path, key)?),
            // proto3 JSON may write an absent string as an empty one
            "contextId" | "taskId" if value.as_str() == Some("") => {}
            "contextId" | "taskId" => drop(id(value, path, key)?),
            "role" => role = Some(string(value, path, key)?),
            "parts" => parts = Some(array(value, path, key)?),
            "metadata" => metadata = Some(value),
            "extensions" => extensions(value, path, reading)?,
            "referenceTaskIds" => ids(value, path, key)?,
            _ => return unknown(path, key),
        }
    }
    let message_id = required(message_id, path, "messageId")?;
    let role = match required(role, path, "role")? {
        "ROLE_USER" => Role::User,
        "ROLE_AGENT" => Role::Agent,
        _ => {
            return Err(MessageFault::malformed(at(path, "role"), "is neither `ROLE_USER` nor `ROLE_AGENT`"));
        }
    };
    let row = rows(role)
        .ok_or_else(|| MessageFault::malformed(at(path, "role"), "is not the role that speaks here"))?;
    let performative = claim(metadata, path, place, row, reading, out)?;
    parts_of(required(parts, path, "parts")?, path, performative, reading, out)?;
    Ok(Said { id: message_id, performative })
}

/// The parts of a message or artifact.
pub(super) fn parts_of<'j>(
    parts: &'j [Json<'j>],
    path: &str,
    performative: Performative,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    if parts.is_empty() {
        out.note_gap(Pointer { base: Base::Built(at(path, "parts").into()), key: None }, "is empty");
    }
    for (n, part) in parts.iter().enumerate() {
        one_part(part, &format!("{path}/parts/{n}"), performative, reading, out)?;
    }
    Ok(())
}

fn one_part<'j>(
    json: &'j Json<'j>,
    path: &str,
    performative: Performative,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let mut kind: Option<(&'static str, &'j Json<'j>)> = None;
    let (mut media, mut filename) = (None, false);
    for (key, value) in object(json, path)?.iter() {
        let name = match key {
            "text" => "text",
            "raw" => "raw",
            "url" => "url",
            "data" => "data",
            "metadata" => {
                empty_object(value, path, key)?;
                continue;
            }
            "filename" | "mediaType" if value.as_str() == Some("") => continue,
            "filename" => {
                string(value, path, key)?;
                filename = true;
                continue;
            }
            "mediaType" => {
                media = Some(media_type(value, path, key)?);
                continue;
            }
            _ => return unknown(path, key),
        };
        if kind.replace((name, value)).is_some() {
            return Err(MessageFault::malformed(path, "holds two of `text`, `raw`, `url` and `data`"));
        }
    }
    let Some((kind, value)) = kind else {
        return Err(MessageFault::malformed(path, "holds none of `text`, `raw`, `url` and `data`"));
    };
    if kind == "data" {
        if filename {
            return Err(MessageFault::malformed(at(path, "filename"), "does not belong to a data part"));
        }
        if media.is_some_and(|media| media != "application/json" && !media.ends_with("+json")) {
            return Err(MessageFault::malformed(at(path, "mediaType"), "is no media type of json"));
        }
        let base = Base::Built(at(path, "data").into());
        return content::read(value, &base, performative, reading.max_concepts, out);
    }
    string(value, path, kind)?;
    let admitted = match kind {
        "text" => reading.admit.text,
        "raw" => reading.admit.raw,
        _ => reading.admit.url,
    };
    if !admitted {
        out.note_uninspectable(Pointer { base: Base::Built(at(path, kind).into()), key: None });
    }
    Ok(())
}

/// Reads `metadata`: empty, or the claim alone. Returns the performative.
pub(super) fn claim<'j>(
    metadata: Option<&'j Json<'j>>,
    path: &str,
    place: &'static str,
    row: Row,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<Performative> {
    let Some(metadata) = metadata else { return Ok(row.default) };
    let path = at(path, "metadata");
    let mut found: Option<&'j Object<'j>> = None;
    for (key, value) in object(metadata, &path)?.iter() {
        if key != reading.extension {
            return unknown(&path, key);
        }
        // Our own constant, so it may be shown: an operator looks for the claim, not for the metadata around it.
        found = Some(object(value, &format!("{path}/{key}"))?);
    }
    let Some(members) = found else { return Ok(row.default) };
    let path = format!("{path}/{}", reading.extension);
    let (mut urn, mut digest, mut lock, mut performative) = (None, None, None, row.default);
    for (key, value) in members.iter() {
        match key {
            "context" => urn = Some(string(value, &path, key)?),
            "digest" => digest = Some(string(value, &path, key)?),
            "lock" => lock = Some(id(value, &path, key)?),
            "performative" => performative = chosen(string(value, &path, key)?, &path, row)?,
            _ => return unknown(&path, key),
        }
    }
    if let Some(urn) = urn {
        out.claims.push(Claim { urn, digest, lock, place });
    } else if digest.is_some() || lock.is_some() {
        return Err(MessageFault::malformed(path, "holds a digest or lock and no context"));
    }
    Ok(performative)
}

/// F0-10: the mapping decides; metadata chooses only among what its row allows.
fn chosen(text: &str, path: &str, row: Row) -> Read<Performative> {
    let performative = text.parse::<Performative>().map_err(|_| {
        MessageFault::malformed(at(path, "performative"), "is not one of the eleven performatives")
    })?;
    if row.allowed.contains(performative) {
        Ok(performative)
    } else {
        Err(MessageFault::malformed(at(path, "performative"), "is not one that may be carried here"))
    }
}

/// The extension list may name the extension that the claim belongs to, and nothing else.
pub(super) fn extensions(json: &Json<'_>, path: &str, reading: &Reading<'_>) -> Read<()> {
    for item in array(json, path, "extensions")? {
        if item.as_str() != Some(reading.extension) {
            return Err(MessageFault::malformed(
                at(path, "extensions"),
                "names an extension that is not carried",
            ));
        }
    }
    Ok(())
}

fn ids(json: &Json<'_>, path: &str, member: &str) -> Read<()> {
    for item in array(json, path, member)? {
        if item.as_str().and_then(identifier).is_none() {
            return Err(MessageFault::malformed(at(path, member), "holds something that is no identifier"));
        }
    }
    Ok(())
}

/// `type/subtype` of at most 127 characters, without parameters.
pub(super) fn media_type<'j>(json: &'j Json<'j>, path: &str, member: &str) -> Read<&'j str> {
    let text = string(json, path, member)?;
    let word = |w: &str| {
        !w.is_empty()
            && w.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'-' | b'_' | b'*'))
    };
    match text.split_once('/') {
        Some((kind, sub)) if text.len() <= 127 && word(kind) && word(sub) => Ok(text),
        _ => Err(MessageFault::malformed(at(path, member), "is no plain media type")),
    }
}

/// The JSON-RPC members that every message has; returns the id.
pub(super) fn version(json: Option<&Json<'_>>) -> Read<()> {
    match json.and_then(Json::as_str) {
        Some("2.0") => Ok(()),
        _ => Err(MessageFault::malformed("/jsonrpc", "is not `2.0`")),
    }
}
