//! Attacks on what is loaded: entries, statements, documents, lists and bodies, each test named by what the attacker does.

use super::*;
use crate::tiles::TilePath;

#[test]
fn an_index_of_another_statement_is_refused() {
    for index in [0, shipped() as u64] {
        let mut authority = MemoryAuthority::with_library(START);
        let mut listing = authority.replay.listing();
        let item = listing.contexts.iter_mut().find(|c| c.urn == urn("travel:v2.1")).unwrap();
        assert_ne!(item.index, index);
        item.index = index; // the first publishes another context, the one after the library raises a floor
        authority.serve_instead("/v1/contexts", listing.to_bytes().unwrap());
        let mut follower = authority.follower();
        only_report(&mut follower, "travel:v2.1", FollowFault::WrongIndex);
        assert_eq!(standing(&follower, "travel:v2.1", START), Standing::NotCovered);
        assert_eq!(standing(&follower, "payment:v1.1", START), Standing::Valid);
    }
}

#[test]
fn an_index_past_the_log_is_not_covered() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut listing = authority.replay.listing();
    listing.contexts.iter_mut().find(|c| c.urn == urn("travel:v2.1")).unwrap().index = 4_000;
    authority.serve_instead("/v1/contexts", listing.to_bytes().unwrap());
    let follower = authority.follower();
    assert_eq!(standing(&follower, "travel:v2.1", START), Standing::NotCovered);
}

#[test]
fn an_entry_that_is_not_in_the_log_is_refused() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut other = authority.clone();
    other.tree = Default::default();
    other.replay = Default::default();
    for (_, document) in semgate_contexts::library::all() {
        other.publish(document); // signed anew, so that the entries differ
    }
    other.floor("payment", "v1.1");
    let bundle = TilePath::entries_holding(0, authority.tree.size()).unwrap();
    authority.serve_instead(&bundle.to_string(), other.tiles[&bundle].clone());
    let mut follower = Follower::without_memory(authority.config());
    let line = Line::parse("payment").unwrap();
    let fault = authority.follow(&mut follower);
    assert_eq!(fault, Err(FollowFault::FloorAboveVersions { line }));
    assert!(follower.reports().iter().filter(|r| r.urn.is_some()).all(|r| r.fault == FollowFault::NotInLog));
    assert_eq!(follower.view().contexts().count(), 0);
}

#[test]
fn a_publish_statement_for_a_line_that_the_certificate_does_not_name_is_refused() {
    let mut authority = MemoryAuthority::with_library(START);
    let context = MemoryAuthority::context(&MemoryAuthority::document("treasury:v1.0", "transfer"));
    let (good, bad) = (authority.keys.signer(&["treasury"]), authority.keys.signer(&["travel"]));
    authority.publish_by(&context, &good, &bad);
    let mut follower = authority.follower();
    only_report(&mut follower, "treasury:v1.0", FollowFault::Statement(StatementFault::LineNotDelegated));
    assert_eq!(standing(&follower, "treasury:v1.0", START), Standing::NotCovered);
}

#[test]
fn a_publish_statement_by_the_status_key_is_refused() {
    let mut authority = MemoryAuthority::with_library(START);
    let context = MemoryAuthority::context(&MemoryAuthority::document("treasury:v1.0", "transfer"));
    let keys = Arc::clone(&authority.keys);
    authority.publish_by(&context, &keys.signer(&["treasury"]), &keys.status);
    let mut follower = authority.follower();
    let fault = StatementFault::Jws(JwsFault::Chain(ChainFault::WrongUsage));
    only_report(&mut follower, "treasury:v1.0", FollowFault::Statement(fault));
}

#[test]
fn a_publish_statement_whose_signer_is_unknown_is_refused() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.publish(&MemoryAuthority::document("treasury:v1.0", "transfer"));
    let mut trust = crate::Trust::new(crate::testing::AUTHORITY);
    let hidden = authority.signer(&Line::parse("treasury").unwrap()).thumbprint();
    for (key, chain) in authority.trust.chains() {
        if *key != hidden {
            trust.insert(chain.clone());
        }
    }
    authority.trust = trust;
    let mut follower = authority.follower();
    only_report(
        &mut follower,
        "treasury:v1.0",
        FollowFault::Statement(StatementFault::Jws(JwsFault::UnknownKey)),
    );
}

