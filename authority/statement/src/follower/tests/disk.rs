//! The memory on disk: what it keeps, and what it does not believe.

use super::*;
use std::fs;
use std::path::Path;

/// A memory that holds the library.
fn remembered() -> (MemoryAuthority, tempfile::TempDir) {
    let mut authority = MemoryAuthority::with_library(START);
    let dir = tempfile::tempdir().unwrap();
    let mut follower = Follower::open(authority.config(), dir.path(), START).unwrap();
    authority.follow(&mut follower).unwrap();
    assert_eq!(follower.reports(), vec![]);
    (authority, dir)
}

fn open(authority: &MemoryAuthority, dir: &Path) -> Follower {
    Follower::open(authority.config(), dir, authority.now).unwrap()
}

fn faults(follower: &mut Follower) -> Vec<FollowFault> {
    follower.reports().into_iter().map(|report| report.fault).collect()
}

fn each_file(dir: &Path, part: &str) -> Vec<std::path::PathBuf> {
    fs::read_dir(dir.join(part)).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_restart_without_the_authority_has_the_whole_view() {
    let (authority, dir) = remembered();
    let mut again = open(&authority, dir.path());
    assert_eq!(faults(&mut again), vec![]);
    let view = again.view();
    assert_eq!(view.contexts().filter(|loaded| loaded.context.is_some()).count(), shipped());
    assert_eq!(view.standing(&urn("travel:v2.1"), START), Standing::Valid);
    assert_eq!(view.standing(&urn("travel:v2.1"), START + 600), Standing::Stale);
    assert_eq!(view.floor(&Line::parse("payment").unwrap()), Some(Version::new(1, 1)));
}

#[test]
fn a_restart_costs_one_request_if_nothing_moved() {
    let (mut authority, dir) = remembered();
    authority.deltas = true;
    authority.pages = crate::testing::Pages::All;
    let mut again = open(&authority, dir.path());
    authority.requests.clear();
    authority.follow(&mut again).unwrap();
    let size = authority.tree.size();
    assert_eq!(authority.requests, [format!("/v1/feed/deltas/{size}")]);
    assert_eq!(standing(&again, "travel:v2.1", START), Standing::Valid);
}

#[test]
fn a_rollback_after_a_restart_is_refused() {
    let (authority, dir) = remembered();
    let mut old = MemoryAuthority::new(START);
    old.keys = Arc::clone(&authority.keys);
    old.now = START + 10;
    old.renew();
    let mut again = open(&authority, dir.path());
    let had = authority.tree.size();
    assert_eq!(old.follow(&mut again), Err(FollowFault::Rollback { had, offered: 0 }));
}

#[test]
fn a_revocation_survives_a_restart_also_when_its_head_was_refused() {
    let (mut authority, dir) = remembered();
    let mut follower = open(&authority, dir.path());
    authority.now += 10;
    authority.change(Act::Revoke, "travel:v2.1");
    authority.head.floors = [7; 32];
    authority.sign_head();
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::FloorsSwapped));
    drop(follower);
    let again = open(&authority, dir.path());
    assert_eq!(standing(&again, "travel:v2.1", authority.now), Standing::Revoked);
    assert_eq!(standing(&again, "payment:v1.1", authority.now), Standing::Valid);
}

#[test]
fn a_tampered_head_is_not_believed() {
    let (authority, dir) = remembered();
    let path = dir.path().join("head.json");
    let mut stranger = MemoryAuthority::with_library(START);
    stranger.renew();
    for bytes in [b"{}".to_vec(), Vec::new(), stranger.signed_head.clone()] {
        fs::write(&path, bytes).unwrap();
        let mut again = open(&authority, dir.path());
        assert_eq!(faults(&mut again), vec![FollowFault::Damaged { part: "head.json" }]);
        assert_eq!(again.view().contexts().count(), 0);
        assert_eq!(standing(&again, "travel:v2.1", START), Standing::NotCovered);
    }
}

