//! The vocabulary of contexts: every keyword is known, well-formed, within its bound and in an allowed place.

mod embedding;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::fault::LocatedFault;
use super::matcher::Matchers;
use super::pointer::pointer;
use super::source::{Source, in_place};
use super::vocabulary::{FORMATS, Holds, NOT_LARGE, SEEN, WITH_LENGTH, demand, is_test, keyword};
use super::{SchemaFault, SchemaLimits, custom::is_refused, pattern};
use crate::json::MAX_INTEGER;
use crate::vectors::Spaces;
pub(super) use embedding::is_bare;

/// Lower bound, upper bound, and the demand on the lower one: crossed, they accept nothing.
const RANGES: [(&str, &str, &str); 3] = [
    ("minimum", "maximum", "at most `maximum`"),
    ("minLength", "maxLength", "at most `maxLength`"),
    ("minItems", "maxItems", "at most `maxItems`"),
];

/// Faults of one document that are kept: more than an author mends in one pass.
pub(super) const MAX_FAULTS: usize = 256;

/// The position of a schema.
#[derive(Clone, Copy)]
struct SchemaPosition {
    /// The schema of a concept: the only one with `x-performatives`.
    concept: bool,
    /// Inside `not`, `if`, `contains` or `propertyNames`: it tests, and its demands need not hold of content.
    test: bool,
}

/// Goes over every schema of a document once.
pub(super) struct Checker<'s, 'd> {
    source: &'s Source<'d>,
    limits: &'s SchemaLimits,
    matchers: &'s Matchers,
    path: Vec<String>,
    patterns: usize,
    depths: HashMap<String, usize>,
    faults: Vec<LocatedFault>,
    /// The spaces of every `x-embedding`.
    spaces: Spaces,
    /// References that lead to no `x-embedding`.
    without_vectors: HashSet<String>,
}

/// The reason that a keyword is refused where a schema tests.
const IN_A_TEST: &str = "inside `not`, `if`, `contains` and `propertyNames` it has no meaning";

type Checked = Result<(), LocatedFault>;

impl<'s, 'd> Checker<'s, 'd> {
    pub(super) fn new(source: &'s Source<'d>, matchers: &'s Matchers) -> Self {
        let limits = matchers.limits();
        let (path, depths, faults) = (Vec::new(), HashMap::new(), Vec::new());
        let (spaces, without_vectors) = (Spaces::new(), HashSet::new());
        Checker { source, limits, matchers, path, patterns: 0, depths, faults, spaces, without_vectors }
    }

    /// Checks the schema at `path`, with all below it; `concept` if it is the schema of a concept.
    pub(super) fn schema(&mut self, schema: &Value, path: &[&str], concept: bool) {
        self.path = path.iter().map(|segment| (*segment).to_owned()).collect();
        self.visit(schema, SchemaPosition { concept, test: false });
    }

    /// Every fault of the schemas checked so far, in their order, at most [`MAX_FAULTS`].
    pub(super) fn faults(self) -> Vec<LocatedFault> {
        self.faults
    }

    fn note(&mut self, checked: Checked) {
        if let Err(fault) = checked
            && self.faults.len() < MAX_FAULTS
        {
            self.faults.push(fault);
        }
    }

    fn fail<T>(&self, fault: SchemaFault) -> Result<T, LocatedFault> {
        Err(LocatedFault { path: pointer(&self.path), fault })
    }

    fn must<T>(&self, keyword: &str, must: &'static str) -> Result<T, LocatedFault> {
        self.fail(SchemaFault::KeywordValue { keyword: keyword.to_owned(), must })
    }

    fn within(&self, what: &'static str, count: usize, limit: usize) -> Checked {
        if count > limit { self.fail(SchemaFault::Limit { what, limit: limit as u64 }) } else { Ok(()) }
    }

