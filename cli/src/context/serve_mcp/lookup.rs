//! `lookup_concept`.

use std::collections::BTreeMap;

use semgate_contexts::TermKind;
use semgate_contexts::prompt::{Budget, render_term};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::catalogue::{Catalogue, Current};
use super::outcome::Refused;

/// Tokens of a definition where none are asked for: a large concept with its code lists.
const DEFINITION: u32 = 16_384;

/// Contexts that one answer names.
const MOST_FOUND: usize = 32;

/// The definition of a concept or task.
pub fn concept(catalogue: &Catalogue, mut arguments: Arguments) -> Result<Value, Refused> {
    let (name, context) = (arguments.required("name")?, arguments.text("context")?);
    let budget = arguments.count("budget")?.unwrap_or_else(|| u64::from(DEFINITION));
    arguments.end()?;
    let budget = u32::try_from(budget).ok().and_then(|tokens| Budget::of(tokens).ok());
    let budget = budget.ok_or_else(|| Refused::new("malformed", "`budget` is from 1 to 1000000"))?;
    if let Some(context) = context {
        return defined(&catalogue.find(&context)?, &name, budget);
    }
    // by URN, so the newest version of a line is the last of it
    let having = catalogue.all().into_iter().filter(|one| one.context.term(&name).is_some());
    let newest: BTreeMap<String, Current> =
        having.map(|one| (one.context.urn().line().as_str().to_owned(), one)).collect();
    let having: Vec<Current> = newest.into_values().collect();
    match having.as_slice() {
        [] => Err(Refused::new("concept_undefined", "no context that counts defines this name")),
        [one] => defined(one, &name, budget),
        several => {
            let urns: Vec<&str> =
                several.iter().take(MOST_FOUND).map(|one| one.context.urn().as_str()).collect();
            Ok(json!({"name": name, "contexts": urns, "hint": "name the context: several lines define it"}))
        }
    }
}

fn defined(current: &Current, name: &str, budget: Budget) -> Result<Value, Refused> {
    let context = &current.context;
    let undefined =
        || Refused::new("concept_undefined", "the context defines no concept or task of this name");
    let term = context.term(name).ok_or_else(undefined)?;
    let text = render_term(context, name, current.status, budget).ok_or_else(undefined)?;
    let text = text.map_err(|fault| Refused::new("too_large", fault.to_string()))?;
    let kind = match term.kind() {
        TermKind::Concept => "concept",
        TermKind::Task => "task",
    };
    Ok(json!({
        "context": context.urn().as_str(), "digest": context.digest().to_string(), "status": current.status.as_str(),
        "name": name, "kind": kind, "definition": text,
    }))
}
