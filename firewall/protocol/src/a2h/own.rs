//! The paper's own form: `{target, type, summary, body, actions | options, …}`.

use super::draft::{Draft, Kind};
use crate::{
    MessageFault,
    member::{Read, object, prefer_duplicate, required, string, unknown},
};
use semgate_contexts::json::Json;

/// Members that are written as they came, and those with other names.
const KNOWN: [&str; 15] = [
    "target",
    "type",
    "summary",
    "body",
    "options",
    "actions",
    "ttl",
    "reason",
    "context",
    "required_input",
    "secret",
    "assurance",
    "responds_to",
    "callback",
    "call",
];

/// Reads an interaction.
///
/// # Errors
/// `malformed` for an unknown member or type, and for `actions` beside `options`.
pub(super) fn interaction(body: &Json<'_>, default_human: Option<&str>) -> Read<Vec<u8>> {
    read(body, default_human).map_err(|fault| prefer_duplicate(fault, body, &KNOWN))
}

fn read(body: &Json<'_>, default_human: Option<&str>) -> Read<Vec<u8>> {
    let members = object(body, "")?;
    let kind = string(required(members.get("type"), "", "type")?, "", "type")?;
    let kind = Kind::parse(kind).ok_or_else(|| MessageFault::malformed("/type", "is no type of A2H"))?;
    if members.get("actions").is_some() && members.get("options").is_some() {
        return Err(MessageFault::malformed(
            "/actions",
            "is another name of `options`, which is also present",
        ));
    }
    let mut draft = Draft::default();
    for (key, value) in members.iter() {
        match (key, KNOWN.iter().find(|known| **known == key)) {
            ("type", _) => {}
            // the buttons of a permission are the gateway's own
            ("actions" | "options", _) if matches!(kind, Kind::Permission | Kind::Notification) => {
                draft.ignored("actions", value);
            }
            ("actions", _) => draft.json("options", value),
            (_, Some(known)) => draft.json(known, value),
            (_, None) => return unknown("", key),
        }
    }
    draft.finish(kind, default_human)
}