    fn below(&mut self, segments: &[&str], schema: &Value, position: SchemaPosition) {
        self.path.extend(segments.iter().map(|segment| (*segment).to_owned()));
        self.visit(schema, position);
        self.path.truncate(self.path.len().saturating_sub(segments.len()));
    }

    fn visit(&mut self, schema: &Value, position: SchemaPosition) {
        let (depth, before) = (self.path.len(), self.faults.len());
        let checked = match schema {
            Value::Bool(_) => Ok(()),
            Value::Object(map) => {
                for (name, value) in map {
                    let checked = self.keyword(map, name, value, position);
                    self.note(checked);
                    self.path.truncate(depth);
                }
                self.combinations(map)
            }
            _ => self.fail(SchemaFault::NotASchema),
        };
        self.note(checked);
        // otherwise each schema around a fault would repeat it
        if self.faults.len() == before {
            let checked = self.depth_in_place(schema);
            self.note(checked);
        }
    }

    fn keyword(
        &mut self,
        map: &Map<String, Value>,
        name: &str,
        value: &Value,
        position: SchemaPosition,
    ) -> Checked {
        let below = SchemaPosition { concept: false, test: position.test || is_test(name) };
        match keyword(name) {
            None => {
                let keyword = name.chars().take(64).collect();
                self.fail(SchemaFault::UnknownKeyword { keyword })
            }
            Some(Holds::Never(why)) => {
                self.fail(SchemaFault::RefusedKeyword { keyword: name.to_owned(), why })
            }
            Some(Holds::Schema) => {
                self.below(&[name], value, below);
                Ok(())
            }
            Some(Holds::Schemas) => self.schemas(name, value, below),
            Some(Holds::NamedSchemas) => self.named_schemas(name, value, below),
            Some(Holds::Reference) => match value.as_str().map(|reference| self.source.resolve(reference)) {
                Some(Ok(_)) if position.test => self.test_through(value.as_str().unwrap_or_default()),
                Some(resolved) => resolved.map(drop).or_else(|fault| self.fail(fault)),
                None => self.must(name, "a string"),
            },
            Some(Holds::FreeText | Holds::CodeList | Holds::Embedding) if position.test => {
                self.fail(SchemaFault::RefusedKeyword { keyword: name.to_owned(), why: IN_A_TEST })
            }
            Some(Holds::FreeText) => self.free_text(map, value),
            Some(Holds::Embedding) => self.embedding(map, value),
            Some(Holds::CodeList) => match value.as_str() {
                Some(list) if self.source.codes.contains_key(list) => self.string_only(map, name),
                _ => self.fail(SchemaFault::UnknownCodeList),
            },
            Some(Holds::Performatives) if !position.concept => self.fail(SchemaFault::RefusedKeyword {
                keyword: name.to_owned(),
                why: "it belongs on the schema of a concept; a task has `performatives`",
            }),
            Some(holds) => self.plain(name, value, &holds),
        }
    }

    fn schemas(&mut self, name: &str, value: &Value, position: SchemaPosition) -> Checked {
        let Some(list) = value.as_array().filter(|list| !list.is_empty()) else {
            return self.must(name, "a list of schemas, not empty");
        };
        for (index, schema) in list.iter().enumerate() {
            self.below(&[name, &index.to_string()], schema, position);
        }
        Ok(())
    }

    fn named_schemas(&mut self, name: &str, value: &Value, position: SchemaPosition) -> Checked {
        let Some(map) = value.as_object() else {
            return self.must(name, "an object of schemas");
        };
        self.within("members in one schema", map.len(), self.limits.max_members)?;
        if name == "patternProperties" {
            self.within("`patternProperties` in one schema", map.len(), self.limits.max_pattern_properties)?;
        }
        for (key, schema) in map {
            if name == "patternProperties" {
                self.pattern(name, key)?;
            }
            self.below(&[name, key], schema, position);
        }
        Ok(())
    }

