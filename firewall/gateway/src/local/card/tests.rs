//! Nothing of the agent's card passes that has no name here.

use super::*;
use crate::config::RouteConfig;
use crate::upstream::internal_addresses::InternalAddresses;
use serde_json::{Value, json};

pub(crate) fn route(more: &str) -> RouteConfig {
    let text = format!(
        "state = \"s\"\npolicies = \"p\"\naudit = \"a\"\n[[authority]]\nname = \"a.test\"\nurl = \"https://127.0.0.1:1\"\nroots = \"r\"\norigin = \"a.test/log\"\nlog_key = \"a.test/log+0+A\"\nlines = [\"*\"]\n[[route]]\nname = \"a2a\"\nlisten = \"127.0.0.1:0\"\nbinding = \"a2a\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://127.0.0.1:1/a2a\"\ncontexts = [\"*\"]\n{more}"
    );
    crate::config::Config::parse(&text, std::path::Path::new("/")).unwrap().routes.remove(0)
}

/// What the gateway says of this route and no other.
pub(super) fn says(more: &str) -> Says {
    let routes = [route(more)];
    Says::new(
        &routes[0],
        &InternalAddresses::of_routes(&routes),
        "https://gw.test:1/".into(),
        "urn:contexts:snl:v1.0".into(),
    )
}

/// The card of such a route.
pub(super) fn ours(says: Says, keys: Option<KeysNow>) -> Card {
    Card::new(says, None, keys)
}

pub(super) fn built(more: &str, theirs: Option<&str>) -> Value {
    let card = ours(says(more), None);
    serde_json::from_slice(&card.build(theirs.map(str::as_bytes)).unwrap()).unwrap()
}

fn card(theirs: Option<&str>) -> Value {
    built("", theirs)
}

#[test]
fn each_transport_and_version_has_an_interface_and_0_3_its_own_members() {
    let more = "versions = [\"1.0\", \"0.3\"]\ntransports = [\"jsonrpc\", \"rest\", \"grpc\"]\nupstream_http2 = true\nadmit = [\"text\"]\ndefault_context = \"urn:contexts:a2a:v1.0\"";
    let theirs = r#"{"capabilities":{"streaming":true,"pushNotifications":true},"defaultInputModes":["text/plain","a b"]}"#;
    let card = built(more, Some(theirs));
    let all: Vec<String> = card["supportedInterfaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| format!("{} {} {}", i["url"], i["protocolBinding"], i["protocolVersion"]).replace('"', ""))
        .collect();
    assert_eq!(
        all,
        [
            "https://gw.test:1/ JSONRPC 1.0",
            "https://gw.test:1/ JSONRPC 0.3",
            "https://gw.test:1/ HTTP+JSON 1.0",
            "gw.test:1 GRPC 1.0"
        ]
    );
    assert_eq!(
        (&card["url"], &card["preferredTransport"]),
        (&"https://gw.test:1/".into(), &"JSONRPC".into())
    );
    assert_eq!(card["protocolVersion"], "0.3.0");
    assert_eq!(
        (&card["capabilities"]["streaming"], &card["capabilities"]["pushNotifications"]),
        (&true.into(), &false.into())
    );
    assert_eq!(card["defaultInputModes"], json!(["text/plain"]));
    assert_eq!(card["capabilities"]["extensions"][0]["required"], false);
    assert!(card_has_no_urn_but_the_extension(&card));
}

/// F0-47: which contexts an agent speaks is nobody's business before it is asked.
fn card_has_no_urn_but_the_extension(card: &Value) -> bool {
    card.to_string().matches("urn:contexts:").count() == 1
}

#[test]
fn an_extended_card_is_rebuilt_within_its_answer() {
    let says = says(TEXTS);
    let card = ours(says, None);
    let reply =
        r#"{"jsonrpc":"2.0","id":7,"result":{"name":"Inner","url":"http://inside:1/","signatures":[{}]}}"#;
    let body = card.extended(reply.as_bytes(), Form::JsonRpc, Some(&RpcId::Integer(7))).unwrap().unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&body["id"], &body["result"]["name"]), (&7.into(), &"Inner".into()));
    assert!(!body.to_string().contains("inside") && !body.to_string().contains("signatures"));
}

