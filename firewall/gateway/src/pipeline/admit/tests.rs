//! What a head may say.

use super::host::Names;
use super::*;
use crate::config::Transport;
use http::Request;
use semgate_inspect::Code;
use semgate_protocol::Binding;

fn rules(binding: Binding) -> RouteRules {
    RouteRules {
        binding,
        paths: vec!["/".to_owned(), "/l8".to_owned()],
        extension: "urn:contexts:snl:v1.0".to_owned(),
        versions: vec![Version::V10],
        transports: vec![Transport::JsonRpc],
        push: false,
        names: Names::default(),
        handshakes: false,
        credentials: Vec::new(),
        metadata: false,
        websocket: false,
        default_human: None,
    }
}

fn head(method: &str, path: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

const JSON: (&str, &str) = ("content-type", "application/json");

fn code(binding: Binding, parts: &Parts) -> Option<Code> {
    admit(&rules(binding), parts, &Limits::default()).err().map(|refusal| refusal.code())
}

#[test]
fn method_and_path_are_those_of_the_binding() {
    let table = [
        (Binding::L8, "POST", "/", None),
        (Binding::L8, "POST", "/l8", None),
        (Binding::L8, "POST", "/l8/", Some(Code::MethodUnsupported)),
        (Binding::L8, "POST", "//", Some(Code::MethodUnsupported)),
        (Binding::L8, "POST", "/%2e", Some(Code::MethodUnsupported)),
        (Binding::L8, "GET", "/", Some(Code::MethodUnsupported)),
        (Binding::L8, "PUT", "/", Some(Code::MethodUnsupported)),
        (Binding::L8, "POST", "/?a=b", Some(Code::Malformed)),
        (Binding::L8, "POST", "/?", Some(Code::Malformed)),
        (Binding::L8, "GET", CARD_PATH, Some(Code::MethodUnsupported)),
        (Binding::A2a, "GET", CARD_PATH, None),
        (Binding::A2a, "HEAD", CARD_PATH, None),
        (Binding::A2a, "HEAD", "/", Some(Code::MethodUnsupported)),
        (Binding::A2a, "POST", CARD_PATH, Some(Code::MethodUnsupported)),
        (Binding::A2a, "GET", "/.well-known/agent-card.json?x", Some(Code::Malformed)),
        (Binding::A2a, "POST", "/?A2A-Version=1.0", None),
        // an empty query says nothing, and nothing of a query is forwarded
        (Binding::A2a, "POST", "/?", None),
        (Binding::A2a, "POST", "/?x", Some(Code::Malformed)),
        (Binding::A2a, "POST", "/??", Some(Code::Malformed)),
        (Binding::A2a, "POST", "//", Some(Code::MethodUnsupported)),
        (Binding::A2a, "POST", "/?a2a-version=1.0", Some(Code::Malformed)),
        (Binding::A2a, "POST", "/?A2A-Version=1.0&x=1", Some(Code::Malformed)),
        (Binding::A2a, "GET", "/l8/.well-known/agent-card.json", None),
        (Binding::A2a, "GET", "/other/.well-known/agent-card.json", Some(Code::MethodUnsupported)),
        (Binding::A2a, "GET", "/tasks", Some(Code::MethodUnsupported)),
    ];
    for (protocol, method, path, wanted) in table {
        assert_eq!(code(protocol, &head(method, path, &[JSON])), wanted, "{protocol:?} {method} {path}");
    }
}

#[test]
fn who_uses_another_method_is_told_which_one_the_path_takes() {
    let rest = RouteRules { transports: vec![Transport::Rest], ..rules(Binding::A2a) };
    for (method, path, hint) in [
        ("DELETE", "/tasks/t-1", "this path accepts GET"),
        ("PUT", "/message:send", "this path accepts POST"),
        ("GET", "/l8/tasks/t-1:cancel", "this path accepts POST"),
        ("PUT", "/tasks/t-1/pushNotificationConfigs/c-1", "this path accepts GET"),
        ("PUT", "/there/is/nothing", "see the agent card for its protocols"),
    ] {
        let refusal = admit(&rest, &head(method, path, &[JSON]), &Limits::default()).unwrap_err();
        assert_eq!((refusal.code(), refusal.hint()), (Code::MethodUnsupported, hint), "{method} {path}");
    }
    for (protocol, hint) in [
        (Binding::L8, "post a message to `/`"),
        (Binding::A2a, "post a message to `/`, or get the agent card"),
        (Binding::Mcp, "post one message, or get the stream of a session, or delete the session"),
    ] {
        for method in ["PUT", "PATCH", "OPTIONS"] {
            let refusal = admit(&rules(protocol), &head(method, "/", &[]), &Limits::default()).unwrap_err();
            assert_eq!((refusal.code(), refusal.hint()), (Code::MethodUnsupported, hint), "{method}");
        }
    }
}

#[test]
fn content_type_and_encoding_have_few_spellings() {
    type Case<'c> = (&'c [(&'c str, &'c str)], Option<Code>);
    let table: &[Case<'_>] = &[
        (&[("content-type", "application/json; charset=utf-8")], None),
        (&[("content-type", "Application/JSON;charset=\"UTF-8\"")], None),
        (&[], Some(Code::Malformed)),
        (&[("content-type", "text/plain")], Some(Code::Malformed)),
        (&[("content-type", "application/json; charset=utf-16")], Some(Code::Malformed)),
        (&[("content-type", "application/json; charset=utf-8; x=y")], Some(Code::Malformed)),
        (&[JSON, JSON], Some(Code::Malformed)),
        (&[JSON, ("content-encoding", "gzip")], None),
        (&[JSON, ("content-encoding", "Identity")], None),
        (&[JSON, ("content-encoding", "br")], Some(Code::EncodingUnsupported)),
        (&[JSON, ("content-encoding", "gzip, gzip")], Some(Code::EncodingUnsupported)),
        (&[JSON, ("content-encoding", "")], Some(Code::EncodingUnsupported)),
        (
            &[JSON, ("content-encoding", "gzip"), ("content-encoding", "gzip")],
            Some(Code::EncodingUnsupported),
        ),
        (&[JSON, ("content-length", "1048577")], Some(Code::TooLarge)),
        (&[JSON, ("content-length", "1048576")], None),
    ];
    for (headers, wanted) in table {
        assert_eq!(code(Binding::L8, &head("POST", "/", headers)), *wanted, "{headers:?}");
    }
}

