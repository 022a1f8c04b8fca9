//! The header of an L9 object: closed here, then judged whole as an instance.

use crate::{
    MessageFault,
    member::{Read, array, at, id, object, required, string, unknown},
};
use semgate_contexts::json::{Json, Object};

/// The phase of an episode that a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Intent,
    Exchange,
    Contingency,
    Commit,
    Knowledge,
}

impl Kind {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "intent" => Some(Self::Intent),
            "exchange" => Some(Self::Exchange),
            "contingency" => Some(Self::Contingency),
            "commit" => Some(Self::Commit),
            "knowledge" => Some(Self::Knowledge),
            _ => None,
        }
    }
}

/// A subprotocol whose data has a schema in the format's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subprotocol {
    Siep,
    Cip,
    Tfp,
    Sab,
}

impl Subprotocol {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "SIEP" => Some(Self::Siep),
            "CIP" => Some(Self::Cip),
            "TFP" => Some(Self::Tfp),
            "SAB" => Some(Self::Sab),
            _ => None,
        }
    }

    /// The concept of its data. SAB has one for each phase; only data of a session that began names it.
    pub fn term(self, kind: Kind, data: &Object<'_>) -> &'static str {
        let context = || data.get("semantic_context").and_then(Json::as_object);
        match (self, kind) {
            (Self::Siep, _) => "siep",
            (Self::Cip, _) => "cip",
            (Self::Tfp, _) => "tfp",
            (Self::Sab, Kind::Commit) => "sab_commit",
            (Self::Sab, _) if context().is_some_and(|context| context.get("session_id").is_none()) => {
                "sab_intent"
            }
            (Self::Sab, _) => "sab_negotiate",
        }
    }
}

/// A header, with the members that the reader needs. The schema of `header` bounds all of them.
pub(super) struct Header<'j> {
    pub object: &'j Object<'j>,
    /// None for a subprotocol without a schema here.
    pub subprotocol: Option<Subprotocol>,
    pub kind: Kind,
    /// Empty counts as absent.
    pub subkind: Option<&'j str>,
    /// The actor with the role `sender`.
    pub sender: Option<&'j str>,
    /// The actors with the role `recipient`.
    pub recipients: Vec<&'j str>,
    pub schema_id: Option<&'j str>,
}

impl<'j> Header<'j> {
    /// Reads a header.
    ///
    /// # Errors
    /// A member that is missing, unknown or of the wrong form; another protocol; two senders.
    pub fn read(json: &'j Json<'j>, path: &str) -> Read<Self> {
        let object = object(json, path)?;
        let (mut protocol, mut subprotocol, mut kind, mut subkind) = (None, None, None, None);
        let (mut participants, mut schema_id, mut version) = (None, None, None);
        for (key, value) in object.iter() {
            match key {
                "protocol" => protocol = Some(string(value, path, key)?),
                "subprotocol" => subprotocol = Some(string(value, path, key)?),
                "version" => version = Some(string(value, path, key)?),
                "kind" => kind = Some(string(value, path, key)?),
                "subkind" => subkind = optional(value, path, key)?,
                "participants" => participants = Some(value),
                "context" => schema_id = self::schema_id(value, &at(path, key))?,
                "message" | "policy" | "attributes" => {}
                _ => return unknown(path, key),
            }
        }
        if required(protocol, path, "protocol")? != "SSTP" {
            return Err(MessageFault::malformed(at(path, "protocol"), "is not `SSTP`"));
        }
        required(version, path, "version")?;
        let kind = Kind::parse(required(kind, path, "kind")?)
            .ok_or_else(|| MessageFault::malformed(at(path, "kind"), "is not a kind of message"))?;
        let subprotocol = Subprotocol::parse(required(subprotocol, path, "subprotocol")?);
        let participants = required(participants, path, "participants")?;
        let (sender, recipients) = actors(participants, &at(path, "participants"))?;
        let subkind = subkind.filter(|subkind| !subkind.is_empty());
        Ok(Self { object, subprotocol, kind, subkind, sender, recipients, schema_id })
    }
}

/// The sender and the recipients among the participants.
fn actors<'j>(json: &'j Json<'j>, path: &str) -> Read<(Option<&'j str>, Vec<&'j str>)> {
    let actors = array(required(object(json, path)?.get("actors"), path, "actors")?, path, "actors")?;
    let path = at(path, "actors");
    let (mut sender, mut recipients) = (None, Vec::new());
    for (n, json) in actors.iter().enumerate() {
        let path = format!("{path}/{n}");
        let actor = object(json, &path)?;
        let name = id(required(actor.get("id"), &path, "id")?, &path, "id")?;
        match string(required(actor.get("role"), &path, "role")?, &path, "role")? {
            "sender" if sender.replace(name).is_some() => {
                return Err(MessageFault::malformed(path, "is a second sender"));
            }
            "recipient" => recipients.push(name),
            _ => {}
        }
    }
    Ok((sender, recipients))
}

/// `semantic.schema_id` of `context`.
fn schema_id<'j>(json: &'j Json<'j>, path: &str) -> Read<Option<&'j str>> {
    let Some(semantic) = present(json, path)?.and_then(|context| context.get("semantic")) else {
        return Ok(None);
    };
    let path = at(path, "semantic");
    match present(semantic, &path)?.and_then(|semantic| semantic.get("schema_id")) {
        Some(id) => optional(id, &path, "schema_id"),
        None => Ok(None),
    }
}

/// An object, or none for `null`.
fn present<'j>(json: &'j Json<'j>, path: &str) -> Read<Option<&'j Object<'j>>> {
    if json.is_null() { Ok(None) } else { object(json, path).map(Some) }
}

/// A string, or none for `null`.
fn optional<'j>(json: &'j Json<'j>, path: &str, member: &str) -> Read<Option<&'j str>> {
    if json.is_null() { Ok(None) } else { string(json, path, member).map(Some) }
}
