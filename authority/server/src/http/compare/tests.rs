use super::*;
use semgate_contexts::compare::{CompareLimits, compare};
use semgate_contexts::{DocumentLimits, Prefix};

/// A document with so many concepts, each with a text that is marked or not.
fn document(minor: u8, concepts: usize, marked: bool) -> Context {
    let concept = |n: usize| {
        let mut text = json!({ "type": "string", "maxLength": 50 });
        if marked && let Some(text) = text.as_object_mut() {
            text.insert("x-free-text".to_owned(), true.into());
        }
        (format!("c{n:02}"), json!({ "type": "object", "properties": { "note": text } }))
    };
    let concepts: serde_json::Map<String, Value> = (0..concepts).map(concept).collect();
    let document = json!({ "context": format!("urn:contexts:test:v1.{minor}"), "concepts": concepts });
    let bytes = document.to_string();
    Context::check(bytes.as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap()
}

/// Only the first was told, so that whoever mended it met the next one.
#[test]
fn every_part_that_is_not_known_is_told_up_to_a_bound() {
    let told = |concepts: usize, versions: usize| {
        let new = document(9, concepts, false);
        let mut parts = Parts::default();
        for minor in 0..versions {
            let old = document(u8::try_from(minor).unwrap(), concepts, true);
            parts.add(old.urn(), &compare(&old, &new, &CompareLimits::default()));
        }
        parts.detail()
    };
    let two = told(2, 1);
    let named =
        |n: usize| two.contains(&format!("compared with `urn:contexts:test:v1.0`, `/concepts/c{n:02}`: "));
    assert!(named(0) && named(1) && two.contains("free text") && !two.contains('\n'), "{two}");
    let versions = told(1, 2);
    assert!(
        versions.contains("test:v1.0`, ") && versions.contains("; compared with `urn:contexts:test:v1.1`, ")
    );
    let many = told(20, 1);
    assert_eq!(many.matches("compared with `").count(), PARTS_TOLD);
    assert!(many.ends_with("; and 4 more"), "{many}");
}