#[test]
fn a_signer_that_had_expired_when_it_logged_is_refused_and_one_that_expired_since_is_not() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.now = START + 31 * 86_400; // past the signer's 30 days
    authority.renew();
    let mut follower = authority.follower();
    assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Valid);
    authority.publish(&MemoryAuthority::document("travel:v3.0", "trip"));
    authority.follow(&mut follower).unwrap();
    let fault = StatementFault::Jws(JwsFault::Chain(ChainFault::Expired));
    only_report(&mut follower, "travel:v3.0", FollowFault::Statement(fault));
}

#[test]
fn a_poisoned_document_under_the_right_urn_is_not_loaded() {
    // F0-35: sender and receiver swapped, signed by a stranger, offered in place of payment:v1.1.
    let mut authority = MemoryAuthority::with_library(START);
    let (_, bytes) =
        semgate_contexts::library::all().iter().find(|(name, _)| *name == "payment-v1.1").unwrap();
    let text = std::str::from_utf8(bytes).unwrap();
    let swapped =
        text.replace("sender_id", "#").replace("receiver_id", "sender_id").replace('#', "receiver_id");
    let poisoned = MemoryAuthority::context(swapped.as_bytes());
    assert_eq!(poisoned.urn(), &urn("payment:v1.1"));
    let digest = authority.replay.published(&urn("payment:v1.1")).unwrap().digest;
    let path = format!("/v1/contexts/by-digest/{digest}");
    let stranger = Keys::new(START - 3600).signer(&["payment"]);
    let own = authority.keys.signer(&["payment"]);
    let random = ring::rand::SystemRandom::new();
    for (identity, by_own) in [(&stranger, false), (&own, true)] {
        authority.serve_instead(&path, crate::sign_context(&poisoned, identity, &random).unwrap());
        let mut follower = authority.follower();
        let report = follower.reports().pop().unwrap();
        assert_eq!(report.urn, Some(urn("payment:v1.1")));
        match report.fault {
            FollowFault::Digest => assert!(by_own),
            FollowFault::Document(crate::context::ContextFault::Jws(JwsFault::Chain(_))) => assert!(!by_own),
            other => panic!("{other:?}"),
        }
        assert!(follower.view().context(&urn("payment:v1.1")).is_none());
        assert!(follower.view().loaded(&urn("payment:v1.1")).unwrap().fault.is_some());
        assert!(follower.view().context(&urn("payment:v2.0")).is_some());
    }
}

#[test]
fn a_document_signed_by_another_certificate_than_published_is_not_loaded() {
    let mut authority = MemoryAuthority::with_library(START);
    let context = MemoryAuthority::context(&MemoryAuthority::document("treasury:v1.0", "transfer"));
    let (one, two) = (authority.keys.signer(&["treasury"]), authority.keys.signer(&["treasury"]));
    authority.publish_by(&context, &one, &one);
    let signed = crate::sign_context(&context, &two, &authority.keys.random).unwrap();
    authority.documents.insert(*context.digest(), signed);
    let mut follower = authority.follower();
    only_report(&mut follower, "treasury:v1.0", FollowFault::Signer);
}

#[test]
fn a_second_digest_for_a_published_urn_is_refused_and_kept() {
    let mut authority = MemoryAuthority::with_library(START);
    let dir = tempfile::tempdir().unwrap();
    let mut follower = Follower::open(authority.config(), dir.path(), START).unwrap();
    authority.follow(&mut follower).unwrap();
    let first = authority.replay.published(&urn("travel:v2.1")).unwrap().digest;
    authority.now += 10;
    let second = MemoryAuthority::context(&MemoryAuthority::document("travel:v2.1", "bookFlight2"));
    let signer = authority.signer(second.urn().line());
    let index = authority.publish_by(&second, &signer, &signer);
    let mut listing = authority.replay.listing();
    let item = listing.contexts.iter_mut().find(|c| c.urn == urn("travel:v2.1")).unwrap();
    (item.index, item.digest) = (index, *second.digest());
    authority.serve_instead("/v1/contexts", listing.to_bytes().unwrap());
    authority.follow(&mut follower).unwrap();
    let report = follower.reports().pop().unwrap();
    assert_eq!((report.urn, report.fault), (Some(urn("travel:v2.1")), FollowFault::SecondDigest));
    let evidence = report.evidence.unwrap();
    for file in ["first-entry.json", "second-entry.json", "head.json"] {
        assert!(evidence.join(file).exists(), "{file}");
    }
    assert_eq!(follower.view().loaded(&urn("travel:v2.1")).unwrap().digest, first);
}

