//! Nothing of the agent's card passes that has no name here.

use super::*;

fn card(theirs: Option<&str>) -> Value {
    let card = Card::new("https://gw.test:1/".into(), "wholesaler-1".into(), "urn:contexts:snl:v1.0".into());
    serde_json::from_slice(&card.build(theirs.map(str::as_bytes))).unwrap()
}

#[test]
fn the_bare_card_has_every_required_member() {
    for theirs in [None, Some("not json"), Some("[]"), Some("{\"name\":\"a\",\"name\":\"b\"}")] {
        let card = card(theirs);
        assert_eq!(card["name"], "wholesaler-1");
        for member in
            ["description", "version", "capabilities", "defaultInputModes", "defaultOutputModes", "skills"]
        {
            assert!(card.get(member).is_some(), "{member}");
        }
    }
}

#[test]
fn addresses_capabilities_and_signatures_are_the_gateways() {
    let card = card(Some(
        r#"{"name":"Wholesaler","url":"http://inside:1/","supportedInterfaces":[{"url":"http://inside:1/","tenant":"x"}],
        "capabilities":{"streaming":true,"pushNotifications":true,"extensions":[{"uri":"https://evil.test"}]},
        "securitySchemes":{"b":{}},"signatures":[{"protected":"x","signature":"y"}],"x-other":1,"iconUrl":"http://inside/i",
        "skills":[{"id":"s","name":"S","description":"d","tags":["t","\u0000"],"examples":["e"]},{"id":"half"},7],
        "provider":{"organization":"Acme","url":"https://acme.test"}}"#,
    ));
    assert_eq!(card["name"], "Wholesaler");
    let interfaces =
        json!([{"url":"https://gw.test:1/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]);
    assert_eq!(card["supportedInterfaces"], interfaces);
    assert_eq!(card["capabilities"]["streaming"], false);
    assert_eq!(card["capabilities"]["pushNotifications"], false);
    assert_eq!(card["capabilities"]["extensions"][0]["uri"], "urn:contexts:snl:v1.0");
    assert_eq!(card["skills"], json!([{"id":"s","name":"S","description":"d","tags":["t"]}]));
    assert_eq!(card["provider"]["organization"], "Acme");
    let text = card.to_string();
    for gone in ["inside", "evil", "signatures", "securitySchemes", "x-other", "tenant", "examples"] {
        assert!(!text.contains(gone), "{gone}");
    }
}

#[test]
fn long_and_unprintable_texts_are_left_out() {
    let long = "a".repeat(MAX_TEXT + 1);
    assert_eq!(card(Some(&format!("{{\"name\":\"{long}\"}}")))["name"], "wholesaler-1");
    // F0-34: what a reader of the card would not see: a terminal's escape, an override of direction, tag characters
    for hidden in ["a\u{1b}[2J", "a\u{202e}b", "a\u{e0041}"] {
        let served = json!({"name": hidden}).to_string();
        assert_eq!(card(Some(&served))["name"], "wholesaler-1", "{hidden:?}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        cases: std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256),
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn fuzz_whatever_the_agent_serves_the_card_is_ours(at in 0_usize..200, byte: u8, cut in 0_usize..200) {
        let mut theirs = br#"{"name":"W","version":"1","url":"http://inside:1/","skills":[{"id":"s","name":"S","description":"d","tags":["t"]}],"provider":{"organization":"A","url":"u"}}"#.to_vec();
        if let Some(slot) = theirs.get_mut(at) { *slot = byte; }
        theirs.truncate(cut.max(1));
        let card = Card::new("https://gw.test:1/".into(), "w".into(), "urn:contexts:snl:v1.0".into());
        let built: Value = serde_json::from_slice(&card.build(Some(&theirs))).unwrap();
        proptest::prop_assert_eq!(&built["supportedInterfaces"][0]["url"], "https://gw.test:1/");
        proptest::prop_assert!(!built.to_string().contains("inside"));
    }
}
