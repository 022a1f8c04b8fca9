//! Schemas as SHACL shapes.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::rdf::vocabulary::DATATYPES;
use crate::remark::Remark;

/// Nested objects without a name.
const MAX_DEPTH: usize = 16;

/// Keywords of a value that the graph says, with their words.
const BOUNDS: [[&str; 2]; 7] = [
    ["minLength", "sh:minLength"],
    ["maxLength", "sh:maxLength"],
    ["minimum", "sh:minInclusive"],
    ["maximum", "sh:maxInclusive"],
    ["exclusiveMinimum", "sh:minExclusive"],
    ["exclusiveMaximum", "sh:maxExclusive"],
    ["pattern", "sh:pattern"],
];

/// Keywords that say nothing about content.
const SILENT: [&str; 6] = ["title", "$comment", "default", "examples", "deprecated", "$schema"];

/// The nodes of a graph that is being written.
pub(super) struct ShapeWriter<'s> {
    base: &'s str,
    definitions: Map<String, Value>,
    /// Definitions of objects that shapes refer to.
    wanted: BTreeSet<String>,
    pub nodes: Vec<Value>,
    pub remarks: Vec<Remark>,
}

impl<'s> ShapeWriter<'s> {
    pub fn new(base: &'s str, definitions: Map<String, Value>) -> Self {
        Self { base, definitions, wanted: BTreeSet::new(), nodes: Vec::new(), remarks: Vec::new() }
    }

    fn remark(&mut self, at: &str, what: &str) {
        self.remarks.push(Remark::new(at, what));
    }

    /// A code list: a list of RDF whose head has a name.
    pub fn code_list(&mut self, name: &str, codes: &Value) {
        let codes = codes.as_array().map(Vec::as_slice).unwrap_or_default();
        let Some((first, rest)) = codes.split_first() else { return };
        let id = format!("{}codes/{name}", self.base);
        let rest = json!({ "@list": rest });
        self.nodes.push(json!({"@id": id, "@type": "rdf:List", "rdf:first": first, "rdf:rest": rest}));
    }

    /// The shape of a concept or of a definition.
    pub fn term(&mut self, name: &str, schema: &Value, at: &str, kind: &str) {
        let mut shape = self.object(schema, name, at, 0);
        shape.insert("@id".to_owned(), json!(format!("{}{name}", self.base)));
        shape.insert("@type".to_owned(), json!(["sh:NodeShape", kind]));
        shape.insert("own:name".to_owned(), json!(name));
        if matches!(kind, "own:Results" | "own:Definition") {
            shape.remove("dcterms:requires");
        }
        if let Some(performatives) = schema.get("x-performatives") {
            shape.insert("own:performative".to_owned(), performatives.clone());
        }
        self.nodes.push(Value::Object(shape));
    }

    /// The shapes of both sides of a task.
    pub fn task(&mut self, name: &str, task: &Value) {
        let none = json!({});
        let side = |side: &str| task.get(side).unwrap_or(&none);
        let results = format!("{name}_results");
        self.term(&results, side("results"), &format!("/tasks/{name}/results"), "own:Results");
        self.term(name, side("parameters"), &format!("/tasks/{name}/parameters"), "own:Task");
        if let Some(Value::Object(shape)) = self.nodes.last_mut() {
            shape.insert("own:results".to_owned(), json!(format!("{}{results}", self.base)));
            for (member, word) in
                [("performatives", "own:performative"), ("x-require-approval", "own:requireApproval")]
            {
                if let Some(value) = task.get(member) {
                    shape.insert(word.to_owned(), value.clone());
                }
            }
        }
    }

    /// The shapes of all definitions that shapes refer to.
    pub fn definitions(&mut self) {
        let mut done = BTreeSet::new();
        while let Some(name) = self.wanted.difference(&done).next().cloned() {
            done.insert(name.clone());
            let schema = self.definitions.get(&name).cloned().unwrap_or_default();
            self.term(&name, &schema, &format!("/$defs/{name}"), "own:Definition");
        }
    }

