//! How far the log was looked through, over restarts: what is asked for again, and what must be.

use super::scan::{config, document, long, page, page_with, round};
use super::*;
use crate::listing::Span;
use std::fs;
use std::path::Path;

const LOOKED: &str = "looked.json";

thread_local! {
    static LONG: MemoryAuthority = long(1100);
}

fn open(config: FollowerConfig, dir: &Path, now: u64) -> Follower {
    Follower::open(config, dir, now).unwrap()
}

/// A log of two pages that was followed, and what is remembered of it.
fn looked_through() -> (MemoryAuthority, tempfile::TempDir) {
    let mut authority = LONG.with(Clone::clone);
    let dir = tempfile::tempdir().unwrap();
    let mut follower = open(config(&authority), dir.path(), START);
    assert_eq!(round(&mut authority, &mut follower).0, all(&authority));
    assert_eq!(follower.reports(), vec![]);
    (authority, dir)
}

/// Every page of the log.
fn all(authority: &MemoryAuthority) -> Vec<String> {
    Span::pages(authority.tree.size()).map(|span| span.path()).collect()
}

/// The pages that a restart asks for, and what it reports.
fn restart(authority: &mut MemoryAuthority, dir: &Path) -> (Vec<String>, Vec<FollowFault>) {
    let config = config(authority);
    restart_as(authority, config, dir)
}

/// The same by other settings.
fn restart_as(
    authority: &mut MemoryAuthority,
    config: FollowerConfig,
    dir: &Path,
) -> (Vec<String>, Vec<FollowFault>) {
    let mut again = open(config, dir, authority.now);
    let (asked, _) = round(authority, &mut again);
    (asked, again.reports().into_iter().map(|report| report.fault).collect())
}

#[test]
fn a_restart_asks_for_what_came_after_and_for_no_page_from_before() {
    let (mut authority, dir) = looked_through();
    assert_eq!(restart(&mut authority, dir.path()), (vec![], vec![]));
    authority.now += 10;
    authority.publish(&document("shop:v1.0"));
    let mut again = open(config(&authority), dir.path(), authority.now);
    assert_eq!(round(&mut authority, &mut again).0, [page(1100, 1101)]);
    assert_eq!(standing(&again, "shop:v1.0", authority.now), Standing::Valid);
    assert_eq!(standing(&again, "travel:v2.1", authority.now), Standing::Valid);
    // what of a page was looked through and publishes nothing that is followed is remembered as well
    authority.now += 10;
    authority.publish(&document("else:v1.0"));
    assert_eq!(round(&mut authority, &mut again).0, [page(1101, 1102)]);
    drop(again);
    assert_eq!(restart(&mut authority, dir.path()), (vec![], vec![]));
}

#[test]
fn a_load_that_was_broken_off_goes_on_where_it_was() {
    let mut authority = long(3000);
    let dir = tempfile::tempdir().unwrap();
    let mut follower = open(config(&authority), dir.path(), START);
    authority.breaks = vec![page(2048, 3000)];
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::Unreachable));
    drop(follower);
    authority.breaks.clear();
    let (asked, faults) = restart(&mut authority, dir.path());
    assert_eq!((asked, faults), (vec![page(2048, 3000)], vec![]));
}

#[test]
fn other_lines_than_before_begin_anew() {
    for patterns in [&["payment", "travel", "shop", "bulk"][..], &["*"], &["payment", "travel"]] {
        let (mut authority, dir) = looked_through();
        let lines = Lines::parse(patterns).unwrap();
        let other = FollowerConfig { lines, ..config(&authority) };
        let (asked, _) = restart_as(&mut authority, other.clone(), dir.path());
        assert_eq!(asked, all(&authority), "{patterns:?}");
        // the same lines in another order are the same
        let mut turned: Vec<&str> = patterns.to_vec();
        turned.reverse();
        let lines = Lines::parse(&turned).unwrap();
        let (asked, _) = restart_as(&mut authority, FollowerConfig { lines, ..other }, dir.path());
        assert_eq!(asked, [""; 0], "{turned:?}");
    }
}

#[test]
fn a_position_that_was_written_beside_something_else_begins_anew() {
    let other_key = Keys::new(START).log.verifier().to_string();
    type Change = Box<dyn Fn(&mut serde_json::Value)>;
    let set = |name: &'static str, value: serde_json::Value| -> Change {
        Box::new(move |position| position[name] = value.clone())
    };
    let changes: [(&str, Change); 13] = [
        ("another authority", set("authority", "other.test".into())),
        ("another origin", set("origin", "other.test/log".into())),
        ("another log key", set("log_key", other_key.into())),
        ("another prefix", set("prefix", "urn:other".into())),
        ("a fork of the log", set("root", TREE.into())),
        ("a shorter log", set("size", 1099.into())),
        ("ahead of the log", set("upto", 1101.into())),
        ("an entry more", set("entries", "0".repeat(64).into())),
        ("of a later version", set("format", 2.into())),
        ("no page", set("turn", 3.into())),
        ("a page past the end", set("again", serde_json::json!([2048]))),
        ("a member more", set("more", true.into())),
        ("a number of another kind", set("upto", "1100".into())),
    ];
    for (what, change) in changes {
        let (mut authority, dir) = looked_through();
        let path = dir.path().join(LOOKED);
        let mut position: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut position);
        fs::write(&path, crate::format::write(&position).unwrap()).unwrap();
        let (asked, _) = restart(&mut authority, dir.path());
        assert_eq!(asked, all(&authority), "{what}");
        let (asked, faults) = restart(&mut authority, dir.path());
        assert_eq!((asked, faults), (vec![], vec![]), "{what}: written again");
    }
}

