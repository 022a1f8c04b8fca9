//! Tests of `audit`.

use super::*;

#[test]
fn a_line_that_a_crash_cut_short_hides_no_other_and_any_other_text_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit.jsonl");
    let numbers = |text: &str| {
        std::fs::write(&log, text).unwrap();
        let mut numbers = Vec::new();
        each(&log, |entry| {
            numbers.push(entry.number());
            Ok(())
        })
        .map(|cut| (cut, numbers))
    };
    let record = |n: u32| format!("{{\"time\":1,\"n\":{n}}}\n");
    let text =
        record(1) + "{\"time\":1,\"n\":2,\"deci\n" + &record(3) + "{\"ti\n" + &record(5) + "{\"time\":1,";
    assert_eq!(numbers(&text).ok(), Some((2, vec![1, 3, 5])));
    for other in ["", "no record", "[]", "{\"n\":1"] {
        assert!(numbers(&(record(1) + other + "\n")).is_err(), "{other}");
    }
}
