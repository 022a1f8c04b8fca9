//! The catalogue as a Cedar schema.

use std::collections::BTreeMap;

use cedar_policy::Schema;
use semgate_contexts::Performative;
use serde_json::{Map, Value, json};

use super::{Catalogue, SCORES, UNUSUAL};
use crate::PolicyFault;

impl Catalogue {
    /// The Cedar schema in Cedar's JSON form.
    pub fn schema_json(&self) -> Value {
        let mut namespaces: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
        for info in &self.types {
            let (space, name) = info.name.rsplit_once("::").unwrap_or(("", &info.name));
            let described = json!({"shape": info.attributes.to_json()});
            namespaces.entry(space.to_owned()).or_default().insert(name.to_owned(), described);
        }
        let mut root = Map::new();
        for (space, types) in namespaces {
            root.insert(space, json!({"entityTypes": types, "actions": {}}));
        }
        let agent = json!({
            "memberOfTypes": ["Group"],
            "shape": {"type": "Record", "attributes": {
                "credentials": {"type": "Set", "element": {"type": "String"}},
                "trust_domain": {"type": "String"},
            }},
        });
        root.insert(
            String::new(),
            json!({"entityTypes": {"Agent": agent, "Group": {}}, "actions": self.actions_json()}),
        );
        Value::Object(root)
    }

    fn actions_json(&self) -> Value {
        let context = context_json();
        let mut actions = Map::new();
        for performative in Performative::ALL {
            let resources: Vec<&str> = self
                .types
                .iter()
                .filter(|info| info.performatives.contains(performative))
                .map(|info| info.name.as_str())
                .collect();
            let applies =
                json!({"principalTypes": ["Agent"], "resourceTypes": resources, "context": context.clone()});
            actions.insert(performative.as_str().to_owned(), json!({"appliesTo": applies}));
        }
        Value::Object(actions)
    }

    /// The schema as Cedar takes it.
    pub fn schema(&self) -> Result<Schema, PolicyFault> {
        Schema::from_json_value(self.schema_json()).map_err(|e| PolicyFault::Schema { why: e.to_string() })
    }
}

/// The type of the context record, in Cedar's JSON form.
fn context_json() -> Value {
    let long = json!({"type": "Long"});
    let moment = json!({"type": "Extension", "name": "datetime"});
    let score = |name: &&str| {
        let of_type =
            if *name == UNUSUAL { json!({"type": "Long", "required": false}) } else { long.clone() };
        ((*name).to_owned(), of_type)
    };
    let scores: Map<String, Value> = SCORES.iter().map(score).collect();
    json!({"type": "Record", "attributes": {
        "receiver": {"type": "Entity", "name": "Agent"},
        "line": {"type": "String"},
        "major": long,
        "minor": long,
        "binding": {"type": "String"},
        "binding_version": {"type": "String"},
        "direction": {"type": "String"},
        "free_text": {"type": "Boolean"},
        "locked": {"type": "Boolean"},
        "session": {"type": "Record", "attributes": {"expires": moment}, "required": false},
        "now": moment,
        "scores": {"type": "Record", "attributes": scores},
    }})
}
