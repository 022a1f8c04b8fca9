//! A card that the operator pinned, and that of a delegate.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A card as the Python delegate serves it.
fn card() -> Value {
    json!({
        "delegate_id": "ldp:delegate:qwen3-8b", "name": "Qwen", "description": null, "model_family": "qwen",
        "model_version": "3-8b", "weights_fingerprint": null,
        "trust_domain": {"name": "default", "allow_cross_domain": false, "trusted_peers": []},
        "context_window": 128_000, "reasoning_profile": null, "cost_profile": "low", "latency_profile": null,
        "jurisdiction": null,
        "capabilities": [
            {"name": "reasoning", "description": null, "input_schema": null, "output_schema": null, "domains": [],
             "quality": {"quality_score": 0.85, "latency_p50_ms": 900, "latency_p99_ms": null,
                         "cost_per_call_usd": 0.01, "max_tokens": null, "supports_streaming": false,
                         "claim_type": "self_claimed"}},
            {"name": "classification"},
        ],
        "supported_payload_modes": ["semantic_frame", "text"],
        "endpoint": "http://127.0.0.1:8090", "metadata": {"region": "eu"},
    })
}

fn parsed(card: &Value) -> Result<IdentityCard, String> {
    IdentityCard::parse(card.to_string().as_bytes())
}

fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut card = card();
    change(&mut card);
    card
}

#[test]
fn a_card_is_served_with_the_address_of_the_gateway_and_nothing_else_changed() {
    let pinned = parsed(&card()).unwrap();
    let served: Value =
        serde_json::from_slice(&pinned.served(Endpoint::Identity, "https://gw.test/")).unwrap();
    assert_eq!(served, changed(|card| card["endpoint"] = "https://gw.test".into()));
    let inner = changed(|card| card["endpoint_address"] = "http://10.0.0.7:1".into());
    let inner = parsed(&inner).unwrap().served(Endpoint::Identity, "https://gw.test");
    assert!(!String::from_utf8_lossy(&inner).contains("10.0.0.7"), "no inner address passes");
    let manifest: Value =
        serde_json::from_slice(&pinned.served(Endpoint::Capabilities, "https://gw.test")).unwrap();
    assert_eq!(manifest, json!({"capabilities": card()["capabilities"]}));
    assert_eq!(pinned.skills(), ["classification", "reasoning"]);
}

#[test]
fn another_address_is_the_same_card_and_another_word_is_not() {
    let pinned = parsed(&card()).unwrap();
    let moved = changed(|card| card["endpoint"] = "http://10.0.0.7:1".into());
    assert!(pinned.is_same(moved.to_string().as_bytes()));
    let named_twice = changed(|card| card["endpoint_address"] = "http://10.0.0.7:1".into());
    assert!(pinned.is_same(named_twice.to_string().as_bytes()), "the paper has another name for it");
    for other in [
        changed(|card| card["capabilities"][1]["name"] = "shell".into()),
        changed(|card| card["model_version"] = "3-4b".into()),
        changed(|card| card["trust_domain"]["allow_cross_domain"] = true.into()),
        changed(|card| card["x"] = 1.into()),
        json!([card()]),
    ] {
        assert!(!pinned.is_same(other.to_string().as_bytes()), "{other}");
    }
    let twice = card().to_string().replacen('{', r#"{"name":"Qwen","#, 1);
    assert!(!pinned.is_same(twice.as_bytes()), "a key twice has two readings");
}

#[test]
fn a_card_that_routes_cannot_be_held_to_stops_the_start() {
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 5] = [
        (|card| card["capabilities"][1]["name"] = "reasoning".into(), "names a capability twice"),
        (|card| card["capabilities"] = Value::Null, "invalid type: null"),
        (|card| card["supported_payload_modes"] = json!(["latent_capsule"]), "unknown payload mode"),
        (|card| card["supported_payload_modes"] = json!(vec!["text"; 257]), "more than 256"),
        (|card| card["delegate_id"] = "".into(), "empty `delegate_id`"),
    ];
    for (change, why) in changes {
        let fault = parsed(&changed(change)).unwrap_err();
        assert!(fault.contains(why), "{fault}");
    }
    assert_eq!(IdentityCard::parse(b"{} {}").unwrap_err(), "is not one strict JSON object");
}

#[test]
fn fuzz_no_bytes_of_a_delegate_break_the_comparison() {
    let pinned = parsed(&card()).unwrap();
    let good = card().to_string();
    proptest!(ProptestConfig::with_cases(2_000), |(at in 0..good.len(), byte: u8, cut in 0..good.len())| {
        let mut bytes = good.clone().into_bytes();
        bytes[at] = byte;
        let same: Option<Value> = serde_json::from_slice(&bytes).ok();
        let differs = same.is_none_or(|mut same| {
            same.as_object_mut().map(|members| members.remove("endpoint"));
            let mut own = card();
            own.as_object_mut().map(|members| members.remove("endpoint"));
            same != own
        });
        prop_assert!(!(differs && pinned.is_same(&bytes)));
        bytes.truncate(cut);
        prop_assert!(!pinned.is_same(&bytes));
    });
}
