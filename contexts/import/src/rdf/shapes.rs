//! SHACL shapes as schemas.

use std::collections::{BTreeMap, BTreeSet};

use oxrdf::{NamedNode, NamedOrBlankNode, Term};
use serde_json::{Map, Value, json};

use super::graph::{Reader, iri, node};
use super::vocabulary::{DATATYPES, OWN, RDF, SH, XSD, local};
use crate::names;
use crate::schema::{MAX_FREE_TEXT, legible};
use crate::terms::Terms;

/// Nested shapes without a name.
const MAX_DEPTH: usize = 12;

/// Predicates of SHACL that say nothing about content.
const WORDS: [&str; 11] = [
    "name",
    "description",
    "message",
    "order",
    "group",
    "severity",
    "defaultValue",
    "targetClass",
    "path",
    "property",
    "ignoredProperties",
];

/// Predicates of SHACL that the draft says.
const KNOWN: [&str; 20] = [
    "datatype",
    "minCount",
    "maxCount",
    "in",
    "hasValue",
    "pattern",
    "minLength",
    "maxLength",
    "minInclusive",
    "maxInclusive",
    "minExclusive",
    "maxExclusive",
    "node",
    "class",
    "nodeKind",
    "or",
    "xone",
    "and",
    "closed",
    "deactivated",
];

/// The translation of shapes.
pub(super) struct Shapes<'r> {
    pub reader: &'r Reader,
    names: BTreeMap<String, String>,
    pub terms: Terms,
}

impl<'r> Shapes<'r> {
    /// A translation in which these shapes and classes have names.
    pub fn new(reader: &'r Reader, shapes: &[NamedNode], classes: &[NamedNode]) -> Self {
        let (mut by_iri, mut used) = (BTreeMap::new(), BTreeSet::new());
        for shape in shapes.iter().chain(classes) {
            let subject = shape.clone().into();
            let class = reader.object(&subject, &format!("{SH}targetClass"));
            let given = reader.text(&subject, &format!("{OWN}name"));
            let plain = match (given, class.as_ref().and_then(iri)) {
                (Some(name), _) => name,
                (None, Some(class)) => local(class).to_owned(),
                (None, None) => local(shape.as_str()).to_owned(),
            };
            let name = names::shared(&plain, shape.as_str(), &mut used);
            if let Some(class) = class.as_ref().and_then(iri) {
                by_iri.insert(class.to_owned(), name.clone());
            }
            by_iri.insert(shape.as_str().to_owned(), name);
        }
        Self { reader, names: by_iri, terms: Terms::default() }
    }

    /// The name of a shape or class; empty for others.
    pub fn name(&self, iri: &str) -> &str {
        self.names.get(iri).map_or("", String::as_str)
    }

    /// All that was translated.
    pub fn finish(mut self) -> Terms {
        let known: Vec<String> = self.terms.concepts.keys().cloned().collect();
        for name in known {
            self.terms.lead(&format!("#/$defs/{name}"), &format!("#/concepts/{name}"));
        }
        self.terms
    }

    /// Adds a schema as a concept, or as a definition where it is not wanted.
    pub fn add(&mut self, name: &str, schema: Value, wanted: bool) {
        if wanted {
            self.terms.concepts.insert(name.to_owned(), schema);
        } else {
            self.terms.definitions.insert(name.to_owned(), schema);
        }
    }

    /// Adds a node shape: a concept, one side of a task, or a definition.
    pub fn term(&mut self, shape: &NamedNode, wanted: bool) {
        let subject: NamedOrBlankNode = shape.clone().into();
        let name = self.name(shape.as_str()).to_owned();
        let own = |word: &str| format!("{OWN}{word}");
        if self.reader.has_type(&subject, &own("Results")) {
            return;
        }
        let mut schema = self.node(&subject, 0);
        let performatives: Vec<String> =
            self.reader.objects(&subject, &own("performative")).iter().filter_map(text_of).collect();
        let results = self.reader.object(&subject, &own("results")).and_then(|term| node(&term));
        if let Some(results) = results {
            let results = self.node(&results, 0);
            let mut task = json!({"parameters": schema, "results": results});
            if let Value::Object(task) = &mut task {
                if !performatives.is_empty() {
                    task.insert("performatives".to_owned(), json!(performatives));
                }
                match self.reader.text(&subject, &own("requireApproval")) {
                    Some(text) if text == "true" => {
                        drop(task.insert("x-require-approval".to_owned(), json!(true)))
                    }
                    Some(question) => drop(task.insert("x-require-approval".to_owned(), json!(question))),
                    None => {}
                }
            }
            if wanted {
                self.terms.tasks.insert(name, task);
            }
            return;
        }
        if let (false, Value::Object(schema)) = (performatives.is_empty(), &mut schema) {
            schema.insert("x-performatives".to_owned(), json!(performatives));
        }
        let wanted = wanted && !self.reader.has_type(&subject, &own("Definition"));
        self.add(&name, schema, wanted);
    }

