//! MCP: one request, in a session where the server has them, else without.

use http::Method;
use semgate_protocol::mcp::Revision;
use serde_json::{Value, json};

use super::outcome::{message, of_answer};
use super::target::Target;
use crate::client::Reply;
use crate::fault::Fault;
use crate::say::SendOutcome;

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");
/// The version without sessions.
const STATELESS: &str = Revision::V2026_07_28.as_str();

/// Asks, and ends the session.
///
/// # Errors
/// No answer.
pub async fn ask(target: &Target, method: &str, params: Value) -> Result<SendOutcome, Fault> {
    let wanted = Revision::NEWEST_WITH_SESSIONS.as_str();
    let opening = json!({"protocolVersion": wanted, "capabilities": {}, "clientInfo": client()});
    let opened = post(target, &[ACCEPT, JSON], request("initialize", opening)).await?;
    let version = message(&opened)
        .and_then(|body| body.pointer("/result/protocolVersion")?.as_str().map(str::to_owned));
    let Some(version) = version else {
        let outcome = of_answer(&opened);
        // only a server without sessions says so by itself: a refusal of the gateway is the answer
        return if outcome.code.as_deref().is_none_or(|code| code == "method_unsupported") {
            stateless(target, method, params).await
        } else {
            Ok(outcome)
        };
    };
    let session = opened.header("mcp-session-id").map(str::to_owned);
    let mut headers = vec![ACCEPT, JSON, ("mcp-protocol-version", version.as_str())];
    headers.extend(session.as_deref().map(|session| ("mcp-session-id", session)));
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ready = post(target, &headers, ready).await?;
    if ready.status >= 400 {
        return Ok(of_answer(&ready));
    }
    let outcome = of_answer(&post(target, &headers, request(method, params)).await?);
    if session.is_some() {
        // a session that stays expires by itself
        let _ = target.client.send(Method::DELETE, &target.url, &headers, Vec::new().into()).await;
    }
    Ok(outcome)
}

async fn stateless(target: &Target, method: &str, mut params: Value) -> Result<SendOutcome, Fault> {
    let name = params.get("name").and_then(Value::as_str).map(str::to_owned);
    if let Some(members) = params.as_object_mut() {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": client(),
        });
        members.insert("_meta".to_owned(), meta);
    }
    let mut headers = vec![ACCEPT, JSON, ("mcp-protocol-version", STATELESS), ("mcp-method", method)];
    headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
    Ok(of_answer(&post(target, &headers, request(method, params)).await?))
}

fn client() -> Value {
    json!({"name": "semgate", "version": env!("CARGO_PKG_VERSION")})
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

async fn post(target: &Target, headers: &[(&str, &str)], body: Value) -> Result<Reply, Fault> {
    target.client.send(Method::POST, &target.url, headers, body.to_string().into()).await
}
