//! The tools, each with its schema, and the way to the code that answers.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::catalogue::Catalogue;
use super::outcome::{Refused, shown};
use super::{check, codes, lookup};

type Answer = fn(&Catalogue, Arguments) -> Result<Value, Refused>;

/// One tool.
struct Definition {
    name: &'static str,
    about: &'static str,
    properties: Value,
    required: &'static [&'static str],
    answer: Answer,
}

const CONTEXT: &str = "URN of a context, such as urn:contexts:travel:v2.1; short form travel:v2.1";

fn definitions() -> [Definition; 4] {
    let context = json!({"type": "string", "description": CONTEXT});
    let text = |about: &str| json!({"type": "string", "description": about});
    [
        Definition {
            name: "lookup_concept",
            about: "The definition of one concept or task: members, types, bounds, codes and relations, with the digest of the signed document.",
            properties: json!({
                "name": text("Name of the concept or task."),
                "context": {"type": "string", "description": format!("{CONTEXT}. Without it, every context that counts is searched.")},
                "budget": {"type": "integer", "minimum": 1, "maximum": 1_000_000, "description": "The most tokens of the definition."},
            }),
            required: &["name"],
            answer: lookup::concept,
        },
        Definition {
            name: "list_codes",
            about: "The codes of one code list with their labels, at most 500 of each a call, or the names of all lists of a context.",
            properties: json!({
                "context": context,
                "list": text("Name of the code list."),
                "parameter": text("Name of a parameter; its only code list is shown."),
                "offset": {"type": "integer", "minimum": 0, "description": "Number of codes to skip."},
                "label_offset": {"type": "integer", "minimum": 0, "description": "Number of labels of these codes to skip."},
            }),
            required: &["context"],
            answer: codes::list,
        },
        Definition {
            name: "resolve_ambiguity",
            about: "The codes that a person's words may mean as a value of a parameter: by a code or a signed label, never by a guess. Ask the person if there are several.",
            properties: json!({
                "context": context,
                "parameter": text("Name of the parameter, such as dest_code."),
                "value": text("The words, such as New York."),
            }),
            required: &["context", "parameter", "value"],
            answer: codes::resolve,
        },
        Definition {
            name: "check_message",
            about: "Whether content conforms to its definition, and if not, where and by which rule. Nothing is sent, and policies are not asked.",
            properties: json!({
                "context": context,
                "name": text("Name of the concept or task; without it, the member concept_type, concept or task of the content names it."),
                "content": {"type": ["object", "string"], "description": "The content: one JSON object, or its exact JSON text."},
                "performative": text("The performative; without it, REQUEST for a task and INFORM for a concept."),
            }),
            required: &["context", "content"],
            answer: check::message,
        },
    ]
}

/// All tools, as a client lists them.
pub fn all() -> Vec<Tool> {
    let tool = |definition: Definition| {
        let mut schema = JsonObject::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), definition.properties);
        schema.insert("required".to_owned(), definition.required.into());
        schema.insert("additionalProperties".to_owned(), false.into());
        let hints = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
        Tool::new(definition.name, definition.about, Arc::new(schema)).with_annotations(hints)
    };
    definitions().into_iter().map(tool).collect()
}

/// Calls a tool.
///
/// # Errors
/// No tool has this name. Every other fault is a result that the model sees.
pub fn call(
    catalogue: &Catalogue,
    name: &str,
    arguments: Map<String, Value>,
) -> Result<CallToolResult, ErrorData> {
    let known = definitions().into_iter().find(|definition| definition.name == name);
    let known = known.ok_or_else(|| ErrorData::invalid_params("there is no such tool", None))?;
    Ok(shown((known.answer)(catalogue, Arguments::new(arguments))))
}
