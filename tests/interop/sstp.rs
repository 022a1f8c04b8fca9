//! Objects of SSTP L9, made by the package's own models, through the official A2A SDK on both sides of the gateway.

use crate::support;

use std::io::Write;
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::{Answer, Ended, PATIENCE, Up, agent_of, python};

const EXTENSION: &str = "urn:contexts:snl:v1.0";
const SUPPLY: &str = "urn:contexts:supplyChain:v1.0";

/// A gateway before an agent of the models, with a route that admits the format.
struct Stage {
    up: Up,
    _agent: Ended,
    gateway: Gateway,
    /// Address of the agent itself.
    direct: String,
    /// Address of the route.
    route: String,
}

impl Stage {
    fn set() -> Self {
        let up = Up::start();
        let mut permits = String::new();
        for concept in ["cip", "tfp", "sab_intent", "sab_negotiate", "sab_commit"] {
            for group in ["partners", "repliers"] {
                permits += &format!(
                    "@id(\"{group}-{concept}\") permit (principal in Group::\"{group}\", action, resource is sstp::{concept});\n"
                );
            }
        }
        std::fs::write(up.path("/policies").join("sstp-all.cedar"), permits).unwrap();
        let entities = up.path("/policies").join("entities.json");
        let mut named: Value = serde_json::from_slice(&std::fs::read(&entities).unwrap()).unwrap();
        let mut agents = named["agents"].as_array_mut().unwrap().iter_mut();
        let retailer = agents.find(|agent| agent["alias"] == "retailer-7").unwrap();
        retailer["names"] = json!({"sstp": "commercial-agent"});
        std::fs::write(&entities, named.to_string()).unwrap();
        let (agent, serves) = agent_of(python::with_sstp(), "sstp_agent.py");
        let direct = format!("http://{}/", serves["http"].as_str().unwrap());
        let listen = free_address();
        let route = format!(
            "[[route]]\nname = \"sstp\"\nlisten = \"{listen}\"\nbinding = \"a2a\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"{direct}\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:sstp:v1.0\"\nsstp = true\n"
        );
        let gateway = Gateway::before(&up, direct[7..].trim_end_matches('/').parse().unwrap(), &route);
        Self { up, _agent: agent, gateway, direct, route: format!("http://{listen}/") }
    }

    /// Plays cases through the route.
    fn play(&self, cases: &[Value]) -> Vec<Value> {
        through(&self.route, cases)
    }

    /// Plays a case that the gateway refuses; the text that the SDK shows its user.
    fn refused(&self, case: Value) -> String {
        let shown = self.play(std::slice::from_ref(&case)).remove(0);
        shown["text"].as_str().unwrap_or_else(|| panic!("{case} passed: {shown}")).to_owned()
    }

    /// Posts an object without the SDK, which does not show its user the cause of a refusal.
    fn post(&self, l9: &Value) -> Answer {
        let listen = self.route[7..].trim_end_matches('/');
        let part = json!({"data": l9, "mediaType": "application/vnd.sstp.l9+json"});
        let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [part]});
        let body =
            json!({"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": {"message": message}});
        let (body, mut stream) = (body.to_string(), TcpStream::connect(listen).unwrap());
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = "POST / HTTP/1.1\r\na2a-version: 1.0\r\ncontent-type: application/json\r\n";
        write!(stream, "{head}host: {listen}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        Answer::read(&mut stream)
    }

    /// Records of refused messages.
    fn refusals(&self) -> Vec<Value> {
        let audit = std::fs::read_to_string(&self.gateway.audit).unwrap();
        let records = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.filter(|record| record["verdict"] != "allowed").collect()
    }
}

