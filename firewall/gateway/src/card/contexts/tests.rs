//! What becomes of a public card that names contexts (F0-47).

use serde_json::{Value, json};

use super::super::tests::{SHOWN, built, ours, says};
use super::super::{Bad, ToldAt};
use crate::card::Form;

/// A card whose words and names are contexts, in ways that hide them too.
fn telling() -> Value {
    json!({
        "name": "W", "description": "speaks URN:Contexts:payment:v2.0, and urn:contexts:snl:v1.0.", "version": "urn:contexts:travel:v2.1",
        "provider": {"organization": "Acme", "url": "https://acme.test/urn%3Acontexts:payment:v1.1"},
        "documentationUrl": "https://acme.test/urn:contexts:payment:v1.1", "iconUrl": "https://acme.test/payment:v1.1.png",
        "skills": [
            {"id": "s", "name": "pay urn&#58;contexts&#58;payment:v1.1", "description": "d", "tags": ["t", "urn:contexts:payment:v1.1", "payment:v1.1"],
             "examples": ["say urn: contexts: payment:v1.1#transfer", "pay"]},
            {"id": "urn:contexts:payment:v1.1", "name": "n", "description": "d", "tags": []},
            {"id": "payment:v1.1", "name": "n", "description": "d", "tags": []},
        ],
    })
}

#[test]
fn f0_47_a_public_card_that_is_rebuilt_names_no_context_but_the_extension() {
    let card = built(SHOWN, Some(&telling().to_string()));
    let text = card.to_string().to_ascii_lowercase();
    assert_eq!(text.matches("contexts").count(), 3, "{card}");
    assert_eq!(
        text.matches("urn:contexts:snl:v1.0").count(),
        2,
        "the extension, and where the agent names it: {card}"
    );
    assert_eq!(card["description"], "speaks a shared context, and urn:contexts:snl:v1.0.");
    assert_eq!(
        card["skills"],
        json!([{"id": "s", "name": "pay a shared context", "description": "d", "tags": ["t"], "examples": ["pay"]}])
    );
    // who asks for the extended card is known to the agent
    let card = ours(says(SHOWN), None);
    let theirs = telling().to_string();
    let rest = Form::Rest(semgate_message::a2a::Operation::GetExtendedAgentCard);
    let extended = card.extended(theirs.as_bytes(), rest, None).unwrap().unwrap();
    let extended: Value = serde_json::from_slice(&extended).unwrap();
    assert_eq!(extended["skills"][0]["tags"], json!(["t", "urn:contexts:payment:v1.1", "payment:v1.1"]));
    assert_eq!(extended["version"], "urn:contexts:travel:v2.1");
}

#[test]
fn bug_a_version_or_an_address_that_named_a_context_was_left_as_words() {
    let card = built(SHOWN, Some(&telling().to_string()));
    assert_eq!((&card["name"], &card["version"], card.get("provider")), (&"W".into(), &"1.0".into(), None));
    let theirs = json!({"name": "travel urn:contexts:travel:v1.0", "provider": {"organization": "payment:v1.1", "url": "https://acme.test/"}});
    let card = built("", Some(&theirs.to_string()));
    assert_eq!((&card["name"], card.get("provider")), (&"wholesaler-1".into(), None));
    for member in ["documentationUrl", "iconUrl"] {
        assert_eq!(card.get(member), None);
    }
}

/// Why a card with these members is not shown.
fn refused(members: &Value) -> Bad {
    let mut theirs = json!({"name": "W"});
    theirs.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    ours(says(SHOWN), None).build(Some(theirs.to_string().as_bytes())).unwrap_err()
}

#[test]
fn bug_a_requirement_whose_scheme_was_named_like_a_context_asked_for_nothing() {
    let urn = "urn:contexts:payment:v1.1";
    let connect = json!({"type": "openIdConnect", "openIdConnectUrl": "https://as.test/"});
    let of_1 = json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}});
    let flow = |scopes: Value| json!({"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://as.test/t", "scopes": scopes}}});
    for (members, at) in [
        (json!({"securitySchemes": {urn: connect}, "security": [{urn: []}]}), "/security/0/*0"),
        (
            json!({"securitySchemes": {"payment:v1.1": of_1}, "securityRequirements": [{"schemes": {"payment:v1.1": {"list": []}}}]}),
            "/securityRequirements/0/schemes/*0",
        ),
        (json!({"securitySchemes": {urn: connect}}), "/securitySchemes/*0"),
        (
            json!({"securitySchemes": {"c": connect}, "security": [{"c": ["read", "urn%3acontexts:payment"]}]}),
            "/security/0/c/1",
        ),
        (
            json!({"securitySchemes": {"c": {"type": "openIdConnect", "openIdConnectUrl": format!("https://as.test/{urn}")}}}),
            "/securitySchemes/c/openIdConnectUrl",
        ),
        (
            json!({"securitySchemes": {"scopes": {"type": "http", "scheme": "bearer", "bearerFormat": urn}}}),
            "/securitySchemes/scopes/bearerFormat",
        ),
        (
            json!({"securitySchemes": {"o": flow(json!({urn: "d"}))}}),
            "/securitySchemes/o/flows/clientCredentials/scopes/*0",
        ),
    ] {
        assert_eq!(refused(&members), Bad::AsksForContexts(ToldAt(at.to_owned())), "{members}");
    }
    let refusal = refused(&json!({"securitySchemes": {urn: connect}})).refusal();
    assert_eq!(refusal.reason(), "the agent's card cannot be shown");
    assert!(
        refusal
            .detail()
            .starts_with("the agent's public card names contexts at `/securitySchemes/*0`, where nothing")
    );
    assert!(!refusal.hint().contains("context") && !refusal.detail().contains(urn));
}

#[test]
fn prose_of_security_schemes_is_reworded_and_what_is_required_stays_whole() {
    let urn = "urn:contexts:payment:v1.1";
    let theirs = json!({
        "securitySchemes": {
            "old": {"type": "oauth2", "description": format!("for {urn}"), "flows": {
                "clientCredentials": {"tokenUrl": "https://as.test/t", "scopes": {"read": format!("reads {urn}")}}}},
            "new": {"httpAuthSecurityScheme": {"scheme": "Bearer", "description": urn}}},
        "security": [{"old": ["read"], "new": []}],
    });
    let card = built(SHOWN, Some(&theirs.to_string()));
    assert_eq!(card["security"], json!([{"old": ["read"], "new": []}]));
    let schemes = &card["securitySchemes"];
    assert_eq!(schemes["old"]["description"], "for a shared context");
    assert_eq!(
        schemes["old"]["flows"]["clientCredentials"]["scopes"],
        json!({"read": "reads a shared context"})
    );
    assert_eq!(schemes["new"]["httpAuthSecurityScheme"]["description"], "a shared context");
}

proptest::proptest! {
    #[test]
    fn fuzz_no_requirement_is_ever_emptied(
        name in "(urn:contexts:|urn%3Acontexts:)?(payment|travel)(:v1)?",
        scope in "(urn:contexts:)?(payment|read)(:v1)?",
    ) {
        let theirs = json!({"securitySchemes": {&name: {"type": "http", "scheme": "bearer"}}, "security": [{&name: [&scope]}]});
        if let Ok(card) = ours(says(SHOWN), None).build(Some(theirs.to_string().as_bytes())) {
            let card: Value = serde_json::from_slice(&card).unwrap();
            proptest::prop_assert_eq!(&card["security"], &theirs["security"]);
        }
    }
}
