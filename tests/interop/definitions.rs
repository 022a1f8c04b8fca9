//! `semgate context serve-mcp` before the official MCP client for Python, unmodified: it lists, resolves and checks, in both revisions.

use crate::support;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use support::{SEMGATE, Up, answered, node, python};

const TRAVEL: &str = "urn:contexts:travel:v2.1";

/// The sources of the Python client.
fn client() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/python/src")
}

/// The results that the client shows to its user in this mode.
fn shown(up: &Up, mode: &str, calls: &[Value]) -> Value {
    let mut program = Command::new(python::with_mcp());
    program.arg("-B").arg(python::script("definitions_client.py")).arg(SEMGATE).arg(&up.dir).arg(mode);
    answered(program.env("PYTHONPATH", client()), mode, calls)
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

fn resolve(context: &str, parameter: &str, value: &str) -> Value {
    call("resolve_ambiguity", json!({"context": context, "parameter": parameter, "value": value}))
}

fn flight(dest: &str) -> Value {
    let content =
        json!({"task": "bookFlight", "origin_code": "LAX", "dest_code": dest, "date": "2026-12-01"});
    call("check_message", json!({"context": "travel:v2.1", "content": content}))
}

#[test]
fn f0_33_the_official_client_resolves_new_york_and_checks_messages_in_every_revision() {
    let up = Up::start();
    let calls = [
        resolve(TRAVEL, "dest_code", "New York"),
        resolve("travel:v2.2", "dest_code", "  new YORK"),
        resolve(TRAVEL, "dest_code", "Atlantis"),
        resolve(TRAVEL, "seat", "14A"),
        flight("JFK"),
        flight("Secretville"),
        call(
            "check_message",
            json!({"context": TRAVEL, "name": "bookFlight", "content": "{\"date\": \"soon\"}"}),
        ),
        call("lookup_concept", json!({"name": "bookFlight", "context": TRAVEL})),
        call("list_codes", json!({"context": TRAVEL, "parameter": "dest_code"})),
        call("list_codes", json!({"context": TRAVEL, "why": "curious"})),
        json!({"read": TRAVEL}),
    ];
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")] {
        let shown = shown(&up, mode, &calls);
        assert_eq!(shown["version"], version, "{mode}");
        assert!(shown["resources"].as_array().unwrap().contains(&json!(TRAVEL)), "{mode}: {shown}");
        assert_eq!(
            shown["tools"],
            json!(["lookup_concept", "list_codes", "resolve_ambiguity", "check_message"])
        );
        assert_eq!(shown["read_only"], true);
        let came = shown["came"].as_array().unwrap();
        assert_eq!(came[0]["options"], json!(["JFK", "LGA", "EWR"]), "{mode}: {}", came[0]);
        assert_eq!(
            (&came[0]["context"], &came[0]["by"]),
            (&json!(TRAVEL), &json!("urn:contexts:travel:v2.2"))
        );
        assert_eq!((&came[1]["options"], &came[1]["ground"]), (&came[0]["options"], &json!("label")));
        assert_eq!(
            (&came[2]["options"], &came[2]["ground"]),
            (&json!([]), &json!("none")),
            "nothing is guessed"
        );
        assert_eq!(came[2]["choices"].as_array().unwrap().len(), 78);
        assert_eq!((&came[3]["error"], &came[3]["code"]), (&json!(true), &json!("content_invalid")));
        assert_eq!((&came[4]["conforms"], &came[4]["error"]), (&json!(true), &json!(false)), "{}", came[4]);
        assert_eq!(came[5]["conforms"], false);
        assert_eq!(came[5]["faults"], json!([{"path": "/dest_code", "rule": "x-code-list"}]));
        assert!(!came[5].to_string().contains("Secretville"), "no value enters an answer: {}", came[5]);
        assert_eq!(came[6]["missing"], json!(["/dest_code", "/origin_code"]), "{}", came[6]);
        let definition = came[7]["definition"].as_str().unwrap();
        assert!(
            definition.contains("## Task bookFlight\n") && definition.contains("AKL AMS"),
            "{definition}"
        );
        assert_eq!(came[8]["total"], 78);
        assert_eq!((&came[9]["error"], &came[9]["code"]), (&json!(true), &json!("malformed")));
        assert!(came[10].as_str().unwrap().starts_with(&format!("# Context {TRAVEL}\n")), "{}", came[10]);
    }
}

