//! Versions that gateways could not type beside one another, whatever the policies are.

use std::sync::Arc;

use semgate_contexts::compare::{CompareLimits, Verdict, compare};

use super::context;
use super::versions::{X_TEXT, note};
use crate::{clashes, untyped};

const X_EITHER: &str = r#""x":{"type":["string","integer"],"maxLength":9}"#;

#[test]
fn a_string_that_becomes_a_string_or_a_number_is_compatible_and_told_to_be_untyped() {
    let (old, new) = (note("demo:v1.0", X_TEXT, ""), note("demo:v1.1", X_EITHER, ""));
    assert_eq!(compare(&old, &new, &CompareLimits::default()).verdict, Verdict::Compatible);
    let resolved = clashes(&old, &new);
    assert_eq!(resolved.len(), 1, "{resolved:?}");
    assert_eq!(resolved[0].pointer, "/concepts/note");
    assert_eq!(resolved[0].what, "`x` is a string in other versions and not visible here");
    assert_eq!(untyped(&new, std::slice::from_ref(&old)), []);
    assert!(untyped(&old, &[]).is_empty() && clashes(&old, &old).is_empty());
}

#[test]
fn majors_that_disagree_and_what_was_left_out_before_are_nobodys_fault() {
    let (old, other) = (note("demo:v1.0", X_TEXT, ""), note("demo:v2.0", X_EITHER, ""));
    assert!(untyped(&other, std::slice::from_ref(&old)).is_empty());
    let before = [Arc::clone(&old), note("demo:v1.1", X_EITHER, "")];
    assert!(untyped(&note("demo:v1.2", X_TEXT, ""), &before).is_empty());
    // the same name once more is another draft and no other version
    assert!(untyped(&note("demo:v1.0", X_EITHER, ""), &before[..1]).is_empty());
}

/// A tool without arguments says so in as many words, and gets one with its next version.
#[test]
fn what_is_closed_and_empty_in_so_many_words_takes_a_member_in_its_next_version() {
    let demo = |minor: u32, properties: &str| {
        let schema = format!(r#"{{"type":"object","properties":{properties},"additionalProperties":false}}"#);
        context(&format!(r#"{{"context":"urn:contexts:demo:v1.{minor}","concepts":{{"note":{schema}}}}}"#))
    };
    let new = demo(1, r#"{"x":{"type":"integer"}}"#);
    let old = demo(0, "{}");
    assert_eq!(compare(&old, &new, &CompareLimits::default()).verdict, Verdict::Compatible);
    assert_eq!(untyped(&new, std::slice::from_ref(&old)), []);
    assert_eq!(clashes(&old, &new), []);
}
