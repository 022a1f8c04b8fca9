//! What pairs stated is read again after a restart, cut lines and damage included.

use super::*;
use semgate_contexts::{Line, Version};

const A: &str = "spiffe://semgate.test/agent/a";
const B: &str = "spiffe://semgate.test/agent/b";

fn stated(of_a: &[(&str, &str)], of_b: &[(&str, &str)]) -> Stated {
    let list = |list: &[(&str, &str)]| {
        list.iter().map(|(line, min)| ((*line).to_owned(), (*min).to_owned())).collect()
    };
    Stated { pair: [A.to_owned(), B.to_owned()], minimums: [list(of_a), list(of_b)], stated_at: [0; 2] }
}

fn sessions() -> Arc<Sessions> {
    Arc::new(Sessions::none())
}

fn floors(sessions: &Sessions) -> [Option<Version>; 2] {
    sessions.minimums.floors(B, A, &Line::parse("payment").unwrap())
}

#[test]
fn f0_39_what_a_pair_stated_holds_after_a_restart_and_the_last_handshake_counts() {
    let dir = tempfile::tempdir().unwrap();
    let first = sessions();
    let keeper = MinimumsKeeper::start(&first, dir.path()).unwrap();
    first
        .minimums
        .import([stated(&[("payment", "v1.0")], &[]), stated(&[], &[("payment", "v2.0")])])
        .unwrap();
    drop(keeper);
    let second = sessions();
    let keeper = MinimumsKeeper::start(&second, dir.path()).unwrap();
    assert_eq!(floors(&second), [None, Some(Version::new(2, 0))]);
    // a handshake that states nothing takes it away, over a restart too
    second.minimums.import([stated(&[], &[])]).unwrap();
    drop(keeper);
    let third = sessions();
    drop(MinimumsKeeper::start(&third, dir.path()).unwrap());
    assert_eq!(floors(&third), [None; 2]);
}

#[test]
fn a_line_of_a_version_that_kept_no_time_still_holds() {
    let dir = tempfile::tempdir().unwrap();
    let line = format!("{{\"pair\":[\"{A}\",\"{B}\"],\"minimums\":[{{\"payment\":\"v2.0\"}},{{}}]}}\n");
    std::fs::write(dir.path().join("minimums.jsonl"), line).unwrap();
    let sessions = sessions();
    drop(MinimumsKeeper::start(&sessions, dir.path()).unwrap());
    assert_eq!(floors(&sessions), [Some(Version::new(2, 0)), None]);
    assert_eq!(sessions.minimums.export(), [stated(&[("payment", "v2.0")], &[])]);
    assert!(!dir.path().join("minimums.damaged").exists());
}

#[test]
fn a_line_that_a_crash_cut_is_left_out_and_damage_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("minimums.jsonl");
    let mut bytes = Vec::new();
    append(&mut bytes, &stated(&[("payment", "v2.0")], &[])).unwrap();
    let good = bytes.len();
    append(&mut bytes, &stated(&[], &[])).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    let cut = sessions();
    drop(MinimumsKeeper::start(&cut, dir.path()).unwrap());
    assert_eq!(floors(&cut), [Some(Version::new(2, 0)), None]);
    assert!(!dir.path().join("minimums.damaged").exists());

    // damage lowers nobody's floor but its own line's, wherever it is
    let other = b"{\"pair\":[\"x\",\"y\"],\"minimums\":[{},{}]}\n\0\0\n";
    for damaged in [[&bytes[..good], other].concat(), [other, &bytes[..good]].concat()] {
        std::fs::write(&path, damaged).unwrap();
        let damaged = sessions();
        drop(MinimumsKeeper::start(&damaged, dir.path()).unwrap());
        assert_eq!(floors(&damaged), [Some(Version::new(2, 0)), None]);
        assert!(dir.path().join("minimums.damaged").exists());
        std::fs::remove_file(dir.path().join("minimums.damaged")).unwrap();
    }
}

#[test]
fn the_file_is_private_and_bounded() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let first = sessions();
    let keeper = MinimumsKeeper::start(&first, dir.path()).unwrap();
    for n in 0..3 * SLACK {
        first
            .minimums
            .import([stated(&[("payment", if n % 2 == 0 { "v1.0" } else { "v1.1" })], &[])])
            .unwrap();
        // the queue is not what is tested here
        while n % 1_000 == 999 && std::fs::metadata(dir.path().join("minimums.jsonl")).unwrap().len() == 0 {
            std::thread::yield_now();
        }
    }
    drop(keeper);
    let path = dir.path().join("minimums.jsonl");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let lines = std::fs::read_to_string(&path).unwrap().lines().count();
    assert!(lines <= 2 * SLACK + QUEUE, "{lines}");
}
