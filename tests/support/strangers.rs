//! What strangers do with an authority: they are told roots and log key, and nothing else.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::gateway::{Gateway, Scripted};
use super::{Ended, SEMGATE, Up, plain_get, python};

pub const DECISION: &str = r#"{"item_id":"beer","quantity":120}"#;
pub const REPLY: &str = r#"{"protocol":"L8/1.0","message_id":"r-1","performative":"INFORM","sender_id":"wholesaler-1","receiver_id":"retailer-7","context":"urn:contexts:supplyChain:v1.0","content":{"concept_type":"current_decision","item_id":"beer","quantity":120}}"#;

pub fn run(words: &[&str]) -> Output {
    Command::new(SEMGATE).args(words).output().unwrap()
}

pub fn good(words: &[&str]) -> String {
    let output = run(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Status and what was said of a refusal.
pub fn bad(words: &[&str]) -> (i32, String) {
    let output = run(words);
    assert!(!output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stdout));
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// What a stranger is told: the roots and the log key, as files and text.
pub struct Told {
    pub roots: String,
    pub key: String,
}

impl Told {
    pub fn of(up: &Up) -> Told {
        let config: toml::Value =
            toml::from_str(&std::fs::read_to_string(up.path("/firewall_config")).unwrap()).unwrap();
        let key = config["authority"][0]["log_key"].as_str().unwrap().to_owned();
        Told { roots: text(&up.path("/roots")), key }
    }

    pub fn words<'a>(&'a self, job: &[&'a str]) -> Vec<&'a str> {
        [job, &["--roots", &self.roots, "--log-key", &self.key]].concat()
    }
}

/// Says the interpreter's verdict by the independent verifier.
pub fn judged(words: &[&str]) -> Result<String, String> {
    let output =
        Command::new(python::with_log()).arg(python::script("log_verifier.py")).args(words).output().unwrap();
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(shown(&output.stdout)) } else { Err(shown(&output.stderr)) }
}

/// Somebody else's web server over a directory.
pub fn serve(dir: &Path) -> (Ended, String) {
    let mut child = Command::new("python3")
        .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory"])
        .arg(dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.split("port ").nth(1).and_then(|rest| rest.split(' ').next()).expect(&line);
    (Ended(child), format!("http://127.0.0.1:{port}"))
}

pub fn mirror(up: &Up, to: &Path) {
    let made = up.semgate(&["authority", "mirror", &text(to)]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

pub fn publish(up: &Up, urn: &str) {
    let file = up.dir.join(format!("{}.json", urn.replace([':', '.'], "-")));
    let document = format!(
        r#"{{"context":"{urn}","concepts":{{"thing":{{"type":"object","properties":{{"n":{{"type":"integer"}}}}}}}}}}"#
    );
    std::fs::write(&file, document).unwrap();
    let published = up.semgate(&["context", "publish", &text(&file)]);
    assert!(published.status.success(), "{}", String::from_utf8_lossy(&published.stderr));
}

pub fn plain_size(dir: &Path) -> u64 {
    std::fs::read_to_string(dir.join("checkpoint")).unwrap().lines().nth(1).unwrap().parse().unwrap()
}

/// A gateway that follows a mirror over plain HTTP on this machine, and its agent.
pub fn gateway_of(up: &Up, url: &str, more: &str) -> (Gateway, Scripted) {
    let behind = Scripted::saying(REPLY.to_owned());
    let config = up.path("/firewall_config");
    let kept = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, kept.replace(up.text("/authority_url"), url)).unwrap();
    let gateway = Gateway::before(up, behind.address, more);
    std::fs::write(&config, kept).unwrap();
    (gateway, behind)
}

pub fn decision() -> String {
    format!(
        r#"{{"protocol":"L8/1.0","message_id":"m-1","performative":"INFORM","sender_id":"retailer-7","receiver_id":"wholesaler-1","context":"urn:contexts:supplyChain:v1.0","content":{{"concept_type":"current_decision",{}}}"#,
        DECISION.trim_start_matches('{')
    )
}

pub fn verdict(gateway: &Gateway) -> (u16, String) {
    let answer = gateway.post(&decision());
    let json: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    (answer.status, json["code"].as_str().unwrap_or_default().to_owned())
}

pub fn gateway_status(gateway: &Gateway) -> Value {
    plain_get(&format!("http://{}/status", gateway.admin)).json()
}

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { assert!(std::fs::copy(&path, &target).is_ok()) }
    }
}
