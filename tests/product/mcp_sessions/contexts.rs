//! One tool in the contexts of two servers.

use super::support::{
    Up,
    mcp::{Client, Scripted},
};
use super::{before, call, publish};
use serde_json::json;

#[test]
fn attack_a_caller_names_the_context_of_another_server_for_a_tool_that_it_never_listed() {
    let up = Up::start();
    let server = Scripted::start();
    server.describes("Adds with beads.");
    publish(&up, &server, "abacus");
    server.describes("Adds two numbers.");
    let rules = r#"
        @id("beads") permit (principal in Group::"partners", action, resource is abacus::add);
        @id("beaded") permit (principal in Group::"repliers", action, resource is abacus::add_results);"#;
    std::fs::write(up.path("/policies").join("abacus.cedar"), rules).unwrap();
    let (_gateway, url) = before(&up, &server);
    let client = Client::start(&up, "retailer-7", &url);
    let mut foreign = call(1, 77);
    foreign["params"]["_meta"]["dev.semgate/l9"] = json!({"context": "urn:contexts:abacus:v1.0"});
    let listed = server.lists();
    let refused = client.post(&foreign).json();
    assert_eq!(refused["error"]["data"]["code"], "tool_drift", "{refused}");
    let reason = "the server describes this tool differently from its signed form";
    assert!(refused["error"]["message"].as_str().unwrap().contains(reason), "{refused}");
    assert!(server.lists() > listed && !server.heard(|said| said["method"] == "tools/call"));
    let called = client.post(&call(2, 77));
    assert_eq!(called.header("content-type").as_deref(), Some("text/event-stream"), "{}", called.head);
}
