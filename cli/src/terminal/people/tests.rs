//! Tests of `people`.

use super::*;

#[test]
fn lines_are_tinted_by_their_beginnings_alone() {
    let text = "error: a\n  error: b\nhint: c";
    assert_eq!(with_tints(text), "\u{1b}[1;31merror:\u{1b}[0m a\n  error: b\n\u{1b}[36mhint:\u{1b}[0m c");
}

#[test]
fn a_time_names_its_offset() {
    let shown = local(1_780_315_200).unwrap();
    assert_eq!(Timestamp::strptime("%F %T %:z", &shown).unwrap().as_second(), 1_780_315_200);
    assert_eq!(local(u64::MAX), None);
}