#[test]
fn a_route_that_requires_locks_said_that_the_extension_is_a_choice() {
    let locks = "require_lock = true\nhandshake = { certificate = \"a.pem\", key = \"a.key\" }";
    let default = "default_context = \"urn:contexts:travel:v2.1\"";
    for (more, required) in [
        (String::new(), true),
        (default.to_owned(), false),
        (locks.to_owned(), true),
        (format!("{default}\n{locks}"), true),
        (format!("admit = [\"text\"]\n{default}\n{locks}"), true),
        // a message that names no context is refused there, whatever is in it
        ("admit = [\"text\", \"file\", \"data\"]".to_owned(), true),
        (format!("admit = [\"text\"]\n{default}"), false),
    ] {
        let domain = "[[trust_domain]]\nname = \"semgate.test\"\nroots = \"r\"";
        let card = Value::Object(says(&format!("{more}\n{domain}")).card(None));
        assert_eq!(card["capabilities"]["extensions"][0]["required"], required, "{more}");
    }
}

#[test]
fn the_bare_card_has_every_required_member() {
    for theirs in [None, Some("not json"), Some("[]"), Some("{\"name\":\"a\",\"name\":\"b\"}")] {
        let card = card(theirs);
        assert_eq!(card["name"], "wholesaler-1");
        for member in
            ["description", "version", "capabilities", "defaultInputModes", "defaultOutputModes", "skills"]
        {
            assert!(card.get(member).is_some(), "{member}");
        }
    }
}

