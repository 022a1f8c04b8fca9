//! The semantic handshake through the running gateway, with the Python client as the initiator: HELLO to LOCK, messages in the session,
//! and what no lock is good for (F0-19 to F0-22, F0-37, F0-39, F0-47).

use crate::support;

use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use semgate_contexts::{Line, Prefix, Version};
use semgate_negotiation::initiator::{HelloSent, SelectReceived};
use semgate_negotiation::{Carried, InitiatorConfig, Kind, Minimum, Trust, read_message, write_message};
use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address};
use support::negotiator::{self, SNL};
use support::{Answer, PATIENCE, Up, python, wait_for};

const AGENT: &str = "spiffe://semgate.test/agent/wholesaler-1";
const URN: &str = "urn:contexts:supplyChain:v1.0";

fn shake(up: &Up, agent: &str, url: &str, urn: &str, more: &[&str]) -> Value {
    let listed = up.authority("/v1/contexts").json();
    let listed =
        listed["contexts"].as_array().unwrap().iter().find(|context| context["urn"] == urn).unwrap().clone();
    let output = Command::new(python::interpreter())
        .arg(python::script("snl_client.py"))
        .arg(format!("{}/snl", url.trim_end_matches('/')))
        .args([
            up.path(&format!("/agents/{agent}/cert")),
            up.path(&format!("/agents/{agent}/key")),
            up.path("/roots"),
        ])
        .args(["semgate.test", AGENT, urn, listed["digest"].as_str().unwrap()])
        .args(more)
        .env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/python/src"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn decide(up: &Up, agent: &str, urn: &str, lock: &str) -> Answer {
    let id = up.text(&format!("/agents/{agent}/id")).to_owned();
    let body = json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": "INFORM", "sender_id": id, "receiver_id": AGENT,
        "context": urn, "lock": lock, "content": {"concept_type": "current_decision", "item_id": "beer", "quantity": 3}});
    up.post(agent, up.text("/gateway/l8"), &[], body.to_string().as_bytes())
}

