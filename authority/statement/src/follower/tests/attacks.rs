//! Attacks by heads, checkpoints, shards and floors, each test named by what the attacker does.

use super::*;

#[test]
fn rollback_to_an_older_log_is_refused() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut old = authority.clone();
    authority.change(Act::Revoke, "payment:v1.0");
    let mut follower = authority.follower();
    old.now += 10;
    old.renew();
    let (had, offered) = (authority.tree.size(), old.tree.size());
    refuses(&mut old, &mut follower, FollowFault::Rollback { had, offered });
    assert_eq!(standing(&follower, "payment:v1.0", START + 10), Standing::Revoked);
}

#[test]
fn an_older_head_of_the_same_log_is_refused() {
    let mut authority = MemoryAuthority::with_library(START);
    let old = authority.signed_head.clone();
    authority.now += 60;
    authority.renew();
    let mut follower = authority.follower();
    authority.serve_instead("/v1/feed/head", old);
    refuses(&mut authority, &mut follower, FollowFault::IssuedBack);
}

#[test]
fn freeze_a_head_served_for_ever_turns_stale() {
    let (mut authority, mut follower) = followed();
    authority.now = START + 600;
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::Head(HeadFault::Expired)));
    assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Stale);
    // Also to one who sees it for the first time, and without an ETag.
    let mut newcomer = Follower::without_memory(authority.config());
    refuses(&mut authority, &mut newcomer, FollowFault::Head(HeadFault::Expired));
}

#[test]
fn equivocation_two_heads_of_one_size_are_refused_and_kept() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut other = authority.clone();
    authority.publish(&MemoryAuthority::document("one:v1.0", "thing"));
    other.publish(&MemoryAuthority::document("two:v1.0", "thing"));
    let dir = tempfile::tempdir().unwrap();
    let mut follower = Follower::open(authority.config(), dir.path(), START).unwrap();
    authority.follow(&mut follower).unwrap();
    other.now += 10;
    other.renew();
    let size = other.tree.size();
    let fault = FollowFault::Equivocation { size };
    assert_eq!(other.follow(&mut follower), Err(fault.clone()));
    let report = follower.reports().pop().unwrap();
    assert_eq!(report.fault, fault);
    let evidence = report.evidence.unwrap();
    assert_eq!(std::fs::read(evidence.join("accepted-head.json")).unwrap(), authority.signed_head);
    assert_eq!(std::fs::read(evidence.join("offered-head.json")).unwrap(), other.signed_head);
}

#[test]
fn a_head_of_the_same_size_with_other_status_is_an_equivocation() {
    let (mut authority, mut follower) = followed();
    let mut list = authority.replay.statuses().clone();
    list.set(0, Status::Suspended);
    authority.head.shards = list.shards().iter().map(crate::head::ShardRef::of).collect();
    authority.head.issued_at = authority.now;
    authority.sign_head();
    let size = authority.tree.size();
    refuses(&mut authority, &mut follower, FollowFault::Equivocation { size });
}

#[test]
fn fork_a_larger_log_of_another_past_is_refused_and_kept() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut other = authority.clone();
    authority.publish(&MemoryAuthority::document("one:v1.0", "thing"));
    other.publish(&MemoryAuthority::document("two:v1.0", "thing"));
    other.publish(&MemoryAuthority::document("three:v1.0", "thing"));
    let dir = tempfile::tempdir().unwrap();
    let mut follower = Follower::open(authority.config(), dir.path(), START).unwrap();
    authority.follow(&mut follower).unwrap();
    other.now += 10;
    other.renew();
    let fault = FollowFault::Fork { had: authority.tree.size(), offered: other.tree.size() };
    assert_eq!(other.follow(&mut follower), Err(fault));
    assert!(follower.reports().pop().unwrap().evidence.is_some());
    // The true log goes on.
    authority.now += 20;
    authority.publish(&MemoryAuthority::document("four:v1.0", "thing"));
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "four:v1.0", authority.now), Standing::Valid);
}

