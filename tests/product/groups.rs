//! Groups through the running gateway: one message for every member, and their answers together (F0-13, F0-14).

use crate::support;

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address};
use support::otlp::Receiver;
use support::{Answer, PATIENCE, Up, wait_for};

const GROUP: &str = "wholesalers";

fn id(name: &str) -> String {
    format!("spiffe://semgate.test/agent/{name}")
}

fn decision(performative: &str, (from, to): (&str, &str)) -> String {
    json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": performative, "sender_id": from, "receiver_id": to,
        "context": "urn:contexts:supplyChain:v1.0",
        "content": {"concept": "current_decision", "item_id": "beer", "quantity": 2}})
    .to_string()
}

fn transfer(urn: &str, performative: &str, (from, to): (&str, &str)) -> String {
    json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": performative, "sender_id": from, "receiver_id": to, "context": urn,
        "content": {"concept": "transfer", "sender_id": "a", "receiver_id": "b", "amount": 5, "currency": "EUR"}})
    .to_string()
}

/// Makes `wholesaler-1` to `wholesaler-3` known, the first `members` of them in the group.
fn enrol(up: &Up, members: usize) {
    let path = up.path("/policies").join("entities.json");
    let mut entities: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    entities["groups"].as_array_mut().unwrap().push(json!(GROUP));
    let agents = entities["agents"].as_array_mut().unwrap();
    agents.retain(|agent| agent["alias"] != "wholesaler-1");
    for n in 1..=3 {
        let mut groups = vec!["repliers"];
        if n <= members {
            groups.push(GROUP);
        }
        let name = format!("wholesaler-{n}");
        agents.push(json!({"id": id(&name), "alias": name, "groups": groups, "credentials": ["high-value-authorized"]}));
    }
    std::fs::write(path, entities.to_string()).unwrap();
}

/// A gateway with a route to each of these agents, and one to the group of them.
fn before(up: &Up, agents: &[(&Scripted, &str)], more: &str) -> (Gateway, SocketAddr) {
    let agents: Vec<_> = agents.iter().map(|(agent, contexts)| (*agent, *contexts, "")).collect();
    before_each(up, &agents, more)
}

/// The same, with more in the configuration of each.
fn before_each(up: &Up, agents: &[(&Scripted, &str, &str)], more: &str) -> (Gateway, SocketAddr) {
    let at = |first: u16, n: usize| SocketAddr::from(([127, 0, 0, 1], first + 2 * u16::try_from(n).unwrap()));
    let free = |first: &u16| (0..=agents.len()).all(|n| TcpListener::bind(at(*first, n)).is_ok());
    let first = std::iter::repeat_with(|| free_address().port() + 3).find(free).unwrap();
    let address = |n: usize| at(first, n);
    let sender = id("retailer-7");
    let mut routes = String::new();
    for (n, (agent, contexts, own)) in agents.iter().enumerate() {
        let (name, listen) = (format!("wholesaler-{}", n + 1), address(n + 1));
        routes.push_str(&format!(
            "[[route]]\nname = \"{name}\"\nlisten = \"{listen}\"\nbinding = \"l8\"\nplain_sender = \"{sender}\"\nreceiver = \"{}\"\nupstream = \"http://{}/l8\"\ncontexts = [\"{contexts}\"]\n{own}\n\n",
            id(&name), agent.address
        ));
    }
    let members: Vec<String> = (1..=agents.len()).map(|n| format!("wholesaler-{n}")).collect();
    let open = address(0);
    routes.push_str(&format!(
        "[[route]]\nname = \"group\"\nlisten = \"{open}\"\nbinding = \"l8\"\nplain_sender = \"{sender}\"\ngroup = \"{GROUP}\"\nmembers = {members:?}\ncontexts = [\"payment\", \"supplyChain\", \"travel\"]\n{more}\n"
    ));
    (Gateway::before(up, agents[0].0.address, &routes), open)
}

fn post(to: SocketAddr, body: &str) -> Answer {
    post_with(to, "", body)
}

fn post_with(to: SocketAddr, headers: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("POST / HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\n");
    write!(stream, "{head}content-length: {}\r\n{headers}\r\n{body}", body.len()).unwrap();
    Answer::read(&mut stream)
}

/// A reply with a blank in front, which passes as it is.
fn reply(n: usize) -> String {
    let from = format!("wholesaler-{n}");
    decision("INFORM", (&from, "retailer-7")).replacen('{', "{ ", 1)
}

fn codes(json: &Value) -> Vec<(String, String)> {
    let missing = json["missing"].as_array().unwrap_or_else(|| panic!("{json}"));
    let text = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
    missing.iter().map(|one| (text(one, "receiver"), text(one, "code"))).collect()
}

