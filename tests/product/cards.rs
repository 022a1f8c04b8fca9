//! A2A cards through the running binary: which contexts an agent speaks is nobody's business before it is asked (F0-47).

use crate::support;

use std::net::SocketAddr;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address};
use support::{Answer, Up, plain_get, wait_for};

/// A route before an agent that serves this card.
struct Route {
    listen: SocketAddr,
    _agent: Scripted,
    text: String,
}

impl Route {
    fn to(name: &str, card: &Value, more: &str) -> Self {
        let (listen, agent) = (free_address(), Scripted::saying(card.to_string()));
        let text = format!(
            "[[route]]\nname = \"{name}\"\nlisten = \"{listen}\"\nbinding = \"a2a\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{}/a2a\"\ncontexts = [\"*\"]\n{more}\n",
            agent.address
        );
        Self { listen, _agent: agent, text }
    }

    fn card(&self) -> Answer {
        plain_get(&format!("http://{}/.well-known/agent-card.json", self.listen))
    }
}

fn with(card: &Value, members: &Value) -> Value {
    let mut card = card.clone();
    card.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    card
}

/// The card under a signature (A2A 1.0 §8.4), and the list of its key.
fn signed(card: &Value) -> (Value, Value) {
    let text = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let protected = text(br#"{"alg":"EdDSA","kid":"k-1","typ":"JOSE"}"#);
    let payload = text(&semgate_contexts::canonical::jcs(card).unwrap());
    let signature = text(pair.sign(format!("{protected}.{payload}").as_bytes()).as_ref());
    let key = json!({"kty": "OKP", "crv": "Ed25519", "kid": "k-1", "x": text(pair.public_key().as_ref())});
    (
        with(card, &json!({"signatures": [{"protected": protected, "signature": signature}]})),
        json!({"keys": [key]}),
    )
}

#[test]
fn f0_47_strangers_learn_no_context_from_a_public_card_however_it_is_written() {
    let up = Up::start();
    let plain = json!({
        "name": "Wholesaler", "description": "takes orders", "version": "2.1", "capabilities": {},
        "defaultInputModes": ["application/json"], "defaultOutputModes": ["application/json"],
        "skills": [{"id": "order", "name": "Order", "description": "d", "tags": ["t"]}],
    });
    let telling = with(
        &plain,
        &json!({
            "description": "speaks urn:contexts:travel:v2.1",
            "version": "urn:contexts:travel:v2.1",
            "provider": {"organization": "Acme", "url": "https://acme.test/urn:contexts:travel:v2.1"},
            "skills": [
                {"id": "order", "name": "urn:contexts:travel", "description": "d", "tags": ["travel:v2.1"], "examples": ["urn:contexts:travel:v2.1"]},
                {"id": "urn:contexts:travel:v2.1", "name": "Travel", "description": "d", "tags": []},
            ],
        }),
    );
    let asking = with(
        &plain,
        &json!({
            "securitySchemes": {"order": {"type": "http", "scheme": "bearer"}},
            "security": [{"order": ["urn:contexts:payment:v1.1"]}],
        }),
    );
    let (quiet, keys) = signed(&plain);
    let deep =
        json!({"extensions": [{"uri": "https://a.test/x", "params": {"a": [{"urn:contexts:travel": 1}]}}]});
    let (loud, _) = signed(&with(&plain, &json!({"capabilities": deep})));
    let (tagged, _) =
        signed(&with(&plain, &json!({"iconUrl": "https://a.test/urn:contexts:supplyChain:v1.0.png"})));
    let file = up.dir.join("card-keys.json");
    std::fs::write(&file, keys.to_string()).unwrap();
    let untouched = format!("card = \"untouched\"\ncard_keys = \"{}\"", file.display());
    let open =
        Route::to("open", &telling, "versions = [\"1.0\", \"0.3\"]\ntransports = [\"jsonrpc\", \"rest\"]");
    let asks = Route::to("asks", &asking, "forward_authorization = true");
    let closed = Route::to("closed", &asking, "");
    let [as_it_is, loud, tagged] = [("quiet", quiet.clone()), ("loud", loud), ("tagged", tagged)]
        .map(|(name, card)| Route::to(name, &card, &untouched));
    let routes: String =
        [&open, &asks, &closed, &as_it_is, &loud, &tagged].map(|route| route.text.clone()).concat();
    let behind = up.text("/sample_agent/url");
    let gateway = Gateway::before(&up, support::address(behind).parse().unwrap(), &routes);

    let shown = open.card().json();
    assert_eq!(shown["description"], "An agent behind Semgate");
    assert_eq!(
        (&shown["version"], &shown["name"], shown.get("provider")),
        (&"1.0".into(), &"wholesaler-1".into(), None)
    );
    assert_eq!(
        shown["skills"],
        json!([{"id": "order", "name": "order", "description": "A skill of this agent", "tags": []}])
    );
    assert_eq!(shown.to_string().matches("urn:contexts:").count(), 1, "the extension alone: {shown}");
    // a route that passes no credentials on tells of no scheme
    assert_eq!(closed.card().json().get("security"), None);
    assert_eq!(as_it_is.card().json(), quiet);

    for (route, at) in [
        (
            &asks,
            "the agent's public card names contexts at `/security/0/order/0`, where the gateway cannot replace them",
        ),
        (
            &loud,
            "the agent's public card names contexts at `/capabilities/extensions/0/params/a/0/*0`, and `card = ",
        ),
        (&tagged, "the agent's public card names contexts at `/iconUrl`, and `card = "),
    ] {
        let refused = route.card();
        let (status, said) = (refused.status, refused.json());
        assert_eq!((status, &said["detail"]), (502, &json!("the agent's card cannot be shown")), "{said}");
        assert!(
            !said.to_string().contains("urn:contexts") && !said.to_string().contains("names contexts"),
            "{said}"
        );
        wait_for("the operator reads why", || gateway.log().contains(at).then_some(()));
    }
    let refused = || {
        std::fs::read_to_string(&gateway.audit).unwrap().matches("\"code\":\"upstream_invalid\"").count() == 3
    };
    wait_for("each is recorded", || refused().then_some(()));
}
