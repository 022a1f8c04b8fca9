//! Requests and notifications of a client.

use super::{
    Asked, Head, KNOWN, Kind, Listens, Operation, Revision, Speaker, answer,
    content::{self, or_empty, say},
    form,
    head::{Needed, mismatch},
    meta,
};
use crate::{
    Admit, Binding, FaultKind, Message, MessageFault, Reading, RpcId,
    member::{Read, at, object, prefer_duplicate, required, string, unknown},
    model::Vocabulary,
};
use semgate_contexts::{
    Performative, PerformativeSet,
    json::{Json, Object},
};

/// Performatives that `tools/call` may carry. The default without a choice in the claim is REQUEST.
pub const CALL_PERFORMATIVES: PerformativeSet =
    PerformativeSet::EMPTY.with(Performative::Request).with(Performative::Query);

/// The most inputs that one message asks for or gives, and the longest name of one in characters. The protocol's schemas set
/// the same limits for every other request.
const MAX_INPUTS: usize = 16;
const MAX_INPUT_NAME: usize = 128;

/// The id of a request, if it is valid: from here on refusals are JSON-RPC errors with that id.
pub fn rpc_id(json: &Json<'_>) -> Option<RpcId> {
    let object = json.as_object()?;
    object.get("method")?;
    RpcId::read(object.get("id")?)
}

/// The members of one JSON-RPC message that has a method.
pub(super) struct Envelope<'j> {
    pub id: Option<RpcId>,
    pub method: &'j str,
    pub params: Option<&'j Json<'j>>,
}

/// Reads the envelope of a request or notification.
pub(super) fn envelope<'j>(json: &'j Json<'j>) -> Read<Envelope<'j>> {
    if let Json::Array(_) = json {
        return Err(MessageFault::malformed("", "is a batch, which MCP does not have"));
    }
    let (mut version, mut id, mut method, mut params) = (None, None, None, None);
    for (key, value) in object(json, "")?.iter() {
        match key {
            "jsonrpc" => version = value.as_str(),
            "id" => {
                let read = RpcId::read(value).ok_or_else(|| {
                    MessageFault::malformed("/id", "is neither an identifier nor an integer")
                })?;
                id = Some(read);
            }
            "method" => method = Some(string(value, "", key)?),
            "params" => params = Some(value),
            _ => return unknown("", key),
        }
    }
    if version != Some("2.0") {
        return Err(MessageFault::malformed("/jsonrpc", "is not `2.0`"));
    }
    Ok(Envelope { id, method: required(method, "", "method")?, params })
}

/// Reads one request or notification of a client. A response to a request of the server is read by
/// [`answer`](fn@super::answer).
///
/// # Errors
/// A batch, [`FaultKind::VersionUnsupported`], [`FaultKind::HeaderMismatch`], a method without a row
/// ([`FaultKind::MethodUnsupported`]), or the first member that is missing, unknown, of the wrong form or there twice.
pub fn request<'j>(json: &'j Json<'j>, head: &Head, reading: &Reading<'_>) -> Read<Message<'j>> {
    read(json, head, reading).map_err(|fault| prefer_duplicate(fault, json, KNOWN))
}

fn read<'j>(json: &'j Json<'j>, head: &Head, reading: &Reading<'_>) -> Read<Message<'j>> {
    let envelope = envelope(json)?;
    let version = head.version(envelope.method, meta::version_in(envelope.params))?;
    let (message, operation) = spoken(envelope, Speaker::Client, version, reading)?;
    let params = or_empty(json.as_object().and_then(|o| o.get("params")).and_then(Json::as_object));
    let name = operation.named_by().and_then(|member| params.get(member)).and_then(Json::as_str);
    let strict = !version.has_sessions() && message.rpc_id.is_some();
    let repeats = strict && operation == Operation::CallTool;
    if !repeats && !head.params.is_empty() {
        return Err(mismatch("an `Mcp-Param` header repeats a missing argument"));
    }
    head.agrees(operation, name, if strict { Needed::Yes } else { Needed::No })?;
    Ok(message)
}

