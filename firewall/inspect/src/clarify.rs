//! Clarification (F0-23 to F0-28): holds `ambiguous_parameter` and `parameter_options` against the named
//! context.
//!
//! The control vocabulary defines a parameter as a name, and options as codes. The named context defines
//! which names and codes exist.
//!
//! A parameter is a member of a concept or of a task's input, at any depth. Several members may share a name.
//! The question may then mean any of them, and options must be codes from one of their lists.

mod answer;

use crate::{Code, Refusal, conform::Definition};
use semgate_contexts::{Context, Parameter, json::Json};
use semgate_protocol::Instance;
use std::collections::HashSet;

pub use answer::Clarification;
pub(crate) use answer::{Question, answerable};

/// The question, in the control vocabulary (F0-26).
pub(crate) const QUESTION: &str = crate::meter::AMBIGUOUS;
/// Its answer (F0-27).
pub(crate) const OPTIONS: &str = "parameter_options";
/// The member of both that names the parameter.
pub(crate) const PARAMETER: &str = "parameter";

/// Checks that a question or answer of the control vocabulary uses names and codes of the context. Other
/// concepts pass.
///
/// # Errors
/// `content_invalid`: the context has no such parameter (rule `parameter`), or no such code for it (rule
/// `x-code-list`).
pub(crate) fn speaks_of(
    context: &Context,
    definition: &Definition<'_>,
    instance: &Instance<'_>,
) -> Result<(), Refusal> {
    if !matches!(definition.term.name(), QUESTION | OPTIONS) {
        return Ok(());
    }
    let Some(name) = instance.object.get(PARAMETER).and_then(Json::as_str) else { return Ok(()) };
    let Some(parameter) = Parameter::of(context, name) else {
        return Err(unfit(instance, "/parameter", PARAMETER)
            .with_hint(format!("name a parameter of a concept or task in {}", context.urn())));
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
        .with_hint(format!("offer codes from the parameter's code list in {}", context.urn())))
}

fn unfit(instance: &Instance<'_>, path: &str, rule: &str) -> Refusal {
    let path = instance.pointer.join(path);
    Refusal::new(Code::ContentInvalid, format!("`{path}` does not fit the rule `{rule}`"))
}

#[cfg(test)]
mod tests;
