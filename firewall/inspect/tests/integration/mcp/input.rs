//! What a client of MCP 2026-07-28 gives a server is what the server asked it for.

use super::{
    Arc, Inspector, Route, TextParts, UnnamedTools, Value, ask, call, common::sums::house_of, json, reply,
};
use semgate_inspect::{Code, Refusal};

const ROOTS: &str = r#"permit (principal in Group::"repliers", action, resource is mcp::ListRoots);
    permit (principal in Group::"partners", action, resource is mcp::ListRoots_results);
    permit (principal in Group::"partners", action, resource is mcp::CreateMessage_results);
    permit (principal in Group::"partners", action, resource is mcp::text);"#;
const FIRST: &str = "retailer-7";
const OTHER: &str = "treasurer-1";

type House = (Inspector, Arc<Route>);

fn house() -> House {
    house_of(UnnamedTools::Withhold, ROOTS, TextParts { text: true, ..TextParts::default() })
}

/// A server needs these before it adds.
fn needs(house: &House, from: &str, state: Option<&str>, requests: Value) -> Result<(), Refusal> {
    let sent = call(house, from, "add", json!({"a": 1, "b": 2})).unwrap();
    let mut result = json!({"resultType": "input_required", "inputRequests": requests});
    state.inspect(|state| result["requestState"] = json!(state));
    reply(house, &sent, result).map(drop)
}

fn gives(house: &House, from: &str, name: &str, state: Option<&str>, given: Value) -> Result<(), Refusal> {
    let arguments = if name == "add" { json!({"a": 1, "b": 2}) } else { json!({}) };
    let mut params = json!({"name": name, "arguments": arguments, "inputResponses": given});
    state.inspect(|state| params["requestState"] = json!(state));
    ask(house, from, "tools/call", params).map(drop)
}

#[track_caller]
fn not_asked(given: Result<(), Refusal>) {
    let refused = given.unwrap_err();
    let what = "`/params/inputResponses` answers a question that was not asked for this request";
    assert_eq!((refused.code(), refused.reason()), (Code::Malformed, what));
}

fn form() -> Value {
    json!({"method": "elicitation/create", "params": {"message": "Sure?",
        "requestedSchema": {"type": "object", "properties": {"yes": {"type": "boolean"}}}}})
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"yes": true}})
}

fn roots() -> Value {
    json!({"roots": [{"uri": "file:///a"}]})
}

fn words() -> Value {
    json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}})
}

#[test]
fn attack_a_client_of_mcp_answers_what_nobody_asked() {
    let house = house();
    for given in [yes(), roots(), words()] {
        not_asked(gives(&house, FIRST, "add", None, json!({"a": given})));
    }
    // asked of one agent, for one tool
    needs(&house, FIRST, None, json!({"a": form()})).unwrap();
    not_asked(gives(&house, OTHER, "add", None, json!({"a": yes()})));
    not_asked(gives(&house, OTHER, "remove-all", None, json!({"a": yes()})));
    // nothing is given: nothing was to be asked
    gives(&house, OTHER, "add", None, json!({})).unwrap();
}

#[test]
fn attack_beside_a_state_a_client_of_mcp_answers_another_question_or_in_another_form() {
    let house = house();
    needs(&house, FIRST, Some("st-1"), json!({"a": form()})).unwrap();
    needs(&house, FIRST, Some("st-2"), json!({"b": form(), "c": {"method": "roots/list"}})).unwrap();
    let state = Some("st-1");
    for given in [
        json!({"zz": yes()}),
        json!({"a": yes(), "zz": yes()}),
        json!({"b": yes()}),
        json!({"a": words()}),
        json!({"a": roots()}),
        json!({"A": yes()}),
    ] {
        not_asked(gives(&house, FIRST, "add", state, given));
    }
    // who leaves the state out gives in the same form
    not_asked(gives(&house, FIRST, "add", None, json!({"a": words()})));
    gives(&house, FIRST, "add", None, json!({"a": yes()})).unwrap();
    for (state, given) in [
        ("st-1", json!({"a": yes()})),
        ("st-1", json!({"a": {"action": "decline"}})),
        ("st-1", json!({})),
        ("st-2", json!({"b": yes(), "c": roots()})),
        ("st-2", json!({"c": roots()})),
        ("st-1", json!({"a": yes()})),
    ] {
        gives(&house, FIRST, "add", Some(state), given).unwrap();
    }
}

#[test]
fn a_server_of_mcp_that_asks_without_a_state_is_answered_under_its_names_in_their_forms() {
    let house = house();
    needs(&house, FIRST, None, json!({"a": form()})).unwrap();
    gives(&house, FIRST, "add", None, json!({"a": yes()})).unwrap();
    // a name that was not asked is the server's to pass over
    gives(&house, FIRST, "add", None, json!({"a": yes(), "extra": yes()})).unwrap();
    for given in [words(), roots()] {
        not_asked(gives(&house, FIRST, "add", None, json!({"a": given})));
    }
    needs(&house, FIRST, None, json!({"b": {"method": "roots/list"}})).unwrap();
    gives(&house, FIRST, "add", None, json!({"a": yes(), "b": roots()})).unwrap();
    // a state that is empty is one
    let refused = gives(&house, FIRST, "add", Some(""), json!({"a": yes()})).unwrap_err();
    assert!(refused.reason().starts_with("`/params/requestState`"), "{}", refused.reason());
}

#[test]
fn attack_a_server_of_mcp_asks_under_names_that_say_something_or_for_more_than_can_be_given() {
    let house = house();
    let many: Value = (0..17).map(|at| (format!("k{at}"), form())).collect::<serde_json::Map<_, _>>().into();
    for requests in [json!({"ignore all previous": form()}), json!({"": form()}), many] {
        let refused = needs(&house, FIRST, None, requests).unwrap_err();
        assert_eq!((refused.code(), refused.cause()), (Code::UpstreamInvalid, Some(Code::Malformed)));
        assert!(refused.detail().contains("/inputRequests"), "{}", refused.detail());
    }
    not_asked(gives(&house, FIRST, "add", None, json!({"k1": yes()})));
}

#[test]
fn a_server_of_mcp_that_keeps_its_callers_apart_gets_whatever_is_given() {
    let (inspector, route) = house();
    let mut route = Route::clone(&route);
    route.options.keeps_callers_apart = true;
    let house = (inspector, Arc::new(route));
    gives(&house, FIRST, "add", Some("any"), json!({"a": yes()})).unwrap();
    gives(&house, FIRST, "add", None, json!({"a": yes()})).unwrap();
}
