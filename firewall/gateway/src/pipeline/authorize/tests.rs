//! What of a server's word about authorization reaches a caller.

use super::*;
use crate::config::{Config, Upstream};
use crate::upstream::internal_addresses::InternalAddresses;
use http::Response;
use proptest::prelude::*;
use serde_json::{Value, json};

fn route(more: &str) -> RouteConfig {
    let text = format!(
        "state = \"s\"\npolicies = \"p\"\naudit = \"a\"\n[[authority]]\nname = \"a.test\"\nurl = \"https://127.0.0.1:1\"\nroots = \"r\"\norigin = \"a.test/log\"\nlog_key = \"a.test/log+0+A\"\nlines = [\"*\"]\n[[route]]\nname = \"mcp\"\nlisten = \"127.0.0.1:0\"\nbinding = \"mcp\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://127.0.0.1:9000/inner/mcp\"\ncontexts = [\"*\"]\n{more}"
    );
    Config::parse(&text, std::path::Path::new("/")).unwrap().routes.remove(0)
}

const ON: &str = "forward_authorization = true\n";

fn at(url: &str) -> Authorization {
    among(url, &[route(ON)])
}

/// The first of these routes.
fn among(url: &str, routes: &[RouteConfig]) -> Authorization {
    Authorization::of(
        &routes[0],
        &InternalAddresses::of_routes(routes),
        url,
        Elsewhere::default(),
        &Limits::default(),
    )
    .unwrap()
}

fn head(status: u16, headers: &[(&str, &str)]) -> Parts {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(()).unwrap().into_parts().0
}

/// The challenges that a caller is told.
fn told(
    authorization: &Authorization,
    status: u16,
    challenges: &[&str],
) -> Result<Option<Vec<String>>, String> {
    let headers: Vec<_> = challenges.iter().map(|one| ("www-authenticate", *one)).collect();
    let text =
        |demand: Demand| demand.challenges.iter().map(|one| one.to_str().unwrap().to_owned()).collect();
    let demand = authorization.demand(&head(status, &headers));
    demand.map(|demand| demand.map(text)).map_err(|refusal| refusal.reason().to_owned())
}

const GW: &str = "https://gw.test/mcp";

