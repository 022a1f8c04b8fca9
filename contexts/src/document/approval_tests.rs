//! `x-require-approval` of tasks: read, refused, and on which messages it bears.

use serde_json::{Value, json};

use super::{Context, DocumentFault, DocumentLimits};
use crate::performative::Performative;
use crate::urn::Prefix;

fn check(required: Value) -> Result<Context, DocumentFault> {
    let object = json!({ "type": "object" });
    let task = json!({ "parameters": object, "results": object, "x-require-approval": required });
    let document = json!({
        "context": "urn:contexts:t:v1.0",
        "concepts": { "c": object },
        "tasks": { "restart": task, "look": { "parameters": object, "results": object } },
    });
    Context::check(document.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default())
}

#[test]
fn a_task_that_requires_approval_has_its_question_on_requests_and_not_on_results() {
    let context = check(json!("restarts a production service")).unwrap();
    let restart = context.term("restart").unwrap();
    assert_eq!(restart.requires_approval().map(|text| &**text), Some("restarts a production service"));
    let asks = |performative: Performative| restart.side(performative).unwrap().requires_approval().is_some();
    for performative in Performative::ALL {
        assert_eq!(asks(performative), performative.is_asking(), "{performative}");
    }
    for other in ["look", "c"] {
        assert_eq!(context.term(other).unwrap().requires_approval(), None, "{other}");
    }
}

#[test]
fn true_asks_in_plain_words_and_a_retired_context_keeps_them() {
    let context = check(json!(true)).unwrap();
    let question = |context: &Context| context.term("restart").unwrap().requires_approval().cloned();
    assert_eq!(question(&context).as_deref(), Some("the context requires approval of `restart`"));
    assert_eq!(question(&context.retired()), question(&context));
}

#[test]
fn a_demand_that_could_be_overlooked_or_asks_nothing_is_refused_with_its_place() {
    let long = "x".repeat(513);
    for wrong in [
        json!(false),
        json!(null),
        json!(1),
        json!(""),
        json!("  "),
        json!("a\nb"),
        json!(long),
        json!("a\u{202e}b"),
    ] {
        let fault = check(wrong.clone()).unwrap_err();
        assert_eq!(fault.path(), Some("/tasks/restart/x-require-approval"), "{wrong}");
        assert!(fault.to_string().contains("must be `true`, or one line of 1 to 512"), "{fault}");
    }
    assert!(check(json!("x".repeat(512))).is_ok());
    let object = json!({ "type": "object", "x-require-approval": true });
    let concept = json!({ "context": "urn:contexts:t:v1.0", "concepts": { "c": object } });
    let read = Context::check(concept.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default());
    assert!(matches!(read.unwrap_err(), DocumentFault::Schema { .. }), "a concept has none");
}