#[test]
fn a_forked_log_served_with_the_honest_tiles_is_inconsistent() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut follower = authority.follower();
    authority.now += 10;
    let honest = authority.tiles.clone();
    let mut forged = MemoryAuthority::new(START);
    forged.keys = Arc::clone(&authority.keys);
    for n in 0..20 {
        forged.publish(&MemoryAuthority::document(&format!("x:v1.{n}"), "thing"));
    }
    let forged_size = forged.tree.size();
    for n in 0..forged_size - authority.tree.size() {
        authority.publish(&MemoryAuthority::document(&format!("y:v1.{n}"), "thing"));
    }
    forged.now += 10;
    forged.renew();
    authority.serve_instead("/v1/feed/head", forged.signed_head.clone());
    refuses(&mut authority, &mut follower, FollowFault::Tiles(ProofFault::Inconsistent));
    assert!(honest.len() < authority.tiles.len());
}

#[test]
fn fast_forward_a_head_issued_ahead_of_the_clock_is_refused() {
    let (mut authority, mut follower) = followed();
    authority.now += 61;
    authority.renew();
    authority.now -= 61;
    refuses(&mut authority, &mut follower, FollowFault::Head(HeadFault::Ahead));
}

#[test]
fn fast_forward_cannot_creep_ahead_sixty_seconds_a_head() {
    let (mut authority, mut follower) = followed();
    let now = authority.now;
    authority.now = now + 60;
    authority.renew();
    authority.now = now;
    authority.follow(&mut follower).unwrap();
    assert_eq!(follower.view().issued_at(), now + 60);
    authority.now = now + 120;
    authority.renew();
    authority.now = now;
    refuses(&mut authority, &mut follower, FollowFault::Head(HeadFault::Ahead));
}

#[test]
fn a_clock_that_is_set_back_does_not_bring_an_old_head_back_to_life() {
    let (mut authority, mut follower) = followed();
    authority.renew();
    authority.follow(&mut follower).unwrap();
    let issued = authority.now;
    // By a clock of last week the head would be fresh for long; "now" never precedes its issue.
    let view = follower.view();
    assert_eq!(view.standing(&urn("travel:v2.1"), issued - 7 * 86_400), Standing::Valid);
    assert_eq!(view.standing(&urn("travel:v2.1"), issued + 600), Standing::Stale);
}

#[test]
fn a_lifetime_over_max_status_age_is_refused() {
    let (mut authority, mut follower) = followed();
    authority.lifetime = 901;
    authority.renew();
    refuses(&mut authority, &mut follower, FollowFault::Head(HeadFault::Lifetime));
    authority.lifetime = 900;
    authority.renew();
    authority.follow(&mut follower).unwrap();
}

#[test]
fn a_head_signed_with_a_key_of_another_usage_is_refused() {
    let (mut authority, mut follower) = followed();
    authority.head.issued_at = authority.now;
    let keys = Arc::clone(&authority.keys);
    for identity in [&keys.status, &keys.signer(&["payment"])] {
        authority.signed_head = authority.head.sign(identity, &keys.random).unwrap();
        let fault = HeadFault::Jws(JwsFault::Chain(ChainFault::WrongUsage));
        let mut follower = Follower::without_memory(follower.config().clone());
        refuses(&mut authority, &mut follower, FollowFault::Head(fault));
    }
    authority.renew();
    authority.follow(&mut follower).unwrap();
}

#[test]
fn a_strangers_head_is_refused() {
    let (mut authority, mut follower) = followed();
    let stranger = Keys::new(START - 3600);
    authority.head.issued_at = authority.now;
    authority.signed_head = authority.head.sign(&stranger.feed, &stranger.random).unwrap();
    // Both roots have one name, so webpki finds the issuer and then a signature that does not fit.
    let before = follower.view();
    let fault = authority.follow(&mut follower).unwrap_err();
    let expected = [ChainFault::BadSignature, ChainFault::UnknownIssuer]
        .map(|fault| FollowFault::Head(HeadFault::Jws(JwsFault::Chain(fault))));
    assert!(expected.contains(&fault), "{fault:?}");
    assert!(Arc::ptr_eq(&before, &follower.view()));
}

#[test]
fn attack_certificates_that_come_with_a_strangers_head_are_not_kept() {
    let (mut authority, mut follower) = followed();
    let known = follower.state.trust.chains().count();
    for _ in 0..3 {
        let stranger = MemoryAuthority::with_library(START);
        authority.now += 60;
        authority.head.issued_at = authority.now;
        authority.serve_instead("/v1/trust", stranger.trust.to_bytes().unwrap());
        authority.signed_head = authority.head.sign(&stranger.keys.feed, &stranger.keys.random).unwrap();
        authority.follow(&mut follower).unwrap_err();
        assert_eq!(follower.state.trust.chains().count(), known);
    }
}

