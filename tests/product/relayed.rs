//! Two agents that both negotiate by themselves, with the gateway between them (F0-47): the Python client and the library's endpoint, sealed and open,
//! and what an upstream agent or a node on the way may try.

use crate::support;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use semgate_negotiation::initiator::HelloSent;
use semgate_negotiation::{Carried, InitiatorConfig, Kind, Offer, session_of, write_message};
use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::negotiator::{self, AGENT, Habit, Negotiator, Over, SNL};
use support::{Answer, SEMGATE, Up, python, wait_for};

const URN: &str = "urn:contexts:supplyChain:v1.0";
const V1_0: &str = "urn:contexts:payment:v1.0";
const V1_1: &str = "urn:contexts:payment:v1.1";
const V2_0: &str = "urn:contexts:payment:v2.0";

/// A gateway with the agent behind it, and the addresses of its listeners, over TLS.
struct Stage {
    up: Up,
    agent: Negotiator,
    gateway: Gateway,
    /// Where the agent itself negotiates.
    url: String,
    /// Where the gateway answers in its place.
    desk: String,
}

fn route(listen: &str, behind: &str, certificate: &str) -> String {
    format!(
        "[[route]]\nname = \"orders\"\nlisten = \"{listen}\"\nbinding = \"l8\"\nreceiver = \"{AGENT}\"\nupstream = \"http://{behind}/orders\"\ncontexts = [\"*\"]\nhandshake = {{ certificate = \"agents/{certificate}.pem\", key = \"agents/{certificate}.key\", agent = true }}\n"
    )
}

fn stage(habit: Habit) -> Stage {
    stage_over(habit, Over::Plain)
}

fn stage_over(habit: Habit, over: Over) -> Stage {
    let up = Up::start();
    let agent = Negotiator::start_over(&up, habit, over);
    let [listen, desk] = [free_address(), free_address()];
    let more = route(&listen.to_string(), &agent.address.to_string(), "gateway");
    let more = match over {
        Over::Plain => more,
        Over::Tls => more.replace("upstream = \"http:", "upstream = \"https:"),
        Over::Http2 => more + "upstream_http2 = true\n",
    };
    let answers = route(&desk.to_string(), &agent.address.to_string(), "wholesaler-1");
    let answers = answers.replace("name = \"orders\"", "name = \"desk\"").replace(", agent = true", "");
    let gateway = Gateway::before(&up, agent.address, &format!("{more}\n{answers}"));
    Stage { up, agent, gateway, url: format!("https://{listen}/"), desk: format!("https://{desk}/") }
}

impl Stage {
    /// HELLO to LOCK by the Python client.
    fn shake(&self, urn: &str, more: &[&str]) -> Value {
        self.shake_at(&self.url, urn, more)
    }

    fn shake_at(&self, url: &str, urn: &str, more: &[&str]) -> Value {
        let offer = negotiator::offers(&self.up, &[urn]).remove(0);
        let output = Command::new(python::interpreter())
            .arg(python::script("snl_client.py"))
            .arg(format!("{url}snl"))
            .args(["cert", "key"].map(|what| self.up.path(&format!("/agents/retailer-7/{what}"))))
            .arg(self.up.path("/roots"))
            .args(["semgate.test", AGENT, urn, &offer.digest.to_string()])
            .args(more)
            .env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/python/src"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A HELLO of `retailer-7` that is not sealed.
    fn hello(&self, urns: &[&str]) -> (HelloSent, Vec<u8>) {
        let me = negotiator::identity(&self.up, "retailer-7");
        let contexts: Vec<Offer> = negotiator::offers(&self.up, urns);
        let opening =
            InitiatorConfig { to: negotiator::spiffe(AGENT), contexts, minimums: Vec::new(), seal_to: None };
        let (greeted, carried) =
            HelloSent::hello(opening, &me, &ring::rand::SystemRandom::new(), negotiator::now()).unwrap();
        (greeted, self.body(Kind::Hello, &carried))
    }

    fn body(&self, kind: Kind, carried: &Carried) -> Vec<u8> {
        let from = negotiator::spiffe("spiffe://semgate.test/agent/retailer-7");
        let parties = (&from, &negotiator::spiffe(AGENT));
        let request = semgate_contexts::Performative::Request;
        write_message(kind, carried, request, parties, SNL, "m-1").unwrap()
    }

    fn say(&self, agent: &str, body: &[u8]) -> Answer {
        self.say_at(&self.url, agent, body)
    }

    fn say_at(&self, url: &str, agent: &str, body: &[u8]) -> Answer {
        self.up.post(agent, &format!("{url}snl"), &[], body)
    }

    /// How often the operator was told that somebody offers less than before.
    fn alarms(&self) -> usize {
        let log = self.up.dir.join(format!("gateway-{}.log", self.gateway.l8.port()));
        std::fs::read_to_string(log).unwrap().matches("a peer offers less than before").count()
    }

    fn inform(&self, agent: &str, urn: &str, content: &Value, lock: Option<&str>) -> Answer {
        let mut body = json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": "INFORM",
            "sender_id": self.up.text(&format!("/agents/{agent}/id")), "receiver_id": AGENT, "context": urn, "content": content});
        if let Some(lock) = lock {
            body["lock"] = lock.into();
        }
        self.up.post(agent, &self.url, &[], body.to_string().as_bytes())
    }

    fn decide(&self, agent: &str, lock: &str) -> Answer {
        let decision = json!({"concept_type": "current_decision", "item_id": "beer", "quantity": 3});
        self.inform(agent, URN, &decision, Some(lock))
    }
}

