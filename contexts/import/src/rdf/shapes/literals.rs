//! Literals and IRIs: datatypes, bounds and lists.

use oxrdf::{NamedOrBlankNode, Term};
use serde_json::{Map, Value, json};

use super::Shapes;
use crate::names;
use crate::rdf::graph::iri;
use crate::rdf::vocabulary::{DATATYPES, OWN, RDF, SH, XSD, local};
use crate::schema::MAX_FREE_TEXT;

impl Shapes<'_> {
    /// A value that is a literal or an IRI.
    pub(super) fn scalar(&mut self, property: &NamedOrBlankNode, path: &str) -> Value {
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
