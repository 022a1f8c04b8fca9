//! Messages, enumerations and methods as schemas.

use std::collections::{BTreeMap, BTreeSet};

use prost_reflect::prost_types::FileDescriptorProto;
use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor};
use serde_json::{Map, Value, json};

use super::naming::Names;
use super::well_known::{self, JsonForm};
use crate::schema::legible;
use crate::terms::Terms;

/// The longest description made of a comment, in characters.
const MAX_WORDS: usize = 300;

/// Code lists that a document holds, and entries of an `enum`.
const MAX_LISTS: usize = 64;
const MAX_ENUM: usize = 256;

/// The comments of a file, by the path of what they describe.
pub(super) type Comments = BTreeMap<Vec<i32>, String>;

/// The comments of a file, with its name.
pub(super) fn comments(file: &FileDescriptorProto) -> (String, Comments) {
    let locations = file.source_code_info.iter().flat_map(|info| &info.location);
    let all = locations.filter_map(|one| {
        let text = one.leading_comments.as_deref().or(one.trailing_comments.as_deref())?;
        let text: Vec<&str> = text.split_whitespace().collect();
        let text: String = legible(&text.join(" ")).chars().take(MAX_WORDS).collect();
        (!text.is_empty()).then(|| (one.path.clone(), text))
    });
    (file.name().to_owned(), all.collect())
}

/// The translation of messages into terms and definitions.
pub(super) struct Messages {
    names: Names,
    comments: BTreeMap<String, Comments>,
    terms: Terms,
    concepts: BTreeSet<String>,
    /// Messages to be translated.
    waiting: Vec<MessageDescriptor>,
    seen: BTreeSet<String>,
}

impl Messages {
    pub fn new(names: Names, comments: BTreeMap<String, Comments>) -> Self {
        let (terms, waiting) = (Terms::default(), Vec::new());
        Self { names, comments, terms, concepts: BTreeSet::new(), waiting, seen: BTreeSet::new() }
    }

    /// Translates these messages as concepts.
    pub fn concepts(&mut self, wanted: &[MessageDescriptor]) {
        for message in wanted {
            if well_known::is_known(message.full_name()) {
                self.terms.remark(
                    message.full_name(),
                    "is left out: it has a JSON form of its own, and is no concept",
                );
                continue;
            }
            self.concepts.insert(message.full_name().to_owned());
            self.reach(message);
        }
        self.drain();
    }

    /// Translates these methods as tasks.
    pub fn tasks(&mut self, methods: &[MethodDescriptor]) {
        for method in methods {
            let full = method.full_name().to_owned();
            if method.is_client_streaming() || method.is_server_streaming() {
                self.terms.remark(full.as_str(), "is a stream: each of its messages is judged alone");
            }
            let sides = [method.input(), method.output()].map(|message| self.message_schema(&message, &full));
            let [Some(parameters), Some(results)] = sides else {
                self.terms.remark(full, "is left out: one side has a form that no schema describes");
                continue;
            };
            if [&parameters, &results].iter().any(|side| !self.is_object(side)) {
                self.terms.remark(full, "is left out: one side is no JSON object");
                continue;
            }
            let mut task = json!({"parameters": parameters, "results": results});
            if let Some(words) = self.words(method.parent_file().name(), method.path())
                && let Some(Value::Object(side)) = task.get_mut("parameters")
            {
                side.insert("description".to_owned(), Value::from(words));
            }
            self.terms.tasks.insert(self.names.of(&full).to_owned(), task);
        }
        self.drain();
    }

    /// All that was translated.
    pub fn terms(self) -> Terms {
        self.terms
    }

    fn is_object(&self, schema: &Value) -> bool {
        schema.get("type").is_some_and(|kind| kind == "object")
            || schema.get("$ref").and_then(Value::as_str).is_some_and(|to| !to.contains("/$defs/proto_"))
    }

    fn reach(&mut self, message: &MessageDescriptor) {
        if self.seen.insert(message.full_name().to_owned()) {
            self.waiting.push(message.clone());
        }
    }

    fn drain(&mut self) {
        while let Some(message) = self.waiting.pop() {
            let schema = self.message(&message);
            let name = self.names.of(message.full_name()).to_owned();
            if self.concepts.contains(message.full_name()) {
                self.terms.concepts.insert(name, schema);
            } else {
                self.terms.definitions.insert(name, schema);
            }
        }
    }

    fn words(&self, file: &str, path: &[i32]) -> Option<String> {
        self.comments.get(file)?.get(path).cloned()
    }

    fn message(&mut self, message: &MessageDescriptor) -> Value {
        let full = message.full_name().to_owned();
        let (mut members, mut required) = (Map::new(), Vec::new());
        for field in message.fields() {
            let Some(mut schema) = self.field(&field) else {
                self.terms.remark(
                    field.full_name(),
                    "is left out: a `google.protobuf.Any` holds whatever its type says, and no schema can",
                );
                continue;
            };
            let words = self.words(field.parent_file().name(), field.path());
            if let (Some(words), Value::Object(schema)) = (words, &mut schema) {
                schema.insert("description".to_owned(), Value::from(words));
            }
            if field.is_required() {
                required.push(Value::from(field.json_name()));
            }
            members.insert(field.json_name().to_owned(), schema);
        }
        if message.extension_ranges().next().is_some() || message.extensions().next().is_some() {
            self.terms.remark(full, "has extensions, which are left out");
        }
        let mut schema = json!({"type": "object"});
        if let Value::Object(schema) = &mut schema {
            if let Some(words) = self.words(message.parent_file().name(), message.path()) {
                schema.insert("description".to_owned(), Value::from(words));
            }
            one_ofs(message, &members, schema);
            if !members.is_empty() {
                schema.insert("properties".to_owned(), Value::Object(members));
            }
            if !required.is_empty() {
                schema.insert("required".to_owned(), Value::Array(required));
            }
        }
        schema
    }

