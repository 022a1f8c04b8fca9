use super::*;
use http::Request;

fn judged(method: &str, headers: &[(&str, &str)]) -> Result<Head, Code> {
    let mut request = Request::builder().method(method).uri("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    head(&parts).map_err(|refusal| refusal.code())
}

#[test]
fn the_headers_of_a_post_are_read_once_each() {
    let good = judged(
        "POST",
        &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "add")],
    );
    let good = good.unwrap();
    assert_eq!(
        (good.version.as_deref(), good.method.as_deref(), good.name.as_deref()),
        (Some("2026-07-28"), Some("tools/call"), Some("add"))
    );
    for name in ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"] {
        assert_eq!(judged("POST", &[(name, "a"), (name, "b")]), Err(Code::HeaderMismatch), "{name}");
    }
}

#[test]
fn what_is_asked_of_a_session_is_read_from_the_head() {
    let opened = judged("GET", &[("last-event-id", "e-7"), ("mcp-session-id", "s")]).unwrap();
    assert_eq!(opened.verb, Verb::Open { last_event: Some("e-7".to_owned()) });
    assert_eq!(judged("GET", &[]).unwrap().verb, Verb::Open { last_event: None });
    assert_eq!(judged("DELETE", &[("mcp-session-id", "s")]).unwrap().verb, Verb::End);
    assert_eq!(judged("PUT", &[]), Err(Code::MethodUnsupported));
    assert_eq!(judged("GET", &[("last-event-id", "two words")]), Err(Code::Malformed));
    assert_eq!(judged("GET", &[("last-event-id", "a"), ("last-event-id", "b")]), Err(Code::HeaderMismatch));
}

#[test]
fn headers_that_repeat_arguments_are_read_once_each() {
    let head = judged("POST", &[("mcp-param-region", "eu"), ("Mcp-Param-Tenant", "7")]).unwrap();
    let mut params = head.params;
    params.sort();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(params, [pair("region", "eu"), pair("tenant", "7")]);
    let twice = [("mcp-param-region", "eu"), ("mcp-param-region", "us")];
    assert_eq!(judged("POST", &twice), Err(Code::HeaderMismatch));
    assert_eq!(judged("POST", &[("mcp-session-id", "two words")]), Err(Code::NotFound));
}

#[test]
fn errors_have_the_statuses_of_the_protocol() {
    let of = |code| status(&Refusal::new(code, "x"));
    assert_eq!((of(Code::HeaderMismatch), of(Code::VersionUnsupported), of(Code::NotFound)), (400, 400, 404));
    assert_eq!((of(Code::MethodUnsupported), of(Code::PolicyDenied), of(Code::ToolDrift)), (405, 200, 200));
    let named =
        Refusal::new(Code::MethodUnsupported, "x").with_rpc_id(Some(semgate_inspect::RpcId::Integer(1)));
    assert_eq!(status(&named), 404);
    assert_eq!(status(&Refusal::of_server(-32601)), 404);
    assert_eq!(status(&Refusal::of_server(-32603)), 200);
    assert_eq!(number(Code::VersionUnsupported), Some(-32022));
    let named = ErrorData::unsupported(vec![Version::V2026_07_28], Some("2027-01-01"));
    let refusal = Refusal::new(Code::VersionUnsupported, "x").with_server_data(Some(named));
    let data = data(&refusal, json!({"code": "version_unsupported"}));
    assert_eq!((&data["supported"], &data["requested"]), (&json!(["2026-07-28"]), &json!("2027-01-01")));
}