/// The root of no tree here.
const TREE: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

#[test]
fn a_position_that_cannot_be_read_begins_anew_and_is_reported() {
    let (authority, dir) = looked_through();
    let whole = fs::read(dir.path().join(LOOKED)).unwrap();
    let cut = whole[..whole.len() / 2].to_vec();
    let long = [whole.as_slice(), b" "].concat();
    for bytes in [b"".to_vec(), b"{}".to_vec(), b"\xff".to_vec(), cut] {
        let (mut authority, dir) = (authority.clone(), looked_through_as(&authority));
        fs::write(dir.path().join(LOOKED), bytes).unwrap();
        let (asked, faults) = restart(&mut authority, dir.path());
        assert_eq!(asked, all(&authority));
        assert_eq!(faults, [FollowFault::Damaged { part: LOOKED }]);
    }
    let mut authority = authority;
    fs::write(dir.path().join(LOOKED), long).unwrap();
    assert_eq!(restart(&mut authority, dir.path()).0, all(&authority));
}

/// The memory of one more follower of the same log.
fn looked_through_as(authority: &MemoryAuthority) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut authority = authority.clone();
    let mut follower = open(config(&authority), dir.path(), START);
    authority.follow(&mut follower).unwrap();
    dir
}

#[test]
fn a_position_beside_a_memory_that_lost_something_begins_anew() {
    type Loss = fn(&Path);
    fn empty(dir: &Path, parts: &[&str]) {
        for part in parts {
            fs::remove_dir_all(dir.join(part)).unwrap();
        }
    }
    let losses: [(&str, Loss); 5] = [
        ("all but the position", |dir| {
            empty(dir, &["shards", "floors", "tiles", "entries", "contexts"]);
            fs::remove_file(dir.join("head.json")).unwrap();
            fs::remove_file(dir.join("trust.json")).unwrap();
        }),
        ("the head", |dir| fs::remove_file(dir.join("head.json")).unwrap()),
        ("entries and documents", |dir| empty(dir, &["entries", "contexts"])),
        ("entries", |dir| empty(dir, &["entries"])),
        ("tiles", |dir| empty(dir, &["tiles"])),
    ];
    for (what, loss) in losses {
        let (mut authority, dir) = looked_through();
        loss(dir.path());
        let mut again = open(config(&authority), dir.path(), START);
        assert_eq!(round(&mut authority, &mut again).0, all(&authority), "{what}");
        assert_eq!(standing(&again, "travel:v2.1", START), Standing::Valid, "{what}");
    }
    // documents alone are known by their entries, and need no page
    let (mut authority, dir) = looked_through();
    empty(dir.path(), &["contexts"]);
    let mut again = open(config(&authority), dir.path(), START);
    assert_eq!(round(&mut authority, &mut again).0, [""; 0]);
    assert_eq!(standing(&again, "travel:v2.1", START), Standing::Valid);
}

#[test]
fn a_crash_between_any_two_files_of_a_round_loses_no_context() {
    let (mut authority, dir) = looked_through();
    let files = ["head.json", "trust.json", LOOKED];
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    let before: Vec<Vec<u8>> = files.iter().map(|name| read(name)).collect();
    authority.now += 10;
    authority.publish(&document("shop:v1.0"));
    let mut follower = open(config(&authority), dir.path(), authority.now);
    authority.follow(&mut follower).unwrap();
    drop(follower);
    let after: Vec<Vec<u8>> = files.iter().map(|name| read(name)).collect();
    for written in 0..1 << files.len() {
        for (at, name) in files.iter().enumerate() {
            let bytes = if (written >> at) & 1 == 1 { &after[at] } else { &before[at] };
            fs::write(dir.path().join(name), bytes).unwrap();
        }
        let mut again = open(config(&authority), dir.path(), authority.now);
        let (asked, _) = round(&mut authority, &mut again);
        for urn in ["shop:v1.0", "travel:v2.1", "payment:v1.1"] {
            assert_eq!(standing(&again, urn, authority.now), Standing::Valid, "{written}: {asked:?}");
        }
    }
}

