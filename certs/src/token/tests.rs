use super::*;
use crate::encoding::to_base64url;
use crate::{KeyPair, Thumbprint};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

const NOW: u64 = 1_800_000_000;
const ALICE: &str = "spiffe://semgate.test/agent/alice";

struct House {
    key: KeyPair,
    issuers: TokenIssuers,
}

fn encoded(text: &str) -> String {
    to_base64url(text)
}

impl House {
    fn new() -> Self {
        let key = KeyPair::generate(&SystemRandom::new()).unwrap();
        let (x, y) = key.public().raw()[1..].split_at(32);
        let (x, y) = (to_base64url(x), to_base64url(y));
        let set = format!(r#"{{"keys":[{{"kty":"EC","crv":"P-256","kid":"k1","x":"{x}","y":"{y}"}}]}}"#);
        let issuer = TokenIssuer {
            name: "hr".to_owned(),
            issuer: "https://hr.test".to_owned(),
            audience: "spiffe://semgate.test/gateway".to_owned(),
            claim: "credentials".to_owned(),
            algorithms: vec![TokenAlgorithm::Es256],
            leeway: 5,
            keys: KeySet::read(set.as_bytes()).unwrap(),
        };
        Self { key, issuers: TokenIssuers::new(vec![issuer]) }
    }

    fn signed(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", encoded(header), encoded(claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", to_base64url(signature))
    }

    fn claims(&self, claims: &str) -> Result<VerifiedToken, TokenFault> {
        self.check(&self.signed(HEADER, claims))
    }

    fn check(&self, token: &str) -> Result<VerifiedToken, TokenFault> {
        self.issuers.check(token, &Bearer { id: ALICE, thumbprint: Some(Thumbprint::of(b"alice")) }, NOW)
    }
}

const HEADER: &str = r#"{"alg":"ES256","kid":"k1","typ":"JWT"}"#;

fn good() -> String {
    format!(
        r#"{{"iss":"https://hr.test","aud":"spiffe://semgate.test/gateway","sub":"{ALICE}","exp":{},"credentials":["clerk","auditor","clerk"]}}"#,
        NOW + 60
    )
}

#[test]
fn a_good_token_vouches_for_its_names_until_it_expires() {
    let vouched = House::new().claims(&good()).unwrap();
    assert_eq!((vouched.issuer(), vouched.expires_at()), ("hr", NOW + 65), "with the leeway");
    assert_eq!(vouched.names(), ["auditor", "clerk"]);
}

