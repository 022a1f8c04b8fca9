//! `semgate doctor` and `semgate log show`: what is wrong with a directory, and what its log holds.

use super::support::task_agent::TaskAgent;
use super::support::{Up, wait_for};
use super::{bad, fresh, good, run, serve, text};
use serde_json::Value;

/// The findings: level, subject and text in one line each, and the exit status.
fn findings(dir: &str) -> (i32, Vec<String>) {
    let output = run(&["--json", "doctor", "--dir", dir]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let line = |one: &Value| {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}: {}; hint: {}", text("level"), text("on"), text("what"), text("hint"))
    };
    let lines = json["findings"].as_array().unwrap().iter().map(line).collect();
    (output.status.code().unwrap(), lines)
}

fn has(lines: &[String], start: &str, part: &str) {
    let found = lines.iter().any(|line| line.starts_with(start) && line.contains(part));
    assert!(found, "`{start}` with `{part}` in\n{}", lines.join("\n"));
}

#[test]
fn doctor_names_what_keeps_a_directory_from_working_and_its_remedy() {
    let agent = TaskAgent::start();
    let made = fresh();
    let dir = text(&made.path);
    good(&["init", dir, "--a2a", &format!("http://{}", agent.address)]);

    // made and not started: the authority does not answer, and nothing was ever published
    let (status, lines) = findings(dir);
    assert_eq!(status, 1, "{lines:#?}");
    has(&lines, "warn gateway", "does not run");
    has(&lines, "fail authority `semgate.test`", "connection_refused");
    has(&lines, "warn authority `", "was never started");
    has(&lines, "ok certificate `", " days");
    has(&lines, "ok agent of route `task-agent`", "accepts connections");
    has(&lines, "ok route `task-agent`", "is free");

    let up = serve(&["up", "--dir", dir], &made.path.join("up.log"));
    wait_for("up.json", || made.path.join("up.json").exists().then_some(()));
    let (status, lines) = findings(dir);
    assert_eq!(status, 0, "{lines:#?}");
    has(&lines, "ok gateway", "runs and is ready");
    has(&lines, "ok policies", " would be live");
    has(&lines, "ok authority `semgate.test`", "entries, verified at https://");
    has(&lines, "ok clock", "within ");
    has(&lines, "ok profile", "none");
    drop(up);

    // each of these keeps something from working
    std::fs::write(
        made.path.join("policies/wrong.cedar"),
        "permit (principal, action, resource is a2a::txt);\n",
    )
    .unwrap();
    std::fs::write(made.path.join("agents/gateway.pem"), "no certificate\n").unwrap();
    let taken = std::fs::read_to_string(made.path.join("firewall.toml")).unwrap();
    let listen =
        taken.lines().find_map(|line| line.strip_prefix("listen = \"")).unwrap().trim_end_matches('"');
    let _other = wait_for("the port", || std::net::TcpListener::bind(listen).ok());
    let (status, lines) = findings(dir);
    assert_eq!(status, 1, "{lines:#?}");
    has(&lines, "fail start: ", "this would not start");
    has(&lines, "fail route `task-agent`", &format!("cannot listen on {listen}"));
    let (status, shown) =
        (run(&["doctor", "--dir", "/nowhere"]).status.code(), run(&["doctor", "--dir", "/nowhere"]));
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(status == Some(1) && shown.starts_with("FAIL  gateway `/nowhere/firewall.toml`"), "{shown}");
}

#[test]
fn log_show_prints_what_a_verified_log_holds_and_nothing_of_another() {
    let up = Up::start();
    let dir = text(&up.dir);
    good(&["context", "revoke", "travel:v2.1", "--reason", "a test of the table", "--dir", dir]);
    let shown = good(&["log", "show", "--dir", dir]);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 16, "{shown}");
    assert!(
        lines[0].starts_with("     0  20") && lines[0].contains("  publish    urn:contexts:a2a:v1.0"),
        "{shown}"
    );
    assert!(lines[14].ends_with("  floor      payment v1.1  v1.0 could be replayed"), "{shown}");
    assert!(lines[15].ends_with("  revoke     urn:contexts:travel:v2.1  a test of the table"), "{shown}");
    let of_line = good(&["log", "show", "--dir", dir, "--line", "payment"]);
    assert_eq!(of_line.lines().count(), 4, "three versions and a floor: {of_line}");
    let since = good(&["--json", "log", "show", "--dir", dir, "--since", "15"]);
    let last: Value = serde_json::from_str(&since).unwrap();
    assert_eq!((last["index"].as_u64(), last["kind"].as_str()), (Some(15), Some("revoke")));
    assert_eq!(good(&["log", "show", "--dir", dir, "--since", "2099-01-01"]), "");
    let (status, why) = bad(&["log", "show", "--dir", dir, "--since", "yesterday"]);
    assert!(status == 2 && why.contains("a day as `2026-05-01`"), "{why}");
    let key = "other/log+00000000+AUKP71DslhzthTFdq3/6kDxsr7pAPdV0ufv6Pry8xCii";
    let (status, why) = bad(&["log", "show", "--dir", dir, "--log-key", key]);
    assert!(status == 1 && why.contains("log key"), "{why}");
}
