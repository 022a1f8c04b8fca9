//! The members of a concept, of parameters or of results, one line each.

use serde_json::{Map, Value};

use super::quote::{name, quoted};
use crate::field::{Field, FieldType};
use crate::term::Shape;

/// References and compositions that are followed for one value; the profile nests at most 16.
const MOST_PARTS: usize = 64;

/// Keywords whose subschemas look at the same value, and may or may not hold.
const BRANCHES: [&str; 2] = ["anyOf", "oneOf"];

/// Bounds that a line names, with their words.
const BOUNDS: [(&str, &str); 10] = [
    ("minimum", "at least"),
    ("exclusiveMinimum", "above"),
    ("maximum", "at most"),
    ("exclusiveMaximum", "below"),
    ("multipleOf", "a multiple of"),
    ("minLength", "at least characters"),
    ("maxLength", "at most characters"),
    ("minItems", "at least items"),
    ("maxItems", "at most items"),
    ("format", "format"),
];

/// Keywords with rules that no line shows. They are counted, with `then`, `else`, `minContains` and `maxContains` under their heads, and
/// so is a schema for members without a name.
const UNSHOWN: [&str; 14] = [
    "additionalProperties",
    "anyOf",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "maxProperties",
    "minProperties",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "unevaluatedProperties",
];

/// One member of an object, at any depth.
pub(super) struct Member {
    /// The line: name, type, required or not, bounds. `None` if a name on the way is longer than a prompt shows.
    pub line: Option<String>,
    /// Its description, quoted.
    pub about: Option<String>,
}

/// A subschema, and whether it holds without a condition.
struct Part<'d> {
    map: &'d Map<String, Value>,
    always: bool,
}

/// The members of a shape, outer ones before those inside them.
pub(super) fn members(shape: &Shape, document: &Value) -> Vec<Member> {
    let reader = Reader { document };
    let mut members = Vec::new();
    if let FieldType::Record(fields) = shape.fields() {
        reader.record(fields, &reader.parts(&[shape.schema()], true), Some(""), &mut members);
    }
    members
}

/// The description of a schema, quoted.
pub(super) fn about(schema: &Value, document: &Value) -> Option<String> {
    text_of(&Reader { document }.parts(&[schema], true))
}

/// The number of rules about the whole object of a shape that no line shows.
pub(super) fn more_rules(shape: &Shape, document: &Value) -> usize {
    unshown(&Reader { document }.parts(&[shape.schema()], true))
}

/// The words for a count of rules that no line shows.
pub(super) fn ask_check(rules: usize) -> String {
    format!("{rules} more rules: ask `check_message`")
}

struct Reader<'d> {
    document: &'d Value,
}

impl<'d> Reader<'d> {
    fn record<'f>(
        &self,
        fields: impl IntoIterator<Item = (&'f String, &'f Field)>,
        parts: &[Part<'d>],
        path: Option<&str>,
        members: &mut Vec<Member>,
    ) {
        for (own, field) in fields {
            let parts = self.inside(parts, |map| map.get("properties")?.get(own));
            let path = path.zip(name(own)).map(|(path, own)| format!("{path}{own}"));
            let line = path.as_ref().map(|path| self.line(path, field, &parts));
            members.push(Member { line, about: text_of(&parts) });
            self.below(&field.kind, &parts, path.as_deref(), members);
        }
    }

