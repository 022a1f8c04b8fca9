//! Messages, and the claim that a message or artifact carries.

use super::{
    frame::{Frame, METADATA, Voice, note},
    part,
};
use crate::{
    Message, MessageFault, OwnThread, Piece, PieceOf,
    claim::{self, Claimed, Row},
    member::{Read, array, at, id, identifier, object, required, string, unknown},
};
use semgate_contexts::{Performative, json::Json};

/// The most extensions that one message or artifact may list.
const MAX_EXTENSIONS: usize = 16;

/// The speaker of a message within an exchange.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Agent,
}

impl Role {
    fn parse(text: &str, frame: &Frame<'_>) -> Option<Self> {
        match (frame.old(), text) {
            (false, "ROLE_USER") | (true, "user") => Some(Self::User),
            (false, "ROLE_AGENT") | (true, "agent") => Some(Self::Agent),
            _ => None,
        }
    }
}

/// The message object as it was read into `out`.
pub(super) struct MessageHead<'j> {
    pub id: &'j str,
    pub performative: Performative,
    /// The task and conversation that the message states for itself.
    pub own: OwnThread<'j>,
}

/// Reads one `Message`. `rows` gives the row of the mapping for the message's role; `place` is the location of its claim.
pub(super) fn message<'j>(
    json: &'j Json<'j>,
    path: &str,
    location: &'static str,
    rows: impl Fn(Role) -> Option<Row>,
    frame: &Frame<'_>,
    out: &mut Message<'j>,
) -> Read<MessageHead<'j>> {
    let (mut message_id, mut own) = (None, OwnThread::default());
    let (mut role, mut parts, mut metadata) = (None, None, None);
    let from = out.instances.len();
    for (key, value) in object(json, path)?.iter() {
        match key {
            "kind" if frame.old() => kind(value, path, "message")?,
            "messageId" => message_id = Some(id(value, path, key)?),
            // proto3 JSON may write an absent string as an empty one
            "contextId" | "taskId" if !frame.old() && value.as_str() == Some("") => {}
            "contextId" => {
                own.context = Some(id(value, path, key)?);
                own.context.into_iter().for_each(|id| note(&mut out.threads.contexts, id));
            }
            "taskId" => {
                own.task = Some(id(value, path, key)?);
                own.task.into_iter().for_each(|id| note(&mut out.threads.tasks, id));
            }
            "role" => role = Some(string(value, path, key)?),
            "parts" => parts = Some(array(value, path, key)?),
            "metadata" => metadata = Some(value),
            "extensions" => extensions(value, path, frame)?,
            "referenceTaskIds" => references(value, path, out)?,
            _ => return unknown(path, key),
        }
    }
    let message_id = required(message_id, path, "messageId")?;
    let role = Role::parse(required(role, path, "role")?, frame)
        .ok_or_else(|| MessageFault::malformed(at(path, "role"), "is not a role of this version"))?;
    let row = rows(role)
        .ok_or_else(|| MessageFault::malformed(at(path, "role"), "is not the role of the sender here"))?;
    let claimed = claim(metadata, path, location, row, frame, out)?;
    let parts = required(parts, path, "parts")?;
    let performative = spoken(parts, path, Spoken { row, claimed }, frame)?;
    let repeats = role == Role::User && location.starts_with("/result");
    part::parts(parts, path, Voice { performative, repeats }, frame, out)?;
    out.pieces.push(Piece { of: PieceOf::Message, id: message_id, instances: from..out.instances.len() });
    Ok(MessageHead { id: message_id, performative, own })
}

/// The performatives that a message may have, and the one that its claim or its role gives it.
#[derive(Clone, Copy)]
pub(super) struct Spoken {
    pub row: Row,
    pub claimed: Claimed,
}

/// The performative of a list of parts. A part that states one by itself takes precedence over the default.
///
/// # Errors
/// A part that states another performative than the claim chose, or one that the mapping does not allow.
pub(super) fn spoken<'j>(
    parts: &'j [Json<'j>],
    path: &str,
    spoken: Spoken,
    frame: &Frame<'_>,
) -> Read<Performative> {
    let Spoken { row, claimed } = spoken;
    let Some((speech, at)) = part::speech(parts, path, frame)? else { return Ok(claimed.performative) };
    if claimed.chosen && claimed.performative != speech.performative {
        return Err(MessageFault::malformed(at, "states another performative than the claim"));
    }
    if !row.allowed.contains(speech.performative) {
        return Err(MessageFault::malformed(at, "states a performative that is not allowed here"));
    }
    Ok(speech.performative)
}

/// Checks the `kind` of a 0.3 object.
pub(super) fn kind(json: &Json<'_>, path: &str, expected: &str) -> Read<()> {
    if json.as_str() == Some(expected) {
        return Ok(());
    }
    Err(MessageFault::malformed(at(path, "kind"), "is not the kind of object expected here"))
}

/// Reads `metadata`: empty or the claim, and anything else where the route admits data.
pub(super) fn claim<'j>(
    metadata: Option<&'j Json<'j>>,
    path: &str,
    location: &'static str,
    row: Row,
    frame: &Frame<'_>,
    out: &mut Message<'j>,
) -> Read<Claimed> {
    let unclaimed = Claimed { performative: row.default, chosen: false };
    let Some(metadata) = metadata else { return Ok(unclaimed) };
    let path = at(path, "metadata");
    let members = object(metadata, &path)?;
    let claim_json = members.get(frame.reading.extension);
    if members.case_variant_of(&[frame.reading.extension]).is_some() {
        return Err(MessageFault::malformed(path, "names the extension in different case"));
    }
    if !frame.reading.admit.data {
        frame.passes(members, &path)?;
    }
    let read = match claim_json {
        // Our own constant, so it may be shown: an operator looks for the claim, not for the metadata around it.
        Some(value) => {
            let path = format!("{path}/{}", frame.reading.extension);
            claim::read(value, &path, frame.location(location), row, out)?
        }
        None => unclaimed,
    };
    let more = members.len() > usize::from(claim_json.is_some());
    if more && frame.reading.admit.data {
        frame.say(METADATA, members, read.performative, &path, out)?;
    }
    Ok(read)
}

/// Checks the extension list. It may name the claim's extension and, where data is admitted, others, whose content is
/// metadata.
pub(super) fn extensions(json: &Json<'_>, path: &str, frame: &Frame<'_>) -> Read<()> {
    let fault = |what| Err(MessageFault::malformed(at(path, "extensions"), what));
    let items = array(json, path, "extensions")?;
    if items.len() > MAX_EXTENSIONS {
        return fault("lists more than 16 extensions");
    }
    for item in items {
        let text = item.as_str();
        let admitted = frame.reading.admit.data && text.and_then(identifier).is_some();
        if text != Some(frame.reading.extension) && !admitted {
            return fault("names an extension that is not supported");
        }
    }
    Ok(())
}

fn references<'j>(json: &'j Json<'j>, path: &str, out: &mut Message<'j>) -> Read<()> {
    for item in array(json, path, "referenceTaskIds")? {
        let Some(task) = item.as_str().and_then(identifier) else {
            let path = at(path, "referenceTaskIds");
            return Err(MessageFault::malformed(path, "holds a value that is not an identifier"));
        };
        note(&mut out.threads.tasks, task);
    }
    Ok(())
}
