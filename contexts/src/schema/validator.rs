//! The compiled schemas of a document, and their verdicts on content.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, EmailOptions, PatternOptions, ValidationError, ValidationOptions};
use serde_json::{Map, Value};

use super::matcher::{Matchers, SPELT_OUT};
use super::meter::MemberSteps;
use super::node::{Members, Node, Tree};
use super::pointer::escaped;
use super::{ContentFault, SchemaFault, SchemaLimits, custom, datetime};
use crate::json::Object;

/// The schemas of one document, compiled together: shared definitions and patterns exist once.
pub(super) struct Validators {
    inner: jsonschema::Validator<Tree>,
    /// Names of members that the schemas have: the only ones that may appear in a path.
    names: BTreeSet<String>,
    member_steps: MemberSteps,
}

/// The schema of one shape of a document.
#[derive(Clone)]
pub(crate) struct Validator {
    /// None once the document is retired.
    all: Option<Arc<Validators>>,
    key: Box<str>,
}

impl std::fmt::Debug for Validator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Validator")
    }
}

impl std::fmt::Debug for Validators {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Validators")
    }
}

impl Validators {
    /// Compiles emitted schemas with the definitions that they need; returns the validator of each, in their order.
    ///
    /// # Errors
    /// The number of the schema at fault, if it is one of them, and the fault.
    pub(super) fn compile(
        roots: Vec<Value>,
        definitions: BTreeMap<String, Value>,
        keywords: &Keywords<'_>,
        member_steps: MemberSteps,
    ) -> Result<Vec<Validator>, (Option<usize>, SchemaFault)> {
        let mut names = BTreeSet::new();
        roots.iter().chain(definitions.values()).for_each(|schema| collect_names(schema, &mut names));
        let shapes: Map<String, Value> =
            roots.into_iter().enumerate().map(|(number, root)| (number.to_string(), root)).collect();
        let count = shapes.len();
        let mut schema = Map::from_iter([("properties".to_owned(), Value::Object(shapes))]);
        if !definitions.is_empty() {
            schema.insert("$defs".to_owned(), Value::Object(definitions.into_iter().collect()));
        }
        let inner = options(keywords).build(&Value::Object(schema)).map_err(|error| {
            let mut path = error.instance_path().as_str().split('/').skip(1);
            let which =
                path.next().filter(|part| *part == "properties").and_then(|_| path.next()?.parse().ok());
            (which, rejected(&error))
        })?;
        let all = Arc::new(Validators { inner, names, member_steps });
        let one = |number: usize| Validator { all: Some(Arc::clone(&all)), key: number.to_string().into() };
        Ok((0..count).map(one).collect())
    }

    /// A schema as it is, for the published test suite.
    pub(super) fn compile_as_is(schema: &Value, limits: &SchemaLimits) -> Result<Self, SchemaFault> {
        let (codes, matchers) = (custom::Codes::default(), Matchers::new(limits));
        let keywords = Keywords { codes: &codes, matchers: &matchers, limits };
        let inner = options(&keywords).build(schema).map_err(|error| rejected(&error))?;
        Ok(Validators { inner, names: BTreeSet::new(), member_steps: MemberSteps::default() })
    }

    /// Checks a value against the schemas. The first `skipped` segments of a fault's path are not part of the instance's
    /// path.
    pub(super) fn conform(&self, node: Node<'_>, skipped: usize) -> Result<(), ContentFault> {
        if self.inner.is_valid(node) {
            return Ok(());
        }
        match self.inner.validate(node) {
            Err(error) => Err(self.fault(&error, skipped)),
            // The two code paths of the validator disagree: the stricter answer counts.
            Ok(()) => Err(ContentFault { path: String::new(), rule: "schema".to_owned() }),
        }
    }

    fn fault(&self, error: &ValidationError<'_>, skipped: usize) -> ContentFault {
        let path = error.instance_path().as_str();
        let shown = path.split('/').skip(1 + skipped).map(|segment| {
            let index = !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit());
            if index || self.names.contains(segment) { segment } else { "*" }
        });
        let path = shown.fold(String::new(), |path, segment| path + "/" + segment);
        ContentFault { path, rule: rule(error).to_owned() }
    }
}

impl Validator {
    /// Checks the object without its member `without`. Nothing fits a retired document.
    pub(crate) fn conform(&self, instance: &Object<'_>, without: Option<&str>) -> Result<(), ContentFault> {
        let Some(all) = &self.all else {
            return Err(ContentFault { path: String::new(), rule: "schema".to_owned() });
        };
        all.conform(Node::Root(Members { object: instance, without, under: Some(&self.key) }), 1)
    }

    /// The cost of members under its document.
    pub(crate) fn member_steps(&self) -> MemberSteps {
        self.all.as_ref().map_or(MemberSteps::default(), |all| all.member_steps)
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.all.is_none()
    }

    /// The same without its compiled form.
    pub(crate) fn retired(&self) -> Self {
        Self { all: None, key: self.key.clone() }
    }
}

/// The values that the keywords of one document are compiled with.
pub(super) struct Keywords<'k> {
    pub(super) codes: &'k custom::Codes,
    pub(super) matchers: &'k Matchers,
    pub(super) limits: &'k SchemaLimits,
}

/// The keyword that refused; `false` where a schema `false` did.
fn rule<'e>(error: &'e ValidationError<'_>) -> &'e str {
    match error.kind() {
        // one keyword with several rules
        ValidationErrorKind::Custom { keyword, message } if keyword == "x-embedding" => message,
        kind => match kind.keyword() {
            "falseSchema" => "false",
            keyword => keyword,
        },
    }
}

/// The options of every schema: one draft, no fetching, formats asserted and known, patterns in linear time.
fn options(keywords: &Keywords<'_>) -> ValidationOptions<'static, Arc<dyn jsonschema::Retrieve>, Tree> {
    // for names of members, which the library matches itself; its lazily built table is kept for each thread
    let patterns = PatternOptions::regex()
        .size_limit(keywords.limits.max_pattern_bytes.saturating_mul(SPELT_OUT))
        .dfa_size_limit(keywords.limits.max_table_bytes);
    let (codes, matchers) = (keywords.codes.clone(), keywords.matchers.clone());
    jsonschema::options_for::<Tree>()
        .with_draft(Draft::Draft202012)
        .offline()
        .should_validate_formats(true)
        .should_ignore_unknown_formats(false)
        .with_pattern_options(patterns)
        .with_email_options(EmailOptions::default().without_display_text())
        .with_format("date", datetime::date)
        .with_format("time", datetime::time)
        .with_format("date-time", datetime::date_time)
        .with_keyword("pattern", move |schema, value, _| custom::pattern(&matchers, schema, value))
        .with_keyword("x-free-text", custom::free_text)
        .with_keyword("x-embedding", custom::embedding)
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
                    names.extend(members.keys().map(|name| escaped(name)));
                }
                collect_names(value, names);
            }
        }
        Value::Array(list) => list.iter().for_each(|schema| collect_names(schema, names)),
        _ => {}
    }
}
