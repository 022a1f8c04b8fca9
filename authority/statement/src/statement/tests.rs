use super::*;
use crate::testing::{Keys, MemoryAuthority, START};
use proptest::prelude::*;
use semgate_certs::ChainFault;
use std::sync::Arc;

fn publish() -> Statement {
    Statement::Publish {
        urn: MemoryAuthority::urn("payment:v1.1"),
        digest: Digest::of(b"x"),
        signer: Thumbprint::of(b"y"),
    }
}

fn revoke() -> Statement {
    Statement::Change {
        act: Act::Revoke,
        urn: MemoryAuthority::urn("payment:v1.1"),
        index: 3,
        reason: "key lost".to_owned(),
    }
}

fn floor() -> Statement {
    Statement::Floor {
        line: Line::parse("payment").unwrap(),
        min: Version::new(1, 1),
        reason: "v1.0 has no currency".to_owned(),
    }
}

fn read(text: &str) -> Result<Statement, StatementFault> {
    Statement::read(text.as_bytes(), &Prefix::default())
}

#[test]
fn payloads_have_exactly_these_bytes() {
    let cases = [
        (
            publish(),
            r#"{"digest":"sha-256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","kind":"publish","signer":"ofyjuvQvj4nZz5tY4yKH9qCEvxoJzgEJxlg9pNjYhus","urn":"urn:contexts:payment:v1.1"}"#
                .replace("ofyjuvQvj4nZz5tY4yKH9qCEvxoJzgEJxlg9pNjYhus", &Thumbprint::of(b"y").to_string()),
        ),
        (
            revoke(),
            r#"{"index":3,"kind":"revoke","reason":"key lost","urn":"urn:contexts:payment:v1.1"}"#.to_owned(),
        ),
        (
            floor(),
            r#"{"kind":"floor","line":"payment","min":"v1.1","reason":"v1.0 has no currency"}"#.to_owned(),
        ),
    ];
    for (statement, text) in cases {
        assert_eq!(String::from_utf8(statement.to_bytes().unwrap()).unwrap(), text);
        assert_eq!(read(&text), Ok(statement));
    }
}

#[test]
fn each_kind_is_signed_by_its_role_and_no_other() {
    let keys = Keys::new(START - 10);
    let signer = keys.signer(&["payment"]);
    let mut trust = Trust::new("semgate.test");
    for identity in [&signer, &keys.status, &keys.feed] {
        trust.insert(identity.chain.clone());
    }
    let wrong = Some(StatementFault::Jws(JwsFault::Chain(ChainFault::WrongUsage)));
    for (statement, by, expected) in [
        (publish(), &signer, None),
        (publish(), &keys.status, wrong),
        (publish(), &keys.feed, wrong),
        (revoke(), &keys.status, None),
        (revoke(), &signer, wrong),
        (floor(), &keys.status, None),
        (floor(), &signer, wrong),
        (floor(), &keys.feed, wrong),
    ] {
        let kind = statement.kind();
        let signed = SignedStatement::sign(statement, by, &keys.random).unwrap();
        assert_eq!(signed.verify(&trust, &keys.roots, START).err(), expected, "{kind}");
    }
}

#[test]
fn a_publish_statement_needs_a_certificate_that_names_its_line() {
    let keys = Keys::new(START - 10);
    let signer = keys.signer(&["travel"]);
    let mut trust = Trust::new("semgate.test");
    trust.insert(signer.chain.clone());
    let signed = SignedStatement::sign(publish(), &signer, &keys.random).unwrap();
    let verified = signed.verify(&trust, &keys.roots, START);
    assert_eq!(verified.err(), Some(StatementFault::LineNotDelegated));
    let unknown = signed.verify(&Trust::new("semgate.test"), &keys.roots, START);
    assert_eq!(unknown.err(), Some(StatementFault::Jws(JwsFault::UnknownKey)));
}

