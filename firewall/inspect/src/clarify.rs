//! Clarification (F0-23 to F0-28): what `ambiguous_parameter` and `parameter_options` may speak of, by the context that they are said
//! under.
//!
//! The control vocabulary says that a parameter is a name and options are codes; which names and which codes, the named context says.
//! A parameter is a member, at any depth, of a concept or of what a task takes. One name may be a member of several: then every one
//! of them may be meant, and options must be codes of one of their lists.

mod answer;

use crate::{Code, Refusal, conform::Said};
use semgate_contexts::{Context, FieldType, json::Json};
use semgate_message::Instance;
use std::collections::{BTreeSet, HashSet};

pub use answer::Clarification;
pub(crate) use answer::{Question, answerable};

/// The question, in the control vocabulary (F0-26).
pub(crate) const QUESTION: &str = crate::meter::AMBIGUOUS;
/// Its answer (F0-27).
pub(crate) const OPTIONS: &str = "parameter_options";
/// The member of both that names the parameter.
pub(crate) const PARAMETER: &str = "parameter";

/// What a context says about a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameter<'c> {
    /// Some member of that name takes what is in no list.
    open: bool,
    /// The names of the lists that members of that name are in.
    lists: BTreeSet<&'c str>,
}

impl<'c> Parameter<'c> {
    /// What the context says; `None` if it has no parameter of this name.
    pub(crate) fn of(context: &'c Context, name: &str) -> Option<Self> {
        let mut found = Self::default();
        context.each_parameter(|own, field| {
            if own == name {
                match codes_of(&field.kind) {
                    Some(list) => drop(found.lists.insert(list)),
                    None => found.open = true,
                }
            }
        });
        (found.open || !found.lists.is_empty()).then_some(found)
    }

    /// The one list that it is in, whoever has it.
    pub(crate) fn list(&self) -> Option<&'c str> {
        let mut lists = self.lists.iter();
        match (self.open, lists.next(), lists.next()) {
            (false, Some(only), None) => Some(only),
            _ => None,
        }
    }
}

/// The list of a code, or of an array of codes.
fn codes_of(kind: &FieldType) -> Option<&str> {
    match kind.present() {
        FieldType::Text { code_list, .. } => code_list.as_deref(),
        FieldType::Array(items) => codes_of(items),
        _ => None,
    }
}

/// Whether a question or an answer of the control vocabulary speaks of what the context has. Others pass.
///
/// # Errors
/// `content_invalid`: the parameter is none of the context (rule `parameter`), or an option is none of its codes (rule `x-code-list`).
pub(crate) fn speaks_of(context: &Context, said: &Said<'_>, instance: &Instance<'_>) -> Result<(), Refusal> {
    if !matches!(said.term.name(), QUESTION | OPTIONS) {
        return Ok(());
    }
    let Some(name) = instance.object.get(PARAMETER).and_then(Json::as_str) else { return Ok(()) };
    let Some(parameter) = Parameter::of(context, name) else {
        return Err(unfit(instance, "/parameter", PARAMETER)
            .with_hint(format!("name a parameter that a concept or task of {} has", context.urn())));
    };
    let options = match instance.object.get("options").and_then(Json::as_array) {
        Some(options) if !parameter.open => options,
        _ => return Ok(()),
    };
    let mut nearest: Option<usize> = None;
    for list in &parameter.lists {
        let codes: HashSet<&str> =
            context.code_list(list).into_iter().flatten().map(String::as_str).collect();
        let foreign = |option: &Json<'_>| option.as_str().is_none_or(|option| !codes.contains(option));
        match options.iter().position(foreign) {
            None => return Ok(()),
            Some(at) => nearest = nearest.max(Some(at)),
        }
    }
    let at = nearest.unwrap_or_default();
    Err(unfit(instance, &format!("/options/{at}"), "x-code-list")
        .with_hint(format!("offer codes of the parameter's list in {}", context.urn())))
}

fn unfit(instance: &Instance<'_>, path: &str, rule: &str) -> Refusal {
    let path = instance.pointer.join(path);
    Refusal::new(Code::ContentInvalid, format!("`{path}` does not fit the rule `{rule}`"))
}

#[cfg(test)]
mod tests;
