//! Tests of `outcome`.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::json;

use super::*;

fn reply(status: u16, kind: &'static str, body: String) -> Reply {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", kind.parse().unwrap());
    Reply { status, headers, body: Bytes::from(body) }
}

fn answer(body: Value) -> SendOutcome {
    of_answer(&reply(200, "application/json", body.to_string()))
}

#[test]
fn refusals_are_read_wherever_a_protocol_carries_them() {
    let problem = json!({"code": "policy_denied", "detail": "no", "hint": "ask", "decision_id": "d"});
    let one = answer(json!({"id": 1, "error": {"code": -32013, "message": "", "data": [problem]}}));
    let two = answer(json!({"id": 1, "error": {"code": -32013, "message": "", "data": problem}}));
    let details = json!({"error": {"code": 403, "details": [{"reason": "X"}, problem]}});
    let three = of_answer(&reply(403, "application/json", details.to_string()));
    let tool = json!([{"type": "text", "text": "policy_denied: no; hint: ask [decision d]"}]);
    let four = answer(json!({"id": 1, "result": {"isError": true, "content": tool}}));
    for outcome in [one, two, three, four] {
        assert_eq!((outcome.verdict, outcome.code.as_deref()), ("REFUSED", Some("policy_denied")));
        assert_eq!((outcome.reason.as_deref(), outcome.hint.as_deref()), (Some("no"), Some("ask")));
        assert_eq!(outcome.decision_id.as_deref(), Some("d"));
    }
}

#[test]
fn an_error_of_the_agent_is_its_answer() {
    let failed = answer(json!({"id": 1, "error": {"code": -32001, "message": "task not found"}}));
    assert_eq!((failed.verdict, failed.reply.unwrap()["code"].as_i64()), ("ALLOWED", Some(-32001)));
    let text = json!([{"type": "text", "text": "boom: no; hint: ask [decision d]"}]);
    let failed = answer(json!({"id": 1, "result": {"isError": true, "content": text}}));
    assert_eq!(failed.verdict, "ALLOWED", "`boom` is no code of a gateway");
}

#[test]
fn the_answer_of_a_stream_is_its_response() {
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
    let result = json!({"jsonrpc": "2.0", "id": 1, "result": {"sum": 3}});
    let body = format!("event: message\ndata: {progress}\n\ndata: {result}\n\n");
    let outcome = of_answer(&reply(200, "text/event-stream", body));
    assert_eq!((outcome.verdict, outcome.reply), ("ALLOWED", Some(json!({"sum": 3}))));
}
