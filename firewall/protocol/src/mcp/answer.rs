//! Answers: results of both sides, and the data of errors.

use super::{
    Asked, ErrorData, KNOWN, Kind, Operation, Revision, Speaker,
    content::{self, Echo, or_empty, say},
    form, meta, request,
};
use crate::{
    Binding, FaultKind, Message, MessageFault, Reading, Reply, RpcId,
    member::{Read, array, at, object, prefer_duplicate, required, string, unknown},
    model::Vocabulary,
};
use semgate_contexts::{
    Performative::{Inform, Query},
    PerformativeSet,
    json::{Json, Object},
};

const PATH: &str = "/result";

/// The words that JSON-RPC 2.0 and MCP have for an error number: an error's own text never passes.
pub const fn plain_error(number: i32) -> Option<&'static str> {
    Some(match number {
        -32700 => "parse error",
        -32600 => "invalid request",
        -32601 => "method not found",
        -32602 => "invalid params",
        -32603 => "internal error",
        -32002 => "resource not found",
        -32020 => "header mismatch",
        -32021 => "missing required client capability",
        -32022 => "unsupported protocol version",
        -32042 => "url elicitation required",
        _ => return None,
    })
}

/// Reads one response to `asked`, said by `speaker`.
///
/// # Errors
/// Another id, or the first member that is missing, unknown, of the wrong form or there twice.
pub fn answer<'j>(
    json: &'j Json<'j>,
    asked: &'j Asked,
    speaker: Speaker,
    reading: &Reading<'_>,
) -> Read<Reply<'j>> {
    read(json, asked, speaker, reading).map_err(|fault| prefer_duplicate(fault, json, KNOWN))
}

fn read<'j>(
    json: &'j Json<'j>,
    asked: &'j Asked,
    speaker: Speaker,
    reading: &Reading<'_>,
) -> Read<Reply<'j>> {
    let parts = parted(json, Some(asked))?;
    if Some(&parts.id) != asked.rpc_id.as_ref() {
        return Err(MessageFault::malformed("/id", "is not the id of the request"));
    }
    if let Some(number) = parts.error {
        return Ok(Reply::ServerError(number, parts.data));
    }
    let result = required(parts.result, "", "result")?;
    let mut message = Message::new(Binding::Mcp, Inform);
    message.rpc_id = Some(parts.id);
    let inform = PerformativeSet::EMPTY.with(Inform);
    let head = meta::read(
        result.get(content::META),
        meta::Of::Result,
        asked.version,
        "/result/_meta",
        inform,
        reading,
        &mut message,
    )?;
    if head.subscription.is_some_and(|named| !asked.is_named(&named)) {
        return Err(MessageFault::malformed("/result/_meta", "names another subscription than the request"));
    }
    match speaker {
        Speaker::Server => by_server(asked, result, reading, &mut message)?,
        Speaker::Client => by_client(asked.operation, result, PATH, reading, &mut message)?,
    }
    message.rpc = Some((Kind::Response, asked.operation));
    Ok(Reply::Message(Box::new(message)))
}

/// A response without its envelope: exactly one of a result and the number of an error.
pub(super) struct Parted<'j> {
    pub id: RpcId,
    pub result: Option<&'j Object<'j>>,
    pub error: Option<i32>,
    pub data: Option<ErrorData>,
}

/// Reads the envelope of a response to `asked`, if the request is known.
pub(super) fn parted<'j>(json: &'j Json<'j>, asked: Option<&Asked>) -> Read<Parted<'j>> {
    let (mut version, mut id, mut result, mut error) = (None, None, None, None);
    for (key, value) in object(json, "")?.iter() {
        match key {
            "jsonrpc" => version = value.as_str(),
            "id" => id = Some(value),
            "result" => result = Some(object(value, PATH)?),
            "error" => error = Some(value),
            _ => return unknown("", key),
        }
    }
    if version != Some("2.0") {
        return Err(MessageFault::malformed("/jsonrpc", "is not `2.0`"));
    }
    let id = RpcId::read(required(id, "", "id")?)
        .ok_or_else(|| MessageFault::malformed("/id", "is neither an identifier nor an integer"))?;
    let object = error;
    let error = object.map(|error| failed(error, result)).transpose()?;
    let data = object.zip(error).and_then(|(object, number)| ErrorData::of(number, object, asked));
    if error.is_none() {
        required(result, "", "result")?;
    }
    Ok(Parted { id, result, error, data })
}

/// The number of an error.
fn failed(error: &Json<'_>, result: Option<&Object<'_>>) -> Read<i32> {
    if result.is_some() {
        return Err(MessageFault::malformed("/error", "occurs together with a result"));
    }
    let number = error.as_object().and_then(|e| e.get("code")).and_then(Json::as_number);
    let number = number.and_then(|n| n.as_i64_exact()).and_then(|n| i32::try_from(n).ok());
    number.ok_or_else(|| MessageFault::malformed("/error/code", "is not an error number"))
}

