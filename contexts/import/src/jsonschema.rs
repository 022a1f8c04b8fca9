//! Contexts from JSON Schema: draft 2020-12, 2019-09 and 07. The schema, or some of its definitions, become concepts.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::draft::Naming;
use crate::fault::ImportFault;
use crate::names;
use crate::refs::{Targets, has_inner_base};
use crate::schema::{Habits, Translator, is_old};
use crate::terms::{ContextDraft, Terms};

/// The advice for a source that is too large.
const CHOOSE: &str = "choose definitions with `--only`";

/// Drafts a context: the schema as the concept `name`, or the named definitions (`$defs`, `definitions`) as concepts.
///
/// # Errors
/// No schema, references below an inner `$id`, an unknown definition, or a draft that is too large or not of objects.
pub fn draft(
    source: &Value,
    name: &str,
    only: &[String],
    naming: &Naming<'_>,
) -> Result<ContextDraft, ImportFault> {
    let Some(map) = source.as_object() else { return Err(ImportFault::new("no schema: not a JSON object")) };
    if has_inner_base(source) {
        return Err(ImportFault::new(
            "a schema inside has an `$id` of its own, which changes its references",
        )
        .hint("bundle the schema without inner identifiers"));
    }
    let starts: Vec<String> = if only.is_empty() {
        vec![String::new()]
    } else {
        only.iter().map(|one| pointer(source, one)).collect::<Result<_, _>>()?
    };
    let starts: Vec<&str> = starts.iter().map(String::as_str).collect();
    let mut used = BTreeSet::new();
    let mut named = |pointer: &str, part: &str| names::shared(part, pointer, &mut used);
    let roots: Vec<&Value> = starts.iter().filter_map(|pointer| source.pointer(pointer)).collect();
    let targets = Targets::of(source, roots, &mut named);
    let habits = Habits { alone: is_old(map), foreign: true, nullable: false };
    let mut translator = Translator::new(source, targets, habits);
    let translated = translator.all(&starts).map_err(ImportFault::new)?;
    let mut terms = Terms::default();
    terms.take(&mut translator);
    let concepts = if only.is_empty() { vec![name.to_owned()] } else { only.to_vec() };
    for (concept, mut schema) in concepts.iter().zip(translated) {
        let own = names::shared(concept, concept, &mut BTreeSet::new());
        if let Value::Object(members) = &mut schema
            && !members.contains_key("type")
            && ["properties", "required", "patternProperties"]
                .iter()
                .any(|keyword| members.contains_key(*keyword))
        {
            members.insert("type".to_owned(), Value::from("object"));
            terms.remark(own.as_str(), "takes objects alone, since a concept is an object");
        }
        terms.concept(&own, schema);
    }
    terms.finish(naming, CHOOSE)
}

fn pointer(source: &Value, name: &str) -> Result<String, ImportFault> {
    let escaped = name.replace('~', "~0").replace('/', "~1");
    let all = ["$defs", "definitions"].map(|section| format!("/{section}/{escaped}"));
    if let Some(pointer) = all.into_iter().find(|pointer| source.pointer(pointer).is_some()) {
        return Ok(pointer);
    }
    let sections = ["$defs", "definitions"].iter().filter_map(|section| source.get(*section)?.as_object());
    let known: Vec<&str> = sections.flat_map(Map::keys).take(24).map(String::as_str).collect();
    Err(ImportFault::new(format_args!("the source has no definition `{name}`"))
        .hint(format_args!("it has {}", known.join(", "))))
}

#[cfg(test)]
mod tests;