fn code(answer: &Answer) -> (u16, String) {
    (answer.status, answer.json()["code"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn f0_19_f0_21_f0_22_f0_47_a_session_is_agreed_open_or_sealed_and_ends_with_its_context() {
    let up = Up::start();
    let l8 = up.text("/gateway/l8").to_owned();
    for more in [&[][..], &["sealed"]] {
        let session = shake(&up, "retailer-7", &l8, URN, more);
        let lock = session["lock"].as_str().unwrap_or_else(|| panic!("{session}")).to_owned();
        assert_eq!(decide(&up, "retailer-7", URN, &lock).status, 200);
        // attacks: the lock of another pair, of another context, of another route, and one that was bent
        assert_eq!(code(&decide(&up, "treasurer-1", URN, &lock)), (403, "lock_mismatch".to_owned()));
        let payment = decide(&up, "retailer-7", "urn:contexts:payment:v1.1", &lock);
        assert_eq!(code(&payment), (403, "lock_mismatch".to_owned()));
        let bent = format!("{}x", &lock[..lock.len() - 1]);
        assert_eq!(code(&decide(&up, "retailer-7", URN, &bent)), (403, "lock_mismatch".to_owned()));
    }
    // the A2A route answers handshakes too; its locks are its own
    let other = shake(&up, "retailer-7", up.text("/gateway/a2a"), URN, &[]);
    let other = other["lock"].as_str().unwrap_or_else(|| panic!("{other}"));
    assert_eq!(code(&decide(&up, "retailer-7", URN, other)), (403, "lock_mismatch".to_owned()));

    let session = shake(&up, "retailer-7", &l8, URN, &[]);
    let lock = session["lock"].as_str().unwrap();
    let revoked = up.semgate(&["context", "revoke", "supplyChain:v1.0", "--reason", "test"]);
    assert!(revoked.status.success());
    let refused = wait_for("the revocation", || {
        let answer = decide(&up, "retailer-7", URN, lock);
        (answer.status == 403).then_some(answer)
    });
    assert_eq!(code(&refused), (403, "context_revoked".to_owned()));
    assert_eq!(shake(&up, "retailer-7", &l8, URN, &[])["refused"], "context_unknown");
}

#[test]
fn f0_39_floors_and_minimums_bind_the_choice_of_a_handshake() {
    let up = Up::start();
    let l8 = up.text("/gateway/l8").to_owned();
    // the floor of payment is v1.1
    let below = shake(&up, "retailer-7", &l8, "urn:contexts:payment:v1.0", &[]);
    assert_eq!(below["refused"], "context_below_floor", "{below}");
    let select = shake(&up, "retailer-7", &l8, "urn:contexts:payment:v1.1", &["payment=v2.0"]);
    assert_eq!(select["refused"], "context_below_floor", "{select}");
    // HELLO and its answer leave a record each, with the agent's id and the context that was chosen
    let good = shake(&up, "retailer-7", &l8, "urn:contexts:payment:v1.1", &[]);
    assert!(good["lock"].is_string(), "{good}");
    let records = wait_for("the records", || {
        let of = |concept: &str| {
            up.audit().into_iter().rfind(|r| r["concepts"] == json!([concept]) && r["verdict"] == "allowed")
        };
        of("SELECT").zip(of("LOCK"))
    });
    assert_eq!(records.0["context"], "urn:contexts:payment:v1.1", "{}", records.0);
    assert_eq!(records.0["sender"], AGENT, "{}", records.0);
}

#[test]
fn what_is_no_handshake_is_refused_at_its_address() {
    let up = Up::start();
    let url = format!("{}/snl", up.text("/gateway/l8").trim_end_matches('/'));
    let body = json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": "REQUEST",
        "sender_id": up.text("/agents/retailer-7/id"), "receiver_id": AGENT, "context": "urn:contexts:snl:v1.0",
        "content": {"concept_type": "HELLO", "jws": "a.b.c", "x5c": ["AAAA"]}});
    let before = up.received();
    let forged = up.post("retailer-7", &url, &[], body.to_string().as_bytes());
    assert!(matches!(forged.status, 400 | 403 | 422), "{}", forged.status);
    let about_another = body.to_string().replace("urn:contexts:snl:v1.0", URN);
    let refused = up.post("retailer-7", &url, &[], about_another.as_bytes());
    assert_eq!(code(&refused), (404, "context_unknown".to_owned()));
    let beside = up.post("retailer-7", up.text("/gateway/l8"), &[], body.to_string().as_bytes());
    assert_eq!(code(&beside), (422, "content_uninspectable".to_owned()));
    // who asked for the key to seal to is on record too
    let get = format!("GET /snl HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", support::address(&url));
    let key = up.raw(Some("operator"), &url, get.as_bytes());
    assert_eq!(key.status, 200);
    let decision = key.header("semgate-decision").unwrap().to_owned();
    wait_for("its record", || {
        up.audit().into_iter().find(|record| record["decision_id"] == decision.as_str())
    });
    assert_eq!(up.received(), before);
}

#[test]
fn a_lock_secret_that_others_can_read_or_that_nobody_drew_was_taken_in_silence() {
    let up = Up::start();
    let secret = up.dir.join("firewall/lock.secret");
    let check = || {
        let mut command = Command::new(support::SEMGATE);
        let output = command
            .args(["firewall", "check", "--config"])
            .arg(up.path("/firewall_config"))
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (good, said) = check();
    assert!(good && !said.contains("is readable by users other than"), "{said}");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (good, said) = check();
    assert!(good && said.contains("lock.secret` is readable by users other than its owner"), "{said}");
    std::fs::write(&secret, format!("{}\n", "A".repeat(43))).unwrap();
    let (good, said) = check();
    assert!(!good && said.contains("a secret consists of zeros only"), "{said}");
}

/// A gateway that answers for both of a pair: `orders` leads to the wholesaler, `back` to the retailer.
struct Both {
    up: Up,
    gateway: Gateway,
    orders: String,
    back: String,
}

const RETAILER: &str = "spiffe://semgate.test/agent/retailer-7";

fn both() -> Both {
    let mut up = Up::start();
    // it never opens anything by itself, so `up.json` has no certificate of it
    up.json["agents"]["wholesaler-1"] =
        json!({"cert": "agents/wholesaler-1.pem", "key": "agents/wholesaler-1.key"});
    let opens = |kind: &str, concept: &str| {
        format!(
            r#"@id("{kind}") permit(principal in Group::"repliers", action == Action::"REQUEST", resource is {concept});"#
        )
    };
    let rules =
        opens("greets", "snl::HELLO") + &opens("locks", "snl::LOCK") + &opens("pays", "payment::transfer");
    std::fs::write(up.path("/policies").join("back.cedar"), rules).unwrap();
    let behind = Scripted::answering(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_vec()).address;
    let [orders, back] = [free_address(), free_address()];
    let route = |name: &str, listen, agent: &str| {
        format!(
            "[[route]]\nname = \"{name}\"\nlisten = \"{listen}\"\nbinding = \"l8\"\nreceiver = \"spiffe://semgate.test/agent/{agent}\"\nupstream = \"http://{behind}/\"\ncontexts = [\"*\"]\nhandshake = {{ certificate = \"agents/{agent}.pem\", key = \"agents/{agent}.key\" }}\n"
        )
    };
    let more = route("orders", orders, "wholesaler-1") + &route("back", back, "retailer-7");
    let gateway = Gateway::before(&up, behind, &more);
    Both { up, gateway, orders: format!("https://{orders}/"), back: format!("https://{back}/") }
}

impl Both {
    /// What an agent says to the other on its way: the address, who says it, and to whom.
    fn way(&self, agent: &str) -> (&str, &'static str, &'static str) {
        if agent == "retailer-7" { (&self.orders, RETAILER, AGENT) } else { (&self.back, AGENT, RETAILER) }
    }

    fn say(&self, agent: &str, body: &[u8]) -> Answer {
        self.up.post(agent, &format!("{}snl", self.way(agent).0), &[], body)
    }

    fn body(&self, agent: &str, kind: Kind, carried: &Carried) -> Vec<u8> {
        let (_, from, to) = self.way(agent);
        let parties = (&negotiator::spiffe(from), &negotiator::spiffe(to));
        write_message(kind, carried, semgate_contexts::Performative::Request, parties, SNL, "m-1").unwrap()
    }

    /// HELLO, as it was said, and what was chosen.
    fn chosen(&self, agent: &str, urns: &[&str], minimums: Vec<Minimum>) -> (Vec<u8>, SelectReceived) {
        let to = negotiator::spiffe(self.way(agent).2);
        let opening =
            InitiatorConfig { to, contexts: negotiator::offers(&self.up, urns), minimums, seal_to: None };
        let me = negotiator::identity(&self.up, agent);
        let random = ring::rand::SystemRandom::new();
        let (greeted, hello) = HelloSent::hello(opening, &me, &random, negotiator::now()).unwrap();
        let hello = self.body(agent, Kind::Hello, &hello);
        let select = self.say(agent, &hello);
        assert_eq!(select.status, 200, "{}", String::from_utf8_lossy(&select.body));
        let (roots, prefix) = (negotiator::roots(&self.up), Prefix::default());
        let trust = Trust { roots: &roots, prefix: &prefix };
        let select = read_message(&select.body, SNL).unwrap().carried;
        (hello, greeted.select(&select, &trust, negotiator::now()).unwrap())
    }

    fn lock(&self, agent: &str, chosen: SelectReceived) -> Vec<u8> {
        let me = negotiator::identity(&self.up, agent);
        let random = ring::rand::SystemRandom::new();
        let (_, lock) = chosen.lock(&me, 600, &random, negotiator::now()).unwrap();
        self.body(agent, Kind::Lock, &lock)
    }

    fn inform(&self) -> Answer {
        let body = json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": "INFORM", "sender_id": RETAILER, "receiver_id": AGENT,
            "context": URN, "content": {"concept_type": "current_decision", "item_id": "beer", "quantity": 3}});
        self.up.post("retailer-7", &self.orders, &[], body.to_string().as_bytes())
    }
}

