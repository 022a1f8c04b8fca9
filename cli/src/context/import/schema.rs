//! Brings foreign schemas into the profile of contexts; translates older drafts to 2020-12.

use std::collections::BTreeSet;

use semgate_contexts::json;
use semgate_contexts::schema::{FORMATS, refused_in_free_text};
use serde_json::{Map, Value, json};

use super::draft::Drafted;
use super::refs::{self, Targets};

/// Keywords without an assertion in the standard, unknown to the profile.
const SAYS_NOTHING: [&str; 6] =
    ["contentEncoding", "contentMediaType", "contentSchema", "$schema", "$id", "$anchor"];

/// Keywords of the profile that hold no schema.
const PLAIN: [&str; 32] = [
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "required",
    "dependentRequired",
    "title",
    "description",
    "$comment",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "multipleOf",
    "format",
    "pattern",
    "x-free-text",
    "x-code-list",
    "$ref",
];

/// The text for a context: a space for each line break and tab, without other characters that free text refuses.
pub(super) fn legible(text: &str) -> String {
    spaced(text).chars().filter(|c| !refused_in_free_text(*c)).collect()
}

/// The text with a space for each line break and tab.
pub(super) fn spaced(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c }).collect()
}

/// Returns true if a text is only a schema keyword, which tells the reader of a tool nothing.
pub(super) fn is_plain(word: &str) -> bool {
    const MORE: [&str; 8] = [
        "$defs",
        "definitions",
        "additionalItems",
        "dependencies",
        "http://json-schema.org/draft-07/schema",
        "x-mcp-header",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2020-12/schema",
    ];
    PLAIN.contains(&word) || SAYS_NOTHING.contains(&word) || MORE.contains(&word)
}

/// Keywords with an assertion that the profile cannot express: without them the tool would accept more.
const BEYOND: [&str; 5] =
    ["$dynamicRef", "$recursiveRef", "unevaluatedItems", "$recursiveAnchor", "$dynamicAnchor"];

/// Keywords that assert nothing about content.
const ANNOTATIONS: [&str; 9] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$schema",
];

/// A reference to no schema: the profile refuses it, and the draft replaces it by something narrower.
const NOWHERE: &str = "#/$defs/";

/// Names of the definitions in one draft, all distinct.
pub(super) type Used = BTreeSet<String>;

/// One schema on its way into the profile.
struct Translator<'d> {
    drafted: &'d mut Drafted,
    root: &'d Value,
    side: &'static str,
    targets: Targets,
    /// JSON Pointer into the original schema.
    at: String,
    /// True if `$ref` excludes other keywords, as in all drafts before 2019-09.
    alone: bool,
}

/// Translates the schema of one side of a task, and adds the definitions to which it refers. Without a schema, only an empty object is
/// accepted.
///
/// # Errors
/// A keyword with an assertion that the profile cannot express.
pub(super) fn translate(
    drafted: &mut Drafted,
    side: &'static str,
    given: Option<&Value>,
    used: &mut Used,
) -> Result<Value, String> {
    let Some(root @ Value::Object(map)) = given else { return Ok(json!({"type": "object"})) };
    let prefix = if side == "results" { "results_" } else { "" };
    let targets = Targets::of(root, &drafted.name, prefix, used);
    if targets.iter().next().is_some() && refs::has_inner_base(root) {
        return Err("a schema inside it has an `$id` of its own, and references are used".to_owned());
    }
    let dialect = map.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let alone = ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|old| dialect.contains(old));
    let mut keep = Translator { drafted, root, side, targets, at: String::new(), alone };
    let places: Vec<_> = keep.targets.iter().map(|(at, name)| (at.to_owned(), name.to_owned())).collect();
    for (pointer, name) in places {
        let Some(target) = root.pointer(&pointer) else { continue };
        keep.at = pointer;
        let translated = keep.schema(target)?;
        keep.drafted.definitions.insert(name, translated);
    }
    keep.at = String::new();
    let mut translated = keep.schema(root)?;
    // MCP: arguments and structured content are objects, even if the schema does not say so
    if let Value::Object(members) = &mut translated
        && !members.contains_key("$ref")
    {
        members.entry("type").or_insert_with(|| Value::from("object"));
    }
    Ok(translated)
}

type Translated<T = ()> = Result<T, String>;

