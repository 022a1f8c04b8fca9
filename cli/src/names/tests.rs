//! Tests of `names`.

use super::*;

#[test]
fn a_reason_that_is_empty_or_hides_something_is_refused() {
    for (text, why) in [("", "`--reason` is empty"), (" ", "is empty"), ("a\u{202e}b", "bidirectional")] {
        let fault = reason("--reason", text).unwrap_err();
        assert!(fault.exit_status() == 2 && fault.to_string().contains(why), "{fault}");
    }
    assert_eq!(reason("--reason", "key lost").unwrap(), "key lost");
}

#[test]
fn short_names_are_completed_and_whole_ones_kept() {
    assert_eq!(full_urn("payment:v1.1"), "urn:contexts:payment:v1.1");
    assert_eq!(full_urn("urn:contexts:payment:v1.1"), "urn:contexts:payment:v1.1");
    assert_eq!(version("1.1"), "v1.1");
    assert_eq!(version("urn:contexts:payment:v2.0"), "v2.0");
}
