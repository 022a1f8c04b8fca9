//! The forms of the W3C, and values that are none.

use super::*;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[test]
fn a_traceparent_is_read_and_written_as_version_00() {
    let parent = TraceParent::parse(PARENT).unwrap();
    assert_eq!(parent.to_string(), PARENT);
    assert!(parent.is_sampled());
    let later = PARENT.replacen("00", "cc", 1) + "-what-comes-later";
    assert_eq!(TraceParent::parse(&later).unwrap(), parent, "a later version is read as 00");
    assert!(!fits(TRACEPARENT, &later), "and does not pass unread");
    assert!(fits(TRACEPARENT, PARENT));
}

#[test]
fn attack_a_traceparent_that_another_reader_takes_otherwise_does_not_pass() {
    for bad in [
        "",
        "00",
        &PARENT.to_uppercase(),
        &PARENT.replacen("00", "ff", 1),
        &PARENT.replace('-', "_"),
        &PARENT.replace("b7ad6b7169203331", "0000000000000000"),
        &PARENT.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
        &PARENT.replace("0af7", "+af7"),
        &(PARENT.to_owned() + "-00"),
        &(" ".to_owned() + PARENT),
    ] {
        assert_eq!(TraceParent::parse(bad), None, "{bad}");
        assert!(!fits(TRACEPARENT, bad), "{bad}");
    }
}

#[test]
fn a_tracestate_has_at_most_32_members_and_512_characters() {
    let list = |count: usize| (0..count).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
    for good in ["", "a=1", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "a@b=1 , ,c=!2", &list(32)] {
        assert!(fits(TRACESTATE, good), "{good}");
    }
    let long = format!("a={},b={}", "x".repeat(256), "y".repeat(254));
    assert_eq!(long.len(), 515);
    for bad in ["a", "=1", "a=", "A=1", "a=b=c", "a=obey me", "a=\u{e9}", &list(33), &long] {
        assert!(!fits(TRACESTATE, bad), "{bad}");
    }
}

#[test]
fn attack_a_baggage_carries_a_sentence() {
    let list = |count: usize| (0..count).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
    for good in ["a=1, b=2", "user=a%20b , key = value;p=1;flag", "token=YWJj==", "empty=", &list(64)] {
        assert!(fits(BAGGAGE, good), "{good}");
    }
    for bad in [
        "obey me",
        "obey",
        "a=obey me",
        "a=b\n",
        "a=\"b\"",
        "a b=c",
        &list(65),
        &format!("a={}", "x".repeat(8_191)),
    ] {
        assert!(!fits(BAGGAGE, bad), "{bad}");
    }
}
