//! `policy explain --decision` of a decision with several records: the request, and the reply that was refused.

use super::support::gateway::{Gateway, Scripted};
use super::support::{Up, wait_for};
use super::{policy, word};
use serde_json::{Value, json};

/// What `explain` says of the first request that gets this reply, with these words besides.
struct Said {
    up: Up,
    gateway: Gateway,
    id: String,
}

impl Said {
    fn of(reply: &Value, more: &str, keep: &str, expected: &str) -> Self {
        let up = Up::start();
        if !more.is_empty() {
            std::fs::write(up.path("/policies").join("more.cedar"), more).unwrap();
        }
        let message = |from: &str, to: &str, content: &Value| {
            json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": "INFORM", "sender_id": from, "receiver_id": to,
                "context": "urn:contexts:supplyChain:v1.0", "content": content})
            .to_string()
        };
        let behind = Scripted::saying(message("wholesaler-1", "retailer-7", reply));
        let gateway = Gateway::before(&up, behind.address, keep);
        let request = json!({"concept": "current_decision", "item_id": "beer", "quantity": 1});
        let answer = gateway.post(&message("retailer-7", "wholesaler-1", &request));
        assert_eq!((answer.status, answer.code().as_str()), (502, "reply_refused"));
        let records: Vec<Value> = wait_for("the records", || {
            let text = std::fs::read_to_string(&gateway.audit).ok()?;
            let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            (lines.len() == 2).then_some(lines)
        });
        let told = |record: &Value| {
            ["direction", "verdict", "code"].map(|name| record[name].as_str().unwrap_or_default().to_owned())
        };
        assert_eq!(told(&records[0]), ["request", "allowed", ""]);
        assert_eq!(told(&records[1]), ["reply", "refused", expected]);
        assert_eq!(records[0]["decision_id"], records[1]["decision_id"]);
        let id = records[0]["decision_id"].as_str().unwrap().to_owned();
        Self { up, gateway, id }
    }

    /// What `explain` says of a request about payments whose sender may use nothing of that line, by the policies of its gateway.
    fn of_a_closed_line(keep: &str) -> Self {
        let up = Up::start();
        let policies = up.path("/policies");
        let behind = Scripted::saying(String::new());
        let text = std::fs::read(policies.join("entities.json")).unwrap();
        let mut entities: Value = serde_json::from_slice(&text).unwrap();
        let sender = &mut entities["agents"][0];
        assert_eq!((&sender["alias"], &sender["groups"]), (&json!("retailer-7"), &json!(["partners"])));
        sender["groups"] = json!(["no-free-text"]);
        std::fs::write(policies.join("entities.json"), entities.to_string()).unwrap();
        let gateway = Gateway::before(&up, behind.address, keep);
        let answer = gateway.post(PAYMENT);
        assert_eq!((answer.status, answer.code().as_str()), (403, "policy_denied"));
        let record: Value = wait_for("the record", || {
            let text = std::fs::read_to_string(&gateway.audit).ok()?;
            serde_json::from_str(text.lines().next()?).ok()
        });
        assert_eq!((&record["digest"], &record["asked"]), (&Value::Null, &Value::Null), "{record}");
        let id = record["decision_id"].as_str().unwrap().to_owned();
        Self { up, gateway, id }
    }

    fn explain(&self, more: &[&str]) -> (i32, String, String) {
        let policies = self.up.path("/policies");
        let words = ["explain", "--decision", &self.id, "--audit", word(&self.gateway.audit), "--policies"];
        policy(&[&words[..], &[word(&policies)], more].concat())
    }
}

const PAYMENT: &str = r#"{"protocol": "L8/1.0", "message_id": "m-1", "performative": "REQUEST", "sender_id": "retailer-7",
    "receiver_id": "wholesaler-1", "context": "urn:contexts:payment:v1.1",
    "content": {"concept_type": "transfer", "sender_id": "a", "receiver_id": "b", "amount": 5, "currency": "USD"}}"#;
const KEEP: &str = "[audit_values]\n\"supplyChain::current_decision.quantity\" = \"values\"\n";

fn decision(quantity: &Value) -> Value {
    json!({"concept": "current_decision", "item_id": "beer", "quantity": quantity})
}

#[test]
fn bug_a_reply_that_was_refused_before_policies_were_asked_was_not_told() {
    let said = Said::of(&decision(&json!("many")), "", KEEP, "reply_refused");
    let (status, shown, errors) = said.explain(&[]);
    assert_eq!(status, 0, "{errors}");
    assert!(
        shown.starts_with("the request, record 1:\nexplained by the policies that decided it, "),
        "{shown}"
    );
    let behind = shown.split_once("\n\nthe reply, record 2:\n").unwrap_or_else(|| panic!("{shown}")).1;
    assert!(
        shown.contains("\nallowed, as it was decided; explained by the policies named here\n"),
        "{shown}"
    );
    let why = "  the record does not hold what was asked: the reply was refused before any condition was evaluated (the `cause` of the \
               answer shows why), or the gateway keeps nothing of it (`[audit_values]`)";
    let lines: Vec<&str> = behind.lines().collect();
    assert_eq!(lines, ["reply refused (reply_refused), as it was decided", why], "{shown}");

    let (status, shown, errors) = said.explain(&["--json"]);
    assert_eq!(status, 0, "{errors}");
    let told: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let record = |n: u8, direction: &str, verdict: &str, code: Value| json!({"n": n, "direction": direction, "verdict": verdict, "code": code, "more_alike": 0});
    assert_eq!(told.len(), 2, "{shown}");
    assert_eq!(told[0]["record"], record(1, "request", "allowed", Value::Null));
    assert_eq!(told[1]["record"], record(2, "reply", "refused", json!("reply_refused")));
    assert!(told[0]["untold"].is_null() && told[0]["questions"][0]["verdict"] == "permitted", "{shown}");
    assert_eq!((told[1]["untold"].as_str(), &told[1]["questions"]), (Some(why.trim()), &json!([])));
}

