//! What other followers and witnesses of one authority tell: a split view by what the attacker does, and quorums.

use super::*;
use crate::cosignature::{CosignatureFault, CosignerKey, Quorum, split};
use crate::follower::Compared;

fn note(authority: &MemoryAuthority) -> String {
    authority.head.checkpoint.clone()
}

/// Two histories of one authority, of these sizes past the library.
fn forked(a: u64, b: u64) -> (MemoryAuthority, MemoryAuthority) {
    let mut one = MemoryAuthority::with_library(START);
    let mut two = one.clone();
    for n in 0..a {
        one.publish(&MemoryAuthority::document(&format!("one{n}:v1.0"), "thing"));
    }
    for n in 0..b {
        two.publish(&MemoryAuthority::document(&format!("two{n}:v1.0"), "thing"));
    }
    (one, two)
}

fn is_split(follower: &Follower) -> bool {
    follower.is_split().is_some() && follower.view().is_split().is_some()
}

#[test]
fn two_histories_of_one_size_end_the_trust_at_once_and_across_restarts() {
    let (mut one, two) = forked(1, 1);
    one.change(Act::Revoke, "payment:v1.0");
    let mut two = two;
    two.change(Act::Revoke, "payment:v2.0");
    let dir = tempfile::tempdir().unwrap();
    let mut follower = Follower::open(one.config(), dir.path(), START).unwrap();
    one.follow(&mut follower).unwrap();
    assert_eq!(follower.checkpoint(), Some(note(&one).as_str()));
    assert_eq!(follower.compare(&note(&two), "other", START), Ok(Compared::Contradicts));
    let evidence = follower.reports().pop().unwrap();
    let size = one.tree.size();
    assert_eq!(evidence.fault, FollowFault::SplitView { had: size, other: size });
    let kept = |name: &str| std::fs::read_to_string(evidence.evidence.clone().unwrap().join(name)).unwrap();
    assert_eq!((kept("accepted-checkpoint.txt"), kept("other-checkpoint.txt")), (note(&one), note(&two)));
    for follower in [follower, Follower::open(one.config(), dir.path(), START).unwrap()] {
        assert!(is_split(&follower));
        assert_eq!(standing(&follower, "travel:v2.1", START), Standing::Split);
        assert_eq!(standing(&follower, "payment:v1.0", START), Standing::Revoked);
    }
    // Whatever is in the file: its being there is what counts.
    std::fs::write(dir.path().join("split-view.json"), "scribble").unwrap();
    let mut follower = Follower::open(one.config(), dir.path(), START).unwrap();
    one.now += 10;
    one.renew();
    one.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "travel:v2.1", one.now), Standing::Split);
    std::fs::remove_file(dir.path().join("split-view.json")).unwrap();
    let follower = Follower::open(one.config(), dir.path(), one.now).unwrap();
    assert_eq!(standing(&follower, "travel:v2.1", one.now), Standing::Valid);
}

#[test]
fn honest_followers_that_are_ahead_or_behind_agree_by_tiles() {
    let mut authority = MemoryAuthority::with_library(START);
    let early = note(&authority);
    let mut behind = authority.follower();
    for n in 0..300 {
        authority.batch = n != 299;
        authority.publish(&MemoryAuthority::document(&format!("line{n}:v1.0"), "thing"));
    }
    let mut ahead = authority.follower();
    assert_eq!(ahead.compare(&early, "behind", START), Ok(Compared::Waits));
    authority.follow(&mut ahead).unwrap();
    assert_eq!(ahead.compare(&early, "behind", START), Ok(Compared::Agrees));
    // The one that is behind proves it by tiles, or by growing.
    assert_eq!(behind.compare(&note(&authority), "ahead", START), Ok(Compared::Waits));
    authority.follow(&mut behind).unwrap();
    assert_eq!(behind.compare(&note(&authority), "ahead", START), Ok(Compared::Agrees));
    assert!(!is_split(&ahead) && !is_split(&behind));
}

#[test]
fn a_shorter_history_that_is_no_prefix_is_found_out_by_tiles() {
    let (mut one, two) = forked(3, 2);
    let mut follower = one.follower();
    assert_eq!(follower.compare(&note(&two), "other", START), Ok(Compared::Waits));
    one.follow(&mut follower).unwrap();
    assert!(is_split(&follower));
    assert_eq!(standing(&follower, "travel:v2.1", START), Standing::Split);
}