#[test]
fn tampered_shards_and_floors_leave_the_view_stale() {
    for part in ["shards", "floors"] {
        let (mut authority, dir) = remembered();
        for file in each_file(dir.path(), part) {
            let mut bytes = fs::read(&file).unwrap();
            bytes[0] ^= 1;
            fs::write(&file, bytes).unwrap();
        }
        let mut again = open(&authority, dir.path());
        assert_eq!(faults(&mut again), vec![FollowFault::Damaged { part: "shards or floors" }]);
        assert_ne!(standing(&again, "travel:v2.1", START), Standing::Valid);
        authority.now += 1;
        authority.renew();
        authority.follow(&mut again).unwrap();
        assert_eq!(standing(&again, "travel:v2.1", authority.now), Standing::Valid);
        let mut third = open(&authority, dir.path());
        assert_eq!(faults(&mut third), vec![], "{part} was not written again");
    }
}

#[test]
fn without_a_status_list_nothing_is_told_but_what_was_kept_as_revoked() {
    let (mut authority, dir) = remembered();
    let mut follower = open(&authority, dir.path());
    authority.now += 1;
    authority.change(Act::Revoke, "payment:v2.0");
    authority.follow(&mut follower).unwrap();
    authority.now += 1;
    authority.change(Act::Revoke, "travel:v2.1");
    authority.head.floors = [7; 32];
    authority.sign_head();
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::FloorsSwapped));
    for file in each_file(dir.path(), "shards") {
        fs::write(file, b"damaged").unwrap();
    }
    let again = open(&authority, dir.path());
    // Not suspended: nobody said so. The revocation that only the damaged list held is not told either.
    for stale in ["payment:v1.0", "payment:v1.1", "payment:v2.0", "supplyChain:v1.0"] {
        assert_eq!(standing(&again, stale, authority.now), Standing::Stale, "{stale}");
        assert_eq!(again.view().loaded(&urn(stale)).unwrap().status, None, "{stale}");
    }
    assert_eq!(standing(&again, "travel:v2.1", authority.now), Standing::Revoked);
    assert_eq!(again.view().floor(&Line::parse("payment").unwrap()), Some(Version::new(1, 1)));
}

#[test]
fn tampered_entries_tiles_and_trust_are_left_out_and_fetched_again() {
    for (part, name) in [("entries", "entries"), ("tiles", "tiles")] {
        let (mut authority, dir) = remembered();
        for file in each_file(dir.path(), part) {
            let mut bytes = fs::read(&file).unwrap();
            let last = bytes.len() - 1;
            bytes[last - 5] ^= 1;
            fs::write(&file, bytes).unwrap();
        }
        let mut again = open(&authority, dir.path());
        let reported = faults(&mut again);
        assert!(
            !reported.is_empty() && reported.iter().all(|f| *f == FollowFault::Damaged { part: name }),
            "{reported:?}"
        );
        assert_eq!(standing(&again, "travel:v2.1", START), Standing::Stale);
        authority.follow(&mut again).unwrap();
        assert_eq!(standing(&again, "travel:v2.1", START), Standing::Valid);
        assert_eq!(faults(&mut open(&authority, dir.path())), vec![], "{part} was not written again");
    }
    let (mut authority, dir) = remembered();
    fs::write(dir.path().join("trust.json"), b"{").unwrap();
    let mut again = open(&authority, dir.path());
    assert!(faults(&mut again).contains(&FollowFault::Damaged { part: "trust.json" }));
    authority.follow(&mut again).unwrap();
    assert_eq!(standing(&again, "travel:v2.1", START), Standing::Valid);
}