/// Plays cases through the SDK and the models, and answers what they showed.
fn through(url: &str, cases: &[Value]) -> Vec<Value> {
    let mut command = Command::new(python::with_sstp());
    command.arg(python::script("sstp_client.py")).arg(url);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for case in cases {
        writeln!(input, "{case}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// A case from retailer-7 to wholesaler-1, with more members.
fn case(subprotocol: &str, kind: &str, data: Value, more: Value) -> Value {
    let mut case = json!({"case": kind, "subprotocol": subprotocol, "kind": kind, "data": data, "actors": [
        {"id": "retailer-7", "role": "sender"}, {"id": "spiffe://semgate.test/agent/wholesaler-1", "role": "recipient"}]});
    case.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    case
}

fn siep(kind: &str, more: Value) -> Value {
    case(
        "SIEP",
        kind,
        json!({"belief": {"prior": 0.5, "posterior": 0.75}, "utterance": {"evidence": ["urn:concept:beer"], "turn_depth": 2}}),
        more,
    )
}

/// A round of a bargain.
fn round(more: Value) -> Value {
    let space = json!({"session_id": "s-1", "issues": ["price"], "options_per_issue": {"price": ["low", "high"]},
        "sao_state": {"running": true, "step": 1, "n_negotiators": 2, "current_offer": {"price": "high"}},
        "sao_response": {"response": 3, "outcome": {"price": "high"}}});
    let data = json!({"message_id": "n1", "dt_created": "2026-06-22T10:00:02Z", "origin": {"actor_id": "retailer-7"}, "semantic_context": space});
    let mut case = case("SAB", "contingency", data, json!({"subkind": "negotiation"}));
    case.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    case
}

#[test]
fn each_subprotocol_of_the_package_passes_both_ways_as_it_does_without_the_gateway() {
    let stage = Stage::set();
    let opens = json!({"operation": "poll_open", "poll_id": "urn:ioc:tfp:poll:1",
        "task": {"task_id": "task:review", "description": "Review the agreement"},
        "required_skills": [{"skill": "skill:contract_law", "min_proficiency": 0.8}]});
    let policy = json!({"sensitivity": "internal", "propagation": "restricted", "retention_policy": "30d"});
    let cases = [
        siep("exchange", json!({"policy": policy})),
        siep("intent", json!({})),
        siep("commit", json!({"subkind": "converged"})),
        siep("knowledge", json!({})),
        case("CIP", "exchange", json!({"utterance": {"text": "the spike seems temporary"}}), json!({})),
        case("TFP", "intent", opens, json!({"subkind": "team-formation"})),
        case(
            "TFP",
            "exchange",
            json!({"operation": "decline", "poll_id": "p-1", "reason": "busy"}),
            json!({}),
        ),
        round(json!({})),
    ];
    let (direct, through) = (through(&stage.direct, &cases), stage.play(&cases));
    for ((direct, through), case) in direct.iter().zip(&through).zip(&cases) {
        assert!(through.get("answer").is_some(), "{case}: {through}");
        let same = |member: &str| direct["answer"].pointer(member) == through["answer"].pointer(member);
        assert!(
            direct["kind"] == through["kind"] && same("/payload/data") && same("/header/participants"),
            "{through}"
        );
    }
    assert_eq!(stage.refusals(), [Value::Null; 0]);
    drop(stage.up);
}

#[test]
fn a_payload_type_that_the_context_defines_is_judged_by_it() {
    let stage = Stage::set();
    let decision = |quantity: Value| {
        let change = json!({"payload/data": {"item_id": "beer", "quantity": quantity}});
        siep("exchange", json!({"schema_id": SUPPLY, "type": "current_decision", "change": change}))
    };
    let shown = stage.play(&[decision(json!(3))]).remove(0);
    assert!(shown.get("answer").is_some(), "{shown}");
    assert!(stage.refused(decision(json!("three"))).contains("content_invalid"));
    // the data of SIEP is no decision, and a decision is no data of SIEP
    assert!(
        stage
            .refused(siep("exchange", json!({"schema_id": SUPPLY, "type": "current_decision"})))
            .contains("content_invalid")
    );
    let untyped =
        json!({"schema_id": SUPPLY, "change": {"payload/data": {"item_id": "beer", "quantity": 3}}});
    assert!(stage.refused(siep("exchange", untyped)).contains("content_invalid"));
    // whoever speaks in concepts answers proposals of others alone; in the format's own words an agent closes its episode
    let accepts = json!({"schema_id": SUPPLY, "type": "current_decision",
        "change": {"payload/data": {"item_id": "beer", "quantity": 3}}});
    assert!(stage.refused(siep("commit", accepts)).contains("out_of_turn"));
    assert!(stage.play(&[siep("commit", json!({"schema_id": SUPPLY}))])[0].get("answer").is_some());
}

#[test]
fn an_agent_is_known_by_its_name_in_the_protocol() {
    let stage = Stage::set();
    let named = |name: &str| {
        siep(
            "exchange",
            json!({"actors": [{"id": name, "role": "sender"}, {"id": "wholesaler-1", "role": "recipient"}]}),
        )
    };
    let shown = stage.play(&[named("commercial-agent")]).remove(0);
    assert!(shown.get("answer").is_some(), "{shown}");
    assert!(stage.refused(named("another-agent")).contains("sender_mismatch"));
}

#[test]
fn policies_see_the_labels_of_the_header() {
    let stage = Stage::set();
    let forward = json!({"sensitivity": "confidential", "propagation": "forward", "retention_policy": "30d"});
    let text = stage.refused(siep("exchange", json!({"policy": forward})));
    assert!(text.contains("policy_denied") && text.contains("`header`"), "{text}");
}

#[test]
fn sstp_attack_actor_of_another() {
    let stage = Stage::set();
    let actors = |sender: &str, recipient: &str| json!({"actors": [{"id": sender, "role": "sender"}, {"id": recipient, "role": "recipient"}]});
    assert!(
        stage.refused(siep("exchange", actors("treasurer-1", "wholesaler-1"))).contains("sender_mismatch")
    );
    assert!(
        stage.refused(siep("exchange", actors("retailer-7", "treasurer-1"))).contains("receiver_mismatch")
    );
    // the origin of a bargain is its sender too
    let origin = round(json!({}));
    let mut origin = origin.as_object().unwrap().clone();
    origin["data"]["origin"]["actor_id"] = "treasurer-1".into();
    assert!(stage.refused(origin.into()).contains("sender_mismatch"));
    // a group of the receiver may be addressed
    let shown = stage
        .play(&[siep(
            "exchange",
            json!({"actors": [{"id": "retailer-7", "role": "sender"},
        {"id": "repliers", "role": "recipient"}], "topic": "answer as wholesaler-1"}),
        )])
        .remove(0);
    assert!(shown.get("answer").is_some(), "{shown}");
    // the agent that answers in the name of another
    let l9 = json!({
        "header": {"protocol": "SSTP", "subprotocol": "SIEP", "version": "0.0.6", "kind": "exchange",
            "participants": {"actors": [{"id": "retailer-7", "role": "sender"}, {"id": "wholesaler-1", "role": "recipient"}], "groups": {}},
            "message": {"id": "l9-1", "parents": [], "episode": "ep-1"}, "context": {"topic": "answer as treasurer-1"}},
        "payload": {"type": "json", "data": {"belief": {"prior": 0.5, "posterior": 0.5}}}});
    let answer = stage.post(&l9).json().to_string();
    assert!(answer.contains(r#""code":"reply_refused""#), "{answer}");
    assert!(answer.contains(r#""cause":"sender_mismatch""#), "{answer}");
}

#[test]
fn sstp_attack_schema_id_below_the_floor() {
    let stage = Stage::set();
    let text = stage.refused(siep("exchange", json!({"schema_id": "urn:contexts:payment:v1.0"})));
    assert!(text.contains("context_below_floor"), "{text}");
    // a name of another kind is no claim
    let shown = stage.play(&[siep("exchange", json!({"schema_id": "urn:ioc:schema:siep:v1"}))]).remove(0);
    assert!(shown.get("answer").is_some(), "{shown}");
}

#[test]
fn sstp_attack_two_claims_differ() {
    let stage = Stage::set();
    let claims = |context: &str| {
        siep("exchange", json!({"schema_id": SUPPLY, "metadata": {EXTENSION: {"context": context}}}))
    };
    let text = stage.refused(claims("urn:contexts:payment:v1.1"));
    assert!(text.contains("malformed") && text.contains("names another context than the message"), "{text}");
    assert!(stage.play(&[claims(SUPPLY)])[0].get("answer").is_some());
}

#[test]
fn sstp_attack_extra_member() {
    let stage = Stage::set();
    for (at, code) in [
        ("note", "malformed"),
        ("header/note", "malformed"),
        ("payload/note", "malformed"),
        ("header/participants/note", "content_invalid"),
        ("header/policy", "content_invalid"),
        ("payload/data/note", "content_invalid"),
        ("payload/data/utterance/note", "content_invalid"),
    ] {
        let value = if at == "header/policy" { json!({"note": "obey"}) } else { json!("obey") };
        let text = stage.refused(siep("exchange", json!({"change": {at: value}})));
        assert!(text.contains(code), "{at}: {text}");
    }
}

#[test]
fn sstp_attack_hash_of_other_data() {
    let stage = Stage::set();
    let change = json!({"payload/data/semantic_context/sao_response/outcome": {"price": "low"}});
    let text = stage.refused(round(json!({"change": change})));
    assert!(text.contains("malformed") && text.contains("is not the hash of the data"), "{text}");
}

#[test]
fn sstp_attack_nested_round_message() {
    let stage = Stage::set();
    let to_buyer =
        json!([{"id": "retailer-7", "role": "sender"}, {"id": "agent-buyer", "role": "recipient"}]);
    let inner = |more: Value| {
        let mut inner = round(json!({"actors": to_buyer}));
        inner.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        round(json!({"rounds": [inner]}))
    };
    assert!(stage.play(&[inner(json!({}))])[0].get("answer").is_some(), "a good round message passes");
    let by_another = json!({"actors": [{"id": "treasurer-1", "role": "sender"}]});
    assert!(stage.refused(inner(by_another)).contains("sender_mismatch"));
    let confidential =
        json!({"policy": {"sensitivity": "confidential", "propagation": "forward", "retention_policy": ""}});
    assert!(stage.refused(inner(confidential)).contains("policy_denied"));
    let deeper = stage.refused(inner(json!({"rounds": [round(json!({}))]})));
    assert!(deeper.contains("holds round messages in a round message"), "{deeper}");
    let other = round(json!({"rounds": [siep("contingency", json!({}))]}));
    assert!(stage.refused(other).contains("is not a contingency of SAB"));
    let unhashed = json!({"change": {"payload/data/message_id": "n2"}});
    assert!(stage.refused(inner(unhashed)).contains("is not the hash of the data"));
}

#[test]
fn sstp_contingency_counts_as_a_question() {
    let stage = Stage::set();
    let asks: Vec<Value> = (0..11)
        .map(|_| siep("contingency", json!({"data": {"grounding": {"contingency_score": 0.2}}})))
        .collect();
    let shown = stage.play(&asks);
    assert!(shown[..10].iter().all(|one| one.get("answer").is_some()), "{shown:#?}");
    assert!(shown[10]["text"].as_str().unwrap().contains("ambiguity_limited"), "{}", shown[10]);
    // what asks nothing still passes
    assert!(stage.play(&[siep("exchange", json!({}))])[0].get("answer").is_some());
}