#[test]
fn what_a_message_to_a_group_spends_is_told_to_who_spends_it() {
    let up = Up::start();
    enrol(&up, 2);
    let limits = r#"{"budgets": [{"name": "asks", "limit": "10/hour", "of": [{"line": "supplyChain"}], "groups": ["partners"]}]}"#;
    std::fs::write(up.path("/policies").join("limits.json"), limits).unwrap();
    let (first, second) = (Scripted::saying(reply(1)), Scripted::saying(reply(2)));
    let (_gateway, open) = before(&up, &[(&first, "*"), (&second, "*")], "");
    let asked = decision("QUERY", ("retailer-7", GROUP));
    // each member is a message of its own
    for left in [8, 6, 4, 2, 0] {
        let answer = post(open, &asked);
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        let told = (answer.header("ratelimit-policy").unwrap(), answer.header("ratelimit").unwrap());
        assert_eq!(told.0, r#""asks";q=10;w=3600"#);
        assert!(told.1.starts_with(&format!(r#""asks";r={left};t="#)), "{}", told.1);
    }
    let answer = post(open, &asked);
    assert_eq!((answer.status, answer.code().as_str()), (429, "rate_limited"));
    assert!(answer.header("ratelimit").unwrap().starts_with(r#""asks";r=0;t="#), "{}", answer.head);
}

#[test]
fn f0_13_replies_of_many_are_judged_one_by_one_and_gathered_within_a_number_and_a_time() {
    let up = Up::start();
    enrol(&up, 3);
    let good = Scripted::saying(reply(1));
    let silent = Scripted::answering(Vec::new());
    // it answers as if it were another member
    let liar = Scripted::saying(reply(1));
    let agents = [(&good, "*"), (&silent, "*"), (&liar, "*")];
    let (gateway, open) = before(&up, &agents, "reply_time = \"2s\"");
    let began = Instant::now();
    let asked = decision("QUERY", ("retailer-7", GROUP));
    let answer = post(open, &asked);
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    assert!(began.elapsed() < Duration::from_secs(20), "the bound of the group, and not that of one agent");
    let text = String::from_utf8(answer.body.clone()).unwrap();
    assert!(text.contains(&reply(1)), "byte for byte: {text}");
    let json = answer.json();
    assert_eq!(json["replies"].as_array().unwrap().len(), 1, "{json}");
    assert_eq!(json["replies"][0]["sender_id"], "wholesaler-1");
    let wanted = [
        (id("wholesaler-2"), "upstream_timeout".to_owned()),
        (id("wholesaler-3"), "reply_refused".to_owned()),
    ];
    assert_eq!(codes(&json), wanted);
    assert_eq!(json["missing"][1]["cause"], "sender_mismatch");
    let decision_id = answer.header("semgate-decision").unwrap();
    wait_for("a record of each question and of what became of it", || {
        let text = std::fs::read_to_string(&gateway.audit).unwrap();
        let all: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mine: Vec<&Value> = all.iter().filter(|record| record["decision_id"] == decision_id).collect();
        let verdicts = |direction: &str, verdict: &str| {
            mine.iter().filter(|r| r["direction"] == direction && r["verdict"] == verdict).count()
        };
        let requests = verdicts("request", "allowed");
        let replies =
            (verdicts("reply", "allowed"), verdicts("reply", "refused"), verdicts("reply", "abandoned"));
        (requests == 3 && replies == (1, 1, 1)).then_some(())
    });
    drop(gateway);

    let (_gateway, open) = before(&up, &agents[..2], "max_replies = 1\nreply_time = \"60s\"");
    let json = post(open, &asked).json();
    assert_eq!(json["replies"].as_array().unwrap().len(), 1, "{json}");
    assert_eq!(json["unheard"], json!([id("wholesaler-2")]), "one was enough: {json}");
}

#[test]
fn f0_14_only_members_that_speak_what_the_floor_asks_for_hear_what_is_said_to_the_group() {
    let up = Up::start();
    enrol(&up, 2);
    let urn = "urn:contexts:payment:v1.1";
    let paid = |n: usize| transfer(urn, "AGREE", (&format!("wholesaler-{n}"), "retailer-7"));
    let (first, old, stranger) =
        (Scripted::saying(paid(1)), Scripted::saying(paid(2)), Scripted::saying(paid(3)));
    let (gateway, open) = before(&up, &[(&first, "*"), (&old, "payment:v1.0"), (&stranger, "*")], "");
    let json = post(open, &transfer(urn, "REQUEST", ("retailer-7", GROUP))).json();
    assert_eq!(json["replies"][0]["sender_id"], "wholesaler-1", "{json}");
    let wanted = [
        (id("wholesaler-2"), "context_below_floor".to_owned()),
        (id("wholesaler-3"), "receiver_mismatch".to_owned()),
    ];
    assert_eq!(codes(&json), wanted, "below the floor of the line, and no member");
    assert_eq!((first.received(), old.received(), stranger.received()), (1, 0, 0));

    for (message, code) in [
        (transfer(urn, "REQUEST", ("retailer-7", "wholesaler-1")), "receiver_mismatch"),
        (transfer("urn:contexts:payment:v1.0", "REQUEST", ("retailer-7", GROUP)), "context_below_floor"),
        (decision("INFORM", ("treasurer-1", GROUP)), "sender_mismatch"),
        (decision("INFORM", ("retailer-7", GROUP)).replace("beer", "no beer"), "content_invalid"),
        (transfer(urn, "REQUEST", ("retailer-7", GROUP)).replace('5', "50000"), "policy_denied"),
    ] {
        let refused = post(open, &message);
        assert_eq!(refused.code(), code, "nobody may hear it, so it is refused as to one");
    }
    assert_eq!(first.received(), 1);
    drop(gateway);

    let known = std::fs::read_to_string(up.path("/firewall_config")).unwrap();
    let path = up.dir.join("groups.toml");
    let check = |more: &str| {
        std::fs::write(&path, format!("{known}\n{more}")).unwrap();
        let output = up_check(&path);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let route = |more: &str| {
        format!(
            "[[route]]\nname = \"g\"\nlisten = \"127.0.0.1:1\"\nbinding = \"l8\"\ncontexts = [\"*\"]\ngroup = \"{GROUP}\"\n{more}\n"
        )
    };
    assert!(check(&route("members = [\"l8\"]")).0, "{}", check(&route("members = [\"l8\"]")).1);
    for (more, what) in [
        ("members = [\"nobody\"]", "members"),
        ("members = [\"a2a\"]", "members"),
        ("members = [\"l8\", \"l8\"]", "members"),
        ("", "members"),
        ("members = [\"l8\"]\nmax_replies = 0", "max_replies"),
        ("members = [\"l8\"]\nrequire_lock = true", "require_lock` must be left out of a route to a group"),
        ("members = [\"l8\"]\nreceiver = \"spiffe://semgate.test/agent/x\"", "group"),
    ] {
        let (good, said) = check(&route(more));
        assert!(!good && said.contains(what), "{more}: {said}");
    }
}

#[test]
fn a_lock_and_a_handshake_are_held_with_a_member_and_a_group_says_so() {
    let up = Up::start();
    enrol(&up, 2);
    let (open, locked) = (Scripted::saying(reply(1)), Scripted::saying(reply(2)));
    let agents = [(&open, "*", ""), (&locked, "*", "require_lock = true")];
    let (_gateway, group) = before_each(&up, &agents, "");
    let json = post(group, &decision("QUERY", ("retailer-7", GROUP))).json();
    assert_eq!(codes(&json), [(id("wholesaler-2"), "lock_mismatch".to_owned())], "{json}");
    assert_eq!((open.received(), locked.received()), (1, 0));
    let hello = decision("REQUEST", ("retailer-7", GROUP)).replace("current_decision", "HELLO");
    let refused = post(group, &hello);
    assert_eq!(refused.code(), "content_uninspectable");
    let told = refused.json();
    assert!(told["hint"].as_str().unwrap().starts_with("open the handshake with a member"), "{told}");
}

#[test]
fn a_question_to_a_group_cost_members_an_inference_whose_routes_answer_it_from_the_code_list() {
    let up = Up::start();
    enrol(&up, 2);
    let answer = json!({"protocol": "L8/1.0", "message_id": "a-2", "performative": "INFORM", "sender_id": "wholesaler-2",
        "receiver_id": "retailer-7", "context": "urn:contexts:travel:v2.1",
        "content": {"concept": "parameter_options", "parameter": "dest_code", "options": ["JFK"]}});
    let (listed, own) = (Scripted::saying(reply(1)), Scripted::saying(answer.to_string()));
    let agents = [(&listed, "*", "answer_from_code_lists = true"), (&own, "*", "")];
    let (_gateway, group) = before_each(&up, &agents, "");
    let question = json!({"protocol": "L8/1.0", "message_id": "q-1", "performative": "QUERY", "sender_id": "retailer-7",
        "receiver_id": GROUP, "context": "urn:contexts:travel:v2.1",
        "content": {"concept": "ambiguous_parameter", "parameter": "dest_code", "value": "New York"}});
    let told = post(group, &question.to_string()).json();
    assert_eq!(told["said_by_gateway"], json!([id("wholesaler-1")]), "{told}");
    let replies = told["replies"].as_array().unwrap_or_else(|| panic!("{told}"));
    assert_eq!(replies.len(), 2, "{told}");
    assert!(replies[0]["content"]["options"].as_array().unwrap().contains(&json!("LGA")), "{told}");
    assert_eq!(replies[1], answer, "the other's are its own words");
    assert_eq!((listed.received(), own.received()), (0, 1));
}

#[test]
fn a_credential_shown_to_a_group_reaches_those_members_whose_own_routes_pass_it_on_and_no_other() {
    let up = Up::start();
    enrol(&up, 2);
    let (trusted, other) = (Scripted::saying(reply(1)), Scripted::saying(reply(2)));
    let passes_on = "forward_authorization = true";
    let agents = [(&trusted, "*", passes_on), (&other, "*", "")];
    let (_gateway, open) = before_each(&up, &agents, passes_on);
    let asked = decision("QUERY", ("retailer-7", GROUP));
    let json = post_with(open, "authorization: Bearer s3cret\r\n", &asked).json();
    assert_eq!(json["replies"].as_array().unwrap().len(), 2, "{json}");
    let shown = |agent: &Scripted| agent.heads().iter().any(|head| head.contains("s3cret"));
    assert_eq!((shown(&trusted), shown(&other)), (true, false), "{:?}", other.heads());
}

#[test]
fn attack_an_accept_to_a_group_that_names_the_proposal_of_one_member_takes_up_those_of_all() {
    let up = Up::start();
    enrol(&up, 2);
    let proposal = |n: usize| {
        let from = format!("wholesaler-{n}");
        decision("PROPOSE", (&from, "retailer-7")).replace("m-1", &format!("p-{n}"))
    };
    let (first, second) = (Scripted::saying(proposal(1)), Scripted::saying(proposal(2)));
    let (_gateway, open) = before(&up, &[(&first, "*"), (&second, "*")], "");
    let asked = post(open, &decision("QUERY", ("retailer-7", GROUP)));
    assert_eq!(asked.json()["replies"].as_array().unwrap().len(), 2, "{}", asked.json());
    let accept = |to: &str| decision("ACCEPT", ("retailer-7", to)).replace("m-1", "re-p-1");
    let refused = post(open, &accept(GROUP));
    assert_eq!((refused.status, refused.code().as_str()), (409, "out_of_turn"));
    let told = refused.json();
    assert!(told["hint"].as_str().unwrap().contains("to the member that made the proposal"), "{told}");
    assert_eq!(told["delivered"], "no");
    assert_eq!((first.received(), second.received()), (1, 1), "neither heard of it");
    // it is still open, and the other member's is not touched
    let direct = SocketAddr::from(([127, 0, 0, 1], open.port() + 2));
    let passed = post(direct, &accept("wholesaler-1"));
    assert_eq!(passed.status, 200, "{}", passed.json());
}

fn up_check(path: &std::path::Path) -> std::process::Output {
    let mut command = std::process::Command::new(support::SEMGATE);
    command.args(["firewall", "check", "--config"]).arg(path).output().unwrap()
}

#[test]
fn each_member_of_a_group_is_a_part_of_the_callers_trace() {
    let up = Up::start();
    enrol(&up, 2);
    let receiver = Receiver::start();
    let (first, second) = (Scripted::saying(reply(1)), Scripted::saying(reply(2)));
    let (_gateway, open) = before(&up, &[(&first, "*"), (&second, "*")], &receiver.settings("0"));
    let parent = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
    let answer = post_with(open, parent, &decision("INFORM", ("retailer-7", GROUP)));
    assert_eq!(answer.status, 200, "{:?}", answer.json());
    let spans = receiver.wait("two spans for each member", |spans| spans.len() >= 4);
    let ids = |of: fn(&support::otlp::Seen) -> Vec<u8>| spans.iter().map(of).collect::<BTreeSet<_>>().len();
    assert_eq!(
        (spans.len(), ids(|seen| seen.span.span_id.clone()), ids(|seen| seen.span.trace_id.clone())),
        (4, 4, 1)
    );
    let routes: BTreeSet<_> = spans.iter().filter_map(|seen| seen.attribute("semgate.route")).collect();
    assert_eq!(routes.into_iter().collect::<Vec<_>>(), ["wholesaler-1", "wholesaler-2"]);
    assert!(spans.iter().all(|seen| seen.attribute("http.response.status_code").is_none()));
}
