//! Schemas of data: the profile marks text and closes objects. Each narrowing is a remark.

use semgate_contexts::Digest;
use semgate_contexts::json;
use serde_json::{Map, Value, json};

use super::Translator;
use super::translator::SchemaPart;
use crate::names;

/// The longest free text of the profile, in characters.
pub(crate) const MAX_FREE_TEXT: u64 = 10_000;

/// The most items of an array whose items must differ, and the most entries of an `enum`.
const MAX_COMPARED: usize = 256;

/// Bytes of one code.
const MAX_CODE: usize = 128;

/// Keywords that say more of a text than its length.
const SAYS_MORE: [&str; 5] = ["enum", "const", "pattern", "format", "x-code-list"];

/// Keywords with further demands on the same value.
const COMPOSED: [&str; 8] =
    ["allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "patternProperties"];

impl Translator<'_> {
    /// Brings a translated schema into the form that the profile wants for data; `map` is the original.
    pub(super) fn settle(&mut self, map: &Map<String, Value>, mut out: Map<String, Value>) -> Value {
        self.nullable(map, &mut out);
        self.long_enum(&mut out);
        self.different_items(&mut out);
        self.object(&mut out);
        if let Some(format) = out.get("format").and_then(Value::as_str).map(str::to_owned) {
            self.warn(&format!("the format `{format}` is asserted"));
        }
        self.read_only(&out);
        self.text(map, out)
    }

    fn nullable(&mut self, map: &Map<String, Value>, out: &mut Map<String, Value>) {
        if !self.habits.nullable || map.get("nullable") != Some(&Value::Bool(true)) {
            return;
        }
        let Some(Value::String(kind)) = out.get("type").cloned() else {
            self.warn("`nullable` without one `type` has no effect: null is refused");
            return;
        };
        out.insert("type".to_owned(), json!([kind, "null"]));
        if let Some(Value::Array(values)) = out.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
    }

    /// Each value once; a long list of texts becomes a code list.
    fn long_enum(&mut self, out: &mut Map<String, Value>) {
        if let Some(Value::Array(values)) = out.get_mut("enum") {
            let mut once: Vec<Value> = Vec::with_capacity(values.len());
            for value in values.drain(..) {
                if !once.contains(&value) {
                    once.push(value);
                }
            }
            *values = once;
        }
        let Some(Value::Array(values)) = out.get("enum") else { return };
        let is_code =
            |value: &Value| value.as_str().is_some_and(|code| !code.is_empty() && code.len() <= MAX_CODE);
        let is_text = out.get("type").is_none_or(|kind| kind == "string");
        if values.len() <= MAX_COMPARED || self.tests > 0 || !is_text || !values.iter().all(is_code) {
            return;
        }
        let digest = Digest::of(self.at.as_bytes()).to_string();
        let mark: String = digest.rsplit(':').next().unwrap_or_default().chars().take(8).collect();
        let last = self.at.rsplit('/').next().unwrap_or_default();
        let name: String = names::word(last).chars().take(40).collect::<String>() + "_" + &mark;
        self.codes.insert(name.clone(), Value::Array(values.clone()));
        out.remove("enum");
        out.insert("type".to_owned(), json!("string"));
        out.insert("x-code-list".to_owned(), Value::from(name));
    }

    fn different_items(&mut self, out: &mut Map<String, Value>) {
        let most = out.get("maxItems").and_then(Value::as_u64);
        let bounded = most.is_some_and(|most| most <= MAX_COMPARED as u64);
        if out.get("uniqueItems") == Some(&Value::Bool(true)) && !bounded {
            out.insert("maxItems".to_owned(), Value::from(MAX_COMPARED));
            self.warn(&format!("at most {MAX_COMPARED} items, since they must differ"));
        }
    }

    fn object(&mut self, out: &mut Map<String, Value>) {
        let has = |keyword: &str| out.contains_key(keyword);
        let takes = out.get("type").is_some_and(|kind| match kind {
            Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
            kind => kind == "object",
        });
        let open = has("additionalProperties") || has("unevaluatedProperties");
        let composed = COMPOSED.iter().any(|keyword| has(keyword));
        let free = !has("properties") && !composed && !open && takes;
        if free && self.tests == 0 && self.part != SchemaPart::Demand {
            out.insert("additionalProperties".to_owned(), Value::Bool(true));
        } else if self.tests == 0 && !open && (has("properties") || (takes && composed)) {
            self.warn("members that it does not name are refused");
        }
        if out.get("additionalProperties") == Some(&Value::Bool(true)) {
            self.warn("is an open object: unnamed members pass");
        }
        if self.part == SchemaPart::Whole && !composed && self.tests == 0 && !open {
            self.undeclared(out);
        }
    }

    /// Declares required members that the source does not describe: a closed object could not have them.
    fn undeclared(&mut self, out: &mut Map<String, Value>) {
        if out.contains_key("additionalProperties") {
            return;
        }
        let Some(Value::Array(required)) = out.get("required") else { return };
        let required: Vec<String> = required.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let Value::Object(members) = out.entry("properties").or_insert_with(|| json!({})) else { return };
        let mut undescribed = Vec::new();
        for name in required {
            if !members.contains_key(&name) {
                undescribed.push(name.clone());
                members.insert(name, Value::Bool(true));
            }
        }
        for name in undescribed {
            self.warn(&format!(
                "requires `{}`, which it does not describe: it takes anything",
                super::shown(&name)
            ));
        }
    }

    /// OpenAPI: `required` of a read-only member holds for answers alone. A schema of both directions cannot say so.
    fn read_only(&mut self, out: &Map<String, Value>) {
        let Some(Value::Array(required)) = out.get("required") else { return };
        let is_one_sided = |name: &&Value| {
            let member = name.as_str().and_then(|name| out.get("properties")?.get(name));
            let marked = |keyword| member.and_then(|member| member.get(keyword)) == Some(&Value::Bool(true));
            marked("readOnly") || marked("writeOnly")
        };
        if required.iter().any(|name| is_one_sided(&name)) {
            self.warn("requires read-only or write-only members in both directions");
        }
    }

    /// Marks text of which nothing but the length is known.
    fn text(&mut self, map: &Map<String, Value>, mut out: Map<String, Value>) -> Value {
        let kinds: Vec<&str> = match out.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => return Value::Object(out),
        };
        let known = SAYS_MORE.iter().any(|keyword| out.contains_key(*keyword));
        if self.tests > 0 || known || !kinds.contains(&"string") {
            return Value::Object(out);
        }
        let encoded = map.contains_key("contentEncoding")
            || matches!(map.get("format").and_then(Value::as_str), Some("byte" | "binary" | "base64url"));
        let long = out.get("minLength").and_then(Value::as_u64).is_some_and(|least| least > MAX_FREE_TEXT);
        let others = kinds.iter().any(|kind| !matches!(*kind, "string" | "null"));
        if encoded || long || others || (kinds.len() > 1 && out.contains_key("anyOf")) {
            out.entry("maxLength").or_insert_with(|| Value::from(json::Limits::default().max_string_bytes));
            self.warn("is text that is not marked as free text: policies do not see it as prose");
            return Value::Object(out);
        }
        let given = out.get("maxLength").and_then(Value::as_u64);
        let most = given.map_or(MAX_FREE_TEXT, |given| given.min(MAX_FREE_TEXT));
        self.warn(&format!("is free text: control characters are refused, and more than {most} characters"));
        if kinds.len() == 1 {
            out.insert("x-free-text".to_owned(), Value::Bool(true));
            out.insert("maxLength".to_owned(), Value::from(most));
            return Value::Object(out);
        }
        let mut text = json!({"type": "string", "x-free-text": true, "maxLength": most});
        if let (Some(least), Value::Object(text)) = (out.remove("minLength"), &mut text) {
            text.insert("minLength".to_owned(), least);
        }
        out.remove("maxLength");
        out.remove("type");
        out.insert("anyOf".to_owned(), json!([text, {"type": "null"}]));
        Value::Object(out)
    }
}
