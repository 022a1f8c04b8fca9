//! Agents ask people through the running gateway (F1-01 to F1-28): in every dialect, and never as they choose themselves.

use crate::support;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address};
use support::people::Person;
use support::{Answer, PATIENCE, Up, wait_for};

const BOB: &str = "human://bob.sre";
const BOT: &str = "spiffe://semgate.test/agent/sre-bot-1";

/// A gateway at which agents ask people, each agent on a plain listener of its own.
struct Asked<'u> {
    up: &'u Up,
    gateway: Gateway,
    agent: SocketAddr,
}

fn route(name: &str, listen: SocketAddr, sender: &str) -> String {
    format!(
        "[[route]]\nname = \"{name}\"\nlisten = \"{listen}\"\nbinding = \"a2h\"\nplain_sender = \"{sender}\"\nreceiver = \"spiffe://semgate.test/people\"\ndefault_human = \"{BOB}\"\n\n"
    )
}

impl<'u> Asked<'u> {
    fn start(up: &'u Up) -> Self {
        Self::with(up, "")
    }

    /// `more` stands after the route of the agent.
    fn with(up: &'u Up, more: &str) -> Self {
        let agent = free_address();
        let gateway = Gateway::serving(up, agent, &route("people", agent, BOT), more);
        Self { up, gateway, agent }
    }

