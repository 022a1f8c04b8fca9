//! A2A 1.0 over JSON-RPC: refusals in its own protocol, and the card.

use crate::common;

use common::agent::{Act, Agent, answer, ok};
use common::{Answer, Gateway, House, RETAILER, route};
use serde_json::{Value, json};

const EXTENSION: &str = "urn:contexts:snl:v1.0";
const VERSION: &str = "A2A-Version: 1.0\r\n";

fn request() -> Value {
    json!({
        "jsonrpc": "2.0", "id": "r-1", "method": "SendMessage",
        "params": {"message": {
            "messageId": "m-1", "role": "ROLE_USER",
            "parts": [{"data": {"concept_type": "current_decision", "item_id": "sku-1", "quantity": 120.0}}],
            "metadata": {EXTENSION: {"context": "urn:contexts:supplyChain:v1.0"}}
        }}
    })
}

fn reply() -> Value {
    json!({
        "jsonrpc": "2.0", "id": "r-1",
        "result": {"message": {
            "messageId": "m-2", "role": "ROLE_AGENT",
            "parts": [{"data": {"concept_type": "current_decision", "item_id": "sku-1", "quantity": 120}}],
            "metadata": {EXTENSION: {"context": "urn:contexts:supplyChain:v1.0", "performative": "AGREE"}}
        }}
    })
}

fn start(house: &mut House, agent: &Agent) -> Gateway {
    house.remember();
    let upstream = format!("http://127.0.0.1:{}/a2a", agent.port);
    let route = route("a2a", "a2a", &upstream, &format!("plain_sender = \"{RETAILER}\""));
    Gateway::start(house.config(&route, ""))
}

fn post(gateway: &Gateway, headers: &str, body: &Value) -> Answer {
    gateway.post("a2a", headers, body.to_string().as_bytes())
}

#[test]
fn a_message_passes_with_the_headers_of_the_binding_and_no_other() {
    let (mut house, body) = (House::new(), reply().to_string());
    let agent = Agent::start(move |_| {
        Act::Say(answer(
            "200 OK",
            &format!("Content-Type: application/json\r\nA2A-Extensions: {EXTENSION}\r\nX-Y: z\r\n"),
            body.as_bytes(),
        ))
    });
    let gateway = start(&mut house, &agent);
    let headers = format!("{VERSION}A2A-Extensions: https://other.test/x, {EXTENSION}\r\nTraceparent: x\r\n");
    let answer = post(&gateway, &headers, &request());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json(), reply());
    assert_eq!(answer.header("a2a-extensions"), Some(EXTENSION));
    assert!(answer.header("x-y").is_none());
    let seen = &agent.seen()[0];
    assert!(seen.head.starts_with("POST /a2a HTTP/1.1"));
    assert_eq!(seen.header("a2a-version").unwrap(), "1.0");
    assert_eq!(seen.header("a2a-extensions").unwrap(), EXTENSION);
    assert!(seen.header("traceparent").is_none());
}

#[test]
fn refusals_are_json_rpc_errors_with_the_problem_document() {
    let mut house = House::new();
    let agent = Agent::saying(&reply());
    let gateway = start(&mut house, &agent);
    let mut mood = request();
    mood["params"]["message"]["parts"][0]["data"]["concept_type"] = "my_mood".into();
    let mut method = request();
    method["method"] = "DoWhatIWant".into();
    let mut unknown = request();
    unknown["params"]["message"]["metadata"][EXTENSION]["context"] = "urn:contexts:supplyChain:v7.0".into();
    let table = [
        (VERSION, mood, -32012, "concept_undefined"),
        (VERSION, unknown, -32011, "context_unknown"),
        (VERSION, method, -32601, "method_unsupported"),
        ("", request(), -32009, "version_unsupported"),
        ("A2A-Version: 0.3\r\n", request(), -32009, "version_unsupported"),
    ];
    for (headers, body, number, code) in table {
        let answer = post(&gateway, headers, &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        let json = answer.json();
        assert_eq!(json["id"], "r-1");
        assert_eq!(json["error"]["code"], number, "{json}");
        assert!(json["error"]["message"].as_str().unwrap().starts_with(code), "{json}");
        assert_eq!(json["error"]["data"][0]["code"], code);
        assert_eq!(json["error"]["data"][0]["decision_id"], answer.header("semgate-decision").unwrap());
    }
    // no id that could be repeated, and yet JSON-RPC: its own numbers say what is wrong
    let mut null = request();
    null["id"] = Value::Null;
    let answer = post(&gateway, VERSION, &null);
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (200, &(-32600).into()));
    assert_eq!(answer.json()["id"], Value::Null);
    let answer = gateway.post("a2a", VERSION, b"{");
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (200, &(-32700).into()));
    assert!(agent.seen().is_empty());
}

