//! Quorums of witnesses, and mirrors of plain files.

use super::*;
use crate::cosignature::{CosignatureFault, CosignerKey, Quorum, split};

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
