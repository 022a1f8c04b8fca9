//! What changed since the accepted head in place of the head, and what becomes of a false one.

use super::*;
use crate::delta::{Delta, HeadParts, MAX_DELTA_BYTES};
use crate::follower::schedule::RETRY_DELTA;
use crate::testing::DELTAS;

/// A follower that has seen the library of an authority that serves deltas, which revoked something since; and where the delta is.
fn one_behind(dir: &std::path::Path) -> (MemoryAuthority, Follower, String) {
    let mut authority = MemoryAuthority::with_library(START);
    authority.deltas = true;
    let mut follower = Follower::open(authority.config(), dir, START).unwrap();
    authority.follow(&mut follower).unwrap();
    let path = format!("{DELTAS}{}", authority.tree.size());
    authority.now += 10;
    authority.change(Act::Revoke, "payment:v1.0");
    authority.requests.clear();
    (authority, follower, path)
}

fn of_feed(authority: &MemoryAuthority) -> Vec<String> {
    authority.requests.iter().filter(|path| path.starts_with("/v1/feed")).cloned().collect()
}

#[test]
fn who_knows_a_head_is_told_the_difference_alone_and_has_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (mut authority, mut follower, path) = one_behind(dir.path());
    authority.follow(&mut follower).unwrap();
    assert_eq!(of_feed(&authority), std::slice::from_ref(&path), "neither a head nor a shard");
    assert_eq!(standing(&follower, "payment:v1.0", authority.now), Standing::Revoked);
    assert_eq!(std::fs::read(dir.path().join("head.json")).unwrap(), authority.signed_head);
    // what it leads to has the name of the head, so the same again is no body
    authority.requests.clear();
    authority.follow(&mut follower).unwrap();
    let here = format!("{DELTAS}{}", authority.tree.size());
    assert_eq!(of_feed(&authority), std::slice::from_ref(&here));
    let etag = follower.etag.clone();
    assert_eq!(authority.get(&here, etag.as_deref()).status, 304);

    // also over a restart, of a suspension that is lifted, a new context, and nothing but a renewed head
    authority.requests.clear();
    let mut follower = Follower::open(authority.config(), dir.path(), authority.now).unwrap();
    authority.now += 10;
    authority.change(Act::Suspend, "travel:v2.1");
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Suspended);
    authority.now += 10;
    authority.change(Act::Resume, "travel:v2.1");
    authority.publish(&MemoryAuthority::document("one:v1.0", "thing"));
    authority.follow(&mut follower).unwrap();
    for short in ["travel:v2.1", "one:v1.0"] {
        assert_eq!(standing(&follower, short, authority.now), Standing::Valid, "{short}");
    }
    authority.now += 300;
    authority.renew();
    authority.follow(&mut follower).unwrap();
    assert_eq!(follower.view().next_update(), authority.now + 600);
    assert!(of_feed(&authority).iter().all(|path| path.starts_with(DELTAS)), "{:?}", authority.requests);
    assert_eq!(follower.reports(), vec![]);
}

/// Deltas that the true authority never made.
fn false_deltas(authority: &MemoryAuthority) -> Vec<(&'static str, Vec<u8>)> {
    let from = authority.tree.size() - 1;
    let parts = |authority: &MemoryAuthority| HeadParts::of(&authority.signed_head).unwrap();
    let changed = || authority.replay.changes().after(from).unwrap();
    let payment = authority.replay.published(&urn("payment:v1.0")).unwrap().index;
    let travel = authority.replay.published(&urn("travel:v2.1")).unwrap().index;
    let mut also = changed();
    also.insert(travel, Status::Invalid);
    let mut other = authority.clone();
    other.publish(&MemoryAuthority::document("one:v1.0", "thing"));
    other.now = START - 20;
    let mut stranger = MemoryAuthority::with_library(START);
    stranger.now += 10;
    stranger.change(Act::Revoke, "payment:v1.0");
    let good = parts(authority).delta(from, changed()).unwrap();
    assert!(Delta::read(&good).is_ok() && changed().contains_key(&payment));
    vec![
        ("no delta at all", b"not a delta".to_vec()),
        ("an endless one", vec![b'1'; MAX_DELTA_BYTES + 1]),
        ("one that ends early", good[..good.len() - 1].to_vec()),
        ("a revocation kept back", parts(authority).delta(from, Default::default()).unwrap()),
        ("a revocation of another context", parts(authority).delta(from, also).unwrap()),
        ("from another log", parts(authority).delta(from - 1, changed()).unwrap()),
        ("by another authority", parts(&stranger).delta(from, changed()).unwrap()),
    ]
}