/// Status, code and cause.
fn refused(answer: &Answer) -> (u16, String, String) {
    let json = answer.json();
    let member = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
    (answer.status, member("code"), member("cause"))
}

fn no(status: u16, code: &str, cause: &str) -> (u16, String, String) {
    (status, code.to_owned(), cause.to_owned())
}

#[test]
fn f0_47_two_agents_agree_through_the_gateway_sealed_and_open_and_their_session_holds() {
    let stage = stage(Habit::Honest);
    for sealed in [true, false] {
        let more: &[&str] = if sealed { &["sealed"] } else { &[] };
        let session = stage.shake(URN, more);
        let lock = session["lock"].as_str().unwrap_or_else(|| panic!("{session}")).to_owned();
        // the upstream agent knows the session by what it computed itself, and takes a message of it
        assert!(stage.agent.knows(&session_of(&lock).unwrap()));
        assert_eq!(stage.decide("retailer-7", &lock).status, 202);
        let strange = stage.decide("treasurer-1", &lock);
        assert_eq!(refused(&strange), no(403, "lock_mismatch", ""));
        // on the way to the agent the handshake was in the form that the caller chose
        let hello = stage.agent.last_hello();
        assert_eq!(hello["content"].get("sealed").is_some(), sealed, "{hello}");
        assert_eq!(hello["content"].get("jws").is_some(), !sealed, "{hello}");
    }
    let records = wait_for("the records", || {
        let of = |concept: &str| {
            let all = std::fs::read_to_string(&stage.gateway.audit).unwrap();
            let mut lines = all.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            lines.rfind(|record| record["concepts"] == json!([concept]) && record["direction"] == "reply")
        };
        of("SELECT").zip(of("LOCK"))
    });
    for record in [records.0, records.1] {
        assert_eq!((&record["verdict"], &record["context"]), (&json!("allowed"), &json!(URN)), "{record}");
        assert_eq!((&record["sender"], record.get("said_by")), (&json!(AGENT), None), "{record}");
    }
}

#[test]
fn f0_39_a_minimum_learnt_in_a_handshake_that_passed_binds_unlocked_messages() {
    let stage = stage(Habit::Minimum("payment", "v2.0"));
    let transfer = json!({"concept_type": "transfer", "sender_id": "a", "receiver_id": "b", "amount": 1, "currency": "EUR"});
    let before = stage.inform("retailer-7", V1_1, &transfer, None);
    assert_eq!(before.status, 202);
    let session = stage.shake(V2_0, &["sealed"]);
    assert!(session["lock"].is_string(), "{session}");
    let after = stage.inform("retailer-7", V1_1, &transfer, None);
    assert_eq!(refused(&after), no(403, "context_below_floor", ""));
}