#[test]
fn while_a_longer_history_is_kept_back_here_nothing_counts_and_it_heals_when_it_is_shown() {
    let (mut one, two) = forked(1, 3);
    let mut follower = one.follower();
    assert_eq!(follower.compare(&note(&two), "other", START), Ok(Compared::Waits));
    while one.now < START + 890 {
        one.now += 10;
        one.renew();
        one.follow(&mut follower).unwrap();
        assert!(!is_split(&follower), "{}", one.now - START);
    }
    one.now = START + 901;
    one.renew();
    one.follow(&mut follower).unwrap();
    assert!(is_split(&follower));
    // whoever carries the tiles can keep them back, so that is no evidence, and a restart begins anew
    assert!(follower.reports().iter().all(|report| report.evidence.is_none()));
}

/// A 404 for the tiles of a comparison was counted; a connection that was dropped ended the round, and nothing was ever doubted.
#[test]
fn a_request_for_the_tiles_of_a_comparison_that_breaks_off_is_no_way_around_it() {
    let (mut one, two) = forked(3, 2);
    let mut follower = one.follower();
    one.now += 10;
    assert_eq!(follower.compare(&note(&two), "other", one.now), Ok(Compared::Waits));
    one.breaks = vec!["/tile/".to_owned()];
    let since = one.now;
    while one.now < since + 890 {
        one.now += 10;
        one.renew();
        one.follow(&mut follower).unwrap();
        assert!(!is_split(&follower), "{}", one.now - since);
        assert_eq!(follower.view().issued_at(), one.now, "the round went on");
    }
    one.now = since + 905;
    one.renew();
    one.follow(&mut follower).unwrap();
    assert!(is_split(&follower));
    assert_eq!(standing(&follower, "travel:v2.1", one.now), Standing::Split);
    let size = one.tree.size();
    let unproven = FollowFault::Unproven { had: size, other: two.tree.size() };
    assert_eq!(follower.reports().into_iter().map(|report| report.fault).collect::<Vec<_>>(), [unproven]);
    // once they come, they prove it
    one.breaks.clear();
    one.now += 10;
    one.renew();
    one.follow(&mut follower).unwrap();
    let split = FollowFault::SplitView { had: size, other: two.tree.size() };
    assert_eq!(follower.reports().pop().map(|report| report.fault), Some(split));
}

#[test]
fn one_tile_that_breaks_off_puts_off_every_comparison_until_the_next_poll() {
    let mut authority = MemoryAuthority::with_library(START);
    let early = note(&authority);
    authority.publish(&MemoryAuthority::document("one:v1.0", "thing"));
    let later = note(&authority);
    authority.publish(&MemoryAuthority::document("two:v1.0", "thing"));
    let mut follower = authority.follower();
    authority.now += 10;
    for known in [&early, &later] {
        assert_eq!(follower.compare(known, "other", authority.now), Ok(Compared::Waits));
    }
    let tiles =
        |authority: &MemoryAuthority| authority.requests.iter().filter(|p| p.starts_with("/tile/")).count();
    let before = tiles(&authority);
    authority.breaks = vec!["/tile/".to_owned()];
    authority.follow(&mut follower).unwrap();
    assert_eq!(tiles(&authority), before + 1, "a line that hangs is waited for once a round");
    authority.breaks.clear();
    authority.now += 10;
    authority.follow(&mut follower).unwrap();
    for known in [&early, &later] {
        assert_eq!(follower.compare(known, "other", authority.now), Ok(Compared::Agrees));
    }
}

#[test]
fn an_outage_is_no_contradiction() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut follower = authority.follower();
    authority.publish(&MemoryAuthority::document("one:v1.0", "thing"));
    let ahead = note(&authority);
    assert_eq!(follower.compare(&ahead, "ahead", START), Ok(Compared::Waits));
    // Another gateway reached it; this one hears nothing for an hour, and then all of it at once, by way of a shorter log first.
    authority.now += 3600;
    for n in 0..300 {
        authority.batch = n != 299;
        authority.publish(&MemoryAuthority::document(&format!("line{n}:v1.0"), "thing"));
    }
    authority.renew();
    authority.follow(&mut follower).unwrap();
    assert!(!is_split(&follower));
    assert_eq!(follower.compare(&ahead, "ahead", authority.now), Ok(Compared::Agrees));
}

