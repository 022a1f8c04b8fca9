use super::*;

fn multiple(value: &str, of: &str) -> bool {
    Number::parse(value).unwrap().magnitude().is_multiple_of(Number::parse(of).unwrap().magnitude())
}

#[test]
fn money_is_judged_by_its_digits() {
    for value in ["0", "0.3", "1.1", "12000.01", "1.2e4", "12000.0000", "0.0001", "-4.35", "9007199254740991"]
    {
        assert!(multiple(value, "0.0001"), "{value}");
    }
    for value in ["0.00001", "0.00075", "1.10001", "1e-5"] {
        assert!(!multiple(value, "0.0001"), "{value}");
    }
    assert!(multiple("12.2", "0.1"));
    assert!(multiple("12391239123", "1e-8"));
    assert!(!multiple("0.00751", "0.0001"));
    assert!(multiple("4.5", "1.5"));
    assert!(!multiple("35", "1.5"));
    assert!(multiple("1e15", "32"));
    assert!(!multiple("10", "3"));
    assert!(!multiple("9007199254740991", "0.123456789"));
}

#[test]
fn what_readers_cannot_see_is_refused() {
    for c in
        ['\0', '\n', '\t', '\u{7f}', '\u{85}', '\u{202e}', '\u{2066}', '\u{200f}', '\u{61c}', '\u{e0041}']
    {
        assert!(is_refused(c), "{c:?}");
    }
    for c in ['a', ' ', 'ä', '漢', '\u{1f600}', '\u{200d}', 'א'] {
        assert!(!is_refused(c), "{c:?}");
    }
}