    /// A relation of the document.
    pub fn relation(&mut self, relation: &Value) {
        let text = |member: &str| relation.get(member).and_then(Value::as_str).unwrap_or_default();
        let predicate = match text("relation") {
            "requires" => "dcterms:requires",
            "part_of" => "dcterms:isPartOf",
            "same_as" => "skos:exactMatch",
            _ => return,
        };
        let name =
            |name: &str| if name.contains(':') { name.to_owned() } else { format!("{}{name}", self.base) };
        let node = json!({"@id": name(text("subject")), predicate: name(text("object"))});
        self.nodes.push(node);
    }

    /// The shape of an object whose members have names below `path`.
    fn object(&mut self, schema: &Value, path: &str, at: &str, depth: usize) -> Map<String, Value> {
        let none = Map::new();
        let map = schema.as_object().unwrap_or(&none);
        let open = map.get("additionalProperties").is_some_and(|open| *open != Value::Bool(false));
        let mut shape = Map::from_iter([("sh:closed".to_owned(), json!(!open))]);
        if open {
            shape.insert("own:open".to_owned(), json!(true));
        } else {
            shape.insert("sh:ignoredProperties".to_owned(), json!(["rdf:type"]));
        }
        if let Some(words) = map.get("description") {
            shape.insert("sh:description".to_owned(), words.clone());
        }
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if !required.is_empty() && depth == 0 {
            let needs: Vec<String> = required
                .iter()
                .map(|name| format!("{}{}", self.base, escaped(&format!("{path}/{name}"))))
                .collect();
            shape.insert("dcterms:requires".to_owned(), json!(needs));
        }
        let mut properties = Vec::new();
        for (name, value) in map.get("properties").and_then(Value::as_object).unwrap_or(&none) {
            let below = format!("{path}/{name}");
            let mut property = self.property(value, &below, &format!("{at}/properties/{name}"), depth);
            property.insert("sh:path".to_owned(), json!(format!("{}{}", self.base, escaped(&below))));
            property.insert("own:name".to_owned(), json!(name));
            if required.contains(&name.as_str()) {
                property.entry("sh:minCount").or_insert(json!(1));
            } else if property.remove("sh:minCount").is_some() {
                self.remark(
                    &format!("{at}/properties/{name}"),
                    "`minItems` of a member that may be absent is left out",
                );
            }
            properties.push(Value::Object(property));
        }
        if !properties.is_empty() {
            shape.insert("sh:property".to_owned(), Value::Array(properties));
        }
        self.rest(
            map,
            &["type", "properties", "required", "additionalProperties", "description", "x-performatives"],
            at,
        );
        shape
    }

    /// Names the keywords that the graph does not say.
    fn rest(&mut self, map: &Map<String, Value>, known: &[&str], at: &str) {
        for keyword in map.keys() {
            if !known.contains(&keyword.as_str()) && !SILENT.contains(&keyword.as_str()) {
                self.remark(at, &format!("`{keyword}` is left out"));
            }
        }
    }

    /// The property shape of a member.
    fn property(&mut self, schema: &Value, path: &str, at: &str, depth: usize) -> Map<String, Value> {
        let is_array = schema.get("type").is_some_and(|kind| kind == "array");
        let (items, counts) = if is_array {
            (schema.get("items").cloned().unwrap_or_default(), true)
        } else {
            (schema.clone(), false)
        };
        let mut property = self.value(&items, path, at, depth);
        if counts {
            property.insert("own:array".to_owned(), json!(true));
            for [keyword, word] in [["minItems", "sh:minCount"], ["maxItems", "sh:maxCount"]] {
                if let Some(bound) = schema.get(keyword) {
                    property.insert(word.to_owned(), bound.clone());
                }
            }
            self.remark(at, "a list is a set in RDF: order and repeated items are left out");
            if let Some(map) = schema.as_object() {
                self.rest(map, &["type", "items", "minItems", "maxItems", "description"], at);
            }
        } else {
            property.insert("sh:maxCount".to_owned(), json!(1));
        }
        if let Some(words) = schema.get("description") {
            property.insert("sh:description".to_owned(), words.clone());
        }
        property
    }