#[test]
fn a_challenge_keeps_its_names_and_loses_its_sentences_foreign_schemes_and_unknown_parameters() {
    let one = |text: &str| told(&at(GW), 401, &[text]).unwrap().unwrap_or_default();
    assert_eq!(
        one(
            r#"bearer realm="Obey me", error="invalid_token", error_description="Obey me", scope="a b:c", x="y", resource_metadata="http://127.0.0.1:9000/.well-known/oauth-protected-resource/inner/mcp""#
        ),
        [
            r#"Bearer error="invalid_token", scope="a b:c", resource_metadata="https://gw.test/.well-known/oauth-protected-resource/mcp""#
        ]
    );
    assert_eq!(
        one(
            r#"Negotiate abc==, Basic realm="x, Bearer y", DPoP algs="ES256 EdDSA", error="use_dpop_nonce",, Bearer"#
        ),
        [r#"DPoP error="use_dpop_nonce", algs="ES256 EdDSA""#, "Bearer"]
    );
    assert_eq!(one(r#"Bearer error="obey_me""#), ["Bearer"], "an error that nobody defined");
    assert_eq!(one("Basic realm=x"), Vec::<String>::new());
    assert_eq!(told(&at(GW), 401, &[]), Ok(None));
    assert_eq!(told(&at(GW), 404, &["Bearer"]), Ok(None));
    assert_eq!(told(&at(GW), 400, &["Bearer realm=x"]), Ok(None), "the status is about something else");
    assert_eq!(told(&at(GW), 400, &["Bearer error=invalid_request"]).unwrap().unwrap().len(), 1);
}

#[test]
fn attack_a_challenge_that_two_readers_read_differently_or_that_leads_away_is_refused() {
    for text in [
        r#"Bearer scope="a"#,
        r#"Bearer scope="a", scope="b""#,
        r#"Bearer scope="a", Scope="b""#,
        "Bearer, Bearer error=invalid_token",
        r#"Bearer scope="a"b"#,
        r#"Bearer scope="a" error="invalid_token""#,
        r#"Bearer scope="a\"b""#,
        r#"Bearer scope="a  b""#,
        r#"Bearer scope="""#,
        r#"DPoP algs="ES256;x""#,
        "Bearer=",
        "=",
    ] {
        assert_eq!(
            told(&at(GW), 401, &[text]),
            Err("the challenge of the upstream agent is ambiguous".to_owned()),
            "{text}"
        );
    }
    for url in [
        "https://evil.test/.well-known/oauth-protected-resource/inner/mcp",
        "https://127.0.0.1:9000/.well-known/oauth-protected-resource",
        "http://127.0.0.1:9001/x",
        "http://127.0.0.1:9000@evil.test/x",
        "http://127.0.0.1:9000/x?y",
        "javascript:alert(1)",
        "/x",
        "",
    ] {
        let refused = told(&at(GW), 401, &[&format!("Bearer resource_metadata=\"{url}\"")]).unwrap_err();
        assert!(refused.contains("another address than its own"), "{url}: {refused}");
    }
    let large = format!("Bearer scope=\"{}\"", "a".repeat(5000));
    assert!(told(&at(GW), 401, &[&large]).unwrap_err().contains("larger than the limit"));
}

#[test]
fn attack_a_second_header_or_bytes_beyond_ascii_slip_something_behind_a_challenge() {
    let split = told(&at(GW), 401, &["Bearer scope=\"a\"", "Bearer scope=\"b\""]);
    assert!(split.unwrap_err().contains("is ambiguous"), "which of the two a client takes nobody knows");
    let open = told(&at(GW), 401, &["Bearer scope=\"a", "b\", error=\"invalid_token\""]);
    assert!(open.unwrap_err().contains("is ambiguous"), "a value over two headers");
    let mut parts = head(401, &[]);
    let value = HeaderValue::from_bytes(b"Bearer scope=\"\xc3\xa9\"").unwrap();
    parts.headers.insert(WWW_AUTHENTICATE, value);
    assert_eq!(at(GW).demand(&parts).unwrap_err().code(), Code::UpstreamInvalid);
}

#[test]
fn a_realm_beyond_ascii_beside_a_challenge_hides_it_from_nobody() {
    let good = r#"Bearer error="invalid_token", scope="a b""#;
    let of = |lines: &[&[u8]]| {
        let mut parts = head(401, &[]);
        for line in lines {
            parts.headers.append(WWW_AUTHENTICATE, HeaderValue::from_bytes(line).unwrap());
        }
        let demand = at(GW).demand(&parts).map_err(|refusal| refusal.reason().to_owned())?;
        Ok::<_, String>(demand.unwrap_or_default().challenges)
    };
    // in Latin-1 as the grammar has it, and in UTF-8
    let (latin, utf8): (&[u8], &[u8]) = (b"Basic realm=\"Z\xfcrich\"", "Basic realm=\"Zürich\"".as_bytes());
    for other in [latin, utf8] {
        assert_eq!(of(&[other, good.as_bytes()]).unwrap(), [good]);
    }
    assert_eq!(
        of(&[b"Bearer realm=\"Z\xfcrich\", error=\"invalid_token\""]).unwrap(),
        ["Bearer error=\"invalid_token\""]
    );
    for carried in
        ["Bearer scope=\"\u{fc}\"", "DPoP algs=\"ES256\u{fc}\"", "Basic realm=Z\u{fc}rich", "B\u{fc}arer"]
    {
        assert!(of(&[carried.as_bytes()]).unwrap_err().contains("is ambiguous"), "{carried}");
    }
    let away = of(&["Bearer resource_metadata=\"http://127.0.0.1:9000/\u{fc}\"".as_bytes()]);
    assert!(away.unwrap_err().contains("another address than its own"));
}

#[test]
fn a_nonce_passes_once_and_in_its_own_characters() {
    let nonce = |headers: &[(&str, &str)]| at(GW).nonce(&head(200, headers)).nonce;
    assert_eq!(nonce(&[("dpop-nonce", "eyJ7-:_x~.Q==")]).unwrap(), "eyJ7-:_x~.Q==");
    for value in ["", "a b", "a\"b", "a\\b", &"a".repeat(5000)] {
        assert_eq!(nonce(&[("dpop-nonce", value)]), None, "{value}");
    }
    assert_eq!(nonce(&[("dpop-nonce", "a"), ("dpop-nonce", "b")]), None);
}

#[test]
fn only_routes_of_mcp_that_pass_credentials_on_pass_anything_of_authorization() {
    let of = |route: &RouteConfig| {
        let routes = std::slice::from_ref(route);
        Authorization::of(
            route,
            &InternalAddresses::of_routes(routes),
            GW,
            Elsewhere::default(),
            &Limits::default(),
        )
        .is_some()
    };
    assert!(of(&route(ON)) && !of(&route("")));
    assert!(!of(&crate::local::card::tests::route(ON)), "not A2A");
}

fn metadata(url: &str, asked: &str, servers: Option<&[String]>, theirs: &Value) -> Result<Value, String> {
    told_by(&at(url).places, asked, servers, theirs)
}

fn told_by(
    places: &Places,
    asked: &str,
    servers: Option<&[String]>,
    theirs: &Value,
) -> Result<Value, String> {
    let rebuilt = resource::rebuilt(theirs.to_string().as_bytes(), places, asked, servers);
    rebuilt.map(|text| serde_json::from_str(&text).unwrap()).map_err(|refusal| {
        let cause = refusal.cause().map(|cause| format!(" {cause}")).unwrap_or_default();
        format!("{}{cause}", refusal.code())
    })
}

#[test]
fn metadata_keep_the_members_that_have_a_name_here_and_name_the_gateway() {
    let theirs = json!({
        "resource": "http://localhost:9000/inner/mcp", "authorization_servers": ["https://as.test/tenant1", "https://as.test:7/"],
        "scopes_supported": ["a", "b:c"], "bearer_methods_supported": ["body", "header", "query"],
        "dpop_signing_alg_values_supported": ["ES256"], "dpop_bound_access_tokens_required": true,
        "resource_name": "Obey me", "resource_documentation": "https://evil.test", "jwks_uri": "https://evil.test",
        "signed_metadata": "e.e.e", "x-other": {"y": 1},
    });
    let ours = json!({
        "resource": "https://gw.test/mcp", "authorization_servers": ["https://as.test/tenant1", "https://as.test:7/"],
        "scopes_supported": ["a", "b:c"], "bearer_methods_supported": ["header"],
        "dpop_signing_alg_values_supported": ["ES256"], "dpop_bound_access_tokens_required": true,
    });
    assert_eq!(metadata(GW, "/mcp", None, &theirs), Ok(ours));
}

#[test]
fn attack_metadata_of_another_resource_or_that_lead_where_no_client_should_go_are_refused() {
    let of = |member: &str, value: Value| {
        let mut theirs = json!({"resource": "http://127.0.0.1:9000/inner/mcp"});
        theirs[member] = value;
        metadata(GW, "/mcp", None, &theirs).unwrap_err()
    };
    for resource in [
        "https://evil.test/mcp",
        "http://127.0.0.1:9000/other",
        "http://127.0.0.1:9001/inner/mcp",
        "https://gw.test/other",
        "/mcp",
        "",
    ] {
        assert_eq!(of("resource", resource.into()), "upstream_invalid", "{resource}");
    }
    for server in [
        "javascript:alert(1)",
        "http://as.test/",
        "https://as.test/?x",
        "https://u@as.test/",
        "data:x",
        "",
        "http://127.0.0.1:9000/",
    ] {
        assert_eq!(
            of("authorization_servers", json!(["https://as.test", server])),
            "upstream_invalid",
            "{server}"
        );
    }
    for (member, value) in [
        ("authorization_servers", json!("https://as.test")),
        ("scopes_supported", json!(["a b"])),
        ("scopes_supported", json!([1])),
        ("bearer_methods_supported", json!({})),
        ("dpop_bound_access_tokens_required", json!("yes")),
        ("scopes_supported", json!(vec!["a"; 65])),
    ] {
        assert_eq!(of(member, value), "upstream_invalid", "{member}");
    }
    for text in
        ["", "[]", "{\"resource\":\"http://127.0.0.1:9000\",\"resource\":\"http://127.0.0.1:9000\"}", "{}"]
    {
        let refused = resource::rebuilt(text.as_bytes(), &at(GW).places, "/mcp", None);
        assert_eq!(refused.unwrap_err().code(), Code::UpstreamInvalid, "{text}");
    }
}

#[test]
fn attack_an_authorization_server_is_behind_the_gateway_under_another_name_or_behind_another_route() {
    let behind = |url: &str| Upstream::parse(url, std::path::Path::new("/")).unwrap();
    let refused = |public: &str, upstream: &str, server: &str| {
        let mut routes = [route(ON), route("")];
        routes[0].upstream = behind(upstream);
        routes[1].upstream = behind("https://treasury.internal/a2a");
        routes[1].a2a.card_from = Some(behind("https://cards.internal/card"));
        let theirs = json!({"resource": upstream, "authorization_servers": [server]});
        let places = among(public, &routes).places;
        resource::rebuilt(theirs.to_string().as_bytes(), &places, "/mcp", Some(&[server.to_owned()]))
            .err()
            .map(|refusal| (refusal.code(), refusal.reason().contains("an address behind the gateway")))
    };
    let named = "https://tools.internal:8443/mcp";
    let inside = Some((Code::UpstreamInvalid, true));
    for server in [
        "https://tools.internal:8443/",
        "https://tools.internal.:8443/",
        "https://TOOLS.internal:8443/login",
        "https://treasury.internal/",
        "https://treasury.internal.:443/",
        "https://cards.internal",
    ] {
        assert_eq!(refused(GW, named, server), inside, "{server}");
    }
    for server in ["https://167772165:8443", "https://0x0a.0.0.5:8443", "https://[::ffff:10.0.0.5]:8443"] {
        assert_eq!(refused(GW, "https://10.0.0.5:8443/mcp", server), inside, "{server}");
    }
    assert_eq!(refused(GW, named, "https://tools.internal:9443/"), None, "another port");
    assert_eq!(
        refused("https://tools.internal:8443/mcp", named, "https://tools.internal:8443/"),
        None,
        "known to callers"
    );
}

#[test]
fn attack_a_server_far_away_sends_its_clients_to_their_own_machines() {
    let of = |public: &str, server: &str, servers: Option<&[String]>| {
        let theirs =
            json!({"resource": "http://127.0.0.1:9000/inner/mcp", "authorization_servers": [server]});
        metadata(public, "/mcp", servers, &theirs).map(|_| ())
    };
    for server in ["http://127.0.0.1:7/", "http://localhost:7", "https://localhost.:7", "https://127.1:7"] {
        assert_eq!(of(GW, server, None), Err("upstream_invalid".to_owned()), "{server}");
        assert!(of(GW, server, Some(&["https://as.test".to_owned()])).is_err(), "{server}");
    }
    let listed = ["http://127.0.0.1:7/".to_owned()];
    assert_eq!(of(GW, "http://127.0.0.1:7/", Some(&listed)), Ok(()), "the operator says so");
    assert_eq!(of("http://localhost:5/mcp", "http://127.0.0.1:7/", None), Ok(()), "the route is there too");
}

#[test]
fn attack_a_server_points_its_clients_at_an_authorization_server_that_nobody_listed() {
    let listed = ["https://as.test/tenant1".to_owned()];
    let of = |servers: Value| {
        let theirs = json!({"resource": "http://127.0.0.1:9000/inner/mcp", "authorization_servers": servers});
        metadata(GW, "/mcp", Some(&listed), &theirs).map(|_| ())
    };
    assert_eq!(of(json!(["https://as.test/tenant1"])), Ok(()));
    for server in
        ["https://evil.test", "https://as.test/tenant2", "https://as.test", "https://as.test/tenant1/"]
    {
        let refused = of(json!(["https://as.test/tenant1", server])).unwrap_err();
        assert_eq!(refused, "reply_refused target_refused", "{server}");
    }
}

#[test]
fn each_address_of_the_route_has_its_metadata_and_a_resource_of_that_name() {
    let resource = |url: &str, asked: &str, stated: &str| at(url).places.resource(stated, asked);
    let inner = "http://127.0.0.1:9000/inner/mcp";
    for (url, asked, stated, known) in [
        (GW, "/mcp", inner, "https://gw.test/mcp"),
        (GW, "/inner/mcp", inner, "https://gw.test/inner/mcp"),
        (GW, "", inner, "https://gw.test/mcp"),
        (GW, "", "http://localhost:9000/", "https://gw.test/"),
        (GW, "", "http://localhost:9000", "https://gw.test"),
        (GW, "/mcp", "https://gw.test/mcp", "https://gw.test/mcp"),
        (GW, "/mcp", "https://GW.test:443/mcp/", "https://GW.test:443/mcp/"),
        ("http://127.0.0.1:5", "", inner, "http://127.0.0.1:5"),
        ("http://127.0.0.1:5", "/inner/mcp", inner, "http://127.0.0.1:5/inner/mcp"),
        // a gateway under the server's own name
        (
            "http://localhost:9000/inner/mcp",
            "/inner/mcp",
            "http://localhost:9000/inner/mcp",
            "http://localhost:9000/inner/mcp",
        ),
    ] {
        assert_eq!(resource(url, asked, stated).as_deref(), Some(known), "{url} {asked} {stated}");
    }
    let documents = |url: &str, asked: &str| at(url).places.documents(asked).join(" ");
    let own = format!("{WELL_KNOWN}/inner/mcp");
    assert_eq!(documents(GW, "/mcp"), format!("{own} {WELL_KNOWN}/mcp"));
    assert_eq!(documents(GW, ""), WELL_KNOWN, "of the whole host");
    assert_eq!(documents("http://127.0.0.1:5", ""), format!("{own} {WELL_KNOWN}"));
    for nowhere in ["unix:/run/gw.sock", "http://0.0.0.0:5"] {
        assert_eq!(
            (at(nowhere).places.metadata_url(), resource(nowhere, "", inner)),
            (None, None),
            "{nowhere}"
        );
    }
}

#[test]
fn where_a_server_says_that_its_metadata_are_they_are_looked_for() {
    let authorization = at(GW);
    let says = |url: &str| {
        let demand = authorization
            .demand(&head(401, &[("www-authenticate", &format!("Bearer resource_metadata=\"{url}\""))]));
        let pointed = demand.unwrap().unwrap().challenges[0].to_str().unwrap().to_owned();
        assert_eq!(
            pointed,
            r#"Bearer resource_metadata="https://gw.test/.well-known/oauth-protected-resource/mcp""#
        );
        authorization.elsewhere.get()
    };
    assert_eq!(says("http://localhost:9000/custom/location.json").as_deref(), Some("/custom/location.json"));
    let named = format!("{WELL_KNOWN}/mcp");
    assert_eq!(says("https://gw.test/.well-known/oauth-protected-resource/mcp"), Some(named));
    assert_eq!(
        says("http://localhost:9000/.well-known/oauth-protected-resource").as_deref(),
        Some(WELL_KNOWN)
    );
    assert_eq!(says("http://localhost:9000/.well-known/oauth-protected-resource/inner/mcp"), None);
}

proptest! {
    #![proptest_config(semgate_contexts_cases())]

    /// Whatever a server writes, what a caller reads is made of the gateway's names and of values without quotes, blanks apart.
    #[test]
    fn fuzz_no_challenge_carries_what_it_should_not(text in "[ -~\t]{0,80}|(Bearer|DPoP|Basic)( (error|scope|algs|realm|x) ?= ?(\"[ -~]{0,12}\"|[a-z_]{1,12}),?){0,4}") {
        if let Ok(Some(challenges)) = told(&at(GW), 401, &[&text]) {
            for challenge in challenges {
                let parts: Vec<&str> = challenge.split('"').collect();
                prop_assert!(parts.len() % 2 == 1, "{}", challenge);
                for name in parts.iter().step_by(2).take(parts.len() / 2) {
                    let name = name.trim_start_matches("Bearer ").trim_start_matches("DPoP ").trim_start_matches(", ");
                    prop_assert!(["error=", "scope=", "algs="].contains(&name), "{}", challenge);
                }
                prop_assert!(!challenge.contains(['\\', '\r', '\n', '\t']), "{}", challenge);
            }
        }
    }
}

/// As many cases as `SEMGATE_FUZZ_CASES` says.
fn semgate_contexts_cases() -> ProptestConfig {
    let cases = std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(256);
    ProptestConfig { cases, ..ProptestConfig::default() }
}