#[test]
fn names_may_be_written_as_a_scope_and_there_may_be_several_audiences() {
    let house = House::new();
    let scope = good().replace(r#"["clerk","auditor","clerk"]"#, r#""clerk auditor""#);
    assert_eq!(house.claims(&scope).unwrap().names(), ["auditor", "clerk"]);
    let several =
        good().replace(r#""spiffe://semgate.test/gateway""#, r#"["other","spiffe://semgate.test/gateway"]"#);
    assert!(house.claims(&several).is_ok());
}

#[test]
fn a_token_is_bound_to_the_certificate_or_to_the_id() {
    let house = House::new();
    let with = |cnf: &str, sub: &str| {
        house.claims(&good().replace(&format!(r#""sub":"{ALICE}""#), &format!(r#""cnf":{cnf}{sub}"#)))
    };
    let own = format!(r#"{{"x5t#S256":"{}"}}"#, Thumbprint::of(b"alice"));
    assert!(with(&own, "").is_ok());
    assert!(with(&own, r#","sub":"employee 7""#).is_ok());
    assert_eq!(with(&own, r#","sub":"spiffe://semgate.test/agent/bob""#), Err(TokenFault::OtherSubject));
    let bobs = format!(r#"{{"x5t#S256":"{}"}}"#, Thumbprint::of(b"bob"));
    for other in [&bobs, "{}", r#"{"jkt":"x"}"#, &own.replace('}', r#","jkt":"x"}"#)] {
        let sub = format!(r#","sub":"{ALICE}""#);
        assert_eq!(with(other, &sub), Err(TokenFault::OtherCertificate), "{other}");
    }
    assert_eq!(with("\"x\"", ""), Err(TokenFault::Claims));
    let unbound = good().replace(&format!(r#""sub":"{ALICE}","#), "");
    assert_eq!(house.claims(&unbound), Err(TokenFault::OtherSubject));
    // who has no certificate has nothing that a confirmation could be of
    let token =
        house.signed(HEADER, &good().replace(&format!(r#""sub":"{ALICE}""#), &format!(r#""cnf":{own}"#)));
    let plain = Bearer { id: ALICE, thumbprint: None };
    assert_eq!(house.issuers.check(&token, &plain, NOW), Err(TokenFault::OtherCertificate));
}

#[test]
fn attack_each_claim_that_is_not_ours_is_told_by_name() {
    let house = House::new();
    let exp = format!(r#""exp":{}"#, NOW + 60);
    for (from, to, fault) in [
        ("https://hr.test", "https://hr.test/", TokenFault::UnknownIssuer),
        ("semgate.test/gateway", "semgate.test/other", TokenFault::Audience),
        (exp.as_str(), r#""exp":1799999995"#, TokenFault::Expired),
        (exp.as_str(), r#""exp":"1800000060""#, TokenFault::Claims),
        (exp.as_str(), r#""exp":-1"#, TokenFault::Claims),
        (exp.as_str(), r#""iat":1"#, TokenFault::Claims),
        (exp.as_str(), r#""nbf":1800000006,"exp":1800000060"#, TokenFault::NotYetValid),
        (exp.as_str(), r#""exp":1800000060,"exp":1900000000"#, TokenFault::Malformed),
        ("agent/alice", "agent/alice/", TokenFault::OtherSubject),
        (r#""clerk","auditor""#, r#""a b""#, TokenFault::Claims),
        (r#"["clerk","auditor","clerk"]"#, "7", TokenFault::Claims),
        ("credentials", "Credentials", TokenFault::Claims),
    ] {
        assert_eq!(house.claims(&good().replacen(from, to, 1)), Err(fault), "{to}");
    }
    let many: Vec<String> = (0..=MAX_NAMES).map(|n| format!("\"n{n}\"")).collect();
    let many = good().replace(r#""clerk","auditor","clerk""#, &many.join(","));
    assert_eq!(house.claims(&many), Err(TokenFault::Claims));
}

#[test]
fn attack_a_header_that_chooses_key_or_algorithm() {
    let house = House::new();
    for (header, fault) in [
        (r#"{"alg":"none","kid":"k1"}"#, TokenFault::Algorithm),
        (r#"{"alg":"HS256","kid":"k1"}"#, TokenFault::Algorithm),
        (r#"{"alg":"EdDSA","kid":"k1"}"#, TokenFault::Algorithm),
        (r#"{"alg":"es256","kid":"k1"}"#, TokenFault::Algorithm),
        (r#"{"kid":"k1"}"#, TokenFault::Algorithm),
        (r#"{"alg":"ES256"}"#, TokenFault::Header),
        (r#"{"alg":"ES256","kid":7}"#, TokenFault::Header),
        (r#"{"alg":"ES256","kid":"k2"}"#, TokenFault::UnknownKey),
        (r#"{"alg":"ES256","kid":"k1","jku":"https://evil.test"}"#, TokenFault::Header),
        (r#"{"alg":"ES256","kid":"k1","x5u":"https://evil.test"}"#, TokenFault::Header),
        (r#"{"alg":"ES256","kid":"k1","jwk":{}}"#, TokenFault::Header),
        (r#"{"alg":"ES256","kid":"k1","crit":["x"],"x":1}"#, TokenFault::Header),
        (r#"{"alg":"ES256","kid":"k1","typ":"dpop+jwt"}"#, TokenFault::Header),
        (r#"{"alg":"ES256","kid":"k1","alg":"none"}"#, TokenFault::Malformed),
    ] {
        assert_eq!(house.check(&house.signed(header, &good())), Err(fault), "{header}");
    }
}

#[test]
fn attack_an_altered_or_foreign_signature() {
    let house = House::new();
    let token = house.signed(HEADER, &good());
    let (signed, signature) = token.rsplit_once('.').unwrap();
    assert_eq!(house.check(&House::new().signed(HEADER, &good())), Err(TokenFault::Signature));
    assert_eq!(house.check(&format!("{signed}.")), Err(TokenFault::Signature));
    for malformed in [
        format!("{signed}.{signature}="),
        format!("{signed}.{signature}.x"),
        signed.to_owned(),
        String::new(),
        "..".to_owned(),
    ] {
        assert_eq!(house.check(&malformed), Err(TokenFault::Malformed), "{malformed}");
    }
    assert_eq!(house.check(&"a".repeat(MAX_TOKEN_BYTES + 1)), Err(TokenFault::TooLarge));
    assert_eq!(
        TokenIssuers::default().check(&token, &Bearer { id: ALICE, thumbprint: None }, NOW),
        Err(TokenFault::UnknownIssuer)
    );
}

#[test]
fn ed25519_is_verified_under_both_of_its_names() {
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let key = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
    let x = to_base64url(key.public_key());
    let set = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"e","x":"{x}"}}]}}"#);
    let mut issuer = House::new().issuers.issuers.remove(0);
    issuer.keys = KeySet::read(set.as_bytes()).unwrap();
    issuer.algorithms = vec![TokenAlgorithm::EdDsa];
    let issuers = TokenIssuers::new(vec![issuer]);
    for name in ["EdDSA", "Ed25519"] {
        let signed = format!("{}.{}", encoded(&format!(r#"{{"alg":"{name}","kid":"e"}}"#)), encoded(&good()));
        let signature = key.sign(signed.as_bytes());
        let token = format!("{signed}.{}", to_base64url(signature));
        assert!(issuers.check(&token, &Bearer { id: ALICE, thumbprint: None }, NOW).is_ok());
    }
}

#[test]
fn a_key_set_with_secrets_or_doubles_is_refused() {
    let x = to_base64url([1; 32]);
    let ed = |more: &str| format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}"{more}}}"#);
    let set =
        |keys: &[String]| KeySet::read(format!(r#"{{"keys":[{}]}}"#, keys.join(",")).as_bytes()).map(drop);
    assert_eq!(set(&[ed(r#","kid":"a""#)]), Ok(()));
    assert_eq!(set(&[ed(r#","kid":"a""#), ed(r#","kid":"a""#)]), Err(KeySetFault::Kid));
    assert_eq!(set(&[ed("")]), Err(KeySetFault::Kid));
    assert_eq!(set(&[ed(r#","kid":"a","d":"AA""#)]), Err(KeySetFault::Secret));
    assert_eq!(set(&[r#"{"kty":"oct","k":"AA","kid":"a"}"#.to_owned()]), Err(KeySetFault::Secret));
    assert_eq!(set(&[ed(r#","kid":"a","use":"enc""#)]), Err(KeySetFault::Empty));
    assert_eq!(set(&[ed(r#","kid":"a","alg":"ES256""#)]), Err(KeySetFault::Empty));
    assert_eq!(
        set(&[r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA","kid":"a"}"#.to_owned()]),
        Err(KeySetFault::Key)
    );
    assert_eq!(set(&[r#"{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"a"}"#.to_owned()]), Err(KeySetFault::Key));
    assert_eq!(KeySet::read(b"[]").map(drop), Err(KeySetFault::Malformed));
}
