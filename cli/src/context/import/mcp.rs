//! The tools of an MCP server, asked in both versions.

use http::Method;
use semgate_contexts::json;
use semgate_inspect::tools::{BadHeader, comment, digest_of, headers};
use serde_json::{Map, Value, json};

use super::ask::{Place, Said};
use super::{Draft, From, schema, task_name};
use crate::fault::Fault;

/// Pages of one list.
const MAX_PAGES: usize = 32;

/// Tools by name, each with every form in which the server describes it.
type Tools = Vec<(String, Vec<Value>)>;

/// Asks and drafts.
pub(super) async fn draft(from: &From) -> Result<(Draft, String), Fault> {
    let place = Place::new(&from.url, from.roots.as_deref())?;
    let mut draft = Draft::default();
    let (mut tools, mut name) = (Tools::new(), None);
    match stateless(&place).await {
        Ok(found) => found.into_iter().for_each(|tool| add(&mut tools, tool)),
        Err(why) => draft.warn(format!("the server does not speak 2026-07-28 here: {why}")),
    }
    match session(&place).await {
        Ok((found, server)) => {
            found.into_iter().for_each(|tool| add(&mut tools, tool));
            name = server;
        }
        Err(why) => draft.warn(format!("the server does not speak 2025-11-25 here: {why}")),
    }
    if tools.is_empty() {
        let why = draft.warnings.join("; ");
        return Err(
            Fault::new(format_args!("the server lists no tools: {why}")).hint("is this its MCP endpoint?")
        );
    }
    for (tool, forms) in tools {
        task(&mut draft, &tool, &forms);
    }
    Ok((draft, name.unwrap_or_default()))
}

fn add(tools: &mut Tools, tool: Value) {
    let Some(name) = tool.get("name").and_then(Value::as_str).map(str::to_owned) else { return };
    match tools.iter_mut().find(|(known, _)| *known == name) {
        Some((_, forms)) if !forms.contains(&tool) => forms.push(tool),
        Some(_) => {}
        None => tools.push((name, vec![tool])),
    }
}

/// One tool as a task.
pub(super) fn task(draft: &mut Draft, tool: &str, forms: &[Value]) {
    let plain = tool.bytes().all(|b| b.is_ascii_graphic()) && (1..=128).contains(&tool.len());
    let name = task_name(tool);
    if !plain || draft.tasks.contains_key(&name) {
        draft.warn(format!(
            "`{name}` is left out: the tool's name is no word, or another tool's task is called so"
        ));
        return;
    }
    let Some(last) = forms.last() else { return };
    let Ok(mirrored) = headers(last.get("inputSchema").unwrap_or(&Value::Null)).map_err(|BadHeader| {
        draft.warn(format!("`{name}` is left out: it asks for a header of an argument that cannot have one"));
    }) else {
        return;
    };
    let digests: Vec<_> = forms.iter().filter_map(digest_of).collect();
    let given = |member: &str| last.get(member).cloned();
    let mut parameters = schema::keep(draft, &name, "parameters", given("inputSchema"));
    if let Value::Object(map) = &mut parameters {
        if let Some(Value::String(text)) = last.get("description") {
            map.insert("description".to_owned(), Value::from(text.as_str()));
        }
        map.insert("$comment".to_owned(), Value::from(comment(tool, &digests, &mirrored)));
    }
    let results = schema::keep(draft, &name, "results", given("outputSchema"));
    if last.get("outputSchema").is_none() {
        draft.warn(format!("`{name}` states no output schema: its results are taken to be empty, and text needs a route that admits it"));
    }
    let task = json!({"parameters": parameters, "results": results, "performatives": ["REQUEST", "INFORM"]});
    draft.tasks.insert(name, task);
}

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");

async fn stateless(place: &Place) -> Result<Vec<Value>, String> {
    let headers = [ACCEPT, JSON, ("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "semgate", "version": env!("CARGO_PKG_VERSION")},
    });
    pages(place, &headers, Some(meta)).await
}

async fn session(place: &Place) -> Result<(Vec<Value>, Option<String>), String> {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "semgate", "version": env!("CARGO_PKG_VERSION")},
    });
    let (result, session) = call(place, &[ACCEPT, JSON], "initialize", params).await?;
    let server = result.pointer("/serverInfo/name").and_then(Value::as_str).map(str::to_owned);
    if result.get("protocolVersion").and_then(Value::as_str) != Some("2025-11-25") {
        return Err("it answered with another version".to_owned());
    }
    let mut headers = vec![ACCEPT, JSON, ("mcp-protocol-version", "2025-11-25")];
    if let Some(session) = &session {
        headers.push(("mcp-session-id", session));
    }
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let told = place.ask(Method::POST, None, &headers, initialized.into_bytes()).await;
    told.map_err(|fault| fault.what().to_owned())?;
    let tools = pages(place, &headers, None).await?;
    if session.is_some() {
        // the server may keep it, and then it ends by itself
        let _ = place.ask(Method::DELETE, None, &headers, Vec::new()).await;
    }
    Ok((tools, server))
}

async fn pages(place: &Place, headers: &[(&str, &str)], meta: Option<Value>) -> Result<Vec<Value>, String> {
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let mut params = Map::new();
        if let Some(meta) = &meta {
            params.insert("_meta".to_owned(), meta.clone());
        }
        if let Some(cursor) = cursor.take() {
            params.insert("cursor".to_owned(), cursor);
        }
        let (mut result, _) = call(place, headers, "tools/list", Value::Object(params)).await?;
        if let Some(Value::Array(page)) = result.get_mut("tools").map(Value::take) {
            tools.extend(page);
        }
        cursor = result.get("nextCursor").filter(|cursor| cursor.is_string()).cloned();
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err("its list of tools has no end".to_owned())
}

async fn call(
    place: &Place,
    headers: &[(&str, &str)],
    method: &str,
    params: Value,
) -> Result<(Value, Option<String>), String> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let said = place.ask(Method::POST, None, headers, body.into_bytes()).await;
    let said = said.map_err(|fault| fault.what().to_owned())?;
    let session = said.session.clone();
    let message =
        message(&said).ok_or_else(|| format!("status {} and no answer to `{method}`", said.status))?;
    match message.get("result") {
        Some(result) => Ok((result.clone(), session)),
        None => Err(format!("status {} and an error to `{method}`", said.status)),
    }
}

/// The response in a body: the body itself, or the event that has the id. Strict JSON: what is signed must have one reading.
fn message(said: &Said) -> Option<Value> {
    let read = |bytes: &[u8]| json::read(bytes, &json::Limits::default()).ok().map(|json| json.to_value());
    if !said.events {
        return read(&said.body);
    }
    let text = std::str::from_utf8(&said.body).ok()?.replace("\r\n", "\n");
    let events = text.split("\n\n").filter_map(|event| {
        let data: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data:")).collect();
        read(data.join("\n").trim().as_bytes())
    });
    events.into_iter().find(|message| message.get("id") == Some(&json!(1)))
}
