//! Tests of `agent_card`.

use super::*;

fn card(more: Value) -> Value {
    let mut card =
        json!({"name": "Orders", "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"]});
    if let (Some(members), Value::Object(more)) = (card.as_object_mut(), more) {
        members.extend(more);
    }
    card
}

fn one_point_oh(url: &str, binding: &str) -> Value {
    json!({"url": url, "protocolBinding": binding, "protocolVersion": "1.0"})
}

fn ids(read: &FromCard) -> Vec<&str> {
    read.rules.iter().map(|rule| rule.id.as_str()).collect()
}

#[test]
fn a_card_of_1_0_decides_path_versions_and_transports() {
    let rpc = one_point_oh("https://public.example/a2a", "JSONRPC");
    let rest = one_point_oh("https://public.example/a2a", "HTTP+JSON");
    let old =
        json!({"url": "https://public.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"});
    let read = read(&card(json!({"supportedInterfaces": [rpc, rest, old]})), None).unwrap();
    assert_eq!(read.path, "/a2a");
    assert!(read.settings[0].starts_with("versions = [\"1.0\", \"0.3\"]"), "{:?}", read.settings);
    assert_eq!(read.settings[1], "transports = [\"jsonrpc\", \"rest\"]");
    assert_eq!(read.call, "--text hello");
    assert!(ids(&read).contains(&"send-text") && !ids(&read).contains(&"send-data"));
    assert!(!ids(&read).contains(&"follow-task"), "the agent does not stream");
}

#[test]
fn a_card_of_0_3_decides_them_too() {
    let read = read(
        &card(json!({
            "url": "http://127.0.0.1:9/", "protocolVersion": "0.3.0", "capabilities": {"streaming": true},
            "additionalInterfaces": [{"url": "http://127.0.0.1:9/v1", "transport": "HTTP+JSON"}],
            "supportsAuthenticatedExtendedCard": true,
        })),
        None,
    )
    .unwrap();
    assert!(read.settings[0].starts_with("versions = [\"0.3\"]"), "{:?}", read.settings);
    assert_eq!(read.settings[1], "transports = [\"jsonrpc\"]", "the other one has another path");
    let ids = ids(&read);
    assert!(
        ids.contains(&"follow-task") && ids.contains(&"read-extended-card") && !ids.contains(&"list-tasks")
    );
}

#[test]
fn media_types_of_the_card_and_its_skills_are_what_is_admitted() {
    let rpc = one_point_oh("http://127.0.0.1:9/", "JSONRPC");
    let skill = json!({"id": "s", "inputModes": ["image/png"], "outputModes": ["application/json"]});
    let read = read(&card(json!({"supportedInterfaces": [rpc], "skills": [skill]})), None).unwrap();
    assert!(read.settings.iter().any(|line| line.starts_with("admit = [\"text\", \"data\", \"file\"]")));
    assert!(ids(&read).contains(&"send-metadata"), "admitted data is not stripped of metadata");
}

#[test]
fn a_card_without_json_rpc_is_refused_with_a_page() {
    let grpc = one_point_oh("http://127.0.0.1:9/", "GRPC");
    let Err(fault) = read(&card(json!({"supportedInterfaces": [grpc]})), None) else { panic!("read") };
    assert!(fault.to_string().contains("no interface over JSON-RPC"), "{fault}");
}
