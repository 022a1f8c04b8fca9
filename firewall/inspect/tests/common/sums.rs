//! A context of two tools, and the policies that let agents use them over MCP.

use bytes::Bytes;

use super::{agent_id, generation_with, inspector, library, view};
use semgate_inspect::{
    Arrived, Generation, Inspector, LineScope, Route, RouteOptions, Shadow, TextParts, UnnamedTools,
    tools::{comment, digest_of, headers},
};
use semgate_policies::PolicySource;
use semgate_protocol::{Binding, Call, mcp::Head};
use semgate_statement::testing::MemoryAuthority;
use serde_json::{Value, json};
use std::sync::Arc;

const RULES: &str = r#"
    @id("protocol") permit (principal in Group::"partners", action, resource is mcp::ListTools);
    @id("protocol-replies") permit (principal in Group::"repliers", action, resource is mcp::ListTools_results);
    @id("needs") permit (principal in Group::"repliers", action, resource is mcp::InputRequired);
    @id("needs-more") permit (principal in Group::"repliers", action, resource is mcp::Elicit);
    @id("listen") permit (principal == Agent::"spiffe://semgate.test/agent/retailer-7", action, resource is mcp::Listen);
    @id("changed") permit (principal in Group::"repliers", action, resource is mcp::ToolListChanged);
    @id("progress") permit (principal in Group::"repliers", action, resource is mcp::Progress);
    @id("taken-back") permit (principal in Group::"repliers", action, resource is mcp::Cancelled);
    @id("answers") permit (principal in Group::"partners", action, resource is mcp::Elicit_results);
    @id("acknowledged") permit (principal in Group::"repliers", action, resource is mcp::SubscriptionsAcknowledged);
    @id("unnamed") permit (principal in Group::"partners", action, resource is mcp::CallTool) when { resource.name like "read_*" };
    @id("unnamed-answers") permit (principal in Group::"repliers", action, resource is mcp::CallTool_results);
    @id("where") permit (principal in Group::"partners", action, resource is sums::query);
    @id("add") permit (principal in Group::"partners", action, resource is sums::add) when { resource.a < 1000 };
    @id("add-replies") permit (principal in Group::"repliers", action, resource is sums::add_results);
    @id("remove") permit (principal == Agent::"spiffe://semgate.test/agent/treasurer-1", action, resource is sums::remove_all);
"#;

pub fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}})
}

/// A tool whose arguments have headers.
pub fn query() -> Value {
    json!({"name": "query", "inputSchema": {"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {"type": "object", "properties": {
            "n": {"type": "integer", "x-mcp-header": "Number"}, "on": {"type": "boolean", "x-mcp-header": "On"}}}}}})
}

fn task(signed: &Value, parameters: Value, results: Value) -> Value {
    let mut parameters = parameters;
    parameters["$comment"] = json!(comment(
        signed["name"].as_str().unwrap(),
        &[digest_of(signed).unwrap()],
        &headers(&signed["inputSchema"]).unwrap()
    ));
    json!({"parameters": parameters, "results": results, "performatives": ["REQUEST", "QUERY", "INFORM"]})
}

/// A context with the tools `add` and `remove-all`, signed as they are described here.
pub fn sums() -> Vec<u8> {
    let integer = json!({"type": "integer"});
    let empty = json!({"type": "object"});
    let add = json!({"type": "object", "properties": {"a": integer, "b": integer}, "required": ["a", "b"]});
    let sum = json!({"type": "object", "properties": {"sum": integer, "how": {"type": "string"}}, "required": ["sum"]});
    let document = json!({
        "context": "urn:contexts:sums:v1.0",
        "tasks": {
            "add": task(&tool("add", "Adds two numbers."), add, sum),
            "remove_all": task(&tool("remove-all", "Removes everything."), empty.clone(), empty.clone()),
            "query": task(&query(), json!({"type": "object", "properties": {
                "region": {"type": "string", "maxLength": 64}, "deep": {"type": "object", "properties": {"n": integer, "on": {"type": "boolean"}}},
                "loud": {"type": "boolean"}, "note": {"type": ["string", "null"], "maxLength": 64}}}), empty.clone()),
            "unpinned": {"parameters": {"type": "object"}, "results": {"type": "object"}},
        },
    });
    serde_json::to_vec(&document).unwrap()
}

