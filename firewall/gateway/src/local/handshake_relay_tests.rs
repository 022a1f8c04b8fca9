#![allow(clippy::unwrap_used)]

use super::*;

fn refused(status: u16, code: &str) -> Option<Refusal> {
    let body = format!(r#"{{"code":"{code}","detail":"words of the agent","hint":"and more of them"}}"#);
    refused_behind(StatusCode::from_u16(status).unwrap(), body.as_bytes())
}

#[test]
fn what_an_agent_refuses_says_what_helps_against_that_and_not_always_to_begin_anew() {
    for (code, hint) in [
        ("lock_mismatch", "begin a new handshake"),
        ("replayed", "begin a new handshake, and check the clock"),
        ("context_unknown", "offer another version, or another line"),
        ("context_below_floor", "offer another version, or another line"),
        ("context_untrusted", "fetch the signed context from its authority and offer its digest"),
        ("rate_limited", "open fewer handshakes: a lock holds for many messages"),
    ] {
        let refusal = refused(403, code).unwrap();
        assert_eq!((refusal.code().as_str(), refusal.hint()), (code, hint));
        assert_eq!((refusal.reason(), refusal.detail()), ("the upstream agent refused the handshake", ""));
        assert_eq!(refusal.delivered(), Delivered::Yes);
    }
    // who speaks to whom was looked at by the gateway itself
    for code in ["sender_mismatch", "receiver_mismatch"] {
        let refusal = refused(403, code).unwrap();
        assert!(refusal.hint().starts_with("ask the operator"), "{code}: {}", refusal.hint());
    }
}

#[test]
fn other_words_of_an_agent_are_no_refusal_of_a_handshake() {
    assert!(refused(200, "lock_mismatch").is_none());
    assert!(refused(403, "policy_denied").is_none());
    assert!(refused_behind(StatusCode::FORBIDDEN, b"lock_mismatch").is_none());
}
