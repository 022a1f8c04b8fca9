//! `semgate init`: what it makes runs as it is, and what it prints works word for word.

use std::process::{Command, Stdio};

use super::support::SEMGATE;
use super::support::gateway::free_address;
use super::support::task_agent::TaskAgent;
use super::{bad, call, fresh, good, mcp_server, serve, text};
use serde_json::{Value, json};

#[test]
fn init_protects_an_agent_and_a_server_and_its_next_commands_work_word_for_word() {
    let (_server, mcp) = mcp_server();
    let agent = TaskAgent::start();
    let made = fresh();
    let dir = &made.path;
    let (a2a, mcp) = (format!("http://{}", agent.address), format!("http://{mcp}/mcp"));
    let printed = good(&["init", text(dir), "--mcp", &mcp, "--a2a", &a2a]);
    let commands: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert_eq!(commands.len(), 4, "{printed}");
    let script = format!("set -e\n{}\nkill $!\nwait\n", commands.join("\n"));
    let path = std::path::Path::new(SEMGATE).parent().unwrap();
    let path = format!("{}:{}", path.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &script]).env("PATH", path).stdin(Stdio::null()).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(out.contains("2 case(s), 0 failed") && out.contains("ALLOWED"), "{out}{err}");
    assert!(out.contains("size: 4"), "the log has the protocols' contexts and that of the tools: {out}{err}");

    for name in ["firewall", "authority"] {
        let text = std::fs::read_to_string(dir.join(format!("{name}.toml"))).unwrap();
        assert_eq!(text.lines().next(), Some(format!("#:schema ./{name}.schema.json").as_str()));
        let schema = std::fs::read(dir.join(format!("{name}.schema.json"))).unwrap();
        let schema: Value = serde_json::from_slice(&schema).unwrap();
        let config: toml::Value = toml::from_str(&text).unwrap();
        assert!(jsonschema::is_valid(&schema, &serde_json::to_value(&config).unwrap()), "{name}");
    }

    // the same directory as separate processes, whose addresses are in its files
    let (authority, firewall) = (dir.join("authority.toml"), dir.join("firewall.toml"));
    let _authority = serve(&["authority", "run", "--config", text(&authority)], &dir.join("authority.log"));
    let _gateway = serve(&["firewall", "run", "--config", text(&firewall)], &dir.join("firewall.log"));
    let add = |arguments: Value| {
        let arguments = arguments.to_string();
        call(dir, &["--wait", "60", "--route", "sums", "--tool", "add", "--args", &arguments])
    };
    let (status, sum) = add(json!({"a": 1, "b": 2}));
    assert_eq!((status, &sum["reply"]["structuredContent"]), (0, &json!({"sum": 3})), "{sum}");
    let (status, refused) = add(json!({"a": "one", "b": 2}));
    assert_eq!((status, &refused["code"]), (3, &json!("content_invalid")), "{refused}");
    let (status, tools) = call(dir, &["--route", "sums", "--list-tools"]);
    let names = tools["reply"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    assert_eq!((status, names.collect::<Vec<_>>()), (0, vec!["add", "remove-all", "story"]));
    // nobody else may, and nothing else
    let (status, refused) = call(dir, &["--route", "sums", "--list-tools", "--as", "operator"]);
    assert_eq!((status, &refused["code"]), (3, &json!("policy_denied")), "{refused}");
    let payment = ["payment:v1.1", "transfer", r#"{"amount":1}"#];
    let (status, refused) = call(dir, &[&["--route", "task-agent"][..], &payment].concat());
    assert_eq!((status, &refused["code"]), (3, &json!("policy_denied")), "{refused}");
    let other = bad(&["call", "--dir", text(dir), "--list-tools"]);
    assert!(other.0 == 2 && other.1.contains("`--route` is one of task-agent, sums"), "{other:?}");
}

#[test]
fn init_refuses_a_directory_with_anything_in_it_and_loses_nothing() {
    let agent = TaskAgent::start();
    let made = fresh();
    let a2a = format!("http://{}", agent.address);
    good(&["init", text(&made.path), "--a2a", &a2a]);
    let config = made.path.join("firewall.toml");
    std::fs::write(&config, "# mine\n").unwrap();
    let (status, why) = bad(&["init", text(&made.path), "--a2a", &a2a]);
    assert!(status == 1 && why.contains("is not empty") && why.contains("nothing was changed"), "{why}");
    assert_eq!(std::fs::read_to_string(&config).unwrap(), "# mine\n");

    // an agent that is not there leaves no directory
    let (other, nobody) = (fresh(), free_address());
    let (status, why) = bad(&["init", text(&other.path), "--mcp", &format!("http://{nobody}/mcp")]);
    assert!(status == 1 && why.contains("no answer from"), "{why}");
    assert_eq!(std::fs::read_dir(other.path.parent().unwrap()).unwrap().count(), 0);
    let (status, why) = bad(&["init", text(&other.path)]);
    assert!(status == 2 && why.contains("no agent is named"), "{why}");
    let (status, why) = bad(&["init", text(&other.path), "--a2a", "https://agents.example"]);
    assert!(status == 2 && why.contains("not an `http://` address on this machine"), "{why}");
}

#[test]
fn init_with_a_context_lets_an_agent_of_native_l8_and_its_client_say_what_it_defines() {
    let up = super::support::Up::start();
    let agent = format!("{}/l8", up.text("/sample_agent/url"));
    let made = fresh();
    let dir = &made.path;
    let words =
        ["init", text(dir), "--l8", &agent, "--context", "travel", "--client", "traveller", "--plain"];
    let printed = good(&words);
    assert!(printed.contains("--wait 60 travel:v2.2 bookFlight"), "{printed}");
    let _up = serve(&["up", "--dir", text(dir)], &dir.join("up.log"));
    let flight = r#"{"origin_code":"LAX","dest_code":"JFK","date":"2026-11-04"}"#;
    let (status, booked) = call(dir, &["--wait", "60", "travel:v2.2", "bookFlight", flight]);
    // the sample agent answers under a name of its own, which this gateway does not lead to
    assert_eq!((status, &booked["code"]), (3, &json!("reply_refused")), "{booked}");
    assert_eq!(booked["delivered"], "yes", "{booked}");
    let wrong = flight.replace("JFK", "nowhere");
    let (status, refused) = call(dir, &["travel:v2.2", "bookFlight", &wrong]);
    assert_eq!((status, &refused["code"]), (3, &json!("content_invalid")), "{refused}");
    let tested = good(&["policy", "test", text(&dir.join("policies/cases"))]);
    assert!(tested.contains("1 case(s), 0 failed"), "{tested}");
}