    /// The members of an object or of the items of a list.
    fn below(&self, kind: &FieldType, parts: &[Part<'d>], path: Option<&str>, members: &mut Vec<Member>) {
        match kind.present() {
            FieldType::Record(fields) => {
                let path = path.map(|path| format!("{path}/"));
                self.record(fields, parts, path.as_deref(), members);
            }
            FieldType::Array(items) => {
                let parts = self.inside(parts, |map| map.get("items"));
                let path = path.map(|path| format!("{path}[]"));
                self.below(items, &parts, path.as_deref(), members);
            }
            _ => {}
        }
    }

    fn line(&self, path: &str, field: &Field, parts: &[Part<'d>]) -> String {
        let need = if field.required { "required" } else { "optional" };
        let mut line = format!("{path}: {}, {need}", kind_of(&field.kind));
        let more = self.rules(&field.kind, parts, "", &mut line);
        if more > 0 {
            line.push_str(", ");
            line.push_str(&ask_check(more));
        }
        line
    }

    /// Adds the rules for a value, and for each item of a list, to its line. Returns the number of those that the line does not show.
    fn rules(&self, kind: &FieldType, parts: &[Part<'d>], each: &str, line: &mut String) -> usize {
        let mut more = unshown(parts);
        for part in parts.iter().filter(|part| part.always) {
            for (keyword, word) in BOUNDS {
                if let Some(bound) = part.map.get(keyword).map(|value| bound(word, value)) {
                    more += usize::from(bound.is_none());
                    bound.into_iter().for_each(|bound| add(line, each, &bound));
                }
            }
            if let Some(pattern) = part.map.get("pattern").and_then(Value::as_str) {
                add(line, each, &format!("pattern {}", quoted(pattern)));
            }
            if !matches!(kind.present(), FieldType::Text { values: Some(_), .. }) {
                match values(part.map) {
                    Some(Some(values)) => add(line, each, &format!("only {values}")),
                    Some(None) => more += 1,
                    None => {}
                }
            }
        }
        if let FieldType::Array(items) = kind.present() {
            let parts = self.inside(parts, |map| map.get("items"));
            more += self.rules(items, &parts, &format!("{each}each "), line);
        }
        more
    }

    /// The parts of a value inside the value of these parts.
    fn inside(
        &self,
        parts: &[Part<'d>],
        find: impl Fn(&'d Map<String, Value>) -> Option<&'d Value>,
    ) -> Vec<Part<'d>> {
        let mut all = Vec::new();
        for part in parts {
            if let Some(schema) = find(part.map) {
                all.extend(self.parts(&[schema], part.always));
            }
        }
        all
    }

    /// A schema with all that it refers to and is composed of.
    fn parts(&self, schemas: &[&'d Value], always: bool) -> Vec<Part<'d>> {
        let mut open: Vec<(&'d Value, bool)> = schemas.iter().map(|schema| (*schema, always)).collect();
        let mut parts: Vec<Part<'d>> = Vec::new();
        while let Some((schema, always)) = open.pop() {
            let Some(map) = schema.as_object() else { continue };
            if parts.len() >= MOST_PARTS || parts.iter().any(|part| std::ptr::eq(part.map, map)) {
                continue;
            }
            parts.push(Part { map, always });
            let reference = map.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
            open.extend(
                reference.and_then(|path| self.document.pointer(path)).map(|target| (target, always)),
            );
            let list = |keyword: &str| map.get(keyword).and_then(Value::as_array).into_iter().flatten();
            open.extend(list("allOf").map(|part| (part, always)));
            BRANCHES.iter().for_each(|keyword| open.extend(list(keyword).map(|part| (part, false))));
            let conditional = ["then", "else"].into_iter().filter_map(|keyword| map.get(keyword));
            open.extend(conditional.map(|part| (part, false)));
        }
        parts
    }
}

/// The first description among the parts, or else title, quoted.
fn text_of(parts: &[Part<'_>]) -> Option<String> {
    let described = parts.iter().filter(|part| part.always).find_map(|part| {
        let texts = ["description", "title"].into_iter().filter_map(|word| part.map.get(word)?.as_str());
        texts.into_iter().find(|text| !text.is_empty())
    });
    described.map(quoted)
}

fn add(line: &mut String, each: &str, rule: &str) {
    line.push_str(", ");
    line.push_str(each);
    line.push_str(rule);
}

/// The rules of these parts that no line shows.
fn unshown(parts: &[Part<'_>]) -> usize {
    let of = |map: &Map<String, Value>| {
        let hidden =
            UNSHOWN.iter().filter(|keyword| map.get(**keyword).is_some_and(|value| !value.is_boolean()));
        hidden.count() + usize::from(map.get("uniqueItems") == Some(&Value::Bool(true)))
    };
    parts.iter().filter(|part| part.always).map(|part| of(part.map)).sum()
}

/// The only values that a schema takes, as they are shown; `None` if it lists none, `Some(None)` if one of them is longer or deeper than
/// a line shows.
fn values(map: &Map<String, Value>) -> Option<Option<String>> {
    let listed = map.get("enum").and_then(Value::as_array);
    if listed.is_none() && !map.contains_key("const") {
        return None;
    }
    let shown = |value: &Value| match value {
        Value::String(text) => name(text),
        Value::Array(_) | Value::Object(_) => None,
        scalar => Some(scalar.to_string()),
    };
    let all: Option<Vec<String>> = listed.into_iter().flatten().chain(map.get("const")).map(shown).collect();
    Some(all.map(|all| all.join(" ")))
}

/// `at most 10 characters`: the number stands before its unit.
fn bound(word: &str, value: &Value) -> Option<String> {
    let shown = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => name(text)?,
        _ => return None,
    };
    Some(match word.strip_suffix(" characters").or_else(|| word.strip_suffix(" items")) {
        Some(short) => format!("{short} {shown}{}", word.strip_prefix(short).unwrap_or_default()),
        None => format!("{word} {shown}"),
    })
}

fn kind_of(kind: &FieldType) -> String {
    match kind {
        FieldType::Text { code_list: Some(list), .. } => {
            format!("code of {}", name(list).unwrap_or_else(|| quoted(list)))
        }
        FieldType::Text { values: Some(values), .. } => {
            let shown: Vec<String> = values.iter().filter_map(|value| name(value)).collect();
            match values.len() - shown.len() {
                0 => format!("one of {}", shown.join(" ")),
                more => format!("one of {} (and {more} longer than 256 characters)", shown.join(" ")),
            }
        }
        FieldType::Text { free_text: true, .. } => "free text".to_owned(),
        FieldType::Text { .. } => "text".to_owned(),
        FieldType::Boolean => "true or false".to_owned(),
        FieldType::Integer => "integer".to_owned(),
        FieldType::Decimal | FieldType::OtherNumber => "number".to_owned(),
        FieldType::Array(items) => format!("list of {}", kind_of(items)),
        FieldType::Record(_) => "object".to_owned(),
        FieldType::Nullable(inner) => format!("null or {}", kind_of(inner)),
        FieldType::Vector(vector) => {
            let spaces = vector.spaces().iter().map(|space| format!("{} ({})", space.model, space.words()));
            format!("vector of {}", spaces.collect::<Vec<_>>().join(" or "))
        }
        FieldType::Opaque => "any form that the schema allows".to_owned(),
    }
}