#[test]
fn f0_39_attack_a_lock_that_is_held_back_erases_what_the_other_side_stated_since() {
    let mut both = both();
    assert_eq!(both.inform().status, 202);
    let (_, held_back) = both.chosen("retailer-7", &[URN], Vec::new());
    let (_, elsewhere) = both.chosen("retailer-7", &["urn:contexts:payment:v1.1"], Vec::new());
    let minimum = Minimum { line: Line::parse("supplyChain").unwrap(), min: Version::new(9, 0) };
    let (_, stated) = both.chosen("wholesaler-1", &["urn:contexts:payment:v1.1"], vec![minimum]);
    assert_eq!(both.say("wholesaler-1", &both.lock("wholesaler-1", stated)).status, 200);
    let below = (403, "context_below_floor".to_owned());
    assert_eq!(code(&both.inform()), below);
    // nor is a lock made for what is below the minimum by now
    assert_eq!(code(&both.say("retailer-7", &both.lock("retailer-7", held_back))), below);
    assert_eq!(code(&both.inform()), below);
    assert_eq!(both.say("retailer-7", &both.lock("retailer-7", elsewhere)).status, 200);
    assert_eq!(code(&both.inform()), below);
    both.gateway.restart("TERM");
    assert_eq!(code(&both.inform()), below);
    let kept = std::fs::read_to_string(both.gateway.audit.with_file_name("minimums.jsonl")).unwrap();
    assert!(kept.contains("\"stated_at\""), "{kept}");
}