#[test]
fn addresses_capabilities_and_signatures_are_the_gateways() {
    let card = built(
        TEXTS,
        Some(
            r#"{"name":"Wholesaler","url":"http://inside:1/","supportedInterfaces":[{"url":"http://inside:1/","tenant":"x"}],
        "capabilities":{"streaming":true,"pushNotifications":true,"extensions":[{"uri":"https://evil.test"}]},
        "securitySchemes":{"b":{}},"signatures":[{"protected":"x","signature":"y"}],"x-other":1,"iconUrl":"http://inside/i",
        "skills":[{"id":"s","name":"S","description":"d","tags":["t","\u0000"],"examples":["e"]},{"id":"half"},7],
        "provider":{"organization":"Acme","url":"https://acme.test"}}"#,
        ),
    );
    assert_eq!(card["name"], "Wholesaler");
    assert_eq!(card["capabilities"]["extensions"][0]["params"], json!({"card_texts": "not inspected"}));
    let interfaces =
        json!([{"url":"https://gw.test:1/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]);
    assert_eq!(card["supportedInterfaces"], interfaces);
    assert_eq!(card["capabilities"]["streaming"], true, "streams are carried");
    assert_eq!(card["capabilities"]["pushNotifications"], false);
    assert_eq!(card["capabilities"]["extensions"][0]["uri"], "urn:contexts:snl:v1.0");
    assert_eq!(
        card["skills"],
        json!([
            {"id":"s","name":"S","description":"d","tags":["t"],"examples":["e"]},
            {"id":"half","name":"half","description":"A skill of this agent","tags":[]},
        ])
    );
    assert_eq!(card["provider"]["organization"], "Acme");
    let text = card.to_string();
    for gone in ["inside", "evil", "signatures", "securitySchemes", "x-other", "tenant"] {
        assert!(!text.contains(gone), "{gone}");
    }
}

const TEXTS: &str = "card_texts = true";

#[test]
fn prose_of_the_agent_passes_only_where_the_route_says_so() {
    let prose = "call http://127.0.0.1:1/, as urn:contexts:travel:v2.1 says";
    let theirs = json!({
        "name": prose, "description": prose, "version": prose, "provider": {"organization": prose, "url": "https://acme.test/"},
        "skills": [
            {"id": "s", "name": prose, "description": prose, "tags": [prose], "examples": [prose]},
            {"id": prose, "name": "T", "description": "d", "tags": []},
        ],
        "securitySchemes": {"b": {"type": "oauth2", "description": prose, "flows": {
            "clientCredentials": {"tokenUrl": "https://as.test/t", "scopes": {"read": prose}}}}},
        "security": [{"b": ["read"]}],
    });
    let card = built("forward_authorization = true", Some(&theirs.to_string()));
    assert!(!card.to_string().contains("127.0.0.1") && card_has_no_urn_but_the_extension(&card), "{card}");
    assert_eq!((&card["name"], &card["version"]), (&"wholesaler-1".into(), &"1.0".into()));
    assert_eq!(card["description"], "An agent behind Semgate");
    assert_eq!(
        card["skills"],
        json!([{"id": "s", "name": "s", "description": "A skill of this agent", "tags": []}])
    );
    assert_eq!(card.get("provider"), None);
    let flows = json!({"clientCredentials": {"tokenUrl": "https://as.test/t", "scopes": {"read": ""}}});
    assert_eq!(card["securitySchemes"], json!({"b": {"type": "oauth2", "flows": flows}}));
    assert_eq!(card["security"], json!([{"b": ["read"]}]));
    assert_eq!(card["capabilities"]["extensions"][0].get("params"), None);

    let open = built(&format!("{TEXTS}\nforward_authorization = true"), Some(&theirs.to_string()));
    assert_eq!((&open["name"], &open["description"]), (&prose.into(), &prose.into()));
    assert_eq!((&open["version"], &open["skills"][0]["tags"]), (&"1.0".into(), &json!([prose])));
    assert_eq!(open["skills"].as_array().unwrap().len(), 1, "an id is no prose");
}

#[test]
fn no_url_behind_the_gateway_passes() {
    let theirs = json!({
        "documentationUrl": "http://127.0.0.1:1/docs", "iconUrl": "http://127.0.0.1:1/icon",
        "provider": {"organization": "Acme", "url": "http://127.0.0.1:1/a2a"},
        "securitySchemes": {
            "inside": {"type": "openIdConnect", "openIdConnectUrl": "http://127.0.0.1:1/.well-known/openid-configuration"},
            "outside": {"type": "openIdConnect", "openIdConnectUrl": "https://as.test/.well-known/openid-configuration"}},
        "security": [{"inside": []}, {"outside": []}],
    });
    let card = built(&format!("{SHOWN}\n{TEXTS}"), Some(&theirs.to_string()));
    assert!(!card.to_string().contains("127.0.0.1:1"), "{card}");
    assert_eq!(card["provider"], json!({"organization": "Acme", "url": "https://gw.test:1/"}));
    assert_eq!(card["security"], json!([{"outside": []}]), "and what needs the scheme that is gone");
    let other = json!({"provider": {"organization": "Acme", "url": "https://acme.test/"}});
    assert_eq!(built(TEXTS, Some(&other.to_string()))["provider"]["url"], "https://acme.test/");
    let apart = built(
        &format!("{TEXTS}\ncard_from = \"http://127.0.0.1:2/card\""),
        Some(r#"{"provider":{"organization":"A","url":"http://127.0.0.1:2/"}}"#),
    );
    assert_eq!(apart["provider"]["url"], "https://gw.test:1/", "where the card is fetched is behind as well");
}

#[test]
fn attack_a_card_leads_to_the_agent_behind_another_route() {
    let mut routes = [route(TEXTS), route("")];
    routes[1].upstream =
        crate::config::Upstream::parse("https://treasury.internal/a2a", std::path::Path::new("/")).unwrap();
    let says = Says::new(
        &routes[0],
        &InternalAddresses::of_routes(&routes),
        "https://gw.test:1/".into(),
        "urn:contexts:snl:v1.0".into(),
    );
    let theirs = json!({"provider": {"organization": "A", "url": "https://Treasury.Internal./"}});
    let card = ours(says, None).build(Some(theirs.to_string().as_bytes())).unwrap();
    let card: Value = serde_json::from_slice(&card).unwrap();
    assert_eq!(card["provider"]["url"], "https://gw.test:1/");
}

#[test]
fn long_and_unprintable_texts_are_left_out() {
    let long = "a".repeat(2049);
    let card = |theirs: &str| built(TEXTS, Some(theirs));
    assert_eq!(card(&format!("{{\"name\":\"{long}\"}}"))["name"], "wholesaler-1");
    // F0-34: what a reader of the card would not see: a terminal's escape, an override of direction, tag characters
    for hidden in ["a\u{1b}[2J", "a\u{202e}b", "a\u{e0041}"] {
        let served = json!({"name": hidden}).to_string();
        assert_eq!(card(&served)["name"], "wholesaler-1", "{hidden:?}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        cases: std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256),
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn fuzz_whatever_the_agent_serves_the_card_is_ours(at in 0_usize..200, byte: u8, cut in 0_usize..200) {
        let mut theirs = br#"{"name":"W","version":"1","url":"http://inside:1/","skills":[{"id":"s","name":"S","description":"d","tags":["t"]}],"provider":{"organization":"A","url":"u"}}"#.to_vec();
        if let Some(slot) = theirs.get_mut(at) { *slot = byte; }
        theirs.truncate(cut.max(1));
        let says = says("");
        let built: Value = serde_json::from_slice(&ours(says, None).build(Some(&theirs)).unwrap()).unwrap();
        proptest::prop_assert_eq!(&built["supportedInterfaces"][0]["url"], "https://gw.test:1/");
        proptest::prop_assert!(!built.to_string().contains("inside"));
    }
}

pub(super) const SHOWN: &str = "forward_authorization = true\napi_key_header = \"X-Api-Key\"";

#[test]
fn schemes_of_0_3_stay_where_the_route_passes_on_what_they_ask_for_and_nowhere_else() {
    let theirs = json!({
        "name": "W",
        "securitySchemes": {
            "bearer": {"type": "http", "scheme": "bearer", "description": "d", "x-other": 1},
            "oauth2": {"type": "oauth2", "oauth2MetadataUrl": "https://as.test/.well-known", "flows": {
                "authorizationCode": {"authorizationUrl": "https://as.test/a", "tokenUrl": "https://as.test/t", "scopes": {"read": "r"}, "x": 1},
                "own": {"tokenUrl": "https://as.test/t"}}},
            "key": {"type": "apiKey", "in": "header", "name": "X-API-KEY"},
            "other": {"type": "apiKey", "in": "header", "name": "X-Other"},
            "query": {"type": "apiKey", "in": "query", "name": "X-Api-Key"},
            "mtls": {"type": "mutualTLS"}, "odd": {"type": "odd"}, "none": 7
        },
        "security": [{"bearer": []}, {"oauth2": ["read"], "key": []}, {"mtls": []}, {}]
    });
    let card = built(&format!("{SHOWN}\n{TEXTS}"), Some(&theirs.to_string()));
    assert_eq!(
        card["securitySchemes"],
        json!({
            "bearer": {"type": "http", "scheme": "bearer", "description": "d"},
            "oauth2": {"type": "oauth2", "oauth2MetadataUrl": "https://as.test/.well-known", "flows": {
                "authorizationCode": {"authorizationUrl": "https://as.test/a", "tokenUrl": "https://as.test/t", "scopes": {"read": "r"}}}},
            "key": {"type": "apiKey", "in": "header", "name": "X-API-KEY"}
        })
    );
    assert_eq!(card["security"], json!([{"bearer": []}, {"oauth2": ["read"], "key": []}, {}]));
    // a route that passes on nothing tells of none, and one with a key alone of that alone
    let card = built("", Some(&theirs.to_string()));
    assert!(card.get("securitySchemes").is_none() && card.get("security").is_none());
    let card = built("api_key_header = \"x-other\"", Some(&theirs.to_string()));
    let kept: Vec<&str> = card["securitySchemes"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!((kept, &card["security"]), (vec!["other"], &json!([{}])));
}

#[test]
fn schemes_of_1_0_stay_in_their_own_shape() {
    let theirs = json!({
        "securitySchemes": {
            "b": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
            "o": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://as.test/"}},
            "m": {"mtlsSecurityScheme": {}},
            "two": {"httpAuthSecurityScheme": {"scheme": "Basic"}, "mtlsSecurityScheme": {}}
        },
        "securityRequirements": [{"schemes": {"b": {"list": ["read"]}}}, {"schemes": {"m": {"list": []}}}]
    });
    let card = built(SHOWN, Some(&theirs.to_string()));
    assert_eq!(
        card["securitySchemes"],
        json!({
            "b": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
            "o": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://as.test/"}}
        })
    );
    assert_eq!(card["securityRequirements"], json!([{"schemes": {"b": {"list": ["read"]}}}]));
}
