//! Brings foreign schemas into the profile of contexts; translates older drafts to 2020-12.

use semgate_contexts::schema::refused_in_free_text;
use serde_json::{Map, Value, json};

mod foreign;
mod older;
mod translator;

use crate::draft::Drafted;
use crate::names::{self, Used};
use crate::refs::{self, Targets};
use crate::remark::Remark;

pub(crate) use foreign::MAX_FREE_TEXT;
pub(crate) use translator::Translator;

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
pub fn legible(text: &str) -> String {
    spaced(text).chars().filter(|c| !refused_in_free_text(*c)).collect()
}

/// The text with a space for each line break and tab.
pub fn spaced(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c }).collect()
}

/// Returns true if a text is only a schema keyword, which tells the reader of a tool nothing.
pub fn is_plain(word: &str) -> bool {
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

/// Keywords whose subschema tests: a mark of free text has no meaning there.
const TESTS: [&str; 4] = ["not", "if", "contains", "propertyNames"];

/// Keywords of foreign documents that assert nothing, and that a draft leaves out without a word.
const SILENT: [&str; 11] = [
    "default",
    "examples",
    "example",
    "$comment",
    "$id",
    "$anchor",
    "xml",
    "externalDocs",
    "discriminator",
    "nullable",
    "$vocabulary",
];

/// A reference to no schema: the profile refuses it, and the draft replaces it by something narrower.
pub(crate) const NOWHERE: &str = "#/$defs/";

/// Translates the schema of one side of a task, and adds the definitions to which it refers. Without a schema, only an empty object is
/// accepted.
///
/// # Errors
/// A keyword with an assertion that the profile cannot express.
pub fn translate(
    drafted: &mut Drafted,
    side: &'static str,
    given: Option<&Value>,
    used: &mut Used,
) -> Result<Value, String> {
    let Some(root @ Value::Object(map)) = given else { return Ok(json!({"type": "object"})) };
    let prefix = if side == "results" { "results_" } else { "" };
    let mut name = |pointer: &str, part: &str| names::definition(&drafted.name, prefix, part, pointer, used);
    let targets = Targets::of(root, [root], &mut name);
    if targets.iter().next().is_some() && refs::has_inner_base(root) {
        return Err("a schema inside it has an `$id` of its own, and references are used".to_owned());
    }
    let mut keep = Translator::new(root, targets, Habits { alone: is_old(map), ..Habits::default() });
    let translated = keep.all(&[""]);
    for Remark { at, what } in std::mem::take(&mut keep.remarks) {
        drafted.warn(format!("`{}/{side}{at}`: {what}", drafted.name));
    }
    drafted.references.extend(std::mem::take(&mut keep.references));
    drafted.definitions.extend(std::mem::take(&mut keep.definitions));
    let translated = translated.map_err(|what| format!("`{}/{side}{}`: {what}", drafted.name, keep.at));
    let mut translated = translated?.pop().unwrap_or_default();
    // MCP: arguments and structured content are objects, even if the schema does not say so
    if let Value::Object(members) = &mut translated
        && !members.contains_key("$ref")
    {
        members.entry("type").or_insert_with(|| Value::from("object"));
    }
    Ok(translated)
}

/// True if a schema names a dialect before 2019-09, where `$ref` excludes other keywords.
pub(crate) fn is_old(schema: &Map<String, Value>) -> bool {
    let dialect = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|old| dialect.contains(old))
}

/// The result of a translation; the reason is for a reviewer.
pub(crate) type Translated<T = ()> = Result<T, String>;

/// The treatment of schemas.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Habits {
    /// `$ref` excludes other keywords, as in all drafts before 2019-09 and in OpenAPI 3.0.
    pub alone: bool,
    /// The schemas describe data of others, not tools: text is marked, objects are closed, and each narrowing is named.
    pub foreign: bool,
    /// `nullable` counts, as in OpenAPI 3.0.
    pub nullable: bool,
}

/// A keyword as quoted in a warning, without anything that breaks the line.
pub(crate) fn shown(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "$-".contains(c) { c } else { '_' };
    name.chars().map(plain).take(64).collect()
}
