//! The alerts and the dashboard of `deploy/monitoring/`, held against what running servers measure, and by Prometheus' own tool.

use crate::support;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::gateway::{Gateway, Scripted};
use support::otlp::Receiver;
use support::policies::{REPLY, metrics};
use support::{Up, plain_get};

/// The verifier key of a witness that nobody runs.
const WITNESS: &str = "w.example+77b6d317+BPGY824g7eJ66LNqHzDMjb0Gu96kf+VJ/7vsucsLGd4A";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join("deploy/monitoring").join(name)).unwrap()
}

fn promtool(words: &[&str], input: &str) -> Output {
    let program = root().join("target/promtool");
    assert!(program.exists(), "`./check tools` fetches `target/promtool`");
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn good(output: &Output) {
    let text = [&output.stdout[..], &output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

/// Names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("semgate_")).map(str::to_owned).collect()
}

/// Names of the samples that a server shows.
fn measured(text: &str) -> BTreeSet<String> {
    named(&text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n"))
}

/// What a gateway with all its parts measures, and an authority with a witness.
fn servers() -> [String; 2] {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("semgate");
    Up::start_in(&dir).stop();
    let file = dir.join("authority.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    let witness = format!("\n[[witness]]\nurl = \"http://127.0.0.1:9\"\nkey = \"{WITNESS}\"\n");
    std::fs::write(&file, settings.clone() + &witness).unwrap();
    let up = Up::start_in(&dir);
    let (receiver, agent) = (Receiver::start(), Scripted::saying(REPLY.to_owned()));
    let gateway = Gateway::before(&up, agent.address, &receiver.settings("0.01"));
    let admin = settings.lines().find_map(|line| line.strip_prefix("admin = \"")).unwrap();
    let authority = plain_get(&format!("http://{}/metrics", admin.trim_end_matches('"')));
    [metrics(&gateway), String::from_utf8(authority.body).unwrap()]
}

#[test]
fn alerts_and_dashboard_name_only_what_running_servers_measure() {
    let alerts = read("alerts.yaml");
    good(&promtool(&["check", "rules", root().join("deploy/monitoring/alerts.yaml").to_str().unwrap()], ""));
    let servers = servers();
    for text in &servers {
        good(&promtool(&["check", "metrics"], text));
    }
    let measured: BTreeSet<String> = servers.iter().flat_map(|text| measured(text)).collect();
    let dashboard: serde_json::Value = serde_json::from_str(&read("dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let expressions = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let shown: Vec<&str> = expressions.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(shown.len() > 10, "{shown:?}");
    let rules = alerts.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect::<Vec<_>>();
    assert!(rules.len() > 10, "{rules:?}");
    let unknown: Vec<_> =
        named(&(rules.join("\n") + &shown.join("\n"))).difference(&measured).cloned().collect();
    assert!(unknown.is_empty(), "no server measures {unknown:?}: {measured:?}");
}