fn by_server<'j>(
    asked: &'j Asked,
    result: &'j Object<'j>,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let kind = result.get("resultType").map(|kind| string(kind, PATH, "resultType")).transpose()?;
    match kind {
        // an absent type means a complete result (2026-07-28 "ResultType"); clients of sessions ignore it
        Some("complete") | None => {}
        Some("input_required") if !asked.version.has_sessions() && asked.operation.takes_input() => {
            return input_required(result, reading, out);
        }
        _ => {
            return Err(MessageFault::malformed("/result/resultType", "is not a supported type of result"));
        }
    }
    if let Some(cursor) = result.get("nextCursor") {
        out.note_prose(form::cursor(Some(cursor)), cursor);
    }
    match asked.operation {
        Operation::CallTool => return called(asked, result, reading, out),
        Operation::ReadResource => {
            let contents = list(result, "contents")?;
            let of = (at(PATH, "contents"), asked.resource.as_deref());
            content::all_contents(contents, (&of.0, of.1), Inform, reading, out)?;
        }
        Operation::GetPrompt => {
            content::prose(result, "description", PATH, reading, out);
            content::messages(result.get("messages"), PATH, Inform, reading, out)?;
        }
        Operation::Complete => {
            if let Some(Json::Object(completion)) = result.get("completion") {
                content::prose(completion, "values", &at(PATH, "completion"), reading, out);
            }
        }
        Operation::Initialize | Operation::Discover => {
            if asked.operation == Operation::Initialize {
                settles(result)?;
            }
            content::prose(result, "instructions", PATH, reading, out);
            if let Some(server) = result.get("serverInfo") {
                content::introduced(server, |prose| prose.other, &at(PATH, "serverInfo"), reading, out);
            }
        }
        Operation::ListResources | Operation::ListResourceTemplates | Operation::ListPrompts => {
            for member in ["resources", "resourceTemplates", "prompts"] {
                content::no_metas(result.get(member), &at(PATH, member), reading)?;
            }
        }
        _ => {}
    }
    say(Vocabulary::Protocol, asked.operation.concept(), result, Inform, PATH, reading, out)
}

/// The version that a session is opened in. One of another form is left to the schema of the protocol.
///
/// # Errors
/// [`FaultKind::VersionUnsupported`]: it is not carried, or has no sessions.
fn settles(result: &Object<'_>) -> Read<()> {
    let named = result.get("protocolVersion").and_then(Json::as_str);
    let carried = |name: &str| Revision::parse(name).is_some_and(Revision::has_sessions);
    if named.is_none_or(carried) {
        return Ok(());
    }
    let (kind, path) = (FaultKind::VersionUnsupported, at(PATH, "protocolVersion"));
    Err(MessageFault { kind, path, what: "names no supported version with sessions" })
}

fn list<'j>(result: &'j Object<'j>, member: &str) -> Read<&'j [Json<'j>]> {
    match result.get(member) {
        Some(json) => array(json, PATH, member),
        None => Ok(&[]),
    }
}

/// A tool's result: structured content is the task's results, and blocks may only repeat it unless the route admits them.
fn called<'j>(
    asked: &'j Asked,
    result: &'j Object<'j>,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let (mut structured, mut blocks, mut failed) = (None, None, false);
    for (key, value) in result.iter() {
        match key {
            content::META | "resultType" => {}
            "content" => blocks = Some(value),
            "structuredContent" => structured = Some(value),
            "isError" if let Some(is_error) = value.as_bool() => failed = is_error,
            _ => return unknown(PATH, key),
        }
    }
    if let Some(value) = structured.filter(|value| !value.is_null()) {
        let object = object(value, "/result/structuredContent")?;
        let tool = asked.tool.as_deref().unwrap_or_default();
        say(Vocabulary::Context, tool, object, Inform, "/result/structuredContent", reading, out)?;
    }
    let blocks = required(blocks, PATH, "content")?;
    out.tool_call = asked.tool.as_deref().map(|tool| (tool, result));
    let echo = if failed { Echo::of_failure(structured) } else { Echo::of(structured) };
    content::blocks(blocks, PATH, "content", Inform, &echo, reading, out)?;
    // nothing is said: the tool was called, and that is all
    out.acknowledges = out.instances.is_empty() && out.uninspectable.is_none();
    Ok(())
}

/// The server needs something first: each of its requests is judged like one that it sends.
fn input_required<'j>(result: &'j Object<'j>, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<()> {
    out.performative = Query;
    out.state_token = result.get("requestState").map(|state| request::state(state, PATH)).transpose()?;
    if let Some(requests) = result.get("inputRequests") {
        let path = at(PATH, "inputRequests");
        for (key, value) in request::named(requests, &path)?.iter() {
            let asked = input_request(value, &at(&path, key), reading, out)?;
            out.input.push((key, asked));
        }
    }
    say(Vocabulary::Protocol, "InputRequired", result, Query, PATH, reading, out)
}

fn input_request<'j>(
    json: &'j Json<'j>,
    path: &str,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<Operation> {
    let (mut method, mut params) = (None, None);
    for (key, value) in object(json, path)?.iter() {
        match key {
            "method" => method = Some(string(value, path, key)?),
            "params" => params = Some(object(value, &at(path, key))?),
            _ => return unknown(path, key),
        }
    }
    let method = required(method, path, "method")?;
    let asks = [Operation::Elicit, Operation::CreateMessage, Operation::ListRoots];
    let Some(operation) = asks.into_iter().find(|operation| operation.method() == method) else {
        return Err(MessageFault::malformed(at(path, "method"), "is not a request that a server may send"));
    };
    let params = or_empty(params);
    let path = at(path, "params");
    content::no_meta(params, &path, reading)?;
    request::asking(operation, params, &path, reading, out);
    if operation == Operation::CreateMessage {
        content::messages(params.get("messages"), &path, operation.performative(), reading, out)?;
    }
    say(Vocabulary::Protocol, operation.concept(), params, operation.performative(), &path, reading, out)?;
    Ok(operation)
}

/// Reads a client's answer to a request of the server.
pub(super) fn by_client<'j>(
    operation: Operation,
    result: &'j Object<'j>,
    path: &str,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    if operation == Operation::CreateMessage {
        content::one_message(result, path, Inform, reading, out)?;
    }
    if operation == Operation::ListRoots {
        content::no_metas(result.get("roots"), &at(path, "roots"), reading)?;
    }
    say(Vocabulary::Protocol, operation.concept(), result, Inform, path, reading, out)
}
