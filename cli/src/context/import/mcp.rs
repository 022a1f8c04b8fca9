//! The tools of an MCP server, requested with and without a session.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use clap::Args;
use http::Method;
use semgate_contexts::json;
use semgate_import::draft::{Draft, Drafted};
use semgate_import::{names, schema};
use semgate_inspect::tools::{BadHeader, comment, digest_of, headers};
use semgate_protocol::mcp::Revision;
use serde_json::{Map, Value, json};

use super::From;
use super::endpoint::{self, HttpEndpoint};
use super::forms::{Gathered, Tool, gather, newest};
use super::unreadable_tools::UnreadList;
use crate::client::Reply;
use crate::fault::Fault;

/// Pages of one list.
const MAX_PAGES: usize = 32;

const STATELESS: &str = Revision::V2026_07_28.as_str();
/// Every version, in the spelling of `--protocol`.
const VERSIONS: [&str; Revision::ALL.len()] =
    [Revision::V2025_06_18.as_str(), Revision::V2025_11_25.as_str(), STATELESS];

/// Bounds of one answer: servers with hundreds of tools list them in a page of a megabyte or two.
const READER: json::Limits = json::Limits {
    max_bytes: endpoint::MAX_ANSWER_BYTES,
    max_depth: 96,
    max_nodes: 400_000,
    max_string_bytes: 256 << 10,
    max_key_bytes: 1 << 10,
    large_integers: false,
};