#[test]
fn a_checkpoint_by_another_log_key_or_of_another_size_is_refused() {
    let (mut authority, mut follower) = followed();
    authority.head.issued_at = authority.now;
    let other = crate::LogKey::generate(crate::testing::ORIGIN, &authority.keys.random).unwrap();
    authority.head.checkpoint = other.sign(authority.tree.size(), authority.tree.root()).unwrap();
    authority.sign_head();
    let signature = HeadFault::Checkpoint(crate::CheckpointFault::Signature);
    refuses(&mut authority, &mut follower, FollowFault::Head(signature));
    authority.head.checkpoint = authority.keys.log.sign(3, authority.tree.root()).unwrap();
    authority.sign_head();
    authority.now += 1;
    refuses(&mut authority, &mut follower, FollowFault::Head(HeadFault::Size));
}

#[test]
fn the_head_of_another_authority_under_the_same_root_is_refused() {
    let (mut authority, mut follower) = followed();
    authority.renew();
    authority.head.authority = "other.test".to_owned();
    authority.sign_head();
    refuses(&mut authority, &mut follower, FollowFault::Head(HeadFault::Authority));
    authority.head.authority = crate::testing::AUTHORITY.to_owned();
    authority.head.origin = "other.test/log".to_owned();
    authority.sign_head();
    authority.now += 1;
    refuses(&mut authority, &mut follower, FollowFault::Head(HeadFault::Origin));
}

#[test]
fn a_swapped_shard_is_refused() {
    let (mut authority, mut follower) = followed();
    let old = authority.shards["0"].clone();
    authority.change(Act::Revoke, "travel:v2.1");
    let path = format!("/v1/feed/shards/{}", authority.head.shards[0].hex());
    authority.serve_instead(&path, old);
    refuses(&mut authority, &mut follower, FollowFault::Shard { n: 0 });
}

#[test]
fn swapped_floors_are_refused() {
    let (mut authority, mut follower) = followed();
    let old = authority.floors.clone();
    authority.floor("payment", "v2.0");
    authority.serve_instead("/v1/floors", old);
    refuses(&mut authority, &mut follower, FollowFault::FloorsSwapped);
}

#[test]
fn a_lowered_floor_is_refused() {
    let (mut authority, mut follower) = followed();
    authority.publish(&MemoryAuthority::document("new:v1.0", "thing"));
    let floors = br#"{"authority":"semgate.test","floors":[]}"#.to_vec();
    authority.head.floors = crate::sha256::sha256(&floors);
    authority.floors = floors;
    authority.sign_head();
    let line = Line::parse("payment").unwrap();
    refuses(&mut authority, &mut follower, FollowFault::FloorLowered { line });
}

#[test]
fn a_floor_above_every_published_version_is_refused() {
    let (mut authority, mut follower) = followed();
    authority.publish(&MemoryAuthority::document("new:v1.0", "thing"));
    let floors = br#"{"authority":"semgate.test","floors":[{"line":"payment","min":"v9.0"}]}"#.to_vec();
    authority.head.floors = crate::sha256::sha256(&floors);
    authority.floors = floors;
    authority.sign_head();
    let line = Line::parse("payment").unwrap();
    refuses(&mut authority, &mut follower, FollowFault::FloorAboveVersions { line });
    // The listing was gone through without accepting the head: nothing of it stays.
    assert_eq!(standing(&follower, "new:v1.0", authority.now), Standing::NotCovered);
}

#[test]
fn a_floor_raised_to_a_version_published_in_the_same_head_is_accepted() {
    let (mut authority, mut follower) = followed();
    authority.publish(&MemoryAuthority::document("payment:v3.0", "transfer"));
    authority.floor("payment", "v3.0");
    authority.follow(&mut follower).unwrap();
    assert_eq!(follower.view().floor(&Line::parse("payment").unwrap()), Some(Version::new(3, 0)));
}

#[test]
fn revocations_apply_at_once_even_if_the_floors_of_their_head_are_refused() {
    let (mut authority, mut follower) = followed();
    authority.change(Act::Revoke, "travel:v2.1");
    authority.serve_instead("/v1/floors", b"[]".to_vec());
    authority.head.floors = [7; 32];
    authority.sign_head();
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::FloorsSwapped));
    assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Revoked);
    assert_eq!(standing(&follower, "payment:v1.1", authority.now), Standing::Valid);
}