#[test]
fn attack_a_suspended_or_revoked_context_is_not_served_as_current() {
    let up = Up::start();
    for (act, context, code) in
        [("suspend", "travel:v2.1", "context_suspended"), ("revoke", "devops:v1.0", "context_revoked")]
    {
        let mut words = vec!["context", act, context, "--dir", up.dir.to_str().unwrap()];
        words.extend((act == "revoke").then_some("--yes"));
        let output = Command::new(SEMGATE).args(words).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let urn = format!("urn:contexts:{context}");
        let calls = [call("list_codes", json!({"context": context})), json!({"read": urn})];
        let shown = shown(&up, "auto", &calls);
        assert!(!shown["resources"].as_array().unwrap().contains(&json!(urn)), "{shown}");
        assert_eq!((&shown["came"][0]["error"], &shown["came"][0]["code"]), (&json!(true), &json!(code)));
        assert!(shown["came"][1].as_str().unwrap().contains(code), "{shown}");
    }
    let below = shown(&up, "auto", &[call("list_codes", json!({"context": "payment:v1.0"}))]);
    assert_eq!(below["came"][0]["code"], "context_below_floor", "{below}");
}

#[test]
fn the_client_of_javascript_resolves_new_york_too() {
    let up = Up::start();
    let shown = node::run("definitions_client.mjs", &[SEMGATE, up.dir.to_str().unwrap()]);
    for one in &shown {
        assert_eq!(one["options"], json!(["JFK", "LGA", "EWR"]), "{one}");
        assert!(one["resources"].as_array().unwrap().contains(&json!(TRAVEL)), "{one}");
    }
    assert_eq!(shown.len(), 2, "both lines of the SDK");
}

#[test]
fn three_lines_of_python_put_a_prompt_into_an_agent() {
    let up = Up::start();
    let lines = "import sys\nfrom semgate import Authority, prompt\nprint(prompt('travel:v2.1', Authority(dir=sys.argv[1]), budget=2000, program=sys.argv[2]), end='')";
    let output = Command::new(python::with_mcp())
        .args(["-B", "-c", lines])
        .arg(&up.dir)
        .arg(SEMGATE)
        .env("PYTHONPATH", client())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let served = up.authority(&format!("/v1/contexts/{TRAVEL}/prompt?budget=2000"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&served.body));
}

/// The output of the official inspector. An empty package stands for `napi-windows-process-start-time`, an optional one
/// for Windows that npm does not have.
fn inspected(up: &Up, words: &[&str]) -> Value {
    let home = node::installed("inspector");
    let output = Command::new("node")
        .args(["node_modules/.bin/mcp-inspector", "--cli", SEMGATE, "context", "serve-mcp", "--dir"])
        .arg(&up.dir)
        .args(words)
        .current_dir(home)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_official_inspector_lists_reads_and_calls() {
    let up = Up::start();
    let listed = inspected(&up, &["--method", "tools/list"]);
    let names: Vec<&Value> = listed["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["lookup_concept", "list_codes", "resolve_ambiguity", "check_message"]);
    let read = inspected(&up, &["--method", "resources/read", "--uri", TRAVEL]);
    assert_eq!(read["contents"][0]["uri"], TRAVEL, "{read}");
    let words = ["context=travel:v2.1", "parameter=dest_code", "value=New York"];
    let mut call = vec!["--method", "tools/call", "--tool-name", "resolve_ambiguity"];
    words.iter().for_each(|word| call.extend(["--tool-arg", word]));
    let resolved = inspected(&up, &call);
    assert_eq!(resolved["structuredContent"]["options"], json!(["JFK", "LGA", "EWR"]), "{resolved}");
}
