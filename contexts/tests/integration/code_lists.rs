//! A code list is there once, however often the schemas of its document name it: a small document must not take much memory.

use crate::memory::{alone, peak};
use semgate_contexts::{Context, DocumentLimits, Prefix};
use serde_json::{Map, Value, json};

#[test]
fn a_long_code_list_that_is_named_often_is_kept_once() {
    if !alone("code_lists::a_long_code_list_that_is_named_often_is_kept_once") {
        return;
    }
    let codes: Vec<String> = (0..8_000).map(|n| format!("{n:03x}")).collect();
    let named = json!({"type": "string", "x-code-list": "L"});
    let members: Map<String, Value> = (0..200).map(|n| (format!("m{n}"), named.clone())).collect();
    let one = json!({"type": "object", "properties": members});
    let concepts: Map<String, Value> =
        ["a", "b", "c", "d"].map(|name| (name.into(), one.clone())).into_iter().collect();
    let document =
        json!({"context": "urn:contexts:t:v1.0", "codes": {"L": codes}, "concepts": concepts}).to_string();
    let before = peak();
    let context =
        Context::check(document.as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap();
    let took = peak() - before;
    let shape = context.term("a").unwrap().shapes().next().unwrap();
    let fits = |content: &str| {
        let read = semgate_contexts::json::read(content.as_bytes(), &Default::default()).unwrap();
        shape.conform(read.as_object().unwrap(), None).is_ok()
    };
    assert!(fits(r#"{"m0":"000","m199":"1f3f"}"#) && !fits(r#"{"m7":"0000"}"#));
    assert!(took < 64 * 1024, "{took} KiB for a document of {} bytes", document.len());
}