#[test]
fn f0_39_attack_a_handshake_with_the_gateway_itself_takes_back_what_the_agent_behind_said() {
    let stage = stage(Habit::Minimum("payment", "v2.0"));
    assert!(stage.shake(V2_0, &[])["lock"].is_string());
    let transfer = json!({"concept_type": "transfer", "sender_id": "a", "receiver_id": "b", "amount": 1, "currency": "EUR"});
    let below = || refused(&stage.inform("retailer-7", V1_1, &transfer, None));
    assert_eq!(below(), no(403, "context_below_floor", ""));
    // where the gateway answers, what it says in the agent's place is what the agent said last
    let session = stage.shake_at(&stage.desk, V2_0, &[]);
    assert!(session["lock"].is_string(), "{session}");
    assert_eq!(below(), no(403, "context_below_floor", ""));
    assert_eq!(stage.shake_at(&stage.desk, V1_1, &[])["refused"], "context_below_floor");
}

#[test]
fn f0_37_attack_a_hello_that_is_refused_hides_that_the_next_offers_less() {
    let stage = stage(Habit::Honest);
    for (at, url) in [&stage.url, &stage.desk].into_iter().enumerate() {
        let say = |urns: &[&str]| stage.say_at(url, "retailer-7", &stage.hello(urns).1);
        assert_eq!(say(&[V2_0, V1_1]).status, 200);
        assert_eq!(refused(&say(&[V1_0])), no(403, "context_below_floor", ""));
        assert_eq!(stage.alarms(), at);
        assert_eq!(say(&[V1_1]).status, 200);
        wait_for("the alarm", || (stage.alarms() == at + 1).then_some(()));
    }
}

#[test]
fn attack_an_agent_that_fails_is_asked_for_its_keys_by_whoever_comes() {
    let stage = stage(Habit::Mute);
    let url = format!("{}snl", stage.url);
    let mut stream = stage.up.connect(Some("courier-5"), &url);
    let question =
        format!("GET {} HTTP/1.1\r\nhost: {}\r\n\r\n", support::path(&url), support::address(&url));
    for _ in 0..20 {
        // one connection, so one core
        stream.write_all(question.as_bytes()).unwrap();
        assert_eq!(refused(&Answer::read(&mut stream)), no(502, "upstream_invalid", ""));
    }
    // one in five seconds, however slow this machine is
    assert!(stage.agent.asked() < 10, "{}", stage.agent.asked());
}

#[test]
fn attack_a_hello_that_comes_twice_is_refused_and_reaches_the_agent_once() {
    let stage = stage(Habit::Honest);
    let (_, hello) = stage.hello(&[URN]);
    assert_eq!(stage.say("retailer-7", &hello).status, 200);
    assert_eq!(refused(&stage.say("retailer-7", &hello)), no(403, "replayed", ""));
    // nor in another's name
    let (_, other) = stage.hello(&[URN]);
    assert_eq!(refused(&stage.say("treasurer-1", &other)).1, "sender_mismatch");
    assert_eq!(stage.agent.hellos(), 1);
}

#[test]
fn attack_a_select_about_another_hello_is_refused() {
    // an agent, or a node before it, that answers with the SELECT that it said first
    let stage = stage(Habit::Repeats);
    let (_, first) = stage.hello(&[URN]);
    assert_eq!(stage.say("retailer-7", &first).status, 200);
    let (_, second) = stage.hello(&[URN]);
    assert_eq!(refused(&stage.say("retailer-7", &second)), no(502, "reply_refused", "lock_mismatch"));
}

#[test]
fn f0_37_attack_a_hello_put_in_place_of_another_on_the_way_is_found_out() {
    // a node between gateway and agent has kept a HELLO of less, and puts it in place of the one that comes
    let stage = stage(Habit::Swaps);
    let (_, kept) = stage.hello(&[V1_1]);
    stage.agent.keep(kept);
    let (_, full) = stage.hello(&[V2_0, V1_1]);
    assert_eq!(refused(&stage.say("retailer-7", &full)), no(502, "reply_refused", "lock_mismatch"));
}

#[test]
fn f0_39_attack_a_select_below_the_floor_is_refused_by_the_gateway() {
    // the upstream agent chooses payment v1.0, which the authority's floor forbids
    let stage = stage(Habit::Only(V1_0));
    let (_, hello) = stage.hello(&[V1_1, V1_0]);
    assert_eq!(refused(&stage.say("retailer-7", &hello)), no(502, "reply_refused", "context_below_floor"));
    // what offers nothing else does not reach it
    let before = stage.agent.hellos();
    let (_, hello) = stage.hello(&[V1_0]);
    assert_eq!(refused(&stage.say("retailer-7", &hello)), no(403, "context_below_floor", ""));
    assert_eq!(stage.agent.hellos(), before);
}

