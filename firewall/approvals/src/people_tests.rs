//! Finding people, and forms.

use serde_json::json;

use crate::{HumanCard, HumanRegistry, HumanStatus, RequiredInput, Verdict, find};

fn registry() -> HumanRegistry {
    let card = |value| serde_json::from_value::<HumanCard>(value).unwrap();
    let bob = card(json!({
        "id": "human://bob.sre", "profile": {"name": "Bob", "role": "Senior SRE", "timezone": "UTC-5"},
        "capabilities": ["sre", "kubernetes", "approver"], "endpoints": {"slack": "https://hooks.test/x"}, "status": "AVAILABLE",
    }));
    let alice = card(
        json!({"id": "human://alice.eng", "profile": {"name": "Alice"}, "capabilities": ["approver"], "status": "BUSY"}),
    );
    HumanRegistry::new([bob, alice]).unwrap()
}

#[test]
fn an_agent_learns_id_role_and_status_and_nothing_else() {
    let registry = registry();
    let of_card = |card: &HumanCard| card.status;
    let listed = find(&registry, of_card, Some("kubernetes"), Some(HumanStatus::Available));
    assert_eq!(
        json!(listed),
        json!([{"id": "human://bob.sre", "role": "Senior SRE", "status": "AVAILABLE"}])
    );
    assert_eq!(find(&registry, of_card, None, None).len(), 2);
    assert!(find(&registry, of_card, Some("kubernetes"), Some(HumanStatus::Busy)).is_empty());
    // the status of the moment counts, not that of the card
    assert!(find(&registry, |_| HumanStatus::Offline, Some("sre"), Some(HumanStatus::Available)).is_empty());
    assert!(find(&registry, of_card, Some("kube"), None).is_empty());
}

#[test]
fn data_fits_the_form_that_was_asked_for_exactly() {
    let form = json!({"type": "object", "required": ["token"], "properties": {
        "token": {"type": "string", "minLength": 4}, "days": {"type": "integer", "minimum": 1, "maximum": 9},
        "size": {"type": "string", "enum": ["s", "m"]},
    }});
    let form = RequiredInput::parse(&form).unwrap();
    assert!(form.accepts(&json!({"token": "abcd"})));
    assert!(form.accepts(&json!({"token": "abcd", "days": 9, "size": "m"})));
    for data in [
        json!({}),
        json!({"token": "abc"}),
        json!({"token": "abcd", "days": 10}),
        json!({"token": "abcd", "size": "l"}),
        json!({"token": "abcd", "more": 1}),
        json!(["abcd"]),
    ] {
        assert!(!form.accepts(&data), "{data}");
    }
}

#[test]
fn a_form_that_is_not_flat_is_none() {
    for form in [
        json!({"type": "array"}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}),
        json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "https://a.test/"}}}),
        json!({"type": "object", "properties": {"a": {"type": "string", "minLength": -1}}}),
    ] {
        assert!(RequiredInput::parse(&form).is_none(), "{form}");
    }
}

#[test]
fn both_families_of_yes_and_no_are_read() {
    for (text, verdict) in [
        ("APPROVED", Verdict::Approved),
        ("ALLOW", Verdict::Approved),
        ("TRUE", Verdict::Approved),
        ("DENIED", Verdict::Denied),
        ("DENY", Verdict::Denied),
        ("FALSE", Verdict::Denied),
    ] {
        assert_eq!(serde_json::from_value::<Verdict>(text.into()).unwrap(), verdict);
    }
}
