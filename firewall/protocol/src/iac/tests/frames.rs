//! Attacks on the protobuf: what one message may be.

use super::*;

/// The explicit encoding of [`TASK`], with a piece replaced.
fn task(piece: &str, other: &str) -> Vec<u8> {
    let text =
        "0a0161 120162 1805 220c7b227461736b223a2274227d 28babba9d806 309785c9bad2bb81de66 3800 4200 4a00";
    assert!(text.contains(piece));
    unhex(&text.replacen(piece, other, 1))
}

fn fault(bytes: Vec<u8>) -> MessageFault {
    read(bytes).unwrap_err()
}

#[test]
fn iac_attack_unknown_field() {
    // the stock reader skips fields 10 and above, which no signature covers
    for more in ["5000", "520161", "0000", "ffffffff0f00", "f8ffffff0f00"] {
        assert!(fault(task("4a00", &format!("4a00 {more}"))).what.contains("has a field"), "{more}");
    }
}

#[test]
fn iac_attack_type_outside_the_enum() {
    // the stock reader takes 77 for 0, and verifies it as 0
    for number in ["00", "0b", "4d", "ffffffffffffffffff01", "8580808010"] {
        let fault = fault(task("1805", &format!("18{number}")));
        assert_eq!((fault.kind, fault.path.as_str()), (FaultKind::Malformed, "/msg_type"), "{number}");
    }
    // an absent type is 0
    assert_eq!(fault(unhex("0a0161 120162")).path, "/msg_type");
}

#[test]
fn iac_attack_field_twice() {
    for (piece, twice) in
        [("0a0161", "0a0161 0a0163"), ("1805", "1808 1805"), ("3800", "3801 3800"), ("4a00", "4a00 4a0178")]
    {
        assert_eq!(fault(task(piece, twice)).kind, FaultKind::DuplicateKey, "{twice}");
    }
    // also with another field between them
    let fault = fault(task("4a00", "4a00 1808"));
    assert_eq!((fault.kind, fault.path.as_str()), (FaultKind::DuplicateKey, "/msg_type"));
}

#[test]
fn a_message_in_another_spelling_is_refused() {
    for (piece, other, what) in [
        ("0a0161 120162", "120162 0a0161", "is not in the order of the fields"),
        ("1805", "188500", "has a number in a longer form than necessary"),
        ("1805", "1a0105", "is not of the wire type of its field"),
        ("0a0161", "0861", "is not of the wire type of its field"),
        ("0a0161", "0a01ff", "is not utf-8"),
        ("3800", "", "has some defaults written and others left out"),
        ("4a00", "", "has some defaults written and others left out"),
        ("4200", "420161", "is not 64 bytes long"),
        ("4200", "4241", "ends in the middle of a field"),
        ("4a00", "4a", "ends in the middle of a field"),
        ("1805", "1b1c", "has a group, which this protocol does not use"),
        ("1805", "1d05000000", "is not of the wire type of its field"),
    ] {
        assert_eq!(fault(task(piece, other)).what, what, "{other}");
    }
    assert!(read(task("4200", "4200")).is_ok());
}

#[test]
fn a_message_is_shown_without_its_values() {
    let secret = Fields { from: "mallory", payload: r#"{"pin":"4711"}"#, ..TASK };
    let shown = format!("{:?}", frame(&secret));
    assert!(!shown.contains("mallory") && !shown.contains("4711"), "{shown}");
}