#[test]
fn a_reply_that_a_policy_refused_is_explained_below_its_request() {
    let forbid = "@id(\"few\") forbid (principal, action, resource is supplyChain::current_decision)\n\
                  when { context.direction == \"reply\" && resource.quantity > 100 };\n";
    let said = Said::of(&decision(&json!(120)), forbid, KEEP, "reply_refused");
    let (status, shown, errors) = said.explain(&[]);
    assert_eq!(status, 0, "{errors}");
    let (request, reply) =
        shown.split_once("\n\nthe reply, record 2:\n").unwrap_or_else(|| panic!("{shown}"));
    assert!(
        request.starts_with("the request, record 1:\n")
            && request.contains("supplyChain::current_decision: permitted"),
        "{shown}"
    );
    assert!(
        !request.contains(
            "forbid more.cedar#few (more.cedar:1:1)\n      more.cedar:2:1 when resource.quantity > 100: true"
        ),
        "{shown}"
    );
    for line in [
        "reply refused (reply_refused), as it was decided; explained by the policies named here",
        "supplyChain::current_decision: denied",
        "    forbid more.cedar#few (more.cedar:1:1)",
    ] {
        assert!(reply.lines().any(|shown| shown == line), "no `{line}` in:\n{shown}");
    }
}

#[test]
fn bug_a_refusal_after_policies_had_permitted_was_told_as_if_they_were_the_reason() {
    let up = Up::start();
    // nobody listens there any more
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gateway = Gateway::before(&up, gone, KEEP);
    let request = json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": "INFORM", "sender_id": "retailer-7",
        "receiver_id": "wholesaler-1", "context": "urn:contexts:supplyChain:v1.0", "content": decision(&json!(1))});
    let answer = gateway.post(&request.to_string());
    assert_eq!(answer.code(), "upstream_unavailable");
    let id = wait_for("the record", || {
        let text = std::fs::read_to_string(&gateway.audit).ok()?;
        let record: Value = serde_json::from_str(text.lines().next()?).ok()?;
        record["decision_id"].as_str().map(str::to_owned)
    });
    let said = Said { up, gateway, id };
    let (status, shown, errors) = said.explain(&[]);
    assert_eq!(status, 0, "{errors}");
    let headline = "refused (upstream_unavailable), as it was decided; policies permitted it, and a later check refused it: \
                    docs/reference/refusals.md describes that code, and the gateway's log shows the cause under this id";
    assert!(shown.lines().any(|line| line == headline), "{shown}");
    assert!(shown.lines().any(|line| line == "supplyChain::current_decision: permitted"), "{shown}");
}

#[test]
fn bug_of_a_reply_that_was_refused_and_of_which_nothing_is_kept_the_request_alone_was_told() {
    let said = Said::of(&decision(&json!("many")), "", "", "reply_refused");
    let (status, shown, errors) = said.explain(&[]);
    assert_eq!((status, shown.as_str()), (1, ""));
    assert!(errors.contains("the reply was refused before any condition was evaluated"), "{errors}");
}

#[test]
fn bug_of_a_line_that_is_closed_to_its_sender_it_was_told_that_nothing_is_kept() {
    for keep in [KEEP, ""] {
        let said = Said::of_a_closed_line(keep);
        let (status, shown, errors) = said.explain(&[]);
        assert_eq!(status, 0, "{errors}");
        let (sets, behind) = shown.split_once('\n').unwrap();
        assert!(sets.starts_with("explained by the policies that decided it, "), "{shown}");
        let (headline, near) = behind.split_once('\n').unwrap();
        assert_eq!(headline, "refused (policy_denied), as it was decided; no policy condition was evaluated");
        assert!(near.contains("    permit lines.cedar#transfers ("), "{shown}");
        let scope = "      scope: the sender would have to be in the group `partners`";
        assert!(near.lines().any(|line| line == scope), "{shown}");

        // word for word what is told of the message itself
        let file = said.up.dir.join("payment.json");
        std::fs::write(&file, PAYMENT).unwrap();
        let policies = said.up.path("/policies");
        let message =
            ["explain", "--message", word(&file), "--sender", "retailer-7", "--receiver", "wholesaler-1"];
        let (status, told, errors) = policy(&[&message[..], &["--policies", word(&policies)]].concat());
        assert_eq!((status, told.split_once('\n').unwrap().1), (0, near), "{errors}");

        // another set that lets its sender use the line has conditions to look at
        let open = policies.join("open.cedar");
        std::fs::write(&open, "permit (principal in Group::\"no-free-text\", action == Action::\"REQUEST\", resource is payment::transfer);\n").unwrap();
        let (status, shown, errors) = said.explain(&[]);
        assert_eq!((status, shown.as_str()), (1, ""), "{errors}");
        let why = "the line was refused to this sender before any condition was evaluated, and these policies do not refuse `payment` so";
        assert!(errors.contains(why) && errors.contains("ask again with `--message`"), "{errors}");
    }
}
