//! A2H 1.0 by Twilio: `POST /v1/intent`.
//!
//! `principal_id` is the person's id. An address of a channel is removed. A signature of the agent is removed too: the
//! gateway has verified the sender by its certificate.

use super::draft::{Draft, Kind, first_line};
use super::form;
use crate::{
    FaultKind, MessageFault,
    member::{Read, id, object, required, string, unknown},
    text,
};
use semgate_contexts::json::{Json, Object};

/// The version that is carried.
const VERSION: &str = "1.0";

/// Reads an intent.
///
/// # Errors
/// `malformed` for a member that is unknown, missing or of the wrong form, for an intent that is no request to a person, and
/// for a person named by an address. [`FaultKind::VersionUnsupported`] for a client that needs a newer version.
pub(super) fn intent(body: &Json<'_>, default_human: Option<&str>) -> Read<Vec<u8>> {
    let members = object(body, "")?;
    let intent = string(required(members.get("type"), "", "type")?, "", "type")?;
    let kind = match intent {
        "AUTHORIZE" => Kind::Permission,
        "COLLECT" => Kind::Solicitation,
        "INFORM" | "RESULT" => Kind::Notification,
        _ => return Err(MessageFault::malformed("/type", "is no intent that a person can answer here")),
    };
    versions(members)?;
    not_an_address(members)?;
    let mut draft = Draft::default();
    for (key, value) in members.iter() {
        match key {
            "type" | "a2h_version" | "a2h_min_version" => {}
            "principal_id" => draft.json("target", value),
            "agent_id" => draft.json("agent", value),
            "message_id" => draft.string("message_id", id(value, "", key)?),
            "responds_to" => draft.json("responds_to", value),
            "ttl_sec" => draft.json("ttl", value),
            "render" => render(value, &mut draft)?,
            "params" => draft.put("call", |out| call(intent, value, out)),
            "components" => {
                let mut written = String::new();
                form::components(value, &mut written)?;
                draft.put("required_input", |out| out.push_str(&written));
            }
            "assurance" => assurance(value, &mut draft)?,
            "explanation_bundle" => why(value, &mut draft)?,
            "callback" => callback(value, &mut draft)?,
            "channel" | "links" | "interaction_id" | "created_at" | "signature" => draft.ignored(key, value),
            _ => return unknown("", key),
        }
    }
    if !draft.has("summary") {
        draft.string("summary", intent);
    }
    draft.finish(kind, default_human)
}

/// Refuses a client that needs another version.
fn versions(members: &Object<'_>) -> Read<()> {
    let lowest =
        members.get("a2h_min_version").map(|value| string(value, "", "a2h_min_version")).transpose()?;
    let spoken = members.get("a2h_version").map(|value| string(value, "", "a2h_version")).transpose()?;
    if lowest.is_some_and(|version| version != VERSION)
        || (lowest.is_none() && spoken.is_some_and(|v| v != VERSION))
    {
        let path = "/a2h_min_version".to_owned();
        return Err(MessageFault {
            kind: FaultKind::VersionUnsupported,
            path,
            what: "is another version than 1.0",
        });
    }
    Ok(())
}

/// Refuses a principal that is named by an address of the channel.
fn not_an_address(members: &Object<'_>) -> Read<()> {
    let address = members.get("channel").and_then(Json::as_object).and_then(|channel| channel.get("address"));
    let principal = members.get("principal_id");
    if address.is_some() && address.and_then(Json::as_str) == principal.and_then(Json::as_str) {
        return Err(MessageFault::malformed("/principal_id", "is an address, not the id of a person"));
    }
    Ok(())
}

fn render(value: &Json<'_>, draft: &mut Draft) -> Read<()> {
    let (mut title, mut body) = (None, None);
    for (key, value) in object(value, "/render")?.iter() {
        match key {
            "title" => title = Some(string(value, "/render", key)?),
            "body" => body = Some(string(value, "/render", key)?),
            "footer" | "icon" => {}
            _ => return unknown("/render", key),
        }
    }
    let body = required(body, "/render", "body")?;
    draft.string("summary", title.unwrap_or_else(|| first_line(body)));
    draft.string("body", body);
    Ok(())
}

fn call(intent: &str, arguments: &Json<'_>, out: &mut String) {
    out.push_str("{\"name\":");
    text::string(intent, out);
    out.push_str(",\"arguments\":");
    text::write(arguments, out);
    out.push('}');
}

fn assurance(value: &Json<'_>, draft: &mut Draft) -> Read<()> {
    for (key, value) in object(value, "/assurance")?.iter() {
        match key {
            "level" => draft.json("assurance", value),
            // factors of other services: a level is the demand that is kept
            "required_factors" => draft.ignored("required_factors", value),
            _ => return unknown("/assurance", key),
        }
    }
    Ok(())
}

fn why(value: &Json<'_>, draft: &mut Draft) -> Read<()> {
    for (key, value) in object(value, "/explanation_bundle")?.iter() {
        match key {
            "why" => draft.json("reason", value),
            _ => return unknown("/explanation_bundle", key),
        }
    }
    Ok(())
}

fn callback(value: &Json<'_>, draft: &mut Draft) -> Read<()> {
    for (key, value) in object(value, "/callback")?.iter() {
        match key {
            "url" => draft.json("callback", value),
            "secret" => draft.ignored("callback_secret", value),
            _ => return unknown("/callback", key),
        }
    }
    Ok(())
}