#[test]
fn what_is_not_a_statement_of_the_closed_set_is_refused() {
    let member = |name| Err(StatementFault::Format(FormatFault::Member(name)));
    for kind in ["recognize", "Override", "Publish", ""] {
        assert_eq!(read(&format!(r#"{{"kind":"{kind}"}}"#)), Err(StatementFault::UnknownKind));
    }
    assert_eq!(read(r#"{"kind":"override"}"#), member("by"));
    assert_eq!(read("{}"), member("kind"));
    assert_eq!(read("[]"), member("kind"));
    assert_eq!(read(r#"{"kind":"floor","line":"payment","min":"v1.1"}"#), member("reason"));
    assert_eq!(read(r#"{"kind":"floor","line":"pay ment","min":"v1.1","reason":""}"#), member("line"));
    assert_eq!(read(r#"{"kind":"floor","line":"payment","min":"1.1","reason":""}"#), member("min"));
    let extra = r#"{"kind":"floor","line":"payment","min":"v1.1","reason":"","x":1}"#;
    assert_eq!(read(extra), Err(StatementFault::Format(FormatFault::UnknownMember)));
    for index in ["-1", "1.5", "\"1\"", "9007199254740993", "1e300"] {
        let text =
            format!(r#"{{"index":{index},"kind":"revoke","reason":"","urn":"urn:contexts:payment:v1.1"}}"#);
        assert!(read(&text).is_err(), "{index}");
    }
    let urn = r#"{"index":1,"kind":"revoke","reason":"","urn":"URN:contexts:payment:v1.1"}"#;
    assert_eq!(read(urn), member("urn"));
}

#[test]
fn only_the_canonical_form_is_read() {
    let text = String::from_utf8(revoke().to_bytes().unwrap()).unwrap();
    for other in [text.replace(':', ": "), text.replace(":3", ":3.0"), format!("{text} ")] {
        assert!(read(&other).is_err(), "{other}");
    }
    let swapped = r#"{"kind":"revoke","index":3,"reason":"key lost","urn":"urn:contexts:payment:v1.1"}"#;
    assert_eq!(read(swapped), Err(StatementFault::Format(FormatFault::NotCanonical)));
}

#[test]
fn reasons_are_short_and_free_of_control_characters() {
    assert_eq!(check_reason("key lost"), Ok("key lost"));
    assert_eq!(check_reason(&"x".repeat(MAX_REASON_BYTES + 1)), Err(StatementFault::Reason));
    for reason in ["a\nb", "\u{1b}[31m", "\u{0}", "\u{85}"] {
        assert_eq!(check_reason(reason), Err(StatementFault::Reason));
    }
}

#[test]
fn a_reason_that_turns_or_hides_itself_is_not_said_anew_but_still_read() {
    for reason in ["key\u{202e}tsol", "a\u{200b}b", "\u{2066}a", "\u{feff}a", "a\u{e0041}"] {
        assert_eq!(check_new_reason(reason), Err(StatementFault::Unseen), "{reason:?}");
        assert_eq!(check_reason(reason), Ok(reason), "a log that says so stays readable");
    }
    for reason in ["", "   ", "\u{3000}", "\u{200d}\u{200c}"] {
        assert_eq!(check_new_reason(reason), Err(StatementFault::Blank), "{reason:?}");
        assert_eq!(check_reason(reason), Ok(reason), "a log that says so stays readable");
    }
    assert_eq!(check_new_reason("\u{1b}[2J"), Err(StatementFault::Unseen));
    assert_eq!(check_new_reason(&"x".repeat(MAX_REASON_BYTES + 1)), Err(StatementFault::Reason));
    let plain = "Schlüssel verloren, می\u{200c}خواهم";
    assert_eq!(check_new_reason(plain), Ok(plain), "joiners spell words");
}

fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn fuzz_statements_round_trip_or_are_refused(
        at in any::<prop::sample::Index>(), byte in any::<u8>(), which in 0usize..3,
    ) {
        let mut bytes = [publish(), revoke(), floor()][which].to_bytes().unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(statement) = Statement::read(&bytes, &Prefix::default()) {
            prop_assert_eq!(statement.to_bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn fuzz_random_bytes_are_no_statement(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Statement::read(&bytes, &Prefix::default()).is_err());
        prop_assert!(SignedStatement::read(&String::from_utf8_lossy(&bytes), &Prefix::default()).is_err());
    }
}

#[test]
fn what_was_signed_and_checked_here_stands_under_the_certificate_that_it_names_and_no_other() {
    let keys = Keys::new(START - 10);
    let signer = keys.signer(&["payment"]);
    let leaf = |of: &SigningIdentity, usage| verify_chain(&of.chain, &keys.roots, usage, START).unwrap();
    let own = OwnStatement::sign(publish(), &signer, &keys.random).unwrap();
    let verified = own.verify_under(&leaf(&signer, Usage::Context)).unwrap();
    assert_eq!((verified.key(), verified.statement()), (signer.thumbprint(), &publish()));

    let mismatch = Some(StatementFault::Jws(JwsFault::Thumbprint));
    let other = leaf(&keys.signer(&["payment"]), Usage::Context);
    assert_eq!(own.verify_under(&other).err(), mismatch);
    // a key that is not that of the certificate beside it
    let strange = SigningIdentity::new(Arc::clone(&keys.signer(&["payment"]).key), signer.chain.clone());
    let by_another = OwnStatement::sign(publish(), &strange, &keys.random).unwrap();
    assert_eq!(by_another.verify_under(&leaf(&signer, Usage::Context)).err(), mismatch);

    let by_status = OwnStatement::sign(publish(), &keys.status, &keys.random).unwrap();
    let wrong = StatementFault::Jws(JwsFault::Chain(ChainFault::WrongUsage));
    assert_eq!(by_status.verify_under(&leaf(&keys.status, Usage::Status)).err(), Some(wrong));
    let travel = keys.signer(&["travel"]);
    let of_another_line = OwnStatement::sign(publish(), &travel, &keys.random).unwrap();
    let refused = of_another_line.verify_under(&leaf(&travel, Usage::Context)).err();
    assert_eq!(refused, Some(StatementFault::LineNotDelegated));
}
