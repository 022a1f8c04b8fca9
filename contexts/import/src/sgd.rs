//! Contexts from the schemas of the Schema-Guided Dialogue data set (F0-58): each intent of a service is a task.
//!
//! Source: <https://github.com/google-research-datasets/dstc8-schema-guided-dialogue>, `schema.json`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::draft::Naming;
use crate::fault::ImportFault;
use crate::names;
use crate::schema::legible;
use crate::terms::{ContextDraft, Terms};

/// The advice for a source that is too large.
const CHOOSE: &str = "choose services with `--only`";

/// The value of a slot that the user leaves open.
const OPEN: &str = "dontcare";

/// The longest value of a slot without a list, in characters: names, dates, addresses.
const MAX_TEXT: usize = 500;

/// Drafts a context: intents are tasks, slots are members, and the values of a categorical slot are a code list.
///
/// # Errors
/// No list of services, an unknown service, nothing to draft, or a draft that is too large.
pub fn draft(source: &Value, only: &[String], naming: &Naming<'_>) -> Result<ContextDraft, ImportFault> {
    let no_schema = || ImportFault::new("no `schema.json` of SGD: not a list of services");
    let services = source.as_array().filter(|list| !list.is_empty()).ok_or_else(no_schema)?;
    let names: Vec<&str> = services.iter().map(|service| text(service, "service_name")).collect();
    if names.contains(&"") {
        return Err(no_schema());
    }
    if let Some(unknown) = only.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(ImportFault::new(format_args!("the source has no service `{unknown}`"))
            .hint(format_args!("it has {}", names.join(", "))));
    }
    let wanted = services
        .iter()
        .filter(|service| only.is_empty() || only.iter().any(|one| one == text(service, "service_name")));
    let wanted: Vec<&Value> = wanted.collect();
    let intents: Vec<String> = wanted
        .iter()
        .flat_map(|service| list(service, "intents").map(|intent| label(service, intent, &wanted)))
        .collect();
    let tasks = names::tasks(intents.iter().map(String::as_str));
    let mut terms = Terms::default();
    if let [one] = wanted.as_slice() {
        text(one, "description").clone_into(&mut terms.description);
    }
    for service in &wanted {
        let slots = slots(service, &mut terms);
        for intent in list(service, "intents") {
            if let Some(name) = tasks.get(label(service, intent, &wanted).as_str()) {
                let task = task(intent, &slots, name, &mut terms);
                terms.tasks.insert(name.clone(), task);
            }
        }
    }
    terms.finish(naming, CHOOSE)
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, member: &str) -> impl Iterator<Item = &'v Value> {
    value.get(member).and_then(Value::as_array).into_iter().flatten()
}

/// The name of an intent, with that of its service where several have it.
fn label(service: &Value, intent: &Value, all: &[&Value]) -> String {
    let name = text(intent, "name");
    let same =
        all.iter().flat_map(|service| list(service, "intents")).filter(|other| text(other, "name") == name);
    if same.count() > 1 { format!("{}_{name}", text(service, "service_name")) } else { name.to_owned() }
}

/// The schemas of the slots of a service.
fn slots(service: &Value, terms: &mut Terms) -> BTreeMap<String, Value> {
    let open: Vec<&str> = list(service, "intents")
        .filter_map(|intent| intent.get("optional_slots")?.as_object())
        .flat_map(|slots| {
            slots.iter().filter(|(_, default)| **default == OPEN).map(|(name, _)| name.as_str())
        })
        .collect();
    let mut all = BTreeMap::new();
    for slot in list(service, "slots") {
        let (name, words) = (text(slot, "name"), legible(text(slot, "description")));
        let at = format!("{}/{name}", text(service, "service_name"));
        let mut values: Vec<&str> = list(slot, "possible_values").filter_map(Value::as_str).collect();
        let is_list = slot.get("is_categorical") == Some(&Value::Bool(true)) && !values.is_empty();
        let schema = if is_list {
            if open.contains(&name) && !values.contains(&OPEN) {
                values.push(OPEN);
                terms.remark(at, format!("takes `{OPEN}` too, the default of an optional slot"));
            }
            let codes = names::word(&format!("{}_{name}", text(service, "service_name")));
            values.sort_unstable();
            values.dedup();
            terms.codes.insert(codes.clone(), json!(values));
            json!({"type": "string", "x-code-list": codes, "description": words})
        } else {
            terms.remark(
                at,
                format!("is free text: control characters are refused, and more than {MAX_TEXT} characters"),
            );
            json!({"type": "string", "x-free-text": true, "maxLength": MAX_TEXT, "description": words})
        };
        all.insert(name.to_owned(), schema);
    }
    all
}

fn task(intent: &Value, slots: &BTreeMap<String, Value>, name: &str, terms: &mut Terms) -> Value {
    let (mut members, mut results) = (Map::new(), Map::new());
    let required: Vec<&str> = list(intent, "required_slots").filter_map(Value::as_str).collect();
    let optional = intent.get("optional_slots").and_then(Value::as_object);
    let optional: Vec<&str> = optional.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    let answered = list(intent, "result_slots").filter_map(Value::as_str);
    let sides = required
        .iter()
        .chain(&optional)
        .copied()
        .map(|slot| (slot, true))
        .chain(answered.map(|slot| (slot, false)));
    for (slot, asked) in sides.collect::<Vec<_>>() {
        match slots.get(slot) {
            Some(schema) if asked => drop(members.insert(slot.to_owned(), schema.clone())),
            Some(schema) => drop(results.insert(slot.to_owned(), schema.clone())),
            None => {
                terms.remark(name, format!("`{}` is left out: the service has no such slot", legible(slot)))
            }
        }
    }
    let required: Vec<&str> = required.into_iter().filter(|slot| members.contains_key(*slot)).collect();
    if intent.get("is_transactional") == Some(&Value::Bool(true)) {
        terms.remark(name, "changes something (`is_transactional`): consider `x-require-approval`");
    }
    if !optional.is_empty() {
        terms.remark(name, "defaults of optional slots are left out: nothing fills them in");
    }
    let mut parameters =
        json!({"type": "object", "description": legible(text(intent, "description")), "properties": members});
    if let (false, Value::Object(parameters)) = (required.is_empty(), &mut parameters) {
        parameters.insert("required".to_owned(), json!(required));
    }
    json!({"parameters": parameters, "results": {"type": "object", "properties": results}})
}

#[cfg(test)]
mod tests;