/// Options for a server.
#[derive(Debug, Args)]
pub struct FromServer {
    #[command(flatten)]
    pub(super) from: From,
    /// Use this protocol version alone. Default: the newest version with sessions that the server speaks, and the one without; both must
    /// describe each tool alike
    #[arg(long, value_name = "VERSION", value_parser = VERSIONS)]
    protocol: Option<String>,
    /// Import the tool with this exact name; may be repeated. Default: all tools
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,
    /// A file with a bearer token for this server alone
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl FromServer {
    /// Every tool of a server without authorization.
    pub(super) const fn all_of(from: From) -> Self {
        Self { from, protocol: None, tools: Vec::new(), token_file: None }
    }
}

/// Reason why a server gave no list in a version.
#[derive(Debug)]
pub(super) enum ServerFault {
    /// It asks for authorization, with this status.
    Demands(u16),
    /// It lists tools that the strict reader refuses.
    Unread(UnreadList),
    Other(String),
}

impl fmt::Display for ServerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Demands(status) => write!(f, "it asks for authorization (status {status})"),
            Self::Unread(list) => list.fmt(f),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl std::convert::From<Fault> for ServerFault {
    fn from(fault: Fault) -> Self {
        Self::Other(fault.what().to_owned())
    }
}

/// Fetches the tools and drafts from them.
pub(super) async fn draft(source: &FromServer) -> Result<(Draft, String), Fault> {
    let from = &source.from;
    let endpoint =
        HttpEndpoint::new(&from.url, from.roots.as_deref())?.with_token(source.token_file.as_deref())?;
    let mut draft = Draft::default();
    let (mut lists, mut name, mut demanded) = (Vec::new(), None, false);
    let mut unread = None;
    let mut unheard = |version: &str, why: ServerFault| {
        demanded |= matches!(why, ServerFault::Demands(_));
        draft.warn(format!("the server did not answer in {version}: {why}"));
        if let ServerFault::Unread(list) = why {
            unread = Some(list);
        }
    };
    let only = source.protocol.as_deref().and_then(Revision::parse);
    if only.is_none_or(|only| !only.has_sessions()) {
        match stateless(&endpoint).await {
            Ok(found) => lists.push((STATELESS, found)),
            Err(why) => unheard(STATELESS, why),
        }
    }
    if only.is_none_or(Revision::has_sessions) {
        match session(&endpoint, only).await {
            Ok((settled, found, server)) => {
                lists.push((settled.as_str(), found));
                name = server;
            }
            Err(why) => unheard(only.unwrap_or(Revision::NEWEST_WITH_SESSIONS).as_str(), why),
        }
    }
    if lists.iter().all(|(_, tools)| tools.is_empty()) {
        if let Some(list) = unread {
            return Err(Fault::new(format_args!("the server answered, but {list}")).hint(list.remedy()));
        }
        let why = draft.warnings.join("; ");
        return Err(Fault::new(format_args!("the server lists no tools: {why}")).hint(match demanded {
            true if endpoint.shows_token() => "check that the token is for this server and still valid",
            true => "give a file with a token for this server with `--token-file`",
            false => "check that this is its MCP endpoint",
        }));
    }
    keep_named(&mut lists, &source.tools)?;
    tasks(&mut draft, gather(lists));
    Ok((draft, name.unwrap_or_default()))
}

/// Keeps only the tools of these names in the lists; without names keeps all.
///
/// # Errors
/// No list has a tool of one of the names.
pub(super) fn keep_named(lists: &mut [(&'static str, Vec<Value>)], names: &[String]) -> Result<(), Fault> {
    let name_of = |tool: &Value| tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let listed = || lists.iter().flat_map(|(_, tools)| tools).map(name_of);
    if let Some(missing) = names.iter().find(|name| listed().all(|tool| tool != **name)) {
        let known: BTreeSet<String> = listed().map(|tool| Value::from(tool).to_string()).collect();
        let known: Vec<String> = known.into_iter().take(32).collect();
        let missing = Value::from(missing.as_str());
        return Err(Fault::new(format_args!("the server lists no tool {missing}"))
            .hint(format_args!("it lists {}", known.join(", "))));
    }
    for (_, tools) in lists.iter_mut().filter(|_| !names.is_empty()) {
        tools.retain(|tool| names.contains(&name_of(tool)));
    }
    Ok(())
}

/// Each tool as a task; one that cannot be a task is omitted with the reason.
pub(super) fn tasks(draft: &mut Draft, Gathered { tools, left_out }: Gathered) {
    draft.left_out.extend(left_out);
    let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
    let names = names::tasks(names.iter().map(String::as_str));
    for tool in tools {
        let Some(name) = names.get(tool.name.as_str()) else { continue };
        let mut drafted = Drafted::new(name, &tool.name);
        match task(&mut drafted, tool, &mut draft.used) {
            Ok(()) => draft.tasks.push(drafted),
            Err(why) => draft.left_out.push((drafted.tool, why)),
        }
    }
}

/// One tool as a task.
///
/// # Errors
/// The reason for omitting it.
fn task(
    drafted: &mut Drafted,
    Tool { name: tool, forms }: Tool,
    used: &mut names::Used,
) -> Result<(), String> {
    if !tool.bytes().all(|b| b.is_ascii_graphic()) || !(1..=128).contains(&tool.len()) {
        return Err("its name is not 1 to 128 visible ASCII characters".to_owned());
    }
    // older versions lack newer members, such as the headers of arguments
    let newest = newest(&forms).ok_or("the server does not describe it")?;
    let mirrored = headers(newest.get("inputSchema").unwrap_or(&Value::Null))
        .map_err(|BadHeader| "it asks for a header of an argument that cannot have one")?;
    let digests: Vec<_> = forms.iter().filter_map(|form| digest_of(&form.definition)).collect();
    let mut parameters = schema::translate(drafted, "parameters", newest.get("inputSchema"), used)?;
    if let Value::Object(map) = &mut parameters {
        if let Some(Value::String(text)) = newest.get("description") {
            let shown = schema::legible(text);
            if shown.len() != text.len() {
                drafted.warn("its description holds invisible characters: they are left out".to_owned());
            }
            map.insert("description".to_owned(), Value::from(shown));
        }
        map.insert("$comment".to_owned(), Value::from(comment(&tool, &digests, &mirrored)));
    }
    let results = schema::translate(drafted, "results", newest.get("outputSchema"), used)?;
    if newest.get("outputSchema").is_none() {
        drafted.warn(
            "it states no output schema: its results are assumed to be empty, and text needs a route that admits it"
                .to_owned(),
        );
    }
    drafted.task =
        json!({"parameters": parameters, "results": results, "performatives": ["REQUEST", "INFORM"]});
    drafted.forms = forms;
    Ok(())
}

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");

/// Every capability of a client: some servers offer a tool only to clients that announce its needs.
fn capabilities() -> Value {
    json!({
        "elicitation": {"form": {}, "url": {}},
        "roots": {"listChanged": true},
        "sampling": {"context": {}, "tools": {}},
        "tasks": {
            "list": {}, "cancel": {},
            "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}},
        },
    })
}

async fn stateless(endpoint: &HttpEndpoint) -> Result<Vec<Value>, ServerFault> {
    let headers = [ACCEPT, JSON, ("mcp-protocol-version", STATELESS), ("mcp-method", "tools/list")];
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": capabilities(),
        "io.modelcontextprotocol/clientInfo": {"name": "semgate", "version": env!("CARGO_PKG_VERSION")},
    });
    pages(endpoint, &headers, Some(meta)).await
}

/// The tools as a session lists them, in the version `only` or in the negotiated one, which is returned too.
async fn session(
    endpoint: &HttpEndpoint,
    only: Option<Revision>,
) -> Result<(Revision, Vec<Value>, Option<String>), ServerFault> {
    let wanted = only.unwrap_or(Revision::NEWEST_WITH_SESSIONS);
    let params = json!({
        "protocolVersion": wanted.as_str(), "capabilities": capabilities(),
        "clientInfo": {"name": "semgate", "version": env!("CARGO_PKG_VERSION")},
    });
    let (result, session) = call(endpoint, &[ACCEPT, JSON], "initialize", params).await?;
    let server = result.pointer("/serverInfo/name").and_then(Value::as_str).map(str::to_owned);
    let named = result.get("protocolVersion").unwrap_or(&Value::Null);
    let settled = named.as_str().and_then(Revision::parse).filter(|version| version.has_sessions());
    let Some(settled) = settled.filter(|settled| only.is_none_or(|only| only == *settled)) else {
        return Err(ServerFault::Other(format!("it settles on the version {named}")));
    };
    let mut headers = vec![ACCEPT, JSON, ("mcp-protocol-version", settled.as_str())];
    if let Some(session) = &session {
        headers.push(("mcp-session-id", session));
    }
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    endpoint.ask(Method::POST, None, &headers, initialized.into_bytes()).await?;
    let tools = pages(endpoint, &headers, None).await?;
    if session.is_some() {
        // the server may keep the session, which then expires by itself
        let _ = endpoint.ask(Method::DELETE, None, &headers, Vec::new()).await;
    }
    Ok((settled, tools, server))
}

async fn pages(
    endpoint: &HttpEndpoint,
    headers: &[(&str, &str)],
    meta: Option<Value>,
) -> Result<Vec<Value>, ServerFault> {
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let mut params = Map::new();
        if let Some(meta) = &meta {
            params.insert("_meta".to_owned(), meta.clone());
        }
        if let Some(cursor) = cursor.take() {
            params.insert("cursor".to_owned(), cursor);
        }
        let (mut result, _) = call(endpoint, headers, "tools/list", Value::Object(params)).await?;
        if let Some(Value::Array(page)) = result.get_mut("tools").map(Value::take) {
            tools.extend(page);
        }
        cursor = result.get("nextCursor").filter(|cursor| cursor.is_string()).cloned();
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(ServerFault::Other("its list of tools has no end".to_owned()))
}

async fn call(
    endpoint: &HttpEndpoint,
    headers: &[(&str, &str)],
    method: &str,
    params: Value,
) -> Result<(Value, Option<String>), ServerFault> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let reply = endpoint.ask(Method::POST, None, headers, body.into_bytes()).await?;
    if matches!(reply.status, 401 | 403) {
        return Err(ServerFault::Demands(reply.status));
    }
    let session = reply.header("mcp-session-id").map(str::to_owned);
    let without =
        |what: &str| ServerFault::Other(format!("status {} and {what} to `{method}`", reply.status));
    let message = message(&reply).map_err(|why| match why {
        ServerFault::Other(what) => without(&what),
        why => why,
    })?;
    match message.get("result") {
        Some(result) => Ok((result.clone(), session)),
        None => Err(without("an error")),
    }
}

