//! `config-schema` against the configurations that the product makes, and against mutations of them that a start refuses.

use std::path::Path;

use serde_json::{Value, json};

use super::support::Up;
use super::{semgate, shown};

fn schema(file: &str) -> jsonschema::Validator {
    let (status, text, errors) = shown(&semgate(&["config-schema", file]));
    assert_eq!(status, 0, "{errors}");
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

/// True if a start takes these settings.
fn taken(file: &str, settings: &Value) -> bool {
    let Ok(text) = toml::to_string(settings) else { return false };
    match file {
        "firewall" => semgate_gateway::Config::parse(&text, Path::new("/etc/semgate")).is_ok(),
        _ => semgate_authority::Config::parse(&text, Path::new("/etc/semgate")).is_ok(),
    }
}

/// The pointers of all values, tables and lists included.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| pointers(value, &format!("{at}/{name}"), all));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, value)| pointers(value, &format!("{at}/{n}"), all));
        }
        _ => {}
    }
}

/// Every settings file with one fault that both must refuse: an unknown key, or a value of another type.
fn mutations(settings: &Value) -> Vec<(String, Value)> {
    let (mut all, mut places) = (Vec::new(), Vec::new());
    pointers(settings, "", &mut places);
    for at in places {
        let mut one = settings.clone();
        let value = one.pointer_mut(&at).unwrap();
        match value {
            Value::Object(members) => drop(members.insert("unknwon".to_owned(), json!(1))),
            other => *other = json!({"of": "another type"}),
        }
        all.push((at, one));
    }
    all
}

/// The settings without one key.
fn without(settings: &Value) -> Vec<(String, Value)> {
    let (mut all, mut places) = (Vec::new(), Vec::new());
    pointers(settings, "", &mut places);
    for at in places.iter().filter(|at| !at.is_empty()) {
        let mut one = settings.clone();
        let (above, name) = at.rsplit_once('/').unwrap();
        if let Some(Value::Object(members)) = one.pointer_mut(above) {
            members.remove(name);
            all.push((at.clone(), one));
        }
    }
    all
}

#[test]
fn the_schema_of_a_configuration_refuses_what_a_start_refuses() {
    let up = Up::start();
    for file in ["firewall", "authority"] {
        let schema = schema(file);
        let made = up.path(&format!("/{file}_config"));
        let (_, printed, _) = shown(&semgate(&[file, "check", "--config", made.to_str().unwrap()]));
        let made = std::fs::read_to_string(made).unwrap();
        // as written, and with every default
        for text in [made, printed] {
            let settings: toml::Table = toml::from_str(&text).unwrap();
            let settings = serde_json::to_value(settings).unwrap();
            let faults: Vec<String> = schema.iter_errors(&settings).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty() && taken(file, &settings), "{faults:?}\n{text}");
            let all = mutations(&settings);
            assert!(all.len() > 30, "{}", all.len());
            for (at, changed) in all {
                assert!(!taken(file, &changed), "{file}: a start takes a fault at `{at}`");
                assert!(!schema.is_valid(&changed), "{file}: the schema takes a fault at `{at}`");
            }
            for (at, changed) in without(&settings) {
                let refused = !schema.is_valid(&changed);
                assert!(!refused || !taken(file, &changed), "{file}: only the schema demands `{at}`");
            }
        }
    }
}
