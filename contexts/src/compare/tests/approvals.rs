//! Tasks that a person must approve, in two versions.

use serde_json::{Value, json};

use super::super::*;
use crate::{Context, DocumentLimits, Prefix};

fn context(minor: u8, required: Option<Value>) -> Context {
    let object = json!({ "type": "object", "properties": { "service": { "type": "string" } } });
    let mut task = json!({ "parameters": object, "results": object });
    if let Some(required) = required {
        task["x-require-approval"] = required;
    }
    let document = json!({ "context": format!("urn:contexts:t:v1.{minor}"), "tasks": { "restart": task } });
    Context::check(document.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap()
}

fn approval(old: Option<Value>, new: Option<Value>) -> (Verdict, Option<Part>) {
    let compared = compare(&context(0, old), &context(1, new), &CompareLimits::default());
    let at = "/tasks/restart/x-require-approval";
    (compared.verdict, compared.parts.into_iter().find(|part| part.pointer == at))
}

#[test]
fn attack_a_minor_version_drops_the_approval() {
    for asked in [json!(true), json!("restarts a service")] {
        let (verdict, part) = approval(Some(asked), None);
        let part = part.unwrap();
        assert_eq!(
            (verdict, part.verdict, part.witness.is_none()),
            (Verdict::Breaking, Verdict::Breaking, true)
        );
        assert!(
            part.reason.contains("requires a person's approval, and the newer one does not"),
            "{}",
            part.reason
        );
        assert!(part.described.unwrap().contains("any request of `restart`"));
    }
}

#[test]
fn an_approval_that_is_added_or_worded_otherwise_is_compatible_and_reported() {
    let (verdict, part) = approval(None, Some(json!(true)));
    assert_eq!(
        (verdict, part.unwrap().reason.contains("must approve each request now")),
        (Verdict::Compatible, true)
    );
    let (verdict, part) = approval(Some(json!("a")), Some(json!("b")));
    assert_eq!((verdict, &*part.unwrap().reason), (Verdict::Compatible, "it asks a person in other words"));
    let (verdict, part) = approval(Some(json!("a")), Some(json!("a")));
    assert_eq!((verdict, &*part.unwrap().reason), (Verdict::Compatible, "it is unchanged"));
    assert_eq!(approval(None, None), (Verdict::Compatible, None), "nothing to compare");
}

#[test]
fn a_task_that_is_gone_is_judged_by_its_schemas_alone() {
    let old = context(0, Some(json!(true)));
    let object = json!({ "type": "object" });
    let other = json!({ "context": "urn:contexts:t:v1.1", "concepts": { "c": object } });
    let new = Context::check(other.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default());
    let compared = compare(&old, &new.unwrap(), &CompareLimits::default());
    assert_eq!(compared.verdict, Verdict::Breaking);
    assert!(compared.parts.iter().all(|part| !part.pointer.ends_with("x-require-approval")));
}
