//! OWL classes with their properties as schemas.

use oxrdf::{NamedNode, NamedOrBlankNode};
use serde_json::{Map, Value, json};

use super::graph::{iri, node};
use super::shapes::Shapes;
use super::subject;
use super::vocabulary::{OWL, RDFS, local};
use crate::schema::legible;

/// The schema of a class: the properties that have it as their domain.
pub(super) fn schema(shapes: &mut Shapes<'_>, class: &NamedNode) -> Value {
    let mut members = Map::new();
    for kind in ["DatatypeProperty", "ObjectProperty"] {
        for property in shapes.reader.of_type(&format!("{OWL}{kind}")) {
            let own = subject(&property);
            let domains = shapes.reader.objects(&own, &format!("{RDFS}domain"));
            if domains.iter().any(|domain| iri(domain) == Some(class.as_str())) {
                let value = value(shapes, &own, property.as_str(), kind == "ObjectProperty");
                members.insert(local(property.as_str()).to_owned(), value);
            } else if domains.iter().all(|domain| iri(domain).is_none()) {
                shapes.terms.remark(property.as_str(), "is left out: its domain is not one class");
            }
        }
    }
    let own = subject(class);
    let supers = shapes.reader.objects(&own, &format!("{RDFS}subClassOf"));
    if !supers.is_empty() {
        let named = supers.iter().filter(|term| iri(term).is_some()).count();
        let what = if named == supers.len() { "super classes" } else { "super classes and restrictions" };
        shapes.terms.remark(class.as_str(), format!("{what} are left out"));
    }
    for word in ["disjointWith", "unionOf", "intersectionOf", "oneOf", "complementOf", "hasKey"] {
        if shapes.reader.object(&own, &format!("{OWL}{word}")).is_some() {
            shapes.terms.remark(class.as_str(), format!("`owl:{word}` is left out"));
        }
    }
    shapes.terms.remark(class.as_str(), "members that it does not name are refused, and none is required");
    let mut schema = json!({"type": "object"});
    if let Value::Object(schema) = &mut schema {
        if let Some(words) = shapes.reader.text(&own, &format!("{RDFS}comment")) {
            schema.insert("description".to_owned(), Value::from(legible(&words)));
        }
        if !members.is_empty() {
            schema.insert("properties".to_owned(), Value::Object(members));
        }
    }
    schema
}

/// The schema of a property: a list unless it is functional.
fn value(shapes: &mut Shapes<'_>, property: &NamedOrBlankNode, path: &str, object: bool) -> Value {
    let range = shapes.reader.object(property, &format!("{RDFS}range"));
    let target = range.as_ref().and_then(iri).map(str::to_owned);
    let one = match (target, object) {
        (Some(class), true) if !shapes.name(&class).is_empty() => {
            json!({ "$ref": format!("#/$defs/{}", shapes.name(&class)) })
        }
        (_, true) => {
            shapes.terms.remark(path, "has a range that is no class of the graph: it takes an IRI");
            json!({"type": "string", "format": "iri", "maxLength": 2048})
        }
        (Some(datatype), false) => shapes.literal_of(&datatype, path),
        (None, false) => {
            let what = if range.as_ref().and_then(node).is_some() {
                "has a range that is no datatype"
            } else {
                "has no range"
            };
            shapes.terms.remark(path, format!("{what}: the review must settle its type"));
            json!({"type": "string", "x-free-text": true, "maxLength": 500, "$comment": "open: which type do its values have?"})
        }
    };
    let single = shapes.reader.has_type(property, &format!("{OWL}FunctionalProperty"));
    if single { one } else { json!({"type": "array", "items": one}) }
}