#[test]
fn what_a_damaged_memory_lost_is_stale_and_not_unpublished() {
    type Damage = fn(&Path, u64);
    let damages: [(&str, Damage); 5] = [
        ("one entry is damaged", |dir, index| {
            fs::write(dir.join(format!("entries/{index}.json")), b"{").unwrap()
        }),
        ("one entry is gone", |dir, index| {
            fs::remove_file(dir.join(format!("entries/{index}.json"))).unwrap()
        }),
        ("tiles are damaged", |dir, _| {
            each_file(dir, "tiles").iter().for_each(|f| fs::write(f, [7; 32]).unwrap())
        }),
        ("tiles are gone", |dir, _| each_file(dir, "tiles").iter().for_each(|f| fs::remove_file(f).unwrap())),
        ("trust is damaged", |dir, _| fs::write(dir.join("trust.json"), b"{").unwrap()),
    ];
    for (what, damage) in damages {
        let (mut authority, dir) = remembered();
        let index = authority.replay.published(&urn("travel:v2.1")).unwrap().index;
        damage(dir.path(), index);
        let mut config = authority.config();
        config.lines = Lines::parse(&["travel", "payment", "supplyChain", "snl", "never"]).unwrap();
        let mut again = Follower::open(config, dir.path(), START).unwrap();
        assert!(!faults(&mut again).is_empty(), "{what}");
        for lost in ["travel:v2.1", "never:v1.0"] {
            assert_eq!(standing(&again, lost, START), Standing::Stale, "{what}: {lost}");
        }
        assert_eq!(standing(&again, "foreign:v1.0", START), Standing::UnknownAuthority, "{what}");
        // What is there and was proved goes on.
        let one = what.starts_with("one");
        let expected = if one { Standing::Valid } else { Standing::Stale };
        assert_eq!(standing(&again, "payment:v1.1", START), expected, "{what}");
        // A round that fails changes nothing; one that goes through does.
        authority.serve_instead("/v1/contexts", b"{".to_vec());
        assert!(authority.follow(&mut again).is_err(), "{what}");
        assert_eq!(standing(&again, "never:v1.0", START), Standing::Stale, "{what}");
        authority.lies.clear();
        authority.follow(&mut again).unwrap();
        assert_eq!(standing(&again, "travel:v2.1", START), Standing::Valid, "{what}");
        assert_eq!(standing(&again, "never:v1.0", START), Standing::NotCovered, "{what}");
        let mut third = open(&authority, dir.path());
        assert_eq!(faults(&mut third), vec![], "{what}: not written again");
        assert_eq!(standing(&third, "never:v1.0", START), Standing::NotCovered, "{what}");
    }
}

#[test]
fn narrowed_lines_are_no_damage() {
    let (authority, dir) = remembered();
    let mut config = authority.config();
    config.lines = Lines::parse(&["payment"]).unwrap();
    let mut again = Follower::open(config, dir.path(), START).unwrap();
    assert_eq!(faults(&mut again), vec![]);
    assert_eq!(standing(&again, "payment:v9.0", START), Standing::NotCovered);
}

#[test]
fn a_revocation_of_an_entry_that_was_lost_comes_back_with_it() {
    let (mut authority, dir) = remembered();
    let mut follower = open(&authority, dir.path());
    let index = authority.replay.published(&urn("travel:v2.1")).unwrap().index;
    let honest = authority.clone();
    authority.now += 10;
    authority.change(Act::Revoke, "travel:v2.1");
    authority.head.floors = [7; 32];
    authority.sign_head();
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::FloorsSwapped));
    drop(follower);
    fs::write(dir.path().join(format!("entries/{index}.json")), b"{").unwrap();
    let mut again = open(&authority, dir.path());
    assert_eq!(standing(&again, "travel:v2.1", authority.now), Standing::Stale);
    // The authority goes on as if it had revoked nothing.
    let mut forgetful = honest;
    forgetful.now += 20;
    forgetful.renew();
    forgetful.follow(&mut again).unwrap();
    assert_eq!(standing(&again, "travel:v2.1", forgetful.now), Standing::Revoked);
}