#[test]
fn what_the_log_key_did_not_sign_accuses_nobody() {
    let (authority, mut follower) = followed();
    let stranger = MemoryAuthority::with_library(START);
    assert!(follower.compare(&note(&stranger), "other", START).is_err());
    let other_size = note(&authority).replacen(&format!("\n{}\n", authority.tree.size()), "\n1\n", 1);
    assert!(follower.compare(&other_size, "other", START).is_err());
    assert!(follower.compare("scribble", "other", START).is_err());
    assert!(!is_split(&follower));
    assert_eq!(standing(&follower, "travel:v2.1", START), Standing::Valid);
}

fn cosign(authority: &mut MemoryAuthority, witnesses: &[&CosignerKey]) {
    let text = split(&authority.head.checkpoint).unwrap().0.to_owned();
    for witness in witnesses {
        let line = witness.cosign(&text, authority.now);
        authority.head.checkpoint.push_str(&line);
    }
    authority.sign_head();
}

#[test]
fn a_larger_log_without_its_witnesses_is_not_accepted_but_what_it_revokes_is_revoked() {
    let keys: Vec<CosignerKey> =
        (1..=3).map(|n| CosignerKey::from_seed(&format!("w{n}.example"), &[n; 32]).unwrap()).collect();
    let mut authority = MemoryAuthority::with_library(START);
    cosign(&mut authority, &[&keys[0], &keys[1]]);
    let mut config = authority.config();
    config.quorum = Quorum::new(keys.iter().map(|key| key.verifier().clone()).collect(), 2).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut follower = Follower::open(config.clone(), dir.path(), START).unwrap();
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "travel:v2.1", START), Standing::Valid);

    authority.change(Act::Revoke, "payment:v1.0");
    cosign(&mut authority, &[&keys[2]]);
    let missing = FollowFault::Cosignatures(CosignatureFault::Missing { need: 2, have: 1 });
    assert_eq!(authority.follow(&mut follower), Err(missing.clone()));
    assert_eq!(missing.as_str(), "cosignatures_missing");
    assert_eq!(standing(&follower, "payment:v1.0", START), Standing::Revoked);
    assert_eq!(standing(&follower, "travel:v2.1", START), Standing::Valid, "until its next_update");
    assert_eq!(standing(&follower, "travel:v2.1", START + 600), Standing::Stale);

    authority.now += 40;
    authority.renew();
    cosign(&mut authority, &[&keys[2], &keys[0]]);
    authority.follow(&mut follower).unwrap();
    assert_eq!(follower.view().size(), authority.tree.size());
    // The same tree again needs no witness anew.
    authority.now += 40;
    authority.renew();
    authority.follow(&mut follower).unwrap();
    assert_eq!(follower.view().issued_at(), authority.now);

    // A memory of fewer witnesses than are demanded now lets nothing pass, and forgets no revocation.
    config.quorum = Quorum::new(config.quorum.witnesses().to_vec(), 3).unwrap();
    let mut follower = Follower::open(config, dir.path(), authority.now).unwrap();
    assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Stale);
    assert_eq!(standing(&follower, "payment:v1.0", authority.now), Standing::Revoked);
    assert!(authority.follow(&mut follower).is_err());
    cosign(&mut authority, &[&keys[0], &keys[1], &keys[2]]);
    authority.now += 40;
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Valid);
}

#[test]
fn a_mirror_of_plain_files_keeps_its_listing_beside_a_directory() {
    let mut authority = MemoryAuthority::with_library(START);
    let listing = authority.get("/v1/contexts", None);
    for status in [301, 404, 403] {
        let moved = Answer { status, etag: None, body: b"<html>".to_vec() };
        authority.lies.insert("/v1/contexts".to_owned(), moved);
        authority.lies.insert("/v1/contexts/index.json".to_owned(), listing.clone());
        assert_eq!(authority.follower().view().contexts().count(), shipped(), "{status}");
    }
    authority.lies.remove("/v1/contexts/index.json");
    let mut follower = Follower::without_memory(authority.config());
    let fault = FollowFault::HttpStatus { what: "listing", status: 404 };
    assert_eq!(authority.follow(&mut follower), Err(fault));
}