    /// Compiles a pattern alone here, where its schema is known.
    fn pattern(&mut self, keyword: &str, pattern: &str) -> Checked {
        self.patterns += 1;
        self.within("patterns in the document", self.patterns, self.limits.max_patterns)?;
        self.within("characters in one pattern", pattern.chars().count(), self.limits.max_pattern_length)?;
        pattern::compiles(keyword, pattern, self.matchers).map_err(|fault| {
            let mut path = self.path.clone();
            if keyword == "patternProperties" {
                path.extend([keyword.to_owned(), pattern.to_owned()]);
            }
            LocatedFault { path: pointer(&path), fault }
        })
    }

    /// Checks keywords whose value can be judged alone.
    fn plain(&mut self, name: &str, value: &Value, holds: &Holds) -> Checked {
        let fits = match holds {
            Holds::Dialect => value == "https://json-schema.org/draft/2020-12/schema",
            Holds::Types => return self.types(value),
            Holds::Values => return self.values(value),
            Holds::Count => super::source::count(value).is_some(),
            Holds::Number => value.is_number(),
            Holds::Anything | Holds::PositiveNumber if has_large(value) => {
                return self.must(name, NOT_LARGE);
            }
            Holds::PositiveNumber => value.as_f64().is_some_and(|number| number > 0.0),
            Holds::Truth => value.is_boolean(),
            Holds::Text => return self.words(name, value),
            Holds::Pattern => match value.as_str() {
                Some(pattern) => return self.pattern(name, pattern),
                None => false,
            },
            Holds::Format => value.as_str().is_some_and(|format| FORMATS.contains(&format)),
            Holds::Names => return self.names(name, value),
            Holds::NamedNames => match value.as_object() {
                Some(map) => {
                    self.within("members in one schema", map.len(), self.limits.max_members)?;
                    return map.values().try_for_each(|names| self.names(name, names));
                }
                None => false,
            },
            _ => true,
        };
        if fits { Ok(()) } else { self.must(name, demand(holds)) }
    }

    /// Checks words for readers: a reader must see all of them.
    fn words(&self, name: &str, value: &Value) -> Checked {
        match value.as_str() {
            None => self.must(name, "a string"),
            Some(text) if self.limits.authored && text.chars().any(is_refused) => self.must(name, SEEN),
            Some(_) => Ok(()),
        }
    }

    fn types(&self, value: &Value) -> Checked {
        let known =
            |value: &Value| value.as_str().is_some_and(|name| super::source::types::named(name).is_some());
        let fits = match value {
            Value::Array(names) => {
                !names.is_empty() && names.iter().all(known) && all_differ(names) && names.len() <= 7
            }
            name => known(name),
        };
        if fits { Ok(()) } else { self.must("type", "a type of JSON, or a list of them") }
    }

    fn values(&self, value: &Value) -> Checked {
        if has_large(value) {
            return self.must("enum", NOT_LARGE);
        }
        let Some(values) = value.as_array().filter(|values| !values.is_empty()) else {
            return self.must("enum", "a list, not empty");
        };
        self.within("entries in one `enum`; use `codes`", values.len(), self.limits.max_enum)?;
        if all_differ(values) { Ok(()) } else { self.must("enum", "a list of values, each once") }
    }

    fn names(&self, keyword: &str, value: &Value) -> Checked {
        let Some(names) = value.as_array().filter(|names| names.iter().all(Value::is_string)) else {
            return self.must(keyword, "a list of names");
        };
        self.within("members in one schema", names.len(), self.limits.max_members)?;
        if all_differ(names) { Ok(()) } else { self.must(keyword, "a list of names, each once") }
    }

    fn free_text(&self, map: &Map<String, Value>, value: &Value) -> Checked {
        match value {
            Value::Bool(false) => return Ok(()),
            Value::Bool(true) => {}
            _ => return self.must("x-free-text", "`true` or `false`"),
        }
        self.string_only(map, "x-free-text")?;
        match map.get("maxLength").and_then(Value::as_u64) {
            None => self.must("x-free-text", "used together with `maxLength`"),
            Some(length) if length > self.limits.max_free_text => self.fail(SchemaFault::Limit {
                what: "characters of free text",
                limit: self.limits.max_free_text,
            }),
            Some(_) => Ok(()),
        }
    }