/// Reads a request or notification of either side.
pub(super) fn spoken<'j>(
    envelope: Envelope<'j>,
    speaker: Speaker,
    version: Revision,
    reading: &Reading<'_>,
) -> Read<(Message<'j>, Operation)> {
    const PATH: &str = "/params";
    let kind = if envelope.id.is_some() { Kind::Request } else { Kind::Notification };
    let operation = Operation::find(envelope.method, kind, speaker, version).ok_or_else(|| MessageFault {
        kind: FaultKind::MethodUnsupported,
        path: "/method".to_owned(),
        what: "is not a method that this side can send in this version",
    })?;
    let default = operation.performative();
    let mut message = Message::new(Binding::Mcp, default);
    message.rpc_id = envelope.id;
    let params = match envelope.params {
        Some(json) => object(json, PATH)?,
        None => or_empty(None),
    };
    let allowed = match operation {
        Operation::CallTool => CALL_PERFORMATIVES,
        _ => PerformativeSet::EMPTY.with(default),
    };
    let of = if kind == Kind::Request { meta::Of::Request } else { meta::Of::Notification };
    let meta_read =
        meta::read(params.get(content::META), of, version, "/params/_meta", allowed, reading, &mut message)?;
    if !version.has_sessions() && kind == Kind::Request && !meta_read.capabilities {
        return Err(MessageFault::malformed(
            "/params/_meta",
            "is without `io.modelcontextprotocol/clientCapabilities`",
        ));
    }
    message.performative = meta_read.performative.unwrap_or(default);
    of_its_version(operation, version, params)?;
    match operation {
        Operation::CallTool => {
            let tool = call(params, reading, &mut message)?;
            message.tool_call = Some((tool, params));
        }
        _ => {
            parts(operation, speaker, params, reading, &mut message)?;
            say(Vocabulary::Protocol, operation.concept(), params, default, PATH, reading, &mut message)?;
        }
    }
    message.rpc = Some((kind, operation));
    message.mcp = asked(&message, operation, version, params, meta_read.progress);
    Ok((message, operation))
}

/// The facts that the answer is read against; none for a message without an answer.
fn asked(
    message: &Message<'_>,
    operation: Operation,
    version: Revision,
    params: &Object<'_>,
    progress: Option<RpcId>,
) -> Option<Asked> {
    let of = |wanted, member: &str| params.get(member).filter(|_| operation == wanted).and_then(Json::as_str);
    Some(Asked {
        progress,
        tool: message.tool_call.map(|(tool, _)| tool.to_owned()),
        resource: of(Operation::ReadResource, "uri").map(str::to_owned),
        prompt: of(Operation::GetPrompt, "name").map(str::to_owned),
        cursor: of(Operation::ListTools, "cursor").map(str::to_owned),
        listens: (operation == Operation::Listen).then(|| listens(params)),
        ..Asked::new(operation, version, Some(message.rpc_id.clone()?))
    })
}

/// Refuses `inputResponses` and `requestState` before 2026-07-28, which introduced them.
fn of_its_version(operation: Operation, version: Revision, params: &Object<'_>) -> Read<()> {
    let newer = |member: &&&str| params.get(member).is_some();
    let rounds = ["inputResponses", "requestState"];
    match rounds.iter().find(newer).filter(|_| operation.takes_input() && version.has_sessions()) {
        Some(member) => unknown("/params", member),
        None => Ok(()),
    }
}

/// The filter of a subscription, whose form the schema of the protocol closes.
fn listens(params: &Object<'_>) -> Listens {
    let filter = params.get("notifications").and_then(Json::as_object);
    let member = |name: &str| filter.and_then(|filter| filter.get(name));
    let on = |name: &str| member(name).and_then(Json::as_bool) == Some(true);
    let named = member("resourceSubscriptions").and_then(Json::as_array);
    Listens {
        tools: on("toolsListChanged"),
        prompts: on("promptsListChanged"),
        resources: on("resourcesListChanged"),
        updates: named.is_some_and(|uris| !uris.is_empty()),
    }
}

/// `tools/call`: the arguments are the parameters of the task that the tool names.
fn call<'j>(params: &'j Object<'j>, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<&'j str> {
    const PATH: &str = "/params";
    let (mut name, mut arguments) = (None, None);
    for (key, value) in params.iter() {
        match key {
            content::META => {}
            "name" => name = Some(tool_name(value)?),
            "arguments" => arguments = Some(object(value, "/params/arguments")?),
            "inputResponses" => input_responses(value, reading, out)?,
            "requestState" => out.state_token = Some(state(value, PATH)?),
            _ => return unknown(PATH, key),
        }
    }
    let name = required(name, PATH, "name")?;
    let performative = out.performative;
    say(Vocabulary::Context, name, or_empty(arguments), performative, "/params/arguments", reading, out)?;
    Ok(name)
}