#[test]
fn what_the_agent_says_wrongly_is_refused_with_the_requests_id() {
    let mut house = House::new();
    let error = json!({"jsonrpc": "2.0", "id": "r-1", "error": {"code": -32603, "message": "secret stack"}});
    let agent = Agent::saying(&error);
    let gateway = start(&mut house, &agent);
    let answer = post(&gateway, VERSION, &request());
    assert_eq!(answer.status, 200);
    let json = answer.json();
    assert_eq!(json["id"], "r-1");
    assert_eq!(
        json["error"]["code"], -32603,
        "the number is the protocol's, the text is not the agent's: {json}"
    );
    assert_eq!(json["error"]["data"][0]["delivered"], "yes");
    assert!(!answer.body.contains("secret"));
}

#[test]
fn the_card_is_the_gateways_own_and_asked_for_at_most_now_and_then() {
    let mut house = House::new();
    let agent = Agent::start(|seen| {
        assert!(seen.head.starts_with("GET /.well-known/agent-card.json HTTP/1.1"), "{}", seen.head);
        Act::Say(ok(br#"{"name":"Wholesaler","url":"http://inside:1/","capabilities":{"streaming":true},"signatures":[{}]}"#))
    });
    let gateway = start(&mut house, &agent);
    for _ in 0..20 {
        let text = gateway.raw(
            "a2a",
            b"GET /.well-known/agent-card.json HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n",
        );
        let answer = Answer::parse(&text);
        assert_eq!(answer.status, 200, "{answer:?}");
        let card = answer.json();
        assert_eq!(card["name"], "wholesaler-1", "prose of the agent does not pass");
        assert_eq!(card["supportedInterfaces"][0]["url"], gateway.bound.routes[0].url);
        assert_eq!(card["capabilities"]["streaming"], true);
        assert!(
            !answer.body.contains("inside")
                && !answer.body.contains("evil")
                && !answer.body.contains("signatures")
        );
        assert!(answer.header("semgate-decision").is_some());
    }
    let seen = agent.seen();
    assert!(seen.len() <= 2, "once a core: {}", seen.len());
    assert_eq!(seen[0].header("semgate-sender"), None);
    common::wait("a record for each", || house.audit().len() == 20);
    assert_eq!(house.audit()[0]["concepts"], json!(["GetAgentCard"]));
}

#[test]
fn a_card_is_served_on_a_route_that_takes_0_3_alone_and_says_where_it_is() {
    let mut house = House::new();
    house.remember();
    let agent = Agent::start(|_| Act::Say(ok(br#"{"name":"Wholesaler","capabilities":{"streaming":true}}"#)));
    let upstream = format!("http://127.0.0.1:{}/a2a", agent.port);
    let more = format!("plain_sender = \"{RETAILER}\"\nversions = [\"0.3\"]");
    let gateway = Gateway::start(house.config(&route("a2a", "a2a", &upstream, &more), ""));
    let get = b"GET /.well-known/agent-card.json HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n";
    let answer = Answer::parse(&gateway.raw("a2a", get));
    let card = answer.json();
    assert_eq!((answer.status, &card["url"]), (200, &gateway.bound.routes[0].url.clone().into()), "{card}");
    assert_eq!((&card["protocolVersion"], &card["preferredTransport"]), (&"0.3.0".into(), &"JSONRPC".into()));
}

#[test]
fn whom_no_policy_permits_gets_no_card() {
    let mut house = House::new();
    let agent = Agent::start(|_| Act::Say(ok(b"{}")));
    house.remember();
    let upstream = format!("http://127.0.0.1:{}/a2a", agent.port);
    let stranger = "plain_sender = \"spiffe://semgate.test/agent/nobody\"";
    let gateway = Gateway::start(house.config(&route("a2a", "a2a", &upstream, stranger), ""));
    let get = b"GET /.well-known/agent-card.json HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n";
    let answer = Answer::parse(&gateway.raw("a2a", get));
    assert_eq!(answer.problem(), (403, "policy_denied".to_owned()));
    assert!(agent.seen().is_empty());
}

#[test]
fn a_push_configuration_is_refused_as_the_protocol_says_where_none_is_carried_whosever_task_it_names() {
    let mut house = House::new();
    let agent = Agent::saying(&reply());
    let gateway = start(&mut house, &agent);
    for (method, params) in [
        ("GetTaskPushNotificationConfig", json!({"taskId": "nobodys", "id": "c"})),
        ("ListTaskPushNotificationConfigs", json!({"taskId": "nobodys"})),
        ("DeleteTaskPushNotificationConfig", json!({"taskId": "nobodys", "id": "c"})),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = post(&gateway, VERSION, &body).json();
        assert_eq!(answer["error"]["code"], -32003, "{method}: {answer}");
    }
    assert!(agent.seen().is_empty());
}

#[test]
fn attack_the_tasks_of_anothers_conversation_are_asked_of_the_agent() {
    let mut house = House::new();
    // an agent that answers with what no gateway hands on, wherever there is something
    let agent =
        Agent::start(|_| Act::Say(answer("500 Oh", "Content-Type: text/plain\r\n", b"c-1 is another's")));
    let gateway = start(&mut house, &agent);
    let list = json!({"jsonrpc": "2.0", "id": "l-1", "method": "ListTasks", "params": {"contextId": "c-1", "pageSize": 7}});
    let listed = post(&gateway, VERSION, &list);
    let empty = json!({"tasks": [], "nextPageToken": "", "pageSize": 7, "totalSize": 0});
    assert_eq!(listed.json(), json!({"jsonrpc": "2.0", "id": "l-1", "result": empty}), "{listed:?}");
    assert_eq!(listed.header("semgate-said-by"), Some("gateway"));
    assert!(agent.seen().is_empty());
    let all = json!({"jsonrpc": "2.0", "id": "l-2", "method": "ListTasks", "params": {}});
    assert_eq!(post(&gateway, VERSION, &all).status, 200);
    assert_eq!(agent.seen().len(), 1, "what may hold one's own is asked for");
}

#[test]
fn a_list_that_the_gateway_answers_refuses_what_an_agent_refuses() {
    let mut house = House::new();
    let agent = Agent::saying(&reply());
    house.remember();
    let more = format!("plain_sender = \"{RETAILER}\"\ntransports = [\"jsonrpc\", \"rest\"]");
    let route = route("a2a", "a2a", &format!("http://127.0.0.1:{}/a2a", agent.port), &more);
    let gateway = Gateway::start(house.config(&route, ""));
    let rest = |query: &str| {
        let head = format!("GET /tasks?contextId=c-1&{query} HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n");
        Answer::parse(&gateway.raw("a2a", format!("{head}{VERSION}\r\n").as_bytes()))
    };
    for (member, value, what) in [
        ("pageSize", json!(-1), "is not between 1 and 100"),
        ("pageSize", json!(0), "is not between 1 and 100"),
        ("pageSize", json!(1000), "is not between 1 and 100"),
        ("historyLength", json!(-5), "is below 0"),
        ("statusTimestampAfter", json!("2026-02-30T00:00:00Z"), "is not a valid date and time"),
    ] {
        let list = json!({"jsonrpc": "2.0", "id": "l-1", "method": "ListTasks", "params": {"contextId": "c-1", member: value}});
        let told = post(&gateway, VERSION, &list).json();
        assert_eq!(told["error"]["code"], -32602, "{member} {value}: {told}");
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let refused = rest(&format!("{member}={text}"));
        assert_eq!(refused.status, 400, "{member} {value}: {refused:?}");
        assert_eq!(refused.json()["error"]["status"], "INVALID_ARGUMENT");
        for (said, place) in [(told.to_string(), "/params"), (refused.body.clone(), "")] {
            assert!(said.contains(&format!("`{place}/{member}` {what}")), "{said}");
        }
    }
    for query in ["pageSize=1", "pageSize=100&historyLength=0&statusTimestampAfter=2028-02-29T23:59:59Z"] {
        let listed = rest(query);
        assert_eq!((listed.status, &listed.json()["tasks"]), (200, &json!([])), "{query}: {listed:?}");
        // as A2A 1.0.0 has it, and every refusal of this transport
        assert_eq!(listed.header("content-type"), Some("application/json"));
    }
    assert!(agent.seen().is_empty());
}

#[test]
fn a_card_that_the_caller_has_is_not_sent_again() {
    let mut house = House::new();
    let agent = Agent::start(|_| Act::Say(ok(br#"{"name":"Wholesaler"}"#)));
    let gateway = start(&mut house, &agent);
    let get = |more: &str| {
        let head = "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n";
        Answer::parse(&gateway.raw("a2a", format!("{head}{more}\r\n").as_bytes()))
    };
    let tag = get("");
    let tag = tag.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    // the answer's head is in lower case here, and the tag is not
    let first = gateway
        .raw("a2a", b"GET /.well-known/agent-card.json HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n");
    let exact = first.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    assert!(exact.eq_ignore_ascii_case(&tag));
    let again = get(&format!("If-None-Match: {exact}\r\n"));
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    assert_eq!(get("If-None-Match: \"other\"\r\n").status, 200);
}

#[test]
fn the_head_of_the_card_is_that_of_get_without_a_body() {
    let mut house = House::new();
    let agent = Agent::start(|_| Act::Say(ok(br#"{"name":"Wholesaler"}"#)));
    let gateway = start(&mut house, &agent);
    let ask = |method: &str| {
        let head = " /.well-known/agent-card.json HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n";
        Answer::parse(&gateway.raw("a2a", format!("{method}{head}").as_bytes()))
    };
    let (whole, head) = (ask("GET"), ask("HEAD"));
    assert_eq!((whole.status, head.status), (200, 200));
    assert!(!whole.body.is_empty() && head.body.is_empty(), "{}", head.body);
    for name in ["content-type", "etag", "cache-control", "content-length"] {
        let of = |answer: &Answer| {
            let line = answer.head.lines().find(|line| line.starts_with(&format!("{name}: ")));
            line.map(str::to_owned)
        };
        assert!(of(&whole).is_some(), "{name}");
        assert_eq!(of(&whole), of(&head), "{name}");
    }
}

#[test]
fn a_credential_reaches_the_agent_where_the_route_says_so_and_no_record_or_card_holds_it() {
    let mut house = House::new();
    house.remember();
    let agent = Agent::saying(&reply());
    let upstream = format!("http://127.0.0.1:{}/a2a", agent.port);
    let more = format!(
        "plain_sender = \"{RETAILER}\"\nforward_authorization = true\napi_key_header = \"x-api-key\""
    );
    let gateway = Gateway::start(house.config(&route("a2a", "a2a", &upstream, &more), ""));
    let secrets = "Authorization: Bearer s3cr3t-1\r\nX-Api-Key: s3cr3t-2\r\n";
    let others = "Proxy-Authorization: Basic s3cr3t-3\r\nX-Other-Key: s3cr3t-4\r\n";
    let answer = post(&gateway, &format!("{VERSION}{secrets}{others}"), &request());
    assert_eq!(answer.json(), reply());
    let seen = &agent.seen()[0];
    assert_eq!(seen.header("authorization").unwrap(), "Bearer s3cr3t-1");
    assert_eq!(seen.header("x-api-key").unwrap(), "s3cr3t-2");
    assert!(!seen.head.contains("s3cr3t-3") && !seen.head.contains("s3cr3t-4"), "{}", seen.head);
    // shown twice, nobody knows which of them the agent reads
    let twice = post(&gateway, &format!("{VERSION}{secrets}Authorization: Bearer x\r\n"), &request());
    assert!(twice.body.contains("a credential is shown twice"), "{twice:?}");
    assert_eq!(agent.seen().len(), 1);
    drop(gateway);
    assert!(!common::read(&house.path("audit.jsonl")).contains("s3cr3t"));
}

/// A card that a key of its own signed (A2A 1.0 §8.4), and the list of that key.
fn signed(card: &Value) -> (Value, Value) {
    use base64::Engine;
    use ring::signature::{Ed25519KeyPair, KeyPair};
    let text = |bytes: &[u8]| base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let protected = text(br#"{"alg":"EdDSA","kid":"k-1","typ":"JOSE"}"#);
    let payload = text(&semgate_contexts::canonical::jcs(card).unwrap());
    let signature = text(pair.sign(format!("{protected}.{payload}").as_bytes()).as_ref());
    let mut signed = card.clone();
    signed["signatures"] = json!([{"protected": protected, "signature": signature}]);
    let key = json!({"kty": "OKP", "crv": "Ed25519", "kid": "k-1", "x": text(pair.public_key().as_ref())});
    (signed, json!({"keys": [key]}))
}

#[test]
fn bug_an_untouched_extended_card_lost_its_signature_over_json_rpc_and_passed_without_one() {
    let card = |name: &str, says: &str| {
        json!({
            "name": name, "description": says, "version": "1",
            "supportedInterfaces": [{"url": "http://inside:1/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {"extendedAgentCard": true}, "defaultInputModes": ["application/json"],
            "defaultOutputModes": ["application/json"],
            "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"]}]
        })
    };
    let (good, keys) = signed(&card("Wholesaler", "speaks urn:contexts:payment:v1.1"));
    let mut changed = good.clone();
    changed["name"] = "evil".into();
    let (quiet, _) = signed(&card("Wholesaler", "orders"));
    for (served, extended, public) in [
        (&good, true, Some("the agent's card cannot be shown")),
        (&quiet, true, None),
        (&changed, false, Some("the agent's card has no signature by a known key")),
        (&card("Wholesaler", "unsigned"), false, Some("the agent's card has no signature by a known key")),
    ] {
        let (mut house, says) = (House::new(), served.clone());
        house.remember();
        let agent = Agent::start(move |seen| {
            let answer = match serde_json::from_slice::<Value>(&seen.body) {
                Ok(asked) => json!({"jsonrpc": "2.0", "id": asked["id"], "result": says}),
                Err(_) => says.clone(),
            };
            Act::Say(ok(answer.to_string().as_bytes()))
        });
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), keys.to_string()).unwrap();
        let more = format!(
            "plain_sender = \"{RETAILER}\"\ntransports = [\"jsonrpc\", \"rest\"]\ncard = \"untouched\"\ncard_keys = \"{}\"",
            file.path().display()
        );
        let upstream = format!("http://127.0.0.1:{}/a2a", agent.port);
        let gateway = Gateway::start(house.config(&route("a2a", "a2a", &upstream, &more), ""));
        let get = |path: &str| {
            let head = format!("GET {path} HTTP/1.1\r\nHost: gw\r\n{VERSION}Connection: close\r\n\r\n");
            Answer::parse(&gateway.raw("a2a", head.as_bytes()))
        };
        let asked = json!({"jsonrpc": "2.0", "id": 7, "method": "GetExtendedAgentCard", "params": {}});
        let (rpc, rest) = (post(&gateway, VERSION, &asked), get("/extendedAgentCard"));
        if extended {
            assert_eq!(rpc.body, json!({"jsonrpc": "2.0", "id": 7, "result": served}).to_string());
            assert_eq!(rest.body, served.to_string());
        } else {
            let told = "upstream_invalid: the agent's card has no signature by a known key";
            assert_eq!(rpc.json()["error"]["message"], told, "{rpc:?}");
            assert_eq!((rpc.status, &rpc.json()["id"]), (200, &json!(7)));
            assert_eq!(rest.json()["error"]["message"], told, "{rest:?}");
            assert!(rest.status >= 500, "{rest:?}");
            let refused = |house: &House| {
                house.audit().iter().filter(|line| line["code"] == "upstream_invalid").count()
            };
            common::wait("both are recorded as refused", || refused(&house) >= 2);
        }
        let shown = get("/.well-known/agent-card.json");
        match public {
            None => assert_eq!(shown.body, served.to_string()),
            Some(why) => assert!(shown.status >= 500 && shown.body.contains(why), "{shown:?}"),
        }
        assert!(!shown.body.contains("urn:contexts:payment"), "{shown:?}");
    }
}
