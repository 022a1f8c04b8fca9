//! JSON Schema of `firewall.toml`, for editors. It has every key and its type; `check` also knows the rules across settings.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::route::{
    A2aOptions, AgentOptions, GroupOptions, L8Options, McpOptions, OwnedOptions, RouteConfig, SpeechOptions,
};
use super::{A2hOptions, Config, IacOptions, LdpOptions};

impl Config {
    /// JSON Schema 2020-12 of the file.
    #[must_use]
    pub fn schema() -> Value {
        let mut schema = of::<Self>();
        insert(&mut schema, "title", json!("firewall.toml"));
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("route".to_owned(), json!({"type": "array", "minItems": 1, "items": route()}));
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.extend([json!("authority"), json!("route")]);
        }
        schema
    }
}

/// The schema of a route: the options of every kind, because the kind depends on their values.
fn route() -> Value {
    let layers = [
        of::<RouteConfig>(),
        of::<AgentOptions>(),
        of::<SpeechOptions>(),
        of::<OwnedOptions>(),
        of::<L8Options>(),
        of::<A2aOptions>(),
        of::<McpOptions>(),
        of::<A2hOptions>(),
        of::<LdpOptions>(),
        of::<IacOptions>(),
        of::<GroupOptions>(),
    ];
    let mut properties = Map::new();
    for layer in layers {
        if let Some(own) = layer.get("properties").and_then(Value::as_object) {
            properties.extend(own.clone());
        }
    }
    json!({
        "type": "object", "properties": properties, "additionalProperties": false,
        "required": ["name", "listen", "binding"],
        "anyOf": [
            {"required": ["receiver", "upstream", "contexts"]},
            {"required": ["group", "members", "contexts"]},
            {"required": ["receiver"], "properties": {"binding": {"const": "a2h"}, "upstream": false}},
        ],
    })
}

fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn insert(schema: &mut Value, name: &str, value: Value) {
    if let Some(members) = schema.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}
