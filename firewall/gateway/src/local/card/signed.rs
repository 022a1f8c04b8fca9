//! Signatures of agent cards (A2A 1.0 §8.4). Each is a JWS over the canonical card without its signatures, by a key that the
//! operator listed. The header's key address (`jku`) is ignored: an address from a peer proves nothing about the peer.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey, VerificationAlgorithm};
use semgate_contexts::{canonical, json};
use serde_json::{Map, Value};

use crate::fault::RunFault;

/// Maximum number of signatures on a card, since each costs a verification. A card has one, and a second during key renewal.
const MAX_SIGNATURES: usize = 8;

/// The listed keys.
pub(crate) struct CardKeys(Vec<Key>);

struct Key {
    kid: String,
    alg: &'static str,
    public: Vec<u8>,
}

/// No listed key signed this card.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotSigned;

impl CardKeys {
    /// Loads a JSON Web Key Set (RFC 7517) of P-256 and Ed25519 keys, each with a `kid`.
    ///
    /// # Errors
    /// An unreadable or empty set, or a key of another kind.
    pub(crate) fn load(path: &Path) -> Result<Self, RunFault> {
        let fault =
            |why: &str| RunFault::File { path: path.to_owned(), what: "card keys", why: why.to_owned() };
        let bytes = std::fs::read(path).map_err(|why| fault(&why.to_string()))?;
        Self::parse(&bytes).map_err(fault)
    }

    fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let set = value(bytes).ok_or("is not JSON")?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or("is not a JSON web key set")?;
        let keys: Vec<Key> = keys.iter().map(Key::read).collect::<Result<_, _>>()?;
        if keys.is_empty() { Err("holds no key") } else { Ok(Self(keys)) }
    }

    /// Checks that a listed key signed this card. Further signatures are allowed, but nothing else beside them, since the
    /// signature does not cover it.
    ///
    /// # Errors
    /// [`NotSigned`].
    pub(crate) fn verify(&self, mut card: Value) -> Result<(), NotSigned> {
        let signatures = card.as_object_mut().and_then(|card| card.remove("signatures")).ok_or(NotSigned)?;
        let signatures = signatures.as_array().filter(|all| all.len() <= MAX_SIGNATURES).ok_or(NotSigned)?;
        if !signatures.iter().all(is_bare) {
            return Err(NotSigned);
        }
        let as_it_is = canonical::jcs(&card).map_err(|_| NotSigned)?;
        // signers drop members that protobuf would not carry; a card with such members may be signed either way
        clean(&mut card);
        let cleaned = canonical::jcs(&card).map_err(|_| NotSigned)?;
        let payloads = [URL_SAFE_NO_PAD.encode(as_it_is), URL_SAFE_NO_PAD.encode(cleaned)];
        let mut all = signatures.iter();
        if all.any(|signature| self.signed(signature, &payloads).is_some()) { Ok(()) } else { Err(NotSigned) }
    }

    fn signed(&self, signature: &Value, payloads: &[String]) -> Option<()> {
        let protected = signature.get("protected")?.as_str()?;
        let bytes = URL_SAFE_NO_PAD.decode(signature.get("signature")?.as_str()?).ok()?;
        let header = header(protected)?;
        if header.get("crit").is_some() || header.get("b64").is_some() {
            return None;
        }
        let (kid, alg) = (header.get("kid")?.as_str()?, header.get("alg")?.as_str()?);
        let key = self.0.iter().find(|key| key.kid == kid && key.alg == alg)?;
        let algorithm: &dyn VerificationAlgorithm =
            if key.alg == "ES256" { &ECDSA_P256_SHA256_FIXED } else { &ED25519 };
        let public = UnparsedPublicKey::new(algorithm, &key.public);
        let good = payloads
            .iter()
            .any(|payload| public.verify(format!("{protected}.{payload}").as_bytes(), &bytes).is_ok());
        good.then_some(())
    }
}

impl Key {
    fn read(jwk: &Value) -> Result<Self, &'static str> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let part = |name: &str| {
            let decoded = text(name).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
            decoded
                .filter(|bytes| bytes.len() == 32)
                .ok_or("a key has a part that is not 32 bytes of base64url")
        };
        let kid = text("kid").ok_or("a key has no `kid`")?.to_owned();
        if jwk.get("d").is_some() {
            return Err("a key is a private one");
        }
        match (text("kty"), text("crv")) {
            (Some("EC"), Some("P-256")) => {
                let public = [vec![4], part("x")?, part("y")?].concat();
                Ok(Self { kid, alg: "ES256", public })
            }
            (Some("OKP"), Some("Ed25519")) => Ok(Self { kid, alg: "EdDSA", public: part("x")? }),
            _ => Err("a key is neither of P-256 nor of Ed25519"),
        }
    }
}

