//! `check_message`.

use semgate_contexts::json::{self, Json, Object};
use semgate_contexts::{
    Context, InstanceFault, NAMING_MEMBERS, Performative, RESERVED_NAMES, Shape, TermKind, WorkBudget,
};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::catalogue::{Catalogue, Current};
use super::outcome::{Refused, put};

/// Missing members that an answer names, as a gateway does.
const MOST_MISSING: usize = 16;

/// The control vocabulary, which any context may use.
const CONTROL: &str = "snl";

/// Checks one instance against its definition.
pub fn message(catalogue: &Catalogue, mut arguments: Arguments) -> Result<Value, Refused> {
    let (urn, name) = (arguments.required("context")?, arguments.text("name")?);
    let (content, performative) = (arguments.value("content")?, arguments.text("performative")?);
    arguments.end()?;
    let current = catalogue.find(&urn)?;
    // the reader of lines has kept the text as it was sent; only a string is left
    let Value::String(text) = content else {
        return Err(Refused::new("malformed", "the content is one JSON object, or its text"));
    };
    let read = strict(&text)?;
    let content = read.as_object();
    let content = content.ok_or_else(|| Refused::new("malformed", "the content is one JSON object"))?;
    let naming = naming(content)?;
    let named = naming.and_then(|member| content.get(member)).and_then(Json::as_str);
    if let (Some(name), Some(named)) = (&name, named)
        && name != named
    {
        return Err(Refused::new("malformed", "`name` and the content name two types"));
    }
    let name = name.as_deref().or(named);
    let name = name.ok_or_else(|| Refused::new("malformed", "nothing names the concept or task"))?;
    let control = control(catalogue, name);
    let defining = control.as_ref().unwrap_or(&current);
    let instance = Instance { content, naming: naming.filter(|_| named.is_some()) };
    let mut answer = judged(&defining.context, name, performative.as_deref(), &instance)?;
    put(&mut answer, "context", current.context.urn().as_str());
    put(&mut answer, "digest", current.context.digest().to_string());
    put(&mut answer, "name", name);
    Ok(answer)
}

/// The content, read as a gateway reads it, with the gateway's code for what it refuses.
fn strict(text: &str) -> Result<Json<'_>, Refused> {
    json::read(text.as_bytes(), &json::Limits::default())
        .map_err(|fault| Refused::new(fault.code(), format!("the content is not strict JSON: {fault}")))
}

/// The content, and the member of it that names its type.
struct Instance<'a> {
    content: &'a Object<'a>,
    naming: Option<&'static str>,
}

/// The member that names the type, if there is one.
fn naming(content: &Object<'_>) -> Result<Option<&'static str>, Refused> {
    let mut naming = NAMING_MEMBERS.into_iter().filter(|member| content.get(member).is_some());
    match (naming.next(), naming.next()) {
        (one, None) => Ok(one),
        _ => Err(Refused::new("malformed", "two members name the type of the content")),
    }
}

/// The newest version of the control vocabulary that counts, for one of its names.
fn control(catalogue: &Catalogue, name: &str) -> Option<Current> {
    if !RESERVED_NAMES.contains(&name) {
        return None;
    }
    let all = catalogue.all().into_iter().filter(|one| one.context.urn().line().as_str() == CONTROL);
    all.max_by_key(|one| one.context.urn().version())
}

fn judged(
    context: &Context,
    name: &str,
    performative: Option<&str>,
    instance: &Instance<'_>,
) -> Result<Value, Refused> {
    let term = context.term(name);
    let term = term.ok_or_else(|| {
        Refused::new("concept_undefined", "the context defines no concept or task of this name")
    })?;
    let performative = match (performative, term.kind()) {
        (Some(word), _) => word
            .parse::<Performative>()
            .map_err(|_| Refused::new("malformed", "there is no such performative"))?,
        (None, TermKind::Task) => Performative::Request,
        (None, TermKind::Concept) => Performative::Inform,
    };
    let spoken = performative.as_str();
    let Ok(shape) = term.side(performative) else {
        let fault = json!({"path": "", "rule": "x-performatives"});
        return Ok(
            json!({"conforms": false, "code": "content_invalid", "performative": spoken, "faults": [fault]}),
        );
    };
    Ok(match shape.conform_within(instance.content, instance.naming, &WorkBudget::of_message()) {
        Ok(()) => json!({"conforms": true, "performative": spoken}),
        Err(InstanceFault::Spent) => {
            json!({"conforms": false, "code": "too_complex", "performative": spoken, "faults": []})
        }
        Err(InstanceFault::Content(fault)) => json!({
            "conforms": false, "code": "content_invalid", "performative": spoken,
            "faults": [{"path": fault.path, "rule": fault.rule}], "missing": missing(shape, instance),
        }),
    })
}

fn missing(shape: &Shape, instance: &Instance<'_>) -> Vec<String> {
    shape.gaps(instance.content, instance.naming, MOST_MISSING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attack_content_that_a_gateway_refuses_to_read_does_not_conform() {
        let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
        for (content, code) in [
            (r#"{"amount":99999,"amount":1}"#, "duplicate_key"),
            (r#"{"amount":1e-400}"#, "malformed"),
            (r#"{"amount":100.10000000000000000001}"#, "malformed"),
            (r#"{"amount":9007199254740993}"#, "malformed"),
            (r#"{"amount":NaN}"#, "malformed"),
            (&*deep, "too_deep"),
        ] {
            assert_eq!(strict(content).unwrap_err().code(), code, "{content}");
        }
        assert!(strict(r#"{"amount":1}"#).is_ok());
    }
}
