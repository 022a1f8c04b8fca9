use super::*;
use crate::status::{Status, StatusList};
use crate::testing::{Keys, START};
use proptest::prelude::*;
use semgate_certs::{Usage, verify_chain};

fn claims() -> Claims {
    Claims { sub: "https://a/v1/feed/shards/0".to_owned(), iat: START, exp: Some(START + 600), ttl: Some(60) }
}

fn shard(entries: u64) -> Shard {
    let mut list = StatusList::new();
    (0..entries).for_each(|n| list.push(Status::from_bits((n % 3) as u8)));
    list.shards().remove(0)
}

fn signed(keys: &Keys, payload: &serde_json::Value) -> String {
    Compact::sign(&serde_json::to_vec(payload).unwrap(), TYPE, &keys.feed, &keys.random).unwrap()
}

#[test]
fn a_token_holds_its_list_and_is_signed_by_the_feed_key() {
    let keys = Keys::new(START - 10);
    for entries in [1, 5, SHARD_ENTRIES] {
        let text = Token::sign(&shard(entries), &claims(), &keys.feed, &keys.random).unwrap();
        assert!(text.len() <= MAX_TOKEN_BYTES);
        let token = Token::read(&text).unwrap();
        assert_eq!(token.list(), *shard(entries).bytes);
        assert_eq!(token.claims(), &claims());
        let leaf = verify_chain(&keys.feed.chain, &keys.roots, Usage::Feed, START).unwrap();
        assert_eq!(token.verify(&leaf), Ok(()));
        let other = verify_chain(&keys.status.chain, &keys.roots, Usage::Status, START).unwrap();
        assert_eq!(token.verify(&other), Err(TokenFault::Jws(JwsFault::Thumbprint)));
    }
}

#[test]
fn a_list_that_does_not_compress_still_fits() {
    let keys = Keys::new(START - 10);
    let mut bytes = vec![0u8; 16 * 1024];
    ring::rand::SecureRandom::fill(&keys.random, &mut bytes).unwrap();
    let shard = Shard { n: 0, entries: SHARD_ENTRIES, bytes: bytes.into() };
    let text = Token::sign(&shard, &claims(), &keys.feed, &keys.random).unwrap();
    assert_eq!(Token::read(&text).unwrap().list(), *shard.bytes);
}

#[test]
fn lists_of_another_width_form_or_size_are_refused() {
    let keys = Keys::new(START - 10);
    let lst = |bytes: &[u8]| to_base64url(deflate(bytes).unwrap());
    let token = |bits: u8, lst: &str| {
        signed(&keys, &serde_json::json!({"iat": 1, "sub": "s", "status_list": {"bits": bits, "lst": lst}}))
    };
    assert!(Token::read(&token(2, &lst(b"abc"))).is_ok());
    assert_eq!(Token::read(&token(1, &lst(b"abc"))).unwrap_err(), TokenFault::Bits);
    assert_eq!(Token::read(&token(2, &lst(&[0; 16 * 1024 + 1]))).unwrap_err(), TokenFault::Inflate);
    assert_eq!(Token::read(&token(2, &to_base64url(b"abc"))).unwrap_err(), TokenFault::Inflate);
    let mut trailing = deflate(b"abc").unwrap();
    trailing.push(0);
    assert_eq!(Token::read(&token(2, &to_base64url(&trailing))).unwrap_err(), TokenFault::Inflate);
    let cut = deflate(b"abc").unwrap();
    assert_eq!(
        Token::read(&token(2, &to_base64url(&cut[..cut.len() - 1]))).unwrap_err(),
        TokenFault::Inflate
    );
    let padded = format!("{}=", lst(b"abc"));
    assert_eq!(Token::read(&token(2, &padded)).unwrap_err(), TokenFault::Format(FormatFault::Member("lst")));
    let extra = signed(
        &keys,
        &serde_json::json!({"iat": 1, "sub": "s", "nbf": 1, "status_list": {"bits": 2, "lst": lst(b"abc")}}),
    );
    assert_eq!(Token::read(&extra).unwrap_err(), TokenFault::Format(FormatFault::UnknownMember));
}

fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256)
}

thread_local! {
    static KEYS: Keys = Keys::new(START - 10);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn fuzz_any_lst_inflates_within_its_limit_or_is_refused(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200), zlib in any::<bool>(),
    ) {
        if zlib {
            bytes.splice(0..0, [0x78, 0xda]);
        }
        if let Ok(list) = inflate(&bytes, 64) {
            prop_assert!(list.len() <= 64);
        }
    }

    #[test]
    fn fuzz_mutated_tokens_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        KEYS.with(|keys| {
            let mut text = Token::sign(&shard(40), &claims(), &keys.feed, &keys.random).unwrap().into_bytes();
            let at = at.index(text.len());
            text[at] = byte;
            if let Ok(token) = Token::read(&String::from_utf8_lossy(&text)) {
                let leaf = verify_chain(&keys.feed.chain, &keys.roots, Usage::Feed, START).unwrap();
                if token.verify(&leaf).is_ok() {
                    assert_eq!(token.list(), *shard(40).bytes);
                }
            }
        });
    }
}