    fn string_only(&self, map: &Map<String, Value>, keyword: &str) -> Checked {
        if map.get("type").is_some_and(|kind| kind == "string") {
            Ok(())
        } else {
            self.must(keyword, "used together with `\"type\": \"string\"`")
        }
    }

    /// Checks keywords that need one another.
    fn combinations(&self, map: &Map<String, Value>) -> Checked {
        let has = |keyword: &str| map.contains_key(keyword);
        if (has("then") || has("else")) && !has("if") {
            return self.must(if has("then") { "then" } else { "else" }, "used together with `if`");
        }
        if self.limits.authored && has("pattern") && !has("maxLength") {
            return self.must("pattern", WITH_LENGTH);
        }
        if (has("maxContains") || has("minContains")) && !has("contains") {
            return self.must("contains", "used together with `maxContains` and `minContains`");
        }
        for (least, most, must) in RANGES {
            let bound = |keyword| map.get(keyword).and_then(Value::as_f64);
            if bound(least).zip(bound(most)).is_some_and(|(least, most)| least > most) {
                return self.must(least, must);
            }
        }
        if map.get("uniqueItems") == Some(&Value::Bool(true)) {
            let limit = self.limits.max_unique_items;
            match map.get("maxItems").and_then(Value::as_u64) {
                None => return self.must("uniqueItems", "used together with `maxItems`"),
                Some(items) if items > limit => {
                    return self
                        .fail(SchemaFault::Limit { what: "items together with `uniqueItems`", limit });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Refuses a cycle and a long chain of subschemas that look at the same value.
    fn depth_in_place(&mut self, schema: &Value) -> Checked {
        let mut stack = Vec::new();
        match self.depth_of(schema, 1, &mut stack) {
            Ok(_) => Ok(()),
            Err(fault) => self.fail(fault),
        }
    }

    /// The longest chain below `schema` in place; `above` counts the schemas over it. Each target is computed once.
    fn depth_of(
        &mut self,
        schema: &Value,
        above: usize,
        stack: &mut Vec<String>,
    ) -> Result<usize, SchemaFault> {
        let limit = self.limits.max_in_place_depth;
        let too_deep = || SchemaFault::Limit { what: "nested subschemas on one value", limit: limit as u64 };
        if above > limit {
            return Err(too_deep());
        }
        let Value::Object(map) = schema else { return Ok(1) };
        let mut deepest = 0;
        for child in in_place(map) {
            deepest = deepest.max(self.depth_of(child, above + 1, stack)?);
        }
        if let Some(Value::String(reference)) = map.get("$ref") {
            if stack.contains(reference) {
                return Err(SchemaFault::Cycle);
            }
            let below = match self.depths.get(reference) {
                Some(known) => *known,
                None => {
                    let target = self.source.resolve(reference)?;
                    stack.push(reference.clone());
                    let below = self.depth_of(target, above + 1, stack)?;
                    stack.pop();
                    self.depths.insert(reference.clone(), below);
                    below
                }
            };
            deepest = deepest.max(below);
        }
        if above + deepest > limit { Err(too_deep()) } else { Ok(deepest + 1) }
    }
}

/// Returns true if some number exceeds 2^53 − 1, where the canonical form holds the nearest double instead.
fn has_large(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|number| number.abs() > MAX_INTEGER as f64),
        Value::Array(items) => items.iter().any(has_large),
        Value::Object(members) => members.values().any(has_large),
        _ => false,
    }
}

fn all_differ(values: &[Value]) -> bool {
    values.iter().enumerate().all(|(index, value)| !values.iter().take(index).any(|earlier| earlier == value))
}