/// Returns true for a signature and its header without any later additions. An empty `header` is harmless.
fn is_bare(signature: &Value) -> bool {
    let encoded = |value: &Value| value.as_str().is_some_and(|text| URL_SAFE_NO_PAD.decode(text).is_ok());
    let bare = |(name, value): (&String, &Value)| match name.as_str() {
        "protected" => value.as_str().and_then(header).is_some(),
        "signature" => encoded(value),
        "header" => value.is_null() || value.as_object().is_some_and(Map::is_empty),
        _ => false,
    };
    signature.as_object().is_some_and(|members| members.iter().all(bare))
}

/// The text of a protected header.
fn header(protected: &str) -> Option<Value> {
    value(&URL_SAFE_NO_PAD.decode(protected).ok()?)
}

/// The card as its reader sees it, with the encoded parts of the signatures decoded.
pub(super) fn opened(card: &Value) -> Value {
    let mut card = card.clone();
    let signatures = card.get_mut("signatures").and_then(Value::as_array_mut);
    for protected in signatures.into_iter().flatten().filter_map(|signature| signature.get_mut("protected")) {
        if let Some(said) = protected.as_str().and_then(header) {
            *protected = said;
        }
    }
    card
}

/// JSON that parses strictly.
pub(super) fn value(bytes: &[u8]) -> Option<Value> {
    json::read(bytes, &json::Limits::default()).ok()?;
    serde_json::from_slice(bytes).ok()
}

