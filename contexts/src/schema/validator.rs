//! A compiled schema, and what it says about content.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::{Draft, EmailOptions, PatternOptions, ValidationError, ValidationOptions};
use serde_json::{Map, Value};

use super::node::{Members, Node, Tree};
use super::{ContentFault, SchemaFault, SchemaLimits, custom, emit, moment};
use crate::json::Object;

/// How many times as large as it is written a pattern may become with its dots spelt out: one that is all dots grows by less than a half.
const SPELT_OUT: usize = 2;

/// One schema with all that it refers to, compiled.
pub(crate) struct Validator {
    inner: jsonschema::Validator<Tree>,
    /// Names of members that the schema has: the only ones that may appear in a path.
    names: BTreeSet<String>,
}

impl std::fmt::Debug for Validator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Validator")
    }
}

impl Validator {
    /// Compiles an emitted schema with the definitions that it needs.
    pub(super) fn compile(
        root: Value,
        definitions: &BTreeMap<String, Value>,
        codes: &custom::Codes,
        limits: &SchemaLimits,
    ) -> Result<Self, SchemaFault> {
        let needed: Map<String, Value> = emit::needed(&root, definitions)
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), definitions.get(name)?.clone())))
            .collect();
        let mut schema = root;
        if let (Value::Object(map), false) = (&mut schema, needed.is_empty()) {
            map.insert("$defs".to_owned(), Value::Object(needed));
        }
        // what was taken as it is written compiles to more with its dots spelt out
        let room = limits.max_pattern_bytes.saturating_mul(SPELT_OUT);
        let limits = SchemaLimits { max_pattern_bytes: room, ..limits.clone() };
        let inner = options(&limits, codes).build(&schema).map_err(|error| rejected(&error))?;
        let mut names = BTreeSet::new();
        collect_names(&schema, &mut names);
        Ok(Validator { inner, names })
    }

    /// A schema as it is, for the published test suite.
    pub(super) fn compile_as_is(schema: &Value, limits: &SchemaLimits) -> Result<Self, SchemaFault> {
        let inner =
            options(limits, &custom::Codes::default()).build(schema).map_err(|error| rejected(&error))?;
        Ok(Validator { inner, names: BTreeSet::new() })
    }

    /// Whether the object fits, without its member `without`.
    pub(crate) fn conform(&self, instance: &Object<'_>, without: Option<&str>) -> Result<(), ContentFault> {
        self.conform_node(Node::Root(Members { object: instance, without }))
    }

    pub(super) fn conform_node(&self, node: Node<'_>) -> Result<(), ContentFault> {
        if self.inner.is_valid(node) {
            return Ok(());
        }
        match self.inner.validate(node) {
            Err(error) => Err(self.fault(&error)),
            // The two ways through the validator disagree: the stricter answer counts.
            Ok(()) => Err(ContentFault { path: String::new(), rule: "schema".to_owned() }),
        }
    }

    fn fault(&self, error: &ValidationError<'_>) -> ContentFault {
        let path = error.instance_path().as_str();
        let shown = path.split('/').skip(1).map(|segment| {
            let index = !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit());
            if index || self.names.contains(segment) { segment } else { "*" }
        });
        let path = shown.fold(String::new(), |path, segment| path + "/" + segment);
        ContentFault { path, rule: rule(error).to_owned() }
    }
}

/// The keyword that refused; `false` where a schema `false` did.
fn rule<'e>(error: &'e ValidationError<'_>) -> &'e str {
    match error.kind().keyword() {
        "falseSchema" => "false",
        keyword => keyword,
    }
}

/// How every schema is compiled: one draft, no fetching, formats asserted and known, patterns in linear time.
fn options(
    limits: &SchemaLimits,
    codes: &custom::Codes,
) -> ValidationOptions<'static, std::sync::Arc<dyn jsonschema::Retrieve>, Tree> {
    let patterns = PatternOptions::regex()
        .size_limit(limits.max_pattern_bytes)
        .dfa_size_limit(limits.max_pattern_bytes * 4);
    let codes = codes.clone();
    jsonschema::options_for::<Tree>()
        .with_draft(Draft::Draft202012)
        .offline()
        .should_validate_formats(true)
        .should_ignore_unknown_formats(false)
        .with_pattern_options(patterns)
        .with_email_options(EmailOptions::default().without_display_text())
        .with_format("date", moment::date)
        .with_format("time", moment::time)
        .with_format("date-time", moment::date_time)
        .with_keyword("x-free-text", custom::free_text)
        .with_keyword("x-code-list", move |_, name, _| custom::code_list(&codes, name))
        .with_keyword("multipleOf", custom::multiple_of)
}

fn rejected(error: &ValidationError<'_>) -> SchemaFault {
    let keyword =
        error.instance_path().as_str().rsplit('/').find(|segment| segment.parse::<usize>().is_err());
    let keyword = match keyword {
        Some("") | None => error.kind().keyword(),
        Some(keyword) => keyword,
    };
    SchemaFault::Rejected { keyword: keyword.chars().take(64).collect() }
}

/// Names of members, as they appear in a JSON Pointer.
fn collect_names(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            for (keyword, value) in map {
                if let ("properties" | "dependentSchemas", Value::Object(members)) = (keyword.as_str(), value)
                {
                    names.extend(members.keys().map(|name| name.replace('~', "~0").replace('/', "~1")));
                }
                collect_names(value, names);
            }
        }
        Value::Array(list) => list.iter().for_each(|schema| collect_names(schema, names)),
        _ => {}
    }
}