#[test]
fn attack_a_line_that_is_none_of_the_callers_business_is_not_offered_to_the_agent_behind() {
    // else its choice, or the refusal of it, would tell what the agent speaks
    let stage = stage(Habit::Honest);
    let me = negotiator::identity(&stage.up, "retailer-7");
    let mut contexts = negotiator::offers(&stage.up, &[URN]);
    let urn = semgate_contexts::ContextUrn::parse(
        "urn:contexts:weather:v1.0",
        &semgate_contexts::Prefix::default(),
    );
    contexts.push(Offer { urn: urn.unwrap(), ..contexts[0].clone() });
    let opening =
        InitiatorConfig { to: negotiator::spiffe(AGENT), contexts, minimums: Vec::new(), seal_to: None };
    let random = ring::rand::SystemRandom::new();
    let (_, hello) = HelloSent::hello(opening, &me, &random, negotiator::now()).unwrap();
    let answer = stage.say("retailer-7", &stage.body(Kind::Hello, &hello));
    assert_eq!(refused(&answer), no(403, "policy_denied", ""));
    assert_eq!(stage.agent.hellos(), 0);
}

#[test]
fn attack_an_agent_behind_another_gateway_lets_this_one_open_nothing() {
    let stage = stage(Habit::Behind("spiffe://semgate.test/agent/other-gateway"));
    let url = format!("{}snl", stage.url);
    let asked = format!("GET {} HTTP/1.1\r\nhost: x\r\n\r\n", support::path(&url));
    let asked = stage.up.raw(Some("retailer-7"), &url, asked.as_bytes());
    assert_eq!(refused(&asked), no(502, "upstream_invalid", ""));
    // open handshakes pass, since nothing has to be opened
    assert!(stage.shake(URN, &[])["lock"].is_string());
}

#[test]
fn an_agent_that_has_nothing_in_common_says_so_in_the_handshakes_own_words() {
    let stage = stage(Habit::Only(V2_0));
    assert_eq!(stage.shake(URN, &["sealed"])["refused"], "context_unknown");
    let (_, hello) = stage.hello(&[URN]);
    let answer = stage.say("retailer-7", &hello);
    assert_eq!(refused(&answer), no(404, "context_unknown", ""));
    assert_eq!(answer.json()["delivered"], "yes");
    assert_eq!(answer.json()["hint"], "offer another version, or another line");
}

#[test]
fn a_gateway_that_stands_between_may_not_have_the_agents_certificate() {
    let up = Up::start();
    let config = std::fs::read_to_string(up.path("/firewall_config")).unwrap();
    let head = config.split("[[route]]").next().unwrap().to_owned();
    let [listen, admin] = [free_address(), free_address()];
    let head = head.replace(up.text("/admin_url").trim_start_matches("http://"), &admin.to_string());
    let head =
        head.replace("state = \"firewall\"", "state = \"other\"").replace("firewall/audit", "other/audit");
    std::fs::create_dir_all(up.dir.join("other")).unwrap();
    let path = up.dir.join("other.toml");
    std::fs::write(&path, head + &route(&listen.to_string(), "127.0.0.1:1", "wholesaler-1")).unwrap();
    let mut command = Command::new(SEMGATE);
    command.args(["firewall", "run", "--config"]).arg(&path).stdout(Stdio::null());
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(why.contains("negotiates by itself"), "{why}");
}

#[test]
fn a_handshake_reaches_an_agent_that_is_spoken_to_over_http2() {
    let stage = stage_over(Habit::Honest, Over::Http2);
    assert!(stage.shake(URN, &[])["lock"].is_string());
    assert_eq!(stage.agent.hellos(), 1);
}

#[test]
fn a_handshake_reaches_an_agent_over_mutual_tls() {
    let stage = stage_over(Habit::Honest, Over::Tls);
    let session = stage.shake(URN, &["sealed"]);
    let lock = session["lock"].as_str().unwrap_or_else(|| panic!("{session}"));
    assert!(stage.agent.knows(&session_of(lock).unwrap()));
    assert_eq!(stage.decide("retailer-7", lock).status, 202);
}
