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
use semgate_contexts::{Context, FieldType, json::Json};
use semgate_protocol::Instance;
use std::collections::{BTreeSet, HashSet};

pub use answer::Clarification;
pub(crate) use answer::{Question, answerable};

/// The question, in the control vocabulary (F0-26).
pub(crate) const QUESTION: &str = crate::meter::AMBIGUOUS;
/// Its answer (F0-27).
pub(crate) const OPTIONS: &str = "parameter_options";
/// The member of both that names the parameter.
pub(crate) const PARAMETER: &str = "parameter";

/// A context's definition of a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameter<'c> {
    /// True if some member of this name takes values outside every list.
    open: bool,
    /// Code lists of the members with this name.
    lists: BTreeSet<&'c str>,
}

impl<'c> Parameter<'c> {
    /// The context's definition of a parameter; `None` if no member has this name.
    pub(crate) fn of(context: &'c Context, name: &str) -> Option<Self> {
        let mut parameter = Self::default();
        context.each_parameter(|own, field| {
            if own == name {
                match codes_of(&field.kind) {
                    Some(list) => drop(parameter.lists.insert(list)),
                    None => parameter.open = true,
                }
            }
        });
        (parameter.open || !parameter.lists.is_empty()).then_some(parameter)
    }

    /// The only code list of the parameter; `None` if it has several lists or an open member.
    pub(crate) fn list(&self) -> Option<&'c str> {
        let mut lists = self.lists.iter();
        match (self.open, lists.next(), lists.next()) {
            (false, Some(only), None) => Some(only),
            _ => None,
        }
    }
}

/// Code list of a code or of an array of codes.
fn codes_of(kind: &FieldType) -> Option<&str> {
    match kind.present() {
        FieldType::Text { code_list, .. } => code_list.as_deref(),
        FieldType::Array(items) => codes_of(items),
        _ => None,
    }
}

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