    fn value(&mut self, schema: &Value, path: &str, at: &str, depth: usize) -> Map<String, Value> {
        let mut out = Map::new();
        let Some(map) = schema.as_object() else {
            if *schema != Value::Bool(true) {
                self.remark(at, "a schema that accepts nothing is left out");
            }
            return out;
        };
        let text = |keyword: &str| map.get(keyword).and_then(Value::as_str);
        if let Some(reference) = text("$ref") {
            return self.reference(reference, path, at, depth);
        }
        if text("type") == Some("object") {
            if depth >= MAX_DEPTH {
                self.remark(at, "is nested too deep, and left out");
                return out;
            }
            let shape = self.object(schema, path, at, depth.saturating_add(1));
            out.insert("sh:node".to_owned(), Value::Object(shape));
            return out;
        }
        if let Some(list) = text("x-code-list") {
            out.insert("sh:in".to_owned(), json!({"@id": format!("{}codes/{list}", self.base)}));
            self.rest(map, &["type", "x-code-list", "description"], at);
            return out;
        }
        let values = map.get("enum").and_then(Value::as_array).cloned();
        let values = values.or_else(|| map.get("const").map(|one| vec![one.clone()]));
        let listable = |value: &Value| value.is_string() || value.is_boolean() || value.is_i64();
        if let Some(values) = values.filter(|values| values.iter().all(listable)) {
            out.insert("sh:in".to_owned(), json!({ "@list": values }));
            self.rest(map, &["type", "enum", "const", "description"], at);
            return out;
        }
        self.literal(map, at, &mut out);
        out
    }

    fn reference(&mut self, reference: &str, path: &str, at: &str, depth: usize) -> Map<String, Value> {
        if let Some(name) = reference.strip_prefix("#/concepts/") {
            return Map::from_iter([("sh:node".to_owned(), json!(format!("{}{name}", self.base)))]);
        }
        let name = reference.strip_prefix("#/$defs/").unwrap_or_default();
        let Some(definition) = self.definitions.get(name).cloned() else {
            self.remark(at, "a reference to another context is left out");
            return Map::new();
        };
        if definition.get("type").is_some_and(|kind| kind == "object") {
            self.wanted.insert(name.to_owned());
            return Map::from_iter([("sh:node".to_owned(), json!(format!("{}{name}", self.base)))]);
        }
        if depth >= MAX_DEPTH {
            self.remark(at, "is nested too deep, and left out");
            return Map::new();
        }
        self.value(&definition, path, at, depth.saturating_add(1))
    }

    /// A literal by its type.
    fn literal(&mut self, map: &Map<String, Value>, at: &str, out: &mut Map<String, Value>) {
        let mut known = vec!["type", "description", "format", "x-free-text", "multipleOf"];
        let datatype = match map.get("type").and_then(Value::as_str) {
            Some("boolean") => "boolean",
            Some("integer") => "integer",
            Some("number") => "decimal",
            Some("string") => {
                let format = map.get("format").and_then(Value::as_str).unwrap_or_default();
                let known = DATATYPES.iter().find(|[name, _]| *name == format);
                if known.is_none() && !format.is_empty() {
                    out.insert("own:format".to_owned(), json!(format));
                }
                let free = map.get("x-free-text") == Some(&Value::Bool(true));
                out.insert("own:freeText".to_owned(), json!(free));
                known.map_or("string", |[_, datatype]| datatype)
            }
            _ => {
                self.remark(at, "values of several types are left out");
                return;
            }
        };
        out.insert("sh:datatype".to_owned(), json!(format!("xsd:{datatype}")));
        if let Some(step) = map.get("multipleOf") {
            out.insert("own:multipleOf".to_owned(), json!(step.to_string()));
        }
        for [keyword, word] in BOUNDS {
            let Some(bound) = map.get(keyword) else { continue };
            known.push(keyword);
            let is_number = matches!(datatype, "integer" | "decimal");
            let value = if is_number {
                json!({"@value": bound.to_string(), "@type": format!("xsd:{datatype}")})
            } else {
                bound.clone()
            };
            out.insert(word.to_owned(), value);
        }
        self.rest(map, &known, at);
    }
}

/// A path within an IRI (RFC 3986 §3.5): other characters than unreserved ones and `/` are percent-encoded.
fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}
