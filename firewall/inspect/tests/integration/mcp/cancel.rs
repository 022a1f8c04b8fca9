//! What a client takes back outside of sessions.

use super::{Arc, NOW, agent, call, common::sums::house_of, reply};
use semgate_inspect::{
    Arrived, Code, HeaderClaims, Inspector, Permit, Refusal, Route, RouteOptions, TextParts, UnnamedTools,
};
use semgate_protocol::{Call, mcp::Head};
use serde_json::json;

type House = (Inspector, Arc<Route>);

fn house() -> House {
    let rules = r#"permit (principal in Group::"partners", action, resource is mcp::Cancelled);"#;
    house_of(UnnamedTools::Withhold, rules, TextParts::default())
}

/// `notifications/cancelled` for a request of this id, in either version.
fn cancels(house: &House, from: &str, id: i64, version: &str) -> Result<Permit, Refusal> {
    let body = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    let head = Head { version: Some(version.to_owned()), ..Head::default() };
    let arrived = Arrived::whole(Call::mcp(head), body.to_string().into_bytes().into());
    house.0.inspect(&house.1, &agent(from), &HeaderClaims::default(), arrived, NOW)
}

#[test]
fn attack_a_request_of_another_or_of_nobody_is_cancelled_outside_of_a_session() {
    let house = house();
    let refused = |house: &House, from: &str, id: i64, version: &str| {
        let refused = cancels(house, from, id, version).unwrap_err();
        assert_eq!(
            (refused.code(), refused.reason()),
            (Code::NotFound, "this agent has no open request of its own with this id"),
            "{from} {version}"
        );
    };
    for version in ["2025-11-25", "2026-07-28"] {
        refused(&house, "retailer-7", 1, version);
        // every request here has the id 1
        let sent = call(&house, "retailer-7", "add", json!({"a": 1, "b": 2})).unwrap();
        refused(&house, "treasurer-1", 1, version);
        refused(&house, "retailer-7", 2, version);
        assert!(cancels(&house, "retailer-7", 1, version).is_ok());
        // a server without sessions could not tell whose it is
        let other = call(&house, "treasurer-1", "add", json!({"a": 1, "b": 2})).unwrap();
        refused(&house, "retailer-7", 1, version);
        drop(other);
        assert!(cancels(&house, "retailer-7", 1, version).is_ok());
        assert!(reply(&house, &sent, json!({"content": [], "structuredContent": {"sum": 3}})).is_ok());
        drop(sent);
        refused(&house, "retailer-7", 1, version);
    }
    // a server that reads the caller itself tells its requests apart
    let options = RouteOptions { keeps_callers_apart: true, ..house.1.options.clone() };
    let route = Arc::new(Route { options, ..(*house.1).clone() });
    assert!(cancels(&(house.0, route), "retailer-7", 1, "2026-07-28").is_ok());
}

#[test]
fn requests_beyond_what_is_remembered_are_not_cancelled_and_the_newest_are() {
    let house = house();
    let ask = |id: i64| {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
        let head = Head { version: Some("2025-11-25".to_owned()), ..Head::default() };
        let arrived = Arrived::whole(Call::mcp(head), body.to_string().into_bytes().into());
        house.0.inspect(&house.1, &agent("retailer-7"), &HeaderClaims::default(), arrived, NOW)
    };
    let open: Vec<_> = (0..300).map(|id| ask(id).unwrap()).collect();
    let cancelled = |id| cancels(&house, "retailer-7", id, "2025-11-25").map(drop).map_err(|no| no.code());
    assert_eq!(
        (cancelled(0), cancelled(43), cancelled(44), cancelled(299)),
        (Err(Code::NotFound), Err(Code::NotFound), Ok(()), Ok(()))
    );
    drop(open);
    assert_eq!(cancelled(299), Err(Code::NotFound));
}
