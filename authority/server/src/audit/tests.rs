use super::*;

fn entry() -> Entry {
    Entry { by: Some("spiffe://semgate.test/ada".to_owned()), act: "revoke", ..Entry::default() }
}

const END: End = End { time: 7, outcome: Outcome::Allowed, code: None, duration_us: 3 };

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn lines_are_numbered_across_restarts_and_half_a_line_swallows_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    Audit::open(&path).unwrap().record(&entry(), END, true).unwrap();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"time\":8,\"n\":2,\"by").unwrap();
    let audit = Audit::open(&path).unwrap();
    let refused = End { outcome: Outcome::Refused, code: Some("not_permitted"), ..END };
    audit.record(&entry(), refused, false).unwrap();
    let lines = lines(&path);
    assert_eq!(lines.iter().map(|line| line["n"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((&lines[1]["outcome"], &lines[1]["code"]), (&"refused".into(), &"not_permitted".into()));
    assert_eq!(lines[0]["act"], "revoke");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_takes_nothing_is_told_before_the_next_act_and_loses_no_line_once_it_does() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let audit = Audit::open(&path).unwrap();
    audit.inner().file = OpenOptions::new().append(true).open("/dev/full").unwrap();
    assert!(audit.record(&entry(), END, false).is_err());
    let Err(RunFault::Io { source, .. }) = audit.ready() else { panic!("it is ready") };
    assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    audit.inner().file = append(&path).unwrap();
    assert!(audit.ready().is_ok());
    assert_eq!(lines(&path).len(), 1);
}

#[test]
fn a_line_that_found_no_room_leaves_a_gap_in_the_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let audit = Audit::open(&path).unwrap();
    audit.inner().file = OpenOptions::new().append(true).open("/dev/full").unwrap();
    let long = Entry { reason: Some("x".repeat(MAX_PENDING / 2)), ..entry() };
    for _ in 0..3 {
        assert!(audit.record(&long, END, false).is_err());
    }
    audit.inner().file = append(&path).unwrap();
    assert_eq!(audit.record(&entry(), END, false).unwrap(), 4);
    let numbers: Vec<u64> = lines(&path).iter().map(|line| line["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 4], "two were lost, and one sees it");
}

#[test]
fn what_the_disk_did_not_take_once_is_never_told_to_be_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let audit = Audit::open(&path).unwrap();
    let first = audit.record(&entry(), END, false).unwrap();
    audit.force(first, first).unwrap();
    // takes every line, and cannot force one to any disk
    audit.inner().file = OpenOptions::new().append(true).open("/dev/null").unwrap();
    let lost = audit.record(&entry(), END, false).unwrap();
    assert!(audit.force(lost, lost).is_err());
    audit.inner().file = append(&path).unwrap();
    assert!(audit.force(lost, lost).is_err(), "the system would say yes by now");
    let next = audit.record(&entry(), END, false).unwrap();
    assert!(audit.force(lost, next).is_err());
    audit.force(next, next).unwrap();
    // a file that is put in place of another takes nothing along that was not forced
    let waits = audit.record(&entry(), END, false).unwrap();
    audit.inner().file = OpenOptions::new().append(true).open("/dev/null").unwrap();
    audit.reopen();
    assert!(audit.force(waits, waits).is_err());
}

#[test]
fn a_line_that_was_written_while_the_disk_failed_is_lost_with_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let audit = Audit::open(&dir.path().join("audit.jsonl")).unwrap();
    let first = audit.record(&entry(), END, false).unwrap();
    let mut meanwhile = 0;
    let failed = audit.force_by(first, first, |_| {
        meanwhile = audit.record(&entry(), END, false).unwrap();
        Err(io::Error::other("the disk is gone"))
    });
    assert!(failed.is_err());
    let Err(RunFault::Io { source, .. }) = audit.force(meanwhile, meanwhile) else {
        panic!("it is told to be there")
    };
    assert!(source.to_string().contains("lost on its way to the disk"));
    let next = audit.record(&entry(), END, false).unwrap();
    audit.force(next, next).unwrap();
}

#[test]
fn a_file_that_was_moved_away_is_opened_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (path, old) = (dir.path().join("audit.jsonl"), dir.path().join("audit.1"));
    let audit = Audit::open(&path).unwrap();
    audit.record(&entry(), END, false).unwrap();
    std::fs::rename(&path, &old).unwrap();
    audit.reopen();
    audit.record(&entry(), END, false).unwrap();
    assert_eq!((lines(&old).len(), lines(&path)[0]["n"].as_u64()), (1, Some(2)));
}
