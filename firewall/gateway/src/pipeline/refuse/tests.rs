//! Every code in both protocols.

use super::*;
use crate::pipeline::decision::Decisions;
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
        let plain = refuse(&refusal, Manner::Plain, decision);
        assert_eq!(plain.status().as_u16(), code.status());
        assert_eq!(plain.headers()["content-type"], "application/problem+json");
        assert_eq!(plain.headers()["semgate-decision"], decision.to_string().as_str());
        assert_eq!(
            plain.headers().contains_key("retry-after"),
            matches!(code.status(), 202 | 429 | 503),
            "{code}"
        );
        let problem = body(plain);
        assert_eq!(problem["code"], code.as_str());
        assert_eq!(problem["status"], code.status());
        assert_eq!(problem["decision_id"], decision.to_string().as_str());
        assert_eq!(problem["delivered"], "unknown");
        assert_eq!((&problem["detail"], &problem["hint"]), (&"reason".into(), &"hint".into()));

        let refusal = refusal.with_rpc_id(Some(RpcId::Text("r-1".to_owned())));
        let rpc = refuse(&refusal, Manner::JsonRpc, decision);
        assert_eq!(rpc.status(), 200);
        let rpc = body(rpc);
        assert_eq!((&rpc["jsonrpc"], &rpc["id"]), (&"2.0".into(), &"r-1".into()));
        let number = if *code == Code::Malformed { -32600 } else { code.rpc() };
        assert_eq!(rpc["error"]["code"], number);
        assert_eq!(rpc["error"]["message"], format!("{code}: reason"));
        assert_eq!(rpc["error"]["data"][0], problem);
        let info = rpc["error"]["data"].get(1).map(|info| info["reason"].clone());
        assert_eq!(
            info,
            ProtocolError::of_number(number.into()).map(|known| known.reason().into()),
            "{code}"
        );
    }
}

#[test]
fn the_agents_own_error_keeps_its_number_and_loses_its_text() {
    let refusal =
        Refusal::of_agent(Some(ProtocolError::TaskNotCancelable)).with_rpc_id(Some(RpcId::Integer(7)));
    let answer = body(refuse(&refusal, Manner::JsonRpc, Decisions::new().next()));
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&(-32002).into(), &7.into()));
    assert_eq!(answer["error"]["message"], ProtocolError::TaskNotCancelable.text());
    assert_eq!(answer["error"]["data"][1]["reason"], "TASK_NOT_CANCELABLE");
    let answer = refuse(&refusal, Manner::Rest, Decisions::new().next());
    assert_eq!(answer.status(), 400);
    let answer = body(answer);
    assert_eq!(answer["error"]["status"], "FAILED_PRECONDITION");
    assert_eq!(answer["error"]["details"][0]["reason"], "TASK_NOT_CANCELABLE");
}

#[test]
fn over_rest_the_status_is_the_protocols_where_it_has_one_and_ours_else() {
    let decision = Decisions::new().next();
    for (code, status, name, reason) in [
        (Code::NotFound, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
        (Code::VersionUnsupported, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
        (Code::PolicyDenied, 403, "PERMISSION_DENIED", "POLICY_DENIED"),
        (Code::RateLimited, 429, "RESOURCE_EXHAUSTED", "RATE_LIMITED"),
    ] {
        let answer = refuse(&Refusal::new(code, "reason"), Manner::Rest, decision);
        assert_eq!(answer.status(), status);
        assert_eq!(answer.headers()["content-type"], "application/json");
        let answer = body(answer);
        assert_eq!((&answer["error"]["code"], &answer["error"]["status"]), (&status.into(), &name.into()));
        assert_eq!(answer["error"]["details"][0]["reason"], reason);
        assert_eq!(answer["error"]["details"][1]["code"], code.as_str());
    }
}

#[test]
fn without_a_valid_id_json_rpc_answers_plain_http() {
    let refusal = Refusal::new(Code::Malformed, "reason");
    let answer = refuse(&refusal, Manner::JsonRpc, Decisions::new().next());
    assert_eq!(answer.status(), 400);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
}

#[test]
fn json_rpcs_own_numbers_say_what_is_wrong_with_a_request_as_such_and_an_unknown_id_is_null() {
    let decision = Decisions::new().next();
    for (reason, number) in [
        ("malformed json at byte 3: x", -32700),
        ("`/params/message` is not an object", -32602),
        ("`/id` is neither an identifier nor an integer", -32600),
    ] {
        let answer = refuse(&Refusal::new(Code::Malformed, reason), Manner::JsonRpcRead, decision);
        assert_eq!(answer.status(), 200);
        let answer = body(answer);
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&serde_json::Value::Null, &number.into()));
    }
    let limited = refuse(&Refusal::new(Code::RateLimited, "reason"), Manner::JsonRpcRead, decision);
    assert_eq!(limited.status(), 429, "no fault of the form, so nothing says whose answer it is");
}

