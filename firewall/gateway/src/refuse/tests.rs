//! Every code in both protocols.

use super::*;
use crate::decision::Decisions;
use http_body_util::BodyExt;
use semgate_inspect::{Delivered, RpcId};
use std::time::Duration;

fn body(answer: Answer) -> serde_json::Value {
    let bytes = futures(answer.into_body().collect());
    serde_json::from_slice(&bytes).unwrap()
}

fn futures(collect: impl Future<Output = Result<http_body_util::Collected<Bytes>, std::io::Error>>) -> Bytes {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(collect).unwrap().to_bytes()
}

#[test]
fn every_code_answers_its_status_and_its_number() {
    let decision = Decisions::new().next();
    for code in Code::ALL {
        let refusal = Refusal::new(*code, "reason").with_hint("hint").with_delivered(Delivered::Unknown);
        let plain = refuse(&refusal, Protocol::L8, decision);
        assert_eq!(plain.status().as_u16(), code.status());
        assert_eq!(plain.headers()["content-type"], "application/problem+json");
        assert_eq!(plain.headers()["semgate-decision"], decision.to_string().as_str());
        assert_eq!(plain.headers().contains_key("retry-after"), matches!(code.status(), 429 | 503), "{code}");
        let problem = body(plain);
        assert_eq!(problem["code"], code.as_str());
        assert_eq!(problem["status"], code.status());
        assert_eq!(problem["decision_id"], decision.to_string().as_str());
        assert_eq!(problem["delivered"], "unknown");
        assert_eq!((&problem["detail"], &problem["hint"]), (&"reason".into(), &"hint".into()));

        let refusal = refusal.with_rpc_id(Some(RpcId::Text("r-1".to_owned())));
        let rpc = refuse(&refusal, Protocol::A2a, decision);
        assert_eq!(rpc.status(), 200);
        let rpc = body(rpc);
        assert_eq!((&rpc["jsonrpc"], &rpc["id"]), (&"2.0".into(), &"r-1".into()));
        assert_eq!(rpc["error"]["code"], code.rpc());
        assert_eq!(rpc["error"]["message"], format!("{code}: reason"));
        assert_eq!(rpc["error"]["data"], serde_json::json!([problem]));
    }
}

#[test]
fn without_a_valid_id_json_rpc_answers_plain_http() {
    let refusal = Refusal::new(Code::Malformed, "reason");
    let answer = refuse(&refusal, Protocol::A2a, Decisions::new().next());
    assert_eq!(answer.status(), 400);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
}

#[test]
fn a_cause_is_told_and_a_wait_is_rounded_up() {
    let refusal =
        Refusal::new(Code::AmbiguityLimited, "reason").with_retry_after(Duration::from_millis(1001));
    let answer = refuse(&refusal, Protocol::L8, Decisions::new().next());
    assert_eq!(answer.headers()["retry-after"], "2");
    let refusal = Refusal::new(Code::ReplyRefused, "reason").with_cause(Code::PolicyDenied);
    let problem = body(refuse(&refusal, Protocol::L8, Decisions::new().next()));
    assert_eq!(problem["cause"], "policy_denied");
}