    /// The schema of a node shape.
    pub fn node(&mut self, shape: &NamedOrBlankNode, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            self.terms.remark(shape.to_string(), "is nested too deep: it takes nothing");
            return Value::Bool(false);
        }
        let (mut members, mut required) = (Map::new(), Vec::new());
        for term in self.reader.objects(shape, &format!("{SH}property")) {
            let Some(property) = node(&term) else { continue };
            if self.reader.is(&property, &format!("{SH}deactivated")) {
                self.terms.remark(property.to_string(), "is deactivated, and left out");
                continue;
            }
            let path = self.reader.object(&property, &format!("{SH}path"));
            let Some(path) = path.as_ref().and_then(iri).map(str::to_owned) else {
                self.terms
                    .remark(shape.to_string(), "a property whose path is not one predicate is left out");
                continue;
            };
            let given = self.reader.text(&property, &format!("{OWN}name"));
            let name = given.unwrap_or_else(|| local(&path).to_owned());
            let schema = self.property(&property, &path, depth);
            if self.reader.count(&property, &format!("{SH}minCount")).is_some_and(|least| least > 0) {
                required.push(Value::from(name.as_str()));
            }
            members.insert(name, schema);
        }
        required.sort_by_key(Value::to_string);
        let mut schema = json!({"type": "object"});
        let open = self.reader.text(shape, &format!("{OWN}open")).is_some();
        if let Value::Object(schema) = &mut schema {
            if let Some(words) = self.reader.text(shape, &format!("{SH}description")) {
                schema.insert("description".to_owned(), Value::from(legible(&words)));
            }
            if !members.is_empty() {
                schema.insert("properties".to_owned(), Value::Object(members));
            }
            if !required.is_empty() {
                schema.insert("required".to_owned(), Value::Array(required));
            }
            if open {
                schema.insert("additionalProperties".to_owned(), Value::Bool(true));
            }
        }
        if !open && !self.reader.is(shape, &format!("{SH}closed")) {
            self.terms.remark(shape.to_string(), "members that it does not name are refused");
        }
        self.rest(shape, &["property", "closed", "deactivated"], shape.to_string().as_str());
        schema
    }

    /// Names the predicates of SHACL that say something and are left out.
    fn rest(&mut self, shape: &NamedOrBlankNode, known: &[&str], at: &str) {
        for predicate in self.reader.predicates(shape) {
            let Some(word) = predicate.strip_prefix(SH) else { continue };
            if !WORDS.contains(&word) && !known.contains(&word) {
                self.terms.remark(at, format!("`sh:{word}` is left out"));
            }
        }
    }

    /// The schema of the values of a property shape.
    fn property(&mut self, property: &NamedOrBlankNode, path: &str, depth: usize) -> Value {
        let sh = |word: &str| format!("{SH}{word}");
        let mut value = self.value(property, path, depth);
        self.rest(property, &KNOWN, path);
        let most = self.reader.count(property, &sh("maxCount"));
        let words = self.reader.text(property, &sh("description"));
        let array = self.reader.is(property, &format!("{OWN}array")) || most != Some(1);
        if array {
            let least = self.reader.count(property, &sh("minCount")).filter(|least| *least > 0);
            let mut list = json!({"type": "array", "items": value});
            if let Value::Object(list) = &mut list {
                for (keyword, bound) in [("minItems", least), ("maxItems", most)] {
                    if let Some(bound) = bound {
                        list.insert(keyword.to_owned(), Value::from(bound));
                    }
                }
            }
            value = list;
        }
        if let (Some(words), Value::Object(value)) = (words, &mut value) {
            value.insert("description".to_owned(), Value::from(legible(&words)));
        }
        value
    }

    fn value(&mut self, property: &NamedOrBlankNode, path: &str, depth: usize) -> Value {
        let sh = |word: &str| format!("{SH}{word}");
        for word in ["node", "class"] {
            let Some(target) = self.reader.object(property, &sh(word)) else { continue };
            match iri(&target).map(|iri| self.name(iri).to_owned()) {
                Some(name) if !name.is_empty() => return json!({ "$ref": format!("#/$defs/{name}") }),
                Some(_) => self
                    .terms
                    .remark(path, format!("`sh:{word}` leads to no shape of the graph: it takes an IRI")),
                None => {
                    if let Some(shape) = node(&target) {
                        return self.node(&shape, depth.saturating_add(1));
                    }
                }
            }
            return json!({"type": "string", "format": "iri", "maxLength": 2048});
        }
        for (word, keyword) in [("or", "anyOf"), ("xone", "oneOf"), ("and", "allOf")] {
            let Some(head) = self.reader.object(property, &sh(word)) else { continue };
            let parts = self.reader.list(&head).unwrap_or_default();
            let parts: Vec<Value> = parts
                .iter()
                .filter_map(node)
                .map(|part| {
                    if depth < MAX_DEPTH {
                        self.value(&part, path, depth.saturating_add(1))
                    } else {
                        Value::Bool(false)
                    }
                })
                .collect();
            if !parts.is_empty() {
                return json!({ keyword: parts });
            }
        }
        self.scalar(property, path)
    }

    /// A value that is a literal or an IRI.
    fn scalar(&mut self, property: &NamedOrBlankNode, path: &str) -> Value {
        let sh = |word: &str| format!("{SH}{word}");
        if let Some(head) = self.reader.object(property, &sh("in")) {
            return self.list(&head, path);
        }
        let mut schema = Map::new();
        if let Some(value) = self.reader.object(property, &sh("hasValue")) {
            schema.insert("const".to_owned(), literal(&value));
            return Value::Object(schema);
        }
        let datatype = self.reader.object(property, &sh("datatype"));
        match datatype.as_ref().and_then(iri) {
            Some(datatype) => self.datatype(datatype, path, &mut schema),
            None if self.reader.object(property, &sh("nodeKind")).as_ref().and_then(iri)
                == Some(&sh("IRI")) =>
            {
                schema.extend([("type".to_owned(), json!("string")), ("format".to_owned(), json!("iri"))]);
                schema.insert("maxLength".to_owned(), json!(2048));
            }
            None => {
                self.terms.remark(path, "has no datatype: it takes anything");
                return Value::Bool(true);
            }
        }
        for (word, keyword) in [
            ("minLength", "minLength"),
            ("maxLength", "maxLength"),
            ("minInclusive", "minimum"),
            ("maxInclusive", "maximum"),
            ("minExclusive", "exclusiveMinimum"),
            ("maxExclusive", "exclusiveMaximum"),
        ] {
            let bound = self
                .reader
                .text(property, &sh(word))
                .and_then(|text| serde_json::from_str::<serde_json::Number>(&text).ok());
            if let Some(bound) = bound {
                schema.insert(keyword.to_owned(), Value::Number(bound));
            }
        }
        if let Some(pattern) = self.reader.text(property, &sh("pattern")) {
            if self.reader.text(property, &sh("flags")).is_some() {
                self.terms.remark(path, "flags of its pattern are left out");
            }
            schema.insert("pattern".to_owned(), Value::from(pattern));
        }
        for word in ["format", "multipleOf"] {
            let own = self.reader.text(property, &format!("{OWN}{word}"));
            if let Some(text) = own {
                let number = serde_json::from_str::<serde_json::Number>(&text).map(Value::Number);
                schema.insert(word.to_owned(), number.unwrap_or_else(|_| Value::from(text)));
            }
        }
        self.text(property, path, &mut schema);
        Value::Object(schema)
    }

    /// The schema of literals with this datatype.
    pub fn literal_of(&mut self, datatype: &str, path: &str) -> Value {
        let mut schema = Map::new();
        self.datatype(datatype, path, &mut schema);
        let nobody = oxrdf::BlankNode::default().into();
        self.text(&nobody, path, &mut schema);
        Value::Object(schema)
    }

    fn datatype(&mut self, datatype: &str, path: &str, schema: &mut Map<String, Value>) {
        let mut set = |keyword: &str, value: Value| drop(schema.insert(keyword.to_owned(), value));
        let name = datatype.strip_prefix(XSD).unwrap_or_default();
        let range = |bits: u32| json!((1_i64 << bits.min(62)) - 1);
        match name {
            "boolean" => set("type", json!("boolean")),
            "decimal" | "double" | "float" => set("type", json!("number")),
            "integer" | "long" => set("type", json!("integer")),
            "nonNegativeInteger" | "positiveInteger" | "unsignedLong" => {
                set("type", json!("integer"));
                set("minimum", json!(i32::from(name == "positiveInteger")));
            }
            "int" | "short" | "byte" => {
                let most = range(match name {
                    "int" => 31,
                    "short" => 15,
                    _ => 7,
                });
                set("type", json!("integer"));
                set("minimum", json!(-most.as_i64().unwrap_or_default() - 1));
                set("maximum", most);
            }
            "unsignedInt" | "unsignedShort" | "unsignedByte" => {
                set("type", json!("integer"));
                set("minimum", json!(0));
                set(
                    "maximum",
                    range(match name {
                        "unsignedInt" => 32,
                        "unsignedShort" => 16,
                        _ => 8,
                    }),
                );
            }
            "anyURI" => {
                set("type", json!("string"));
                set("format", json!("iri-reference"));
                set("maxLength", json!(2048));
            }
            _ => {
                set("type", json!("string"));
                if let Some([format, _]) = DATATYPES.iter().find(|[_, datatype]| *datatype == name) {
                    set("format", json!(format));
                    set("maxLength", json!(64));
                    self.terms.remark(path, format!("takes the JSON Schema format `{format}` alone"));
                } else if name != "string" {
                    self.terms.remark(
                        path,
                        format!(
                            "has the datatype `{}`, which no schema knows: it takes text",
                            local(datatype)
                        ),
                    );
                }
            }
        }
    }

    /// Marks free text, and bounds a pattern.
    fn text(&mut self, property: &NamedOrBlankNode, path: &str, schema: &mut Map<String, Value>) {
        if schema.get("type") != Some(&json!("string")) {
            return;
        }
        if schema.contains_key("pattern") {
            schema.entry("maxLength").or_insert(json!(262_144));
            return;
        }
        // an export says where text is free
        let exported = self.reader.text(property, &format!("{OWN}freeText"));
        let free = match exported.as_deref() {
            Some(text) => text == "true",
            None => !schema.contains_key("format"),
        };
        if free {
            let given = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(MAX_FREE_TEXT);
            let most = given.min(MAX_FREE_TEXT);
            schema.insert("maxLength".to_owned(), Value::from(most));
            schema.insert("x-free-text".to_owned(), Value::Bool(true));
            if exported.is_none() {
                self.terms.remark(
                    path,
                    format!("is free text: control characters are refused, and more than {most} characters"),
                );
            }
        }
    }

    /// The values of `sh:in`: a code list where the list has a name or is long.
    fn list(&mut self, head: &Term, path: &str) -> Value {
        let Some(items) = self.reader.list(head) else {
            self.terms.remark(path, "`sh:in` is no list: it takes nothing");
            return Value::Bool(false);
        };
        let values: Vec<Value> = items.iter().map(literal).collect();
        let named = iri(head).and_then(|head| head.split_once("#codes/")).map(|(_, name)| name.to_owned());
        let is_text = values.iter().all(Value::is_string);
        let name =
            named.or_else(|| (values.len() > 256).then(|| names::word(local(path)))).filter(|_| is_text);
        match name {
            Some(name) => {
                self.terms.codes.insert(name.clone(), Value::Array(values));
                json!({"type": "string", "x-code-list": name})
            }
            None if is_text => json!({"type": "string", "enum": values}),
            None => json!({ "enum": values }),
        }
    }
}

fn text_of(term: &Term) -> Option<String> {
    match term {
        Term::Literal(literal) => Some(literal.value().to_owned()),
        _ => None,
    }
}

/// A value of a list: a number or a truth value by its datatype, else text; an IRI as its text.
fn literal(term: &Term) -> Value {
    let Term::Literal(literal) = term else {
        return Value::from(iri(term).unwrap_or_default());
    };
    let datatype = literal.datatype().as_str().to_owned();
    let is_text = datatype.starts_with(RDF) || datatype == format!("{XSD}string");
    let parsed = serde_json::from_str::<Value>(literal.value())
        .ok()
        .filter(|value| !is_text && (value.is_number() || value.is_boolean()));
    parsed.unwrap_or_else(|| Value::from(literal.value()))
}