#[test]
fn who_takes_nothing_but_events_is_refused_by_one() {
    let refusal = Refusal::new(Code::NotFound, "reason").with_rpc_id(Some(RpcId::Integer(7)));
    let answer = refuse(&refusal, Manner::JsonRpcEvents, Decisions::new().next());
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let text = String::from_utf8(futures(answer.into_body().collect()).to_vec()).unwrap();
    assert!(
        text.starts_with("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"error\"") && text.ends_with("}\n\n"),
        "{text}"
    );
}

#[test]
fn a_cause_is_told_and_a_wait_is_rounded_up() {
    let refusal =
        Refusal::new(Code::AmbiguityLimited, "reason").with_retry_after(Duration::from_millis(1001));
    let answer = refuse(&refusal, Manner::Plain, Decisions::new().next());
    assert_eq!(answer.headers()["retry-after"], "2");
    let never = Refusal::new(Code::RateLimited, "reason").that_never_passes();
    let answer = refuse(&never, Manner::Plain, Decisions::new().next());
    assert_eq!((answer.status().as_u16(), answer.headers().get("retry-after")), (429, None));
    let refusal = Refusal::new(Code::ReplyRefused, "reason").with_cause(Code::PolicyDenied);
    let problem = body(refuse(&refusal, Manner::Plain, Decisions::new().next()));
    assert_eq!(problem["cause"], "policy_denied");
}

#[test]
fn over_rest_only_what_did_not_reach_the_agent_invites_to_be_sent_again() {
    let decision = Decisions::new().next();
    let name = |delivered| {
        let refusal = Refusal::new(Code::ReplyRefused, "reason").with_delivered(delivered);
        body(refuse(&refusal, Manner::Rest, decision))["error"]["status"].clone()
    };
    assert_eq!(name(Delivered::Yes), "INTERNAL");
    assert_eq!(name(Delivered::Unknown), "INTERNAL");
    assert_eq!(name(Delivered::No), "UNAVAILABLE");
}

#[test]
fn a_problem_says_the_status_that_its_answer_has() {
    let decision = Decisions::new().next();
    let refusal = Refusal::new(Code::MethodUnsupported, "reason").with_rpc_id(Some(RpcId::Integer(1)));
    let answer = refuse(&refusal, Manner::Rest, decision);
    let status = answer.status().as_u16();
    let problem = body(answer);
    assert_eq!(problem.pointer("/error/details/1/status"), Some(&status.into()), "{problem}");
}

#[test]
fn in_json_rpc_a_problem_says_the_status_of_its_code_whatever_carries_it() {
    let decision = Decisions::new().next();
    for code in Code::ALL {
        let refusal = Refusal::new(*code, "reason").with_rpc_id(Some(RpcId::Integer(1)));
        for rules in [Rules::Sessions, Rules::Stateless] {
            let problem = body(refuse(&refusal, Manner::Mcp(rules), decision));
            assert_eq!(problem["error"]["data"]["status"], code.status(), "{code}");
        }
    }
}

#[test]
fn a_refused_notification_of_mcp_has_the_status_of_its_code_and_a_method_of_http_405() {
    let decision = Decisions::new().next();
    let refusal = Refusal::new(Code::MethodUnsupported, "reason");
    let bodiless = Rules::Bodiless { allow: "POST" };
    for (rules, status) in [(Rules::Sessions, 400), (Rules::Stateless, 400), (bodiless, 405)] {
        let answer = refuse(&refusal, Manner::Mcp(rules), decision);
        assert_eq!(answer.status(), status);
        let allow = answer.headers().get("allow").map(|allow| allow.to_str().unwrap());
        assert_eq!(allow, (status == 405).then_some("POST"), "RFC 9110 §15.5.6");
    }
    // another refusal of the same request is no 405
    let missing = refuse(&Refusal::new(Code::NotFound, "reason"), Manner::Mcp(bodiless), decision);
    assert!(!missing.headers().contains_key("allow"));
}