#[test]
fn an_entry_logged_before_its_predecessor_is_refused() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut follower = authority.follower();
    authority.now = START - 100;
    authority.publish(&MemoryAuthority::document("late:v1.0", "thing"));
    authority.now = START + 10;
    authority.renew();
    let listing = {
        let mut listing = authority.replay.listing();
        let context = MemoryAuthority::context(&MemoryAuthority::document("late:v1.0", "thing"));
        listing.contexts.push(crate::ListedContext {
            urn: context.urn().clone(),
            digest: *context.digest(),
            index: authority.tree.size() - 1,
            status: Status::Valid,
        });
        listing
    };
    authority.serve_instead("/v1/contexts", listing.to_bytes().unwrap());
    authority.follow(&mut follower).unwrap();
    only_report(&mut follower, "late:v1.0", FollowFault::LoggedBack);
}

#[test]
fn what_was_revoked_and_is_not_any_more_stays_revoked() {
    let mut authority = MemoryAuthority::with_library(START);
    let before = authority.clone();
    authority.change(Act::Revoke, "travel:v2.1");
    let mut follower = authority.follower();
    // The same log goes on, but the list forgets.
    let index = before.replay.published(&urn("travel:v2.1")).unwrap().index;
    authority.now += 10;
    authority.publish(&MemoryAuthority::document("new:v1.0", "thing"));
    let mut list = authority.replay.statuses().clone();
    list.set(index, Status::Valid);
    let shard = list.shards().remove(0);
    authority.head.shards = vec![crate::head::ShardRef::of(&shard)];
    let claims = crate::token::Claims { sub: "s".to_owned(), iat: authority.now, exp: None, ttl: None };
    let keys = Arc::clone(&authority.keys);
    let token = crate::token::Token::sign(&shard, &claims, &keys.feed, &keys.random).unwrap();
    authority.shards.insert(authority.head.shards[0].hex(), token.into_bytes());
    authority.sign_head();
    refuses(&mut authority, &mut follower, FollowFault::Unrevoked { index });
    assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Revoked);
}

#[test]
fn endless_and_oversized_bodies_are_refused_at_their_limits() {
    let targets = ["/v1/feed/head", "/v1/floors", "/v1/contexts", "/v1/trust"];
    for path in targets {
        let mut authority = MemoryAuthority::with_library(START);
        let mut follower = Follower::without_memory(authority.config());
        let mut limit = 0;
        let fault = loop {
            let Step::Get(request) = follower.next(START) else { panic!("{path} was never asked for") };
            let mut answer = authority.get(&request.path, None);
            if request.path == path {
                limit = request.max_bytes;
                answer.body = vec![b' '; usize::try_from(limit).unwrap() + 1];
            }
            match follower.answer(&request.path, answer, START) {
                Ok(_) => {}
                Err(fault) => break fault,
            }
        };
        assert!(matches!(fault, FollowFault::TooLarge { .. }), "{path}: {fault:?}");
        assert!(limit <= 8 * 1024 * 1024, "{path}");
    }
}

#[test]
fn an_oversized_document_leaves_out_that_context_alone() {
    let mut authority = MemoryAuthority::with_library(START);
    let digest = authority.replay.published(&urn("travel:v2.1")).unwrap().digest;
    authority.serve_instead(&format!("/v1/contexts/by-digest/{digest}"), vec![b'{'; 300 * 1024]);
    let mut follower = authority.follower();
    only_report(&mut follower, "travel:v2.1", FollowFault::TooLarge { what: "signed context" });
    assert_eq!(follower.view().contexts().filter(|loaded| loaded.context.is_some()).count(), shipped() - 1);
}