    /// The schema of a field with its cardinality; none where it has no description.
    fn field(&mut self, field: &FieldDescriptor) -> Option<Value> {
        let at = field.full_name().to_owned();
        match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                let values = self.value(&entry.map_entry_value_field().kind(), &at)?;
                let mut map = json!({"type": "object", "additionalProperties": values});
                if let (Some(keys), Value::Object(map)) =
                    (keys(&entry.map_entry_key_field().kind()), &mut map)
                {
                    map.insert("propertyNames".to_owned(), keys);
                }
                self.terms.remark(at, "is a map: policies do not see its entries");
                Some(map)
            }
            kind => {
                let value = self.value(&kind, &at)?;
                Some(if field.is_list() { json!({"type": "array", "items": value}) } else { value })
            }
        }
    }

    fn value(&mut self, kind: &Kind, at: &str) -> Option<Value> {
        let name = match kind {
            Kind::Message(message) => return self.message_schema(message, at),
            Kind::Enum(kind) => return Some(self.codes(kind)),
            Kind::Double | Kind::Float => "double",
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => "int32",
            Kind::Uint32 | Kind::Fixed32 => "uint32",
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => "int64",
            Kind::Uint64 | Kind::Fixed64 => "uint64",
            Kind::Bool => "bool",
            Kind::String => "string",
            Kind::Bytes => "bytes",
        };
        Some(self.scalar(name, at))
    }

    fn scalar(&mut self, name: &str, at: &str) -> Value {
        if name == "string" {
            let what = format!(
                "is free text: control characters are refused, and more than {} characters",
                crate::schema::MAX_FREE_TEXT
            );
            self.terms.remark(at, what);
        }
        let schema = well_known::scalar(name).unwrap_or_default();
        self.share(&schema);
        schema
    }

    /// Adds the shared definition that a schema refers to.
    fn share(&mut self, schema: &Value) {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/$defs/"));
        if let Some((name, definition)) = name.and_then(|name| Some((name, well_known::definition(name)?))) {
            self.terms.definitions.insert(name.to_owned(), definition);
        }
    }

    fn message_schema(&mut self, message: &MessageDescriptor, at: &str) -> Option<Value> {
        match well_known::form(message.full_name()) {
            Some(JsonForm::Described(schema)) => {
                self.share(&schema);
                Some(schema)
            }
            Some(JsonForm::Scalar(name)) => Some(self.scalar(name, at)),
            Some(JsonForm::Open(schema)) => {
                self.terms.remark(at, "takes any JSON, which policies do not see: narrow it");
                Some(schema)
            }
            Some(JsonForm::Undescribed) => None,
            None => {
                self.reach(message);
                Some(json!({ "$ref": self.names.reference(message.full_name()) }))
            }
        }
    }

    fn codes(&mut self, kind: &EnumDescriptor) -> Value {
        if kind.full_name() == "google.protobuf.NullValue" {
            return json!({"type": "null"});
        }
        let names: Vec<String> = kind.values().map(|value| value.name().to_owned()).collect();
        self.terms.remark(
            kind.full_name(),
            "takes the names of its values: numbers, unknown ones too, are refused",
        );
        let name = self.names.of(kind.full_name()).to_owned();
        let is_list = names.len() > MAX_ENUM
            || self.terms.codes.len() < MAX_LISTS
            || self.terms.codes.contains_key(&name);
        if !is_list {
            return json!({"type": "string", "enum": names});
        }
        self.terms.codes.insert(name.clone(), json!(names));
        json!({"type": "string", "x-code-list": name})
    }
}

/// At most one member of each `oneof`.
fn one_ofs(message: &MessageDescriptor, members: &Map<String, Value>, schema: &mut Map<String, Value>) {
    let demands = message.oneofs().filter(|one| !one.is_synthetic()).filter_map(|one| {
        let fields = one.fields().map(|field| field.json_name().to_owned());
        let alone: Vec<Value> = fields
            .filter(|name| members.contains_key(name))
            .map(|name| json!({"required": [name]}))
            .collect();
        let mut branches = alone.clone();
        branches.push(json!({"not": {"anyOf": alone}}));
        (branches.len() > 2).then_some(Value::Array(branches))
    });
    let mut demands: Vec<Value> = demands.collect();
    if demands.len() == 1 {
        schema.insert("oneOf".to_owned(), demands.remove(0));
    } else if !demands.is_empty() {
        let all = demands.into_iter().map(|branches| json!({ "oneOf": branches })).collect();
        schema.insert("allOf".to_owned(), Value::Array(all));
    }
}

/// The schema of a map's keys; none for text, since a mark of free text has no meaning there.
fn keys(kind: &Kind) -> Option<Value> {
    let number = |pattern: &str| Some(json!({"pattern": pattern, "maxLength": 20}));
    match kind {
        Kind::Bool => Some(json!({"enum": ["true", "false"]})),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => number(r"^(0|-?[1-9]\d{0,9})$"),
        Kind::Uint32 | Kind::Fixed32 => number(r"^(0|[1-9]\d{0,9})$"),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => number(r"^(0|-?[1-9]\d{0,18})$"),
        Kind::Uint64 | Kind::Fixed64 => number(r"^(0|[1-9]\d{0,19})$"),
        _ => None,
    }
}
