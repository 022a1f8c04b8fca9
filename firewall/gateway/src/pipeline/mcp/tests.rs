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

fn answering(refusal: Refusal) -> Refusal {
    refusal.with_rpc_id(Some(semgate_inspect::RpcId::Integer(1)))
}

#[test]
fn a_demand_for_authorization_keeps_the_servers_status_in_every_version_and_form() {
    let decision = crate::pipeline::decision::Decisions::new().next();
    for of in [400, 401, 403] {
        let demand = Refusal::demanded(of);
        for rules in [Rules::Sessions, Rules::Stateless, Rules::Bodiless { allow: "" }] {
            assert_eq!(status(&answering(demand.clone()), rules), of, "{rules:?}");
            let manner = crate::pipeline::refuse::Manner::Mcp(rules);
            assert_eq!(
                crate::pipeline::refuse::say(&demand, manner, decision).status,
                of,
                "without an id, {rules:?}"
            );
        }
    }
}

#[test]
fn in_2025_an_error_that_answers_a_request_comes_with_200_and_404_says_that_the_session_is_over() {
    let of = |refusal| status(&answering(refusal), Rules::Sessions);
    for number in [-32601, -32602, -32002, -32603, 0] {
        assert_eq!(of(Refusal::of_server(number)), 200, "{number}");
    }
    for code in
        [Code::MethodUnsupported, Code::PolicyDenied, Code::ToolDrift, Code::Malformed, Code::ContentInvalid]
    {
        assert_eq!(of(Refusal::new(code, "x")), 200, "{code}");
    }
    for (code, expected) in
        [(Code::NotFound, 404), (Code::VersionUnsupported, 400), (Code::HeaderMismatch, 400)]
    {
        assert_eq!(of(Refusal::new(code, "x")), expected, "{code}");
    }
}

#[test]
fn errors_of_2026_have_the_statuses_of_the_protocol() {
    let of = |refusal| status(&answering(refusal), Rules::Stateless);
    for (number, expected) in [(-32601, 404), (-32602, 400), (-32022, 400), (-32603, 200), (0, 200)] {
        assert_eq!(of(Refusal::of_server(number)), expected, "{number}");
    }
    for (code, expected) in [
        (Code::MethodUnsupported, 404),
        (Code::Malformed, 400),
        (Code::HeaderMismatch, 400),
        (Code::PolicyDenied, 200),
        (Code::NotFound, 404),
    ] {
        assert_eq!(of(Refusal::new(code, "x")), expected, "{code}");
    }
}

#[test]
fn who_names_no_version_is_answered_as_2025_and_what_is_not_posted_as_http_has_it() {
    let rules = |method: &str, version: Option<&str>| {
        let request = Request::builder().method(method).uri("/");
        let request = match version {
            Some(version) => request.header("mcp-protocol-version", version),
            None => request,
        };
        let (parts, ()) = request.body(()).unwrap().into_parts();
        Rules::of(&parts.method, &parts.headers, At::Messages)
    };
    assert_eq!([rules("POST", None), rules("POST", Some("2025-11-25"))], [Rules::Sessions; 2]);
    assert_eq!([rules("POST", Some("2026-07-28")), rules("POST", Some("x"))], [Rules::Stateless; 2]);
    assert_eq!(rules("GET", Some("2025-11-25")), Rules::Bodiless { allow: "POST" });
    assert_eq!(rules("PUT", None), Rules::Bodiless { allow: "GET, POST, DELETE" });
}

#[test]
fn an_unsupported_version_is_told_with_those_that_are_spoken() {
    assert_eq!(number(Code::VersionUnsupported), Some(-32022));
    let named = ErrorData::unsupported(vec![Revision::V2026_07_28], Some("2027-01-01"));
    let refusal = Refusal::new(Code::VersionUnsupported, "x").with_server_data(Some(named));
    let data = data(&refusal, json!({"code": "version_unsupported"}));
    assert_eq!((&data["supported"], &data["requested"]), (&json!(["2026-07-28"]), &json!("2027-01-01")));
}

#[test]
fn a_405_names_what_there_is_at_the_path_instead() {
    let headers = |session: bool| {
        let mut headers = HeaderMap::new();
        headers.insert(&VERSION, HeaderValue::from_static("2025-11-25"));
        if session {
            headers.insert(&SESSION, HeaderValue::from_static("s-1"));
        }
        headers
    };
    for (method, session, at, names) in [
        (Method::GET, true, At::Messages, "POST, DELETE"),
        (Method::DELETE, true, At::Messages, "GET, POST"),
        (Method::GET, false, At::Messages, "POST"),
        (Method::PUT, false, At::Messages, "GET, POST, DELETE"),
        (Method::PUT, true, At::Metadata, "GET, HEAD"),
        (Method::GET, false, At::Nothing, ""),
    ] {
        assert_eq!(Rules::of(&method, &headers(session), at), Rules::Bodiless { allow: names }, "{method}");
    }
}
