//! An A2A agent as its card describes it.

use std::collections::BTreeSet;

use http::Uri;
use serde_json::{Value, json};

use super::plan::Rule;
use super::typed::Typed;
use crate::fault::Fault;

/// The context of A2A's own operations and uninspected parts.
const A2A: &str = "urn:contexts:a2a:v1.0";

/// The part of a route that a card decides.
pub struct FromCard {
    /// The agent's name.
    pub name: String,
    /// Path of its messages.
    pub path: String,
    /// Lines of the route's table.
    pub settings: Vec<String>,
    /// The policies.
    pub rules: Vec<Rule>,
    /// A case for `policy test`.
    pub case: Value,
    /// Words for `semgate call`.
    pub call: String,
}

/// One transport of a card, in either version.
struct Interface {
    uri: Uri,
    transport: String,
    version: &'static str,
}

/// Reads a card.
///
/// # Errors
/// It names no interface over JSON-RPC.
pub fn read(card: &Value, typed: Option<&Typed>) -> Result<FromCard, Fault> {
    let all = interfaces(card);
    let rpc: Vec<&Interface> = all.iter().filter(|one| one.transport == "JSONRPC").collect();
    let first = rpc.first().ok_or_else(|| {
        Fault::new("the card names no interface over JSON-RPC that can be read")
            .hint("docs/reference/config.md describes routes for HTTP+JSON and gRPC")
    })?;
    let path = first.uri.path().to_owned();
    let versions: BTreeSet<&str> = rpc.iter().map(|one| one.version).collect();
    let rest = all.iter().any(|one| one.transport == "HTTP+JSON" && one.uri.path() == path);
    let modes = modes(card);
    let admits = Admits::of(&modes, typed.is_some());
    let transports = if rest { "\"jsonrpc\", \"rest\"" } else { "\"jsonrpc\"" };
    let quoted: Vec<String> = versions.iter().rev().map(|version| format!("\"{version}\"")).collect();
    let mut settings = vec![
        format!("versions = [{}]  # as the card says", quoted.join(", ")),
        format!("transports = [{transports}]"),
        format!(
            "default_context = \"{}\"  # of messages that name no context",
            typed.map_or(A2A, |typed| typed.default_context())
        ),
    ];
    let admitted = admits.names();
    if !admitted.is_empty() {
        settings.push(format!(
            "admit = [{}]  # parts that pass uninspected, because the card lists their media types",
            admitted.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
        ));
    }
    settings.push("card_texts = false  # true lets prose of the agent's card pass".to_owned());
    let says_text = json!({
        "shows": "the client may send text", "context": "a2a:v1.0", "concept": "text", "performative": "REQUEST",
        "content": {"text": "hello"}, "expect": "permitted",
    });
    let reads_card = json!({
        "shows": "the client may read the card", "context": "a2a:v1.0", "concept": "GetAgentCard", "performative": "QUERY",
        "content": {}, "expect": "permitted",
    });
    let (case, call) = match typed {
        Some(typed) => (typed.case(), typed.call()),
        None if admits.text => (says_text, "--text hello".to_owned()),
        None => (reads_card, "--card".to_owned()),
    };
    let name = card.get("name").and_then(Value::as_str).unwrap_or("agent").to_owned();
    Ok(FromCard { name, path, settings, rules: rules(card, &admits, &versions), case, call })
}

fn interfaces(card: &Value) -> Vec<Interface> {
    let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let list = |name: &str| card.get(name).and_then(Value::as_array).into_iter().flatten();
    let mut given: Vec<(Option<String>, Option<String>, Option<String>)> = list("supportedInterfaces")
        .map(|one| (text(one, "url"), text(one, "protocolBinding"), text(one, "protocolVersion")))
        .collect();
    if given.is_empty() {
        let version = || text(card, "protocolVersion").or(Some("0.3".to_owned()));
        let preferred = text(card, "preferredTransport").or(Some("JSONRPC".to_owned()));
        given.push((text(card, "url"), preferred, version()));
        given.extend(
            list("additionalInterfaces").map(|one| (text(one, "url"), text(one, "transport"), version())),
        );
    }
    let read = |(url, transport, version): (Option<String>, Option<String>, Option<String>)| {
        let version = match version?.as_str() {
            "1.0" => "1.0",
            old if old.starts_with("0.3") => "0.3",
            _ => return None,
        };
        Some(Interface { uri: url?.parse().ok()?, transport: transport?, version })
    };
    given.into_iter().filter_map(read).collect()
}

/// Media types of the card and of its skills.
fn modes(card: &Value) -> BTreeSet<String> {
    let skills = card.get("skills").and_then(Value::as_array).into_iter().flatten();
    let lists = skills.flat_map(|skill| [skill.get("inputModes"), skill.get("outputModes")]);
    let all = lists.chain([card.get("defaultInputModes"), card.get("defaultOutputModes")]).flatten();
    all.filter_map(Value::as_array).flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Parts that pass uninspected.
struct Admits {
    text: bool,
    data: bool,
    file: bool,
}

impl Admits {
    /// An agent with contexts of its own gets no data that they do not describe.
    fn of(modes: &BTreeSet<String>, typed: bool) -> Self {
        let is_text = |mode: &String| mode.starts_with("text") || mode == "*/*";
        let is_data = |mode: &String| mode.starts_with("application/json") || mode == "data";
        Self {
            text: (modes.is_empty() && !typed) || modes.iter().any(is_text),
            data: !typed && modes.iter().any(is_data),
            file: modes.iter().any(|mode| !is_text(mode) && !is_data(mode)),
        }
    }

    fn names(&self) -> Vec<&'static str> {
        let all = [("text", self.text), ("data", self.data), ("file", self.file)];
        all.into_iter().filter_map(|(name, admitted)| admitted.then_some(name)).collect()
    }
}

fn rules(card: &Value, admits: &Admits, versions: &BTreeSet<&str>) -> Vec<Rule> {
    let can = |name: &str| card.pointer(&format!("/capabilities/{name}")) == Some(&Value::Bool(true));
    let mut rules = Vec::new();
    for name in admits.names() {
        rules.push(Rule::client(format!("send-{name}"), format!("a2a::{name}")));
        rules.push(Rule::agent(format!("answer-{name}"), format!("a2a::{name}")));
    }
    if admits.text {
        rules.push(Rule::agent("answer-artifact", "a2a::artifact"));
    }
    if admits.data {
        rules.push(Rule::client("send-metadata", "a2a::metadata"));
        rules.push(Rule::agent("answer-metadata", "a2a::metadata"));
    }
    rules.push(Rule::client("read-card", "a2a::GetAgentCard"));
    rules.push(Rule::client("get-task", "a2a::GetTask"));
    rules.push(Rule::client("cancel-task", "a2a::CancelTask"));
    if versions.contains("1.0") {
        rules.push(Rule::client("list-tasks", "a2a::ListTasks"));
    }
    if can("streaming") {
        rules.push(Rule::client("follow-task", "a2a::SubscribeToTask"));
    }
    if can("extendedAgentCard") || card.get("supportsAuthenticatedExtendedCard") == Some(&Value::Bool(true)) {
        rules.push(Rule::client("read-extended-card", "a2a::GetExtendedAgentCard"));
        rules.push(Rule::agent("answer-card", "a2a::AgentCard"));
    }
    rules
}

#[cfg(test)]
mod tests;