#[test]
fn a_position_is_not_written_before_what_was_found_is_on_disk() {
    let (mut authority, dir) = looked_through();
    let mut follower = open(config(&authority), dir.path(), START);
    authority.follow(&mut follower).unwrap();
    // the disk takes the position and no entries
    fs::rename(dir.path().join("entries"), dir.path().join("away")).unwrap();
    authority.now += 10;
    authority.publish(&document("shop:v1.0"));
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "shop:v1.0", authority.now), Standing::Valid);
    let faults: Vec<_> = follower.reports().into_iter().map(|report| report.fault).collect();
    assert!(faults.contains(&FollowFault::Memory(std::io::ErrorKind::NotFound)), "{faults:?}");
    authority.now += 400;
    authority.renew();
    authority.follow(&mut follower).unwrap();
    let position: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.path().join(LOOKED)).unwrap()).unwrap();
    assert_eq!(position["upto"], 1100);
    drop(follower);
    fs::rename(dir.path().join("away"), dir.path().join("entries")).unwrap();
    let mut again = open(config(&authority), dir.path(), authority.now);
    let (asked, _) = round(&mut authority, &mut again);
    assert!(asked.last().is_some_and(|path| path.ends_with("-1101")), "{asked:?}");
    assert_eq!(standing(&again, "shop:v1.0", authority.now), Standing::Valid);
}

#[test]
fn the_turn_of_pages_goes_on_over_restarts() {
    let (mut authority, dir) = looked_through();
    let span = Span::at(0, 1100).unwrap();
    let restarted = |seconds: u64, authority: &mut MemoryAuthority| {
        authority.now += seconds;
        authority.renew();
        restart(authority, dir.path())
    };
    assert_eq!(restarted(299, &mut authority), (vec![], vec![]));
    assert_eq!(restarted(1, &mut authority), (vec![span.path()], vec![]));
    assert_eq!(restarted(299, &mut authority), (vec![], vec![]));
    assert_eq!(restarted(1, &mut authority), (vec![page(1024, 1100)], vec![]));
    assert_eq!(restarted(300, &mut authority), (vec![span.path()], vec![]));
}

#[test]
fn attack_what_a_mirror_left_out_is_found_in_its_turn_also_by_who_is_started_again_and_again() {
    let mut authority = long(1100);
    let span = Span::at(0, 1100).unwrap();
    let left_out = page_with(&authority, span, |lines| lines.retain(|line| line.urn != urn("travel:v2.1")));
    authority.serve_instead(&span.path(), left_out);
    let dir = tempfile::tempdir().unwrap();
    let mut follower = open(config(&authority), dir.path(), START);
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "travel:v2.1", START), Standing::NotCovered);
    drop(follower);
    authority.lies.clear();
    authority.now += 300;
    authority.renew();
    let mut again = open(config(&authority), dir.path(), authority.now);
    assert_eq!(round(&mut authority, &mut again).0, [span.path()]);
    assert_eq!(standing(&again, "travel:v2.1", authority.now), Standing::Valid);
}

#[test]
fn a_floor_for_a_version_that_a_mirror_left_out_makes_a_restart_look_through_all() {
    let (mut authority, dir) = looked_through();
    authority.now += 10;
    authority.publish(&document("shop:v1.0"));
    let new = Span::at(1100, 1101).unwrap();
    let left_out = page_with(&authority, new, |lines| lines.clear());
    authority.serve_instead(&new.path(), left_out);
    let mut follower = open(config(&authority), dir.path(), authority.now);
    authority.follow(&mut follower).unwrap();
    authority.now += 10;
    authority.floor("shop", "v1.0");
    let last = Span::at(1024, 1102).unwrap();
    let left_out = page_with(&authority, last, |lines| lines.retain(|line| line.urn != urn("shop:v1.0")));
    authority.serve_instead(&last.path(), left_out);
    let line = Line::parse("shop").unwrap();
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::FloorAboveVersions { line }));
    authority.lies.clear();
    drop(follower);
    let mut again = open(config(&authority), dir.path(), authority.now);
    assert_eq!(round(&mut authority, &mut again).0, all(&authority));
    assert_eq!(standing(&again, "shop:v1.0", authority.now), Standing::Valid);
    drop(again);
    assert_eq!(restart(&mut authority, dir.path()), (vec![], vec![]));
}

#[test]
fn a_page_in_which_a_line_failed_is_looked_at_again_by_a_restart_and_no_other() {
    let mut authority = long(1100);
    let span = Span::at(0, 1100).unwrap();
    let invented = page_with(&authority, span, |lines| lines[300].urn = urn("shop:v9.0"));
    authority.serve_instead(&span.path(), invented);
    let dir = tempfile::tempdir().unwrap();
    let mut follower = open(config(&authority), dir.path(), START);
    authority.follow(&mut follower).unwrap();
    drop(follower);
    authority.lies.clear();
    let (asked, faults) = restart(&mut authority, dir.path());
    assert_eq!((asked, faults), (vec![span.path()], vec![]));
    assert_eq!(restart(&mut authority, dir.path()), (vec![], vec![]));
}

#[test]
fn nothing_is_written_while_nothing_moves() {
    let (mut authority, dir) = looked_through();
    let mut follower = open(config(&authority), dir.path(), START);
    authority.follow(&mut follower).unwrap();
    let written = || fs::metadata(dir.path().join(LOOKED)).unwrap().modified().unwrap();
    let before = written();
    authority.now += 5;
    authority.renew();
    assert_eq!(round(&mut authority, &mut follower).0, [""; 0]);
    assert_eq!(written(), before);
}
