//! No record, no message.

use super::*;
use crate::pipeline::decision::Decisions;
use semgate_contexts::Digest;
use std::os::unix::fs::PermissionsExt;

const STAMP: line::Stamp<'static> = line::Stamp { n: 7, gateway: "gateway-1" };

fn open(path: PathBuf, fsync: bool, queue: usize) -> Result<(Audit, AuditWriter), RunFault> {
    Audit::open(AuditFile { path, fsync, gateway: "gateway-1".to_owned(), ocsf: None, spans: None }, queue)
}

fn record() -> Record {
    let facts = Facts {
        sender: "spiffe://semgate.test/agent/retailer-7".to_owned(),
        protocol: "l8",
        context: Some("urn:contexts:supplyChain:v1.0".to_owned()),
        concepts: vec!["current_decision".to_owned()],
        generation: 3,
        policy_digest: Some(Digest::of(b"")),
        ..Facts::default()
    };
    let decision = Decisions::new().next();
    Record {
        time: 1_700_000_000,
        decision,
        outcome: Outcome::Refused(Code::PolicyDenied),
        facts,
        duration_us: 25,
        others: 0,
        traced: Traced::default(),
    }
}

fn lines(path: &std::path::Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_record_has_the_members_of_the_wire_format_in_their_order() {
    let mut out = Vec::new();
    line::write(&record(), STAMP, &mut out);
    let text = String::from_utf8(out).unwrap();
    assert!(text.ends_with("}\n"));
    let members: Vec<&str> =
        "time n decision_id direction verdict code sender receiver protocol performative context \
        digest concepts policies generation duration_us gateway policy_digest"
            .split_whitespace()
            .collect();
    let mut at = 0;
    for member in &members {
        let found =
            text[at..].find(&format!("\"{member}\":")).unwrap_or_else(|| panic!("{member} in {text}"));
        at += found + 1;
    }
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value.as_object().unwrap().len(), members.len());
    assert_eq!(value["code"], "policy_denied");
    assert_eq!(value["receiver"], serde_json::Value::Null);
}

#[test]
fn a_record_says_how_many_refusals_it_stands_for() {
    let mut out = Vec::new();
    line::write(&Record { others: 41, ..record() }, STAMP, &mut out);
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(value["others"], 41);
}

#[test]
fn numbers_go_on_over_a_restart_and_the_file_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state/audit.jsonl");
    for _ in 0..2 {
        let (audit, writer) = open(path.clone(), true, 8).unwrap();
        let _ = audit.record(record()).unwrap();
        let _ = audit.record(record()).unwrap();
        writer.finish();
        assert_eq!(audit.written(), 2);
    }
    let numbers: Vec<u64> = lines(&path).iter().map(|line| line["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_line_that_a_crash_cut_short_takes_no_record_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let mut before = Vec::new();
    line::write(&record(), STAMP, &mut before);
    line::write(&record(), line::Stamp { n: 8, ..STAMP }, &mut before);
    before.truncate(before.len() - 40);
    std::fs::write(&path, &before).unwrap();
    let (audit, writer) = open(path.clone(), false, 8).unwrap();
    let _ = audit.record(record()).unwrap();
    writer.finish();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Option<serde_json::Value>> =
        text.lines().map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].is_some() && lines[1].is_none(), "{text}");
    assert_eq!(lines[2].as_ref().unwrap()["n"], 9);
}

#[test]
fn a_rotated_file_is_reopened_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let (audit, writer) = open(path.clone(), false, 8).unwrap();
    let _ = audit.record(record()).unwrap();
    wait(|| audit.written() == 1);
    std::fs::rename(&path, dir.path().join("old")).unwrap();
    audit.reopen();
    let _ = audit.record(record()).unwrap();
    writer.finish();
    assert_eq!(lines(&path)[0]["n"], 2);
}

