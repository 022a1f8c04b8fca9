//! Requests that break off without an answer.

use super::*;

fn by_digest(authority: &MemoryAuthority, short: &str) -> String {
    format!("/v1/contexts/by-digest/{}", authority.replay.published(&urn(short)).unwrap().digest)
}

fn loaded(follower: &Follower) -> usize {
    follower.view().contexts().filter(|loaded| loaded.context.is_some()).count()
}

/// The first document in the log whose connection was reset ended every round, and nothing after it was ever loaded.
#[test]
fn a_document_whose_connection_breaks_keeps_no_other_from_being_loaded() {
    let mut authority = MemoryAuthority::with_library(START);
    let first = authority.replay.contexts().min_by_key(|(_, one)| one.index).unwrap().0.clone();
    let path = format!("/v1/contexts/by-digest/{}", authority.replay.published(&first).unwrap().digest);
    authority.breaks = vec![path.clone()];
    let mut follower = authority.follower();
    let reports: Vec<_> = follower.reports().into_iter().map(|r| (r.urn, r.fault)).collect();
    assert!(reports.contains(&(Some(first.clone()), FollowFault::Unreachable)), "{reports:?}");
    assert!(loaded(&follower) >= shipped() - 2, "{reports:?}");
    assert!(follower.view().context(&first).is_none());
    authority.breaks.clear();
    for _ in 0..2 {
        authority.now += 61;
        authority.renew();
        authority.follow(&mut follower).unwrap();
    }
    assert_eq!(loaded(&follower), shipped());
}

#[test]
fn an_authority_that_goes_away_during_a_load_ends_the_round_soon_and_the_load_goes_on_behind_what_broke() {
    let mut authority = MemoryAuthority::new(START);
    authority.batch = true;
    for n in 1..=9 {
        authority.publish(&MemoryAuthority::document(&format!("other:v{n}.0"), "thing"));
    }
    authority.renew();
    let broken = |n: u32| by_digest(&authority, &format!("other:v{n}.0"));
    authority.breaks = (1..=4).map(broken).collect();
    let mut follower = Follower::without_memory(authority.config());
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::Unreachable));
    assert_eq!(authority.requests.iter().filter(|path| path.contains("by-digest")).count(), 3);
    assert_eq!(loaded(&follower), 0);
    authority.now += 5;
    authority.follow(&mut follower).unwrap();
    assert_eq!(loaded(&follower), 5, "the fourth breaks too, and none of the three is asked for again yet");
    authority.breaks.clear();
    authority.now += 61;
    authority.follow(&mut follower).unwrap();
    assert_eq!(loaded(&follower), 9);
}

#[test]
fn a_bundle_whose_connection_breaks_takes_its_own_contexts_along_and_no_others() {
    let mut authority = MemoryAuthority::new(START);
    authority.batch = true;
    for n in 0..300 {
        authority.publish(&MemoryAuthority::document(&format!("other:v1.{n}"), "thing"));
    }
    authority.renew();
    authority.breaks = vec!["/tile/entries/000".to_owned()];
    let mut follower = authority.follower();
    assert_eq!(loaded(&follower), 300 - 256);
    assert!(follower.reports().iter().all(|report| report.fault == FollowFault::Unreachable));
    authority.breaks.clear();
    authority.now += 61;
    authority.renew();
    authority.follow(&mut follower).unwrap();
    assert_eq!(loaded(&follower), 300);
}

#[test]
fn a_head_floors_or_listing_that_breaks_off_ends_the_round() {
    for path in ["/v1/feed/head", "/v1/feed/shards/", "/v1/floors", "/v1/contexts", "/v1/trust"] {
        let mut authority = MemoryAuthority::with_library(START);
        let mut follower = Follower::without_memory(authority.config());
        authority.breaks = vec![path.to_owned()];
        assert_eq!(authority.follow(&mut follower), Err(FollowFault::Unreachable), "{path}");
        assert_eq!(
            follower.reports().pop().map(|report| (report.urn, report.fault)),
            Some((None, FollowFault::Unreachable))
        );
        assert_eq!(loaded(&follower), 0);
    }
}