/// A context with the one tool `add`, described in these words, of numbers up to `most`.
pub fn adding(urn: &str, description: &str, most: u64) -> Vec<u8> {
    let integer = json!({"type": "integer", "maximum": most});
    let add = json!({"type": "object", "properties": {"a": integer, "b": integer}, "required": ["a", "b"], "additionalProperties": false});
    let sum = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
    let add = task(&tool("add", description), add, sum);
    serde_json::to_vec(&json!({"context": format!("urn:contexts:{urn}"), "tasks": {"add": add}})).unwrap()
}

/// A route of several contexts, in any of which the first tool stands otherwise, and one that it takes where none is named.
pub fn house_among(documents: &[Vec<u8>], lines: &[&str], default: Option<&str>) -> (Inspector, Arc<Route>) {
    let more: Vec<_> = lines.iter().map(|line| format!(
        r#"permit (principal in Group::"partners", action, resource is {line}::add); permit (principal in Group::"repliers", action, resource is {line}::add_results);"#
    )).collect();
    let protocol = r#"
        permit (principal in Group::"partners", action, resource is mcp::ListTools);
        permit (principal in Group::"repliers", action, resource is mcp::ListTools_results);"#;
    let mut authority = library();
    for document in documents {
        authority.publish(document);
    }
    let view = view(&mut authority);
    let mut source = PolicySource::shipped();
    source.files.push(("sums.cedar".to_owned(), format!("{protocol}{}", more.concat())));
    let policies = super::policies(&source, &view);
    let generation = generation_with(Arc::clone(&view), &PolicySource::shipped(), &[]);
    let generation = generation.with_policies(policies).unwrap();
    let (_, route) = house();
    let mut route = Route::clone(&route);
    route.contexts.extend(lines.iter().map(|line| LineScope::parse(line).unwrap()));
    route.options.default_contexts = default.map(MemoryAuthority::urn).into_iter().collect();
    (inspector(generation), Arc::new(route))
}

pub fn house() -> (Inspector, Arc<Route>) {
    house_with(UnnamedTools::Withhold)
}

/// The same, with another choice about tools that the context does not name.
pub fn house_with(unnamed_tools: UnnamedTools) -> (Inspector, Arc<Route>) {
    house_of(unnamed_tools, "", TextParts::default())
}

/// The context is published, and these policies hold beside the others.
pub fn generation(more: &str) -> Generation {
    generation_beside(more, None)
}

/// The same, and a shadow set of the shared policies and these.
fn generation_beside(more: &str, shadow: Option<&str>) -> Generation {
    let mut authority = library();
    authority.publish(&sums());
    let view = view(&mut authority);
    let policies = |more: &str| {
        let mut source = PolicySource::shipped();
        source.files.push(("sums.cedar".to_owned(), format!("{RULES}{more}")));
        super::policies(&source, &view)
    };
    let (live, shadow) = (policies(more), shadow.map(policies));
    let shadow = shadow.map(|policies| Shadow::new(policies, 1, Arc::default()));
    let generation = generation_with(Arc::clone(&view), &PolicySource::shipped(), &[]);
    generation.with_policies(live).unwrap().with_shadow(shadow)
}

/// The same with more policies, and a choice of what the route admits.
pub fn house_of(unnamed_tools: UnnamedTools, more: &str, text_parts: TextParts) -> (Inspector, Arc<Route>) {
    house_beside(unnamed_tools, (more, None), text_parts)
}

/// The same with a shadow set.
pub fn house_beside(
    unnamed_tools: UnnamedTools,
    (more, shadow): (&str, Option<&str>),
    text_parts: TextParts,
) -> (Inspector, Arc<Route>) {
    let generation = generation_beside(more, shadow);
    let route = Route {
        name: "mcp".to_owned(),
        binding: Binding::Mcp,
        receiver: agent_id("wholesaler-1"),
        upstream: "http://127.0.0.1:1/mcp".to_owned(),
        contexts: vec![LineScope::parse("sums").unwrap(), LineScope::parse("mcp").unwrap()],
        text_parts,
        tenant: None,
        options: RouteOptions {
            default_contexts: vec![MemoryAuthority::urn("sums:v1.0")],
            unnamed_tools,
            ..RouteOptions::default()
        },
    };
    (inspector(generation), Arc::new(route))
}

/// A request of 2026-07-28, with a header that names its version and method beside those of `head`.
pub fn arrived(method: &str, mut params: Value, head: Head) -> Arrived {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let head = Head { version: Some("2026-07-28".to_owned()), method: Some(method.to_owned()), ..head };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    Arrived::whole(Call::mcp(head), Bytes::from(body))
}