impl Translator<'_> {
    fn here(&self) -> String {
        format!("{}/{}{}", self.drafted.name, self.side, self.at)
    }

    fn warn(&mut self, what: &str) {
        let text = format!("`{}`: {what}", self.here());
        self.drafted.warn(text);
    }

    /// The schema below the current one; a reference if it is the target of one.
    fn below(&mut self, segments: &[&str], schema: &Value) -> Translated<Value> {
        let before = self.at.clone();
        for segment in segments {
            self.at = format!("{}/{}", self.at, segment.replace('~', "~0").replace('/', "~1"));
        }
        let translated = match self.targets.at(&self.at) {
            Some(name) => Ok(json!({ "$ref": format!("#/$defs/{name}") })),
            None => self.schema(schema),
        };
        self.at = before;
        translated
    }

    fn schema(&mut self, schema: &Value) -> Translated<Value> {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(_) => return Ok(schema.clone()),
            _ => {
                self.warn("is not a schema");
                return Ok(Value::Null);
            }
        };
        if map.keys().all(|name| ANNOTATIONS.contains(&name.as_str())) {
            self.warn("takes anything: narrow it");
            return Ok(Value::Bool(true));
        }
        if let Some(reference) = map.get("$ref")
            && reference.as_str().is_none_or(|to| refs::resolve(self.root, to).is_none())
        {
            self.warn("refers to something else than a schema of this tool");
            return Ok(json!({ "$ref": NOWHERE }));
        }
        let mut out = Map::new();
        let alone = self.alone && map.contains_key("$ref");
        for (name, value) in map {
            if alone && name != "$ref" && !ANNOTATIONS.contains(&name.as_str()) {
                continue;
            }
            self.keyword(map, name, value, &mut out)?;
        }
        self.bound_pattern(&mut out);
        self.remark(&out);
        Ok(Value::Object(out))
    }

    /// Bounds a pattern's length, as the profile demands, by that of the longest string of a message: so that refuses nothing.
    fn bound_pattern(&mut self, out: &mut Map<String, Value>) {
        if out.contains_key("pattern") && !out.contains_key("maxLength") {
            let most = json::Limits::default().max_string_bytes;
            out.insert("maxLength".to_owned(), Value::from(most));
            self.warn(&format!("has a pattern without a length: `maxLength` {most} is added, lower it"));
        }
    }

    fn remark(&mut self, out: &Map<String, Value>) {
        let text = out.get("type").is_some_and(|kind| kind == "string");
        let bounded = ["enum", "const", "pattern", "format", "maxLength", "x-code-list", "$ref"];
        if text && !bounded.iter().any(|bound| out.contains_key(*bound)) {
            self.warn(
                "is text without a bound: give it a pattern, a code list, or `x-free-text` with `maxLength`",
            );
        }
        if out.get("additionalProperties") == Some(&Value::Bool(true)) {
            self.warn("is an open object: unnamed members pass");
        }
    }

    fn keyword(
        &mut self,
        map: &Map<String, Value>,
        name: &str,
        value: &Value,
        out: &mut Map<String, Value>,
    ) -> Translated {
        match (name, value) {
            ("$defs" | "definitions" | "$schema", _) => {}
            ("$ref", Value::String(to)) => self.reference(to, out),
            ("format", Value::String(format)) if !FORMATS.contains(&format.as_str()) => {
                self.warn("has a format that is not asserted: it is left out");
            }
            ("x-mcp-header", Value::String(header)) => {
                out.insert("$comment".to_owned(), Value::from(format!("mcp-header {header}")));
            }
            ("items", Value::Array(_)) if map.contains_key("prefixItems") => {
                return Err(format!(
                    "`{}`: `items` and `prefixItems` are two tuples in one schema",
                    self.here()
                ));
            }
            ("items", Value::Array(items)) => self.tuple(map, items, out)?,
            // without a tuple in `items` it asserts nothing
            ("additionalItems", _) => {}
            ("dependencies", Value::Object(members)) => self.dependencies(members, out)?,
            ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(exclusive)) => {
                let bound = map.get(if name == "exclusiveMinimum" { "minimum" } else { "maximum" });
                if let Some(bound) = bound.filter(|_| *exclusive) {
                    out.insert(name.to_owned(), bound.clone());
                }
            }
            _ if BEYOND.contains(&name) => {
                return Err(format!(
                    "`{}`: `{name}` asserts a rule that no context can express",
                    self.here()
                ));
            }
            _ if SAYS_NOTHING.contains(&name) => self.warn(&format!("`{}` is left out", shown(name))),
            _ => self.schemas_and_values(name, value, out)?,
        }
        Ok(())
    }

    /// A keyword that holds schemas, or a plain value.
    fn schemas_and_values(&mut self, name: &str, value: &Value, out: &mut Map<String, Value>) -> Translated {
        match (name, value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(members)) => {
                let translated =
                    members.iter().map(|(key, schema)| Ok((key.clone(), self.below(&[name, key], schema)?)));
                let translated = translated.collect::<Translated<Map<String, Value>>>()?;
                merge(out, name, translated);
            }
            ("dependentRequired", Value::Object(members)) => merge(out, name, members.clone()),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(parts)) => {
                let translated = self.list(name, parts)?;
                out.insert(name.to_owned(), translated);
            }
            (
                "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames"
                | "items"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else",
                schema,
            ) => {
                let translated = self.below(&[name], schema)?;
                out.insert(name.to_owned(), translated);
            }
            ("title" | "description" | "$comment", Value::String(text)) => {
                let shown = legible(text);
                if shown.len() != text.len() {
                    self.warn(&format!("`{name}` holds invisible characters: they are left out"));
                }
                out.insert(name.to_owned(), Value::from(shown));
            }
            _ if PLAIN.contains(&name) => drop(out.insert(name.to_owned(), value.clone())),
            _ => self.warn(&format!("`{}` is a keyword without effect here: it is left out", shown(name))),
        }
        Ok(())
    }

    fn reference(&mut self, to: &str, out: &mut Map<String, Value>) {
        let name = refs::resolve(self.root, to).and_then(|(at, _)| self.targets.at(&at).map(str::to_owned));
        if let Some(name) = name {
            self.drafted.references.insert(to.to_owned());
            out.insert("$ref".to_owned(), Value::from(format!("#/$defs/{name}")));
        }
    }

    fn list(&mut self, name: &str, parts: &[Value]) -> Translated<Value> {
        let parts = parts.iter().enumerate();
        parts.map(|(n, schema)| self.below(&[name, &n.to_string()], schema)).collect()
    }

    /// An array of schemas under `items`: the tuple of drafts before 2020-12. `additionalItems` applies to the rest; by default anything.
    fn tuple(
        &mut self,
        map: &Map<String, Value>,
        items: &[Value],
        out: &mut Map<String, Value>,
    ) -> Translated {
        if !items.is_empty() {
            let translated = self.list("items", items)?;
            out.insert("prefixItems".to_owned(), translated);
        }
        let rest = match map.get("additionalItems") {
            Some(schema) => self.below(&["additionalItems"], schema)?,
            None => Value::Bool(true),
        };
        if rest == Value::Bool(true) {
            self.warn("is an open list: any items may follow the named ones");
        }
        out.insert("items".to_owned(), rest);
        Ok(())
    }

    /// `dependencies` of drafts before 2019-09: names, or a schema.
    fn dependencies(&mut self, members: &Map<String, Value>, out: &mut Map<String, Value>) -> Translated {
        let (mut required, mut schemas) = (Map::new(), Map::new());
        for (member, needs) in members {
            if needs.is_array() {
                required.insert(member.clone(), needs.clone());
            } else {
                schemas.insert(member.clone(), self.below(&["dependencies", member], needs)?);
            }
        }
        merge(out, "dependentRequired", required);
        merge(out, "dependentSchemas", schemas);
        Ok(())
    }
}

/// Merges named members into those of a keyword; a name in both must satisfy both. A malformed keyword stays, and the profile refuses it.
fn merge(out: &mut Map<String, Value>, keyword: &str, members: Map<String, Value>) {
    if keyword != "properties" && members.is_empty() {
        return;
    }
    let Value::Object(all) = out.entry(keyword).or_insert_with(|| json!({})) else { return };
    for (name, member) in members {
        let both = match (all.remove(&name), member) {
            (None, one) => one,
            (Some(Value::Array(mut names)), Value::Array(more)) => {
                let new: Vec<Value> = more.into_iter().filter(|name| !names.contains(name)).collect();
                names.extend(new);
                Value::Array(names)
            }
            (Some(one), other) => json!({ "allOf": [one, other] }),
        };
        all.insert(name, both);
    }
}

/// A keyword as quoted in a warning, without anything that breaks the line.
fn shown(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "$-".contains(c) { c } else { '_' };
    name.chars().map(plain).take(64).collect()
}
