//! A context as JSON-LD: SHACL shapes of its terms, its code lists, and the relations between terms (F0-17, F0-53).
//!
//! `docs/spec/import.md` lists what an export keeps. Everything else of a schema is a [`Remark`].

mod shapes;

use semgate_contexts::Context;
use serde_json::{Map, Value, json};

use crate::rdf::vocabulary::{DCTERMS, OWL, OWN, RDF, SH, SKOS, XSD};
use crate::remark::Remark;
use shapes::ShapeWriter;

/// A context as a graph.
#[derive(Debug)]
pub struct Export {
    /// JSON-LD 1.1, without a context elsewhere.
    pub document: Value,
    /// Keywords that the graph does not say, by JSON Pointer.
    pub remarks: Vec<Remark>,
}

/// The graph of a context. Its names are `URN#TERM` and `URN#TERM/MEMBER`.
#[must_use]
pub fn export(context: &Context) -> Export {
    let document: Value = serde_json::from_slice(context.bytes()).unwrap_or_default();
    let base = format!("{}#", context.urn());
    let section = |name: &str| document.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
    let mut shapes = ShapeWriter::new(&base, section("$defs"));
    let mut about = Map::from_iter([
        ("@id".to_owned(), json!(context.urn().as_str())),
        ("@type".to_owned(), json!("own:Context")),
        ("own:digest".to_owned(), json!(context.digest().to_string())),
    ]);
    for word in ["title", "description"] {
        if let Some(text) = document.get(word) {
            about.insert(format!("dcterms:{word}"), text.clone());
        }
    }
    shapes.nodes.push(Value::Object(about));
    for (name, codes) in section("codes") {
        shapes.code_list(&name, &codes);
    }
    for (name, schema) in section("concepts") {
        shapes.term(&name, &schema, &format!("/concepts/{name}"), "own:Concept");
    }
    for (name, task) in section("tasks") {
        shapes.task(&name, &task);
    }
    shapes.definitions();
    for relation in document.get("relations").and_then(Value::as_array).into_iter().flatten() {
        shapes.relation(relation);
    }
    let prefixes = json!({
        "sh": SH, "xsd": XSD, "rdf": RDF, "owl": OWL, "dcterms": DCTERMS, "skos": SKOS, "own": OWN,
        "sh:path": {"@type": "@id"}, "sh:datatype": {"@type": "@id"}, "sh:node": {"@type": "@id"},
        "own:results": {"@type": "@id"}, "sh:ignoredProperties": {"@container": "@list", "@type": "@id"},
        "dcterms:requires": {"@type": "@id"}, "dcterms:isPartOf": {"@type": "@id"}, "skos:exactMatch": {"@type": "@id"},
    });
    Export { document: json!({"@context": prefixes, "@graph": shapes.nodes}), remarks: shapes.remarks }
}

#[cfg(test)]
mod tests;