#[test]
fn a_damaged_list_of_revocations_leaves_all_stale_until_a_head_is_accepted() {
    let (mut authority, dir) = remembered();
    fs::write(dir.path().join("invalid.json"), b"[").unwrap();
    let mut again = open(&authority, dir.path());
    assert_eq!(faults(&mut again), vec![FollowFault::Damaged { part: "invalid.json" }]);
    assert_eq!(standing(&again, "travel:v2.1", START), Standing::Stale);
    authority.now += 1;
    authority.renew();
    authority.follow(&mut again).unwrap();
    assert_eq!(standing(&again, "travel:v2.1", authority.now), Standing::Valid);
    let mut third = open(&authority, dir.path());
    assert_eq!(faults(&mut third), vec![], "not written again");
    assert_eq!(standing(&third, "travel:v2.1", authority.now), Standing::Valid);
}

#[test]
fn a_tampered_document_is_left_out_and_fetched_again() {
    let (mut authority, dir) = remembered();
    let digest = authority.replay.published(&urn("travel:v2.1")).unwrap().digest;
    let other = authority.replay.published(&urn("payment:v2.0")).unwrap().digest;
    let contexts = dir.path().join("contexts");
    fs::copy(contexts.join(other.hex()), contexts.join(digest.hex())).unwrap();
    let mut again = open(&authority, dir.path());
    assert_eq!(faults(&mut again), vec![FollowFault::Damaged { part: "contexts" }]);
    assert!(again.view().context(&urn("travel:v2.1")).is_none());
    authority.follow(&mut again).unwrap();
    assert!(again.view().context(&urn("travel:v2.1")).is_some());
}

