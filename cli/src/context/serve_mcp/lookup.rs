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
        several => Ok(ambiguous(&name, several.iter().map(|one| one.context.urn().as_str()))),
    }
}

/// The contexts that define a name, as many as one answer names, and how many there are.
fn ambiguous<'c>(name: &str, contexts: impl ExactSizeIterator<Item = &'c str>) -> Value {
    let (total, urns) = (contexts.len(), contexts.take(MOST_FOUND).collect::<Vec<_>>());
    let hint = if total > urns.len() {
        "name the context: several lines define it, more than are listed here"
    } else {
        "name the context: several lines define it"
    };
    json!({"name": name, "contexts": urns, "total": total, "hint": hint})
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_beyond_those_that_one_answer_names_are_counted() {
        let urns: Vec<String> = (0..40).map(|n| format!("urn:contexts:c{n}:v1.0")).collect();
        let answer = ambiguous("pay", urns.iter().map(String::as_str));
        assert_eq!((answer["contexts"].as_array().unwrap().len(), &answer["total"]), (32, &json!(40)));
        assert!(answer["hint"].as_str().unwrap().contains("more than are listed"));
    }
}
