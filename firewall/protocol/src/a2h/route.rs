//! Paths of every dialect, and the judged JSON of a request.

use super::{Dialect, PeopleOperation, draft::Draft, goto_human, human_layer, own, twilio};
use crate::{
    FaultKind, MessageFault,
    a2a::rest::Query,
    member::{Read, identifier, required},
};
use semgate_contexts::json::Json;

/// The target of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeopleTarget<'p> {
    /// The operation.
    pub operation: PeopleOperation,
    /// The dialect of request and answer.
    pub dialect: Dialect,
    /// The interaction that the path names.
    pub id: Option<&'p str>,
}

/// The prefix below which HumanLayer serves its own cloud, which clients may keep.
const HUMAN_LAYER: &str = "/humanlayer/v1";

/// The target of a method and path. `path` begins with `/` and has no query.
///
/// # Errors
/// [`FaultKind::MethodUnsupported`] for every other path, and for a method that the path does not have. `malformed` for an id
/// that is not an identifier.
pub fn route<'p>(method: &str, path: &'p str) -> Read<PeopleTarget<'p>> {
    let unsupported = || MessageFault {
        kind: FaultKind::MethodUnsupported,
        path: String::new(),
        what: "the path, or the method on it, is not part of A2H",
    };
    let inner = path.strip_prefix(HUMAN_LAYER).filter(|rest| rest.starts_with('/')).unwrap_or(path);
    let parts: Vec<&str> = inner.strip_prefix('/').ok_or_else(unsupported)?.split('/').collect();
    let target = plain(method, &parts).ok_or_else(unsupported)?;
    let one_reading = |id: &str| identifier(id).is_some() && !id.contains(['%', ';', '?', '#']);
    if target.id.is_some_and(|id| !one_reading(id)) {
        return Err(MessageFault::malformed("", "the path holds an invalid identifier"));
    }
    Ok(target)
}

/// The table.
fn plain<'p>(method: &str, parts: &[&'p str]) -> Option<PeopleTarget<'p>> {
    use Dialect::{Contact, FunctionCall, Intent, Own, Review};
    use PeopleOperation::{Cancel, Discover, Find, Get, Interact};
    let to = |operation, dialect, id| Some(PeopleTarget { operation, dialect, id });
    match (method, parts) {
        ("POST", ["a2h", "v1", "interactions"]) => to(Interact, Own, None),
        ("GET", ["a2h", "v1", "interactions", id]) => to(Get, Own, Some(id)),
        ("POST", ["a2h", "v1", "interactions", id, "cancel"]) => to(Cancel, Own, Some(id)),
        ("GET", ["a2h", "v1", "humans"]) => to(Find, Own, None),
        ("POST", ["function_calls"]) => to(Interact, FunctionCall, None),
        ("GET", ["function_calls", id]) => to(Get, FunctionCall, Some(id)),
        ("POST", ["contact_requests"]) => to(Interact, Contact, None),
        ("GET", ["contact_requests", id]) => to(Get, Contact, Some(id)),
        ("POST", ["requestReview"]) => to(Interact, Review, None),
        ("POST", ["v1", "intent"]) => to(Interact, Intent, None),
        ("GET", ["v1", "status", id]) => to(Get, Intent, Some(id)),
        ("POST", ["v1", "cancel", id]) => to(Cancel, Intent, Some(id)),
        ("GET", [".well-known", "a2h"]) => to(Discover, Intent, None),
        _ => None,
    }
}

/// Assembles the judged JSON of a request. `default_human` is the person of a request that names none.
///
/// # Errors
/// `malformed` for a body or a query that the operation does not have, and the faults of the dialect.
pub fn params(
    target: &PeopleTarget<'_>,
    query: &Query<'_>,
    body: Option<&Json<'_>>,
    default_human: Option<&str>,
) -> Read<Vec<u8>> {
    if target.operation == PeopleOperation::Interact {
        only(query, &[])?;
        let body = required(body, "", "body")?;
        return match target.dialect {
            Dialect::Own => own::interaction(body, default_human),
            Dialect::FunctionCall => human_layer::function_call(body, default_human),
            Dialect::Contact => human_layer::contact(body, default_human),
            Dialect::Review => goto_human::review(body, default_human),
            Dialect::Intent => twilio::intent(body, default_human),
        };
    }
    if body.and_then(Json::as_object).is_some_and(|body| !body.is_empty())
        || body.is_some_and(|body| body.as_object().is_none())
    {
        return Err(MessageFault::malformed("", "there is a body, but the operation takes none"));
    }
    let mut draft = Draft::default();
    if let Some(id) = target.id {
        draft.string("id", id);
    }
    match (target.operation, target.dialect) {
        (PeopleOperation::Find, _) => {
            only(query, &["capability", "status"])?;
            for name in ["capability", "status"] {
                if let Some(value) = value(query, name) {
                    draft.string(name, value);
                }
            }
        }
        (PeopleOperation::Get, Dialect::Own) => {
            only(query, &["wait"])?;
            if let Some(text) = value(query, "wait") {
                let seconds = text.parse::<u16>().ok().filter(|seconds| seconds.to_string() == text);
                let fault = || MessageFault::malformed("/wait", "is no number of seconds");
                let seconds = seconds.ok_or_else(fault)?;
                draft.put("wait", |out| *out += &seconds.to_string());
            }
        }
        _ => only(query, &[])?,
    }
    Ok(draft.done())
}

fn value<'q>(query: &'q Query<'_>, name: &str) -> Option<&'q str> {
    query.parameters().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Refuses other parameters than these.
fn only(query: &Query<'_>, names: &[&str]) -> Read<()> {
    match query.parameters().find(|(name, _)| !names.contains(name)) {
        None => Ok(()),
        Some(_) => {
            Err(MessageFault::malformed("", "the query has a parameter that the operation does not have"))
        }
    }
}
