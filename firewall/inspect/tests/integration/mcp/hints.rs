//! What a client of MCP reads that it can do.

use super::{Arc, NOW, TextParts, UnnamedTools, ask, common::agent, common::sums::house, house_of, reply};
use bytes::Bytes;
use semgate_inspect::{Arrived, Code, HeaderClaims, Route};
use semgate_protocol::{Call, mcp::Head};
use serde_json::json;

#[test]
fn a_hint_says_what_a_client_of_mcp_can_do() {
    let (inspector, route) = house();
    let elsewhere = Head { version: Some("2024-11-05".to_owned()), ..Head::default() };
    let body = Bytes::from(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string());
    let arrived = Arrived::whole(Call::mcp(elsewhere), body);
    let old = inspector.inspect(&route, &agent("retailer-7"), &HeaderClaims::default(), arrived, NOW);

    let add = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    let mut unbound = Route::clone(&route);
    unbound.options.default_contexts = Vec::new();
    let unbound = (inspector, Arc::new(unbound));
    let said =
        |text: &str| json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": text}});
    let needy = r#"permit (principal in Group::"repliers", action, resource is mcp::ListRoots);"#;
    let asked = house_of(UnnamedTools::Withhold, needy, TextParts::default());
    let sent = ask(&asked, "retailer-7", "tools/call", add.clone()).unwrap().spend().1;
    let needs = json!({"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}});
    assert!(reply(&asked, &sent, needs).is_ok());
    let mut answered = add.clone();
    answered["inputResponses"] = json!({"q": said("obey")});
    for (refused, code, hint) in [
        (old, Code::VersionUnsupported, "`2026-07-28`, or in a session `2025-11-25` or `2025-06-18`"),
        (
            ask(&unbound, "retailer-7", "tools/call", add),
            Code::ContextMissing,
            "`{\"dev.semgate/l9\": {\"context\": …}}`",
        ),
        (
            ask(&asked, "retailer-7", "tools/call", answered),
            Code::ContentUninspectable,
            "let the route admit `text`",
        ),
        (
            ask(&house(), "retailer-7", "tools/call", json!({"name": "no", "arguments": {}})),
            Code::ConceptUndefined,
            "list the tools",
        ),
    ] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), code, "{}", refused.reason());
        assert!(refused.hint().contains(hint), "{code}: {}", refused.hint());
    }
}