#[test]
fn attack_a_false_delta_is_reported_and_the_head_is_fetched_whole() {
    let (authority, _, _) = one_behind(tempfile::tempdir().unwrap().path());
    let names: Vec<_> = false_deltas(&authority).into_iter().map(|(name, _)| name).collect();
    for (nth, name) in names.into_iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        let (mut authority, mut follower, path) = one_behind(dir.path());
        authority.serve_instead(&path, false_deltas(&authority).remove(nth).1);
        authority.follow(&mut follower).unwrap();
        assert_eq!(of_feed(&authority)[..2], [path, "/v1/feed/head".to_owned()], "{name}");
        assert_eq!(standing(&follower, "payment:v1.0", authority.now), Standing::Revoked, "{name}");
        assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Valid, "{name}");
        let faults: Vec<_> = follower.reports().into_iter().map(|report| report.fault).collect();
        assert!(
            matches!(
                faults[..],
                [FollowFault::Delta(_) | FollowFault::Head(HeadFault::Jws(_)) | FollowFault::TooLarge { .. }]
            ),
            "{name}: {faults:?}"
        );
        assert!(std::fs::read_dir(dir.path().join("evidence")).unwrap().next().is_none(), "{name}");
        // for a while no delta is asked for, and then again
        authority.requests.clear();
        authority.now += 1;
        authority.follow(&mut follower).unwrap();
        assert_eq!(of_feed(&authority), ["/v1/feed/head"], "{name}");
        authority.requests.clear();
        authority.now += RETRY_DELTA;
        authority.renew();
        authority.follow(&mut follower).unwrap();
        assert_eq!(of_feed(&authority), [format!("{DELTAS}{}", authority.tree.size())], "{name}");
    }
}

#[test]
fn a_delta_that_is_not_there_costs_one_request_in_ten_minutes() {
    let dir = tempfile::tempdir().unwrap();
    let (mut authority, mut follower, path) = one_behind(dir.path());
    authority.deltas = false;
    authority.follow(&mut follower).unwrap();
    assert_eq!(of_feed(&authority)[..2], [path, "/v1/feed/head".to_owned()]);
    assert_eq!(standing(&follower, "payment:v1.0", authority.now), Standing::Revoked);
    authority.requests.clear();
    for _ in 0..20 {
        authority.now += 5;
        authority.follow(&mut follower).unwrap();
    }
    assert!(!authority.requests.iter().any(|path| path.starts_with(DELTAS)), "{:?}", authority.requests);
    assert_eq!(follower.reports(), vec![]);
    // a clock that is set back does not put it off for longer
    authority.deltas = true;
    authority.now -= 86_400;
    let Step::Get(request) = ({
        follower.hint();
        follower.next(authority.now)
    }) else {
        panic!("a hint is followed at once")
    };
    assert!(request.path.starts_with(DELTAS), "{}", request.path);
}

#[test]
fn equivocation_by_a_delta_is_kept_like_one_by_a_head() {
    let dir = tempfile::tempdir().unwrap();
    let (mut authority, mut follower, path) = one_behind(dir.path());
    let mut other = authority.clone();
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "payment:v1.0", authority.now), Standing::Revoked);
    // to others it said something else at this size
    other.replay = MemoryAuthority::with_library(START).replay;
    other.replay.skip_for_tests();
    other.renew();
    let size = authority.tree.size();
    let delta = HeadParts::of(&other.signed_head).unwrap();
    let payment = authority.replay.published(&urn("payment:v1.0")).unwrap().index;
    let delta = delta.delta(size, [(payment, Status::Valid)].into()).unwrap();
    assert_ne!(path, format!("{DELTAS}{size}"));
    authority.serve_instead(&format!("{DELTAS}{size}"), delta);
    refuses(&mut authority, &mut follower, FollowFault::Equivocation { size });
    let evidence = std::fs::read_dir(dir.path().join("evidence")).unwrap().next().unwrap().unwrap();
    let offered = std::fs::read(evidence.path().join("offered-head.json")).unwrap();
    assert_eq!(offered, other.signed_head, "what was put together is what was signed");
}

#[test]
fn a_new_feed_key_is_found_by_the_whole_head() {
    let dir = tempfile::tempdir().unwrap();
    let (mut authority, mut follower, path) = one_behind(dir.path());
    let profile = LeafProfile::role(Usage::Feed, LineScope::All, authority.keys.since).lifetime(90 * 86_400);
    let key = KeyPair::generate(&authority.keys.random).unwrap();
    let chain = authority.keys.contexts.leaf(&profile, key.public(), &authority.keys.random).unwrap();
    authority.new_feed = Some(Arc::new(SigningIdentity::new(key, chain)));
    authority.renew();
    authority.follow(&mut follower).unwrap();
    assert_eq!(of_feed(&authority)[..2], [path, "/v1/feed/head".to_owned()]);
    assert_eq!(standing(&follower, "payment:v1.0", authority.now), Standing::Revoked);
}
