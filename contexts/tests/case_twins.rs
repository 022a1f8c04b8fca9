//! Members that differ from a declared one only in case, in objects that are open (DESIGN §2.1).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use semgate_contexts::json::{self, Json, Limits};
use semgate_contexts::{Context, DocumentLimits, Performative, Prefix};

const DOCUMENT: &str = r#"{"context":"urn:contexts:twins:v1.0","concepts":{"transfer":{
    "type":"object","additionalProperties":true,
    "properties":{"amount":{"type":"integer"},
        "inner":{"type":"object","additionalProperties":true,"properties":{"currency":{"type":"string","maxLength":3},"risk":{"type":"integer"}}},
        "list":{"type":"array","maxItems":3,"items":{"type":"object","additionalProperties":true,"properties":{"id":{"type":"integer"}}}}}}}}"#;

fn conform(instance: &str) -> Result<(), (String, String)> {
    let context =
        Context::check(DOCUMENT.as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap();
    let shape = context.term("transfer").unwrap().side(Performative::Request).unwrap();
    let Json::Object(object) = json::read(instance.as_bytes(), &Limits::default()).unwrap() else { panic!() };
    shape.conform(&object, Some("concept")).map_err(|fault| (fault.path, fault.rule))
}

#[test]
fn attack_an_amount_in_another_case_beside_the_one_that_policies_read_is_refused() {
    let twin = |path: &str| Err((path.to_owned(), "case".to_owned()));
    assert_eq!(conform(r#"{"concept":"transfer","amount":1,"Amount":50000}"#), twin("/amount"));
    assert_eq!(conform(r#"{"AMOUNT":50000}"#), twin("/amount"), "also where the declared one is absent");
    assert_eq!(conform(r#"{"inner":{"Currency":"USD"}}"#), twin("/inner/currency"));
    assert_eq!(conform("{\"inner\":{\"ri\u{17f}k\":900}}"), twin("/inner/risk"), "as Go's readers fold it");
    assert_eq!(conform("{\"inner\":{\"ris\u{212a}\":900}}"), twin("/inner/risk"));
    assert_eq!(conform(r#"{"list":[{"id":1},{"Id":2}]}"#), twin("/list/id"));
    assert_eq!(conform(r#"{"concept":"transfer","amount":1,"note":"n","inner":{"x":1}}"#), Ok(()));
}