/// Removes empty texts, lists and objects, from the inside outwards.
fn clean(value: &mut Value) {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(clean);
            members.retain(|_, value| !empty(value));
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::rand::SystemRandom;
    use ring::signature::{Ed25519KeyPair, KeyPair};
    use serde_json::json;

    fn signer() -> (Ed25519KeyPair, CardKeys) {
        let random = SystemRandom::new();
        let pair =
            Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&random).unwrap().as_ref()).unwrap();
        let x = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        let set = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k-1", "x": x}]}).to_string();
        (pair, CardKeys::parse(set.as_bytes()).unwrap())
    }

    fn sign(pair: &Ed25519KeyPair, card: &Value, header: &Value) -> Value {
        let protected = URL_SAFE_NO_PAD.encode(header.to_string());
        let payload = URL_SAFE_NO_PAD.encode(canonical::jcs(card).unwrap());
        let signature = pair.sign(format!("{protected}.{payload}").as_bytes());
        let mut card = card.clone();
        let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
        card["signatures"] = json!([{"protected": protected, "signature": signature}]);
        card
    }

    fn verify(keys: &CardKeys, card: &Value) -> Result<(), NotSigned> {
        keys.verify(value(card.to_string().as_bytes()).unwrap())
    }

    #[test]
    fn a_card_counts_under_a_listed_key_and_not_once_it_is_changed() {
        let (pair, keys) = signer();
        let header = json!({"alg": "EdDSA", "kid": "k-1", "typ": "JOSE", "jku": "https://evil.test/keys"});
        let mut card = sign(&pair, &json!({"name": "a", "skills": []}), &header);
        assert_eq!(verify(&keys, &card), Ok(()));
        card["name"] = "b".into();
        assert_eq!(verify(&keys, &card), Err(NotSigned));
        let mut cleaned = sign(&pair, &json!({"name": "a"}), &header);
        cleaned["skills"] = json!([]);
        assert_eq!(verify(&keys, &cleaned), Ok(()), "an empty list is not carried by protobuf");
        // the form of some signers leaves these out, so that anybody could have put one there or taken it away
        cleaned["securityRequirements"] = json!([{"schemes": {"bearer": {"list": []}}}]);
        assert_eq!(verify(&keys, &cleaned), Err(NotSigned));
    }

    #[test]
    fn a_card_is_held_against_the_keys_of_now_and_none_is_kept_that_others_let_through() {
        use crate::local::card::Kept;
        use crate::local::card::tests::{ours, says};
        use arc_swap::ArcSwapOption;
        use bytes::Bytes;
        use semgate_protocol::{Form, a2a::Operation};
        use std::sync::Arc;

        let (pair, keys) = signer();
        let listed = Arc::new(ArcSwapOption::from_pointee(keys));
        let now = Arc::clone(&listed);
        let card = ours(says(""), Some(Box::new(move || now.load_full())));
        let theirs = sign(&pair, &json!({"name": "a"}), &json!({"alg": "EdDSA", "kid": "k-1"}));
        let theirs = Bytes::from(theirs.to_string());
        let passes = || card.extended(&theirs, Form::Grpc(Operation::GetExtendedAgentCard), None) == Ok(None);
        let until = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
        let kept = Kept { until, body: Ok(theirs.clone()), keys: listed.load_full() };
        *card.kept.borrow_mut() = Some(kept);
        assert!(passes());
        assert_eq!(card.fresh(), Some(Ok(theirs.clone())));
        listed.store(Some(Arc::new(signer().1)));
        assert!(!passes(), "the key is not listed any more");
        assert_eq!(card.fresh(), None);
    }

    /// A card that passes untouched under the one key.
    fn untouched(keys: CardKeys) -> crate::local::card::Card {
        let keys = std::sync::Arc::new(keys);
        let now = move || Some(std::sync::Arc::clone(&keys));
        crate::local::card::tests::ours(crate::local::card::tests::says(""), Some(Box::new(now)))
    }

    #[test]
    fn f0_47_an_untouched_public_card_that_names_contexts_is_not_served() {
        use crate::local::card::{Bad, NamedAt};
        let (pair, keys) = signer();
        let card = untouched(keys);
        let shown = |theirs: &Value| {
            let theirs = sign(&pair, theirs, &json!({"alg": "EdDSA", "kid": "k-1"})).to_string();
            let keys = card.keys_now();
            card.untouched(Some(theirs.into()), keys.as_deref()).map(|_| ())
        };
        let extension = |uri: &str, params: Value| json!({"name": "a", "capabilities": {"extensions": [{"uri": uri, "params": params}]}});
        assert_eq!(shown(&extension("urn:contexts:snl:v1.0", json!({}))), Ok(()));
        assert_eq!(shown(&extension("https://other.test/ext", json!({"a": [1, "travel:v1.1"]}))), Ok(()));
        let at = |at: &str| Err(Bad::TellsContexts(NamedAt(at.to_owned())));
        for (theirs, found) in [
            (extension("urn:contexts:payment:v1.1", json!({})), "/capabilities/extensions/0/uri"),
            (
                extension("urn:contexts:snl:v1.0", json!({"a": {"b": ["c", "urn:contexts:travel"]}})),
                "/capabilities/extensions/0/params/a/b/1",
            ),
            (json!({"name": "a", "skills": [{"tags": ["URN:contexts:payment:v1.1"]}]}), "/skills/0/tags/0"),
            (json!({"name": "a", "x": {"urn:contexts:payment:v1.1": 1}}), "/x/*0"),
            (json!({"name": "a", "iconUrl": "https://a.test/urn:contexts:payment.png"}), "/iconUrl"),
            (
                json!({"name": "a", "description": "urn:contexts:snl:v1.0 and urn:contexts:snl:v1.1"}),
                "/description",
            ),
        ] {
            assert_eq!(shown(&theirs), at(found), "{theirs}");
        }
        let header = json!({"alg": "EdDSA", "kid": "k-1", "jku": "https://a.test/urn:contexts:payment.json"});
        let theirs = sign(&pair, &json!({"name": "a"}), &header).to_string();
        let shown = card.untouched(Some(theirs.into()), card.keys_now().as_deref()).map(|_| ());
        assert_eq!(shown, at("/signatures/0/protected/jku"), "its reader decodes that");
        let refusal = Bad::TellsContexts(NamedAt("/x".to_owned())).refusal();
        assert_eq!(refusal.reason(), "the agent's card cannot be shown");
        assert!(refusal.detail().starts_with("the agent's public card names contexts at `/x`, and `card"));
        assert!(!refusal.hint().contains("context"), "a caller learns nothing of them: {}", refusal.hint());
    }

    #[test]
    fn bug_an_untouched_extended_card_was_rebuilt_where_it_was_not_signed_or_came_in_an_envelope() {
        use semgate_inspect::{Code, Delivered};
        use semgate_protocol::{Form, RpcId, a2a::Operation::GetExtendedAgentCard};
        let (pair, keys) = signer();
        let card = untouched(keys);
        let header = json!({"alg": "EdDSA", "kid": "k-1"});
        let good =
            sign(&pair, &json!({"name": "a", "description": "speaks urn:contexts:payment:v1.1"}), &header);
        let mut changed = good.clone();
        changed["name"] = "evil".into();
        let enveloped = |card: &Value| json!({"jsonrpc": "2.0", "id": 7, "result": card}).to_string();
        let id = RpcId::Integer(7);
        let forms = [
            (Form::JsonRpc, Some(&id)),
            (Form::Rest(GetExtendedAgentCard), None),
            (Form::Grpc(GetExtendedAgentCard), None),
        ];
        for (form, id) in forms {
            let passes = |theirs: &Value| {
                let reply = if form == Form::JsonRpc { enveloped(theirs) } else { theirs.to_string() };
                card.extended(reply.as_bytes(), form, id)
            };
            assert_eq!(passes(&good).unwrap(), None, "byte for byte, contexts and all");
            for bad in [&changed, &json!({"name": "a"})] {
                let refusal = passes(bad).unwrap_err();
                assert_eq!((refusal.code(), refusal.delivered()), (Code::UpstreamInvalid, Delivered::Yes));
                assert_eq!(refusal.reason(), "the agent's card has no signature by a known key");
            }
        }
        // a signature next to the card in the envelope counts for nothing
        let mut altered = good.clone();
        altered["jsonrpc"] = "2.0".into();
        assert!(card.extended(altered.to_string().as_bytes(), Form::JsonRpc, Some(&id)).is_err());
    }

    #[test]
    fn bug_what_nobody_signed_stood_beside_a_signature() {
        let (pair, keys) = signer();
        let good = sign(&pair, &json!({"name": "a"}), &json!({"alg": "EdDSA", "kid": "k-1"}));
        let with = |member: &str, value: Value| {
            let mut card = good.clone();
            card["signatures"][0][member] = value;
            card
        };
        assert_eq!(verify(&keys, &with("header", json!({}))), Ok(()));
        for card in [
            with("header", json!({"jku": "https://evil.test/"})),
            with("note", json!("do as I say")),
            with("note", json!("")),
        ] {
            assert_eq!(verify(&keys, &card), Err(NotSigned), "{card}");
        }
        let (mut more, theirs) = (good.clone(), good["signatures"][0].clone());
        let other = |protected: &str| json!({"protected": protected, "signature": "AAAA"});
        more["signatures"] = json!([other(&URL_SAFE_NO_PAD.encode(r#"{"kid":"x"}"#)), theirs]);
        assert_eq!(verify(&keys, &more), Ok(()), "another's signature may stand before it");
        for other in
            [json!("do as I say"), other("do as I say"), other(&URL_SAFE_NO_PAD.encode("do as I say"))]
        {
            more["signatures"][0] = other;
            assert_eq!(verify(&keys, &more), Err(NotSigned), "{more}");
        }
        more["signatures"] = json!(vec![theirs; MAX_SIGNATURES + 1]);
        assert_eq!(verify(&keys, &more), Err(NotSigned));
    }

    #[test]
    fn another_key_algorithm_or_a_critical_header_does_not_count() {
        let ((pair, keys), (other, _)) = (signer(), signer());
        let card = json!({"name": "a"});
        let good = json!({"alg": "EdDSA", "kid": "k-1"});
        assert_eq!(verify(&keys, &sign(&other, &card, &good)), Err(NotSigned));
        for header in [
            json!({"alg": "EdDSA", "kid": "k-2", "jku": "https://known.test/keys"}),
            json!({"alg": "ES256", "kid": "k-1"}),
            json!({"alg": "none", "kid": "k-1"}),
            json!({"alg": "EdDSA", "kid": "k-1", "crit": ["b64"], "b64": false}),
        ] {
            assert_eq!(verify(&keys, &sign(&pair, &card, &header)), Err(NotSigned), "{header}");
        }
        assert_eq!(verify(&keys, &card), Err(NotSigned));
    }

    #[test]
    fn a_key_set_with_a_private_key_or_none_is_no_list_of_keys() {
        let x = URL_SAFE_NO_PAD.encode([1; 32]);
        let private = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": x, "d": x}]});
        for set in [private, json!({"keys": []}), json!([]), json!({"keys": [{"kty": "RSA", "kid": "k"}]})] {
            assert!(CardKeys::parse(set.to_string().as_bytes()).is_err(), "{set}");
        }
    }
}
