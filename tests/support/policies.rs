//! Policy sets as directories, and what a gateway tells of the one that it asks.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::gateway::{Gateway, Scripted};
use super::{Up, plain_get};

pub const REPLY: &str = r#"{"protocol":"L8/1.0","message_id":"r-1","performative":"INFORM","sender_id":"wholesaler-1","receiver_id":"retailer-7","context":"urn:contexts:supplyChain:v1.0","content":{"concept":"current_decision","item_id":"beer","quantity":1}}"#;

pub fn message(content: &Value) -> String {
    under("supplyChain:v1.0", content)
}

pub fn under(context: &str, content: &Value) -> String {
    json!({
        "protocol": "L8/1.0", "message_id": "m-1", "performative": "INFORM", "sender_id": "retailer-7",
        "receiver_id": "wholesaler-1", "context": format!("urn:contexts:{context}"), "content": content,
    })
    .to_string()
}

/// A directory with the agents of the shipped one, and these files.
pub fn revision(up: &Up, name: &str, files: &[(&str, String)]) -> PathBuf {
    let directory = up.dir.join("revisions").join(name);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::copy(up.path("/policies").join("entities.json"), directory.join("entities.json")).unwrap();
    for (file, text) in files {
        std::fs::write(directory.join(file), text).unwrap();
    }
    directory
}

pub fn permit(id: &str, concept: &str) -> String {
    format!(
        "@id(\"{id}\") permit (principal in Group::\"partners\", action, resource is supplyChain::{concept});\n"
    )
}

/// What every revision needs so that replies pass.
pub fn replies() -> (&'static str, String) {
    ("replies.cedar", "permit (principal in Group::\"repliers\", action, resource);\n".to_owned())
}

/// A link that leads to another place at once, as git-sync does it.
pub fn turn(link: &Path, target: &Path) {
    let beside = link.with_file_name("turning");
    let _ = std::fs::remove_file(&beside);
    symlink(target, &beside).unwrap();
    std::fs::rename(&beside, link).unwrap();
}

/// A gateway whose `policies` is `<up>/current`.
pub fn gateway(up: &Up, behind: &Scripted, limits: &str) -> Gateway {
    let config = up.path("/firewall_config");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("policies = \"policies\"", "policies = \"current\"")).unwrap();
    Gateway::before(up, behind.address, limits)
}

pub fn status(gateway: &Gateway) -> Value {
    plain_get(&format!("http://{}/status", gateway.admin)).json()
}

pub fn metrics(gateway: &Gateway) -> String {
    String::from_utf8(plain_get(&format!("http://{}/metrics", gateway.admin)).body).unwrap()
}

/// The digests that the metrics show as live.
pub fn shown_live(gateway: &Gateway) -> Vec<String> {
    let text = metrics(gateway);
    let lines = text.lines().filter(|line| line.starts_with("semgate_policy_set_info{set=\"live\""));
    lines.map(|line| line.split("digest=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()).collect()
}

pub fn digest_of(directory: &Path) -> String {
    semgate_policies::PolicySource::read_dir(directory).unwrap().digest().to_string()
}

pub fn records(gateway: &Gateway) -> Vec<Value> {
    let text = std::fs::read_to_string(&gateway.audit).unwrap();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
