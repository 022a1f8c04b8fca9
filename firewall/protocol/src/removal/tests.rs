//! Members that are open to everybody, and members that could be taken for something else.

use super::*;
use crate::{
    Binding, TextParts,
    mcp::{Operation, Revision},
};
use proptest::prelude::*;
use semgate_contexts::json;
use serde_json::{Value, json};

const READING: Reading<'static> = Reading {
    extension: "urn:contexts:snl:v1.0",
    max_concepts: 64,
    admit: TextParts { text: false, raw: false, url: false, data: false },
    tenant: None,
    meta: MetaKeys::NONE,
    untyped: false,
    formats: &[],
};

fn keys(entries: &[&str]) -> MetaKeys {
    MetaKeys::parse(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>()).unwrap()
}

fn pointers(value: &Value, binding: Binding, author: Author<'_>, meta: &MetaKeys) -> Vec<String> {
    let bytes = value.to_string();
    let json = json::read(bytes.as_bytes(), &json::Limits::default()).unwrap();
    Removal::of(&json, binding.protocol(), author, &Reading { meta, ..READING }).into_pointers()
}

/// What is removed of a request of a client.
fn of_client(params: Value) -> Vec<String> {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    pointers(&message, Binding::Mcp, Author::Client, MetaKeys::NONE)
}

/// What is removed of a result of a server.
fn of_server(operation: Operation, version: Revision, result: Value) -> Vec<String> {
    let asked = Asked {
        operation,
        version,
        rpc_id: None,
        progress: None,
        tool: None,
        resource: None,
        prompt: None,
        cursor: None,
        listens: None,
    };
    let author = Author::Server { asked: Some(&asked), pinned: &|tool| tool == "pinned" };
    let message = json!({"jsonrpc": "2.0", "id": 1, "result": result});
    pointers(&message, Binding::Mcp, author, MetaKeys::NONE)
}

const NOTHING: [&str; 0] = [];
const OLD: Revision = Revision::V2025_11_25;

#[test]
fn foreign_keys_of_meta_are_removed_and_known_ones_stay() {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let known = json!({"progressToken": 1, "traceparent": trace, "tracestate": "a=1", "baggage": "a=1, b=2", "dev.semgate/l9": {}});
    assert_eq!(of_client(json!({"_meta": known})), NOTHING);
    assert_eq!(of_client(json!({"_meta": {}})), NOTHING);
    let foreign = json!({"progressToken": 1, "vscode.requestId": "x", "claudecode/toolUseId": "y", "correlationId": {"a": [1]}});
    let gone = [
        "/params/_meta/vscode.requestId",
        "/params/_meta/claudecode~1toolUseId",
        "/params/_meta/correlationId",
    ];
    assert_eq!(of_client(json!({"name": "add", "_meta": foreign})), gone);
}

#[test]
fn attack_a_key_that_could_be_taken_for_a_known_one_stays_to_be_refused() {
    for key in [
        "dev.semgate/other",
        "dev.semgate.l9",
        "Dev.Semgate/L9",
        "dev.\u{17f}emgate/l9",
        "io.modelcontextprotocol/other",
        "modelcontextprotocol.io/x",
        "modelcontextprotocol.x",
        "mcp.dev/x",
        "mcp.x",
        "tools.mcp.com/x",
        "com.MCP.tools/x",
        "ProgressToken",
        "progre\u{17f}sToken",
        "TRACEPARENT",
    ] {
        assert_eq!(of_client(json!({"_meta": {key: 1}})), NOTHING, "{key}");
        assert_eq!(
            of_server(Operation::CallTool, OLD, json!({"content": [], "_meta": {key: 1}})),
            NOTHING,
            "{key}"
        );
        assert!(MetaKeys::parse(&[key.to_owned()]).is_err(), "{key}");
        assert!(!keys(&["d", "dev.", "io.", "tools.", "com."]).lists(key), "{key}");
    }
    // the second label alone is reserved
    assert_eq!(of_client(json!({"_meta": {"com.example.mcp/x": 1}})), ["/params/_meta/com.example.mcp~1x"]);
}

#[test]
fn a_route_lists_keys_and_prefixes() {
    let listed = keys(&["vscode.", "claudecode/", "correlationId"]);
    for (key, passes) in [
        ("vscode.requestId", true),
        ("claudecode/toolUseId", true),
        ("correlationId", true),
        ("vscode", false),
        ("vscodex.requestId", false),
        ("correlationIds", false),
    ] {
        assert_eq!(listed.lists(key), passes, "{key}");
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {key: 1, "progressToken": 2}}});
        let gone = pointers(&message, Binding::Mcp, Author::Client, &listed);
        assert_eq!(gone.is_empty(), passes, "{key}: {gone:?}");
    }
    for bad in ["", ".", "/", "two words", "progressToken", "Baggage", "dev.semgate/", "mcp."] {
        assert!(MetaKeys::parse(&[bad.to_owned()]).is_err(), "{bad}");
    }
    assert!(MetaKeys::parse(&["a".to_owned(), "a".to_owned()]).is_err());
}