#[test]
fn a_full_disk_refuses_until_it_takes_records_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let (audit, writer) = open(path.clone(), false, 8).unwrap();
    let _ = audit.record(record());
    wait(|| audit.working().is_err());
    assert!(audit.record(record()).is_err());
    // space comes back: the name now leads to a real file, as after a rotation
    std::fs::remove_file(&path).unwrap();
    audit.reopen();
    wait(|| audit.working().is_ok());
    let _ = audit.record(record()).unwrap();
    writer.finish();
    let numbers: Vec<u64> = lines(&path).iter().map(|line| line["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3], "what could not be written is written later, whole and once");
}

#[test]
fn a_removed_or_moved_file_is_noticed_without_a_signal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let (audit, writer) = open(path.clone(), false, 8).unwrap();
    let _ = audit.record(record()).unwrap();
    wait(|| audit.written() == 1);
    std::fs::remove_file(&path).unwrap();
    let _ = audit.record(record()).unwrap();
    wait(|| audit.written() == 2);
    assert_eq!(lines(&path)[0]["n"], 2);
    // another file has taken the name: it is appended to
    let other = dir.path().join("other");
    std::fs::write(&other, "").unwrap();
    std::fs::rename(&other, &path).unwrap();
    let _ = audit.record(record()).unwrap();
    writer.finish();
    assert_eq!(lines(&path)[0]["n"], 3);
}

#[test]
fn a_removed_file_that_cannot_be_made_again_refuses_until_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let (here, away) = (dir.path().join("here"), dir.path().join("away"));
    let path = here.join("audit.jsonl");
    let (audit, writer) = open(path.clone(), false, 8).unwrap();
    let _ = audit.record(record()).unwrap();
    wait(|| audit.written() == 1);
    std::fs::rename(&here, &away).unwrap();
    let _ = audit.record(record());
    wait(|| audit.working().is_err());
    assert!(audit.record(record()).is_err(), "nothing passes");
    std::fs::create_dir(&here).unwrap();
    wait(|| audit.working().is_ok());
    let _ = audit.record(record()).unwrap();
    writer.finish();
    let numbers: Vec<u64> = lines(&path).iter().map(|line| line["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [2, 3, 4], "what waited is written, once");
}

#[test]
fn a_full_queue_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let (audit, _writer) = open(path, false, 4).unwrap();
    wait(|| {
        let _ = audit.record(record());
        audit.lost() > 0
    });
    assert!(audit.record(record()).is_err());
}

#[test]
fn a_full_disk_costs_bounded_memory_and_does_not_hold_up_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let (audit, writer) = open(path, false, 4096).unwrap();
    // far more than a batch of refusals, all of them while nothing can be written
    let (mut taken, mut in_vain) = (0_u64, 0_u64);
    let end = Instant::now() + Duration::from_millis(1500);
    while Instant::now() < end {
        let before = audit.lost();
        let _ = audit.record(record());
        if audit.lost() > before {
            in_vain += 1;
            std::thread::sleep(Duration::from_millis(1));
        } else {
            taken += 1;
        }
    }
    assert!(in_vain > 0, "the queue fills");
    let size = {
        let mut one = Vec::new();
        line::write(&record(), line::Stamp { n: 1, ..STAMP }, &mut one);
        one.len() as u64
    };
    let (queue, batch) = (4096, 256 * 1024 / size + 1);
    assert!(taken <= queue + batch, "{taken} taken, with room for {queue} and {batch}");
    let begun = Instant::now();
    writer.finish();
    assert!(begun.elapsed() < FINISH, "{:?}", begun.elapsed());
    assert_eq!(audit.lost(), in_vain + taken, "what could not be written is told");
}

#[test]
fn an_end_with_a_full_queue_still_writes_it_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let (audit, writer) = open(path.clone(), false, 64).unwrap();
    let mut taken = 0;
    while audit.record(record()).is_ok() {
        taken += 1;
    }
    writer.finish();
    assert_eq!(lines(&path).len(), taken);
}

#[test]
fn an_audit_that_cannot_be_opened_stops_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let fault = open(dir.path().to_owned(), false, 4).map(|_| ()).unwrap_err();
    assert!(matches!(fault, RunFault::File { what: "audit file", .. }), "{fault}");
}

fn wait(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < end, "waited in vain");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_was_asked_comes_last_and_as_it_was_kept_and_a_number_in_it_is_not_that_of_the_record() {
    let mut kept = record();
    kept.facts.asked = Some(r#"{"questions":[{"values":{"n":5,"amount":12000.50}}]}"#.into());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    for expected in [1, 2] {
        let (audit, writer) = open(path.clone(), false, 8).unwrap();
        let mut again = record();
        again.facts = kept.facts.clone();
        let _ = audit.record(again).unwrap();
        writer.finish();
        let text = std::fs::read_to_string(&path).unwrap();
        let line = text.lines().last().unwrap();
        assert!(line.ends_with(r#""asked":{"questions":[{"values":{"n":5,"amount":12000.50}}]}}"#), "{line}");
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["n"], expected);
    }
}
