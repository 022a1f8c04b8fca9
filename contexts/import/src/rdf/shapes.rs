//! SHACL shapes as schemas.

mod literals;

use std::collections::{BTreeMap, BTreeSet};

use oxrdf::{NamedNode, NamedOrBlankNode, Term};
use serde_json::{Map, Value, json};

use super::graph::{Reader, iri, node};
use super::vocabulary::{OWN, SH, local};
use crate::names;
use crate::schema::legible;
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
}

fn text_of(term: &Term) -> Option<String> {
    match term {
        Term::Literal(literal) => Some(literal.value().to_owned()),
        _ => None,
    }
}