fn admitted(path: &str, headers: &[(&str, &str)], versions: &[Version]) -> Admitted {
    let headers: Vec<_> = [JSON].iter().chain(headers).copied().collect();
    let rules = RouteRules { versions: versions.to_vec(), ..rules(Binding::A2a) };
    match admit(&rules, &head("POST", path, &headers), &Limits::default()) {
        Ok(Arrival::Message(admitted)) => admitted,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_extension_is_seen_among_others_under_the_name_of_either_version() {
    let table = [
        (("a2a-extensions", "https://x.test/ext, urn:contexts:snl:v1.0"), Some(a2a::A2A_EXTENSIONS)),
        (("x-a2a-extensions", "urn:contexts:snl:v1.0"), Some(a2a::X_A2A_EXTENSIONS)),
        (("a2a-extensions", "urn:contexts:snl:v1.1"), None),
    ];
    for (header, wanted) in table {
        assert_eq!(admitted("/", &[header], &[Version::V10]).extension, wanted);
    }
}

#[test]
fn version_header_stripped_is_a_downgrade_and_refused_where_only_1_0_is_taken() {
    let version = |path: &str, headers: &[(&str, &str)], takes: &[Version]| {
        admitted(path, headers, takes).call.map(|call| call.version).map_err(|refusal| refusal.code())
    };
    let one = ("a2a-version", "1.0");
    let (only, both) = (&[Version::V10][..], &[Version::V10, Version::V03][..]);
    assert_eq!(version("/", &[one], only), Ok(Version::V10));
    assert_eq!(version("/?A2A-Version=1.0", &[], only), Ok(Version::V10));
    assert_eq!(version("/?A2A-Version=1.0", &[one], only), Ok(Version::V10));
    assert_eq!(version("/", &[], only), Err(Code::VersionUnsupported));
    assert_eq!(version("/", &[("a2a-version", "")], only), Err(Code::VersionUnsupported));
    assert_eq!(version("/", &[], both), Ok(Version::V03));
    assert_eq!(version("/", &[("a2a-version", "99.0")], both), Err(Code::VersionUnsupported));
    assert_eq!(version("/?A2A-Version=0.3", &[one], both), Err(Code::Malformed));
    assert_eq!(version("/", &[one, one], both), Err(Code::Malformed));
    for two in [[one, ("a2a-version", "")], [("a2a-version", ""), one]] {
        assert_eq!(version("/", &two, both), Err(Code::Malformed), "an empty one is one too");
    }
}
