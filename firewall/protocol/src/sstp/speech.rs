//! The speech act of an L9 object: told by kind, subkind, and closed words of the data, never by text.

use super::{
    Speech,
    header::{Header, Kind, Subprotocol},
};
use crate::{
    MessageFault,
    member::{Read, at, required, string},
};
use semgate_contexts::{
    Performative::{self, Accept, Inform, Propose, Query, Reject},
    json::{Json, Object},
};

/// Reads the speech act.
///
/// # Errors
/// An operation of TFP that is unknown or belongs to another kind. A commit whose subkind is unknown, or contradicts its data.
pub(super) fn of(header: &Header<'_>, data: &Object<'_>, path: &str) -> Read<Speech> {
    let plain = |performative| Ok(Speech { performative, asks: false });
    if header.subprotocol == Some(Subprotocol::Tfp) {
        return team(header, data, path);
    }
    match header.kind {
        Kind::Intent => plain(Propose),
        Kind::Exchange | Kind::Knowledge => plain(Inform),
        Kind::Contingency => Ok(Speech { performative: Query, asks: true }),
        Kind::Commit => {
            let by_data = match header.subprotocol {
                Some(Subprotocol::Sab) => bargained(data),
                _ => None,
            };
            commit(header, by_data, path).and_then(plain)
        }
    }
}

/// A turn of team formation.
fn team(header: &Header<'_>, data: &Object<'_>, path: &str) -> Read<Speech> {
    let path_of_data = format!("{path}/payload/data");
    let operation = required(data.get("operation"), &path_of_data, "operation")?;
    let operation = string(operation, &path_of_data, "operation")?;
    let performative = match (header.kind, operation) {
        (Kind::Intent, "poll_open" | "re_poll")
        | (Kind::Exchange, "re_poll" | "clarify")
        | (Kind::Contingency, "clarify") => Query,
        (Kind::Exchange, "bid") => Propose,
        (Kind::Exchange, "select" | "accept") => Accept,
        (Kind::Exchange, "decline" | "reject") => Reject,
        (Kind::Commit, "form_converged") => commit(header, Some(Accept), path)?,
        (Kind::Commit, "form_failed") => commit(header, Some(Reject), path)?,
        _ => {
            return Err(MessageFault::malformed(
                at(&path_of_data, "operation"),
                "is not an operation of this kind of message",
            ));
        }
    };
    Ok(Speech { performative, asks: operation == "clarify" })
}

/// The verdict in the data of a bargain, if it has one.
fn bargained(data: &Object<'_>) -> Option<Performative> {
    let context = data.get("semantic_context")?.as_object()?;
    let response = context.get("sao_response").and_then(Json::as_object);
    let response = response.and_then(|response| response.get("response")).and_then(Json::as_number);
    match response.and_then(|response| response.as_i64_exact()) {
        Some(0) => Some(Accept),
        Some(1 | 2 | 5) => Some(Reject),
        _ => match context.get("outcome")?.as_str()? {
            "agreement" => Some(Accept),
            _ => Some(Reject),
        },
    }
}

/// The verdict of a commit. The subkind and the data must not contradict each other; without either it accepts.
fn commit(header: &Header<'_>, by_data: Option<Performative>, path: &str) -> Read<Performative> {
    let by_subkind = match header.subkind {
        None => None,
        Some("converged" | "resolved") => Some(Accept),
        Some("rejected" | "unresolved" | "disagreement" | "timeout" | "abort") => Some(Reject),
        // an agent is done, and the episode is not over
        Some("ready") => Some(Inform),
        Some(_) => return Err(MessageFault::malformed(subkind(path), "is not a subkind of a commit")),
    };
    match (by_subkind, by_data) {
        (Some(one), Some(other)) if one != other => {
            Err(MessageFault::malformed(subkind(path), "contradicts the data"))
        }
        (one, other) => Ok(one.or(other).unwrap_or(Accept)),
    }
}

fn subkind(path: &str) -> String {
    format!("{path}/header/subkind")
}