#[test]
fn a_forged_list_of_revocations_can_only_revoke_and_is_reported() {
    let (mut authority, dir) = remembered();
    let index = authority.replay.published(&urn("payment:v1.0")).unwrap().index;
    fs::write(dir.path().join("invalid.json"), format!(r#"{{"invalid":[{index},999]}}"#)).unwrap();
    let mut again = open(&authority, dir.path());
    assert_eq!(standing(&again, "payment:v1.0", START), Standing::Revoked);
    assert_eq!(standing(&again, "travel:v2.1", START), Standing::Valid);
    authority.now += 1;
    authority.renew();
    authority.follow(&mut again).unwrap();
    assert!(faults(&mut again).contains(&FollowFault::Unrevoked { index }));
    fs::write(dir.path().join("invalid.json"), b"[").unwrap();
    assert_eq!(
        faults(&mut open(&authority, dir.path())),
        vec![FollowFault::Damaged { part: "invalid.json" }]
    );
}

#[test]
fn half_written_files_of_a_crash_do_no_harm() {
    let (mut authority, dir) = remembered();
    for name in ["head.json.new", "tiles/0_000.p_9.new", "entries/3.json.new", "shards/x.new"] {
        fs::write(dir.path().join(name), b"half").unwrap();
    }
    // Files of a head that was never written: the log grew, and then the power failed.
    let head = fs::read(dir.path().join("head.json")).unwrap();
    let mut follower = open(&authority, dir.path());
    authority.now += 1;
    authority.publish(&MemoryAuthority::document("new:v1.0", "thing"));
    authority.follow(&mut follower).unwrap();
    fs::write(dir.path().join("head.json"), head).unwrap();
    let again = open(&authority, dir.path());
    assert_eq!(again.view().size(), authority.tree.size() - 1);
}

#[test]
fn a_memory_of_another_authority_is_not_believed() {
    let (_, dir) = remembered();
    let other = MemoryAuthority::with_library(START);
    let mut follower = open(&other, dir.path());
    assert_eq!(faults(&mut follower), vec![FollowFault::Damaged { part: "head.json" }]);
    assert_eq!(follower.view().contexts().count(), 0);
}

#[test]
fn a_shorter_max_status_age_bounds_what_was_remembered_under_a_longer_one() {
    let (authority, dir) = remembered();
    let mut config = authority.config();
    config.max_status_age = 30;
    let again = Follower::open(config, dir.path(), START).unwrap();
    assert_eq!(standing(&again, "travel:v2.1", START + 29), Standing::Valid);
    assert_eq!(standing(&again, "travel:v2.1", START + 30), Standing::Stale);
}

/// Every file and directory at and below one, with its mode.
fn modes(path: &Path) -> Vec<(std::path::PathBuf, u32)> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut all = vec![(path.to_owned(), fs::metadata(path).unwrap().permissions().mode() & 0o777)];
    if path.is_dir() {
        all.extend(fs::read_dir(path).unwrap().flat_map(|entry| modes(&entry.unwrap().path())));
    }
    all
}

#[test]
fn files_are_0600_and_directories_0700() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut authority = MemoryAuthority::with_library(START);
    let outside = tempfile::tempdir().unwrap();
    let dir = outside.path().join("state/semgate.test");
    let mut follower = Follower::open(authority.config(), &dir, START).unwrap();
    let left = dir.join("head.json.new");
    fs::write(&left, b"half").unwrap();
    fs::set_permissions(&left, fs::Permissions::from_mode(0o644)).unwrap();
    authority.follow(&mut follower).unwrap();
    let mut shrunk = MemoryAuthority::new(START);
    shrunk.keys = Arc::clone(&authority.keys);
    shrunk.now = START + 10;
    shrunk.renew();
    assert!(matches!(shrunk.follow(&mut follower), Err(FollowFault::Rollback { .. })));
    assert!(!each_file(&dir, "evidence").is_empty());
    let modes = modes(&outside.path().join("state"));
    assert!(modes.len() > 20);
    for (path, mode) in modes {
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

#[test]
fn evidence_is_kept_once_and_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let memory = super::super::persistence::Store::open(dir.path()).unwrap();
    let first = memory.evidence("fork", &[("a", b"1")], 2);
    assert_eq!(memory.evidence("fork", &[("a", b"1")], 2), first);
    assert!(memory.evidence("fork", &[("a", b"2")], 2).is_some());
    assert_eq!(memory.evidence("fork", &[("a", b"3")], 2), None);
    assert!(memory.evidence("equivocation", &[("a", b"3")], 2).is_some(), "each kind has its places");
    // one that was broken off is written again, and is not said to be kept before it is whole
    let first = first.unwrap();
    fs::remove_file(first.join("a")).unwrap();
    assert_eq!(memory.evidence("fork", &[("a", b"1")], 2), Some(first.clone()));
    assert_eq!(fs::read(first.join("a")).unwrap(), b"1");
    fs::remove_dir_all(&first).unwrap();
    fs::write(&first, "scribble").unwrap();
    assert_eq!(memory.evidence("fork", &[("a", b"1")], 2), None, "the disk does not take it");
}

/// Each older head that a mirror had kept took one of 64 places for good; two heads of one size found none.
#[test]
fn rollbacks_that_a_mirror_makes_take_no_place_from_a_contradiction() {
    let mut authority = MemoryAuthority::with_library(START);
    let old: Vec<_> = (0..5)
        .map(|n| {
            let before = authority.clone();
            authority.publish(&MemoryAuthority::document(&format!("line{n}:v1.0"), "thing"));
            before
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    // what an earlier version kept
    let evidence = dir.path().join("evidence");
    for n in 0..64 {
        fs::create_dir_all(evidence.join(format!("rollback-{n:016x}"))).unwrap();
    }
    for (there, expected) in [(64, 0), (0, 2)] {
        if there == 0 {
            fs::remove_dir_all(&evidence).unwrap();
        }
        let mut follower = open(&authority, dir.path());
        authority.follow(&mut follower).unwrap();
        let mut kept = 0;
        for (mut before, n) in old.clone().into_iter().zip(1..) {
            before.now = authority.now + 40 * n;
            let had = authority.tree.size();
            let offered = before.tree.size();
            assert_eq!(before.follow(&mut follower), Err(FollowFault::Rollback { had, offered }));
            let report = follower.reports().pop().unwrap();
            kept += usize::from(report.evidence.is_some());
        }
        assert_eq!((kept, each_file(dir.path(), "evidence").len()), (expected, there + expected));
        let mut thief = authority.clone();
        thief.now += 300;
        thief.renew();
        thief.head.floors = [0; 32];
        thief.sign_head();
        let size = thief.tree.size();
        assert_eq!(thief.follow(&mut follower), Err(FollowFault::Equivocation { size }));
        let report = follower.reports().pop().unwrap();
        assert!(report.evidence.unwrap().join("offered-head.json").is_file());
    }
}

/// A memory whose disk took the marker away and nothing of a revocation of `travel:v2.1`.
fn unwritten() -> (MemoryAuthority, tempfile::TempDir, Follower) {
    let (mut authority, dir) = remembered();
    let mut follower = open(&authority, dir.path());
    // the disk takes no head any more
    fs::create_dir(dir.path().join("head.json.new")).unwrap();
    authority.now += 10;
    authority.change(Act::Revoke, "travel:v2.1");
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Revoked);
    (authority, dir, follower)
}

#[test]
fn attack_a_revocation_that_could_not_be_written_leaves_nothing_valid_after_a_restart() {
    let (mut authority, dir, mut follower) = unwritten();
    assert_eq!(faults(&mut follower), vec![FollowFault::Memory(std::io::ErrorKind::IsADirectory)]);
    let memory = follower.memory();
    assert!(!memory.complete && memory.fault == Some(std::io::ErrorKind::IsADirectory), "{memory:?}");
    drop(follower);
    let mut again = open(&authority, dir.path());
    assert_eq!(faults(&mut again), vec![FollowFault::NotWhole]);
    for context in ["travel:v2.1", "payment:v1.1"] {
        assert_eq!(standing(&again, context, authority.now), Standing::Stale, "{context}");
    }
    // a round that brings no head makes nothing whole
    authority.serve_instead("/v1/feed/head", b"{".to_vec());
    assert!(authority.follow(&mut again).is_err());
    assert!(!again.memory().complete);
    drop(again);
    authority.lies.clear();
    let mut third = open(&authority, dir.path());
    assert_eq!(faults(&mut third), vec![FollowFault::NotWhole]);
    authority.now += 30;
    authority.follow(&mut third).unwrap();
    assert_eq!(standing(&third, "travel:v2.1", authority.now), Standing::Revoked);
    assert_eq!(standing(&third, "payment:v1.1", authority.now), Standing::Valid, "the authority spoke");
    assert!(!third.memory().complete, "the disk still takes no head");
}

#[test]
fn what_could_not_be_written_is_written_by_the_next_round_that_can() {
    let (mut authority, dir, mut follower) = unwritten();
    authority.now += 30;
    authority.follow(&mut follower).unwrap();
    assert!(!follower.memory().complete);
    assert_eq!(faults(&mut follower).len(), 1, "the same fault is told once");
    fs::remove_dir(dir.path().join("head.json.new")).unwrap();
    authority.now += 30;
    authority.follow(&mut follower).unwrap();
    assert_eq!(
        follower.memory(),
        crate::follower::PersistenceState { complete: true, fault: None, reserve: true }
    );
    drop(follower);
    let mut again = open(&authority, dir.path());
    assert_eq!(faults(&mut again), vec![]);
    assert_eq!(standing(&again, "travel:v2.1", authority.now), Standing::Revoked);
    assert_eq!(standing(&again, "payment:v1.1", authority.now), Standing::Valid);
}

#[test]
fn attack_a_revocation_of_a_refused_head_that_could_not_be_written_leaves_nothing_valid() {
    let (mut authority, dir) = remembered();
    let mut follower = open(&authority, dir.path());
    fs::create_dir(dir.path().join("invalid.json.new")).unwrap();
    authority.now += 10;
    authority.change(Act::Revoke, "travel:v2.1");
    authority.head.floors = [7; 32];
    authority.sign_head();
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::FloorsSwapped));
    assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Revoked);
    assert!(!follower.memory().complete);
    drop(follower);
    let again = open(&authority, dir.path());
    for context in ["travel:v2.1", "payment:v1.1"] {
        assert_eq!(standing(&again, context, authority.now), Standing::Stale, "{context}");
    }
}
