//! Unmodified clients of HumanLayer and gotoHuman ask people through the gateway.

use crate::support;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::people::Person;
use support::{Up, python};

/// Answers the one open request of this kind.
fn answer(bob: &Person<'_>, act: &str, more: &Value) -> Value {
    let hold = bob.asked();
    let mut body = json!({"digest": hold["digest"]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answered = bob.post(&format!("/v1/approvals/{}/{act}", hold["id"].as_str().unwrap()), &body);
    assert_eq!(answered.status, 200, "{}", String::from_utf8_lossy(&answered.body));
    hold
}

#[test]
fn humanlayer_function_waits_and_runs() {
    let up = Up::start();
    let agent = free_address();
    let route = format!(
        "[[route]]\nname = \"people\"\nlisten = \"{agent}\"\nbinding = \"a2h\"\nplain_sender = \"spiffe://semgate.test/agent/sre-bot-1\"\nreceiver = \"spiffe://semgate.test/people\"\ndefault_human = \"human://bob.sre\"\n\n"
    );
    let gateway = Gateway::serving(&up, agent, &route, "");
    let bob = Person::at(&up, "bob.sre", gateway.people);
    let mut client = Command::new(python::with_humanlayer())
        .arg(python::script("humanlayer_client.py"))
        .arg(format!("http://{agent}"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
    let mut next = |step: &str| -> Value {
        let line: Value = serde_json::from_str(&lines.next().expect(step).unwrap()).unwrap();
        assert_eq!(line["step"], step, "{line}");
        line
    };
    // the function waits, and runs once after the approval
    let hold = answer(&bob, "approve", &json!({}));
    assert_eq!(hold["interaction"]["call"]["arguments"], json!({"deployment": "checkout-service"}));
    assert!(!hold.to_string().contains("xoxb"), "the channel of the agent is not carried");
    let approved = next("approved");
    assert_eq!(
        (&approved["result"], &approved["runs"]),
        (&json!("restarted checkout-service"), &json!(["checkout-service"]))
    );
    // a denial shows the person's words, and nothing runs
    answer(&bob, "deny", &json!({"reason": "not during the sale"}));
    let denied = next("denied");
    assert_eq!(denied["result"], "User denied rollout_restart with message: not during the sale");
    assert_eq!(denied["runs"], json!(["checkout-service"]));
    // a question gets the text, or the chosen option
    answer(&bob, "approve", &json!({"data": {"response": "eu-central"}}));
    assert_eq!(next("text")["result"], "eu-central");
    answer(&bob, "approve", &json!({"selected_option": "deployment.yaml"}));
    assert_eq!(next("option")["result"], "deployment.yaml");
    let review = next("review");
    assert_eq!(bob.asked()["id"], review["result"]);
    let auto = next("auto");
    assert!(auto["result"].as_str().unwrap().contains("400"), "{auto}");
    assert!(client.wait().unwrap().success());
}
