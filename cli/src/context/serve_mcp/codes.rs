//! `list_codes` and `resolve_ambiguity`.

use std::collections::HashSet;
use std::sync::Arc;

use semgate_contexts::{Context, Parameter};
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::catalogue::{Catalogue, Current};
use super::outcome::{Refused, put};

/// Codes, and labels, of one answer.
const PAGE: usize = 500;

/// Codes that are offered where a text means none of them, as a gateway offers them ([clarification](docs/spec/clarification.md)).
const MOST_CHOICES: usize = 256;

/// Codes of a list, or the names of all lists.
pub fn list(catalogue: &Catalogue, mut arguments: Arguments) -> Result<Value, Refused> {
    let context = arguments.required("context")?;
    let (list, parameter) = (arguments.text("list")?, arguments.text("parameter")?);
    let offset = arguments.count("offset")?.unwrap_or(0);
    let label_offset = arguments.count("label_offset")?.unwrap_or(0);
    arguments.end()?;
    let current = catalogue.find(&context)?;
    let context = &current.context;
    let list = match (list, parameter) {
        (Some(_), Some(_)) => return Err(Refused::new("malformed", "give `list` or `parameter`, not both")),
        (Some(list), None) => list,
        (None, Some(parameter)) => {
            of_parameter(context, &parameter)?.list().map(str::to_owned).ok_or_else(|| {
                Refused::new("content_invalid", "the parameter has no code list, or several: name the list")
            })?
        }
        (None, None) => return Ok(headed(&current, lists(context))),
    };
    let codes = context.code_list(&list);
    let codes = codes.ok_or_else(|| Refused::new("content_invalid", "the context has no such code list"))?;
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(codes.len());
    let page: Vec<&String> = codes.iter().skip(start).take(PAGE).collect();
    let next = start + page.len();
    let mut answer = json!({"list": list, "total": codes.len(), "codes": page});
    if next < codes.len() {
        put(&mut answer, "next_offset", next);
    }
    let from = usize::try_from(label_offset).unwrap_or(usize::MAX);
    let codes: HashSet<&String> = page.into_iter().collect();
    put_labels(&mut answer, context.labels(&list).into_iter().flatten(), &codes, from);
    Ok(headed(&current, answer))
}

/// Adds the labels of these codes from a number on, with how many there are and where the next ones begin.
fn put_labels<'l>(
    answer: &mut Value,
    labels: impl Iterator<Item = (&'l String, &'l Vec<String>)>,
    codes: &HashSet<&String>,
    from: usize,
) {
    let labels: Vec<_> = labels.filter(|(_, meant)| meant.iter().any(|code| codes.contains(code))).collect();
    if labels.is_empty() {
        return;
    }
    let shown: Map<String, Value> =
        labels.iter().skip(from).take(PAGE).map(|(label, meant)| ((*label).clone(), json!(meant))).collect();
    let next = from.saturating_add(shown.len());
    put(answer, "total_labels", labels.len());
    put(answer, "labels", shown);
    if next < labels.len() {
        put(answer, "next_label_offset", next);
    }
}

fn lists(context: &Context) -> Value {
    let size = |list: &str| context.code_list(list).map_or(0, <[String]>::len);
    let lists: Vec<Value> =
        context.code_lists().map(|list| json!({"list": list, "total": size(list)})).collect();
    json!({"lists": lists})
}

fn of_parameter<'c>(context: &'c Context, name: &str) -> Result<Parameter<'c>, Refused> {
    let parameter = Parameter::of(context, name);
    parameter
        .ok_or_else(|| Refused::new("content_invalid", "no concept or task has a parameter of this name"))
}

/// The codes that a text may mean.
pub fn resolve(catalogue: &Catalogue, mut arguments: Arguments) -> Result<Value, Refused> {
    let context = arguments.required("context")?;
    let (name, value) = (arguments.required("parameter")?, arguments.required("value")?);
    arguments.end()?;
    let current = catalogue.find(&context)?;
    let context = &current.context;
    let parameter = of_parameter(context, &name)?;
    if parameter.lists.is_empty() {
        return Err(Refused::new(
            "content_invalid",
            "the parameter has no code list: any value of its type may be meant",
        ));
    }
    let siblings = catalogue.siblings(context.urn());
    let newer: Vec<&Context> = siblings.iter().map(Arc::as_ref).collect();
    let answer = match context.meaning(&parameter, &value, &newer) {
        Some(meaning) => {
            let by = meaning.by.as_str();
            json!({"parameter": name, "options": meaning.codes, "ground": meaning.ground.as_str(), "by": by})
        }
        None => {
            let mut answer = json!({"parameter": name, "options": [], "ground": "none"});
            let choices = parameter.list().and_then(|list| context.code_list(list));
            if let Some(choices) = choices.filter(|codes| codes.len() <= MOST_CHOICES) {
                put(&mut answer, "choices", choices);
            }
            answer
        }
    };
    Ok(headed(&current, answer))
}

/// An answer with the context that it is about.
fn headed(current: &Current, answer: Value) -> Value {
    let (urn, digest) = (current.context.urn().as_str(), current.context.digest().to_string());
    let mut headed = json!({"context": urn, "digest": digest, "status": current.status.as_str()});
    if let (Some(headed), Value::Object(answer)) = (headed.as_object_mut(), answer) {
        headed.extend(answer);
    }
    headed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn attack_more_labels_than_one_answer_holds_are_counted_and_reached() {
        let codes = vec!["A".to_owned()];
        let all: BTreeMap<String, Vec<String>> =
            (0..1_200).map(|n| (format!("label {n:04}"), codes.clone())).collect();
        let page: HashSet<&String> = codes.iter().collect();
        let (mut from, mut reached) = (0, 0);
        loop {
            let mut answer = json!({});
            put_labels(&mut answer, all.iter(), &page, from);
            assert_eq!(answer["total_labels"], 1_200);
            reached += answer["labels"].as_object().unwrap().len();
            match answer.get("next_label_offset") {
                Some(next) => from = usize::try_from(next.as_u64().unwrap()).unwrap(),
                None => break,
            }
        }
        assert_eq!(reached, 1_200);
        let mut none = json!({});
        put_labels(&mut none, all.iter(), &HashSet::new(), 0);
        assert_eq!(none, json!({}), "labels of other codes are no labels of this page");
    }
}