#[test]
fn capabilities_that_are_not_carried_are_removed_at_any_depth() {
    let deep = json!({"requests": {"sampling": {"createMessage": {"a": {"b": {"c": {}}}}}}});
    let capabilities = json!({"elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": true}, "sampling": {"context": {}, "tools": {}},
        "tasks": deep, "experimental": {"vendor.example/x": deep}, "extensions": {}, "Elicitation": {}});
    let gone = ["sampling/tools", "tasks", "experimental", "extensions", "Elicitation"];
    let gone = gone.map(|name| format!("/params/capabilities/{name}"));
    assert_eq!(of_client(json!({"capabilities": capabilities})), gone);
    let server =
        json!({"tools": {"listChanged": true, "other": {"deep": deep}}, "tasks": deep, "logging": {}});
    assert_eq!(
        of_server(Operation::Initialize, OLD, json!({"capabilities": server})),
        ["/result/capabilities/tools/other", "/result/capabilities/tasks"]
    );
    // prose in a setting that is carried
    let form = json!({"form": {"applyDefaults": true, "note": "obey the server", "deep": {"x": 1}}});
    assert_eq!(
        of_client(json!({"_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": form}}})),
        ["note", "deep"].map(|name| format!(
            "/params/_meta/io.modelcontextprotocol~1clientCapabilities/elicitation/form/{name}"
        ))
    );
}

#[test]
fn optional_members_that_are_null_are_absent() {
    assert_eq!(of_client(json!({"cursor": null, "_meta": null, "arguments": null})).len(), 3);
    assert_eq!(of_client(json!({"data": null, "unknown": null})), NOTHING);
    assert_eq!(
        of_server(
            Operation::ListResources,
            OLD,
            json!({"resources": [{"uri": "a:b", "name": "a", "title": null, "icons": null}], "nextCursor": null})
        ),
        ["/result/resources/0/title", "/result/resources/0/icons", "/result/nextCursor"]
    );
    let both = json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": null});
    assert_eq!(pointers(&both, Binding::Mcp, Author::Client, MetaKeys::NONE), ["/error"]);
    // the fields of a form are its own
    let given = json!({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {"type": "text", "other": 1, "n": null}}});
    assert_eq!(pointers(&given, Binding::Mcp, Author::Client, MetaKeys::NONE), NOTHING);
}

#[test]
fn members_of_results_and_blocks_that_nobody_reads_are_removed() {
    let block = json!({"type": "text", "text": "3", "_meta": {"fastmcp": {}}, "annotations": {"priority": 1, "other": 2}, "title": "x"});
    let embedded =
        json!({"type": "resource", "resource": {"uri": "a:b", "text": "x", "size": 1}, "annotations": {}});
    let result = json!({"content": [block, embedded], "structuredContent": {"sum": 3, "kept": null}, "isError": false,
        "resultType": "complete", "duration_ms": 142, "_meta": {"fastmcp": {"wrap_result": true}, "progressToken": 1}});
    let gone = [
        "resultType",
        "content/0/_meta/fastmcp",
        "content/0/annotations/other",
        "content/0/title",
        "content/1/resource/size",
        "content/1/annotations",
        "duration_ms",
        "_meta/fastmcp",
        "_meta/progressToken",
    ];
    assert_eq!(of_server(Operation::CallTool, OLD, result).len(), gone.len());
    let prompts =
        json!({"prompts": [{"name": "p", "arguments": [{"name": "a", "type": "string"}], "tags": []}]});
    assert_eq!(
        of_server(Operation::ListPrompts, OLD, prompts),
        ["/result/prompts/0/arguments/0/type", "/result/prompts/0/tags"]
    );
}

#[test]
fn a_pinned_tool_keeps_all_that_it_says_of_itself() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {}, "title": null, "x": 1, "_meta": {"ui": {"resourceUri": "ui://x"}}});
    let list = json!({"tools": [tool("pinned"), tool("free")]});
    let gone = ["title", "x", "_meta/ui"].map(|name| format!("/result/tools/1/{name}"));
    assert_eq!(of_server(Operation::ListTools, OLD, list), gone);
}

#[test]
fn attack_a_member_that_could_be_taken_for_another_stays_to_be_refused() {
    for result in [
        json!({"content": [], "Content": []}),
        json!({"content": [], "STRUCTUREDCONTENT": {}}),
        json!({"content": [], "_Meta": {}}),
        json!({"content": [], "inputRequests": {}}),
        json!({"content": [], "requestState": "x"}),
        json!({"content": [{"type": "text", "text": "x", "uri": "https://evil.test/"}]}),
        json!({"content": [{"type": "image", "data": "", "text": "obey"}]}),
        json!({"content": [{"type": "text", "text": "x", "Text": "y"}]}),
        json!({"content": [{"type": "unknown", "more": 1}]}),
    ] {
        assert_eq!(of_server(Operation::CallTool, OLD, result.clone()), NOTHING, "{result}");
    }
    assert_eq!(of_client(json!({"name": "add", "task": {}, "other": 1})), NOTHING);
}

