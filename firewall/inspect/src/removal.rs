//! Members removed from a message before it is judged. The rest is read, judged and forwarded as the message,
//! and records name the removed members.
//!
//! The protocols define the removable members ([`semgate_protocol::removal`]). On a route with `null_arguments
//! = "absent"`, tool arguments that are `null` go too. The signed parameters must name them as optional and
//! without null.

use crate::{
    Answered, Arrived, NullArguments, Refusal, UnnamedTools,
    inspection::{HeaderClaims, Inspection},
    parse::{Strict, Target, malformed, parse, read, reading},
    redact::leaving_out,
    tools::task_of,
};
use bytes::Bytes;
use semgate_contexts::json::Json;
use semgate_protocol::{
    RequestBytes,
    mcp::{self, Asked},
    removal::{Author, Path, Removal},
};

/// A message without its removed members.
pub(crate) struct Removed<M> {
    /// Message to judge and forward.
    pub message: M,
    /// JSON Pointers to the removed members, in the original message.
    pub pointers: Vec<String>,
}

/// A request without its removable members, or a client's error in the protocol's words. None if neither
/// changes the bytes.
///
/// # Errors
/// `malformed` if a request on another transport than JSON-RPC cannot be rewritten.
pub(crate) fn of_request(
    case: &Inspection<'_>,
    arrived: &Arrived,
    strict: &Strict<'_>,
    headers: &HeaderClaims<'_>,
) -> Result<Option<Removed<Arrived>>, Refusal> {
    let removal = of(case, strict.json(), Author::Client);
    if removal.is_empty() {
        let removed = nulls(case, strict, headers);
        return Ok(match (removed, failure(case, strict)) {
            (Some(removed), _) => Some(whole(arrived, removed)),
            (None, Some(message)) => Some(whole(arrived, Removed { message, pointers: Vec::new() })),
            (None, None) => None,
        });
    }
    let judged = Bytes::from(leaving_out(strict.json(), removal.values()));
    let mut pointers = removal.into_pointers();
    let body = match case.protocol().traits().request_bytes {
        RequestBytes::Encoded => {
            let fault = |_| malformed(case, "the request cannot be written without the removed members");
            let strict = read(case, &judged)?;
            case.call.encode(strict.json()).map_err(fault)?.into()
        }
        // the body is a part of the parameters, and holds their open members
        RequestBytes::Part => {
            let strict = read(case, &arrived.body)?;
            let removal = of(case, strict.json(), Author::Client);
            leaving_out(strict.json(), removal.values()).into()
        }
        RequestBytes::Judged => {
            let strict = read(case, &judged)?;
            let message = match nulls(case, &strict, headers) {
                Some(more) => {
                    pointers.extend(more.pointers);
                    more.message
                }
                None => failure(case, &strict).unwrap_or_else(|| judged.clone()),
            };
            return Ok(Some(whole(arrived, Removed { message, pointers })));
        }
    };
    let message = Arrived { call: arrived.call.clone(), body, judged };
    Ok(Some(Removed { message, pointers }))
}

fn whole(arrived: &Arrived, removed: Removed<Bytes>) -> Removed<Arrived> {
    let Removed { message, pointers } = removed;
    Removed { message: Arrived::whole(arrived.call.clone(), message), pointers }
}

/// An A2A agent's message without its removable members; none if it has none.
pub(crate) fn of_agent(case: &Inspection<'_>, strict: &Strict<'_>) -> Option<Removed<Answered>> {
    if !case.removed.is_empty() {
        return None;
    }
    let removal = of(case, strict.json(), Author::Server { asked: None, pinned: &|_| false });
    cut(strict, removal).map(|Removed { message, pointers }| Removed { message: message.into(), pointers })
}

/// An MCP server's message without its removable members. A tool pinned by a context keeps all members;
/// nothing of a withheld tool is shown.
pub(crate) fn of_server(case: &Inspection<'_>, asked: &Asked, strict: &Strict<'_>) -> Option<Removed<Bytes>> {
    let withheld = case.route.options.unnamed_tools == UnnamedTools::Withhold;
    let pinned = |tool: &str| withheld || case.generation.pinned().has(tool);
    cut(strict, of(case, strict.json(), Author::Server { asked: Some(asked), pinned: &pinned }))
}

fn of<'j>(case: &Inspection<'_>, json: &'j Json<'j>, author: Author<'_>) -> Removal<'j> {
    Removal::of(json, case.route.binding.protocol(), author, &reading(case))
}

fn cut(strict: &Strict<'_>, removal: Removal<'_>) -> Option<Removed<Bytes>> {
    if removal.is_empty() {
        return None;
    }
    let message = Bytes::from(leaving_out(strict.json(), removal.values()));
    Some(Removed { message, pointers: removal.into_pointers() })
}

/// A tool call without `null` arguments that can only mean absence. Looks at direct members of `arguments`
/// only; judgement reports other faults.
fn nulls(case: &Inspection<'_>, strict: &Strict<'_>, headers: &HeaderClaims<'_>) -> Option<Removed<Bytes>> {
    if case.route.options.null_arguments != NullArguments::Absent {
        return None;
    }
    let arguments = strict.json().as_object()?.get("params")?.as_object()?.get("arguments")?.as_object()?;
    let nulls = || arguments.iter().filter(|(_, value)| value.is_null());
    nulls().next()?;
    let parsed = parse(case, strict, headers).ok()?;
    let (tool, _) = parsed.message().tool_call?;
    let Target::Known(named) = parsed.target() else { return None };
    let term = task_of(named.context(), tool)?.term;
    let parameters = term.side(parsed.message().performative).ok()?;
    let mut removal = Removal::default();
    let params = Path::ROOT.member("params");
    for (name, value) in nulls().filter(|(name, _)| parameters.never_null(name)) {
        removal.add(&params.member("arguments"), name, value);
    }
    cut(strict, removal)
}

/// A client's error with its number in the protocol's words; none for every other message.
fn failure(case: &Inspection<'_>, strict: &Strict<'_>) -> Option<Bytes> {
    case.call.mcp.as_ref()?;
    mcp::plain_failure(strict.json()).map(Bytes::from)
}
