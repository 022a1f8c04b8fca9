//! Keywords of drafts before 2019-09.

use serde_json::{Map, Value, json};

use super::{Translated, Translator};

impl Translator<'_> {
    /// An array of schemas under `items`: the tuple of drafts before 2020-12. `additionalItems` applies to the rest; by default anything.
    pub(super) fn tuple(
        &mut self,
        map: &Map<String, Value>,
        items: &[Value],
        out: &mut Map<String, Value>,
    ) -> Translated {
        if !items.is_empty() {
            let translated = self.list("items", items)?;
            out.insert("prefixItems".to_owned(), translated);
        }
        let rest = match map.get("additionalItems") {
            Some(schema) => self.below(&["additionalItems"], schema)?,
            None => Value::Bool(true),
        };
        if rest == Value::Bool(true) {
            self.warn("is an open list: any items may follow the named ones");
        }
        out.insert("items".to_owned(), rest);
        Ok(())
    }

    /// `dependencies` of drafts before 2019-09: names, or a schema.
    pub(super) fn dependencies(
        &mut self,
        members: &Map<String, Value>,
        out: &mut Map<String, Value>,
    ) -> Translated {
        let (mut required, mut schemas) = (Map::new(), Map::new());
        for (member, needs) in members {
            if needs.is_array() {
                required.insert(member.clone(), needs.clone());
            } else {
                schemas.insert(member.clone(), self.below(&["dependencies", member], needs)?);
            }
        }
        merge(out, "dependentRequired", required);
        merge(out, "dependentSchemas", schemas);
        Ok(())
    }
}

/// Merges named members into those of a keyword; a name in both must satisfy both. A malformed keyword stays, and the profile refuses it.
pub(super) fn merge(out: &mut Map<String, Value>, keyword: &str, members: Map<String, Value>) {
    if keyword != "properties" && members.is_empty() {
        return;
    }
    let Value::Object(all) = out.entry(keyword).or_insert_with(|| json!({})) else { return };
    for (name, member) in members {
        let both = match (all.remove(&name), member) {
            (None, one) => one,
            (Some(Value::Array(mut names)), Value::Array(more)) => {
                let new: Vec<Value> = more.into_iter().filter(|name| !names.contains(name)).collect();
                names.extend(new);
                Value::Array(names)
            }
            (Some(one), other) => json!({ "allOf": [one, other] }),
        };
        all.insert(name, both);
    }
}