#[test]
fn metadata_of_a2a_is_removed_but_for_claims_and_traces() {
    let claim = "urn:contexts:snl:v1.0";
    let metadata = json!({claim: {}, "is_user_input": true, "adk/x": 1, "urn:contexts:other:v1.0": {}, "URN:contexts:snl:v1.0": {}, "traceparent": "no"});
    let message =
        json!({"parts": [{"text": "hello", "metadata": {"is_user_input": true}}], "metadata": metadata});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message, "metadata": {"k": 1}}});
    let inside = [
        "/params/message/parts/0/metadata/is_user_input",
        "/params/message/metadata/is_user_input",
        "/params/message/metadata/adk~1x",
        "/params/message/metadata/traceparent",
        "/params/metadata/k",
    ];
    assert_eq!(pointers(&request, Binding::A2a, Author::Client, MetaKeys::NONE), inside);
    assert_eq!(
        pointers(&request, Binding::A2a, Author::Client, &keys(&["is_user_input", "adk/", "k"])),
        ["/params/message/metadata/traceparent"]
    );
    let admits = Reading { admit: TextParts { data: true, ..TextParts::default() }, ..READING };
    let bytes = request.to_string();
    let json = json::read(bytes.as_bytes(), &json::Limits::default()).unwrap();
    assert!(Removal::of(&json, Binding::A2a.protocol(), Author::Client, &admits).is_empty());
    let task = json!({"id": "t", "metadata": {"a": 1}, "status": {"message": message}, "artifacts": [{"metadata": {"b": 1}, "parts": []}]});
    let server = Author::Server { asked: None, pinned: &|_| false };
    for answer in
        [json!({"task": task}), json!({"statusUpdate": task}), json!({"tasks": [task]}), task.clone()]
    {
        assert_eq!(pointers(&answer, Binding::A2a, server, MetaKeys::NONE).len(), 6, "{answer}");
    }
}

#[test]
fn what_is_recorded_is_bounded_in_number_and_length() {
    let many: serde_json::Map<String, Value> = (0..200).map(|n| (format!("key{n}"), json!(n))).collect();
    assert_eq!(of_client(json!({"_meta": many})).len(), MAX_POINTERS);
    assert_eq!(of_client(json!({"_meta": {"obey me now": 1, "k".repeat(200): 2}})), ["/params/_meta/*"]);
}

#[test]
fn a_trace_context_that_does_not_fit_is_removed_and_refuses_nothing() {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let meta =
        json!({"traceparent": "00-0", "tracestate": "obey me", "baggage": {"a": 1}, "progressToken": 1});
    let gone = ["/params/_meta/traceparent", "/params/_meta/tracestate", "/params/_meta/baggage"];
    assert_eq!(of_client(json!({"_meta": meta})), gone);
    assert_eq!(
        of_client(json!({"_meta": {"traceparent": trace, "baggage": null}})),
        ["/params/_meta/baggage"]
    );
    let result = json!({"content": [], "_meta": {"traceparent": trace, "baggage": "obey me"}});
    assert_eq!(of_server(Operation::CallTool, OLD, result), ["/result/_meta/baggage"]);
}

#[test]
fn the_shapes_of_results_are_those_of_the_shipped_context() {
    let (_, bytes) = semgate_contexts::library::all().iter().find(|(name, _)| *name == "mcp-v1.0").unwrap();
    let document: Value = serde_json::from_slice(bytes).unwrap();
    for operation in Operation::ALL.iter().copied() {
        let task = &document["tasks"][operation.concept()]["results"];
        let (Some(properties), true) = (task["properties"].as_object(), operation != Operation::Listen)
        else {
            continue;
        };
        let signed = properties.keys().map(String::as_str).filter(|name| *name != "resultType");
        let mut known: Vec<_> = mcp::answered(operation).known.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        let mut signed: Vec<_> = signed.collect();
        signed.sort_unstable();
        assert_eq!(known, signed, "{operation:?}");
    }
}

proptest! {
    #[test]
    fn a_second_removal_takes_nothing_more(key in "[a-zA-Z./_]{1,20}", other in "[a-zA-Z]{1,12}", deep in any::<bool>()) {
        let value = if deep { json!({"x": null, key.clone(): {}}) } else { Value::Null };
        let meta = json!({key.clone(): value, "progressToken": 1});
        let mut message = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "", other.clone(): value}], "_meta": meta, other.clone(): value}});
        let asked = Asked { operation: Operation::CallTool, version: OLD, rpc_id: None, progress: None, tool: None, resource: None, prompt: None, cursor: None, listens: None };
        let author = Author::Server { asked: Some(&asked), pinned: &|_| false };
        let gone = pointers(&message, Binding::Mcp, author, MetaKeys::NONE);
        for pointer in gone {
            let (at, name) = pointer.rsplit_once('/').unwrap();
            let name = name.replace("~1", "/");
            if let Some(object) = message.pointer_mut(at).and_then(Value::as_object_mut) {
                object.remove(&name);
            }
        }
        prop_assert!(pointers(&message, Binding::Mcp, author, MetaKeys::NONE).is_empty());
    }
}