#[test]
fn attack_a_hello_or_lock_is_taken_again_after_a_reload() {
    let both = both();
    let (hello, chosen) = both.chosen("retailer-7", &[URN], Vec::new());
    let lock = both.lock("retailer-7", chosen);
    assert_eq!(both.say("retailer-7", &lock).status, 200);
    // the file of the records is opened anew before the keys are read: of two reloads the first is over
    for _ in 0..2 {
        std::fs::remove_file(&both.gateway.audit).unwrap();
        let hangup = Command::new("kill").args(["-HUP", &both.gateway.child.id().to_string()]).status();
        assert!(hangup.unwrap().success());
        wait_for("the reload", || both.gateway.audit.exists().then_some(()));
    }
    for again in [hello, lock] {
        assert_eq!(code(&both.say("retailer-7", &again)), (403, "replayed".to_owned()));
    }
}

/// A stream of A2A whose task ends so, as an agent sends it.
fn ends(state: &str) -> Vec<u8> {
    let update = |state: &str| json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {"state": state}}});
    let begun =
        json!({"task": {"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_SUBMITTED"}}});
    let event =
        |result: Value| format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": "r-1", "result": result}));
    let events: String = [begun, update("TASK_STATE_WORKING"), update(state)].map(event).concat();
    let head = format!("content-type: text/event-stream\r\ncontent-length: {}\r\n", events.len());
    format!("HTTP/1.1 200 OK\r\n{head}\r\n{events}").into_bytes()
}

#[test]
fn the_first_event_of_a_task_that_was_rejected_later_settled_a_name_for_the_session() {
    let up = Up::start();
    let rules = r#"@id("settle") permit(principal in Group::"partners", action == Action::"INFORM", resource is snl::parameter_options);
        @id("mood") permit(principal in Group::"partners", action, resource is learnt::my_mood);"#;
    std::fs::write(up.path("/policies").join("learnt.cedar"), rules).unwrap();
    // a lock of the route of this name, which the second gateway honours by the same secret
    let session = shake(&up, "retailer-7", up.text("/gateway/a2a"), URN, &[]);
    let lock = session["lock"].as_str().unwrap_or_else(|| panic!("{session}"));
    let mood = json!({"concept_type": "my_mood", "value": "happy"});
    let options =
        json!({"concept": "parameter_options", "parameter": "my_mood", "options": ["happy", "sad"]});
    for (state, settles) in [
        ("TASK_STATE_REJECTED", false),
        ("TASK_STATE_FAILED", false),
        ("TASK_STATE_CANCELED", false),
        ("TASK_STATE_WORKING", false),
        ("TASK_STATE_COMPLETED", true),
    ] {
        let agent = Scripted::answering(ends(state));
        let gateway = Gateway::before(&up, agent.address, "undefined = \"disambiguate\"\n");
        let say = |content: &Value| {
            let claim = json!({"context": URN, "performative": "INFORM", "lock": lock});
            let body = json!({"jsonrpc": "2.0", "id": "r-1", "method": "SendStreamingMessage", "params": {"message": {
                "messageId": "m-1", "role": "ROLE_USER", "parts": [{"data": content}],
                "metadata": {"urn:contexts:snl:v1.0": claim}}}})
            .to_string();
            let mut stream = TcpStream::connect(gateway.a2a).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let head = format!("host: {}\r\na2a-version: 1.0\r\ncontent-type: application/json", gateway.a2a);
            write!(stream, "POST / HTTP/1.1\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
                .unwrap();
            String::from_utf8(Answer::read(&mut stream).body).unwrap()
        };
        assert!(say(&mood).contains("concept_undefined"), "{state}");
        let told = say(&options);
        assert!(told.contains(state) && !told.contains("\"error\""), "{state}: {told}");
        assert_eq!(say(&mood).contains("concept_undefined"), !settles, "{state}");
        assert_eq!(agent.received(), if settles { 2 } else { 1 }, "{state}");
    }
}
