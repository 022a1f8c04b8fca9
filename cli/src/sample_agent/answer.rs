//! The sample agent's answer to the content of a message: the same for every protocol.

use serde_json::{Map, Value, json};

/// The members that may name the type of an instance.
const NAMING: [&str; 3] = ["concept_type", "concept", "task"];

/// The lines whose concepts it restates; for others it only confirms receipt.
const KNOWN_LINES: [&str; 5] = ["travel", "supplyChain", "payment", "snl", "devops"];

/// Tasks of operations, which it only says to have done.
const OPERATIONS: [&str; 2] = ["patchConfig", "rolloutRestart"];

/// An answer in words of the same context.
#[derive(Debug, PartialEq)]
pub enum Answer {
    /// A performative with content.
    Says(&'static str, Value),
    /// A confirmation of receipt.
    Has,
}

/// Answers `content`, sent under the context `urn`.
pub fn answer(urn: &str, content: &Value) -> Answer {
    let instances = instances(content);
    if let Some(question) = instances.iter().find(|i| named(i) == Some("ambiguous_parameter")) {
        return options_for(question).map_or(Answer::Has, |options| Answer::Says("INFORM", options));
    }
    if instances.iter().any(|i| named(i) == Some("bookFlight")) {
        return Answer::Says(
            "INFORM",
            json!({ "task": "bookFlight", "booking_reference": "SEMGATE1", "status": "confirmed" }),
        );
    }
    if let Some(task) = instances.iter().find_map(|i| named(i).filter(|name| OPERATIONS.contains(name))) {
        return Answer::Says("INFORM", json!({ "task": task, "status": "done" }));
    }
    let line = urn.strip_prefix("urn:contexts:").and_then(|rest| rest.split(':').next());
    let restates = line.is_some_and(|line| KNOWN_LINES.contains(&line));
    if restates && !instances.is_empty() { Answer::Says("AGREE", content.clone()) } else { Answer::Has }
}

fn instances(content: &Value) -> Vec<&Map<String, Value>> {
    let Some(object) = content.as_object() else { return Vec::new() };
    if NAMING.iter().any(|n| object.get(*n).is_some_and(Value::is_string)) {
        return vec![object];
    }
    object.values().filter_map(Value::as_object).collect()
}

/// The type of an instance, from any of these members.
fn named(instance: &Map<String, Value>) -> Option<&str> {
    NAMING.iter().find_map(|n| instance.get(*n)).and_then(Value::as_str)
}

/// F0-27: the options for the doubtful parameter. It knows the paper's airports. The context defines the values of other parameters, and an
/// unknown option would be refused.
fn options_for(question: &Map<String, Value>) -> Option<Value> {
    let parameter = question.get("parameter").and_then(Value::as_str)?;
    let options = match parameter {
        "dest_code" => json!(["JFK", "LGA", "EWR"]),
        "origin_code" => json!(["LAX"]),
        _ => return None,
    };
    Some(json!({ "concept": "parameter_options", "parameter": parameter, "options": options }))
}

#[cfg(test)]
mod tests;