#[test]
fn a_deflate_bomb_in_a_shard_is_refused() {
    use std::io::Write as _;
    let (mut authority, mut follower) = followed();
    authority.change(Act::Revoke, "travel:v2.1");
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![0u8; 20 * 1024 * 1024]).unwrap();
    let bomb = encoder.finish().unwrap();
    let payload = serde_json::json!({
        "iat": 1, "sub": "s", "status_list": {"bits": 2, "lst": semgate_certs::encoding::to_base64url(&bomb)},
    });
    let keys = Arc::clone(&authority.keys);
    let payload = serde_json::to_vec(&payload).unwrap();
    let token = crate::jws::Compact::sign(&payload, crate::token::TYPE, &keys.feed, &keys.random).unwrap();
    let path = format!("/v1/feed/shards/{}", authority.head.shards[0].hex());
    authority.serve_instead(&path, token);
    refuses(&mut authority, &mut follower, FollowFault::Token(crate::token::TokenFault::Inflate));
}

#[test]
fn more_contexts_than_the_limit_end_the_round() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut config = authority.config();
    config.limits.max_contexts = 3;
    let mut follower = Follower::without_memory(config);
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::TooManyContexts));
    assert_eq!(follower.view().contexts().count(), 0);
}

#[test]
fn a_listing_that_never_ends_in_requests_is_cut_short() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut config = authority.config();
    config.limits.max_requests = 6;
    let mut follower = Follower::without_memory(config);
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::TooManyRequests));
}

#[test]
fn the_trust_document_of_another_authority_is_refused() {
    let mut authority = MemoryAuthority::with_library(START);
    let trust = crate::Trust::new("other.test").to_bytes().unwrap();
    authority.serve_instead("/v1/trust", trust);
    let mut follower = Follower::without_memory(authority.config());
    let fault = FollowFault::Trust(FormatFault::Member("authority"));
    refuses(&mut authority, &mut follower, fault);
}

#[test]
fn a_status_leaf_of_one_tree_cannot_raise_the_floor_of_another() {
    let mut authority = MemoryAuthority::with_library(START);
    let keys = Arc::clone(&authority.keys);
    let key = KeyPair::generate(&keys.random).unwrap();
    let scope = LineScope::Trees(vec![Line::parse("travel").unwrap()]);
    let profile = LeafProfile::role(Usage::Status, scope, START - 60);
    let chain = keys.contexts.leaf(&profile, key.public(), &keys.random).unwrap();
    let narrow = SigningIdentity::new(key, chain);
    authority.trust.insert(narrow.chain.clone());
    for (line, expected) in [("travel", None), ("payment", Some(StatementFault::LineNotDelegated))] {
        let statement = Statement::Floor {
            line: Line::parse(line).unwrap(),
            min: Version::new(1, 0),
            reason: String::new(),
        };
        let signed = crate::SignedStatement::sign(statement, &narrow, &keys.random).unwrap();
        assert_eq!(signed.verify(&authority.trust, &keys.roots, START).err(), expected);
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.lies.insert("/v1/feed/head".to_owned(), Answer { status: 302, etag: None, body: Vec::new() });
    let mut follower = Follower::without_memory(authority.config());
    refuses(&mut authority, &mut follower, FollowFault::HttpStatus { what: "head", status: 302 });
}

#[test]
fn a_304_before_anything_was_accepted_is_refused() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.lies.insert("/v1/feed/head".to_owned(), Answer { status: 304, etag: None, body: Vec::new() });
    let mut follower = Follower::without_memory(authority.config());
    refuses(&mut authority, &mut follower, FollowFault::HttpStatus { what: "head", status: 304 });
}

#[test]
fn a_digest_listed_other_than_published_is_refused() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut listing = authority.replay.listing();
    listing.contexts.iter_mut().find(|c| c.urn == urn("travel:v2.1")).unwrap().digest = Digest::of(b"x");
    authority.serve_instead("/v1/contexts", listing.to_bytes().unwrap());
    let mut follower = authority.follower();
    only_report(&mut follower, "travel:v2.1", FollowFault::WrongIndex);
}