/// A tool's name: visible ASCII, as long as MCP lets it be.
fn tool_name<'j>(json: &'j Json<'j>) -> Read<&'j str> {
    let name = string(json, "/params", "name")?;
    match form::word(name, 128) {
        Some(name) if !name.is_empty() => Ok(name),
        _ => {
            Err(MessageFault::malformed("/params/name", "is no name of at most 128 visible ASCII characters"))
        }
    }
}

/// The most bytes of a `requestState`. It holds the state that the server does not keep, with sealed answers of earlier
/// rounds.
const MAX_STATE: usize = 8192;

/// The `requestState`: an opaque token that the server makes and gets back. Nobody else reads it, so it needs no admitted
/// text and counts as no free text. With a blank it could be prose, and is refused in both directions.
pub(super) fn state<'j>(json: &'j Json<'j>, path: &str) -> Read<&'j str> {
    let text = string(json, path, "requestState")?;
    form::word(text, MAX_STATE).ok_or_else(|| {
        MessageFault::malformed(
            at(path, "requestState"),
            "is not a token of at most 8192 visible ASCII characters",
        )
    })
}

/// Reads the parts of params that are judged by themselves.
fn parts<'j>(
    operation: Operation,
    speaker: Speaker,
    params: &'j Object<'j>,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    const PATH: &str = "/params";
    if let Some(responses) = params.get("inputResponses").filter(|_| operation.takes_input()) {
        input_responses(responses, reading, out)?;
    }
    if let Some(token) = params.get("requestState").filter(|_| operation.takes_input()) {
        out.state_token = Some(state(token, PATH)?);
    }
    asking(operation, params, PATH, reading, out);
    if let Some(cursor) = params.get("cursor") {
        out.note_prose(form::cursor(Some(cursor)), cursor);
    }
    let texts: &[&str] = match operation {
        Operation::CreateMessage => {
            content::messages(params.get("messages"), PATH, operation.performative(), reading, out)?;
            &[]
        }
        Operation::LogMessage => &["logger", "data"],
        Operation::Progress => &["message"],
        Operation::Cancelled => &["reason"],
        _ => &[],
    };
    // text of the client itself is left to policy (`context.free_text`)
    if speaker == Speaker::Server {
        texts.iter().for_each(|member| content::prose(params, member, PATH, reading, out));
    }
    if let Some(client) = params.get("clientInfo").filter(|_| operation == Operation::Initialize) {
        out.note_prose(form::prose(client).other, client);
    }
    Ok(())
}

/// Judges a question to a person, and text for a model beside its messages. Both pass only where the route admits text. A URL
/// for the person passes only where it admits links.
pub(super) fn asking<'j>(
    operation: Operation,
    params: &'j Object<'j>,
    path: &str,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) {
    if operation == Operation::Elicit && !reading.admit.text {
        out.note_uninspectable(content::pointer(&at(path, "message")), Admit::Text);
    }
    if operation == Operation::Elicit && params.get("url").is_some() && !reading.admit.url {
        out.note_uninspectable(content::pointer(&at(path, "url")), Admit::File);
    }
    if operation == Operation::CreateMessage {
        content::prose(params, "systemPrompt", path, reading, out);
        content::prose(params, "stopSequences", path, reading, out);
        if let Some(Json::Object(preferences)) = params.get("modelPreferences") {
            content::prose(preferences, "hints", &at(path, "modelPreferences"), reading, out);
        }
    }
}

/// The members of `inputRequests` or `inputResponses`. Both have the same bounds, so every input that is asked for can be
/// answered.
pub(super) fn named<'j>(json: &'j Json<'j>, path: &str) -> Read<&'j Object<'j>> {
    let object = object(json, path)?;
    let fits = |name: &str| !name.is_empty() && form::word(name, MAX_INPUT_NAME).is_some();
    if object.len() > MAX_INPUTS || !object.iter().all(|(name, _)| fits(name)) {
        return Err(MessageFault::malformed(path, "holds more than 16, or a name that is not a word"));
    }
    Ok(object)
}

/// Reads answers to `inputRequests`. The form of each tells the request that it answers.
fn input_responses<'j>(json: &'j Json<'j>, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<()> {
    const PATH: &str = "/params/inputResponses";
    for (key, value) in named(json, PATH)?.iter() {
        let path = at(PATH, key);
        let result = object(value, &path)?;
        content::no_meta(result, &path, reading)?;
        let operation = if result.get("action").is_some() {
            Operation::Elicit
        } else if result.get("roots").is_some() {
            Operation::ListRoots
        } else {
            Operation::CreateMessage
        };
        out.input.push((key, operation));
        answer::by_client(operation, result, &path, reading, out)?;
    }
    Ok(())
}
