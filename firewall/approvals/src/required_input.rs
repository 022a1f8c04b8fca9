//! The data of a solicitation, judged by the form that the agent gave (F1-15).

use semgate_contexts::{Context, DocumentLimits, Prefix, json};
use serde_json::{Value, json};

/// Name of the form in the document that compiles it.
const FORM: &str = "form";

/// A flat form that people fill in.
#[derive(Debug)]
pub struct RequiredInput(Context);

impl RequiredInput {
    /// Reads a form: a closed object of strings, numbers and booleans. None for any other schema.
    pub fn parse(schema: &Value) -> Option<Self> {
        let members = schema.get("properties").and_then(Value::as_object)?;
        let is_flat = members.values().all(|member| {
            matches!(
                member.get("type").and_then(Value::as_str),
                Some("string" | "number" | "integer" | "boolean")
            )
        });
        if !is_flat || schema.get("type").and_then(Value::as_str) != Some("object") {
            return None;
        }
        let mut form = schema.clone();
        if let Some(object) = form.as_object_mut() {
            object.insert("additionalProperties".to_owned(), false.into());
        }
        let document = json!({"context": "urn:contexts:form:v1.0", "concepts": {FORM: form}}).to_string();
        Context::check(document.as_bytes(), &Prefix::default(), &DocumentLimits::default()).ok().map(Self)
    }

    /// Returns true if a person's data fits the form.
    pub fn accepts(&self, data: &Value) -> bool {
        let text = data.to_string();
        let Ok(read) = json::read(text.as_bytes(), &json::Limits::default()) else { return false };
        let Some(object) = read.as_object() else { return false };
        let shape = self.0.term(FORM).and_then(|term| term.shapes().next());
        shape.is_some_and(|shape| shape.conform(object, None).is_ok())
    }
}