/// The response in a body: the body itself, or the event that has the id. Strict JSON: signed data must have one reading.
///
/// # Errors
/// The other answer.
pub(super) fn message(reply: &Reply) -> Result<Value, ServerFault> {
    let read = |bytes: &[u8]| {
        json::read(bytes, &READER).map(|json| json.to_value()).map_err(|fault| {
            let other = || ServerFault::Other(format!("no answer that can be read ({fault})"));
            UnreadList::new(bytes, &READER, fault).map_or_else(other, ServerFault::Unread)
        })
    };
    let nothing = || ServerFault::Other("no answer".to_owned());
    if reply.body.is_empty() {
        return Err(nothing());
    }
    if !reply.is_stream() {
        return read(&reply.body);
    }
    let text = std::str::from_utf8(&reply.body).map_err(|_| nothing())?.replace("\r\n", "\n");
    let mut unread = None;
    for event in text.split("\n\n") {
        let data: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data:")).collect();
        match read(data.join("\n").trim().as_bytes()) {
            // a server may first send a request, under an id of its own
            Ok(message) if message.get("id") == Some(&json!(1)) && message.get("method").is_none() => {
                return Ok(message);
            }
            Err(fault) if !data.is_empty() => unread = Some(fault),
            Ok(_) | Err(_) => {}
        }
    }
    Err(unread.unwrap_or_else(nothing))
}