    fn person(&self, name: &'static str) -> Person<'u> {
        Person::at(self.up, name, self.gateway.people)
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        send(self.agent, "POST", path, Some(body))
    }

    fn get(&self, path: &str) -> Answer {
        send(self.agent, "GET", path, None)
    }

    /// Asks in the paper's form, and returns the id.
    fn ask(&self, body: &Value) -> String {
        let answer = self.post("/a2h/v1/interactions", body);
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
        let opened = answer.json();
        assert_eq!(opened["state"], "PENDING");
        opened["interaction_id"].as_str().unwrap().to_owned()
    }

    fn answer(&self, id: &str) -> Value {
        let answer = self.get(&format!("/a2h/v1/interactions/{id}?wait=20"));
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }

    fn audit(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.gateway.audit).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn state(&self) -> PathBuf {
        self.gateway.audit.parent().unwrap().to_owned()
    }
}

fn send(to: SocketAddr, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: {to}\r\nauthorization: Bearer hl-a-secret\r\n");
    match body.map(Value::to_string) {
        Some(body) => {
            write!(
                stream,
                "{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
        }
        None => write!(stream, "{head}\r\n"),
    }
    .unwrap();
    Answer::read(&mut stream)
}

/// A person's answer to a request as it stands.
fn answered(person: &Person<'_>, act: &str, hold: &Value, more: &Value) -> Answer {
    let mut body = json!({"digest": hold["digest"]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    person.post(&format!("/v1/approvals/{}/{act}", hold["id"].as_str().unwrap()), &body)
}

fn permission(summary: &str) -> Value {
    json!({"target": BOB, "type": "PERMISSION", "summary": summary})
}

/// The paper's payload, byte for byte its members.
fn clarification() -> Value {
    json!({
        "target": BOB, "type": "CLARIFICATION", "summary": "Ambiguous Configuration Target",
        "body": "I identified a memory limit issue. Multiple config files detected. Which one should I patch?",
        "options": ["deployment.yaml (Production)", "deployment-canary.yaml (Canary)"],
    })
}

#[test]
fn a2h_paper_case_end_to_end() {
    let up = Up::start();
    let asked = Asked::start(&up);
    let bob = asked.person("bob.sre");
    // phase 1: discovery
    let listed = asked.get("/a2h/v1/humans?capability=kubernetes&status=AVAILABLE");
    assert_eq!(listed.json(), json!([{"id": BOB, "role": "Senior SRE", "status": "AVAILABLE"}]));
    // phase 2: clarification
    let id = asked.ask(&clarification());
    let hold = bob.asked();
    assert_eq!(hold["interaction"]["options"], clarification()["options"]);
    assert_eq!(hold["interaction"]["sender"], BOT);
    let choice =
        answered(&bob, "approve", &hold, &json!({"selected_option": "deployment.yaml (Production)"}));
    assert_eq!(choice.status, 200, "{}", String::from_utf8_lossy(&choice.body));
    let answer = asked.answer(&id);
    assert_eq!(answer["selected_option"], "deployment.yaml (Production)");
    // phase 3: permission, approved and denied
    let restart = json!({
        "target": BOB, "type": "PERMISSION", "summary": "Restart checkout-service", "reason": "the patch needs a restart",
        "call": {"name": "kubectl_rollout_restart", "arguments": {"deployment": "checkout-service"}},
    });
    let id = asked.ask(&restart);
    assert_eq!(answered(&bob, "approve", &bob.asked(), &json!({})).status, 200);
    let answer = asked.answer(&id);
    let normal = json!({"interaction_id": id, "human_id": BOB, "decision": "APPROVED", "feedback": null});
    for (name, value) in normal.as_object().unwrap() {
        assert_eq!(&answer[name], value, "{name}");
    }
    // the gateway signs who decided what
    let claims = answer["evidence"].as_str().unwrap().split('.').nth(1).unwrap();
    let claims = data_encoding(claims);
    assert_eq!((&claims["human_id"], &claims["interaction_id"]), (&json!(BOB), &json!(id)));
    let id = asked.ask(&restart);
    assert_eq!(answered(&bob, "deny", &bob.asked(), &json!({"reason": "not during the sale"})).status, 200);
    let answer = asked.answer(&id);
    assert_eq!((&answer["decision"], &answer["feedback"]), (&json!("DENIED"), &json!("not during the sale")));
    // both messages of each exchange are recorded, and each act of a person
    let verdicts: Vec<Value> = wait_for("the records", || {
        let all: Vec<Value> = asked.audit().iter().map(|line| line["verdict"].clone()).collect();
        (all.iter().filter(|verdict| *verdict == "denied").count() == 1).then_some(all)
    });
    let count = |verdict: &str| verdicts.iter().filter(|one| *one == verdict).count();
    assert_eq!((count("asked"), count("approved"), count("denied")), (3, 2, 1), "{verdicts:?}");
    let concepts: Vec<String> = asked.audit().iter().map(|line| line["concepts"].to_string()).collect();
    for concept in ["human_find", "human_list", "interaction", "interaction_opened", "interaction_state"] {
        assert!(concepts.iter().any(|one| one.contains(concept)), "{concept}: {concepts:?}");
    }
}

fn data_encoding(part: &str) -> Value {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn a2h_attack_option_never_offered() {
    let up = Up::start();
    let asked = Asked::start(&up);
    let bob = asked.person("bob.sre");
    let id = asked.ask(&clarification());
    let hold = bob.asked();
    for option in ["deployment.yaml (production)", "deployment.yaml", "rm -rf /", ""] {
        let answer = answered(&bob, "approve", &hold, &json!({"selected_option": option}));
        assert_eq!((answer.status, answer.code()), (422, "malformed".to_owned()), "{option}");
    }
    assert_eq!(answered(&bob, "approve", &hold, &json!({})).status, 422);
    // nothing was decided
    let answer = asked.get(&format!("/a2h/v1/interactions/{id}")).json();
    assert!(["PENDING", "SENT", "SEEN"].contains(&answer["state"].as_str().unwrap()), "{answer}");
    assert_eq!(answer["decision"], Value::Null);
}

#[test]
fn a2h_attack_auto_approve_flag() {
    let up = Up::start();
    let asked = Asked::start(&up);
    let review = |more: &Value| {
        let mut body = json!({"formId": "deploy", "fields": {"service": "checkout"}, "meta": {}, "millis": 1, "origin": "py-sdk", "originV": "0.2.4"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        asked.post("/requestReview", &body)
    };
    for more in [json!({"autoApprove": true}), json!({"webhookUrl": "https://attacker.test/"})] {
        let answer = review(&more);
        assert_eq!((answer.status, answer.code()), (400, "malformed".to_owned()), "{more}");
    }
    let bob = asked.person("bob.sre");
    assert!(bob.list("all").is_empty());
    let answer = review(&json!({"autoApprove": false, "assignTo": ["mallory@example.com"]}));
    assert_eq!(answer.status, 201);
    assert_eq!(bob.asked()["id"], answer.json()["reviewId"]);
}

#[test]
fn a2h_attack_channel_named_by_the_agent() {
    let up = Up::start();
    let asked = Asked::start(&up);
    let call = json!({
        "run_id": "run-1", "call_id": "call-mine", "status": null,
        "spec": {"fn": "rollout_restart", "kwargs": {"deployment": "checkout-service"}, "reject_options": null, "state": null,
                 "channel": {"slack": {"channel_or_user_id": "U0666", "bot_token": "xoxb-stolen"}, "email": null}},
    });
    let answer = asked.post("/function_calls", &call);
    assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
    let (opened, hold) = (answer.json(), asked.person("bob.sre").asked());
    assert_eq!(opened["call_id"], hold["id"]);
    assert_eq!(opened["status"]["approved"], Value::Null);
    let canonical = hold["canonical"].as_str().unwrap();
    assert!(canonical.contains("rollout_restart") && !canonical.contains("U0666"), "{canonical}");
    let removed =
        wait_for("the record", || asked.audit().iter().find(|line| line["removed"] != Value::Null).cloned());
    assert_eq!(removed["removed"], json!(["/channel"]));
    assert!(!std::fs::read_to_string(&asked.gateway.audit).unwrap().contains("xoxb"));
    // a member that names an address in the paper's own form is no member
    let mut own = permission("s");
    own["channel"] = "slack".into();
    assert_eq!(asked.post("/a2h/v1/interactions", &own).code(), "malformed");
    let intent = json!({"type": "AUTHORIZE", "message_id": "m", "agent_id": BOT, "principal_id": "tel:+15550100",
                        "channel": {"type": "sms", "address": "tel:+15550100"}});
    assert_eq!(asked.post("/v1/intent", &intent).code(), "malformed");
}

#[test]
fn a2h_attack_flood_of_requests() {
    let up = Up::start();
    let asked = Asked::start(&up);
    let refused = (0..80).find_map(|n| {
        let answer = asked.post("/a2h/v1/interactions", &permission(&format!("request {n}")));
        (answer.status != 201).then_some((n, answer))
    });
    let (accepted, refused) = refused.expect("a bound");
    assert_eq!((accepted, refused.status, refused.code()), (64, 429, "rate_limited".to_owned()));
    let searched = (0..40).map(|_| asked.get("/a2h/v1/humans")).find(|answer| answer.status != 200);
    assert_eq!(searched.expect("a limit").code(), "rate_limited");
    // another agent asks nobody, since no policy lets it
    let other = free_address();
    let gateway =
        Gateway::serving(&up, other, &route("people", other, "spiffe://semgate.test/agent/retailer-7"), "");
    assert_eq!(send(other, "POST", "/a2h/v1/interactions", Some(&permission("s"))).code(), "policy_denied");
    drop(gateway);
}

#[test]
fn an_agent_reads_and_withdraws_only_its_own_requests() {
    let up = Up::start();
    let rule = "permit (principal == Agent::\"spiffe://semgate.test/agent/treasurer-1\", action, resource is a2h::interaction_get);\n\
                permit (principal == Agent::\"spiffe://semgate.test/agent/treasurer-1\", action, resource is a2h::interaction_cancel);\n";
    std::fs::write(up.dir.join("policies/other.cedar"), rule).unwrap();
    let other = free_address();
    let asked = Asked::with(&up, &route("other", other, "spiffe://semgate.test/agent/treasurer-1"));
    let id = asked.ask(&permission("mine"));
    let path = format!("/a2h/v1/interactions/{id}");
    assert_eq!(send(other, "GET", &path, None).code(), "not_found");
    assert_eq!(send(other, "POST", &format!("{path}/cancel"), None).code(), "not_found");
    assert_eq!(asked.get("/a2h/v1/interactions/aaaaaaaaaaaaaaaaaaaaaaaaaa").code(), "not_found");
    let cancelled = asked.post(&format!("{path}/cancel"), &json!({}));
    assert_eq!((cancelled.status, &cancelled.json()["state"]), (200, &json!("CANCELLED")));
    assert!(asked.person("bob.sre").list("open").is_empty());
    assert_eq!(
        asked
            .post(
                "/a2h/v1/interactions",
                &json!({"target": "human://nobody", "type": "ALERT", "summary": "s"})
            )
            .code(),
        "not_found"
    );
}

#[test]
fn data_is_judged_by_the_form_and_a_secret_is_delivered_once_and_never_written() {
    let up = Up::start();
    let asked = Asked::start(&up);
    let bob = asked.person("bob.sre");
    let form = json!({"type": "object", "properties": {"token": {"type": "string", "minLength": 8}}, "required": ["token"]});
    let ask = json!({"target": BOB, "type": "SOLICITATION", "summary": "API key", "required_input": form, "secret": true});
    let mut nested = ask.clone();
    nested["required_input"]["properties"]["token"] = json!({"type": "object"});
    assert_eq!(asked.post("/a2h/v1/interactions", &nested).code(), "content_invalid");
    let id = asked.ask(&ask);
    let hold = bob.asked();
    for data in [
        json!({}),
        json!({"token": "short"}),
        json!({"token": "long enough", "more": 1}),
        json!("long enough"),
    ] {
        assert_eq!(answered(&bob, "approve", &hold, &json!({"data": data})).status, 422, "{data}");
    }
    let secret = "correct-horse-battery";
    assert_eq!(answered(&bob, "approve", &hold, &json!({"data": {"token": secret}})).status, 200);
    assert_eq!(asked.answer(&id)["data"], json!({"token": secret}));
    assert_eq!(asked.answer(&id)["data"], Value::Null);
    let written = |path: &Path| std::fs::read_to_string(path).unwrap_or_default().contains(secret);
    for entry in std::fs::read_dir(asked.state()).unwrap() {
        let path = entry.unwrap().path();
        assert!(!written(&path), "{}", path.display());
    }
}

#[test]
fn an_intent_of_a2h_1_0_is_carried_to_its_response() {
    let up = Up::start();
    let asked = Asked::start(&up);
    let bob = asked.person("bob.sre");
    let discovered = asked.get("/.well-known/a2h").json();
    assert_eq!(discovered["a2h_supported"], json!(["1.0"]));
    let intent = json!({"a2h_version": "1.0", "type": "AUTHORIZE", "message_id": "m-1", "agent_id": "sre-bot-1", "principal_id": BOB,
                        "render": {"title": "Pay", "body": "Pay 5 EUR?"}, "ttl_sec": 60, "params": {"amount": 5}});
    let opened = asked.post("/v1/intent", &intent).json();
    assert_eq!((&opened["ttl_sec"], &opened["state"]), (&json!(60), &json!("PENDING")));
    assert_eq!(answered(&bob, "approve", &bob.asked(), &json!({})).status, 200);
    let status = asked.get(&format!("/v1/status/{}", opened["interaction_id"].as_str().unwrap())).json();
    assert_eq!((&status["state"], &status["response"]["decision"]), (&json!("ANSWERED"), &json!("APPROVE")));
    let mut other = intent.clone();
    other["agent_id"] = "retailer-7".into();
    assert_eq!(asked.post("/v1/intent", &other).code(), "sender_mismatch");
}

#[test]
fn cards_are_read_again_when_they_change_and_faulty_ones_change_nothing() {
    let up = Up::start();
    let asked = Asked::start(&up);
    let cards = up.dir.join("humans");
    let card = json!({"id": "human://carol.net", "profile": {"name": "Carol", "role": "Network"}, "capabilities": ["network"]});
    std::fs::write(cards.join("carol.json"), card.to_string()).unwrap();
    let find = || asked.get("/a2h/v1/humans?capability=network").json();
    let bob = asked.person("bob.sre");
    let known = || bob.get("/v1/humans").json().to_string();
    wait_for("the new card", || known().contains("human://carol.net").then_some(()));
    let mut twice = card.clone();
    twice["unknown"] = true.into();
    std::fs::write(cards.join("dave.json"), twice.to_string()).unwrap();
    wait_for("the fault", || asked.gateway.log().contains("dave.json").then_some(()));
    assert_eq!(find(), json!([{"id": "human://carol.net", "role": "Network", "status": "AVAILABLE"}]));
}

#[test]
fn a_person_enrols_by_a_link_that_counts_once() {
    let up = Up::start();
    // a person without a certificate
    let card = json!({"id": "human://carol.net", "profile": {"name": "Carol"}, "capabilities": ["network"]});
    std::fs::write(up.dir.join("humans/carol.net.json"), card.to_string()).unwrap();
    let config = up.path("/firewall_config");
    let text = std::fs::read_to_string(&config).unwrap();
    let operators = "operators = [\"spiffe://semgate.test/operator\"]\ncard_key = \"cards.key\"";
    std::fs::write(
        &config,
        text.replace("humans = \"humans\"", &format!("humans = \"humans\"\n{operators}")),
    )
    .unwrap();
    let humans = up.dir.join("humans").display().to_string();
    let key = up.dir.join("cards.key").display().to_string();
    let run = |words: &[&str]| std::process::Command::new(support::SEMGATE).args(words).output().unwrap();
    let sealed = run(&["humans", "seal", "--humans", &humans, "--card-key", &key]);
    assert!(sealed.status.success(), "{}", String::from_utf8_lossy(&sealed.stderr));
    let asked = Asked::start(&up);
    let base = format!("https://{}", asked.gateway.people);
    let file = |pointer: &str| up.path(pointer).display().to_string();
    let enrol = |name: &str| {
        let (cert, key) = (file(&format!("/agents/{name}/cert")), file(&format!("/agents/{name}/key")));
        let roots = file("/roots");
        run(&[
            "humans",
            "enrol",
            "carol.net",
            "--gateway",
            &base,
            "--roots",
            &roots,
            "--cert",
            &cert,
            "--key",
            &key,
        ])
    };
    let refused = enrol("retailer-7");
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("forbidden"));
    let link = String::from_utf8(enrol("operator").stdout).unwrap().trim().to_owned();
    assert!(link.starts_with(&format!("{base}/enrol/")), "{link}");
    let path = link.strip_prefix(&base).unwrap().to_owned();
    // a scanner that follows the link changes nothing
    let page = asked.person("alice.eng").get(&path);
    assert_eq!(page.status, 200);
    assert!(String::from_utf8_lossy(&page.body).contains("human://carol.net"));
    let post = |body: &str| {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/x-www-form-urlencoded\r\n",
            asked.gateway.people
        );
        let request = format!("{head}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
        up.raw(Some("treasurer-1"), &base, request.as_bytes())
    };
    let bound = post("certificate=yes&email=carol%40example.com");
    assert_eq!(bound.status, 200, "{}", String::from_utf8_lossy(&bound.body));
    assert_eq!(post("certificate=yes").status, 404);
    let written = std::fs::read_to_string(up.dir.join("humans/carol.net.json")).unwrap();
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written["certificate"], "spiffe://semgate.test/agent/treasurer-1");
    assert!(written["endpoints"]["email"].as_str().unwrap().starts_with("enc:v1:"), "{written}");
    // the certificate counts from now on
    let carol = Person::at(&up, "treasurer-1", asked.gateway.people);
    assert_eq!(carol.get("/v1/approvals?state=open").json()["as"], "human://carol.net");
}

#[test]
fn the_command_seals_shows_and_removes_cards() {
    let dir = tempfile::tempdir().unwrap();
    let (humans, key) =
        (dir.path().join("humans").display().to_string(), dir.path().join("k").display().to_string());
    let run = |words: &[&str]| {
        let mut all = vec!["--json", "humans"];
        all.extend(words);
        all.extend(["--humans", &humans]);
        std::process::Command::new(support::SEMGATE).args(&all).output().unwrap()
    };
    let add = [
        "add",
        "alice.eng",
        "--full-name",
        "Alice",
        "--capability",
        "approver",
        "--endpoint",
        "email=alice@company.com",
        "--card-key",
        &key,
    ];
    let added = run(&add);
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let text = std::fs::read_to_string(dir.path().join("humans/alice.eng.json")).unwrap();
    assert!(text.contains("enc:v1:") && !text.contains("alice@company.com"), "{text}");
    assert!(!run(&add).status.success());
    let shown: Value = serde_json::from_slice(&run(&["show", "alice.eng"]).stdout).unwrap();
    assert_eq!(shown["channels"], json!([{"channel": "email", "sealed": true}]));
    assert!(run(&["remove", "alice.eng"]).status.success());
    let listed: Value = serde_json::from_slice(&run(&["list"]).stdout).unwrap();
    assert_eq!(listed, json!({"humans": []}));
}

#[test]
fn an_agent_is_woken_at_a_listed_address_and_at_no_other() {
    let up = Up::start();
    let woken = Scripted::answering(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec());
    let target = format!("http://{}/wake/", woken.address);
    let config = up.path("/firewall_config");
    let text = std::fs::read_to_string(&config).unwrap();
    let egress = format!(
        "[approvals.egress]\ntargets = [\"{target}\"]\nnetworks = [\"127.0.0.0/8\"]\n\n[[trust_domain]]"
    );
    std::fs::write(&config, text.replacen("[[trust_domain]]", &egress, 1)).unwrap();
    let asked = Asked::start(&up);
    let ask = |callback: &str| {
        let mut body = permission("Restart");
        body["callback"] = callback.into();
        asked.post("/a2h/v1/interactions", &body)
    };
    for other in [format!("http://{}/other", woken.address), "https://attacker.test/".to_owned()] {
        let refused = ask(&other);
        assert_eq!((refused.status, refused.code()), (403, "target_refused".to_owned()), "{other}");
    }
    let opened = ask(&format!("{target}1"));
    assert_eq!(opened.status, 201, "{}", String::from_utf8_lossy(&opened.body));
    let bob = asked.person("bob.sre");
    assert_eq!(answered(&bob, "approve", &bob.asked(), &json!({"reason": "go"})).status, 200);
    let bodies = wait_for("the call", || Some(woken.bodies()).filter(|bodies| !bodies.is_empty()));
    let body: Value = serde_json::from_str(&bodies[0]).unwrap();
    // nothing of the answer: the agent reads it from the gateway
    let claims = data_encoding(body["statement"].as_str().unwrap().split('.').nth(1).unwrap());
    for (told, id) in [(&body, "interaction_id"), (&claims, "jti")] {
        assert_eq!((&told[id], &told["state"]), (&opened.json()["interaction_id"], &json!("APPROVED")));
    }
    assert_eq!(body.as_object().unwrap().len(), 3, "{body}");
    assert_eq!(woken.received(), 1);
}
