//! The second file of records: OCSF events, which the published schema judges.

use crate::support;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted};
use support::otlp::post;
use support::policies::{REPLY, message, metrics, records};
use support::{Up, python, wait_for};

/// The number of events that the schema accepts.
fn judged(events: &str) -> String {
    let mut child = Command::new(python::with_ocsf())
        .arg(python::script("ocsf_events.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(events.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn events(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// A gateway with the second file at this path.
fn gateway(up: &Up, agent: &Scripted, ocsf: &Path) -> Gateway {
    let config = up.path("/firewall_config");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("audit_ocsf = \"{}\"\n{text}", ocsf.display())).unwrap();
    Gateway::before(up, agent.address, "")
}

#[test]
fn each_record_is_an_event_that_the_published_schema_accepts() {
    let up = Up::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let path = up.dir.join("events.jsonl");
    let gateway = gateway(&up, &agent, &path);
    let url = format!("http://{}/", gateway.l8);
    let decision = |quantity| {
        message(&json!({"concept": "current_decision", "item_id": "SECRET", "quantity": quantity}))
    };
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let headers = format!("traceparent: 00-{trace}-b7ad6b7169203331-01\r\n");
    assert_eq!(post(&url, &headers, &decision(1)).status, 200);
    assert_eq!(post(&url, "", &decision(-1)).code(), "content_invalid");
    assert_eq!(post(&url, "", "{").code(), "malformed");
    let text = wait_for("four events", || Some(events(&path)).filter(|text| text.lines().count() == 4));
    assert_eq!(judged(&text), "4");
    assert!(!text.contains("SECRET"), "no value of a message is in an event");
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let records = records(&gateway);
    for (event, record) in events.iter().zip(&records) {
        assert_eq!(event["metadata"]["correlation_uid"], record["decision_id"]);
        assert_eq!(event["metadata"]["sequence"], record["n"]);
        assert_eq!(event["metadata"]["loggers"][0]["name"], record["gateway"]);
        assert_eq!(event["activity_name"], record["direction"]);
        assert_eq!(event.get("status_code").unwrap_or(&Value::Null), &record["code"]);
        let action = if record["verdict"] == "allowed" { "Allowed" } else { "Denied" };
        assert_eq!(event["action"], action);
    }
    assert_eq!(events[0]["trace"]["uid"], trace);
    assert_eq!(events[0]["authorizations"][0]["policy"]["uid"], records[0]["policies"][0]);
}

#[test]
fn lost_events_are_counted_and_refuse_nothing() {
    let up = Up::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let folder = up.dir.join("siem");
    std::fs::create_dir(&folder).unwrap();
    let gateway = gateway(&up, &agent, &folder.join("events.jsonl"));
    std::fs::remove_dir_all(&folder).unwrap();
    let url = format!("http://{}/", gateway.l8);
    let decision = message(&json!({"concept": "current_decision", "item_id": "beer", "quantity": 1}));
    assert_eq!(post(&url, "", &decision).status, 200);
    let lost = || metrics(&gateway).contains("semgate_audit_ocsf_lost 2\n").then_some(());
    wait_for("the count of lost events", lost);
    assert_eq!(records(&gateway).len(), 2, "the audit file has them");
}
